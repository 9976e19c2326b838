//! Bad wiring, for the operator. What a model, tool or server does wrong is an outcome instead.

use crate::tool::id::ToolId;
use crate::tool::schema::SchemaProblem;

/// Why a runtime cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A descriptor's schema does not compile.
    #[error("tool `{tool}`: {problem}")]
    Schema {
        /// Which tool.
        tool: ToolId,
        /// What the compiler said.
        problem: SchemaProblem,
    },
    /// Two descriptors share an id.
    #[error("tool `{tool}` is registered twice; ids must be unique")]
    DuplicateTool {
        /// Which tool.
        tool: ToolId,
    },
    /// A descriptor names an adapter that does not exist.
    #[error("tool `{tool}`: unknown adapter `{adapter}`; known: {known}")]
    UnknownAdapter {
        /// Which tool.
        tool: ToolId,
        /// The adapter it names.
        adapter: String,
        /// Those that exist.
        known: String,
    },
}
