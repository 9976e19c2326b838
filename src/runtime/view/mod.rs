//! What the model may see: a short lease, compiled anew for every request.
//!
//! intent -> capability match -> policy filter -> environment filter -> context filter -> ranking
//! -> budget. Every tool ends up exposed or withheld, each with its reason.

pub mod compile;
pub mod lease;

pub use compile::{Environment, ViewRequest, compile};
pub use lease::{Lease, View};
