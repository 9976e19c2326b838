//! A violation in prose, with the entries that show it.

use std::fmt::Write as _;

use super::law::Violation;
use super::registry::find;
use crate::journal::{Entry, Event};

/// A few lines: what the law says, what was seen, and the witnessing entries in order. Only closed
/// words of the entries are shown (statuses, decisions, outcomes, names of tools), never free
/// text, so that an explanation cannot repeat a leak.
pub fn explain(violation: &Violation, entries: &[Entry]) -> String {
    let mut out = format!("`{}` is broken", violation.law);
    if let Some(law) = find(violation.law) {
        let _ = write!(out, " ({}: {})", law.source, law.title);
    }
    let place = match &violation.call {
        Some(call) => format!("call {call} of session {}", violation.session),
        None => format!("session {}", violation.session),
    };
    let _ = writeln!(out, ".\nIn {place}: {}.", violation.message);
    let shown = entries.iter().filter(|entry| {
        entry.session == violation.session && violation.events.contains(&entry.seq)
    });
    for entry in shown {
        let call = entry.call.as_deref().map(|call| format!(" {call}")).unwrap_or_default();
        let _ = writeln!(out, "  #{}{call} {}", entry.seq, phrase(&entry.event));
    }
    out
}

fn phrase(event: &Event) -> String {
    let name = event.name();
    let detail = match event {
        Event::ToolVerified(fact) => format!("{} {}", fact.tool_id, fact.tool_version.short()),
        Event::ToolBlocked(fact) => fact.tool_id.to_string(),
        Event::ViewCompiled(fact) => {
            format!("{} shown, {} withheld", fact.exposed.len(), fact.withheld.len())
        }
        Event::ToolArgsValidated(fact) => word(&fact.status),
        Event::ToolPolicyChecked(fact) => word(&fact.decision),
        Event::ApprovalRequested(fact) => {
            format!("{}{}", strength(fact.strong), fact.call_digest.short())
        }
        Event::ApprovalGranted(fact) => {
            format!("{}{}", strength(fact.strong), fact.call_digest.short())
        }
        Event::ToolCallStarted(fact) => {
            let tool = fact.tool_id.as_ref().map(ToString::to_string);
            let version = fact.tool_version.map(|version| version.short());
            [tool, version].into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        Event::ToolCallFinished(fact) => match fact.result_chars {
            Some(chars) => format!("{}, {chars} characters", word(&fact.status)),
            None => word(&fact.status),
        },
        Event::ToolResultValidated(fact) => word(&fact.status),
        Event::ArtifactPersisted(fact) => match fact.event_id {
            Some(event) => format!("{} bytes from #{event}", fact.bytes),
            None => format!("{} bytes", fact.bytes),
        },
        Event::ReceiptIssued(fact) => format!("for result {}", fact.result_digest.short()),
        Event::ToolCallSettled(fact) => match fact.shown_chars {
            Some(chars) => format!("{}, {chars} characters shown", fact.outcome.name()),
            None => fact.outcome.name().into(),
        },
        Event::BatchOpened(fact) => format!("{} slots", fact.slots.len()),
        Event::DispatchPlanned(fact) => {
            format!("{}, {} calls", word(&fact.mode), fact.calls.len())
        }
        Event::AttemptFailed(fact) => format!("attempt {}", fact.attempt),
        Event::TurnFinished(fact) => word(&fact.reason),
        _ => String::new(),
    };
    if detail.is_empty() { name.into() } else { format!("{name}: {detail}") }
}

fn strength(strong: bool) -> &'static str {
    if strong { "strong, " } else { "" }
}

/// A status or a decision, unless a foreign writer put a text there.
fn word(text: &str) -> String {
    let closed = text.len() <= 16 && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    if closed { text.into() } else { "(a text)".into() }
}
