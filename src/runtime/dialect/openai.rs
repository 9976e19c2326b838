//! OpenAI chat completions: `tools[].function` and `tool_calls`.

use serde::Serialize;
use serde_json::Value;

use super::describe::{Rendering, describe};
use super::transcript::{Message, Transcript};
use crate::runtime::view::View;

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: String,
    parameters: &'a Value,
}

/// The `tools` array.
pub fn tools(view: &View, rendering: Rendering) -> String {
    let tools: Vec<Tool<'_>> = view
        .leases
        .iter()
        .map(|lease| Tool {
            r#type: "function",
            function: Function {
                name: &lease.name,
                description: describe(&lease.tool, rendering),
                parameters: &lease.tool.descriptor.schemas.input_schema,
            },
        })
        .collect();
    serde_json::to_string(&tools).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Wire<'a> {
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The `messages` array.
pub fn messages(transcript: &Transcript) -> String {
    let wire: Vec<Wire<'_>> = transcript.messages().iter().map(message).collect();
    serde_json::to_string(&wire).unwrap_or_default()
}

fn message(message: &Message) -> Wire<'_> {
    match message {
        Message::User { text } => Wire::User { content: text },
        Message::Assistant { text, calls } => Wire::Assistant {
            // The API takes `null` only beside calls.
            content: (!text.is_empty() || calls.is_empty()).then_some(text),
            tool_calls: calls
                .iter()
                .map(|call| WireCall {
                    id: &call.call,
                    r#type: "function",
                    function: WireFunction { name: &call.name, arguments: &call.arguments },
                })
                .collect(),
        },
        Message::Tool { call, text, .. } => Wire::Tool { tool_call_id: call, content: text },
    }
}
