//! Which of its parent's tools a delegate gets.

use super::compile::ARRANGING;
use super::lease::View;
use super::pattern::{self, Pattern};
use crate::runtime::catalog::Registered;
use crate::tool::descriptor::ToolCeiling;
use crate::tool::id::ToolId;

/// The tools of a view that the list of a delegating tool names, sorted: never one that the view
/// does not show, or, where the tool says so, that more than the arrangement of the view keeps out.
/// The delegating tool itself is among them only where the list names it exactly: no `*` stands for
/// it.
pub fn delegated(delegating: &Registered, view: &View) -> Vec<ToolId> {
    let Some(subagent) = &delegating.descriptor.subagent else { return Vec::new() };
    let allowed: Vec<Pattern> = subagent.allowed_tools.iter().map(|t| Pattern::new(t)).collect();
    let itself = allowed.contains(&Pattern::from(delegating.id()));
    let shown = view.leases.iter().map(|lease| lease.tool.id());
    let scoped = subagent.tool_ceiling == ToolCeiling::Scoped;
    let arranged = view.withheld.iter().filter(|held| ARRANGING.contains(&&*held.filter) && scoped);
    let mut tools: Vec<ToolId> = shown
        .chain(arranged.map(|held| &held.tool_id))
        .filter(|id| pattern::any(&allowed, id) && (itself || *id != delegating.id()))
        .cloned()
        .collect();
    tools.sort();
    tools
}
