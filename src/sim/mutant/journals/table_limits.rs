//! The table of record mutants about caps, circles, budgets, and what is asked beside the decision.

use super::{governed, limits};
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
    "budgets-kept" {
        "budget-of-no-call" => governed::budget_of_no_call,
        "budget-of-no-money" => governed::budget_of_no_money,
        "cost-unbounded" => governed::cost_unbounded,
        "past-the-deadline" => governed::past_the_deadline,
    }
    "verified-before-success" {
        "unlooked-success" => governed::unlooked_success,
        "refused-success" => governed::refused_success,
        "another-verifier" => governed::another_verifier,
        "look-too-late" => governed::look_too_late,
    }
    "runs-as-rehearsed" {
        "rehearsed-once" => governed::rehearsed_once,
        "does-something-else" => governed::does_something_else,
    }
    "personal-data-masked" {
        "mask-what-is-bare" => governed::mask_what_is_bare,
        "bare-fault" => governed::bare_fault,
    }
};
