//! One tool, whatever list it came from, to one descriptor.

use serde_json::{Map, Value};

use super::effects::{Guess, Hints, guess};
use super::names::{Assigned, Named, assign, shown};
use super::shape::{self, Shape, deeper_than, kind};
use super::{ImportProblem, Imported, Severity};
use crate::tool::descriptor::{
    Description, Descriptor, FORMAT, Provenance, Schemas, Source, TrustLevel,
};
use crate::tool::id::ToolId;

/// What stands for a description that is not there.
pub(super) const NO_DESCRIPTION: &str = "(no description)";

/// A tool that has a name, taken apart by its source's own names for things.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    pub(super) title: Option<&'a str>,
    pub(super) description: Option<&'a Value>,
    /// The schema of the arguments, and what its source calls it.
    pub(super) input: (&'static str, Option<&'a Value>),
    /// The schema of the result, and what its source calls it.
    pub(super) output: (&'static str, Option<&'a Value>),
    pub(super) hints: Hints,
    /// Every other field.
    pub(super) foreign: Map<String, Value>,
    /// What was noticed while taking it apart.
    pub(super) noticed: Vec<(Severity, String)>,
    /// The whole definition.
    pub(super) raw: &'a Value,
}

/// An element of a list that cannot be a tool, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotATool {
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// What the whole list has in common.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Origin<'a> {
    /// What comes before the dot in every id.
    pub(super) prefix: Option<&'a str>,
    pub(super) source: Source,
    /// The glob of what its tools reach.
    pub(super) area: String,
}

/// Judges each element alone.
pub(super) fn import(origin: &Origin<'_>, tools: &[Result<Parts<'_>, NotATool>]) -> Imported {
    let named: Vec<Named<'_>> =
        tools.iter().flatten().map(|parts| Named { name: parts.name, raw: parts.raw }).collect();
    let mut assigned = assign(origin.prefix, &named).into_iter();
    let mut imported = Imported::default();
    for (index, tool) in tools.iter().enumerate() {
        let parts = match tool {
            Ok(parts) => parts,
            Err(reason) => {
                imported.problems.push(lost(index, reason));
                continue;
            }
        };
        let Some(id) = assigned.next() else { continue };
        let (descriptor, problems) = one(origin, parts, id);
        imported.descriptors.push(descriptor);
        imported.problems.extend(problems);
    }
    imported
}

fn lost(index: usize, reason: &NotATool) -> ImportProblem {
    ImportProblem {
        tool: format!("tool #{}", index + 1),
        severity: Severity::Lost,
        message: format!("{}; the other tools are not affected", reason.message),
        help: Some(reason.help.to_owned()),
    }
}

/// Collects the problems of one tool.
struct Notes {
    id: ToolId,
    problems: Vec<ImportProblem>,
}

impl Notes {
    fn add(&mut self, severity: Severity, message: impl Into<String>, help: Option<String>) {
        let tool = self.id.to_string();
        self.problems.push(ImportProblem { tool, severity, message: message.into(), help });
    }
}

fn one(
    origin: &Origin<'_>,
    parts: &Parts<'_>,
    assigned: Assigned,
) -> (Descriptor, Vec<ImportProblem>) {
    let mut notes = Notes { id: assigned.id.clone(), problems: Vec::new() };
    let mut foreign = parts.foreign.clone();
    if let Some(why) = assigned.why {
        notes.add(Severity::Repaired, why, None);
    }
    for (severity, message) in &parts.noticed {
        notes.add(*severity, message.clone(), None);
    }
    let summary = summary(parts.description, &mut foreign, &mut notes);
    let input = shape::input(parts.input.1, parts.input.0);
    let input_schema = take(input, parts.input, &mut foreign, &mut notes);
    let output = shape::output(parts.output.1, parts.output.0);
    let output_schema = take(output, parts.output, &mut foreign, &mut notes);
    let input_schema = input_schema.unwrap_or_else(|| Schemas::default().input_schema);
    flatten_deep(&mut foreign, &mut notes);
    let Guess { intent, effects, risk, permissions, sandbox, notes: doubts } =
        guess(parts.name, parts.hints, &origin.area);
    for doubt in doubts {
        let help = "read what it does and correct `effects`, `risk` and `permissions`".to_owned();
        notes.add(Severity::Noted, doubt, Some(help));
    }
    let mut descriptor = Descriptor {
        schema: FORMAT.to_owned(),
        tool_id: assigned.id,
        canonical_name: Some(parts.name.to_owned()),
        display_name: parts.title.map(str::to_owned),
        version: None,
        source: origin.source.clone(),
        lifecycle: Default::default(),
        description: Description { summary, ..Description::default() },
        intent,
        schemas: Schemas { input_schema, output_schema, error_schema: None },
        effects,
        risk,
        permissions,
        sandbox,
        credentials: Default::default(),
        context_policy: Default::default(),
        execution: Default::default(),
        hooks: Default::default(),
        observability: Default::default(),
        provenance: Provenance {
            trust_level: TrustLevel::Untrusted,
            foreign,
            ..Provenance::default()
        },
        subagent: None,
    };
    descriptor.intent.domains.extend(origin.prefix.map(str::to_owned));
    descriptor.version = Some(descriptor.content_digest());
    (descriptor, notes.problems)
}

fn summary(
    description: Option<&Value>,
    foreign: &mut Map<String, Value>,
    notes: &mut Notes,
) -> String {
    let message = match description {
        Some(Value::String(text)) if !text.trim().is_empty() => return text.clone(),
        None | Some(Value::Null) => "it has no description".to_owned(),
        Some(Value::String(_)) => "its description is empty".to_owned(),
        Some(other) => format!("its description is {}, not a text", kind(other)),
    };
    if let Some(original) = description {
        foreign.insert("description".to_owned(), original.clone());
    }
    let help = "say in one sentence what it does; a model has nothing else to choose by";
    notes.add(Severity::Repaired, message, Some(help.to_owned()));
    NO_DESCRIPTION.to_owned()
}

/// Notes what was done to a schema and keeps the original where something was replaced.
fn take(
    shape: Shape,
    (key, original): (&'static str, Option<&Value>),
    foreign: &mut Map<String, Value>,
    notes: &mut Notes,
) -> Option<Value> {
    for change in shape.changes {
        notes.add(change.severity, change.message, change.help);
    }
    if let (true, Some(original)) = (shape.keep_original, original) {
        foreign.insert(key.to_owned(), original.clone());
    }
    shape.schema
}

/// A descriptor file cannot hold a value of any depth; its JSON text it can.
fn flatten_deep(foreign: &mut Map<String, Value>, notes: &mut Notes) {
    for (key, value) in foreign.iter_mut() {
        if deeper_than(value, shape::MAX_DEPTH) {
            let message = format!("{} is nested too deep; kept as JSON text", shown(key));
            notes.add(Severity::Noted, message, None);
            *value = Value::String(value.to_string());
        }
    }
}
