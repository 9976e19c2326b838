//! The tools of an MCP server, as `tools/list` gives them.
//!
//! A descriptor made here is good for evaluations: it is `verified` and untrusted. Whether its
//! server is called is for the evaluation to say; where it does not, calls are simulated and
//! reported as such. To use the tool outside evaluations a person reviews its effects, which are
//! guesses, and writes `enabled`.

use serde_json::{Map, Value, json};

use super::effects::Hints;
use super::normalize::{self, NotATool, Origin, Parts};
use super::shape::kind;
pub use super::{ImportProblem, Imported, ServerName, Severity};
use crate::base::canon;
use crate::base::digest::Digest;
use crate::tool::descriptor::{Descriptor, Source, SourceType};

/// Judges each tool alone. Total: every element of `tools` gives a descriptor or a problem that
/// names it by its place in the list. What has no place in a descriptor is kept unchanged under
/// `provenance.foreign`, and so is every schema that had to be replaced.
pub fn import(server: &ServerName, tools: &[Value]) -> Imported {
    let origin = Origin {
        prefix: Some(server.as_str()),
        source: Source {
            r#type: SourceType::Mcp,
            source_id: format!("mcp:{server}"),
            server_id: Some(server.to_string()),
            ..Source::default()
        },
        area: format!("mcp:{server}/**"),
    };
    let parts: Vec<Result<Parts<'_>, NotATool>> = tools.iter().map(take_apart).collect();
    let mut imported = normalize::import(&origin, &parts);
    for descriptor in &mut imported.descriptors {
        descriptor.execution.adapter = "mcp".to_owned();
        descriptor.version = Some(descriptor.content_digest());
    }
    imported
}

/// The same for descriptors that are kept: each remembers what its server says of the tool, so that
/// it stays the same tool when a person writes another description for the model.
#[must_use]
pub fn pinned(mut imported: Imported) -> Imported {
    for descriptor in &mut imported.descriptors {
        descriptor.provenance.definition = Some(definition(descriptor));
        descriptor.version = Some(descriptor.content_digest());
    }
    imported
}

/// What a server says of a tool, and nothing that was added or written anew here: a tool whose
/// definition changed is another one (a "rug pull"), whatever its name.
pub fn definition(descriptor: &Descriptor) -> Digest {
    if let Some(pinned) = descriptor.provenance.definition {
        return pinned;
    }
    let said = json!({
        "name": descriptor.canonical_name,
        "title": descriptor.display_name,
        "description": descriptor.description.summary,
        "inputSchema": descriptor.schemas.input_schema,
        "outputSchema": descriptor.schemas.output_schema,
        "foreign": descriptor.provenance.foreign,
    });
    canon::content_digest("mcp-definition", &said)
}

fn take_apart(raw: &Value) -> Result<Parts<'_>, NotATool> {
    let help = "mend it at the server; clients drop such a tool, and some drop the whole list";
    let not = |message: String| NotATool { message, help };
    let Some(tool) = raw.as_object() else {
        return Err(not(format!("it is {}, not an object", kind(raw))));
    };
    let name = match tool.get("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::String(_)) => return Err(not("its name is empty".to_owned())),
        Some(other) => return Err(not(format!("its name is {}, not a text", kind(other)))),
        None => return Err(not("it has no name".to_owned())),
    };
    let own = ["name", "description", "inputSchema", "outputSchema"];
    let foreign: Map<String, Value> = tool
        .iter()
        .filter(|(key, _)| !own.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut noticed = Vec::new();
    let annotations = match tool.get("annotations") {
        Some(Value::Object(annotations)) => Some(annotations),
        None | Some(Value::Null) => None,
        Some(other) => {
            let message = format!("its annotations are {}, not an object; ignored", kind(other));
            noticed.push((Severity::Noted, message));
            None
        }
    };
    let hints = annotations.map(|map| hints(map, &mut noticed)).unwrap_or_default();
    let annotated = annotations.and_then(|map| map.get("title"));
    let titles = [tool.get("title"), annotated];
    let title = titles.into_iter().flatten().filter_map(Value::as_str);
    Ok(Parts {
        name,
        title: title.into_iter().find(|title| !title.trim().is_empty()),
        description: tool.get("description"),
        input: ("inputSchema", tool.get("inputSchema")),
        output: ("outputSchema", tool.get("outputSchema")),
        hints,
        foreign,
        noticed,
        raw,
    })
}

fn hints(annotations: &Map<String, Value>, noticed: &mut Vec<(Severity, String)>) -> Hints {
    let mut hint = |name: &str| match annotations.get(name) {
        Some(Value::Bool(value)) => Some(*value),
        None | Some(Value::Null) => None,
        Some(other) => {
            let message = format!("its {name} is {}, not a boolean; ignored", kind(other));
            noticed.push((Severity::Noted, message));
            None
        }
    };
    Hints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
