use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::base::document::Document;

fn check(value: &Value) {
    let text = to_string(value, &["schema", "type"]);
    let read = Document::parse("t.yaml", &text);
    let read = read.unwrap_or_else(|problem| panic!("{problem}\n{text}\n{value}"));
    assert_eq!(&read.value, value, "\n{text}");
}

const TEXTS: &[&str] = &[
    "",
    " ",
    "\n",
    "\n\n",
    "\t",
    "yes",
    "No",
    "on",
    "y",
    "NULL",
    "~",
    "true",
    "TRUE",
    "1",
    "1.0",
    "-0",
    "0x1f",
    "0o7",
    "1e5",
    ".inf",
    ".NaN",
    "nan",
    "1_000",
    "12:30",
    "2024-01-01",
    "- x",
    "-",
    "?",
    "? x",
    ":",
    "a: b",
    "a:b",
    "a:",
    "a #b",
    "#",
    "#a",
    "a# b",
    "{a}",
    "[a]",
    "&a",
    "*a",
    "!a",
    "%a",
    "@a",
    "`a`",
    "|",
    ">",
    "\"",
    "'",
    "a'b",
    "it's",
    "---",
    "...",
    "<<",
    "=",
    "a ",
    " a",
    "a\tb",
    "\ta",
    "a\u{85}b",
    "a\u{2028}b",
    "\u{feff}a",
    "a\u{200b}b",
    "é",
    "日本語",
    "😀",
    "👩\u{200d}💻",
    "\u{e0041}",
    "a\u{0}b",
    "a\u{7f}b",
    "a\u{1b}[31mb",
    "a\rb",
    "a\r\nb",
    "a\\nb",
    "a\nb",
    "a\nb\n",
    "a\nb\n\n",
    "\na\nb",
    " a\nb",
    "a\n b",
    "a \nb ",
    "a\n\nb",
    "a\n  \nb",
    "a\nb\n  ",
    "a\n\tb",
    "\ta\nb",
    "a\n#b",
    "a\n---\nb",
    "---\na",
    "a\n...\n",
    "a: b\nc: d",
    "- a\n- b",
    "C:\\dir",
    "http://x.y/z?q=1&r=2#f",
    "a, b",
    "a | b",
    "a > b",
    "\u{fffe}",
    "e5",
    "/x",
    "_",
    "a=b",
    "$ref",
    "$x",
    "null\nnull",
];

#[test]
fn every_difficult_text_reads_back_as_value_key_item_and_whole() {
    let long = "x y ".repeat(2_000);
    let key = "k".repeat(3_000);
    for text in TEXTS.iter().copied().chain([long.as_str(), key.as_str()]) {
        check(&json!(text));
        check(&json!({"a": text, "b": {"c": text, "d": 1}}));
        check(&json!({text: 1, "b": {text: {text: [text]}}}));
        let flow = format!("[{0}, {{a: {0}, b: [{0}]}}]", word(text));
        let read = Document::parse("t.yaml", &flow).unwrap_or_else(|p| panic!("{p}\n{flow}"));
        assert_eq!(read.value, json!([text, {"a": text, "b": [text]}]), "{flow}");
        check(&json!([text, [text, [text]], {"k": text, "l": text}, text]));
        check(&json!({"short": [text, text], "deep": [[text], {"k": [text, {}]}]}));
    }
}

#[test]
fn numbers_and_empties_read_back() {
    let numbers = json!([0, -1, 1.0, -0.0, 1e30, 1.5e-7, u64::MAX, i64::MIN, 0.1]);
    check(&json!({"n": numbers, "e": [{}, [], null, true, false], "o": {}, "l": []}));
    check(&numbers);
    check(&json!({}));
    check(&json!([]));
    check(&json!([[], [[]], [[1], [2]], [{"a": [{"b": 1}]}]]));
}

#[test]
fn it_looks_like_what_a_person_writes() {
    let value = json!({"type": "object", "schema": "proofmark/tool@1", "zeta": "a\n  b\n",
        "list": ["read", "a, b", "yes"], "maps": [{"x": 1, "y": {"z": "it: is"}}, "c\nd"]});
    let expected = "\
schema: proofmark/tool@1
type: object
list: [read, \"a, b\", \"yes\"]
maps:
  - x: 1
    \"y\":
      z: \"it: is\"
  - |-
    c
    d
zeta: |
  a
    b
";
    assert_eq!(to_string(&value, &["schema", "type"]), expected);
    assert_eq!(comment("a\n b: \u{1b}\u{85}c"), "# a b: \\u001b c\n");
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(TEXTS).prop_map(str::to_owned),
        prop::sample::select(vec![" ", "\n", "\t", ": ", " #", "- ", "'", "\"", "\\", ",", "a"])
            .prop_map(str::to_owned),
        any::<char>().prop_map(|c| c.to_string()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts().prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(texts(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(512)
    })]

    #[test]
    fn any_value_reads_back(value in values()) {
        check(&value);
    }
}
