//! Replacing inside JSON so that it stays JSON: within a string, or a whole value at a time.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::credible::{Form, credible};
use super::escapes::{Unescaped, unescape};
use super::patterns::{self, ASSIGNED};
use super::{Edit, Rules, find, personal};
use crate::base::secret::REDACTED;

/// What stands where a whole value stood.
const QUOTED: &str = "\"[redacted]\"";
const QUOTED_ASSIGNED: &str = "\"[redacted:assignment]\"";

/// A key, a string or a bare word such as a number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    /// Its place; quotes are not part of it.
    range: Range<usize>,
    is_string: bool,
    /// The key of an object that this is the value of, by its place.
    key: Option<Range<usize>>,
}

/// The parts of a JSON text that hold something.
#[derive(Debug, Default)]
pub(super) struct Parts {
    tokens: Vec<Token>,
    /// Every object and array, inner ones before outer ones.
    containers: Vec<Range<usize>>,
}

/// Takes a JSON text apart; `None` where it is none, or a bare word.
pub(super) fn parts(text: &str) -> Option<Parts> {
    let json = text.trim_start().starts_with(['{', '[', '"']);
    (json && serde_json::from_str::<IgnoredAny>(text).is_ok()).then(|| take_apart(text))
}

/// The text is known to be JSON.
fn take_apart(text: &str) -> Parts {
    let bytes = text.as_bytes();
    let (mut parts, mut open, mut key, mut at) = (Parts::default(), Vec::new(), None, 0);
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => {
                let range = at + 1..string_end(bytes, at + 1);
                let after = text[range.end + 1..].trim_start();
                let value_of = key.take();
                key = after.starts_with(':').then(|| range.clone());
                let end = range.end + 1;
                parts.tokens.push(Token { range, is_string: true, key: value_of });
                end
            }
            b'{' | b'[' => {
                open.push(at);
                key = None;
                at + 1
            }
            b'}' | b']' => {
                parts.containers.extend(open.pop().map(|start| start..at + 1));
                key = None;
                at + 1
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at + 1,
            _ => {
                let ends = |byte: &u8| b",:]} \t\n\r".contains(byte);
                let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |n| at + n);
                parts.tokens.push(Token { range: at..end, is_string: false, key: key.take() });
                end
            }
        };
        at = end;
    }
    parts
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// The edits that leave the text JSON. `plain` is what was found in it as in any text, at a depth
/// of JSON inside JSON.
pub(super) fn fitted(
    rules: Rules<'_>,
    text: &str,
    parts: &Parts,
    (plain, depth): (Vec<Edit>, usize),
) -> Vec<Edit> {
    let mut edits = Vec::new();
    for token in &parts.tokens {
        if token.is_string {
            edits.extend(in_string(rules, &text[token.range.clone()], token, depth));
        } else if rules.known.is_in(&text[token.range.clone()]) {
            edits.push(Edit::known(token.range.clone(), QUOTED));
        } else if rules.personal
            && let Some(hit) = personal::hits(&text[token.range.clone()]).first()
        {
            let with = Cow::Owned(format!("\"{}\"", hit.mark));
            edits.push(Edit { with, ..Edit::shaped(token.range.clone(), hit.mark) });
        }
        if let Some(key) = token.key.as_ref().filter(|_| rules.patterns) {
            edits.extend(assigned(&text[key.clone()], token, text));
        }
    }
    // A value that is spelled across the parts: of two strings, or of a whole object.
    let mut done = super::joined(edits);
    let covered = |range: &Range<usize>| {
        let at = done.partition_point(|edit| edit.range.end < range.end);
        done.get(at).is_some_and(|edit| holds(&edit.range, range))
    };
    let left = plain.into_iter().filter(|edit| edit.known && !covered(&edit.range));
    let left: Vec<Edit> = left.map(|edit| around(&edit.range, text, parts)).collect();
    done.extend(left);
    done
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// What is found in what a string says, as edits of how it is spelled.
fn in_string(rules: Rules<'_>, spelled: &str, token: &Token, depth: usize) -> Vec<Edit> {
    let layer = unescape(spelled);
    let said = layer.as_ref().map_or(spelled, |layer| &layer.text);
    let mut edits = find(rules, said, depth + 1);
    for edit in &mut edits {
        edit.range = placed(&edit.range, layer.as_ref(), token);
        edit.with = Cow::Owned(edit.with.replace('\\', "\\\\").replace('"', "\\\""));
    }
    edits
}

/// Where in the document a range of what a string says stands.
fn placed(said: &Range<usize>, layer: Option<&Unescaped>, token: &Token) -> Range<usize> {
    let range = layer.map_or(said.clone(), |layer| layer.spelled(said));
    token.range.start + range.start..token.range.start + range.end
}

/// A value that is a secret because of its key.
fn assigned(key: &str, token: &Token, text: &str) -> Option<Edit> {
    let value = &text[token.range.clone()];
    let (key_layer, layer) = (unescape(key), unescape(value));
    let key = key_layer.as_ref().map_or(key, |layer| &layer.text);
    let said = layer.as_ref().map_or(value, |layer| &layer.text);
    let (form, with) =
        if token.is_string { (Form::Quoted, ASSIGNED) } else { (Form::Loose, QUOTED_ASSIGNED) };
    if credible(key, said, form) {
        return Some(Edit::shaped(token.range.clone(), with));
    }
    let is_header = token.is_string && key.to_ascii_lowercase().ends_with("authorization");
    let hit = is_header.then(|| patterns::in_header(said)).flatten()?;
    Some(Edit::shaped(placed(&hit.range, layer.as_ref(), token), hit.mark))
}

/// The smallest part of the document around a range that can be replaced.
fn around(range: &Range<usize>, text: &str, parts: &Parts) -> Edit {
    let at = parts.tokens.partition_point(|token| token.range.end < range.end);
    match parts.tokens.get(at).filter(|token| holds(&token.range, range)) {
        Some(token) if token.is_string => {
            let (start, spelled) = (token.range.start, &text[token.range.clone()]);
            let inner = range.start - start..range.end - start;
            let whole = unescape(spelled).map_or(inner.clone(), |layer| layer.whole_units(&inner));
            Edit::known(start + whole.start..start + whole.end, REDACTED)
        }
        Some(token) => Edit::known(token.range.clone(), QUOTED),
        None => {
            let from = parts.containers.partition_point(|container| container.end < range.end);
            let mut outer = parts.containers[from..].iter();
            let container = outer.find(|container| holds(container, range));
            Edit::known(container.cloned().unwrap_or(0..text.len()), QUOTED)
        }
    }
}
