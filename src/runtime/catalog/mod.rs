//! What exists: registered descriptors with their compiled schemas.

pub mod alias;
pub mod registry;
pub mod source;

pub use registry::{Registered, Registry};
