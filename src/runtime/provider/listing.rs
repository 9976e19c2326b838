//! The tools of a payload as a model reads them, parted into the fields that are ranked.

use serde_json::Value;

use super::harness_fault;
use super::rank::ToolDoc;
use crate::journal::event::turn::ProviderFault;
use crate::runtime::dialect::describe::{DO_NOT_USE_WHEN, EXAMPLES, HINTS, USE_WHEN};
use crate::runtime::dialect::{Dialect, Payload};

/// One advertised tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Advertised {
    /// The name calls use.
    pub name: String,
    /// The whole description.
    pub description: String,
    /// JSON Schema of the parameters.
    pub schema: Value,
}

/// Reads the tools of a payload, in their order.
///
/// # Errors
/// When they cannot be read, which is a bug of the dialect.
pub fn tools(payload: &Payload) -> Result<Vec<Advertised>, ProviderFault> {
    let unreadable = |error: serde_json::Error| harness_fault(format!("unreadable tools: {error}"));
    let listed: Vec<Value> = match payload.dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::AnthropicMessages => {
            serde_json::from_str(&payload.tools.text).map_err(unreadable)?
        }
        Dialect::Gemini => {
            let tools: Vec<Value> =
                serde_json::from_str(&payload.tools.text).map_err(unreadable)?;
            let declared = |tool: &Value| tool.get("functionDeclarations")?.as_array().cloned();
            tools.iter().filter_map(declared).flatten().collect()
        }
        Dialect::Text => {
            let lines = payload.tools.text.lines().filter(|line| line.starts_with('{'));
            lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(unreadable)?
        }
    };
    let read = |tool: &Value| {
        let tool = tool.get("function").unwrap_or(tool);
        let keys = ["parameters", "input_schema", "parametersJsonSchema"];
        let schema = keys.into_iter().find_map(|key| tool.get(key));
        let text = |key| tool.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Advertised {
            name: text("name"),
            description: text("description"),
            schema: schema.cloned().unwrap_or_default(),
        }
    };
    Ok(listed.iter().map(read).collect())
}

/// Splits a description at the fixed headings, and gathers what parameters say.
pub fn doc(tool: &Advertised) -> ToolDoc {
    let mut doc = ToolDoc { name: tool.name.clone(), ..ToolDoc::default() };
    let mut field = &mut doc.summary;
    let mut hints = String::new();
    for line in tool.description.lines() {
        match line {
            USE_WHEN => field = &mut doc.use_when,
            DO_NOT_USE_WHEN => field = &mut doc.avoid_when,
            EXAMPLES => field = &mut doc.examples,
            HINTS => field = &mut hints,
            line => {
                field.push_str(line);
                field.push('\n');
            }
        }
    }
    parameters(&tool.schema, &mut doc.parameters, 0);
    doc
}

const MAX_DEPTH: usize = 6;

fn parameters(schema: &Value, out: &mut String, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        out.push_str(name);
        out.push(' ');
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            out.push_str(text);
        }
        for value in property.get("enum").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = value.as_str() {
                out.push(' ');
                out.push_str(text);
            }
        }
        out.push('\n');
        parameters(property, out, depth + 1);
    }
    if let Some(items) = schema.get("items") {
        parameters(items, out, depth + 1);
    }
}
