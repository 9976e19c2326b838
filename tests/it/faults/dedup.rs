//! What runs twice and must not, and what is dropped and must not be.

use proofmark::journal::event::turn::ProviderFault;
use proofmark::journal::outcome::Blame;
use proofmark::runtime::exec::{Ran, Workspace};
use proofmark::runtime::guard::repeat::DuplicateScope;
use proofmark::runtime::provider::scripted::{Answer, ExpectedRequest, Step};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::turn::machine::Input;

use super::Row;
use super::hand::Hand;
use super::record::{called, count, outcomes, starts};
use super::scene::{Play, ask, builtin, calls, say};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B127", || {
        let lost = ProviderFault {
            blame: "infrastructure".to_owned(),
            message: "the connection was reset".to_owned(),
        };
        let expect =
            ExpectedRequest { contains: vec!["t.x: done".to_owned()], ..Default::default() };
        let reply = proofmark::runtime::provider::scripted::say("Done before.");
        let script = vec![
            ask(&[("t_x", "{}")]),
            Step { expect: ExpectedRequest::default(), answer: Answer::Fault(lost.clone()) },
            Step { expect, answer: Answer::Reply(reply) },
        ];
        let play = Play { turns: 2, ..Play::new(vec![tool("t.x", "L2", "")], script) };
        let played = play.run();
        assert_eq!(played.ends, [TurnEnd::ProviderFault(lost), TurnEnd::FinalText]);
        assert_eq!((called(&played.journal).len(), starts(&played.journal, 0)), (1, 1));
    }),
    ("B130", || {
        let mut hand = Hand::new(Play::new(vec![tool("t.x", "L2", "")], Vec::new()));
        for _ in 0..3 {
            hand.give(Input::Replied(Ok(calls(&[("t_x", "{}")]))));
        }
        assert_eq!((called(hand.journal()).len(), hand.started.len()), (1, 1));
        for _ in 0..3 {
            hand.finish(0, "done");
        }
        assert_eq!(count(hand.journal(), "ToolCallFinished"), 1);
        assert_eq!(hand.asked.len(), 2, "and the model is asked once");
    }),
    ("B132", || {
        for duplicate_scope in [DuplicateScope::Reply, DuplicateScope::Turn] {
            let knobs = Knobs { duplicate_scope, ..Knobs::default() };
            let list = ("dir_list", "{\"path\":\"x\"}");
            let make = ("dir_make", "{\"path\":\"x/y\"}");
            for script in [
                vec![ask(&[list, make, list]), say("ok")],
                vec![ask(&[list]), ask(&[make]), ask(&[list]), say("ok")],
            ] {
                let tools = vec![tool("dir.list", "L0", ""), tool("dir.make", "L2", "")];
                let play = Play { knobs: knobs.clone(), ..Play::new(tools, script) };
                let ends = ["dir_list succeeded", "dir_make succeeded", "dir_list succeeded"];
                assert_eq!(outcomes(&play.ends().journal), ends, "the third sees the second");
            }
        }
    }),
    ("B133", || {
        let write = ("file_patch", "{\"path\":\"f\",\"find\":\"a\",\"replace\":\"b\"}");
        let make = ("file_write", "{\"path\":\"f\",\"content\":\"a\"}");
        let tools = vec![builtin("file.patch", "L2"), builtin("file.write", "L2")];
        let script = vec![ask(&[write]), ask(&[make]), ask(&[write]), say("ok")];
        let play = Play { workspace: Workspace::default(), ..Play::new(tools, script) };
        let ends = ["file_patch failed:not_found", "file_write succeeded", "file_patch succeeded"];
        assert_eq!(outcomes(&play.ends().journal), ends, "a refusal is not remembered");
    }),
    ("B170", || {
        let tries = "execution: {retryPolicy: {maxRetries: 2, retryOn: [timeout]}}\n";
        for (level, times) in [("L4", 1), ("L0", 2)] {
            let mut order = tool("order.create", level, tries);
            order.effects.idempotent = level == "L0";
            let rules = "schema: proofmark/rules@1\nrules:\n  - {id: all, decision: allow, \
                         reason: r, examples: [{tool: order.create}]}\n";
            let mut hand = Hand::new(Play { rules, ..Play::new(vec![order], Vec::new()) });
            hand.calls(&[("order_create", "{}")]);
            hand.finish_as(0, Ran::failed(Blame::Tool, "timeout", "no end after 30000 ms"));
            hand.wake(60_000);
            assert_eq!(hand.started.len(), times, "only what is idempotent is sent again");
            assert_eq!(called(hand.journal()).len(), 1, "and under no other id");
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}
