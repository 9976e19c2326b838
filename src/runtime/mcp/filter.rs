//! The filter between a server's standard output and the SDK.
//!
//! It works on bytes and does no input or output itself. Of what the server sends, only answers to
//! requests that are outstanding go on to the SDK, stripped of everything the SDK would try to
//! type; the raw results stay in the [`Ledger`]. Requests the server makes are answered here, at
//! any time, so that a server which asks for its roots before it answers `initialize` does not
//! wait for ever. Of its notifications, progress that grows goes on to the SDK, where it keeps a
//! request alive, and a changed list of tools is counted; the others are dropped.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::offered::list_of;
use super::{Phase, cut};

/// Longest line a server may send, in bytes: 64 MiB.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// Most bytes all answers to `tools/list` may have together: 256 MiB.
pub const MAX_LISTING_BYTES: usize = 256 << 20;
/// Lines of noise that are kept; the others are only counted.
const NOISE_KEPT: usize = 20;
/// Characters kept of each line of noise, and of what an error message quotes.
const NOISE_CHARS: usize = 200;
/// Requests of the server that are answered between two of ours before it is given up.
const MAX_REPLIES: usize = 1_000;
/// Tokens whose progress is remembered.
const MAX_TOKENS: usize = 10_000;
const METHOD_NOT_FOUND: i32 = -32601;

/// What a server may ask of its client beside `ping` and its roots, of which there are none.
/// Nothing by default: a request for more is answered as one for a method that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allows {
    /// Forms, answered with their own defaults.
    pub elicitation: bool,
}

/// A request of ours that has no answer yet.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    method: String,
    id: Value,
}

/// What both directions of the conversation left behind.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Ledger {
    /// What the client is doing, for messages.
    pub phase: Phase,
    /// Raw result of `initialize`.
    pub welcome: Option<Value>,
    /// Raw result of the last `tools/list`, until the client takes it.
    pub page: Option<Map<String, Value>>,
    /// First lines that were no JSON-RPC messages.
    pub noise: Vec<String>,
    /// How many such lines there were.
    pub noise_lines: usize,
    /// The last message that answers nothing we asked.
    pub stray: Option<String>,
    /// What went wrong last below the protocol, over HTTP.
    pub broken: Option<String>,
    /// Why the conversation cannot go on.
    pub fault: Option<String>,
    /// How often the server said that its tools changed.
    pub changes: u64,
    /// What the server may ask of its client.
    pub allows: Allows,
    /// Raw results of calls, and of what is about something beside tools, by the key of their
    /// request, until the client takes them.
    pub results: BTreeMap<String, Map<String, Value>>,
    outstanding: BTreeMap<String, Asked>,
    /// How far the progress of each token has come.
    progress: BTreeMap<String, f64>,
    replies: usize,
    /// Bytes of the pages of one listing, or of what is read.
    pub listing_bytes: usize,
}

impl Ledger {
    /// A ledger of a connection on which a server may ask for this much.
    pub(super) fn allowing(allows: Allows) -> Self {
        Self { allows, ..Self::default() }
    }

    /// What is listed or read from here on is bounded by itself, and not with what was before.
    pub(super) fn begin_listing(&mut self) {
        self.listing_bytes = 0;
    }

    /// Nobody waits for this answer any more; should it come, it is a stray one.
    pub(super) fn forget(&mut self, key: &str) {
        self.outstanding.remove(key);
        self.results.remove(key);
    }

    /// Notes a line the client is about to send, if it is a request.
    pub(super) fn asked(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let (Some(id), Some(method)) = (message.get("id"), message.get("method")) else { return };
        if let (Some(key), Some(method)) = (id_key(id), method.as_str()) {
            let asked = Asked { method: method.to_owned(), id: id.clone() };
            self.replies = 0;
            self.outstanding.insert(key, asked);
        }
    }

    /// What came instead of the answer that is missing, for an operator.
    pub(super) fn hint(&self) -> Option<String> {
        if let Some(stray) = &self.stray {
            return Some(stray.clone());
        }
        let first = self.noise.first()?;
        let count = self.noise_lines;
        Some(format!("{count} lines on stdout were no JSON-RPC, the first: {first}"))
    }

