//! What exists: registered descriptors with their compiled schemas, and how a tool gets there.
//!
//! `registry` holds what a session uses. How a tool comes into it: `source` reads definitions,
//! `lifecycle` is the state machine of registration, `lint` says which rules hold a tool, `desk`
//! turns what somebody asks for into facts, `standing` folds the facts into where each tool
//! stands, `store` keeps them on disk.

pub mod alias;
pub mod desk;
pub mod lifecycle;
pub mod lint;
pub mod registry;
pub mod signature;
pub mod source;
pub mod spelling;
pub mod standing;
pub mod store;

pub use registry::{Registered, Registry};
