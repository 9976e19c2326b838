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
        for (level, way) in [
            ("L0", "free"),
            ("L0", "failing"),
            ("L4", "asked"),
            ("L4", "granted"),
            ("L0", "beside another"),
        ] {
            let mut hand = roomy(vec![tool("plan.set", level, ""), tool("b.x", "L0", "")]);
            for round in 0..50 {
                again(&mut hand, way, round);
                if hand.end.is_some() {
                    break;
                }
            }
            assert_eq!(hand.end.as_ref().map(|end| end.name()), Some("loop_stopped"), "{way}");
            let ends = outcomes(hand.journal());
            let blocked = ends.iter().filter(|end| *end == "plan_set blocked:loop_guard").count();
            let ran = hand.running().iter().filter(|name| **name == "plan.set").count();
            assert_eq!((ran, blocked), (3, 3), "{way}: warned of, blocked, then stopped");
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

/// The same call again, to its end; beside a fresh one, where the way wants that.
fn again(hand: &mut Hand, way: &str, round: usize) {
    let other = format!("{{\"path\":\"{round}\"}}");
    let mut list = vec![("plan_set", "{}")];
    if way == "beside another" {
        list.push(("b_x", &other));
    }
    let started = hand.started.len();
    hand.calls(&list);
    match way {
        "asked" => hand.answer(round, yes(AnswerScope::Once)),
        "granted" if round == 0 => hand.answer(0, yes(AnswerScope::Session)),
        _ => {}
    }
    for place in started..hand.started.len() {
        let own = hand.running()[place] == "plan.set";
        let failed = Ran::failed(Blame::Tool, "exit_status", "same");
        let output = if own { "same".to_owned() } else { format!("other {round}") };
        let well = Ran::ok(output, Default::default());
        hand.finish_as(place, if way == "failing" && own { failed } else { well });
    }
}
