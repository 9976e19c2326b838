//! The table of record mutants about guards, approvals, availability, what an outcome says.

use crate::sim::mutant::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[];
