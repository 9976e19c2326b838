//! Blocks that come too early for what follows them.

use super::*;
use crate::journal::event::catalog::ToolBlocked;

type Maybe = Option<Altered>;

/// A tool is blocked at a place; none that a search finds afterwards, for that is another mistake.
fn blocked(record: &Record<'_>, at: usize, tool: &ToolId) -> Maybe {
    if found(record, at, usize::MAX, tool) {
        return None;
    }
    let (tool_id, reason) = (tool.clone(), "its definition changed".into());
    record.insert(at, false, ToolBlocked { tool_id, reason, by: Some("nobody".into()) })
}

fn found(record: &Record<'_>, from: usize, to: usize, tool: &ToolId) -> bool {
    let mut all = record.in_session::<ToolActivated>(from);
    all.any(|(at, fact)| from <= at && at < to && fact.tool_id == *tool)
}

/// The tool of a start, of those of the session that may be blocked.
fn starts<'a>(record: &Record<'a>, attempt: usize) -> impl Iterator<Item = (usize, &'a ToolId)> {
    record.each::<ToolCallStarted>().filter_map(move |(at, fact)| {
        let own = record.of_call::<ToolCallStarted>(at).position(|(place, _)| place == at)?;
        Some((at, record.started_tool(at, fact)?)).filter(|_| own == attempt)
    })
}

pub(super) fn before_start(record: &Record<'_>) -> Maybe {
    starts(record, 0).find_map(|(at, tool)| blocked(record, at, tool))
}

pub(super) fn before_retry(record: &Record<'_>) -> Maybe {
    starts(record, 1).find_map(|(at, tool)| blocked(record, at, tool))
}

pub(super) fn before_view(record: &Record<'_>) -> Maybe {
    let mut views = record.each::<ViewCompiled>();
    views.find_map(|(at, view)| blocked(record, at, &view.exposed.last()?.tool_id))
}

pub(super) fn before_delegate(record: &Record<'_>) -> Maybe {
    let mut begun = record.each::<DelegateStarted>();
    begun.find_map(|(at, fact)| blocked(record, at, fact.tools.first()?))
}

pub(super) fn advance(record: &Record<'_>) -> Maybe {
    let (block, start) = record.each::<ToolBlocked>().find_map(|(at, fact)| {
        let ran = |(place, start): &At<'_, ToolCallStarted>| {
            *place < at && start.tool_id.as_ref() == Some(&fact.tool_id)
        };
        let (start, _) = record.in_session::<ToolCallStarted>(at).find(ran)?;
        (!found(record, start, at, &fact.tool_id)).then_some((at, start))
    })?;
    record.shift(block, start)
}
