//! The loop that connects everything: a machine without input or output of its own, and a driver.
//!
//! ```text
//! Input                         Effect
//! Begin(message)                Ask(payload)        -> provider
//! Replied(reply)                Prompt(request)     -> approver
//! Answered(answer)              Start(slot, ready)  -> exec
//! Finished(slot, ready, ran)    Return(end)
//! ```
//!
//! Reading order: `steps` (every decision), `slots`, `pin`, `machine`, `prepare`, `append`,
//! `driver`.

pub mod append;
pub mod driver;
pub mod log;
pub mod machine;
pub mod pin;
pub mod prepare;
pub mod slots;
pub mod steps;

pub use machine::{Effect, Input, Turn, TurnEnd};
