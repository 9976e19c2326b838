use proptest::prelude::*;
use serde_json::{Value, json};

use crate::base::secret::{CANARY_PREFIX, Secret, SecretSet};

fn set(values: &[&str]) -> SecretSet {
    SecretSet::new(values.iter().map(|value| Secret::new(*value)))
}

fn canaries() -> SecretSet {
    SecretSet::new((0..3).map(|n| Secret::canary("redact", n)))
}

fn canary(n: usize) -> String {
    Secret::canary("redact", n).expose().to_owned()
}

#[test]
fn a_known_value_is_found_behind_escapes() {
    let set = set(&["pass/word", "to\"ken\n1"]);
    let cases = [
        (r#"{"k":"pass/word"}"#, r#"{"k":"[redacted]"}"#),
        (r#"{"k":"\u0070ass\/word!"}"#, r#"{"k":"[redacted]!"}"#),
        (r#"{"k":"a\u00e9 to\"ken\n1"}"#, r#"{"k":"a\u00e9 [redacted]"}"#),
        (r#"{"to\"ken\n1":[1.50, 2]}"#, r#"{"[redacted]":[1.50, 2]}"#),
        (r#"data: {"k":"\u0070ass\/word"} ..."#, r#"data: {"k":"[redacted]"} ..."#),
        (r#"{"k":"{\"n\":\"\\u0070ass\\/word\"}"}"#, r#"{"k":"{\"n\":\"[redacted]\"}"}"#),
        (r"print('\x70ass/word')", "print('[redacted]')"),
    ];
    for (text, expected) in cases {
        assert_eq!(set.scrub(text), expected);
    }
}

#[test]
fn a_value_that_is_no_string_becomes_one() {
    let set = set(&["123456", "true", "a\":\"b", "{\"id\": 7, \"k\": [1]}", "0070x"]);
    let cases = [
        (r#"{"pin": 123456, "n": [1123456.5]}"#, r#"{"pin": "[redacted]", "n": ["[redacted]"]}"#),
        (r#"[true,false]"#, r#"["[redacted]",false]"#),
        (r#"{"x":{"a":"b"}}"#, r#"{"x":"[redacted]"}"#),
        (r#" {"id": 7, "k": [1]}"#, r#" "[redacted]""#),
        (r#"{"k":"{\"pin\":123456}"}"#, r#"{"k":"{\"pin\":\"[redacted]\"}"}"#),
        (r#"["\u0070x"]"#, r#"["[redacted]"]"#),
        ("123456", "[redacted]"),
    ];
    for (text, expected) in cases {
        assert_eq!(set.scrub(text), expected);
        if text.starts_with(['{', '[']) {
            assert!(serde_json::from_str::<Value>(&set.scrub(text)).is_ok());
        }
    }
}

#[test]
fn overlapping_values_leave_no_end() {
    assert_eq!(set(&["abcdef", "defghi"]).scrub("xabcdefghiy"), "x[redacted]y");
    assert_eq!(set(&["abcd"]).scrub("abcdabcd"), "[redacted][redacted]");
    assert_eq!(set(&["key1\n"]).scrub("key1 key1\n"), "[redacted] [redacted]");
}

#[test]
fn known_values_come_before_shapes() {
    let set = set(&["hunter2hunter2"]);
    assert_eq!(set.scrub("password=hunter2hunter2"), "password=[redacted]");
    assert_eq!(set.scrub("password=another1"), "password=[redacted:assignment]");
    let alone = set.clone().with_patterns(false);
    assert_eq!(alone.scrub("password=another1 hunter2hunter2"), "password=another1 [redacted]");
    assert_eq!(set.scrub_known("password=another1"), "password=another1");
}

#[test]
fn shapes_in_json_stay_inside_their_string() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN";
    let cases = [
        (json!({"key": key, "n": 1}), json!({"key": "[redacted:private-key]", "n": 1})),
        (json!({"password": "hunter22"}), json!({"password": "[redacted:assignment]"})),
        (json!({"password": 12345678}), json!({"password": "[redacted:assignment]"})),
        (json!({"Authorization": "Bearer a\"1b2c3"}), json!({"Authorization": "Bearer a\"1b2c3"})),
        (
            json!({"Authorization": "Basic a1b2c3=="}),
            json!({"Authorization": "Basic [redacted:authorization]"}),
        ),
        (
            json!({"body": json!({"api_key": "a1b2c3\"d4"}).to_string()}),
            json!({"body": json!({"api_key": "[redacted:assignment]"}).to_string()}),
        ),
    ];
    for (document, expected) in cases {
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            let scrubbed = SecretSet::default().scrub(&text).into_owned();
            assert_eq!(serde_json::from_str::<Value>(&scrubbed).unwrap(), expected, "{text}");
        }
    }
}

/// Spells a text inside JSON, each character in one of the ways there are.
fn spelled(text: &str, how: &[u8]) -> String {
    let mut out = String::from("\"");
    for (c, how) in text.chars().zip(how.iter().cycle()) {
        let plain = Value::from(c.to_string()).to_string();
        match (how % 3, c) {
            (1, _) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
            (2, '/') => out.push_str("\\/"),
            _ => out.push_str(&plain[1..plain.len() - 1]),
        }
    }
    out.push('"');
    out
}

/// A text with or without secrets in it.
fn words() -> impl Strategy<Value = String> {
    let secret = prop_oneof![
        (0_usize..3).prop_map(canary),
        Just("ghp_abcdefghijklmnopqrstuvwxyz0123456789".to_owned()),
        Just("password=hunter22 ".to_owned()),
        Just("-----BEGIN RSA PRIVATE KEY-----\nMIIE".to_owned()),
        Just("postgres://u:pw12@db/x".to_owned()),
    ];
    prop::collection::vec(prop_oneof![any::<String>(), "[a-z\"\\\\/ ]{0,6}", secret], 0..4)
        .prop_map(|parts| parts.concat())
}

/// A JSON text; strings are spelled in every way, some hold JSON themselves.
fn document() -> impl Strategy<Value = String> {
    let how = || prop::collection::vec(any::<u8>(), 1..8);
    let string = move || (words(), how()).prop_map(|(text, how)| spelled(&text, &how));
    let leaf = prop_oneof![
        string(),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<bool>().prop_map(|b| b.to_string()),
        Just("1.50e3".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let member = (string(), inner.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(", "))),
            prop::collection::vec(member, 0..4).prop_map(|v| format!("{{{}}}", v.join(","))),
            (inner, how()).prop_map(|(inner, how)| spelled(&inner, &how)),
        ]
    })
}

/// Every text that a JSON text holds, at every depth.
fn said(text: &str, depth: usize, out: &mut Vec<String>) {
    out.push(text.to_owned());
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if depth > 0 => said(&text, depth - 1, out),
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                for (key, value) in map {
                    said(&key, depth.saturating_sub(1), out);
                    open.push(value);
                }
            }
            _ => {}
        }
    }
}

const SHAPED: [&str; 4] = ["ghp_abcdef", "hunter22", "MIIE", "pw12"];

proptest! {
    #[test]
    fn json_stays_json_and_says_no_secret(text in document()) {
        let scrubbed = canaries().scrub(&text).into_owned();
        prop_assert_eq!(
            serde_json::from_str::<Value>(&scrubbed).is_ok(),
            serde_json::from_str::<Value>(&text).is_ok()
        );
        let mut texts = Vec::new();
        said(&scrubbed, 6, &mut texts);
        for text in texts {
            prop_assert!(!text.contains(CANARY_PREFIX), "{text}");
            for secret in SHAPED {
                prop_assert!(!text.contains(secret), "{text}");
            }
        }
    }

    #[test]
    fn scrubbing_again_changes_nothing(text in prop_oneof![document(), words()]) {
        let set = canaries();
        let once = set.scrub(&text).into_owned();
        prop_assert_eq!(set.scrub(&once), once.as_str());
    }

    #[test]
    fn clean_text_stays(text in "[a-z \\\\\"{}:,]{0,60}") {
        let scrubbed = canaries().with_patterns(false).scrub(&text).into_owned();
        prop_assert_eq!(scrubbed, text);
    }
}
