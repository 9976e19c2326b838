//! What is proven: a result is verified, scrubbed, stored, previewed and receipted, in that order.

pub mod attached;
pub mod pending;
pub mod preview;
pub mod receipt;
pub mod settle;
pub mod verify;

pub use attached::Stored;
pub use pending::Pending;
pub use settle::{Settled, Settling};
