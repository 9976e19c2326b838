//! A tool as a linter sees it: as its source wrote it, whatever the source's format.

use serde_json::{Map, Value};

use crate::base::document::escape;
use crate::tool::descriptor::{Descriptor, SourceType};

/// The parts of a tool's definition that findings point at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Its name.
    Name,
    /// What a model is told.
    Description,
    /// The schema of the arguments.
    Input,
    /// The schema of the result.
    Output,
    /// MCP's hints.
    Annotations,
    /// Any other field of a listing.
    Field(String),
    /// A section of a descriptor, by its JSON pointer.
    Section(&'static str),
}

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// What people call it here: the tool id, or the name in a list.
    pub id: String,
    /// The name that its source gives it.
    pub name: String,
    /// The name that people see, where there is one.
    pub title: String,
    /// What a model is told; empty where nothing.
    pub description: String,
    /// Everything else that a model is told beside it.
    pub advice: String,
    /// The schema of the arguments; null where there is none.
    pub input: Value,
    /// The schema of the result.
    pub output: Option<Value>,
    /// MCP's hints, where the tool has them.
    pub annotations: Option<Map<String, Value>>,
    /// Fields of a listing's element that no protocol names.
    pub unknown: Vec<String>,
    /// Whether its source has hints at all.
    pub hinted: bool,
    /// The contract, where one was written.
    pub descriptor: Option<Box<Descriptor>>,
    keys: Keys,
}

/// Where the parts stand in the source, as JSON pointers from the tool's own place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Keys {
    name: String,
    description: String,
    input: String,
    output: String,
    annotations: String,
    field: String,
}

/// Fields of a tool that the protocol revisions name.
const FIELDS: [&str; 9] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "_meta",
    "icons",
    "execution",
];
/// Members of `annotations` that the protocol names.
const HINTS: [&str; 5] =
    ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

impl Subject {
    /// A descriptor. What an import had to replace is judged as it came.
    pub fn of_descriptor(descriptor: &Descriptor) -> Self {
        let foreign = &descriptor.provenance.foreign;
        let mut keys = Keys {
            name: "/toolId".to_owned(),
            description: "/description/summary".to_owned(),
            input: "/schemas/inputSchema".to_owned(),
            output: "/schemas/outputSchema".to_owned(),
            annotations: "/provenance/foreign/annotations".to_owned(),
            field: "/provenance/foreign".to_owned(),
        };
        let mut original = |name: &str, key: fn(&mut Keys) -> &mut String| {
            let value = foreign.get(name)?.clone();
            *key(&mut keys) = format!("/provenance/foreign/{name}");
            Some(value)
        };
        let input = original("inputSchema", |keys| &mut keys.input)
            .unwrap_or_else(|| descriptor.schemas.input_schema.clone());
        let output = original("outputSchema", |keys| &mut keys.output);
        let missing = original("description", |keys| &mut keys.description).is_some();
        let description = &descriptor.description;
        let no_text = missing || description.summary == "(no description)";
        let advice: Vec<&str> = description
            .use_when
            .iter()
            .chain(&description.do_not_use_when)
            .map(String::as_str)
            .collect();
        let mcp = descriptor.source.r#type == SourceType::Mcp;
        let annotations = foreign.get("annotations").and_then(Value::as_object).cloned();
        Self {
            id: descriptor.tool_id.to_string(),
            name: descriptor
                .canonical_name
                .clone()
                .unwrap_or_else(|| descriptor.tool_id.to_string()),
            title: descriptor.display_name.clone().unwrap_or_default(),
            description: if no_text { String::new() } else { description.summary.clone() },
            advice: advice.join("\n"),
            input,
            output: output.or_else(|| descriptor.schemas.output_schema.clone()),
            unknown: if mcp { unknown(foreign, annotations.as_ref()) } else { Vec::new() },
            annotations,
            hinted: mcp,
            descriptor: Some(Box::new(descriptor.clone())),
            keys,
        }
    }

    /// An element of an answer to `tools/list`, or of a list for a model (OpenAI's, Anthropic's).
    /// Total: what is missing is empty.
    pub fn of_element(element: &Value) -> Self {
        let empty = Map::new();
        let (map, prefix) = match element.get("function") {
            Some(Value::Object(inner)) => (inner, "/function"),
            _ => (element.as_object().unwrap_or(&empty), ""),
        };
        let text =
            |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
        let schemas = ["inputSchema", "parameters", "input_schema", "parametersJsonSchema"];
        let input = schemas.into_iter().find(|key| map.contains_key(*key)).unwrap_or(schemas[0]);
        let annotations = map.get("annotations").and_then(Value::as_object).cloned();
        let hinted = prefix.is_empty() && input == schemas[0];
        let key = |name: &str| format!("{prefix}/{name}");
        let name = text("name");
        let annotated = annotations.as_ref().and_then(|map| map.get("title"));
        let title = match text("title") {
            title if title.is_empty() => {
                annotated.and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            title => title,
        };
        Self {
            id: name.clone(),
            name,
            title,
            description: text("description"),
            advice: String::new(),
            input: map.get(input).cloned().unwrap_or_default(),
            output: map.get("outputSchema").filter(|schema| !schema.is_null()).cloned(),
            unknown: if hinted { unknown(map, annotations.as_ref()) } else { Vec::new() },
            annotations,
            hinted,
            descriptor: None,
            keys: Keys {
                name: key("name"),
                description: key("description"),
                input: key(input),
                output: key("outputSchema"),
                annotations: key("annotations"),
                field: prefix.to_owned(),
            },
        }
    }

    /// Where a part stands in its source, as a JSON pointer from the tool's own place.
    pub fn pointer(&self, part: &Part, inside: &str) -> String {
        let base = match part {
            Part::Name => self.keys.name.clone(),
            Part::Description => self.keys.description.clone(),
            Part::Input => self.keys.input.clone(),
            Part::Output => self.keys.output.clone(),
            Part::Annotations => self.keys.annotations.clone(),
            Part::Field(name) => {
                let path: Vec<String> = name.split('/').map(escape).collect();
                format!("{}/{}", self.keys.field, path.join("/"))
            }
            Part::Section(pointer) => (*pointer).to_owned(),
        };
        base + inside
    }

    /// One of MCP's hints.
    pub(super) fn hint(&self, name: &str) -> Option<bool> {
        self.annotations.as_ref()?.get(name)?.as_bool()
    }

    /// Everything that a model is told in words about the tool as a whole.
    pub(super) fn told(&self) -> String {
        format!("{}\n{}", self.description, self.advice)
    }
}

fn unknown(fields: &Map<String, Value>, annotations: Option<&Map<String, Value>>) -> Vec<String> {
    let own = fields.keys().filter(|key| !FIELDS.contains(&key.as_str())).cloned();
    let inner = annotations.into_iter().flat_map(Map::keys);
    let inner = inner.filter(|key| !HINTS.contains(&key.as_str()));
    own.chain(inner.map(|key| format!("annotations/{key}"))).collect()
}

/// The tools that one source offers together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// Its tools, in their order.
    pub tools: Vec<Subject>,
}

impl Server {
    /// Whether a tool of this name is offered.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name || tool.id == name)
    }
}
