//! The table of record mutants about caps and circles.

use super::limits;
use crate::sim::mutant::Mutant;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    "caps-respected" {
        "lower-the-cap" => limits::lower_the_cap,
        "lower-the-budget" => limits::lower_the_budget,
    }
    "circles-are-noticed" {
        "drop-the-warning" => limits::drop_the_warning,
        "warn-too-late" => limits::warn_too_late,
        "stop-sooner" => limits::stop_sooner,
    }
};