    fn noise(&mut self, line: &[u8]) {
        self.noise_lines = self.noise_lines.saturating_add(1);
        if self.noise.len() < NOISE_KEPT {
            // Four bytes a character at most; a cut one becomes a replacement character.
            let start = line.get(..NOISE_CHARS * 4).unwrap_or(line);
            let text: String = String::from_utf8_lossy(start).chars().take(NOISE_CHARS).collect();
            self.noise.push(text);
        }
    }

    fn fault(&mut self, reason: String) {
        self.fault.get_or_insert(reason);
    }

    /// Takes the request `message` answers, if it answers one.
    fn claim(&mut self, message: &Map<String, Value>) -> Option<Asked> {
        match message.get("id") {
            Some(id) if !id.is_null() => self.outstanding.remove(&id_key(id)?),
            // An error without an id says a request could not be read. Before the handshake is
            // over only `initialize` can be meant; later it may be about a notification.
            _ if message.contains_key("error") && self.welcome.is_none() => {
                self.outstanding.pop_first().map(|(_, asked)| asked)
            }
            _ => None,
        }
    }
}

/// Cuts a byte stream into lines and sorts out what they say.
#[derive(Debug)]
pub(super) struct Filter {
    /// Lines for the SDK, each ending in a newline.
    pub forward: Vec<u8>,
    /// Lines for the server, each ending in a newline.
    pub replies: Vec<u8>,
    line: Vec<u8>,
    limit: usize,
}

