//! Proofmark.
pub mod base;
pub mod journal;
pub mod tool;
