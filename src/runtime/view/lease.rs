//! A compiled view: a lease on names, valid for one request.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::journal::event::turn::{ExposedTool, WithheldTool};
use crate::journal::outcome::Unavailability;
use crate::runtime::catalog::Registered;

/// One exposed tool.
#[derive(Debug, Clone)]
pub struct Lease {
    /// The tool.
    pub tool: Arc<Registered>,
    /// The name this request advertises.
    pub name: String,
}

/// The tools one request may see, best rank first, and those withheld.
#[derive(Debug, Clone)]
pub struct View {
    /// Digest of the content.
    pub digest: Digest,
    /// What is exposed.
    pub leases: Vec<Lease>,
    /// The same as journal facts.
    pub exposed: Arc<[ExposedTool]>,
    /// What is withheld, as journal facts.
    pub withheld: Arc<[WithheldTool]>,
    /// The advertised names, in order.
    pub advertised: Arc<[String]>,
    pub(super) names: BTreeMap<String, Result<usize, Unavailability>>,
}

impl View {
    /// Looks a name up as the model spelled it: the advertised name or the tool's id.
    ///
    /// # Errors
    /// Why it cannot be called. The text for the model never says which of these it is.
    pub fn resolve(&self, name: &str) -> Result<&Arc<Registered>, Unavailability> {
        match self.names.get(name) {
            Some(Ok(index)) => {
                self.leases.get(*index).map(|lease| &lease.tool).ok_or(Unavailability::Unknown)
            }
            Some(Err(why)) => Err(*why),
            None => Err(Unavailability::Unknown),
        }
    }
}
