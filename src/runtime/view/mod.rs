//! What the model may see: a short lease, compiled anew for every request.
//!
//! scoped registry -> lifecycle -> intent -> capability match -> policy filter -> environment
//! filter -> context filter -> groups -> deferral -> ranking -> budget. Every tool ends up
//! exposed or withheld, each with its reason.
//!
//! `scope` says what exists for a run, `availability` how that is configured (`pattern`, `group`),
//! `activation` what became of deferred tools, `compile` puts a view together, `lease` is one,
//! `delegation` says what of it a delegate gets, `block` what a session has lost.

pub mod activation;
pub mod availability;
pub mod block;
pub mod compile;
pub mod delegation;
pub mod group;
pub mod lease;
pub mod pattern;
pub mod scope;

pub use activation::ActivatedSet;
pub use availability::Availability;
pub use block::{Block, Blocks};
pub use compile::{Environment, ViewRequest, compile};
pub use delegation::delegated;
pub use group::Matched;
pub use lease::{Lease, View};
pub use scope::scoped;
