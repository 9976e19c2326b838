//! Schemas that were written elsewhere: used as they are where they compile, repaired where the
//! repair is certain, replaced where nothing else is left.

use serde_json::{Map, Value, json};

use super::Severity;
use crate::tool::schema::CompiledSchema;

/// Deepest nesting that a descriptor file can hold, less the descriptor's own.
pub(super) const MAX_DEPTH: usize = 48;

const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";

/// A schema as it will stand in the descriptor, and what was done to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// The schema; `None` for a result that nothing is said about.
    pub(super) schema: Option<Value>,
    /// What was done: severity, message, what to do.
    pub(super) changes: Vec<Change>,
    /// Whether the original is to be kept beside the descriptor.
    pub(super) keep_original: bool,
}

/// One change to a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

fn change(severity: Severity, message: impl Into<String>) -> Change {
    Change { severity, message: message.into(), help: None }
}

fn open() -> Value {
    json!({"type": "object"})
}

/// The schema of a tool's arguments. `key` is what its source calls it.
pub(super) fn input(original: Option<&Value>, key: &str) -> Shape {
    let replaced = |change: Change| Shape {
        schema: Some(open()),
        changes: vec![change],
        keep_original: original.is_some(),
    };
    let missing = format!("`{key}` is missing; any arguments are accepted");
    match original {
        None => replaced(change(Severity::Repaired, missing)),
        Some(Value::Null) => replaced(change(Severity::Repaired, missing)),
        Some(Value::Bool(true)) => {
            let message = format!("`{key}` is `true`; written as `type: object`");
            replaced(change(Severity::Repaired, message))
        }
        Some(Value::Object(map)) => object_root(map, key),
        Some(other) => replaced(unusable(key, &format!("it is {}", kind(other)))),
    }
}

fn object_root(map: &Map<String, Value>, key: &str) -> Shape {
    let original = Value::Object(map.clone());
    let mut changes = Vec::new();
    let (mut schema, mut keep_original) = match usable(&original) {
        Ok((schema, None)) => (schema, false),
        Ok((schema, Some(how))) => {
            changes.push(change(Severity::Repaired, format!("`{key}` {how}")));
            (schema, true)
        }
        Err(reason) => {
            let changes = vec![unusable(key, &reason)];
            return Shape { schema: Some(open()), changes, keep_original: true };
        }
    };
    let Some(root) = schema.as_object_mut() else {
        let changes = vec![unusable(key, "it is no object")];
        return Shape { schema: Some(open()), changes, keep_original: true };
    };
    match root.get("type") {
        Some(Value::String(name)) if name == "object" => {}
        None => {
            let message = format!("`{key}` does not say `type: object`; added");
            changes.push(change(Severity::Repaired, message));
            root.insert("type".to_owned(), "object".into());
        }
        Some(Value::Array(names)) if names.contains(&"object".into()) => {
            let message = format!("`{key}` allows more than an object; arguments are an object");
            changes.push(change(Severity::Repaired, message));
            keep_original = true;
            root.insert("type".to_owned(), "object".into());
        }
        Some(other) => {
            let reason = format!("its type is {other}, and arguments are always an object");
            changes.push(unusable(key, &reason));
            return Shape { schema: Some(open()), changes, keep_original: true };
        }
    }
    Shape { schema: Some(schema), changes, keep_original }
}

/// The schema of a tool's result.
pub(super) fn output(original: Option<&Value>, key: &str) -> Shape {
    let said = |schema: Option<Value>, changes: Vec<Change>| Shape {
        keep_original: !changes.is_empty(),
        schema,
        changes,
    };
    match original {
        None | Some(Value::Null) => said(None, Vec::new()),
        Some(value @ (Value::Object(_) | Value::Bool(_))) => match usable(value) {
            Ok((schema, None)) => said(Some(schema), Vec::new()),
            Ok((schema, Some(how))) => {
                let message = format!("`{key}` {how}");
                said(Some(schema), vec![change(Severity::Repaired, message)])
            }
            Err(reason) => said(None, vec![unusable_output(key, &reason)]),
        },
        Some(other) => said(None, vec![unusable_output(key, &format!("it is {}", kind(other)))]),
    }
}

fn unusable(key: &str, reason: &str) -> Change {
    let message = format!(
        "`{key}` cannot be used: {reason}. Only this tool is affected: it is kept, it can be \
         chosen, and any arguments are accepted"
    );
    let help = "mend the schema at its source; some clients drop the whole list because of it";
    Change { severity: Severity::Unusable, message, help: Some(help.to_owned()) }
}

fn unusable_output(key: &str, reason: &str) -> Change {
    let message = format!(
        "`{key}` cannot be used: {reason}. Only this tool is affected: it is kept, its \
         arguments are judged, and its results are not"
    );
    let help = "mend the schema at its source; some clients drop the whole list because of it";
    Change { severity: Severity::Unusable, message, help: Some(help.to_owned()) }
}

/// The schema as it compiles, with what had to be done for that, or why it does not.
fn usable(schema: &Value) -> Result<(Value, Option<String>), String> {
    if deeper_than(schema, MAX_DEPTH) {
        return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
    }
    let reason = match CompiledSchema::compile(schema) {
        Ok(_) => return Ok((schema.clone(), None)),
        Err(problem) => match problem.path.as_str() {
            "" => problem.reason,
            path => format!("at `{path}`: {}", problem.reason),
        },
    };
    let Some(map) = schema.as_object() else { return Err(reason) };
    let declared = map.get("$schema");
    let known = declared.and_then(Value::as_str).is_some_and(|text| {
        ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"]
            .iter()
            .any(|draft| text.contains("json-schema.org") && text.contains(draft))
    });
    if known {
        return Err(reason);
    }
    // The dialect is not declared, or it is one that nobody knows: try those in use.
    for dialect in [None, Some(DRAFT_07), Some(DRAFT_04)] {
        let mut map = map.clone();
        match dialect {
            Some(uri) => map.insert("$schema".to_owned(), uri.into()),
            None => map.remove("$schema"),
        };
        let attempt = Value::Object(map);
        if CompiledSchema::compile(&attempt).is_ok() {
            let read_as = dialect
                .map_or("2020-12", |uri| if uri == DRAFT_07 { "draft-07" } else { "draft-04" });
            let how = match declared {
                Some(declared) => {
                    format!("declares the unknown dialect {declared}; read as {read_as}")
                }
                None => format!("declares no dialect and is no 2020-12 schema; read as {read_as}"),
            };
            return Ok((attempt, Some(how)));
        }
    }
    Err(reason)
}

/// What kind of value it is, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether a value is nested more than `levels` deep.
pub(super) fn deeper_than(value: &Value, levels: usize) -> bool {
    let below = |inner: &Value| levels == 0 || deeper_than(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(below),
        Value::Object(map) => map.values().any(below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
