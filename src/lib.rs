//! Proofmark.
pub mod base;
pub mod journal;
pub mod law;
pub mod sim;
pub mod tool;
