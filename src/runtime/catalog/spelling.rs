//! One descriptor, many spellings (seed B, principle 6): as a tool of MCP, as a command line, as a
//! skill. The canonical descriptor is the fact; a spelling is made of it, and what a spelling has
//! no place for is named: [`losses`] of a round trip.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::tool::descriptor::Descriptor;

/// As an element of `tools/list` (MCP 2025-11-25). Annotations follow from effects and risk.
pub fn mcp(descriptor: &Descriptor) -> Value {
    let effects = &descriptor.effects;
    let writes = effects.mutates_state || !effects.writes.is_empty() || !effects.deletes.is_empty();
    let mut tool = json!({
        "name": descriptor.canonical_name.as_deref().unwrap_or(descriptor.tool_id.as_str()),
        "description": descriptor.description.summary,
        "inputSchema": descriptor.schemas.input_schema,
        "annotations": {
            "readOnlyHint": !writes,
            "destructiveHint": descriptor.risk.destructive || !effects.deletes.is_empty(),
            "idempotentHint": effects.idempotent,
            "openWorldHint": effects.external_calls || descriptor.risk.open_world,
        },
    });
    let more = [
        ("title", descriptor.display_name.clone().map(Value::String)),
        ("outputSchema", descriptor.schemas.output_schema.clone()),
    ];
    if let Some(map) = tool.as_object_mut() {
        map.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    tool
}

/// As a `SKILL.md` that teaches when and how the tool is called. It grants nothing.
pub fn skill(descriptor: &Descriptor) -> String {
    let name = skill_name(descriptor.tool_id.as_str());
    // A JSON text is a YAML text, whatever stands in it.
    let description: String = descriptor.description.summary.chars().take(1024).collect();
    let mut out =
        format!("---\nname: {name}\ndescription: {}\n---\n\n", Value::String(description));
    out.push_str(&format!("Call the tool `{}`.\n", descriptor.tool_id));
    for (title, lines) in [
        ("Use it when", &descriptor.description.use_when),
        ("Do not use it when", &descriptor.description.do_not_use_when),
    ] {
        if !lines.is_empty() {
            out.push_str(&format!("\n## {title}\n\n"));
            lines.iter().for_each(|line| out.push_str(&format!("- {line}\n")));
        }
    }
    let schema = &descriptor.schemas.input_schema;
    out.push_str(&format!("\n## Arguments\n\n```json\n{schema:#}\n```\n"));
    out
}

/// A tool's id as a skill may be called: lower case, digits, single hyphens.
pub fn skill_name(id: &str) -> String {
    let mut out = String::new();
    for c in id.chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.truncate(64);
    out.trim_end_matches('-').to_owned()
}

/// As a command line: the synopsis, one option for each parameter.
pub fn synopsis(descriptor: &Descriptor) -> String {
    let required = required(&descriptor.schemas.input_schema);
    let mut out = descriptor.tool_id.to_string();
    for (name, schema) in properties(&descriptor.schemas.input_schema) {
        let option = match Kind::of(schema) {
            Kind::Text => format!("--{name} TEXT"),
            Kind::Switch => format!("--{name}[=false]"),
            Kind::Texts => format!("--{name} TEXT ..."),
            Kind::Json => format!("--{name} JSON"),
        };
        match required.contains(name.as_str()) {
            true => out.push_str(&format!(" {option}")),
            false => out.push_str(&format!(" [{option}]")),
        }
    }
    out
}

/// The words of a command line for arguments: `--name=value` each, so that no value is taken for an
/// option. `None` where the arguments are no object.
pub fn command_line(descriptor: &Descriptor, args: &Value) -> Option<Vec<String>> {
    let known: Map<String, Value> = properties(&descriptor.schemas.input_schema)
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    let mut words = vec![descriptor.tool_id.to_string()];
    for (name, value) in args.as_object()? {
        let kind = known.get(name).map_or(Kind::Json, Kind::of);
        match (kind, value) {
            (Kind::Text, Value::String(text)) => words.push(format!("--{name}={text}")),
            (Kind::Switch, Value::Bool(true)) => words.push(format!("--{name}")),
            (Kind::Switch, Value::Bool(false)) => words.push(format!("--{name}=false")),
            (Kind::Texts, Value::Array(items))
                if !items.is_empty() && items.iter().all(Value::is_string) =>
            {
                let texts = items.iter().filter_map(Value::as_str);
                words.extend(texts.map(|text| format!("--{name}={text}")));
            }
            // What the option's own form has no words for is JSON behind a colon.
            (_, value) => words.push(format!("--{name}:={value}")),
        }
    }
    Some(words)
}

/// The arguments of a command line.
///
/// # Errors
/// The word that is none of its options.
pub fn read_command_line(descriptor: &Descriptor, words: &[String]) -> Result<Value, String> {
    let known: Map<String, Value> = properties(&descriptor.schemas.input_schema)
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    let mut args = Map::new();
    for word in words.iter().skip(1) {
        let bad = || format!("`{word}` is no option of {}", descriptor.tool_id);
        let option = word.strip_prefix("--").ok_or_else(bad)?;
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if let Some(name) = name.strip_suffix(':') {
            let value = serde_json::from_str(value.unwrap_or_default()).map_err(|_| bad())?;
            args.insert(name.to_owned(), value);
            continue;
        }
        let kind = known.get(name).map(Kind::of).ok_or_else(bad)?;
        let value = match (kind, value) {
            (Kind::Text, Some(text)) => Value::String(text.to_owned()),
            (Kind::Switch, None | Some("true")) => Value::Bool(true),
            (Kind::Switch, Some("false")) => Value::Bool(false),
            (Kind::Texts, Some(text)) => {
                let mut items = match args.remove(name) {
                    Some(Value::Array(items)) => items,
                    _ => Vec::new(),
                };
                items.push(Value::String(text.to_owned()));
                Value::Array(items)
            }
            _ => return Err(bad()),
        };
        args.insert(name.to_owned(), value);
    }
    Ok(Value::Object(args))
}

/// Which fields of a descriptor a round trip lost or changed, as JSON Pointers, without the version
/// that follows from the rest.
pub fn losses(original: &Descriptor, back: &Descriptor) -> BTreeSet<String> {
    let value = |one: &Descriptor| serde_json::to_value(one).unwrap_or_default();
    let mut found = BTreeSet::new();
    differ(&value(original), &value(back), "", &mut found);
    found.remove("/version");
    found
}

fn differ(one: &Value, other: &Value, at: &str, found: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if at.matches('/').count() < 2 => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let none = Value::Null;
                let pair = (one.get(key).unwrap_or(&none), other.get(key).unwrap_or(&none));
                differ(pair.0, pair.1, &format!("{at}/{key}"), found);
            }
        }
        _ if one == other => {}
        _ => drop(found.insert(at.to_owned())),
    }
}

/// How an option is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Switch,
    Texts,
    Json,
}

impl Kind {
    fn of(schema: &Value) -> Self {
        let kind = |schema: &Value| schema.get("type").and_then(Value::as_str).map(str::to_owned);
        match kind(schema).as_deref() {
            Some("string") => Self::Text,
            Some("boolean") => Self::Switch,
            Some("array")
                if schema.get("items").and_then(kind).is_some_and(|items| items == "string") =>
            {
                Self::Texts
            }
            _ => Self::Json,
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn required(schema: &Value) -> BTreeSet<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
#[path = "spelling_tests.rs"]
mod tests;
