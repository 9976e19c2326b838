//! Cards: one is opened right before its call runs and closed, under the same correlation, when
//! the call has its outcome. How a call ended that never ran is a note.

use serde_json::{Value, json};

use super::fit;
use super::render::{End, Named};

/// Opens a card.
pub(super) fn start(named: &Named, args: Option<&str>, limit: usize) -> String {
    fit::object(&fields("ToolCall", named), args.map(|args| ("arguments", args)), limit)
}

/// Closes a card.
pub(super) fn end(named: &Named, end: &End<'_>, limit: usize) -> String {
    let mut fields = fields("ToolResult", named);
    fields.push(("success", json!(end.success())));
    outcome(fields, end, limit)
}

/// A call that never ran.
pub(super) fn note(named: &Named, end: &End<'_>, limit: usize) -> String {
    outcome(fields("ToolSettled", named), end, limit)
}

fn outcome(mut fields: Vec<(&str, Value)>, end: &End<'_>, limit: usize) -> String {
    fields.push(("outcome", json!(end.outcome.name())));
    fit::object(&fields, end.result.as_deref().map(|text| ("result", text)), limit)
}

fn fields(event: &str, named: &Named) -> Vec<(&'static str, Value)> {
    vec![
        ("event", json!(event)),
        ("correlation", json!(named.correlation.short())),
        ("tool", json!(named.tool)),
    ]
}
