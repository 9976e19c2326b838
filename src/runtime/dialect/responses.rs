//! OpenAI responses: flat tools; messages, `function_call` and `function_call_output` are items
//! of one list.

use serde::Serialize;
use serde_json::{Value, json};

use super::describe::{Rendering, describe};
use super::transcript::{Message, Transcript};
use crate::runtime::view::View;

/// The `tools` array.
pub fn tools(view: &View, rendering: Rendering) -> String {
    let tools: Vec<Value> = view
        .leases
        .iter()
        .map(|lease| {
            json!({
                "type": "function",
                "name": lease.name,
                "description": describe(&lease.tool, rendering),
                "parameters": lease.tool.descriptor.schemas.input_schema,
                // Strict is this API's default, and would refuse or rewrite ordinary schemas.
                "strict": false,
            })
        })
        .collect();
    Value::Array(tools).to_string()
}

// The fields stand in the order of their names, as in any other JSON written here.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message { content: &'a str, role: &'static str, r#type: &'static str },
    Call { arguments: &'a str, call_id: &'a str, name: &'a str, r#type: &'static str },
    Output { call_id: &'a str, output: &'a str, r#type: &'static str },
}

/// The `input` array.
pub fn messages(transcript: &Transcript) -> String {
    let mut items: Vec<Item<'_>> = Vec::new();
    for message in transcript.messages() {
        match message {
            Message::User { text } => items.push(said("user", text)),
            Message::Assistant { text, calls } => {
                if !text.is_empty() || calls.is_empty() {
                    items.push(said("assistant", text));
                }
                items.extend(calls.iter().map(|call| Item::Call {
                    arguments: &call.arguments,
                    call_id: &call.call,
                    name: &call.name,
                    r#type: "function_call",
                }));
            }
            Message::Tool { call, text, .. } => {
                let r#type = "function_call_output";
                items.push(Item::Output { call_id: call, output: text, r#type });
            }
        }
    }
    // Texts are plain data: writing them to memory cannot fail.
    serde_json::to_string(&items).unwrap_or_default()
}

fn said<'a>(role: &'static str, text: &'a str) -> Item<'a> {
    Item::Message { content: text, role, r#type: "message" }
}
