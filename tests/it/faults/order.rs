//! Calls side by side: results in the order of the calls, writers one after the other.

use proofmark::journal::{Event, Journal};
use proofmark::runtime::dialect::{Message, Transcript};
use proofmark::runtime::exec::{Ran, Workspace};
use proofmark::runtime::resolved::Knobs;
use proofmark::tool::descriptor::Descriptor;

use super::Row;
use super::hand::Hand;
use super::record::{called, outcomes, shown};
use super::scene::{Play, ask, builtin, say};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B120", || {
        let mut hand = parallel(vec![tool("f.x", "L0", "")], Vec::new());
        hand.calls(&[("f_x", "{\"path\":\"1\"}"), ("f_x", "{\"path\":\"2\"}")]);
        hand.finish(1, "second call, done first");
        hand.finish(0, "first call");
        hand.say("done");
        assert_eq!(replayed(hand.journal()), live(&hand.transcript));
        assert_eq!(live(&hand.transcript)[2].0, &*called(hand.journal())[0]);
    }),
    ("B121", || {
        let rules = "schema: proofmark/rules@1\nrules:\n  - {id: never, decision: deny, reason: \
                     r, when: {args: {path: {equals: secret}}}, examples: [{tool: f.x, args: \
                     {path: secret}}]}\n";
        let mut hand = parallel(vec![tool("f.x", "L0", "")], Vec::new());
        hand.calls(&[("f_x", "{\"path\":\"1\"}")]);
        hand.finish(0, "x");
        let play = Play { rules, ..Play::new(vec![tool("f.x", "L0", "")], Vec::new()) };
        let mut hand = Hand::new(side_by_side(play));
        hand.calls(&[("f_x", "{\"path\":\"slow\"}"), ("f_x", "{\"path\":\"secret\"}")]);
        assert_eq!(outcomes(hand.journal()), ["f_x open", "f_x denied:policy"]);
        hand.finish(0, "slow");
        let calls = called(hand.journal());
        let told: Vec<_> = live(&hand.transcript).into_iter().skip(2).map(|(id, _)| id).collect();
        assert_eq!(told, [calls[0].to_string(), calls[1].to_string()]);
        hand.acceptable();
    }),
    ("B122", || {
        let mut hand = parallel(vec![tool("f.x", "L0", "")], Vec::new());
        let batch = ["1", "2", "3"].map(|path| format!("{{\"path\":\"{path}\"}}"));
        let list: Vec<(&str, &str)> = batch.iter().map(|args| ("f_x", args.as_str())).collect();
        hand.calls(&list);
        let blame = proofmark::journal::outcome::Blame::Tool;
        hand.finish_as(1, Ran::failed(blame, "exit_status", "no"));
        hand.finish(2, "c");
        hand.finish(0, "a");
        let ends = ["f_x succeeded", "f_x failed:exit_status", "f_x succeeded"];
        assert_eq!(outcomes(hand.journal()), ends);
        hand.calls(&[("f_x", "{\"path\":\"4\"}")]);
        // What is left of the first batch says nothing in the second.
        hand.finish(1, "stale");
        hand.finish(3, "d");
        let fresh = live(&hand.transcript).split_off(6);
        assert_eq!(fresh.len(), 1);
        assert_eq!(fresh[0].0, &*called(hand.journal())[3]);
    }),
    ("B123", || {
        let edit = |find: &str, to: &str| {
            format!("{{\"path\":\"c.rs\",\"find\":\"{find}\",\"replace\":\"{to}\"}}")
        };
        let script = vec![
            ask(&[("file_patch", &edit("a", "A")), ("file_patch", &edit("b", "B"))]),
            ask(&[("file_read", "{\"path\":\"c.rs\"}")]),
            say("ok"),
        ];
        let tools = vec![builtin("file.patch", "L2"), builtin("file.read", "L0")];
        let workspace = Workspace::new([("c.rs".to_owned(), "a b".to_owned())].into());
        let played = side_by_side(Play { workspace, ..Play::new(tools, script) }).ends();
        let patched = "file_patch succeeded";
        assert_eq!(outcomes(&played.journal), [patched, patched, "file_read succeeded"]);
        assert!(shown(&played.journal, 2).starts_with("A B"), "both edits are there");
        let mut hand = parallel(vec![builtin("file.patch", "L2")], Vec::new());
        hand.calls(&[("file_patch", &edit("a", "A")), ("file_patch", &edit("b", "B"))]);
        assert_eq!(hand.started.len(), 1, "the second waits for the first");
    }),
    ("B125", || {
        let tools = || vec![on("x.read", "L0", "x"), on("x.edit", "L2", "x")];
        let read = ("x_read", "{\"path\":\"x\"}");
        let (first, second) = (("x_edit", "{\"path\":\"1\"}"), ("x_edit", "{\"path\":\"2\"}"));
        let again = ("x_read", "{\"path\":\"again\"}");
        let mut hand = parallel(tools(), Vec::new());
        hand.calls(&[read, again]);
        assert_eq!(hand.running(), ["x.read", "x.read"], "readers at the same time");
        let mut hand = parallel(tools(), Vec::new());
        hand.calls(&[read, first, second, again]);
        for place in 0..4 {
            assert_eq!(hand.started.len(), place + 1, "one after the other, in call order");
            hand.finish(place, "done");
        }
        assert_eq!(hand.running(), ["x.read", "x.edit", "x.edit", "x.read"]);
        // What touches something else need not wait.
        let mut tools = tools();
        tools.push(on("y.edit", "L2", "y"));
        let mut hand = parallel(tools, Vec::new());
        hand.calls(&[first, ("y_edit", "{}"), second]);
        assert_eq!(hand.running(), ["x.edit", "y.edit"]);
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

fn side_by_side(play: Play) -> Play {
    Play { knobs: Knobs { parallel_tools: true, ..play.knobs }, ..play }
}

fn parallel(
    tools: Vec<Descriptor>,
    script: Vec<proofmark::runtime::provider::scripted::Step>,
) -> Hand {
    Hand::new(side_by_side(Play::new(tools, script)))
}

/// A tool that reads or writes one file.
fn on(id: &str, level: &str, file: &str) -> Descriptor {
    let mut tool = tool(id, level, "");
    let file = proofmark::tool::effect::ResourcePattern::new(format!("workspace:{file}"));
    let list = match level {
        "L0" => &mut tool.effects.reads,
        _ => &mut tool.effects.writes,
    };
    *list = vec![file];
    tool
}

/// Each message as its call (or its role) and its text.
fn live(transcript: &Transcript) -> Vec<(String, String)> {
    let told = |message: &Message| match message {
        Message::User { text } => ("user".to_owned(), text.to_string()),
        Message::Assistant { text, .. } => ("assistant".to_owned(), text.to_string()),
        Message::Tool { call, text, .. } => (call.to_string(), text.to_string()),
    };
    transcript.messages().iter().map(told).collect()
}

/// The same, read from the journal alone.
fn replayed(journal: &Journal) -> Vec<(String, String)> {
    let appended = journal.entries().iter().filter_map(|entry| match &entry.event {
        Event::TranscriptAppended(fact) => Some(&fact.messages),
        _ => None,
    });
    let told = |message: &proofmark::journal::event::turn::TranscriptMessage| {
        let text = journal.blobs().get(&message.text).unwrap().to_string();
        (message.call.clone().unwrap_or_else(|| message.role.clone()), text)
    };
    appended.flatten().map(told).collect()
}
