//! Walking through a JSON Schema: every subschema, and every property, with its place.

use serde_json::{Map, Value};

use crate::base::document::escape;

/// Deeper than any schema that is read.
const DEPTH: usize = 64;

/// Keywords whose value is a schema.
const ONE: [&str; 10] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is a map of schemas.
const MAPS: [&str; 5] =
    ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// A subschema.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    /// Its JSON pointer from the root.
    pub(super) pointer: String,
    /// The schema.
    pub(super) schema: &'a Value,
    /// The keyword that it stands under; empty at the root.
    pub(super) under: &'a str,
    /// How many objects and lists it is inside of.
    pub(super) depth: usize,
}

/// The schema and everything in it that is a schema, outermost first.
pub(super) fn nodes(schema: &Value) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    visit(Node { pointer: String::new(), schema, under: "", depth: 0 }, &mut found);
    found
}

fn visit<'a>(node: Node<'a>, found: &mut Vec<Node<'a>>) {
    let (pointer, depth) = (node.pointer.clone(), node.depth);
    let map = node.schema.as_object();
    found.push(node);
    let Some(map) = map.filter(|_| pointer.len() < 4_096 && depth < DEPTH) else { return };
    for (key, value) in map {
        let (name, below) = (key.as_str(), format!("{pointer}/{}", escape(key)));
        let deeper =
            matches!(name, "items" | "properties" | "prefixItems" | "additionalProperties");
        let depth = depth + usize::from(deeper);
        let mut child =
            |pointer, schema| visit(Node { pointer, schema, under: name, depth }, found);
        match value {
            Value::Object(_) | Value::Bool(_) if ONE.contains(&name) => child(below, value),
            Value::Array(items) if LISTS.contains(&name) || name == "items" => {
                for (index, item) in items.iter().enumerate() {
                    child(format!("{below}/{index}"), item);
                }
            }
            Value::Object(members) if MAPS.contains(&name) => {
                for (member, schema) in members {
                    child(format!("{below}/{}", escape(member)), schema);
                }
            }
            _ => {}
        }
    }
}

/// A property of an object.
#[derive(Debug, Clone)]
pub(super) struct Property<'a> {
    /// Its JSON pointer from the root.
    pub(super) pointer: String,
    /// Its name.
    pub(super) name: &'a str,
    /// Its schema.
    pub(super) schema: &'a Value,
    /// Whether the object requires it.
    pub(super) required: bool,
}

impl Property<'_> {
    /// What its schema says in words.
    pub(super) fn description(&self) -> &str {
        self.schema.get("description").and_then(Value::as_str).unwrap_or_default()
    }
}

/// The properties of one object, in their order.
pub(super) fn of_object<'a>(pointer: &str, schema: &'a Value) -> Vec<Property<'a>> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let members = schema.get("properties").and_then(Value::as_object);
    let one = |(name, schema): (&'a String, &'a Value)| Property {
        pointer: format!("{pointer}/properties/{}", escape(name)),
        name,
        schema,
        required: is_required(name),
    };
    members.into_iter().flatten().map(one).collect()
}

/// The parameters of a tool.
pub(super) fn parameters(schema: &Value) -> Vec<Property<'_>> {
    of_object("", schema)
}

/// Every property at every depth.
pub(super) fn properties(schema: &Value) -> Vec<Property<'_>> {
    nodes(schema).iter().flat_map(|node| of_object(&node.pointer, node.schema)).collect()
}

/// The types that a schema names: none where it names none.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a schema names this type, alone, in a list, or in one branch of a choice.
pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    types(schema).contains(&name) || branches(schema).any(|branch| types(branch).contains(&name))
}

/// Whether it is a text, and what else it may be besides is null.
pub(super) fn is_text(schema: &Value) -> bool {
    let own = types(schema);
    let all: Vec<&str> = own.into_iter().chain(branches(schema).flat_map(types)).collect();
    all.contains(&"string") && all.iter().all(|name| ["string", "null"].contains(name))
}

/// The branches of `anyOf` and `oneOf`.
pub(super) fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema.get(key).and_then(Value::as_array))
        .flatten()
}

/// The texts that it is one of, by `enum` or `const`, also in its branches.
pub(super) fn constants(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    for schema in std::iter::once(schema).chain(branches(schema)) {
        found.extend(schema.get("enum").and_then(Value::as_array).into_iter().flatten());
        found.extend(schema.get("const"));
    }
    found.into_iter().filter_map(Value::as_str).collect()
}

/// Where a local reference leads.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let rest = reference.strip_prefix('#')?;
    let decoded = rest.replace("%24", "$").replace("%20", " ");
    if decoded.is_empty() || decoded.starts_with('/') {
        return root.pointer(&decoded);
    }
    let named = |node: &Node<'_>| {
        ["$anchor", "$dynamicAnchor"].iter().any(|key| node.schema.get(key) == Some(&rest.into()))
    };
    nodes(root).into_iter().find(named).map(|node| node.schema)
}

/// The object that a schema is once a reference to it is followed.
pub(super) fn followed<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|to| resolve(root, to));
    target.unwrap_or(schema)
}

/// Whether a schema says nothing at all about a value's kind.
pub(super) fn says_nothing(schema: &Map<String, Value>) -> bool {
    const KINDS: [&str; 13] = [
        "type",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "properties",
        "items",
        "not",
        "if",
        "$dynamicRef",
        "$recursiveRef",
    ];
    !KINDS.iter().any(|key| schema.contains_key(*key))
}
