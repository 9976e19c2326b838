//! The table of laws about guards, approvals, availability, what an outcome says.

use super::law::Law;

pub(super) const LAWS: &[Law] = &[];
