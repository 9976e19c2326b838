//! The clauses of one-line journals about dispatch, cancellation, retries, the record as a whole.

use super::*;

/// Adds the events of one clause; `None` when it is none of these or cannot be read.
pub(super) fn clause(_script: &mut Script, _clause: &Clause<'_>, _verb: &str) -> Option<()> {
    None
}
