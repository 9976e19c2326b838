//! Blocked tools: from the block on, a session neither shows them nor lets them start.

use super::index::{Call, Index, Seen, until};
use super::law::{Scene, Tally};
use crate::journal::event::call::*;
use crate::journal::event::catalog::{ToolBlocked, ToolVerified};
use crate::tool::id::ToolId;

/// B, "blocked: it must not be called", at the next step of a turn that runs: after a tool is
/// blocked no request shows it, no delegate is given it, and no call of it starts, nor a further
/// attempt; what had started goes on. A block without a name is a check's and ends with the next
/// verification of the tool. What is activated is for `activation-grants-nothing`.
pub(super) fn blocked_never_runs(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if index.blocked.is_empty() {
        return;
    }
    for view in &index.views {
        let shown = view.fact.exposed.iter().map(|tool| &tool.tool_id);
        offered(index, (view.at, view.seq(), None), (shown, "shown"), tally);
    }
    for child in index.each::<DelegateStarted>() {
        let place = (child.at, child.seq(), child.entry.call.as_deref());
        offered(index, place, (child.fact.tools.iter(), "given to a delegate"), tally);
    }
    for call in &index.calls {
        called(index, call, tally);
    }
}

/// Tools that were offered to somebody, after something was blocked.
fn offered<'a>(
    index: &Index<'a>,
    (at, seq, call): (usize, u64, Option<&str>),
    (tools, how): (impl Iterator<Item = &'a ToolId>, &str),
    tally: &mut Tally,
) {
    if until(&index.blocked, at).is_empty() {
        return;
    }
    tally.checked();
    for tool in tools {
        if let Some(block) = in_force(index, tool.as_str(), at) {
            let message = format!("`{tool}` was blocked and {how}");
            tally.broken(call, &[block.seq(), seq], message);
        }
    }
}

/// A call that was open when its tool was blocked, or came later.
fn called<'a>(index: &Index<'a>, call: &Call<'a>, tally: &mut Tally) {
    let end = call.first::<ToolCallSettled>().map_or(usize::MAX, |settled| settled.at);
    let mut starts = call.each::<ToolCallStarted>().peekable();
    if starts.peek().is_none() {
        let open = named(call).is_some_and(|tool| in_force(index, tool, end).is_some());
        return if open {
            tally.checked()
        };
    }
    for start in starts {
        let Some(tool) = index.tool(call, start) else {
            tally.unknown(|| format!("nothing says which tool {} is of", call.id));
            continue;
        };
        if let Some(block) = in_force(index, tool, start.at) {
            tally.checked();
            let message = format!("`{tool}` was blocked and started");
            tally.broken(Some(call.id), &[block.seq(), start.seq()], message);
        } else if in_force(index, tool, end).is_some() {
            tally.checked();
        }
    }
}

/// What a call that never started is of, as far as that is said.
fn named<'a>(call: &Call<'a>) -> Option<&'a str> {
    let validated = call.last::<ToolArgsValidated>().and_then(|seen| seen.fact.tool_id.as_ref());
    let requested = call.first::<ToolCallRequested>().map(|seen| seen.fact.tool_id.as_str());
    validated.map(ToolId::as_str).or(requested)
}

/// The block of a tool that stands at a place.
fn in_force<'a>(index: &Index<'a>, tool: &str, at: usize) -> Option<Seen<'a, ToolBlocked>> {
    let earlier = until(&index.blocked, at).iter().copied();
    let mut own = earlier.filter(|block| block.fact.tool_id.as_str() == tool);
    own.find(|block| {
        let lifted = |seen: Seen<'_, ToolVerified>| {
            seen.fact.tool_id.as_str() == tool && block.at < seen.at && seen.at < at
        };
        block.fact.by.is_some() || !index.each::<ToolVerified>().any(lifted)
    })
}
