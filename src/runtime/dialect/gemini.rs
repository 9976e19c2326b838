//! Gemini generateContent: parts with `functionCall` and `functionResponse`. Calls have no ids;
//! the results of one turn stand in one content, in the order of its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::describe::{Rendering, describe};
use super::json;
use super::transcript::{AssistantCall, Message, Transcript};
use crate::runtime::view::View;

/// The `tools` array.
pub fn tools(view: &View, rendering: Rendering) -> String {
    let declarations: Vec<Value> = view
        .leases
        .iter()
        .map(|lease| {
            json!({
                "name": lease.name,
                "description": describe(&lease.tool, rendering),
                // `parameters` knows a part of JSON Schema only; this field knows all of it.
                "parametersJsonSchema": lease.tool.descriptor.schemas.input_schema,
            })
        })
        .collect();
    // The API refuses a tool without declarations.
    let tools = match declarations.is_empty() {
        true => json!([]),
        false => json!([{"functionDeclarations": declarations}]),
    };
    tools.to_string()
}

/// The `contents` array.
pub fn messages(transcript: &Transcript) -> String {
    let mut wire: Vec<Value> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    let mut names: BTreeMap<&Arc<str>, &str> = BTreeMap::new();
    for message in transcript.messages() {
        if let Message::Tool { call, text, is_error } = message {
            let name = names.get(call).copied().unwrap_or_default();
            let key = if *is_error { "error" } else { "output" };
            let response = json!({"name": name, "response": {key: text}});
            results.push(json!({"functionResponse": response}));
            continue;
        }
        flush(&mut results, &mut wire);
        match message {
            Message::User { text } => wire.push(json!({"role": "user", "parts": [said(text)]})),
            Message::Assistant { text, calls } => {
                names.extend(calls.iter().map(|call| (&call.call, call.name.as_str())));
                let mut parts = Vec::new();
                if !text.is_empty() || calls.is_empty() {
                    parts.push(said(text));
                }
                parts.extend(calls.iter().map(called));
                wire.push(json!({"role": "model", "parts": parts}));
            }
            Message::Tool { .. } => {}
        }
    }
    flush(&mut results, &mut wire);
    Value::Array(wire).to_string()
}

fn flush(results: &mut Vec<Value>, wire: &mut Vec<Value>) {
    if !results.is_empty() {
        wire.push(json!({"role": "user", "parts": std::mem::take(results)}));
    }
}

/// The API refuses empty parts.
fn said(text: &str) -> Value {
    json!({"text": if text.is_empty() { "(no text)" } else { text }})
}

fn called(call: &AssistantCall) -> Value {
    // The API takes objects only; what was no object was rejected and stands in its result.
    let args = json::read(&call.arguments).unwrap_or_default();
    let args = if args.is_object() { args } else { json!({}) };
    json!({"functionCall": {"name": call.name, "args": args}})
}
