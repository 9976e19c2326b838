//! Spans: an event when a call is about to run and one when it has its outcome. The second
//! repeats whatever the first says of which call it is.

use super::fit::{self, Field};
use super::render::{End, Named};

/// A span's event has at most so many fields beside its long one.
const MOST: usize = 10;

/// The beginning of a span.
pub(super) fn start(named: &Named, args: Option<&str>, limit: usize) -> String {
    let fields = fields("ToolCallStart", named);
    fit::object(&fields, args.map(|args| ("arguments", args)), limit)
}

/// Its end.
pub(super) fn end(named: &Named, end: &End<'_>, limit: usize) -> String {
    let mut fields = fields("ToolCall", named);
    fields.extend(end.duration_ms.map(|millis| ("durationMs", Field::Number(millis))));
    fields.push(("success", Field::Flag(end.success())));
    fields.push(("outcome", Field::Text(end.outcome.name())));
    fit::object(&fields, end.result.as_deref().map(|text| ("result", text)), limit)
}

fn fields<'a>(event: &'a str, named: &'a Named) -> Vec<(&'static str, Field<'a>)> {
    let mut fields = Vec::with_capacity(MOST);
    fields.extend([("event", Field::Text(event)), ("tool", Field::Text(&named.tool))]);
    fields.extend(named.provider_id.as_ref().map(|id| ("toolCallId", Field::Text(id))));
    fields.push(("channel", Field::Text(&named.channel)));
    fields.push(("agent", Field::Text(&named.agent)));
    fields.extend(named.turn.as_ref().map(|turn| ("turn", Field::Text(turn))));
    fields.push(("correlation", Field::Text(&named.short)));
    fields
}
