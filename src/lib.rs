//! Proofmark: evaluation and regression testing for agent tools, from one journal.
//!
//! ```text
//!  L6  cli
//!  L5  report
//!  L4  eval     sim     manager            (siblings: none imports another)
//!      replicate                           (other people's outputs; knows base alone)
//!  L3  runtime         law                  (siblings: law must not know the runtime)
//!  L2  journal         lint                 (siblings: neither imports the other)
//!  L1  tool
//!  L0  base
//! ```
//!
//! Ten nouns: a `Descriptor` is the contract of a tool; a `View` is a lease on the tools one
//! request may see; a call climbs stages from `Proposed` to `Settled`, holds one of the `Slots`
//! of its batch, and ends in one `Outcome`; everything that happens is an event in the `Journal`;
//! the `World` is the only door to time and ids; a `Law` judges journals; a `Case` is asked in
//! `Trial`s; a `Metric` counts, a `Gate` limits it, and a `Baseline` is the blessed result.

pub mod base;
pub mod cli;
pub mod eval;
pub mod journal;
pub mod law;
pub mod lint;
pub mod manager;
pub mod replicate;
pub mod report;
pub mod runtime;
pub mod sim;
pub mod tool;
