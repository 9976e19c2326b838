//! Tools that are blocked while a session lives: for the rest of it, and not for one turn.

use std::collections::BTreeSet;

use crate::journal::event::catalog::ToolBlocked;
use crate::runtime::catalog::lifecycle::Hold;
use crate::tool::id::ToolId;

/// The word that blocks a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Which tool.
    pub tool: ToolId,
    /// Why.
    pub reason: String,
    /// Who says so.
    pub by: String,
}

impl Block {
    /// The fact. `clean` takes secrets out of what was said.
    pub fn fact(self, clean: impl Fn(&str) -> String) -> ToolBlocked {
        let reason = Hold::persons(&clean(&self.reason));
        ToolBlocked { tool_id: self.tool, reason, by: Some(clean(&self.by)) }
    }
}

/// Tools that may neither be shown nor started any more, by the session or by its delegates. What
/// runs already is left alone. It only grows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Blocks(BTreeSet<ToolId>);

impl Blocks {
    /// Blocks a tool. Whether it was free before.
    pub fn add(&mut self, tool: ToolId) -> bool {
        self.0.insert(tool)
    }

    /// Whether a tool is blocked.
    pub fn holds(&self, tool: &ToolId) -> bool {
        self.0.contains(tool)
    }

    /// The tools, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &ToolId> {
        self.0.iter()
    }
}

impl Extend<ToolId> for Blocks {
    fn extend<T: IntoIterator<Item = ToolId>>(&mut self, tools: T) {
        self.0.extend(tools);
    }
}
