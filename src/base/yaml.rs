//! Writing a JSON value as YAML that a person can read and [`super::document`] reads back equal.
//!
//! Text is written plain only where no YAML reader, 1.1 or 1.2, could take it for anything else;
//! several lines become a literal block; everything else is quoted, with hidden characters shown
//! as escapes.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The YAML text of `value`, ending in a line break. Keys named in `order` come first and in that
/// order, at every depth; the others follow by name.
pub fn to_string(value: &Value, order: &[&str]) -> String {
    let mut writer = Writer { out: String::new(), order };
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, 0, false),
        Value::Array(items) if !items.is_empty() => writer.list(items, 0, false),
        scalar => writer.leaf(scalar, 0),
    }
    writer.out
}

/// A text as one YAML scalar that may stand anywhere, also inside `[..]` and `{..}`.
pub fn word(text: &str) -> String {
    let mut out = String::new();
    scalar(&mut out, text, true);
    out
}

/// One line of text as a YAML comment; nothing in it can end the comment.
pub fn comment(text: &str) -> String {
    let mut out = String::from("#");
    for word in text.split_whitespace() {
        out.push(' ');
        word.chars().for_each(|c| if hidden(c) { escape(&mut out, c) } else { out.push(c) });
    }
    out.push('\n');
    out
}

/// Longest list that is written on one line, in characters with its indentation.
const LINE: usize = 90;
/// Longest key that YAML 1.2 lets stand before a colon without a question mark, less quotes.
const KEY: usize = 1_000;

struct Writer<'a> {
    out: String,
    order: &'a [&'a str],
}

impl Writer<'_> {
    /// Writes members at `depth`; the first one on the current line when `inline`.
    fn map(&mut self, map: &Map<String, Value>, depth: usize, inline: bool) {
        let mut members: Vec<(&String, &Value)> = map.iter().collect();
        let rank = |key: &str| self.order.iter().position(|name| *name == key);
        members.sort_by_key(|(key, _)| (rank(key).unwrap_or(usize::MAX), *key));
        for (index, (key, value)) in members.into_iter().enumerate() {
            if index > 0 || !inline {
                self.indent(depth);
            }
            let mut text = String::new();
            scalar(&mut text, key, false);
            if text.len() > KEY {
                let _ = writeln!(self.out, "? {text}");
                self.indent(depth);
            } else {
                self.out.push_str(&text);
            }
            self.out.push(':');
            self.member(value, depth);
        }
    }

    /// Writes what follows a colon.
    fn member(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.out.push('\n');
                self.map(map, depth + 1, false);
            }
            Value::Array(items) if !items.is_empty() => {
                if let Some(line) = one_line(items, depth) {
                    let _ = writeln!(self.out, " {line}");
                } else {
                    self.out.push('\n');
                    self.list(items, depth + 1, false);
                }
            }
            leaf => {
                self.out.push(' ');
                self.leaf(leaf, depth + 1);
            }
        }
    }

    fn list(&mut self, items: &[Value], depth: usize, inline: bool) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 || !inline {
                self.indent(depth);
            }
            self.out.push_str("- ");
            match item {
                Value::Object(map) if !map.is_empty() => self.map(map, depth + 1, true),
                Value::Array(inner) if !inner.is_empty() => self.list(inner, depth + 1, true),
                leaf => self.leaf(leaf, depth + 1),
            }
        }
    }

    /// Writes a value without members and ends the line; a block's lines stand at `depth`.
    fn leaf(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) if block_fits(text) => self.block(text, depth.max(1)),
            leaf => {
                flat(&mut self.out, leaf, false);
                self.out.push('\n');
            }
        }
    }

    fn block(&mut self, text: &str, depth: usize) {
        self.out.push('|');
        if text.starts_with([' ', '\n']) {
            // Without this, the first line's own spaces would count as indentation.
            self.out.push('2');
        }
        let body = text.strip_suffix('\n');
        if body.is_none() {
            self.out.push('-');
        }
        self.out.push('\n');
        for line in body.unwrap_or(text).split('\n') {
            if !line.is_empty() {
                self.indent(depth);
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }
}

/// Whether a literal block holds the text exactly: several lines, something to read on the last
/// one, and no character that a block cannot carry.
fn block_fits(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && body.lines().last().is_some_and(|line| !line.trim().is_empty())
        && !body.ends_with('\n')
        && text.chars().all(|c| c == '\n' || c == '\t' || !hidden(c))
        // A reader may take a tab before any other character for a wrong indentation.
        && !text.split('\n').any(|line| line.starts_with('\t'))
}

/// A list of short plain values on one line.
fn one_line(items: &[Value], depth: usize) -> Option<String> {
    let mut line = String::from("[");
    for (index, item) in items.iter().enumerate() {
        let empty = match item {
            Value::Array(inner) => inner.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        };
        if !empty {
            return None;
        }
        if index > 0 {
            line.push_str(", ");
        }
        flat(&mut line, item, true);
    }
    line.push(']');
    (line.chars().count() + 2 * depth <= LINE).then_some(line)
}

fn flat(out: &mut String, value: &Value, flow: bool) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => scalar(out, text, flow),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

fn scalar(out: &mut String, text: &str, flow: bool) {
    if is_plain(text, flow) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if hidden(c) => escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Words that some YAML reader takes for something other than text, in lower case.
const WORDS: [&str; 11] =
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// Whether the text may stand without quotes.
fn is_plain(text: &str, flow: bool) -> bool {
    let inner = |c: char| c.is_alphanumeric() || " _-./()+@%;!?='$^~".contains(c);
    let open = |c: char| c == ',' || c == '&' || c == '*' || c == '|' || c == '<' || c == '>';
    let fits = |c: char| inner(c) || (!flow && open(c)) || c == ':';
    text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '/')
        && !text.ends_with([' ', ':'])
        && text.chars().all(fits)
        && !(text.contains(": ") || (flow && text.contains(':')))
        && !WORDS.contains(&text.to_lowercase().as_str())
}

/// Characters that do not show, or not as themselves, or that YAML does not allow.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

fn escape(out: &mut String, c: char) {
    let code = u32::from(c);
    let _ = if code > 0xffff { write!(out, "\\U{code:08x}") } else { write!(out, "\\u{code:04x}") };
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
