//! Whether a suite has what evidence needs: prompts for every tool (seed B invariant 16).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::case::Kind;
use super::load::Suite;
use crate::runtime::view::activation::is_search;

/// Golden prompts a tool should have.
pub const GOLDEN_PER_TOOL: usize = 4;

/// What a suite lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Tools with fewer golden prompts than they should have, and how many they have.
    pub thin: Vec<(Arc<str>, usize)>,
    /// Prompts that a scaffold wrote.
    pub stubs: usize,
    /// Negative prompts.
    pub negatives: usize,
    /// Golden prompts.
    pub golden: usize,
}

/// The tools that a suite measures: all but the search for deferred ones, which nobody's prompt
/// asks for.
pub fn measured(suite: &Suite) -> impl Iterator<Item = Arc<str>> + '_ {
    let tools = suite.registry.iter().filter(|tool| !is_search(tool));
    tools.map(|tool| tool.id().as_str().into())
}

/// Counts prompts by tool; a scaffold's placeholders count for nothing.
pub fn coverage(suite: &Suite) -> Coverage {
    let mut count: BTreeMap<Arc<str>, usize> = measured(suite).map(|tool| (tool, 0)).collect();
    let mut out = Coverage::default();
    for case in &suite.cases {
        if case.is_stub() {
            out.stubs += 1;
            continue;
        }
        if case.kind != Kind::Golden {
            out.negatives += 1;
            continue;
        }
        out.golden += 1;
        let tools: BTreeSet<&Arc<str>> =
            case.expect.alternatives.iter().flatten().map(|call| &call.tool).collect();
        for tool in tools {
            if let Some(count) = count.get_mut(tool) {
                *count += 1;
            }
        }
    }
    out.thin = count.into_iter().filter(|(_, count)| *count < GOLDEN_PER_TOOL).collect();
    out
}
