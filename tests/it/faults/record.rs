//! What a journal says, in a few words.

use std::sync::Arc;

use proofmark::base::canon;
use proofmark::journal::{Entry, Event, Journal, Outcome};
use serde_json::Value;

/// The calls in the order in which they were asked for.
pub fn called(journal: &Journal) -> Vec<Arc<str>> {
    let requested = |entry: &&Entry| matches!(entry.event, Event::ToolCallRequested(_));
    journal.entries().iter().filter(requested).filter_map(|entry| entry.call.clone()).collect()
}

/// The entries about one call, by its place.
pub fn about(journal: &Journal, place: usize) -> Vec<&Entry> {
    let call = &called(journal)[place];
    journal.entries().iter().filter(|entry| entry.call.as_ref() == Some(call)).collect()
}

/// The events about one call, by name.
pub fn story(journal: &Journal, place: usize) -> Vec<&'static str> {
    about(journal, place).iter().map(|entry| entry.event.name()).collect()
}

/// How every call ended: `NAME OUTCOME`, with what tells it from others of its kind.
pub fn outcomes(journal: &Journal) -> Vec<String> {
    (0..called(journal).len()).map(|place| ended(journal, place)).collect()
}

fn ended(journal: &Journal, place: usize) -> String {
    let (mut name, mut end) = (String::new(), "open".to_owned());
    for entry in about(journal, place) {
        match &entry.event {
            Event::ToolCallRequested(fact) => name.clone_from(&fact.tool_id),
            Event::ToolCallSettled(fact) => end = told(&fact.outcome),
            _ => {}
        }
    }
    format!("{name} {end}")
}

fn told(outcome: &Outcome) -> String {
    let name = outcome.name();
    match outcome {
        Outcome::Failed { fault } => format!("{name}:{}", fault.code),
        Outcome::Rejected { errors } => {
            let at = |error: &proofmark::tool::schema::ArgumentError| match error.path.as_str() {
                "" => error.keyword.clone(),
                path => path.to_owned(),
            };
            format!("{name}:{}", errors.iter().map(at).collect::<Vec<_>>().join(","))
        }
        Outcome::Unavailable { why } => format!("{name}:{}", word(why)),
        Outcome::Denied { by, .. } => format!("{name}:{}", word(by)),
        Outcome::Blocked { by } => format!("{name}:{by}"),
        _ => name.to_owned(),
    }
}

fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap();
    value.as_str().unwrap().to_owned()
}

/// What the model was shown of one call.
pub fn shown(journal: &Journal, place: usize) -> Arc<str> {
    let settled = about(journal, place).into_iter().find_map(|entry| match &entry.event {
        Event::ToolCallSettled(fact) => fact.shown,
        _ => None,
    });
    Arc::clone(journal.blobs().get(&settled.unwrap()).unwrap())
}

/// How often calls of one place started.
pub fn starts(journal: &Journal, place: usize) -> usize {
    story(journal, place).iter().filter(|name| **name == "ToolCallStarted").count()
}

/// Whether a call ran with exactly these arguments, and nothing else.
pub fn ran_with(journal: &Journal, place: usize, args: &Value) {
    let mut digests = about(journal, place).into_iter().filter_map(|entry| match &entry.event {
        Event::ToolCallStarted(fact) => fact.args_digest,
        _ => None,
    });
    let expected = canon::digest("args", args).unwrap();
    assert_eq!(digests.next(), Some(expected), "{args}");
    assert_eq!(digests.next(), None);
}

/// Tools and messages of every request, as the provider got them.
pub fn requests(journal: &Journal) -> Vec<(Arc<str>, Arc<str>)> {
    let text = |name| Arc::clone(journal.blobs().get(name).unwrap());
    let asked = journal.entries().iter().filter_map(|entry| match &entry.event {
        Event::ModelRequested(fact) => Some((text(&fact.tools), text(&fact.messages))),
        _ => None,
    });
    asked.collect()
}

/// How many events have this name.
pub fn count(journal: &Journal, name: &str) -> usize {
    journal.entries().iter().filter(|entry| entry.event.name() == name).count()
}

/// Everything that is recorded, as one text.
pub fn everything(journal: &Journal) -> String {
    let mut out = String::new();
    for entry in journal.entries() {
        out.push_str(&serde_json::to_string(entry).unwrap());
        out.push('\n');
    }
    for (_, text) in journal.blobs().iter() {
        out.push_str(text);
        out.push('\n');
    }
    out
}
