//! Both ways of reading a journal's line agree, whatever the line.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::dsl;
use crate::journal::Entry;
use crate::journal::format::{self, Reader, session, short, write_line, written_session};

/// What the long way says of a line.
fn slow(line: &str, next: u64) -> Option<Entry> {
    let object: Map<String, Value> = serde_json::from_str(line).ok()?;
    format::entry(object, next).ok()
}

/// Lines of every event that the laws' witnesses hold, as this crate writes them.
fn written() -> Vec<String> {
    let mut lines = Vec::new();
    for law in super::all() {
        let (entries, _) = dsl::journal(law.witness).unwrap_or_default();
        for entry in entries {
            let mut line = Vec::new();
            write_line(&entry, &mut line);
            lines.push(String::from_utf8(line).unwrap_or_default().trim_end().to_owned());
        }
    }
    lines
}

#[test]
fn written_lines_are_read_the_short_way() {
    for line in written() {
        let read = short(&line, 1);
        assert!(read.is_some(), "{line}");
        assert_eq!(read, slow(&line, 1), "{line}");
        let named = read.as_ref().map(|entry| &*entry.session);
        assert_eq!(session(&line).as_deref(), named);
        assert_eq!(written_session(&line), named);
    }
}

#[test]
fn lines_of_others_mean_the_same() {
    for (line, fits) in [
        (r#"{"type":"ToolCallStarted","call":"c","seq":4,"at":null,"attempt":1}"#, true),
        (r#"{"type":"ToolCallFinished","toolCallId":"t","status":"failed"}"#, true),
        (r#"{"call":null,"type":"ToolCallFinished","toolCallId":"t","status":"failed"}"#, true),
        (r#"{"call":"c","type":"ToolCallFinished","toolCallId":"t","status":"failed"}"#, false),
        (r#"{"call":"c","type":"ToolCallFinished","toolCallId":null,"status":"x"}"#, false),
        (r#"{"status":"failed","type":"ToolCallFinished"}"#, false),
        (r#"{"seq":1,"seq":2,"type":"ToolCallStarted"}"#, false),
        (r#"{"type":"ToolCallStarted","attempt":1,"attempt":2}"#, false),
        (r#"{"type":"ToolCallStarted","type":"TornDown"}"#, false),
        (r#"{"s\u0065q":7,"type":"ToolCallStarted"}"#, false),
        (r#"{"session":"a\u0062","type":"ToolCallStarted"}"#, false),
        (r#"{"v":null,"session":null,"turn":null,"type":"ToolCallStarted"}"#, true),
        (r#"{"v":2,"type":"ToolCallStarted"}"#, false),
        (r#"{"type":"ToolCallStarted"} x"#, false),
        (r#"{"type":"CancelRequested","by":"x"}"#, true),
        (r#"{"type":"UserPromptSubmitted","text":"a\n\u00e9"}"#, true),
    ] {
        let read = short(line, 9);
        assert_eq!(read.is_some(), fits, "{line}");
        assert!(read.is_none() || read == slow(line, 9), "{line}");
    }
    let art = format!(
        r#""artifactId":"a","kind":"k","bytes":1,"contentHash":"{}""#,
        crate::base::digest::Digest::of("x", b"")
    );
    for line in [
        format!(r#"{{"type":"ArtifactPersisted","toolCallId":"t",{art}}}"#),
        format!(r#"{{"call":"c","type":"ArtifactPersisted","toolCallId":"t",{art}}}"#),
        format!(r#"{{"toolCallId":"t","type":"ArtifactPersisted",{art}}}"#),
        format!(r#"{{"type":"ArtifactPersisted",{art}}}"#),
    ] {
        let long = slow(&line, 1);
        assert!(long.is_some(), "{line}");
        assert!([None, long.clone()].contains(&short(&line, 1)), "{line}: {long:?}");
    }
}

/// A line with parts of it dropped, repeated, exchanged or replaced.
fn altered() -> impl Strategy<Value = String> {
    let lines = written();
    let one =
        (0..lines.len(), prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 0..4));
    one.prop_map(move |(line, edits)| {
        let mut text = lines[line].clone();
        for (how, from, to) in edits {
            edit(&mut text, how, (from.into(), to.into()), &lines);
        }
        text
    })
}

const NOISE: [&str; 14] = [
    "null",
    "1",
    "-1",
    "1.5",
    "\"\"",
    "true",
    "{}",
    "[]",
    ",",
    "\\u0061",
    "\"call\":\"c\",",
    "\"toolCallId\":\"t\",",
    "\"session\":\"z\",",
    " ",
];

/// Cuts at the marks of JSON, so that most results are still JSON.
fn edit(text: &mut String, how: u8, (from, to): (usize, usize), lines: &[String]) {
    let cuts: Vec<usize> =
        text.match_indices([',', ':', '{', '}', '"']).map(|(at, _)| at).collect();
    if cuts.is_empty() {
        return;
    }
    let (a, b) = (cuts[from % cuts.len()], cuts[to % cuts.len()]);
    let (a, b) = (a.min(b), a.max(b));
    match how % 6 {
        0 => text.replace_range(a..b, ""),
        1 => {
            let part = text[a..b].to_owned();
            text.insert_str(b, &part);
        }
        2 => text.insert_str(a + 1, NOISE[to % NOISE.len()]),
        3 => {
            let other = &lines[to % lines.len()];
            let member = other.split(',').nth(from % 8).unwrap_or_default();
            text.insert_str(a, &format!(",{member}"));
        }
        4 => {
            // The members of the outer object in another order.
            if let Ok(Value::Object(map)) = serde_json::from_str::<Value>(text) {
                let mut members: Vec<String> =
                    map.iter().map(|(k, v)| format!("{}:{v}", Value::from(k.as_str()))).collect();
                let by = from % members.len().max(1);
                members.rotate_left(by);
                *text = format!("{{{}}}", members.join(","));
            }
        }
        _ => {
            let end = text[a + 1..].find(['"', ',', '}']).map_or(text.len(), |at| a + 1 + at);
            text.replace_range(a + 1..end, NOISE[to % NOISE.len()]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_read_the_short_way_is_what_the_long_way_reads(line in altered(), next in 1..9_u64) {
        if let Some(read) = short(&line, next) {
            let long = slow(&line, next);
            prop_assert_eq!(Some(&read), long.as_ref(), "{}", line);
            let named = session(&line);
            prop_assert_eq!(named.as_deref(), Some(&*read.session), "{}", line);
            let named = written_session(&line);
            prop_assert!(named.is_none() || named == Some(&*read.session), "{}", line);
        } else if let Some(read) = slow(&line, next) {
            let named = session(&line);
            prop_assert_eq!(named.as_deref(), Some(&*read.session), "{}", line);
        }
    }

    #[test]
    fn any_text_is_read_by_neither_or_alike(line in "[\\[\\]{}:,\"a-z0-9. \\\\]{0,60}") {
        if let Some(read) = short(&line, 1) {
            prop_assert_eq!(Some(read), slow(&line, 1));
        }
        prop_assert_eq!(Reader::default().line(&line).ok(), slow(&line, 1));
    }
}
