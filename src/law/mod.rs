//! What must always be true of a journal, whoever wrote it.
//!
//! A law is a fold over one session's events: `index` is the state, updated once an entry and
//! dropped when the session ends; each law is one function over that state. Nothing here knows
//! the runtime: the same code judges golden, simulated, recorded and foreign journals. A law that
//! could not have seen a breach answers `NotExercised` or `Unknown`, never `Holds`.
//!
//! Order is the order in which entries stand in the journal, not their `seq`.
//!
//! Reading order: `law` (the words), `registry` (the table), `index`, then the laws by theme:
//! `contract`, `pairing`, `order`, `approval`, `exposure`, `receipt`, `secrecy`, `artifact`,
//! `unlogged`; about guards `hook`, `repeat`, `answer`, `grant`, `outcome`, `availability`,
//! `reply`, `shell`, `surface`; about
//! dispatch and the whole `dispatch`, `cancel`, `round`, `record` (these four share `spans`); then
//! `check` (runs them), `stream` and `passes` (on what need not fit into memory), `explain`, and
//! `dsl` (one-line journals). `account` judges nothing: it answers what is asked of one call.
//!
//! To add a law: write its function in the file of its theme; add its row to `registry` with a
//! witness line; add two mutants to `sim::mutant`; add good and broken lines to `lines_tests`;
//! if one root cause breaks it together with another law, name the root's row in `implies`.

pub mod account;
mod answer;
mod approval;
mod artifact;
mod availability;
mod block;
mod cancel;
pub mod check;
mod consent;
mod contract;
mod dispatch;
pub(crate) mod dsl;
pub mod explain;
mod exposure;
mod governed;
mod grant;
mod hook;
pub(crate) mod index;
#[expect(clippy::module_inception, reason = "the noun and its folder share a name")]
pub mod law;
mod limits;
mod order;
mod outcome;
mod pairing;
pub mod passes;
mod probe;
mod receipt;
mod record;
pub mod registry;
mod registry_dispatch;
mod registry_guard;
mod registry_limits;
mod repeat;
mod reply;
mod round;
mod secrecy;
mod shell;
mod spans;
pub mod stream;
mod surface;
mod unlogged;

pub use check::Judge;
pub use explain::explain;
pub use law::{Finding, Law, Verdict, Violation};
pub use registry::{all, find};
pub use stream::{Judged, Stream};

#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod lines_dispatch_tests;
#[cfg(test)]
mod lines_guard_tests;
#[cfg(test)]
mod lines_limits_tests;
#[cfg(test)]
mod lines_outcome_tests;
#[cfg(test)]
mod lines_record_tests;
#[cfg(test)]
mod lines_shell_tests;
#[cfg(test)]
mod lines_tests;
#[cfg(test)]
mod reading_tests;
