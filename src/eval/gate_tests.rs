//! Gates are monotone: better counts and milder thresholds never make a verdict worse.

use proptest::prelude::*;

use super::*;

fn entry(at_least: Option<f64>, at_most: Option<f64>, min_denominator: u64) -> GateEntry {
    GateEntry {
        metric: "tool_choice.recall".to_owned(),
        per: None,
        scope: Default::default(),
        at_least,
        at_most,
        min_denominator,
        report_only: false,
    }
}

fn judged(entry: &GateEntry, num: u64, den: u64) -> GateVerdict {
    let metric = Metric {
        name: "tool_choice.recall",
        scope: Default::default(),
        num: num as f64,
        den,
        interval: None,
        method: "wilson",
    };
    judge(std::slice::from_ref(entry), &[metric], &[])[0].verdict
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_better_result_or_a_milder_gate_is_never_judged_worse(
        (den, num, more) in (0..40_u64)
            .prop_flat_map(|den| (Just(den), 0..=den, 0..=den))
            .prop_map(|(den, x, y)| (den, x.min(y), x.max(y))),
        (strict, mild) in (0..=20_u8, 0..=20_u8)
            .prop_map(|(x, y)| (f64::from(x.max(y)) / 20.0, f64::from(x.min(y)) / 20.0)),
        (few, many) in (0..40_u64, 0..40_u64).prop_map(|(x, y)| (x.min(y), x.max(y))),
    ) {
        let least = |limit, need| entry(Some(limit), None, need);
        let most = |limit, need| entry(None, Some(limit), need);
        let gate = least(strict, few);
        prop_assert!(judged(&gate, more, den) <= judged(&gate, num, den));
        prop_assert!(judged(&most(strict, few), num, den) <= judged(&most(strict, few), more, den));
        prop_assert!(judged(&least(mild, few), num, den) <= judged(&least(strict, few), num, den));
        prop_assert!(judged(&most(strict, few), num, den) <= judged(&most(mild, few), num, den)
            || den == 0);
        // Asking for more evidence never decides what was undecided.
        for make in [&least as &dyn Fn(f64, u64) -> GateEntry, &most] {
            let (loose, tight) =
                (judged(&make(mild, few), num, den), judged(&make(mild, many), num, den));
            prop_assert!(tight == loose || tight == GateVerdict::Inconclusive);
        }
        let both = entry(Some(mild), Some(strict), few);
        let each = judged(&least(mild, few), num, den).max(judged(&most(strict, few), num, den));
        prop_assert!(judged(&both, num, den) == each || den == 0);
    }
}

#[test]
fn the_value_of_the_threshold_passes() {
    for (num, den, limit) in
        [(4, 5, 0.8), (1, 3, 1.0 / 3.0), (7, 10, 0.7), (0, 9, 0.0), (9, 9, 1.0)]
    {
        assert_eq!(judged(&entry(Some(limit), None, 0), num, den), GateVerdict::Pass);
        assert_eq!(judged(&entry(None, Some(limit), 0), num, den), GateVerdict::Pass);
    }
}

#[test]
fn scopes_are_exact_and_every_tool_is_judged() {
    let metric = |scope: &[(&'static str, &str)], num: u64| Metric {
        name: "tool_choice.recall",
        scope: scope.iter().map(|(key, value)| (*key, Arc::from(*value))).collect(),
        num: num as f64,
        den: 10,
        interval: None,
        method: "wilson",
    };
    let metrics = [
        metric(&[], 9),
        metric(&[("average", "macro")], 1),
        metric(&[("split", "frozen")], 2),
        metric(&[("tool", "a")], 3),
        metric(&[("tool", "b")], 9),
    ];
    let tools: Vec<Arc<str>> = vec!["a".into(), "b".into(), "c".into()];
    let names = |entry: GateEntry| -> Vec<String> {
        let gates = judge(&[entry], &metrics, &tools);
        gates.iter().map(|gate| format!("{}: {}", gate.gate, gate.verdict.name())).collect()
    };
    assert_eq!(names(entry(Some(0.8), None, 0)), ["tool_choice.recall >= 0.8: pass"]);
    let mut frozen = entry(Some(0.8), None, 0);
    frozen.scope.insert("split".to_owned(), "frozen".to_owned());
    assert_eq!(names(frozen), ["tool_choice.recall{split=frozen} >= 0.8: fail"]);
    let each = GateEntry { per: Some("tool".to_owned()), ..entry(Some(0.8), None, 4) };
    assert_eq!(
        names(each),
        [
            "tool_choice.recall{tool=a} >= 0.8: fail",
            "tool_choice.recall{tool=b} >= 0.8: pass",
            "tool_choice.recall{tool=c} >= 0.8: inconclusive",
        ]
    );
}
