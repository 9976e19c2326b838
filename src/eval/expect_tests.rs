//! Properties of matching and of the counts made from it.

use proptest::prelude::*;

use super::*;
use crate::eval::grade::{Grade, Observed, grade_observed};
use crate::eval::metric::counts::{Counts, Ratio};
use crate::eval::sketch;

fn tool() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just("nosuch")]
}

fn args() -> impl Strategy<Value = String> {
    let value = |name: &'static str| (0..3_u8).prop_map(move |n| format!("\"{name}\":{n}"));
    let pairs = (prop::option::of(value("q")), prop::option::of(value("r")));
    let object = pairs.prop_map(|(q, r)| {
        let members: Vec<String> = q.into_iter().chain(r).collect();
        format!("{{{}}}", members.join(","))
    });
    prop_oneof![1 => Just(String::new()), 1 => Just("{".to_owned()), 6 => object]
}

fn expected_calls(most: usize) -> impl Strategy<Value = Vec<String>> {
    let call = (tool(), args()).prop_map(|(tool, args)| {
        if args == "{" { tool.to_owned() } else { format!("{tool}{args}") }
    });
    prop::collection::vec(call, 0..=most)
}

/// Replies of calls.
fn replies(most: usize) -> impl Strategy<Value = Vec<Vec<String>>> {
    let call = (tool(), args()).prop_map(|(tool, args)| format!("{tool}{args}"));
    let made = prop::collection::vec((call, any::<bool>()), 0..=most);
    made.prop_map(|calls| {
        let mut replies: Vec<Vec<String>> = vec![Vec::new()];
        for (call, new_reply) in calls {
            if new_reply {
                replies.push(Vec::new());
            }
            replies.last_mut().unwrap().push(call);
        }
        replies
    })
}

fn line(replies: &[Vec<String>]) -> String {
    replies.iter().map(|calls| calls.join(" ")).collect::<Vec<_>>().join("|")
}

fn graded(expected: &[String], made: &str, mode: Mode) -> Grade {
    let registry = sketch::registry();
    let mut case = sketch::case(&expected.join(" "));
    case.expect.mode = mode;
    let observed = Observed { calls: sketch::made(made, registry), ..Observed::default() };
    grade_observed(registry, &case, &observed, &[])
}

fn share((num, den): (u64, u64)) -> Option<f64> {
    (den > 0).then(|| num as f64 / den as f64)
}

/// Names, arguments that hold, those of them that were compared, parts of fields.
type Score = (usize, usize, usize, i128);

/// Every one-to-one assignment of calls to the same tool, by brute force: the best score, and
/// whether an assignment with that score goes through the replies in order.
fn reference(want: &[ExpectedCall], got: &[CallFacts], registry: &Registry) -> (Score, bool) {
    let mut all = Vec::new();
    every_assignment(want, got, &mut Vec::new(), &mut all);
    let scored = all.iter().map(|pairs| {
        let mut score: Score = (0, 0, 0, 0);
        for (row, column) in pairs {
            let (held, compared) = fields(&want[*row], &got[*column], registry);
            let full = held == compared;
            score.0 += 1;
            score.1 += usize::from(full);
            score.2 += usize::from(full && want[*row].args.is_some());
            score.3 += if full { PARTS } else { PARTS * i128::from(held) / i128::from(compared) };
        }
        let replies: Vec<u32> = pairs.iter().map(|(_, column)| got[*column].reply).collect();
        (score, replies.is_sorted())
    });
    scored.max().unwrap()
}

fn every_assignment(
    want: &[ExpectedCall],
    got: &[CallFacts],
    pairs: &mut Vec<(usize, usize)>,
    all: &mut Vec<Vec<(usize, usize)>>,
) {
    let Some((next, rest)) = want.split_last() else {
        all.push(pairs.iter().rev().copied().collect());
        return;
    };
    every_assignment(rest, got, pairs, all);
    for (column, call) in got.iter().enumerate() {
        if next.tool == call.tool && pairs.iter().all(|(_, taken)| *taken != column) {
            pairs.push((rest.len(), column));
            every_assignment(rest, got, pairs, all);
            pairs.pop();
        }
    }
}

