//! Cards: one is opened right before its call runs and closed, under the same correlation, when
//! the call has its outcome. How a call ended that never ran is a note.

use super::fit::{self, Field};
use super::render::{End, Named};

/// Opens a card.
pub(super) fn start(named: &Named, args: Option<&str>, limit: usize) -> String {
    fit::object(&fields("ToolCall", named), args.map(|args| ("arguments", args)), limit)
}

/// Closes a card.
pub(super) fn end(named: &Named, end: &End<'_>, limit: usize) -> String {
    let mut fields = fields("ToolResult", named);
    fields.push(("success", Field::Flag(end.success())));
    outcome(fields, end, limit)
}

/// A call that never ran.
pub(super) fn note(named: &Named, end: &End<'_>, limit: usize) -> String {
    outcome(fields("ToolSettled", named), end, limit)
}

fn outcome<'a>(
    mut fields: Vec<(&'static str, Field<'a>)>,
    end: &'a End<'_>,
    limit: usize,
) -> String {
    fields.push(("outcome", Field::Text(end.outcome.name())));
    fit::object(&fields, end.result.as_deref().map(|text| ("result", text)), limit)
}

fn fields<'a>(event: &'a str, named: &'a Named) -> Vec<(&'static str, Field<'a>)> {
    vec![
        ("event", Field::Text(event)),
        ("correlation", Field::Text(&named.short)),
        ("tool", Field::Text(&named.tool)),
    ]
}
