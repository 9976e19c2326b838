//! The table of record mutants about dispatch, cancellation, retries, the record as a whole.

use crate::sim::mutant::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[];
