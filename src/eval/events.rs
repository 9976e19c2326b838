//! Events that a case expects in its journal, counted exactly, and how its last turn must end.

use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::availability::Place;
use super::calls::CallFacts;
use super::load_cases::known;
use crate::base::document::escape;
use crate::base::problem::Problem;
use crate::journal::{Entry, Event};
use crate::tool::id::ToolId;
use crate::tool::matcher::Matcher;
use crate::tool::strict::schema_of;

/// An event as a case expects it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedEventEntry {
    /// The event's name.
    pub event: String,
    /// Only events of calls of this tool, as it was asked for or as it ran.
    #[serde(default)]
    pub tool: Option<String>,
    /// Matchers of the event's facts; `a/b` is the fact `b` inside the fact `a`.
    #[serde(default)]
    pub facts: Map<String, Value>,
    /// How many of them there are.
    #[serde(default = "one")]
    pub count: usize,
}

fn one() -> usize {
    1
}

/// How a turn ends, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndName {
    /// With the model's last word.
    FinalText,
    /// At the iteration cap.
    IterationCap,
    /// There was no reply.
    ProviderFault,
    /// Somebody ended it, or its time was up.
    Cancelled,
    /// It went in circles.
    LoopStopped,
}

impl EndName {
    /// The name as written in files and journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::FinalText => "final_text",
            Self::IterationCap => "iteration_cap",
            Self::ProviderFault => "provider_fault",
            Self::Cancelled => "cancelled",
            Self::LoopStopped => "loop_stopped",
        }
    }
}

/// An expected event, ready to be looked for.
#[derive(Debug, Clone)]
pub struct ExpectedEvent {
    /// The event's name.
    pub event: String,
    /// Only events of calls of this tool.
    pub tool: Option<ToolId>,
    /// JSON pointers into its facts, each with what must stand there.
    pub facts: Vec<(String, Matcher)>,
    /// How many of them there are.
    pub count: usize,
}

/// Reads expected events. Names of events, tools and facts must exist: what is misspelled would
/// never be found, and not being found may be what is expected.
pub(super) fn read(
    written: &[ExpectedEventEntry],
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<ExpectedEvent> {
    let mut expected = Vec::new();
    for (index, entry) in written.iter().enumerate() {
        let at = format!("{}/expect/events/{index}", place.at);
        let problem = |key: &str, message| place.document.problem(&format!("{at}/{key}"), message);
        if !Event::NAMES.contains(&entry.event.as_str()) {
            let problem = problem("event", format!("no event `{}`", entry.event));
            problems.push(problem.suggest(&entry.event, Event::NAMES.iter().copied()));
            continue;
        }
        let tool = entry.tool.as_ref().and_then(|name| {
            let id = known(place.registry, name);
            if id.is_none() {
                let ids = place.registry.iter().map(|tool| tool.id().as_str());
                problems.push(problem("tool", format!("no tool `{name}`")).suggest(name, ids));
            }
            id
        });
        let known = facts_of(&entry.event);
        let mut facts = Vec::new();
        for (name, matcher) in &entry.facts {
            let key = format!("facts/{}", escape(name));
            let first = name.split('/').next().unwrap_or_default();
            if !known.contains(&first) {
                let problem = problem(&key, format!("{} has no fact `{first}`", entry.event));
                problems.push(problem.suggest(first, known.iter().copied()));
            }
            match Matcher::parse(matcher) {
                Ok(matcher) => facts.push((format!("/{name}"), matcher)),
                Err(message) => problems.push(problem(&key, message)),
            }
        }
        expected.push(ExpectedEvent {
            event: entry.event.clone(),
            tool,
            facts,
            count: entry.count,
        });
    }
    expected
}

/// The names of an event's facts, from the schema of journals.
fn facts_of(event: &str) -> Vec<&'static str> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema_of::<Event>("events"));
    let branches = SCHEMA.get("oneOf").and_then(Value::as_array);
    let is = |branch: &&Value| {
        branch.pointer("/properties/type/const").and_then(Value::as_str) == Some(event)
    };
    let facts = branches.into_iter().flatten().find(is).and_then(|one| one.get("properties"));
    let names = facts.and_then(Value::as_object).into_iter().flat_map(|facts| facts.keys());
    names.map(String::as_str).filter(|name| *name != "type").collect()
}

/// What is not as expected, in words.
pub(super) fn complaints(
    expected: &[ExpectedEvent],
    entries: &[Entry],
    calls: &[CallFacts],
) -> Vec<String> {
    let mut complaints = Vec::new();
    for one in expected {
        let found = entries.iter().filter(|entry| fits(one, entry, calls)).count();
        if found != one.count {
            let what = told(one);
            complaints.push(format!("{found} of {what} where {} are expected", one.count));
        }
    }
    complaints
}

fn fits(expected: &ExpectedEvent, entry: &Entry, calls: &[CallFacts]) -> bool {
    if entry.event.name() != expected.event {
        return false;
    }
    let is = |tool: &ToolId| {
        let call = entry.call.as_ref();
        let mut own = calls.iter().rev().filter(|facts| Some(&facts.call) == call);
        own.next().is_some_and(|facts| facts.is(tool.as_str()))
    };
    if expected.tool.as_ref().is_some_and(|tool| !is(tool)) {
        return false;
    }
    let facts = match serde_json::to_value(&entry.event) {
        Ok(facts) if !expected.facts.is_empty() => facts,
        _ => return expected.facts.is_empty(),
    };
    expected.facts.iter().all(|(pointer, matcher)| matcher.fits(facts.pointer(pointer)))
}

fn told(expected: &ExpectedEvent) -> String {
    let tool = expected.tool.as_ref().map(|tool| format!(" of {tool}")).unwrap_or_default();
    let facts: Vec<&str> = expected.facts.iter().map(|(name, _)| &name[1..]).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" by {}", facts.join(", ")) };
    format!("{}{tool}{facts}", expected.event)
}

/// How the last turn of a journal ended.
pub(super) fn end(entries: &[Entry]) -> Option<Arc<str>> {
    entries.iter().rev().find_map(|entry| match &entry.event {
        Event::TurnFinished(end) => Some(end.reason.as_str().into()),
        _ => None,
    })
}
