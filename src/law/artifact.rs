//! Large outputs and where stored ones come from.

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use crate::journal::Blobs;
use crate::journal::event::call::*;

/// B8, "tool output above threshold must be stored as artifact, not injected fully into context":
/// of a result above the session's limit the model is shown at most the limit, marked as cut
/// (unless the view projects something else than the text), and the full output was stored before
/// the call settled, unless it is not to be logged. Nothing above the limit is ever shown. Only
/// results above the limit count.
pub(super) fn large_output_stored(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let Some(limit) = index.opened.and_then(|opened| opened.max_tool_result_chars) else { return };
    for call in &index.calls {
        let Some(settled) = call.first::<ToolCallSettled>() else { continue };
        let finish = call.first::<ToolCallFinished>();
        let large = finish.filter(|seen| seen.fact.result_chars.is_some_and(|n| n > limit));
        let shown = shown_chars(settled, scene.blobs, limit);
        if shown.is_some_and(|shown| shown > limit) {
            tally.checked();
            let message = format!("more than the limit of {limit} characters is shown");
            tally.broken(Some(call.id), &[settled.seq()], message);
            continue;
        }
        let Some(finish) = large else { continue };
        tally.checked();
        let stored = call.before::<ArtifactPersisted>(settled.at);
        let missing = stored.is_none_or(|stored| stored.fact.bytes == 0);
        let message = if missing && !finish.fact.unlogged {
            "a result above the limit was not stored before its call settled"
        } else if !settled.fact.cut && shows_text(index, call) {
            "a result above the limit is shown as if it were whole"
        } else {
            continue;
        };
        tally.broken(Some(call.id), &[finish.seq(), settled.seq()], message.into());
    }
}

/// The longer of what the event says and what the text is; a text that must fit is not counted.
fn shown_chars(settled: Seen<'_, ToolCallSettled>, blobs: &Blobs, limit: u64) -> Option<u64> {
    let text = settled.fact.shown.as_ref().and_then(|name| blobs.get(name));
    let text = text.filter(|text| text.len() as u64 > limit);
    let counted = text.map(|text| text.chars().count() as u64);
    counted.max(settled.fact.shown_chars)
}

/// Whether the view lets the result's own text return; what never started shows none.
fn shows_text<'a>(index: &Index<'a>, call: &Call<'a>) -> bool {
    let Some(start) = call.first::<ToolCallStarted>() else { return false };
    let tool = index.tool(call, start);
    let view = index.view_of(call);
    let shown = view.and_then(|view| {
        view.fact.exposed.iter().find(|shown| Some(shown.tool_id.as_str()) == tool)
    });
    shown.is_none_or(|shown| shown.projection == "preview" || shown.projection == "full")
}

/// B9, "every artifact must reference source tool_call_id and event_id": each artifact names a
/// call of the session and an entry of that call.
pub(super) fn artifact_provenance(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for artifact in index.each::<ArtifactPersisted>() {
        tally.checked();
        let own = artifact.entry.call.as_deref();
        let named = artifact.fact.tool_call_id.as_deref();
        let id = named.or(own);
        let call = id.and_then(|id| index.call(id));
        let event = artifact.fact.event_id;
        let message = match (call, event) {
            _ if named.is_some() && own.is_some() && named != own => {
                "an artifact names another call than the one it stands under"
            }
            (None, _) => "an artifact names no call",
            (Some(_), None) => "an artifact names no event",
            (Some(call), _) if call.first::<ToolCallRequested>().is_none() => {
                "an artifact names a call that nobody requested"
            }
            (Some(call), Some(event)) if event == artifact.seq() || !call.has_seq(event) => {
                "an artifact names an event that is not of its call"
            }
            (Some(_), Some(_)) => continue,
        };
        tally.broken(id, &[artifact.seq()], message.into());
    }
}
