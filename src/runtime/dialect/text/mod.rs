//! The text protocol: tools are told in instructions, calls stand in plain text, results come
//! back escaped so that they cannot forge a call.
//!
//! Four spellings of a call are known, and [`TextRules`] says which of them count:
//!
//! - tagged: `<tool_call>{..}</tool_call>`, plural and with a namespace too;
//! - fenced: a code block whose info string is `tool_call` or `tool_calls`;
//! - invoke: `<invoke name="x"><parameter name="p">value</parameter></invoke>`;
//! - bare: a JSON object that is the whole reply.

mod block;
mod invoke;
mod lex;
mod prose;
mod reply;
mod rules;
mod spell;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;

use super::describe::{Rendering, describe};
use super::json;
use super::proposed::Origin;
use super::transcript::{Message, Transcript};
use crate::runtime::view::View;

pub use reply::parse;
pub use rules::TextRules;
pub use spell::spell;

/// How the calls of the first active spelling are to be written; nothing under strict rules.
fn instruction(origin: Origin) -> &'static str {
    match origin {
        Origin::Fenced => {
            "write a code block with the info string tool_call around \
             {\"name\": .., \"arguments\": {..}}"
        }
        Origin::Invoke => {
            "write a line <invoke name=\"..\"><parameter name=\"..\">value</parameter></invoke> \
             with &lt;, &gt; and &amp; for <, > and & in values, and with type=\"json\" in the \
             tag of each parameter that is no text"
        }
        Origin::Bare => "reply with {\"name\": .., \"arguments\": {..}} and nothing else",
        Origin::Tagged | Origin::Native => {
            "write a line <tool_call>{\"name\": .., \"arguments\": {..}}</tool_call>"
        }
    }
}

/// The instructions with one JSON object per tool; empty where the protocol is hidden.
pub fn tools(view: &View, rendering: Rendering, rules: TextRules) -> String {
    let Some(origin) = rules.primary() else { return String::new() };
    let mut out = format!(
        "To call a tool, {}. Results come back as <tool_result> blocks. The tools:\n",
        instruction(origin)
    );
    for lease in &view.leases {
        let tool = json!({
            "name": lease.name,
            "description": describe(&lease.tool, rendering),
            "parameters": lease.tool.descriptor.schemas.input_schema,
        });
        out.push_str(&tool.to_string());
        out.push('\n');
    }
    out
}

#[derive(Serialize)]
struct Wire<'a> {
    content: Cow<'a, str>,
    role: &'static str,
}

/// The messages, with calls and results inside plain text.
pub fn messages(transcript: &Transcript, rules: TextRules) -> String {
    let wire = transcript.messages().iter().map(|message| match message {
        Message::User { text } => Wire { content: Cow::Borrowed(text), role: "user" },
        Message::Assistant { text, calls } => {
            let mut content = text.to_string();
            for call in calls {
                let arguments = json::read(&call.arguments)
                    .map_or_else(|_| call.arguments.clone(), |value| value.to_string());
                spell::remembered(&mut content, (&call.call, &call.name, &arguments), rules);
            }
            Wire { content: content.into(), role: "assistant" }
        }
        Message::Tool { call, text, .. } => {
            let content = format!(
                "<tool_result id=\"{}\">{}</tool_result>",
                escape(call, rules).replace('"', "&quot;"),
                escape(text, rules)
            );
            Wire { content: content.into(), role: "user" }
        }
    });
    // Texts are plain data: writing them to memory cannot fail.
    serde_json::to_string(&wire.collect::<Vec<_>>()).unwrap_or_default()
}

/// Text that cannot open or close a block of any spelling, also when it is repeated as it is.
pub fn escape(text: &str, rules: TextRules) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut text = prose::without_protocol_fences(&text);
    if rules.bare && block::bare(&text).is_some() {
        text = text.replacen('{', "&#123;", 1);
    }
    text
}

#[cfg(test)]
mod properties_tests;
#[cfg(test)]
mod reply_tests;
