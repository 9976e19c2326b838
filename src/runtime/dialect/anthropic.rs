//! Anthropic messages: `tool_use` and `tool_result` blocks. All results of one assistant message
//! stand in one user message.

use serde_json::{Value, json};

use super::describe::{Rendering, describe};
use super::json;
use super::transcript::{Message, Transcript};
use crate::runtime::view::View;

/// The `tools` array.
pub fn tools(view: &View, rendering: Rendering) -> String {
    let tools: Vec<Value> = view
        .leases
        .iter()
        .map(|lease| {
            json!({
                "name": lease.name,
                "description": describe(&lease.tool, rendering),
                "input_schema": lease.tool.descriptor.schemas.input_schema,
            })
        })
        .collect();
    Value::Array(tools).to_string()
}

/// The `messages` array.
pub fn messages(transcript: &Transcript) -> String {
    let mut wire: Vec<Value> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for message in transcript.messages() {
        if let Message::Tool { call, text, is_error } = message {
            let mut block = json!({"type": "tool_result", "tool_use_id": call, "content": text});
            if *is_error {
                block["is_error"] = true.into();
            }
            results.push(block);
            continue;
        }
        flush(&mut results, &mut wire);
        match message {
            Message::User { text } => wire.push(json!({"role": "user", "content": text})),
            Message::Assistant { text, calls } => {
                let mut blocks = Vec::new();
                // The API refuses empty text blocks, and empty content.
                match (text.is_empty(), calls.is_empty()) {
                    (false, _) => blocks.push(json!({"type": "text", "text": text})),
                    (true, true) => blocks.push(json!({"type": "text", "text": "(no text)"})),
                    (true, false) => {}
                }
                for call in calls {
                    // The API takes objects only; what was no object was rejected and stands
                    // in its result.
                    let input = json::read(&call.arguments).unwrap_or_default();
                    let input = if input.is_object() { input } else { json!({}) };
                    blocks.push(json!({"type": "tool_use", "id": call.call,
                        "name": call.name, "input": input}));
                }
                wire.push(json!({"role": "assistant", "content": blocks}));
            }
            Message::Tool { .. } => {}
        }
    }
    flush(&mut results, &mut wire);
    Value::Array(wire).to_string()
}

fn flush(results: &mut Vec<Value>, wire: &mut Vec<Value>) {
    if !results.is_empty() {
        wire.push(json!({"role": "user", "content": std::mem::take(results)}));
    }
}
