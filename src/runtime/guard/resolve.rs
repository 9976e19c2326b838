//! Stage 1: the name is one of this view's, at exactly this version.

use std::sync::Arc;

use crate::journal::outcome::Unavailability;
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::Proposed;
use crate::runtime::view::View;

/// A call whose tool is known and exposed.
#[derive(Debug)]
pub struct Resolved {
    proposed: Proposed,
    tool: Arc<Registered>,
}

impl Resolved {
    /// What was proposed.
    pub fn proposed(&self) -> &Proposed {
        &self.proposed
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<Registered> {
        &self.tool
    }
}

/// Looks the name up in this view and nowhere else.
///
/// # Errors
/// The call as it was, and why it cannot be made.
pub fn resolve(proposed: Proposed, view: &View) -> Result<Resolved, (Proposed, Unavailability)> {
    match view.resolve(&proposed.name) {
        Ok(tool) => Ok(Resolved { tool: Arc::clone(tool), proposed }),
        Err(why) => Err((proposed, why)),
    }
}
