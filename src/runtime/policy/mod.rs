//! What may happen. `decide` and `may_expose` are total and pure: every question has a decision,
//! and every decision has reasons. Deny beats strong-ask beats ask beats allow.

pub mod budget;
pub mod decide;
pub mod intent;
pub mod rules;
mod shell;

pub use decide::{Decision, Judgement, Principal, decide, may_expose};
pub use intent::beyond_intent;
pub use rules::{Rule, Rules};
pub use shell::PartJudgement;
