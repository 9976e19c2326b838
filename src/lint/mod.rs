//! What is wrong with a tool before anybody calls it: pure rules over descriptors and over whole
//! lists of tools. Nothing is read from disk and nothing runs here.
//!
//! A rule is a row of a table ([`registry`]): its name, its level, why it is there, what mends it,
//! tools that it must flag and tools that it must not. Reading order: `subject` (a tool as its
//! source wrote it), `rule`, `walk` (schemas), `prose` (texts), `rules/`, `registry`, `check`.
//!
//! Rules were chosen by what real tools do: each has hits in saved listings, or a reported outage,
//! or an invariant of seed B behind it. A rule that is right less than every second time is off, or
//! a hint.

pub mod check;
mod prose;
pub mod registry;
pub mod rule;
mod rules;
pub mod subject;
mod walk;

pub use check::{Finding, Levels, check};
pub use rule::{Level, Profile, Rule, Scope};
pub use subject::{Server, Subject};
