//! The system under test: a complete tool runtime. It is a pure machine with a thin driver.
//!
//! Folders in the order of a call's flow; each may import only those before it: `credential`,
//! `sandbox`, `mcp` and `catalog` (what exists, where it could run), `policy`, `view`, `dialect`,
//! `provider`, `guard`, `exec`, `evidence`, `surface`, `resolved`, `state`, `context`, `turn`,
//! `resume`, `undo`, then `session`, the facade, and `home`, what outlives a session.

pub mod catalog;
pub mod context;
pub mod credential;
pub mod dialect;
pub mod error;
pub mod evidence;
pub mod exec;
pub mod guard;
pub mod home;
pub mod mcp;
pub mod policy;
pub mod provider;
pub mod resolved;
pub mod resume;
pub mod sandbox;
pub mod session;
pub mod state;
pub mod surface;
pub mod turn;
pub mod undo;
pub mod view;

/// A boxed future: what an asynchronous trait method returns.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
