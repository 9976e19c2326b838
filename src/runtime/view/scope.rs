//! The scoped registry: bundle, MCP policy, risk cap and narrowing intersected, less what is
//! excluded or blocked. This is the one place that says so; requests, activation, execution and
//! delegates all follow from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::activation::is_search;
use super::availability::Availability;
use super::block::Blocks;
use super::pattern;
use crate::runtime::catalog::{Registered, Registry};
use crate::tool::id::ToolId;

/// Filter of tools that `excluded_tools` names.
pub const EXCLUDED: &str = "excluded";
/// Filter of MCP tools that the MCP policy does not allow.
pub const MCP: &str = "mcp";
/// Filter of tools above the risk cap.
pub const RISK: &str = "risk";
/// Filter of tools that a narrowing does not name.
pub const NARROWED: &str = "narrowed";

/// Filter of tools that were blocked while the session ran.
pub const BLOCKED: &str = "blocked";

/// Why a tool is kept out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOut {
    /// Which filter, by name.
    pub filter: &'static str,
    /// Why.
    pub reason: String,
}

impl KeptOut {
    pub(super) fn new(filter: &'static str, reason: impl Into<String>) -> Self {
        Self { filter, reason: reason.into() }
    }
}

/// Every registered tool in the order of ids, inside or kept out.
#[derive(Debug, Clone)]
pub struct Scoped<'a> {
    tools: Vec<(&'a Arc<Registered>, Option<KeptOut>)>,
}

impl<'a> Scoped<'a> {
    /// Every registered tool, with the reason of those that are kept out.
    pub fn all(&self) -> impl Iterator<Item = (&'a Arc<Registered>, Option<&KeptOut>)> {
        self.tools.iter().map(|(tool, kept)| (*tool, kept.as_ref()))
    }

    pub(super) fn into_all(self) -> Vec<(&'a Arc<Registered>, Option<KeptOut>)> {
        self.tools
    }

    /// The same less what the session has lost meanwhile; no list has a say in that.
    #[must_use]
    pub fn without(mut self, blocks: &Blocks) -> Self {
        let inside = |(tool, kept): &&mut (&Arc<Registered>, Option<KeptOut>)| {
            kept.is_none() && blocks.holds(tool.id())
        };
        for (_, kept) in self.tools.iter_mut().filter(inside) {
            *kept = Some(KeptOut::new(BLOCKED, "blocked while the session ran"));
        }
        self
    }

    /// The tools inside.
    pub fn tools(&self) -> impl Iterator<Item = &'a Arc<Registered>> {
        self.all().filter(|(_, kept)| kept.is_none()).map(|(tool, _)| tool)
    }

    /// One tool, when it is inside.
    pub fn get(&self, id: &ToolId) -> Option<&'a Arc<Registered>> {
        let index = self.tools.binary_search_by(|(tool, _)| tool.id().cmp(id)).ok()?;
        self.tools.get(index).filter(|(_, kept)| kept.is_none()).map(|(tool, _)| *tool)
    }
}

/// The scoped registry of a run.
pub fn scoped<'a>(
    registry: &'a Registry,
    availability: &Availability,
    excluded: &BTreeSet<ToolId>,
) -> Scoped<'a> {
    let judged = registry.iter().map(|tool| (tool, kept_out(tool, availability, excluded)));
    let mut tools: Vec<_> = judged.collect();
    // A search stands for the deferred tools: no list has to name it beside them.
    let narrowed = |kept: &Option<KeptOut>| kept.as_ref().is_some_and(|k| k.filter == NARROWED);
    let waits = |(tool, kept): &(&Arc<Registered>, Option<KeptOut>)| {
        kept.is_none() && availability.defers(tool)
    };
    if !availability.deferred.is_empty() && tools.iter().any(waits) {
        let searches = tools.iter_mut().filter(|(tool, kept)| is_search(tool) && narrowed(kept));
        searches.for_each(|(_, kept)| *kept = None);
    }
    Scoped { tools }
}

fn kept_out(
    tool: &Registered,
    availability: &Availability,
    excluded: &BTreeSet<ToolId>,
) -> Option<KeptOut> {
    if excluded.contains(tool.id()) {
        return Some(KeptOut::new(EXCLUDED, "named in excluded_tools"));
    }
    if let Some(reason) = availability.mcp.iter().find_map(|policy| policy.refuses(tool)) {
        return Some(KeptOut::new(MCP, reason));
    }
    if let Some(reason) = availability.risk_cap.refuses(tool) {
        return Some(KeptOut::new(RISK, reason));
    }
    let named = availability.narrowing.iter().all(|list| pattern::any(list, tool.id()));
    (!named).then(|| KeptOut::new(NARROWED, "this run is narrowed to other tools"))
}
