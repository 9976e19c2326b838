//! The helper: this program, started once more, before any thread of it exists. It is two
//! processes. The outer one makes the namespaces and waits: for the inner one to end, or for the
//! harness to let go. The inner one is the first process of the new namespaces; it confines
//! itself, reports, starts the program and collects whatever is left behind. When it ends, the
//! kernel ends all that is in its process namespace.
//!
//! Nothing here weakens: a mechanism that was ordered and cannot be applied ends the helper
//! before the program starts.

mod calls;
mod inner;
mod limits;
mod outer;
mod rights;
mod room;
mod wire;

use std::process::ExitCode;

use super::mechanism::Mechanism;
use super::order::SUBCOMMAND;

/// The word that makes it the inner process.
const INNER: &str = "inner";

/// Becomes the helper where the arguments say so; `None` where they do not. To be called first of
/// all: what is applied is applied to the one thread there is.
pub fn main() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != SUBCOMMAND {
        return None;
    }
    let is_inner = args.next().is_some_and(|word| word == INNER);
    Some(if is_inner { inner::main() } else { outer::main() })
}

/// What could not be done.
#[derive(Debug)]
struct Failure {
    step: String,
    reason: String,
}

impl Failure {
    fn new(step: impl Into<String>, reason: impl ToString) -> Self {
        Self { step: step.into(), reason: reason.to_string() }
    }

    /// The failure of a mechanism.
    fn of(mechanism: Mechanism) -> impl Fn(&dyn std::fmt::Display) -> Self {
        move |reason| Self::new(mechanism.name(), reason)
    }
}
