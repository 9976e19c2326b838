//! Facts about calls: each names its call, by one id from the request to the receipt.

use proofmark::journal::Event;
use proofmark::runtime::dialect::{Message, RawCall};
use proofmark::runtime::provider::scripted::{Step, call};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::surface::Limits;

use super::Row;
use super::hand::Hand;
use super::record::{about, called, count, shown, story};
use super::scene::{Play, ask, say, step};
use crate::surfaces::check;
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B201", || {
        let knobs = Knobs { parallel_tools: true, ..Knobs::default() };
        let play = Play::new(vec![tool("note.get", "L0", "")], Vec::new());
        let mut hand = Hand::new(Play { knobs, ..play });
        hand.calls(&[("note_get", "{\"path\":\"x\"}"), ("note_get", "{\"path\":\"y\"}")]);
        hand.finish(1, "this is y");
        hand.finish(0, "this is x");
        let own = |place: usize| {
            let args =
                about(hand.journal(), place).into_iter().find_map(|entry| match &entry.event {
                    Event::ToolCallRequested(fact) => fact.args.clone(),
                    _ => None,
                });
            let args = args.unwrap();
            (args["path"].as_str().unwrap().to_owned(), shown(hand.journal(), place))
        };
        assert!(own(0).0 == "x" && own(0).1.starts_with("this is x"));
        assert!(own(1).0 == "y" && own(1).1.starts_with("this is y"));
        let nameless = |event: &Event| event.name().starts_with("ToolCall");
        let mut entries = hand.journal().entries().iter();
        assert!(entries.all(|entry| entry.call.is_some() || !nameless(&entry.event)));
    }),
    ("B203", || {
        let script = vec![named("call_1", "a_x"), say("ok")];
        let played = Play::new(vec![tool("a.x", "L2", "")], script).ends();
        assert_eq!(called(&played.journal), ["call_1".into()]);
        let story = story(&played.journal, 0);
        assert!(["ToolCallStarted", "ReceiptIssued"].iter().all(|name| story.contains(name)));
        for name in ["ToolCallStarted", "ToolCallFinished", "ToolCallSettled", "ReceiptIssued"] {
            assert_eq!(count(&played.journal, name), 1, "one card, and it is closed");
        }
        let Message::Tool { call, .. } = &played.transcript.messages()[2] else { panic!() };
        assert_eq!(&**call, "call_1");
    }),
    ("B205", || {
        let script = vec![named("call_A", "a_x"), say("ok"), named("call_A", "b_x"), say("ok")];
        let tools = vec![tool("a.x", "L0", ""), tool("b.x", "L0", "")];
        let played = Play { turns: 2, ..Play::new(tools, script) }.ends();
        let ids = called(&played.journal);
        assert_ne!(ids[0], ids[1], "each call has an id of its own");
        for (place, tool) in ["a.x", "b.x"].into_iter().enumerate() {
            assert!(shown(&played.journal, place).starts_with(tool));
            let wire =
                about(&played.journal, place).into_iter().find_map(|entry| match &entry.event {
                    Event::ToolCallRequested(fact) => fact.provider_call_id.clone(),
                    _ => None,
                });
            assert_eq!(wire.as_deref(), Some("call_A"), "and keeps the provider's beside it");
        }
        // Twice in one reply as well.
        let twice = ask(&[("a_x", "{}"), ("b_x", "{}")]);
        let same = Play::new(
            vec![tool("a.x", "L0", ""), tool("b.x", "L0", "")],
            vec![renamed(twice, "same"), say("ok")],
        );
        let ids = called(&same.ends().journal);
        assert_ne!(ids[0], ids[1]);
    }),
    ("B204", || {
        // A client that follows the cards sees each open once, then close with its result.
        let list = [("a_x", "{}"), ("mail_send", "{}"), ("a_x", "{\"path\":7}")];
        let tools = vec![tool("a.x", "L0", ""), tool("mail.send", "L4", "")];
        let played = Play::new(tools, vec![ask(&list), say("ok")]).ends();
        let shown = check(&played.journal, Limits::default());
        assert!(shown >= 6, "three surfaces open and close one card: {shown}");
        let entries = played.journal.entries().iter();
        for entry in entries.filter(|entry| entry.cause.is_some()) {
            assert!(entry.cause < Some(entry.seq), "what led to it was there: {entry:?}");
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// A reply with one call of this id.
fn named(id: &str, name: &str) -> Step {
    step(call(vec![RawCall::native(Some(id.to_owned()), name, "{}")]))
}

/// The same reply, where every call has this id.
fn renamed(mut step: Step, id: &str) -> Step {
    if let proofmark::runtime::provider::scripted::Answer::Reply(reply) = &mut step.answer {
        reply.calls.iter_mut().for_each(|call| call.id = Some(id.to_owned()));
    }
    step
}
