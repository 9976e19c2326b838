//! Calls as text: what a model under the protocol would write.

use std::fmt::Write as _;

use serde_json::Value;

use super::rules::TextRules;
use crate::runtime::dialect::json;
use crate::runtime::dialect::proposed::{Origin, RawCall, argument_value};

/// Spells calls into a text in the first active protocol; `None` when it cannot spell them.
/// Invoke elements hold nothing but objects, and a bare call stands alone.
pub fn spell(text: Option<&str>, calls: &[RawCall], rules: TextRules) -> Option<String> {
    let origin = rules.primary()?;
    let mut out = text.unwrap_or_default().to_owned();
    if origin == Origin::Bare && !(calls.len() == 1 && out.trim().is_empty()) {
        return None;
    }
    for call in calls {
        let arguments = (!call.arguments.is_empty()).then_some(call.arguments.as_str());
        let block = block(origin, call.id.as_deref(), &call.name, arguments)?;
        push(&mut out, &block);
    }
    Some(out)
}

/// Appends a call of an earlier reply, with its id, name and arguments. What the protocol cannot
/// spell is told as a tagged block, so that nothing is left out.
pub(super) fn remembered(out: &mut String, call: (&str, &str, &str), rules: TextRules) {
    let (id, name, arguments) = call;
    let told = rules.primary().filter(|origin| *origin != Origin::Bare || out.is_empty());
    let told = told.and_then(|origin| block(origin, Some(id), name, Some(arguments)));
    let tagged = || format!("<tool_call>{}</tool_call>", body(Some(id), name, Some(arguments)));
    push(out, &told.unwrap_or_else(tagged));
}

fn block(origin: Origin, id: Option<&str>, name: &str, arguments: Option<&str>) -> Option<String> {
    match origin {
        Origin::Tagged => Some(format!("<tool_call>{}</tool_call>", body(id, name, arguments))),
        Origin::Fenced => Some(format!("```tool_call\n{}\n```", body(id, name, arguments))),
        Origin::Invoke => invoke(id, name, arguments?),
        Origin::Bare => {
            object(arguments?)?;
            Some(body(id, name, arguments))
        }
        Origin::Native => None,
    }
}

fn push(out: &mut String, block: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(block);
}

fn body(id: Option<&str>, name: &str, arguments: Option<&str>) -> String {
    let mut fields: Vec<String> = Vec::new();
    fields.extend(arguments.map(|text| format!("\"arguments\":{}", argument_value(text))));
    fields.extend(id.map(|id| format!("\"id\":{}", Value::from(id))));
    fields.push(format!("\"name\":{}", Value::from(name)));
    format!("{{{}}}", fields.join(","))
}

fn object(text: &str) -> Option<serde_json::Map<String, Value>> {
    match json::read(text) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

fn invoke(id: Option<&str>, name: &str, arguments: &str) -> Option<String> {
    let mut out = format!("<invoke name=\"{}\"", attribute(name));
    if let Some(id) = id {
        let _ = write!(out, " id=\"{}\"", attribute(id));
    }
    out.push('>');
    for (name, value) in object(arguments)? {
        let (kind, value) = match value {
            Value::String(text) => ("", text),
            other => (" type=\"json\"", other.to_string()),
        };
        let (name, value) = (attribute(&name), raw(&value));
        let _ = write!(out, "<parameter name=\"{name}\"{kind}>{value}</parameter>");
    }
    out.push_str("</invoke>");
    Some(out)
}

fn raw(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn attribute(text: &str) -> String {
    raw(text).replace('"', "&quot;")
}
