//! Tool lists as programs hand them to a model: OpenAI's for Chat Completions and Responses,
//! Anthropic's for Messages, and bare `{name, description, parameters}`.

use serde_json::{Map, Value};

use super::effects::Hints;
use super::normalize::{self, NotATool, Origin, Parts};
use super::shape::kind;
pub use super::{ImportProblem, Imported, Severity};
use crate::tool::descriptor::{Source, SourceType};

/// Why a value is no tool list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolListError {
    /// Neither a list nor an object with a `tools` list.
    #[error("expected a list of tools or an object with `tools`, found {found}")]
    NoList {
        /// What was found.
        found: &'static str,
    },
    /// A namespace that cannot stand in an id.
    #[error(
        "`{namespace}` cannot stand before the dot in a tool id; write 1 to 64 of [A-Za-z0-9_-]"
    )]
    Namespace {
        /// The namespace given.
        namespace: String,
    },
}

/// Judges each tool alone; the same contract as [`super::mcp::import`]. The tools' ids are
/// `<namespace>.<name>`, or the bare names without a namespace. These lists carry no hints, so the
/// names alone speak for what a tool may do.
///
/// # Errors
/// When `value` is no tool list at all.
pub fn import(namespace: Option<&str>, value: &Value) -> Result<Imported, ToolListError> {
    if let Some(namespace) = namespace.filter(|text| super::ServerName::parse(text).is_none()) {
        return Err(ToolListError::Namespace { namespace: namespace.to_owned() });
    }
    let list = tools(value)?;
    let origin = Origin {
        prefix: namespace,
        source: Source {
            r#type: SourceType::Builtin,
            source_id: format!("tools:{}", namespace.unwrap_or("list")),
            ..Source::default()
        },
        area: format!("api:{}/**", namespace.unwrap_or("tools")),
    };
    let parts: Vec<Result<Parts<'_>, NotATool>> = list.iter().map(take_apart).collect();
    Ok(normalize::import(&origin, &parts))
}

/// The elements of a tool list, as they came.
///
/// # Errors
/// When `value` is no tool list.
pub fn tools(value: &Value) -> Result<&[Value], ToolListError> {
    let list = value.get("tools").unwrap_or(value);
    match list.as_array() {
        Some(list) => Ok(list),
        None => Err(ToolListError::NoList { found: kind(list) }),
    }
}

/// The names under which these formats keep the schema of the arguments.
const SCHEMA_KEYS: [&str; 4] =
    ["parameters", "input_schema", "inputSchema", "parametersJsonSchema"];

fn take_apart(raw: &Value) -> Result<Parts<'_>, NotATool> {
    let help = "write {name, description, parameters}";
    let not = |message: String| NotATool { message, help };
    let Some(outer) = raw.as_object() else {
        return Err(not(format!("it is {}, not an object", kind(raw))));
    };
    let tool = match outer.get("function") {
        Some(Value::Object(inner)) => inner,
        None => outer,
        Some(other) => return Err(not(format!("`function` is {}, not an object", kind(other)))),
    };
    let form = outer.get("type").and_then(Value::as_str);
    let name = match tool.get("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::String(_)) => return Err(not("its name is empty".to_owned())),
        Some(other) => return Err(not(format!("its name is {}, not a text", kind(other)))),
        None => match form {
            Some(form) if form != "function" => {
                let message = format!("`{}` is built into a provider", form.escape_debug());
                let help = "a provider's own tools have no schema and are not evaluated";
                return Err(NotATool { message, help });
            }
            _ => return Err(not("it has no name".to_owned())),
        },
    };
    let key = SCHEMA_KEYS.into_iter().find(|key| tool.contains_key(*key)).unwrap_or("parameters");
    let mut noticed = Vec::new();
    if let Some(form) = form.filter(|form| !["function", "custom"].contains(form)) {
        let form = form.escape_debug();
        let message = format!("its type `{form}` may be a provider's own; taken as a function");
        noticed.push((Severity::Noted, message));
    }
    Ok(Parts {
        name,
        title: None,
        description: tool.get("description"),
        input: (key, tool.get(key)),
        output: ("outputSchema", None),
        hints: Hints::default(),
        foreign: foreign(outer, tool, key),
        noticed,
        raw,
    })
}

/// Every field that has no place in a descriptor; those around `function` under their own names
/// unless the function has the same one.
fn foreign(outer: &Map<String, Value>, tool: &Map<String, Value>, key: &str) -> Map<String, Value> {
    let own = ["name", "description", key];
    let mut foreign = Map::new();
    for (name, value) in outer {
        let wrapper = name == "function" && value.is_object();
        let plain = name == "type" && value == "function";
        if !wrapper && !plain && !own.contains(&name.as_str()) {
            foreign.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in tool {
        let plain = name == "type" && value == "function";
        if !plain && !own.contains(&name.as_str()) {
            foreign.insert(name.clone(), value.clone());
        }
    }
    foreign
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
