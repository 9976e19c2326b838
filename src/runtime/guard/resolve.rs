//! Stage 1: the name is one of this view's, at exactly this version.

use std::sync::Arc;

use serde_json::Value;

use crate::journal::outcome::Unavailability;
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::{Arguments, Proposed};
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

    /// The arguments, where they are JSON, to clear markers and to fill in defaults before they
    /// are validated.
    pub fn args_mut(&mut self) -> Option<&mut Value> {
        match self.arguments_mut() {
            Arguments::Json(value) => Some(value),
            Arguments::Blank | Arguments::Malformed { .. } => None,
        }
    }

    /// The arguments, whatever they are. Only a known mistake changes what is no JSON.
    pub(crate) fn arguments_mut(&mut self) -> &mut Arguments {
        &mut self.proposed.arguments
    }

    /// The call as it was before its name was looked up.
    pub fn into_proposed(self) -> Proposed {
        self.proposed
    }
}

/// The stage with this tool, whatever view it comes from: [`resolve`] answers for the view.
pub(crate) fn with(proposed: Proposed, tool: &Arc<Registered>) -> Resolved {
    Resolved { tool: Arc::clone(tool), proposed }
}

/// Looks the name up in this view and nowhere else.
///
/// # Errors
/// The call as it was, and why it cannot be made.
pub fn resolve(proposed: Proposed, view: &View) -> Result<Resolved, (Proposed, Unavailability)> {
    match view.resolve(&proposed.name) {
        Ok(tool) => Ok(with(proposed, tool)),
        Err(why) => Err((proposed, why)),
    }
}
