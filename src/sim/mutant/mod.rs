//! A mutant is a known mistake with a name and the laws that must notice it.
//!
//! A record mutant alters a journal after the fact, so it tests the laws alone: it looks for a
//! place where its mistake makes sense, in any journal, and alters that one place. Whoever makes
//! it keeps the books: numbers, causes and counts are set right again (`seal`), unless the mistake
//! is in the books themselves.

pub mod grade;
mod journals;
mod seal;
pub mod steps;

pub use grade::{Graded, Outcome, grade, witness_key, witnesses};
pub use journals::all;

use crate::journal::{Blobs, Entry};
use journals::Record;

/// A journal with its texts, altered.
pub type Altered = (Vec<Entry>, Blobs);

/// One record mutant.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// Its stable name.
    pub name: &'static str,
    /// The laws that must break.
    pub laws: &'static [&'static str],
    /// Whether only a judge with the key can notice it.
    pub needs_key: bool,
    alter: fn(&Record<'_>) -> Option<Altered>,
}

impl Mutant {
    /// The journal with this mistake in it; `None` where it offers no place for it.
    pub fn apply(&self, entries: &[Entry], blobs: &Blobs) -> Option<Altered> {
        let (mut entries, blobs) = (self.alter)(&Record { entries, blobs })?;
        if !self.laws.contains(&seal::LAW) {
            seal::seal(&mut entries);
        }
        Some((entries, blobs))
    }
}

/// The mutant of that name.
pub fn find(name: &str) -> Option<&'static Mutant> {
    all().iter().find(|mutant| mutant.name == name)
}

#[cfg(test)]
mod mutant_tests;