impl Filter {
    /// A filter that allows lines of `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { forward: Vec::new(), replies: Vec::new(), line: Vec::new(), limit }
    }

    /// Takes the next bytes of the stream, cut anywhere. After a fault nothing is read any more.
    pub(super) fn push(&mut self, chunk: &[u8], ledger: &mut Ledger) {
        let mut rest = chunk;
        while ledger.fault.is_none() && !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (part, next) = match end {
                Some(end) => (rest.get(..end), rest.get(end + 1..)),
                None => (Some(rest), None),
            };
            let part = part.unwrap_or_default();
            rest = next.unwrap_or_default();
            if self.line.len().saturating_add(part.len()) > self.limit {
                let limit = self.limit;
                self.line = Vec::new();
                ledger.fault(format!("a line on stdout is longer than {limit} bytes"));
                return;
            }
            self.line.extend_from_slice(part);
            if end.is_some() {
                self.end_line(ledger);
            }
        }
    }

    /// Ends the stream: a last line needs no newline.
    pub(super) fn finish(&mut self, ledger: &mut Ledger) {
        if ledger.fault.is_none() {
            self.end_line(ledger);
        }
    }

    fn end_line(&mut self, ledger: &mut Ledger) {
        let line = std::mem::take(&mut self.line);
        self.read_line(&line, ledger);
        self.line = line;
        self.line.clear();
        // One huge answer must not keep its buffer for the rest of the conversation.
        self.line.shrink_to(1 << 20);
    }

    /// Takes one whole message.
    pub(super) fn read_line(&mut self, line: &[u8], ledger: &mut Ledger) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(message)) => self.read_message(message, line, ledger),
            // The 2025-03-26 revision allowed batches.
            Ok(Value::Array(batch)) if batch.iter().any(Value::is_object) => {
                for item in batch {
                    match item {
                        Value::Object(message) => self.read_message(message, line, ledger),
                        other => ledger.noise(other.to_string().as_bytes()),
                    }
                }
            }
            Ok(_) => ledger.noise(line),
            Err(error) if looks_like_answer(line) => {
                let start = quote(line);
                ledger.fault(format!("an answer is not JSON ({error}): {start}"));
            }
            Err(_) => ledger.noise(line),
        }
    }

    fn read_message(&mut self, message: Map<String, Value>, line: &[u8], ledger: &mut Ledger) {
        if ledger.fault.is_some() {
            return;
        }
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            // Without an id it is a notification.
            match message.get("id").filter(|id| !id.is_null()) {
                Some(id) => self.reply((method, id), message.get("params"), ledger),
                None => self.notified(method, message.get("params"), ledger),
            }
            return;
        }
        if let Some(asked) = ledger.claim(&message) {
            self.read_answer(&asked, message, line, ledger);
        } else if message.contains_key("result") || message.contains_key("error") {
            let text = quote(line);
            ledger.stray = Some(format!("a message answers nothing that was asked: {text}"));
        } else {
            // Most likely a structured log line.
            ledger.noise(line);
        }
    }

    fn notified(&mut self, method: &str, params: Option<&Value>, ledger: &mut Ledger) {
        match method {
            "notifications/tools/list_changed" => {
                ledger.changes = ledger.changes.saturating_add(1);
            }
            "notifications/progress" => {
                let Some(params) = params.and_then(|params| grown(params, ledger)) else { return };
                let answer = json!({"jsonrpc": "2.0", "method": method, "params": params});
                write_line(&mut self.forward, &answer);
            }
            _ => {}
        }
    }

    fn reply(&mut self, (method, id): (&str, &Value), params: Option<&Value>, ledger: &mut Ledger) {
        ledger.replies = ledger.replies.saturating_add(1);
        if ledger.replies > MAX_REPLIES {
            ledger.fault(format!("the server made more than {MAX_REPLIES} requests"));
            return;
        }
        let answer = match method {
            "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            "roots/list" => json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}}),
            "elicitation/create" if ledger.allows.elicitation => {
                json!({"jsonrpc": "2.0", "id": id, "result": defaults(params)})
            }
            _ => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": "method not found"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        write_line(&mut self.replies, &answer);
    }

    fn read_answer(
        &mut self,
        asked: &Asked,
        mut message: Map<String, Value>,
        line: &[u8],
        ledger: &mut Ledger,
    ) {
        let method = asked.method.as_str();
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            let text = quote(line);
            ledger.fault(format!("the answer to {method} is not marked JSON-RPC 2.0: {text}"));
            return;
        }
        let error = message.remove("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            let error = tame_error(&error);
            let answer = json!({"jsonrpc": "2.0", "id": asked.id, "error": error});
            write_line(&mut self.forward, &answer);
            return;
        }
        let result = match message.remove("result") {
            Some(Value::Object(result)) => result,
            Some(_) => return ledger.fault(format!("{method} got no object: {}", quote(line))),
            None => {
                let text = quote(line);
                let reason = format!("the answer to {method} has no result and no error: {text}");
                return ledger.fault(reason);
            }
        };
        let tame = match method {
            "initialize" => keep_welcome(result, line, ledger),
            "tools/list" => keep_page(result, line, ledger),
            "tools/call" => {
                // Of a request that nobody waits for any more there is no key.
                ledger.results.extend(id_key(&asked.id).map(|key| (key, result)));
                Some(json!({"content": []}))
            }
            method => match list_of(method) {
                Some(list) => keep_beside(list, (asked, result), line, ledger),
                None => Some(Value::Object(result)),
            },
        };
        if let Some(tame) = tame {
            let answer = json!({"jsonrpc": "2.0", "id": asked.id, "result": tame});
            write_line(&mut self.forward, &answer);
        }
    }
}

/// Keeps the raw result of `initialize`; gives what the SDK may see of it.
fn keep_welcome(result: Map<String, Value>, line: &[u8], ledger: &mut Ledger) -> Option<Value> {
    let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
        let text = quote(line);
        ledger.fault(format!("the answer to initialize names no protocolVersion: {text}"));
        return None;
    };
    let tame = json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "server", "version": "0"},
    });
    ledger.welcome = Some(Value::Object(result));
    Some(tame)
}

