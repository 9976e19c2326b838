//! Saved listings. Anything that holds the answers to `tools/list` is read; what is written is one
//! form, `proofmark/listing@1`, the same bytes for the same listing.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::shape::kind;
use crate::base::canon;
use crate::base::digest::Digest;
use crate::runtime::mcp::Listing;

/// The format tag of a saved listing.
pub const FORMAT: &str = "proofmark/listing@1";

/// A listing, as it was taken.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// What the server calls itself; empty when it is not known.
    pub server_name: String,
    /// The server's own version; empty when it is not known.
    pub server_version: String,
    /// The protocol revision; empty when it is not known.
    pub protocol_version: String,
    /// Program and arguments that started the server; empty when they are not known. It is written
    /// to a file that people commit, so it must not hold keys: those belong in the environment.
    pub command: Vec<String>,
    /// Every tool as it came, in the order in which it came.
    pub tools: Vec<Value>,
}

/// A snapshot, and what a person should know about how it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Saved {
    /// The listing.
    pub snapshot: Snapshot,
    /// Such as a missing last page.
    pub notes: Vec<String>,
}

/// Why a text is no saved listing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The text is not JSON and not JSON lines.
    #[error("unreadable at line {line}, column {column}: {reason}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What the reader said.
        reason: String,
    },
    /// JSON, but no listing.
    #[error("page {page}: {reason}")]
    Page {
        /// Which value of the text, from 1.
        page: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The tools are not those that the digest was taken of.
    #[error("the tools are not those that were listed: the file says {stated}, they are {found}")]
    Digest {
        /// What the file says.
        stated: String,
        /// What the tools are.
        found: Digest,
    },
    /// Nothing in the text.
    #[error("the file is empty")]
    Empty,
}

impl Snapshot {
    /// A listing that has just been taken.
    pub fn of(listing: &Listing, command: &[String]) -> Self {
        Self {
            server_name: listing.server_name.clone(),
            server_version: listing.server_version.clone(),
            protocol_version: listing.protocol_version.clone(),
            command: command.to_vec(),
            tools: listing.tools.clone(),
        }
    }

    /// Digest of the tools alone; their order counts, the order of keys does not.
    pub fn digest(&self) -> Digest {
        canon::content_digest("listing", &Value::Array(self.tools.clone()))
    }

    /// The text in our own form: one tool on each line, so that a later listing differs in the
    /// lines of the tools that changed.
    pub fn to_text(&self) -> String {
        let head = [
            ("schema", json!(FORMAT)),
            ("server", json!({"name": self.server_name, "version": self.server_version})),
            ("protocolVersion", json!(self.protocol_version)),
            ("command", json!(self.command)),
            ("digest", json!(self.digest())),
        ];
        let mut text = String::from("{\n");
        for (key, value) in head {
            text.push_str(&format!("\"{key}\":{},\n", sorted(&value)));
        }
        text.push_str("\"tools\":[");
        for (index, tool) in self.tools.iter().enumerate() {
            text.push_str(if index == 0 { "\n" } else { ",\n" });
            text.push_str(&sorted(tool).to_string());
        }
        text.push_str(if self.tools.is_empty() { "]\n}\n" } else { "\n]\n}\n" });
        text
    }
}

/// The value with the keys of every object in order, whatever map the JSON library was built with.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            let members: std::collections::BTreeMap<&String, &Value> = map.iter().collect();
            let members = members.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Reads a saved listing: our own form, whose digest is checked; the result of `tools/list`, bare
/// or in its JSON-RPC answer; several such pages as JSON lines, with or without the answer to
/// `initialize` among them; a bare list of tools.
///
/// # Errors
/// When the text is none of these, or the digest is wrong.
pub fn parse(text: &str) -> Result<Saved, SnapshotError> {
    let mut saved = Saved::default();
    let mut pages = 0;
    let mut open = false;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for page in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let page = page.map_err(|error| SnapshotError::Json {
            line: error.line(),
            column: error.column(),
            reason: error.to_string(),
        })?;
        pages += 1;
        if let Some(more) = add(page, &mut saved, pages)? {
            open = more;
        }
    }
    if pages == 0 {
        return Err(SnapshotError::Empty);
    }
    if open {
        let note = "the last page names a next one that is not here; tools may be missing";
        saved.notes.push(note.to_owned());
    }
    Ok(saved)
}

/// Adds one page; says whether another should follow, where the page is one of a listing.
fn add(page: Value, saved: &mut Saved, number: usize) -> Result<Option<bool>, SnapshotError> {
    let wrong = |reason: String| SnapshotError::Page { page: number, reason };
    let mut page = match page {
        Value::Array(tools) => {
            saved.snapshot.tools.extend(tools);
            return Ok(Some(false));
        }
        Value::Object(map) => map,
        other => {
            return Err(wrong(format!("expected an object or a list, found {}", kind(&other))));
        }
    };
    if page
        .get("schema")
        .is_some_and(|tag| tag.as_str().is_some_and(|t| t.starts_with("proofmark/")))
    {
        own(page, saved, number)?;
        return Ok(Some(false));
    }
    if let Some(error) = page.get("error") {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
        return Err(wrong(format!(
            "the server answered with an error: {}",
            message.escape_debug()
        )));
    }
    if let Some(Value::Object(result)) = page.remove("result") {
        page = result;
    }
    if let Some(server) = page.get("serverInfo") {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        saved.snapshot.server_name = text(server.get("name"));
        saved.snapshot.server_version = text(server.get("version"));
        saved.snapshot.protocol_version = text(page.get("protocolVersion"));
        if !page.contains_key("tools") {
            return Ok(None);
        }
    }
    match page.remove("tools") {
        Some(Value::Array(tools)) => saved.snapshot.tools.extend(tools),
        Some(other) => return Err(wrong(format!("`tools` is {}, not a list", kind(&other)))),
        None => return Err(wrong("no `tools`".to_owned())),
    }
    Ok(Some(page.get("nextCursor").and_then(Value::as_str).is_some_and(|next| !next.is_empty())))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Own {
    schema: String,
    server: Server,
    protocol_version: String,
    command: Vec<String>,
    digest: String,
    tools: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    name: String,
    version: String,
}

fn own(page: Map<String, Value>, saved: &mut Saved, number: usize) -> Result<(), SnapshotError> {
    let wrong = |reason: String| SnapshotError::Page { page: number, reason };
    let own: Own =
        serde_json::from_value(Value::Object(page)).map_err(|error| wrong(error.to_string()))?;
    if own.schema != FORMAT {
        return Err(wrong(format!("this is {}, not a {FORMAT} file", own.schema.escape_debug())));
    }
    if number > 1 {
        return Err(wrong("a listing of ours is a whole file".to_owned()));
    }
    let snapshot = Snapshot {
        server_name: own.server.name,
        server_version: own.server.version,
        protocol_version: own.protocol_version,
        command: own.command,
        tools: own.tools,
    };
    let found = snapshot.digest();
    if own.digest != found.to_string() {
        return Err(SnapshotError::Digest { stated: own.digest, found });
    }
    saved.snapshot = snapshot;
    Ok(())
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
