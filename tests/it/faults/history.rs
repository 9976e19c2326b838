//! The transcript: a provider would take it at any moment, and histories that it would not take
//! are noticed by the scripted one.

use std::sync::Arc;

use proofmark::runtime::dialect::transcript::AssistantCall;
use proofmark::runtime::dialect::{Dialect, Message, Payload, ToolList, Transcript};
use proofmark::runtime::exec::Ran;
use proofmark::runtime::guard::AnswerScope;
use proofmark::runtime::provider::scripted::acceptable;
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::machine::Input;
use serde_json::json;

use super::Row;
use super::hand::Hand;
use super::record::{count, outcomes, requests};
use super::scene::{Play, ask, say, yes};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B049", || {
        let round = |path: &str| ask(&[("pay_out", &format!("{{\"path\":\"{path}\"}}"))]);
        let play = Play::new(
            vec![tool("pay.out", "L4", "")],
            vec![round("first"), round("second"), say("Paid.")],
        );
        let once = ("pay.out", yes(AnswerScope::Once));
        let play = Play { answers: vec![once.clone(), once], ..play };
        let played = play.dialect(Dialect::OpenAiResponses).ends();
        for (asked, (_, messages)) in requests(&played.journal).iter().enumerate() {
            assert_eq!(messages.matches("function_call_output").count(), asked);
        }
    }),
    ("B111", || {
        // A cut between a call and its result, and a call that nobody answered.
        refused(&["r1", "a2"]);
        refused(&["u", "a1", "r1", "a2"]);
        refused(&["u", "a1"]);
        taken(&["u", "a1", "r1", "a2", "r2"]);
    }),
    ("B112", || {
        refused(&["u", "r1", "a2", "r2"]);
        refused(&["u", "a1", "u", "r1"]);
        refused(&["u", "a1", "r1", "r1"]);
        taken(&["u", "a2", "r2"]);
    }),
    ("B113", || {
        let mut hand = three(true);
        hand.finish(0, "one");
        // A round in flight is not there yet, so nothing can cut it in two.
        assert_eq!(hand.transcript.messages().len(), 1);
        whole(&hand.transcript);
        hand.finish(1, "two");
        hand.finish(2, "three");
        assert_eq!(hand.transcript.messages().len(), 5);
        whole(&hand.transcript);
        refused(&["u", "a1 2 3", "r1"]);
        refused(&["u", "r2", "r3"]);
    }),
    ("B114", || {
        let mixed = |call: serde_json::Value| {
            let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "x"});
            let text = json!({"type": "text", "text": "and now?"});
            let user = json!({"role": "user", "content": [result, text]});
            let messages = json!([{"role": "user", "content": "hi"}, call, user]).to_string();
            let tools = ToolList::new("[]".to_owned());
            acceptable(&Payload::new(Dialect::AnthropicMessages, &tools, messages))
        };
        let made = json!({"type": "tool_use", "id": "t1", "name": "x", "input": {}});
        assert_eq!(mixed(json!({"role": "assistant", "content": [made]})), Ok(()));
        let summary = json!({"role": "assistant", "content": "it was summarised"});
        assert!(mixed(summary).unwrap_err().contains("answers call t1, which is not open"));
    }),
    ("B116", || {
        let mut hand = three(false);
        hand.give(Input::Steered("hurry".to_owned()));
        assert_eq!(hand.transcript.messages().len(), 1, "the calls in flight are elsewhere");
        whole(&hand.transcript);
        for place in 0..3 {
            hand.finish(place, "done");
        }
        assert_eq!(outcomes(hand.journal()), ["f_x succeeded"; 3]);
        whole(&hand.transcript);
    }),
    ("B117", || {
        let mut hand = three(true);
        let broken = || Ran::failed(proofmark::journal::outcome::Blame::Tool, "panic", "oh");
        hand.finish_as(1, broken());
        hand.finish(1, "pushed once more");
        hand.finish_as(1, broken());
        hand.finish(0, "one");
        hand.finish(2, "three");
        let ends = ["f_x succeeded", "f_x failed:panic", "f_x succeeded"];
        assert_eq!(outcomes(hand.journal()), ends);
        assert_eq!(count(hand.journal(), "LateResultDropped"), 2, "dropped, and recorded");
        assert_eq!(hand.transcript.messages().len(), 5);
        hand.acceptable();
    }),
    ("B209", || {
        let mut hand = three(false);
        hand.give(Input::Steered("use the other one".to_owned()));
        let blame = proofmark::journal::outcome::Blame::Tool;
        hand.finish_as(0, Ran::failed(blame, "exit_status", "no"));
        hand.finish(1, "b");
        hand.finish(2, "c");
        let roles: Vec<&str> = hand.transcript.messages().iter().map(role).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool", "user"]);
        hand.acceptable();
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::Tool { .. } => "tool",
    }
}

/// Three calls of one reply, side by side or one by one.
fn three(parallel_tools: bool) -> Hand {
    let knobs = Knobs { parallel_tools, ..Knobs::default() };
    let play = Play::new(vec![tool("f.x", "L0", "")], Vec::new());
    let mut hand = Hand::new(Play { knobs, ..play });
    let args = ["1", "2", "3"].map(|path| format!("{{\"path\":\"{path}\"}}"));
    let list: Vec<(&str, &str)> = args.iter().map(|args| ("f_x", args.as_str())).collect();
    hand.calls(&list);
    assert_eq!(hand.started.len(), if parallel_tools { 3 } else { 1 });
    hand
}

/// A history in words: `u`, `a1 2` (calls 1 and 2), `r1` (the result of call 1).
fn history(words: &[&str]) -> Transcript {
    let mut transcript = Transcript::new();
    for word in words {
        let (kind, ids) = word.split_at(1);
        transcript.push(match kind {
            "u" => Message::User { text: "go on".into() },
            "r" => {
                let (call, text) = (Arc::from(ids), Arc::from("done"));
                Message::Tool { call, text, is_error: false }
            }
            _ => {
                let call = |id: &str| AssistantCall {
                    call: id.into(),
                    name: format!("f{id}"),
                    arguments: "{}".to_owned(),
                };
                let calls = ids.split(' ').map(call).collect();
                Message::Assistant { text: "".into(), calls }
            }
        });
    }
    transcript
}

/// What every dialect that pairs calls with results says of a history.
fn verdicts(transcript: &Transcript) -> Vec<Result<(), String>> {
    let paired = Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Text);
    let tools = ToolList::new("[]".to_owned());
    paired.map(|dialect| acceptable(&dialect.request(&tools, transcript))).collect()
}

fn refused(words: &[&str]) {
    let found = verdicts(&history(words));
    assert!(found.iter().all(Result::is_err), "{words:?}: {found:?}");
}

fn taken(words: &[&str]) {
    whole(&history(words));
}

fn whole(transcript: &Transcript) {
    let found = verdicts(transcript);
    assert!(found.iter().all(Result::is_ok), "{found:?}");
}