/// Keeps the raw result of `tools/list`; gives what the SDK may see of it.
fn keep_page(mut result: Map<String, Value>, line: &[u8], ledger: &mut Ledger) -> Option<Value> {
    match result.get("tools") {
        Some(Value::Array(_)) => {}
        // How some languages write an empty list.
        Some(Value::Null) => drop(result.insert("tools".into(), Value::Array(Vec::new()))),
        _ => {
            let text = quote(line);
            ledger.fault(format!("the answer to tools/list has no tools array: {text}"));
            return None;
        }
    }
    ledger.listing_bytes = ledger.listing_bytes.saturating_add(line.len());
    if ledger.listing_bytes > MAX_LISTING_BYTES {
        ledger.fault(format!("all pages together are longer than {MAX_LISTING_BYTES} bytes"));
        return None;
    }
    let mut tame = json!({"tools": []});
    if let (Some(tame), Some(cursor)) = (tame.as_object_mut(), result.get("nextCursor"))
        && cursor.is_string()
    {
        tame.insert("nextCursor".into(), cursor.clone());
    }
    ledger.page = Some(result);
    Some(tame)
}

/// Keeps the raw result of a method that is about something beside tools; gives what the SDK may
/// see of it.
fn keep_beside(
    list: &str,
    (asked, result): (&Asked, Map<String, Value>),
    line: &[u8],
    ledger: &mut Ledger,
) -> Option<Value> {
    ledger.listing_bytes = ledger.listing_bytes.saturating_add(line.len());
    if ledger.listing_bytes > MAX_LISTING_BYTES {
        ledger.fault(format!("all pages together are longer than {MAX_LISTING_BYTES} bytes"));
        return None;
    }
    ledger.results.extend(id_key(&asked.id).map(|key| (key, result)));
    Some(json!({ list: [] }))
}

/// What the SDK may see of a progress notification: only that it went on. One that does not say
/// more than the one before is none, or a server could keep a request alive by saying nothing.
fn grown(params: &Value, ledger: &mut Ledger) -> Option<Value> {
    let token = params.get("progressToken")?;
    let progress = params.get("progress")?.as_f64()?;
    let key = id_key(token)?;
    if ledger.progress.get(&key).is_some_and(|known| progress <= *known) {
        return None;
    }
    if ledger.progress.len() >= MAX_TOKENS {
        ledger.progress.clear();
    }
    ledger.progress.insert(key, progress);
    Some(json!({"progressToken": token, "progress": progress}))
}

/// The answer to a form that may be answered: its own defaults, and nothing that a person would
/// have to say.
fn defaults(params: Option<&Value>) -> Value {
    let properties = params.and_then(|params| params.pointer("/requestedSchema/properties"));
    let fields = properties.and_then(Value::as_object);
    let content: Map<String, Value> = fields
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| Some((name.clone(), schema.get("default")?.clone())))
        .collect();
    json!({"action": "accept", "content": content})
}

/// An error object the SDK accepts, whatever the server sent.
fn tame_error(error: &Value) -> Value {
    let code = error.get("code").and_then(Value::as_i64);
    let code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or(0);
    let message = error.get("message").unwrap_or(error);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    json!({"code": code, "message": cut(&message, 1_000)})
}

/// The key of a request, by which its result is kept.
pub(super) fn key_of(id: &rmcp::model::RequestId) -> Option<String> {
    id_key(&serde_json::to_value(id).ok()?)
}

/// One key for an id and its common misspellings: `1`, `1.0` and `"1"` are the same.
fn id_key(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if !number.is_i64() && float.fract() == 0.0 => Some(format!("{float:.0}")),
            _ => Some(number.to_string()),
        },
        _ => None,
    }
}

/// Whether a line that is no JSON was meant to be an answer, so that waiting on is pointless.
fn looks_like_answer(line: &[u8]) -> bool {
    if !line.starts_with(b"{") && !line.starts_with(b"[") {
        return false;
    }
    let text = String::from_utf8_lossy(line);
    let has = |key: &str| text.contains(key);
    has("\"jsonrpc\"") && (has("\"result\"") || has("\"error\""))
}

fn quote(line: &[u8]) -> String {
    let start = line.get(..NOISE_CHARS * 4 + 4).unwrap_or(line);
    cut(&String::from_utf8_lossy(start), NOISE_CHARS)
}

fn write_line(out: &mut Vec<u8>, message: &Value) {
    out.extend_from_slice(message.to_string().as_bytes());
    out.push(b'\n');
}
