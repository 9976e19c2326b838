//! The table of laws about dispatch, cancellation, retries, the record as a whole.

use super::law::Law;

pub(super) const LAWS: &[Law] = &[];