#[test]
fn order_is_found_among_equals() {
    let registry = sketch::registry();
    for (expected, made, mode) in [
        ("a a", "b | a | a", Mode::InOrder),
        ("b a", "a | b | a", Mode::InOrder),
        ("b a", "a b | a", Mode::Prefix),
        ("a", "b a", Mode::Prefix),
        ("a a b", "c a | a b", Mode::InOrder),
    ] {
        let (want, got) = (sketch::expected(expected), sketch::made(made, registry));
        let found = matching(&want, &got, registry);
        assert!(satisfies(mode, &found, &want, &got), "{expected} / {made}: {found:?}");
    }
    for (expected, made, mode) in [
        ("a b", "b | a", Mode::InOrder),
        ("a", "b | a", Mode::Prefix),
        ("a b", "a | c | b", Mode::Prefix),
        ("a b", "a", Mode::AtLeast),
        ("a", "a b", Mode::AtMost),
    ] {
        let (want, got) = (sketch::expected(expected), sketch::made(made, registry));
        let found = matching(&want, &got, registry);
        assert!(!satisfies(mode, &found, &want, &got), "{expected} / {made}: {found:?}");
    }
}

#[test]
fn compared_arguments_are_matched_first_in_either_order() {
    for expected in [r#"a a{"q":1}"#, r#"a{"q":1} a"#] {
        let want = sketch::expected(expected);
        let got = sketch::made(r#"a{"q":1}"#, sketch::registry());
        let found = matching(&want, &got, sketch::registry());
        assert_eq!(found.pairs.len(), 1);
        assert_eq!(found.pairs[0].args_ok, Some(true), "{expected}: {found:?}");
    }
}

#[test]
fn arguments_that_are_no_object_fit_nothing() {
    let want = sketch::expected("a{}");
    for args in [serde_json::json!([]), serde_json::json!(null), serde_json::json!("{}")] {
        let mut got = sketch::made("a{}", sketch::registry());
        got[0].args = Some(args.clone());
        let found = matching(&want, &got, sketch::registry());
        assert_eq!(found.pairs[0].args_ok, Some(false), "{args}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_naive_reference(expected in expected_calls(4), made in replies(5)) {
        let registry = sketch::registry();
        let want = sketch::expected(&expected.join(" "));
        let got = sketch::made(&line(&made), registry);
        let found = matching(&want, &got, registry);
        let ok = |wanted| found.pairs.iter().filter(|pair| pair.args_ok == wanted).count();
        let ((names, full, compared, _), ordered) = reference(&want, &got, registry);
        prop_assert_eq!(found.pairs.len(), names);
        prop_assert_eq!((ok(Some(true)) + ok(None), ok(Some(true))), (full, compared));
        prop_assert_eq!(found.in_order == found.pairs.len(), ordered);
        prop_assert_eq!(found.missing.len() + names, want.len());
        prop_assert_eq!(found.unexpected.len() + names, got.len());
    }

    #[test]
    fn the_order_of_the_expected_list_counts_only_for_order(
        (expected, shuffled) in expected_calls(5)
            .prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle())),
        made in replies(5),
    ) {
        let (one, two) = (graded(&expected, &line(&made), Mode::AnyOrder),
            graded(&shuffled, &line(&made), Mode::AnyOrder));
        prop_assert_eq!(one.verdict, two.verdict);
        for ratio in Ratio::ALL.iter().filter(|ratio| **ratio != Ratio::Order) {
            prop_assert_eq!(one.counts.ratio(*ratio), two.counts.ratio(*ratio), "{:?}", ratio);
        }
        prop_assert_eq!(one.counts.tools, two.counts.tools);
        prop_assert_eq!(one.counts.confusion, two.counts.confusion);
    }

    #[test]
    fn parallel_calls_have_no_order(
        expected in expected_calls(5),
        (made, shuffled) in replies(6).prop_flat_map(|replies| {
            let each: Vec<_> = replies.iter().map(|one| Just(one.clone()).prop_shuffle()).collect();
            (Just(replies), each)
        }),
    ) {
        for mode in sketch::MODES {
            let one = graded(&expected, &line(&made), mode);
            let two = graded(&expected, &line(&shuffled), mode);
            prop_assert_eq!(one.verdict, two.verdict, "{:?}", mode);
            prop_assert_eq!(&one.counts, &two.counts, "{:?}", mode);
        }
    }

    #[test]
    fn a_wrong_call_more_never_helps(expected in expected_calls(4), made in replies(5)) {
        let before = graded(&expected, &line(&made), Mode::Exactly);
        let worse = format!("{} | delete_all", line(&made));
        let after = graded(&expected, &worse, Mode::Exactly);
        for ratio in [Ratio::Precision, Ratio::F1, Ratio::ExactSet, Ratio::Passed] {
            let (was, is) = (share(before.counts.ratio(ratio)), share(after.counts.ratio(ratio)));
            prop_assert!(was.is_none() || is <= was, "{:?} {:?} {:?}", ratio, was, is);
        }
        prop_assert_eq!(before.counts.ratio(Ratio::Recall), after.counts.ratio(Ratio::Recall));
        prop_assert_eq!(after.verdict.name(), "fail");
        prop_assert!(after.counts.ratio(Ratio::ExactSet).0 == 0);
    }

    #[test]
    fn a_call_made_twice_costs_precision_and_one_expected_twice_recall(
        expected in expected_calls(4),
        made in replies(4),
    ) {
        let once = graded(&expected, &line(&made), Mode::AnyOrder);
        let Some(first) = expected.first() else { return Ok(()) };
        let tool = first.split('{').next().unwrap();
        let count = |names: &[Arc<str>]| names.iter().filter(|name| ***name == *tool).count();
        let twice = graded(&expected, &format!("{}|{tool}", line(&made)), Mode::AnyOrder);
        if count(&once.missing) == 0 {
            let (was, is) = (once.counts.ratio(Ratio::Precision),
                twice.counts.ratio(Ratio::Precision));
            prop_assert_eq!((is.0, is.1), (was.0, was.1 + 1));
        }
        if count(&once.unexpected) == 0 {
            let doubled: Vec<String> = expected.iter().chain([first]).cloned().collect();
            let twice = graded(&doubled, &line(&made), Mode::AnyOrder);
            let (was, is) = (once.counts.ratio(Ratio::Recall), twice.counts.ratio(Ratio::Recall));
            prop_assert_eq!((is.0, is.1), (was.0, was.1 + 1));
        }
    }

    #[test]
    fn bounded_and_consistent(expected in expected_calls(5), made in replies(6)) {
        let counts = graded(&expected, &line(&made), Mode::Exactly).counts;
        for ratio in Ratio::ALL.iter().filter(|ratio| !ratio.is_mean()) {
            let (num, den) = counts.ratio(*ratio);
            prop_assert!(num <= den, "{:?} {}/{}", ratio, num, den);
        }
        let of = |ratio| share(counts.ratio(ratio));
        if let (Some(p), Some(r), Some(f1)) =
            (of(Ratio::Precision), of(Ratio::Recall), of(Ratio::F1))
        {
            let harmonic = if p + r > 0.0 { 2.0 * p * r / (p + r) } else { 0.0 };
            prop_assert!((harmonic - f1).abs() < 1e-12, "{} {}", harmonic, f1);
        }
        let cells: u64 = counts.confusion.values().sum();
        let (tp, called) = counts.ratio(Ratio::Precision);
        let missed = counts.ratio(Ratio::Recall).1 - tp;
        prop_assert_eq!(cells, tp + missed.max(called - tp));
    }

    #[test]
    fn counts_add_up_in_any_grouping(
        lists in prop::collection::vec((expected_calls(3), replies(3)), 3..=3),
    ) {
        let parts: Vec<Counts> = lists.iter()
            .map(|(expected, made)| graded(expected, &line(made), Mode::Exactly).counts)
            .collect();
        let sum = |list: &[&Counts]| {
            let mut sum = Counts::default();
            list.iter().for_each(|one| sum.merge(one));
            sum
        };
        let all = sum(&[&parts[0], &parts[1], &parts[2]]);
        prop_assert_eq!(&sum(&[&sum(&[&parts[0], &parts[1]]), &parts[2]]), &all);
        prop_assert_eq!(&sum(&[&parts[0], &sum(&[&parts[1], &parts[2]])]), &all);
        prop_assert_eq!(&sum(&[&parts[2], &parts[0], &parts[1]]), &all);
        prop_assert_eq!(&sum(&[&all, &Counts::default()]), &all);
    }
}
