//! The loop that connects everything: a machine without input or output of its own, and a driver.
//!
//! ```text
//! Input                       Effect
//! Begin(message)              Ask(provider, payload)            -> provider
//! Replied(reply)              AbandonAsk
//! Hooked(ticket, verdict)     RunHook(ticket, call)             -> hooks
//! Inspected(ticket, digest)   Inspect(ticket, files)            -> workspace
//! Rehearsed(ticket, found)    Rehearse(ticket, rehearsal)       -> exec, without effect
//! Answered(answer)            Prompt(request), Withdraw(id)     -> approver
//! Finished(ticket, ran)       Start(ticket, ready)              -> exec
//! Delegated(ticket, result)   Delegate(ticket, request)         -> a session of its own
//! TornDown(ticket)            Abort(ticket)                     -> whoever runs under it
//! Elapsed                     Wake(at)                          -> clock
//! Cancel, Steered, Switched                                     <- outside
//! Revoked(grant, by)                                            <- outside
//! Blocked(block)              Block(ticket, block)              -> the delegate under it
//! Propose(proposal)                                             <- whoever is no model
//! Resume(reopened)                                              <- a journal
//!                             Return(end)
//! ```
//!
//! Every input is answered by any number of effects. A driver turns effects into work and work into
//! inputs, in whatever order the work ends; it decides nothing.
//!
//! Reading order: `steps` (every decision), `slots` (where a call can stand), `machine` (the turn),
//! `begin`, `prepare`, `judge` and `authority` (a call through the guards), `review` (what a call
//! would do), `schedule` and `execute` (it runs), `verify` (its result is looked at), `child` (what
//! a delegate is given), `cancel`, `block`, `control` (circles), `append`, `pin`, `reopen` (a turn
//! that outlived its process), then `driver` and `delegate` (a session inside a session).

pub mod append;
mod authority;
pub mod begin;
mod block;
mod cancel;
mod child;
pub mod control;
pub mod delegate;
pub mod driver;
mod execute;
mod judge;
pub mod log;
pub mod machine;
pub mod pin;
mod prepare;
pub mod reopen;
mod review;
pub mod schedule;
pub mod slots;
pub mod steps;
mod verify;

pub use cancel::LOOP_STOPPED;
pub use machine::{Effect, Input, Turn, TurnEnd};
pub use prepare::assistant_call;
pub use slots::Ticket;
