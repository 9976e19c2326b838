//! What happened: the one record that every other layer shares.
//!
//! Facts only: an event never says how to show itself, and never holds a secret. Reading order:
//! `outcome`, `event` (the closed enum, its facts by phase below `event/`), `journal`, `format`,
//! `texts`, `receipt`, `schema`.

pub mod event;
mod fast;
pub mod format;
#[expect(clippy::module_inception, reason = "the noun and its folder share a name")]
pub mod journal;
pub mod outcome;
pub mod receipt;
pub mod schema;
pub mod texts;

pub use event::Event;
pub use journal::{Blobs, Entry, Journal};
pub use outcome::Outcome;
