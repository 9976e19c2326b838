//! Gemini generateContent: parts with `functionCall` and `functionResponse`. Calls have no ids;
//! the results of one turn stand in one content, in the order of its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::describe::{Rendering, describe};
use super::json;
use super::transcript::{Message, Transcript};
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

// The fields stand in the order of their names, as in any other JSON written here.
#[derive(Serialize)]
struct Content<'a> {
    parts: Vec<Part<'a>>,
    role: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a> {
    Text(&'a str),
    FunctionCall { args: Map<String, Value>, name: &'a str },
    FunctionResponse { name: &'a str, response: Response<'a> },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Response<'a> {
    Error(&'a str),
    Output(&'a str),
}

/// The `contents` array.
pub fn messages(transcript: &Transcript) -> String {
    let mut wire: Vec<Content<'_>> = Vec::new();
    let mut results: Vec<Part<'_>> = Vec::new();
    let mut names: BTreeMap<&Arc<str>, &str> = BTreeMap::new();
    for message in transcript.messages() {
        match message {
            Message::Tool { call, text, is_error } => {
                let name = names.get(call).copied().unwrap_or_default();
                let response =
                    if *is_error { Response::Error(text) } else { Response::Output(text) };
                results.push(Part::FunctionResponse { name, response });
            }
            Message::User { text } => {
                flush(&mut results, &mut wire);
                wire.push(Content { parts: vec![said(text)], role: "user" });
            }
            Message::Assistant { text, calls } => {
                flush(&mut results, &mut wire);
                names.extend(calls.iter().map(|call| (&call.call, call.name.as_str())));
                let mut parts = Vec::new();
                if !text.is_empty() || calls.is_empty() {
                    parts.push(said(text));
                }
                parts.extend(calls.iter().map(|call| Part::FunctionCall {
                    args: json::object(&call.arguments),
                    name: &call.name,
                }));
                wire.push(Content { parts, role: "model" });
            }
        }
    }
    flush(&mut results, &mut wire);
    // Texts are plain data: writing them to memory cannot fail.
    serde_json::to_string(&wire).unwrap_or_default()
}

fn flush<'a>(results: &mut Vec<Part<'a>>, wire: &mut Vec<Content<'a>>) {
    if !results.is_empty() {
        wire.push(Content { parts: std::mem::take(results), role: "user" });
    }
}

/// The API refuses empty parts.
fn said(text: &str) -> Part<'_> {
    Part::Text(if text.is_empty() { "(no text)" } else { text })
}
