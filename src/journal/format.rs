//! A journal as JSON Lines, one entry a line, version 1. Any other runtime can write it.
//!
//! Seed B's own short lines (`toolCallId` instead of `call`, no version, no session) are read
//! unchanged. Unknown keys and unknown events are problems with their line. Lines as this crate
//! writes them are read straight into their facts (`fast`), all others by way of a map.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

use super::event::Event;
use super::fast::{self, Names};
use super::journal::Entry;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};

/// The version this crate writes.
pub const VERSION: u64 = 1;

/// Appends one line, newline included, to `out`.
pub fn write_line(entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"v\":1,\"seq\":");
    out.extend_from_slice(entry.seq.to_string().as_bytes());
    text_member(out, "session", Some(&entry.session));
    text_member(out, "turn", entry.turn.as_ref());
    text_member(out, "call", entry.call.as_ref());
    if let Some(cause) = entry.cause {
        out.extend_from_slice(b",\"cause\":");
        out.extend_from_slice(cause.to_string().as_bytes());
    }
    out.extend_from_slice(b",\"at\":");
    out.extend_from_slice(entry.at.to_string().as_bytes());
    out.push(b',');
    let body = out.len();
    // Facts are plain data: writing them to memory cannot fail.
    if serde_json::to_writer(&mut *out, &entry.event).is_ok() {
        out.remove(body);
    }
    out.push(b'\n');
}

fn text_member(out: &mut Vec<u8>, key: &str, value: Option<&Arc<str>>) {
    let Some(value) = value else { return };
    out.push(b',');
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
    let text = serde_json::to_string(value.as_ref()).unwrap_or_default();
    out.extend_from_slice(text.as_bytes());
}

/// An entry as one JSON object, for embedding in other records.
impl Serialize for Entry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = Vec::new();
        write_line(self, &mut line);
        let raw: Map<String, Value> =
            serde_json::from_slice(&line).map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(raw.len()))?;
        for (key, value) in &raw {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Reads a journal; every bad line is a problem and the good ones are still returned.
pub fn read(file: &str, text: &str) -> (Vec<Entry>, Vec<Problem>) {
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    let mut reader = Reader::default();
    for (number, line) in jsonl::lines_of(text) {
        match reader.line(line) {
            Ok(entry) => entries.push(entry),
            Err(bad) => problems.push(bad.in_line(file, number)),
        }
    }
    problems.sort();
    (entries, problems)
}

/// Reads the lines of a journal one after another.
#[derive(Debug, Default)]
pub struct Reader {
    last: u64,
    names: Names,
}

/// Why a line is no entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl BadLine {
    /// The same as a problem of that line of a file.
    pub fn in_line(self, file: &str, number: usize) -> Problem {
        let problem = Problem::new(file, Position::new(number, self.column), self.message);
        Problem { help: self.help, ..problem }
    }
}

impl Reader {
    /// Reads the next line. One without a number has the number after the last one.
    ///
    /// # Errors
    /// When the line is no entry; the next line may be.
    pub fn line(&mut self, line: &str) -> Result<Entry, BadLine> {
        let next = self.last.saturating_add(1);
        let entry = match fast::entry(line, next, &mut self.names) {
            Some(entry) => entry,
            // Whatever is unusual is read the long way, which knows what to say about it.
            None => slow(line, next)?,
        };
        self.last = entry.seq;
        Ok(entry)
    }
}

fn slow(line: &str, next: u64) -> Result<Entry, BadLine> {
    let object = jsonl::object(line);
    let object = object.map_err(|(column, message)| BadLine { column, message, help: None })?;
    entry(object, next).map_err(|(message, help)| BadLine { column: 1, message, help })
}

/// The entry of a line where it can be read the short way.
#[cfg(test)]
pub(crate) fn short(line: &str, next: u64) -> Option<Entry> {
    fast::entry(line, next, &mut Names::default())
}

/// The session of a line, without reading its facts. A line that is no entry may have any.
pub fn session(line: &str) -> Option<Cow<'_, str>> {
    fast::session(line)
}

/// The session of a line whose beginning is as this crate writes it, by that beginning alone: it
/// is wrong only where the line names a session again further on.
pub fn written_session(line: &str) -> Option<&str> {
    fast::written_session(line)
}

type Bad = (String, Option<String>);

/// The session of entries that name none.
pub(super) const SESSION: &str = "s1";

