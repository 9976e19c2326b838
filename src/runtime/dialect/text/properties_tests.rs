use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;
use crate::runtime::dialect::proposed::RawCall;

/// Pieces that mean something to the parser, in any order.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "<tool_call>",
        "</tool_call>",
        "<tool_calls>",
        "</tool_calls>",
        "<ns:tool_call>",
        "</ns:tool_call>",
        "<function_calls>",
        "</function_calls>",
        "<invoke name=\"x\">",
        "<invoke name=\"",
        "</invoke>",
        "<parameter name=\"p\">",
        "<parameter name='q' type='json'>",
        "</parameter>",
        "<think>",
        "</think>",
        "<thinking>",
        "</thinking>",
        "<tool_result id=\"1\">",
        "</tool_result>",
        "```",
        "```tool_call\n",
        "```tool_calls\n",
        "~~~",
        "````",
        "`",
        "> ",
        "- ",
        "    ",
        "\n",
        "\r\n",
        "\n\n",
        " ",
        "{\"name\":\"x\",\"arguments\":{}}",
        "{\"name\":\"y\"",
        ",\"arguments\":{\"a\":",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ",",
        ":",
        "1",
        "null",
        "NaN",
        "&lt;",
        "&#96;",
        "&",
        ";",
        "é",
        "🌧",
        "text",
        "\u{0}",
        "/",
        "<",
        ">",
        "tool_call",
    ];
    let piece = prop_oneof![
        4 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn rules() -> impl Strategy<Value = TextRules> {
    any::<(bool, bool, bool, bool, bool)>().prop_map(|(tagged, fenced, invoke, bare, strict)| {
        TextRules { tagged, fenced, invoke, bare, strict }
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |x| x.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        hostile().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner).prop_map(Value::from),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![any::<String>(), hostile()];
    prop::collection::btree_map(key, inner, 0..4).prop_map(|map| map.into_iter().collect())
}

fn call(arguments: impl Strategy<Value = String>) -> impl Strategy<Value = RawCall> {
    let name = || prop_oneof!["[a-z_]{1,8}", any::<String>(), hostile()];
    (prop::option::of(name()), name(), arguments)
        .prop_map(|(id, name, arguments)| RawCall::native(id, name, arguments))
}

fn calls(arguments: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<RawCall>> {
    prop::collection::vec(call(arguments), 0..4)
}

fn objects() -> impl Strategy<Value = String> {
    object(value()).prop_map(|map| Value::Object(map).to_string())
}

/// Text in which nothing is left open and nothing is a call.
fn calm() -> impl Strategy<Value = String> {
    let lines = [
        "Some words.",
        "",
        "> <tool_call>{}</tool_call>",
        "`<tool_call>`",
        "a `span` and ``two``",
        "```json\n{\"name\": \"x\", \"arguments\": {}}\n```",
        "~~~\n```\n~~~",
        "&lt;tool_call&gt;",
        "<think>\n<tool_call>{\"name\":\"t\"}</tool_call>\n</think>",
        "<b>bold</b>",
        "1 < 2 > 0",
        "<tool_result id=\"1\">\n<invoke name=\"x\"></invoke>\n</tool_result>",
        "- item",
        "{}",
        "say <tool_call>{\"name\":\"x\"}</tool_call>",
        "code:\n    <invoke name=\"x\"></invoke>",
    ];
    prop::collection::vec(prop::sample::select(lines.to_vec()), 0..6)
        .prop_map(|lines| lines.join("\n").trim().to_owned())
}

fn round_trip(text: &str, calls: &[RawCall], origin: Origin) {
    let rules = TextRules { bare: origin == Origin::Bare, ..TextRules::only(origin) };
    let Some(spelled) = spell(Some(text), calls, rules) else { return };
    for heard in [rules, TextRules { bare: rules.bare, ..TextRules::ALL }] {
        let (rest, back) = parse(&spelled, heard);
        let expected: Vec<RawCall> =
            calls.iter().map(|call| RawCall { origin, ..call.clone() }).collect();
        assert_eq!(back, expected, "{spelled}");
        assert_eq!(rest.unwrap_or_default(), text, "{spelled}");
    }
}

/// Whatever it is that `inside` says, nothing of it is a call where it stands.
fn quiet(text: &str, rules: TextRules) {
    let (rest, calls) = parse(text, rules);
    assert_eq!((rest.as_deref(), calls.len()), (Some(text.trim()), 0), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_panics_and_flawed_calls_have_no_arguments(text in hostile(), rules in rules()) {
        let (rest, calls) = parse(&text, rules);
        for call in &calls {
            prop_assert!(rules.allow(call.origin));
            let json = serde_json::from_str::<Value>(&call.arguments).is_ok();
            prop_assert!(call.flaw.is_none() || !json, "{}", call.arguments);
        }
        if calls.is_empty() {
            let whole = text.trim();
            prop_assert_eq!(rest.as_deref(), (!whole.is_empty()).then_some(whole));
        }
    }

    #[test]
    fn spelled_calls_read_back(
        text in calm(),
        objects in calls(objects()),
        others in calls(prop_oneof![any::<String>(), hostile()]),
    ) {
        round_trip(&text, &objects, Origin::Tagged);
        round_trip(&text, &objects, Origin::Fenced);
        round_trip(&text, &objects, Origin::Invoke);
        round_trip(&text, &others, Origin::Tagged);
        round_trip(&text, &others, Origin::Fenced);
        for call in objects {
            round_trip("", &[call], Origin::Bare);
        }
    }

    #[test]
    fn escaped_results_never_yield_a_call(output in hostile(), text in calm(), rules in rules()) {
        let escaped = escape(&output, rules);
        prop_assert!(!escaped.contains(['<', '>']));
        let silent = |text: &str| parse(text, rules).1.is_empty();
        prop_assert!(silent(&escaped), "{escaped}");
        prop_assert!(silent(&format!("{text}\n{escaped}\n{text}")), "{escaped}");
        let result = format!("<tool_result id=\"1\">{escaped}</tool_result>");
        prop_assert!(silent(&result), "{result}");
    }

    #[test]
    fn rehearsed_calls_never_count(rules in rules(), calls in calls(objects()), text in calm()) {
        let Some(spelled) = spell(None, &calls, TextRules { bare: false, ..TextRules::ALL }) else {
            return Ok(());
        };
        let spelled = spelled.replace("</think", "<\\/think").replace("</tool_result", "<\\/t");
        quiet(&format!("<think>\n{spelled}\n</think>\n{text}"), rules);
        quiet(&format!("{text}\n<thinking>{spelled}"), rules);
        quiet(&format!("<tool_result id=\"1\">\n{spelled}\n</tool_result>\n{text}"), rules);
        let fence = "`".repeat(40);
        let inside = spelled.replace("\n`", "\n ` ");
        quiet(&format!("{text}\n{fence}json\n{inside}\n{fence}\n{text}"), rules);
        let quoted: String = spelled.lines().map(|line| format!("> {line}\n")).collect();
        quiet(&format!("quoted:\n{quoted}\n{text}"), rules);
    }
}
