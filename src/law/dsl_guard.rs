//! The clauses of one-line journals about guards, approvals, availability, what an outcome says.

use super::*;

/// Adds the events of one clause; `None` when it is none of these or cannot be read.
pub(super) fn clause(_script: &mut Script, _clause: &Clause<'_>, _verb: &str) -> Option<()> {
    None
}