/// Reads one entry from its JSON object; `next_seq` is used where the object has none.
pub fn entry(mut object: Map<String, Value>, next_seq: u64) -> Result<Entry, Bad> {
    let version = number(&mut object, "v")?.unwrap_or(VERSION);
    if version != VERSION {
        let help = format!("this program reads version {VERSION}");
        return Err((format!("journal version {version} is not known"), Some(help)));
    }
    let seq = number(&mut object, "seq")?.unwrap_or(next_seq);
    let session = word(&mut object, "session")?.unwrap_or_else(|| SESSION.into());
    let turn = word(&mut object, "turn")?;
    let mut call = word(&mut object, "call")?;
    if call.is_none() {
        call = seed_call_id(&mut object)?;
    }
    let cause = number(&mut object, "cause")?;
    let at = number(&mut object, "at")?.unwrap_or(0);
    let name = object.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(("the event has no `type`".into(), None));
    }
    if !Event::NAMES.contains(&name.as_str()) {
        let nearest = crate::base::problem::nearest(&name, Event::NAMES.iter().copied());
        let help = nearest.map(|name| format!("did you mean `{name}`?"));
        return Err((format!("unknown event `{name}`"), help));
    }
    let event = serde_json::from_value(Value::Object(object))
        .map_err(|error| (format!("{name}: {error}"), None))?;
    Ok(Entry { seq, session, turn, call, cause, at, event })
}

/// Seed B writes the call's id as a fact; `ArtifactPersisted` has one of its own.
fn seed_call_id(object: &mut Map<String, Value>) -> Result<Option<Arc<str>>, Bad> {
    if object.get("type").and_then(Value::as_str) == Some("ArtifactPersisted") {
        return Ok(object.get("toolCallId").and_then(Value::as_str).map(Into::into));
    }
    word(object, "toolCallId")
}

fn number(object: &mut Map<String, Value>, key: &str) -> Result<Option<u64>, Bad> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err((format!("`{key}` must be a whole number of at least 0"), None)),
        },
    }
}

fn word(object: &mut Map<String, Value>, key: &str) -> Result<Option<Arc<str>>, Bad> {
    match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.into())),
        Some(_) => Err((format!("`{key}` must be text"), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::call::{ToolCallFinished, ToolCallRequested};

    #[test]
    fn lines_round_trip() {
        let event = ToolCallRequested {
            tool_id: "a".into(),
            args: Some(serde_json::json!({"x": [1, "é\n"]})),
            raw_args: None,
            args_digest: None,
            provider_call_id: Some("p1".into()),
            index: Some(0),
            proposed_by: Some("model".into()),
            tool_version: None,
            origin: None,
        };
        let entry = Entry {
            seq: 12,
            session: "s\"1".into(),
            turn: Some("t1".into()),
            call: Some("c1".into()),
            cause: Some(9),
            at: 5,
            event: event.into(),
        };
        let mut line = Vec::new();
        write_line(&entry, &mut line);
        let text = String::from_utf8(line).unwrap();
        assert!(text.starts_with("{\"v\":1,\"seq\":12,\"session\":\"s\\\"1\",\"turn\":\"t1\","));
        let (entries, problems) = read("j", &text);
        assert_eq!((entries, problems), (vec![entry], vec![]));
    }

    #[test]
    fn bad_lines_say_where_and_what() {
        let text = "{\"type\":\"ToolCallStated\"}\n{\"type\":\"ToolCallStarted\",\"x\":1}\n\
                    {\"v\":2,\"type\":\"ToolCallStarted\"}\n{}\n{\"seq\":-1,\"type\":\"x\"}\n";
        let (entries, problems) = read("j", text);
        assert!(entries.is_empty());
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 5, "{shown:#?}");
        assert_eq!(
            shown[0],
            "j:1:1: unknown event `ToolCallStated`; did you mean `ToolCallStarted`?"
        );
        assert!(shown[1].contains("unknown field `x`"), "{shown:#?}");
    }

    #[test]
    fn seed_b_lines_are_read_unchanged() {
        let (entries, problems) = read(
            "seed",
            "{\"type\":\"ToolCallFinished\",\"toolCallId\":\"tc_1\",\"status\":\"failed\",\
             \"artifactId\":\"art_log_1\"}\n",
        );
        assert_eq!(problems, []);
        assert_eq!(entries[0].call.as_deref(), Some("tc_1"));
        let Event::ToolCallFinished(ToolCallFinished { artifact_id, .. }) = &entries[0].event
        else {
            panic!("{entries:?}")
        };
        assert_eq!(artifact_id.as_deref(), Some("art_log_1"));
    }
}
