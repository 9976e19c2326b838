//! What a view keeps away is neither shown nor run.

use super::index::{Index, Seen};
use super::law::{Scene, Tally};
use crate::journal::event::call::ToolCallStarted;
use crate::journal::event::turn::*;
use crate::tool::id::ToolId;

/// A, "excluded tools are absent from the request and refused at execution": a request advertises
/// exactly the names of its view, none of them excluded; and no call starts a tool that the
/// session excludes or that the view of its request withheld.
pub(super) fn withheld_not_run(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let excluded = index.opened.map_or(&[][..], |opened| &opened.excluded_tools);
    for request in index.each::<ModelRequested>() {
        advertised(index, request, excluded, tally);
    }
    for call in &index.calls {
        let Some(start) = call.first::<ToolCallStarted>() else { continue };
        let Some(tool) = index.tool(call, start) else { continue };
        let view = index.view_of(call);
        let withholds = view.is_some_and(|view| !view.fact.withheld.is_empty());
        if excluded.is_empty() && !withholds {
            continue;
        }
        tally.checked();
        let kept = view.filter(|view| withheld(view.fact, tool));
        let opened = index.each::<SessionOpened>().next().map(|seen| seen.seq());
        if names(excluded, tool) {
            let events: Vec<u64> = opened.into_iter().chain([start.seq()]).collect();
            tally.broken(Some(call.id), &events, format!("`{tool}` is excluded and started"));
        } else if let Some(view) = kept {
            let message = format!("`{tool}` was withheld from its view and started");
            tally.broken(Some(call.id), &[view.seq(), start.seq()], message);
        }
    }
}

fn names(excluded: &[ToolId], tool: &str) -> bool {
    excluded.iter().any(|id| id.as_str() == tool)
}

/// Withheld and not shown under another version at the same time.
fn withheld(view: &ViewCompiled, tool: &str) -> bool {
    view.withheld.iter().any(|kept| kept.tool_id.as_str() == tool)
        && !view.exposed.iter().any(|shown| shown.tool_id.as_str() == tool)
}

fn advertised(
    index: &Index<'_>,
    request: Seen<'_, ModelRequested>,
    excluded: &[ToolId],
    tally: &mut Tally,
) {
    let Some(view) = index.view(request.at) else { return };
    let (said, shown) = (&request.fact.advertised, &view.fact.exposed);
    if said.is_empty() {
        return;
    }
    tally.checked();
    let events = [view.seq(), request.seq()];
    let banned = shown.iter().find(|tool| names(excluded, tool.tool_id.as_str()));
    let said_banned = said.iter().find(|name| names(excluded, name));
    if let Some(name) = banned.map(|tool| tool.name.as_str()).or(said_banned.map(String::as_str)) {
        tally.broken(None, &events, format!("`{name}` is excluded and advertised"));
    }
    if said.len() == shown.len() && said.iter().zip(shown.iter()).all(|(a, b)| *a == b.name) {
        return;
    }
    let extra = said.iter().find(|name| !shown.iter().any(|tool| tool.name == **name));
    let lost = shown.iter().find(|tool| !said.contains(&tool.name));
    let message = match (extra, lost) {
        (Some(name), _) => format!("`{name}` is advertised and not in the view"),
        (None, Some(tool)) => format!("`{}` is in the view and not advertised", tool.name),
        (None, None) if said.len() != shown.len() => "a name is advertised twice".into(),
        (None, None) => return,
    };
    tally.broken(None, &events, message);
}
