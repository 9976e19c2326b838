//! A cancelled turn: every call has its end and says what is known of it, and the next turn works.

use proofmark::runtime::dialect::Dialect;

use super::Row;
use super::hand::Hand;
use super::record::{about, called, outcomes, shown, starts};
use super::scene::Play;
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B100", || {
        for dialect in Dialect::ALL {
            for running in [true, false] {
                let mut hand = searching(dialect, running);
                hand.cancel();
                if running {
                    hand.torn(0);
                }
                assert_eq!(hand.end.as_ref().map(|end| end.name()), Some("cancelled"));
                assert_eq!(hand.transcript.messages().len(), 3, "calls, and one result at once");
                hand.begin();
                hand.acceptable();
                hand.say("Again.");
                assert_eq!(hand.end.as_ref().map(|end| end.name()), Some("final_text"));
            }
        }
    }),
    ("B104", || {
        let mut hand = searching(Dialect::OpenAiChat, true);
        hand.cancel();
        hand.torn(0);
        assert_eq!(outcomes(hand.journal()), ["web_search interrupted"]);
        let torn = shown(hand.journal(), 0);
        assert!(torn.contains("it had started, its outcome is unknown"), "{torn}");
        let mut hand = searching(Dialect::OpenAiChat, false);
        hand.cancel();
        assert_eq!(outcomes(hand.journal()), ["web_search cancelled"]);
        assert_eq!(&*shown(hand.journal(), 0), "not started: the user");
        assert_eq!(starts(hand.journal(), 0), 0);
    }),
    ("B106", || {
        let tools = vec![tool("f.x", "L1", "")];
        let mut hand = Hand::new(Play::new(tools, Vec::new()));
        let path = ["1", "2", "3"].map(|path| format!("{{\"path\":\"{path}\"}}"));
        let list: Vec<(&str, &str)> = path.iter().map(|args| ("f_x", args.as_str())).collect();
        hand.calls(&list);
        hand.cancel();
        hand.torn(0);
        let ends = ["f_x interrupted", "f_x cancelled", "f_x cancelled"];
        assert_eq!(outcomes(hand.journal()), ends);
        assert_eq!(called(hand.journal()).len(), 3);
        for place in 0..3 {
            let own = about(hand.journal(), place).into_iter();
            let settled = own.filter(|entry| entry.event.name() == "ToolCallSettled").count();
            assert_eq!((settled, shown(hand.journal(), place).is_empty()), (1, false));
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// One call that runs, or waits for a person.
fn searching(dialect: Dialect, running: bool) -> Hand {
    let level = if running { "L0" } else { "L4" };
    let play = Play::new(vec![tool("web.search", level, "")], Vec::new());
    let mut hand = Hand::new(play.dialect(dialect));
    hand.calls(&[("web_search", "{}")]);
    assert_eq!(hand.started.len(), usize::from(running));
    hand
}
