//! Attempts to get out of the sandbox, as a table. Each is made twice: with everything in force,
//! where it must fail, and with the mechanism that stops it switched off, where it must succeed, or
//! the first would show nothing. What else would stop it is absent in both.

mod egress;
mod files;
mod injection;
mod kernel;
mod network;
mod processes;
pub mod scene;
mod shell;

pub use scene::{Attempt, BASE, NONE, check, descriptor, host};
