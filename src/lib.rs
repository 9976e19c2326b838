//! Proofmark.
pub mod base;
pub mod eval;
pub mod journal;
pub mod runtime;
pub mod tool;
