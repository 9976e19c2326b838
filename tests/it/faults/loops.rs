//! Circles are seen through what stands between; work that repeats itself is none.

use proofmark::journal::outcome::Blame;
use proofmark::runtime::exec::Ran;
use proofmark::runtime::guard::AnswerScope;
use proofmark::runtime::resolved::Knobs;

use super::Row;
use super::hand::Hand;
use super::record::{count, outcomes};
use super::scene::{Play, ask, say, yes};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B194", || {
        let (a, b) = (ask(&[("a_x", "{}")]), ask(&[("b_x", "{}")]));
        let mut script: Vec<_> =
            (0..7).map(|n| if n % 2 == 0 { a.clone() } else { b.clone() }).collect();
        script.push(say("ok"));
        let tools = vec![tool("a.x", "L0", ""), tool("b.x", "L0", "")];
        let played = Play::new(tools, script).ends();
        let ends = outcomes(&played.journal);
        assert_eq!(ends[..6].iter().filter(|end| end.ends_with("succeeded")).count(), 6);
        assert_eq!(ends[6], "a_x blocked:loop_guard", "the fourth of it, whatever stood between");
        assert!(count(&played.journal, "LoopWarned") > 0);
    }),
    ("B197", || {
        let mut hand = roomy(vec![tool("file.move", "L2", "")]);
        for file in 0..15 {
            hand.calls(&[("file_move", &format!("{{\"path\":\"{file}\"}}"))]);
            hand.finish(file, &format!("moved {file}"));
        }
        hand.say("All moved.");
        assert_eq!(outcomes(hand.journal()), ["file_move succeeded"; 15]);
        assert_eq!(count(hand.journal(), "LoopWarned"), 0);
    }),
    ("B199", || {
        let round = ask(&[("a_x", "{}"), ("b_x", "{}")]);
        let script = (0..12).map(|n| if n % 2 == 0 { round.clone() } else { say("ok") });
        let tools = vec![tool("a.x", "L0", ""), tool("b.x", "L2", "")];
        let played = Play { turns: 6, ..Play::new(tools, script.collect()) }.ends();
        assert!(outcomes(&played.journal).iter().all(|end| end.ends_with("succeeded")));
        assert_eq!(count(&played.journal, "LoopWarned"), 0, "no turn remembers another");
    }),
    ("B200", || {
        let ways: [(&str, &str, fn(&mut Hand, usize)); 5] = [
            ("L0", "free", |hand, place| hand.finish(place, "same")),
            ("L0", "failing", |hand, place| {
                hand.finish_as(place, Ran::failed(Blame::Tool, "exit_status", "same"));
            }),
            ("L4", "asked", |hand, place| {
                hand.answer(place, yes(AnswerScope::Once));
                hand.finish(place, "same");
            }),
            ("L4", "granted", |hand, place| {
                if place == 0 {
                    hand.answer(0, yes(AnswerScope::Session));
                }
                hand.finish(place, "same");
            }),
            ("L0", "beside another", |hand, place| {
                hand.finish(2 * place, "same");
                hand.finish(2 * place + 1, &format!("other {place}"));
            }),
        ];
        for (level, way, end) in ways {
            let mut hand = roomy(vec![tool("plan.set", level, ""), tool("b.x", "L0", "")]);
            for place in 0..3 {
                again(&mut hand, way, place);
                end(&mut hand, place);
            }
            again(&mut hand, way, 3);
            if way == "asked" {
                hand.answer(3, yes(AnswerScope::Once));
            }
            let blocked = "plan_set blocked:loop_guard".to_owned();
            assert!(outcomes(hand.journal()).contains(&blocked), "{way}");
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// A turn that may ask often, and runs calls side by side.
fn roomy(tools: Vec<proofmark::tool::descriptor::Descriptor>) -> Hand {
    let knobs = Knobs { iteration_cap: 60, parallel_tools: true, ..Knobs::default() };
    Hand::new(Play { knobs, ..Play::new(tools, Vec::new()) })
}

/// The same call again; beside a fresh one, where the way wants that.
fn again(hand: &mut Hand, way: &str, place: usize) {
    let other = format!("{{\"path\":\"{place}\"}}");
    let mut list = vec![("plan_set", "{}")];
    if way == "beside another" {
        list.push(("b_x", &other));
    }
    hand.calls(&list);
}
