//! OpenAI responses: flat tools; messages, `function_call` and `function_call_output` are items
//! of one list.

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

/// The `input` array.
pub fn messages(transcript: &Transcript) -> String {
    let mut items: Vec<Value> = Vec::new();
    for message in transcript.messages() {
        match message {
            Message::User { text } => items.push(said("user", text)),
            Message::Assistant { text, calls } => {
                if !text.is_empty() || calls.is_empty() {
                    items.push(said("assistant", text));
                }
                items.extend(calls.iter().map(|call| {
                    json!({"type": "function_call", "call_id": call.call, "name": call.name,
                        "arguments": call.arguments})
                }));
            }
            Message::Tool { call, text, .. } => {
                let output =
                    json!({"type": "function_call_output", "call_id": call, "output": text});
                items.push(output);
            }
        }
    }
    Value::Array(items).to_string()
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": text})
}
