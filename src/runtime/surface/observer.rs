//! Spans: an event when a call is about to run and one when it has its outcome. The second
//! repeats whatever the first says of which call it is.

use serde_json::{Value, json};

use super::fit;
use super::render::{End, Named};

/// The beginning of a span.
pub(super) fn start(named: &Named, args: Option<&str>, limit: usize) -> String {
    let fields = fields("ToolCallStart", named);
    fit::object(&fields, args.map(|args| ("arguments", args)), limit)
}

/// Its end.
pub(super) fn end(named: &Named, end: &End<'_>, limit: usize) -> String {
    let mut fields = fields("ToolCall", named);
    fields.extend(end.duration_ms.map(|millis| ("durationMs", json!(millis))));
    fields.push(("success", json!(end.success())));
    fields.push(("outcome", json!(end.outcome.name())));
    fit::object(&fields, end.result.as_deref().map(|text| ("result", text)), limit)
}

fn fields(event: &str, named: &Named) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("event", json!(event)), ("tool", json!(named.tool))];
    fields.extend(named.provider_id.as_ref().map(|id| ("toolCallId", json!(id))));
    fields.push(("channel", json!(named.channel)));
    fields.push(("agent", json!(named.agent)));
    fields.extend(named.turn.as_ref().map(|turn| ("turn", json!(turn))));
    fields.push(("correlation", json!(named.correlation.short())));
    fields
}
