//! Arguments: never repaired, never emptied, never turned into something else.

use proofmark::runtime::dialect::{Dialect, TextRules};
use proofmark::runtime::provider::scripted;
use serde_json::{Value, json};

use super::Row;
use super::record::{outcomes, ran_with, requests, shown, starts};
use super::scene::{Play, ask, guard, rewrite, say, with_schema};
use crate::tools::tool;

pub const ROWS: &[Row] = &[
    ("B019", || {
        let schema = of(json!({"room": {"type": "string"}}));
        check(&schema, r#"{"room":"attic"}{"room":"cellar"}"#, Err("json"));
    }),
    ("B028", || {
        let schema = of(json!({"n": {"type": "integer"}, "s": {"type": "string"}}));
        check(&schema, r#"{"n": "42", "s": "end"}"#, Err("/n"));
        check(&schema, r#"{"n": 42, "s": "end"}"#, Ok(json!({"n": 42, "s": "end"})));
    }),
    ("B032", || {
        let schema = of(json!({"limit": {"type": "integer"}}));
        check(&schema, r#"{"limit": 5"#, Err("json"));
        let played = played(&schema, r#"{"limit": 5"#, Dialect::OpenAiChat);
        let told = shown(&played.journal, 0);
        assert!(told.contains("not JSON: EOF while parsing an object"), "{told}");
        let (tools, _) = &requests(&played.journal)[1];
        assert!(tools.contains(r#""limit":{"type":"integer"}"#), "the schema stands beside it");
    }),
    ("B035", || {
        let schema = of(json!({"record": {"type": "boolean"}}));
        for wrong in [r#""false""#, r#""no""#, r#""0""#, "0", "1", "null", r#""""#] {
            check(&schema, &format!(r#"{{"record":{wrong}}}"#), Err("/record"));
        }
        check(&schema, r#"{"record":false}"#, Ok(json!({"record": false})));
    }),
    ("B036", || {
        let schema = of(json!({"overwrite_all": {"type": "boolean"}}));
        for (kind, expected) in [("", Err("/overwrite_all")), (" type=\"json\"", Ok(false))] {
            let text = format!(
                "<invoke name=\"t_x\"><parameter name=\"overwrite_all\"{kind}>false</parameter>\
                 </invoke>"
            );
            let (_, calls) = Dialect::Text.parse(&scripted::say(&text), TextRules::ALL);
            let expected = expected.map(|value| json!({"overwrite_all": value}));
            check(&schema, &calls[0].arguments, expected);
        }
    }),
    ("B038", || {
        let schema = of(json!({"old": {"type": "string"}, "n": {"type": "integer"}}));
        check(&schema, r#"{"old":"true","n":"x"}"#, Err("/n"));
        check(&schema, r#"{"old":"true","n":3}"#, Ok(json!({"old": "true", "n": 3})));
    }),
    ("B039", || {
        let schema = of(json!({"sku": {"type": "string"}}));
        check(&schema, r#"{"sku":"0150"}"#, Ok(json!({"sku": "0150"})));
        check(&schema, r#"{"sku":150}"#, Err("/sku"));
    }),
    ("B040", || {
        let schema = of(json!({"x": {"type": "number", "minimum": 0, "maximum": 1}}));
        check(&schema, r#"{"x":"NaN"}"#, Err("/x"));
        for wrong in ["NaN", "Infinity", "-Infinity", "1e999"] {
            check(&schema, &format!(r#"{{"x":{wrong}}}"#), Err("json"));
        }
        check(&schema, r#"{"x":2}"#, Err("/x"));
        check(&schema, r#"{"x":0.5}"#, Ok(json!({"x": 0.5})));
    }),
    ("B041", || {
        let schema = of(json!({"wait_ms": {"type": "integer"}}));
        check(&schema, r#"{"wait_ms":"250"}"#, Err("/wait_ms"));
        for (written, expected) in
            [(json!("soon"), "t_x rejected:/wait_ms"), (json!(5), "t_x succeeded")]
        {
            let hook = guard("clock", 0, rewrite(json!({"wait_ms": written})));
            let script = vec![ask(&[("t_x", r#"{"wait_ms":250}"#)]), say("ok")];
            let play = Play::new(vec![with_schema("t.x", "L0", schema.clone(), "")], script);
            let played = Play { hooks: vec![hook], ..play }.ends();
            assert_eq!(outcomes(&played.journal), [expected]);
        }
    }),
    ("B207", || {
        let tools = vec![tool("file.read", "L0", ""), tool("mail.send", "L0", "")];
        let wrong = [("file_reed", "{}"), ("FILE_READ", "{}"), ("mail_send", "{}")];
        let script = vec![ask(&wrong), ask(&[("file_read", "{}")]), say("ok")];
        let play = Play { excluded: &["mail.send"], ..Play::new(tools, script) };
        let played = play.ends();
        let unknown = |name: &str| format!("{name} unavailable:unknown");
        let ends = [unknown("file_reed"), unknown("FILE_READ")];
        assert_eq!(outcomes(&played.journal)[..2], ends);
        assert_eq!(
            outcomes(&played.journal)[2..],
            ["mail_send unavailable:excluded", { "file_read succeeded" }]
        );
        let told = |place| shown(&played.journal, place);
        let hint = "there is no tool `file_reed` in this request; did you mean `file_read`?";
        assert_eq!(&*told(0), hint);
        assert_eq!(&*told(2), "there is no tool `mail_send` in this request", "it stays hidden");
    }),
];

#[test]
fn every_row_holds() {
    super::hold(ROWS);
}

/// A schema with these properties, none of them required.
fn of(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Argument text under every dialect: what runs, or the places at which it is rejected.
fn check(schema: &Value, arguments: &str, expected: Result<Value, &str>) {
    for dialect in Dialect::ALL {
        let played = played(schema, arguments, dialect);
        let found = outcomes(&played.journal);
        match &expected {
            Ok(args) => {
                assert_eq!(found, ["t_x succeeded"], "{} {arguments}", dialect.name());
                ran_with(&played.journal, 0, args);
            }
            Err(places) => {
                let name = dialect.name();
                assert_eq!(found, [format!("t_x rejected:{places}")], "{name} {arguments}");
                assert_eq!(starts(&played.journal, 0), 0);
            }
        }
    }
}

fn played(schema: &Value, arguments: &str, dialect: Dialect) -> super::scene::Played {
    let tool = with_schema("t.x", "L0", schema.clone(), "");
    Play::new(vec![tool], vec![ask(&[("t_x", arguments)]), say("ok")]).dialect(dialect).ends()
}
