//! Replies that come in pieces: what is put together is what runs, and nothing else.

use proofmark::runtime::dialect::{
    Assembler, Dialect, RawCall, Reply, TextRules, Trouble, WireError, WireLimits,
};
use proofmark::runtime::provider::scripted;
use serde_json::{Value, json};

use super::Row;
use super::hand::Hand;
use super::record::{called, outcomes, ran_with, shown};
use super::scene::{Play, say, step};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B018", || {
        let reply = chat(&[
            piece(json!({"index": 0, "id": "a1"}), "lamp_set", "{\"lamp\":\"hall\"}"),
            piece(json!({"index": 0, "id": "b2"}), "lamp_set", "{\"lamp\":\"porch\"}"),
        ]);
        let expected = [("a1", json!({"lamp": "hall"})), ("b2", json!({"lamp": "porch"}))];
        ran(reply.unwrap(), &expected);
    }),
    ("B020", || {
        let reply = chat(&[
            piece(json!({"index": 0}), "lamp_set", "{\"lamp\":\"E. Byrne\"}"),
            piece(json!({"index": 0}), "lamp_set", "{\"lamp\":\"V. Stone\"}"),
        ]);
        let expected =
            [("call_1", json!({"lamp": "E. Byrne"})), ("call_2", json!({"lamp": "V. Stone"}))];
        ran(reply.unwrap(), &expected);
    }),
    ("B023", || {
        let start = |index: u32, id: &str, name: &str| {
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            json!({"type": "content_block_start", "index": index, "content_block": block})
        };
        let more = |index: u32, json: &str| {
            let delta = json!({"type": "input_json_delta", "partial_json": json});
            json!({"type": "content_block_delta", "index": index, "delta": delta})
        };
        let reply = read(
            Dialect::AnthropicMessages,
            &[
                start(1, "q", "quote"),
                start(2, "n", "news"),
                more(1, "{\"s\":"),
                more(2, "{\"q\":\"fx\"}"),
                more(1, "\"ZZT\"}"),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            ],
        );
        let expected = [
            RawCall::native(Some("q".to_owned()), "quote", "{\"s\":\"ZZT\"}"),
            RawCall::native(Some("n".to_owned()), "news", "{\"q\":\"fx\"}"),
        ];
        assert_eq!(reply.unwrap().calls, expected);
    }),
    ("B024", || {
        let reply = chat(&[
            piece(json!({"index": 0, "id": "k1"}), "lamp_set", "{\"lamp\":"),
            json!({"index": 3, "function": {"arguments": "\"long\"}"}}),
        ]);
        let mut hand = hand();
        hand.reply(reply.unwrap());
        assert!(hand.running().is_empty());
        let ends = ["lamp_set rejected:json", " unavailable:unknown"];
        assert_eq!(outcomes(hand.journal()), ends);
    }),
    ("B026", || {
        for text in ["Sure. <tool_cal", "Sure.\n<tool_call>{\"name\":\"lamp_set\",\"argum"] {
            let reply = Reply { finish: Some("stop".to_owned()), ..scripted::say(text) };
            let whole = Dialect::Text.decode(Dialect::Text.body(&reply).as_bytes(), limits());
            let whole = Dialect::Text.parse(&whole.unwrap(), TextRules::ALL);
            for size in 1..=text.len() {
                let stream = Dialect::Text.stream(&reply, size);
                let mut assembler = Assembler::new(Dialect::Text, limits());
                stream.as_bytes().chunks(size).for_each(|piece| assembler.push(piece));
                let reply = assembler.finish().unwrap();
                assert_eq!(Dialect::Text.parse(&reply, TextRules::ALL), whole);
            }
            assert!(whole.1.iter().all(|call| call.flaw.is_some()), "{whole:?}");
        }
    }),
    ("B027", || {
        for nothing in ["{}", ""] {
            let calls = [("lamp_set", nothing), ("lamp_set", "{\"lamp\":\"hall\"}")];
            let sent = super::scene::calls(&calls);
            for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Text) {
                let mut assembler = Assembler::new(dialect, limits());
                assembler.push(dialect.stream(&sent, 2).as_bytes());
                let expected = [("p0", json!({})), ("p1", json!({"lamp": "hall"}))];
                ran(assembler.finish().unwrap(), &expected);
            }
        }
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// A connection that breaks inside a call: what was whole would run, what was cut would not, also
/// where its arguments happen to be JSON or where nothing of them came yet.
#[test]
fn a_call_that_was_cut_never_runs() {
    for (rest, told) in [("", ""), ("{}", "{}"), ("{\"lamp\":\"ha", "{\"lamp\":\"ha")] {
        let stream = events(&[
            delta(&piece(json!({"index": 0, "id": "a"}), "lamp_set", "{\"lamp\":\"hall\"}")),
            delta(&piece(json!({"index": 1, "id": "b"}), "lamp_set", rest)),
        ]);
        let mut assembler = Assembler::new(Dialect::OpenAiChat, limits());
        assembler.push(stream.as_bytes());
        let error = assembler.finish().unwrap_err();
        assert_eq!((error.trouble, error.fault().blame.as_str()), (Trouble::Cut, "infrastructure"));
        let mut hand = hand();
        hand.reply(*error.kept);
        assert_eq!(hand.running(), ["lamp.set"]);
        hand.finish(0, "lit");
        hand.acceptable();
        let ends = ["lamp_set succeeded", "lamp_set rejected:json"];
        assert_eq!(outcomes(hand.journal()), ends);
        let why = shown(hand.journal(), 1);
        assert!(why.contains("the reply ended inside the call"), "{why}");
        // Nor is it a call of a session that goes on: what is kept of it is no JSON, and not blank.
        let calls = called(hand.journal());
        assert_eq!((&*calls[0], &*calls[1]), ("a", "b"));
        let kept = &hand.asked.last().unwrap().messages;
        assert!(kept.contains(&serde_json::to_string(&format!("{told}…")).unwrap()), "{kept}");
    }
}

fn limits() -> WireLimits {
    WireLimits::default()
}

fn hand() -> Hand {
    Hand::new(Play::new(vec![tool("lamp.set", "L0", "")], Vec::new()))
}

fn piece(mut place: Value, name: &str, arguments: &str) -> Value {
    place["function"] = json!({"name": name, "arguments": arguments});
    place
}

fn delta(piece: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn read(dialect: Dialect, list: &[Value]) -> Result<Reply, WireError> {
    let mut assembler = Assembler::new(dialect, limits());
    events(list).as_bytes().chunks(1).for_each(|piece| assembler.push(piece));
    assembler.finish()
}

/// A stream of pieces of calls.
fn chat(pieces: &[Value]) -> Result<Reply, WireError> {
    let mut list: Vec<Value> = pieces.iter().map(delta).collect();
    list.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
    read(Dialect::OpenAiChat, &list)
}

/// What runs of a reply: ids and arguments, in the order of the calls.
fn ran(reply: Reply, expected: &[(&str, Value)]) {
    let ids: Vec<Option<String>> = reply.calls.iter().map(|call| call.id.clone()).collect();
    let played =
        Play::new(vec![tool("lamp.set", "L0", "")], vec![step(reply), say("Done.")]).ends();
    assert_eq!(called(&played.journal).len(), expected.len());
    for (place, (id, args)) in expected.iter().enumerate() {
        ran_with(&played.journal, place, args);
        if ids[place].is_some() {
            assert_eq!(&*called(&played.journal)[place], *id);
        }
    }
}
