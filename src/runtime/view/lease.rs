//! A compiled view: a lease on names, valid for one request.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::activation::ActivatedSet;
use crate::base::digest::Digest;
use crate::base::problem::nearest;
use crate::journal::event::turn::{ExposedTool, WithheldTool};
use crate::journal::outcome::Unavailability;
use crate::runtime::catalog::Registered;
use crate::tool::id::ToolId;

/// A tool under the name it has in a request.
#[derive(Debug, Clone)]
pub struct Lease {
    /// The tool.
    pub tool: Arc<Registered>,
    /// The name that is advertised for it.
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
    /// Tools that only wait for a search, in the order of ids. They are withheld.
    pub waiting: Arc<[Lease]>,
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

    /// The tool behind a name, when it only waits for a search.
    pub fn waits(&self, name: &str) -> Option<&Lease> {
        let named = |lease: &&Lease| lease.name == name || lease.tool.id().as_str() == name;
        self.waiting.iter().find(named)
    }

    /// The same, in which only these of the deferred tools wait.
    #[must_use]
    pub fn waiting_for(&self, free: impl Fn(&ToolId) -> bool) -> Self {
        let waiting = self.waiting.iter().filter(|lease| free(lease.tool.id())).cloned();
        Self { waiting: waiting.collect(), ..self.clone() }
    }

    /// What the model is told of a name that cannot be called. It is the same text for all
    /// causes, but for a tool that a search has activated since the view was compiled. A close
    /// name is named only where it is one of this request.
    pub fn refusal(&self, name: &str, activated: &ActivatedSet) -> String {
        match self.waits(name) {
            Some(lease) if activated.contains(lease.tool.id()) => {
                return format!("`{name}` can be called only since this reply; call it again");
            }
            _ => {}
        }
        let gone = format!("there is no tool `{name}` in this request");
        match nearest(name, self.advertised.iter().map(String::as_str)) {
            Some(close) => format!("{gone}; did you mean `{close}`?"),
            None => gone,
        }
    }
}
