//! Anthropic messages: `tool_use` and `tool_result` blocks. All results of one assistant message
//! stand in one user message.

use serde::Serialize;
use serde_json::{Map, Value, json};

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

// The fields stand in the order of their names, as in any other JSON written here.
#[derive(Serialize)]
struct Turn<'a> {
    content: Content<'a>,
    role: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text {
        text: &'a str,
        r#type: &'static str,
    },
    ToolUse {
        id: &'a str,
        input: Map<String, Value>,
        name: &'a str,
        r#type: &'static str,
    },
    ToolResult {
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        tool_use_id: &'a str,
        r#type: &'static str,
    },
}

/// The `messages` array.
pub fn messages(transcript: &Transcript) -> String {
    let mut wire: Vec<Turn<'_>> = Vec::new();
    let mut results: Vec<Block<'_>> = Vec::new();
    for message in transcript.messages() {
        match message {
            Message::Tool { call, text, is_error } => results.push(Block::ToolResult {
                content: text,
                is_error: is_error.then_some(true),
                tool_use_id: call,
                r#type: "tool_result",
            }),
            Message::User { text } => {
                flush(&mut results, &mut wire);
                wire.push(Turn { content: Content::Text(text), role: "user" });
            }
            Message::Assistant { text, calls } => {
                flush(&mut results, &mut wire);
                let mut blocks = Vec::new();
                // The API refuses empty text blocks, and empty content.
                match (text.is_empty(), calls.is_empty()) {
                    (false, _) => blocks.push(Block::Text { text, r#type: "text" }),
                    (true, true) => {
                        blocks.push(Block::Text { text: "(no text)", r#type: "text" });
                    }
                    (true, false) => {}
                }
                blocks.extend(calls.iter().map(|call| Block::ToolUse {
                    id: &call.call,
                    input: json::object(&call.arguments),
                    name: &call.name,
                    r#type: "tool_use",
                }));
                wire.push(Turn { content: Content::Blocks(blocks), role: "assistant" });
            }
        }
    }
    flush(&mut results, &mut wire);
    // Texts are plain data: writing them to memory cannot fail.
    serde_json::to_string(&wire).unwrap_or_default()
}

fn flush<'a>(results: &mut Vec<Block<'a>>, wire: &mut Vec<Turn<'a>>) {
    if !results.is_empty() {
        wire.push(Turn { content: Content::Blocks(std::mem::take(results)), role: "user" });
    }
}
