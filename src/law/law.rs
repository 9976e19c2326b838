//! The words: a law, what it found, and the counting of one law over one session.

use std::sync::Arc;

use super::index::Index;
use super::secrecy::Scanner;
use crate::base::secret::Secret;
use crate::journal::Blobs;

/// One row of the law table.
#[derive(Debug, Clone, Copy)]
pub struct Law {
    /// Its stable name.
    pub name: &'static str,
    /// The seed rule it comes from: `B1` .. `B16`, `B` for its other rules, or `A`.
    pub source: &'static str,
    /// What it says, in one line.
    pub title: &'static str,
    /// A one-line journal that exercises it and holds it.
    pub witness: &'static str,
    /// Mutants that must break it, by name.
    pub mutants: &'static [&'static str],
    /// Laws that the same cause breaks too: for a call that breaks this law they stay silent.
    pub implies: &'static [&'static str],
    /// Folds one session.
    pub(super) judge: fn(&mut Scene<'_>, &mut Tally),
}

/// What a law says of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It could have been broken `checked` times and never was.
    Holds {
        /// How many things were checked.
        checked: u64,
    },
    /// It was broken.
    Broken {
        /// Each breach, in the order found.
        violations: Vec<Violation>,
    },
    /// Nothing in the journal could have broken it.
    NotExercised,
    /// Something could have, and the journal does not say whether it did.
    Unknown {
        /// What is missing.
        why: String,
    },
}

/// One breach with the entries that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The law.
    pub law: &'static str,
    /// The session it happened in.
    pub session: Arc<str>,
    /// What was seen, in one sentence without secrets.
    pub message: String,
    /// The call, when it is about one.
    pub call: Option<String>,
    /// `seq` of the two or three entries that show it.
    pub events: Vec<u64>,
}

/// A law and its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The law.
    pub law: &'static str,
    /// What it says.
    pub verdict: Verdict,
}

/// Everything a law may look at: one session, the texts beside it, the key when there is one.
pub(crate) struct Scene<'s> {
    /// The session's events.
    pub(crate) index: &'s Index<'s>,
    /// The texts.
    pub(crate) blobs: &'s Blobs,
    /// The key of the receipts.
    pub(crate) key: Option<&'s Secret>,
    /// Looks for secrets in texts.
    pub(crate) scanner: &'s mut Scanner,
}

/// The count of one law over one session, or over several after merging.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(super) law: &'static str,
    pub(super) session: Arc<str>,
    checked: u64,
    pub(super) violations: Vec<Violation>,
    unknown: Option<String>,
}

impl Tally {
    pub(super) fn new(law: &'static str, session: Arc<str>) -> Self {
        Self { law, session, checked: 0, violations: Vec::new(), unknown: None }
    }

    /// One thing was checked; broken or not.
    pub(super) fn checked(&mut self) {
        self.checked += 1;
    }

    /// How many things were checked so far.
    pub(super) fn count(&self) -> u64 {
        self.checked
    }

    /// Too little happened to say that the law holds; a breach still counts.
    pub(super) fn only_breaches(&mut self) {
        self.checked = 0;
        self.unknown = None;
    }

    /// The law was broken.
    pub(super) fn broken(&mut self, call: Option<&str>, events: &[u64], message: String) {
        let call = call.map(str::to_owned);
        let (law, session, events) = (self.law, self.session.clone(), events.to_vec());
        self.violations.push(Violation { law, session, message, call, events });
    }

    /// The journal does not say; the first reason is kept.
    pub(super) fn unknown(&mut self, why: impl FnOnce() -> String) {
        self.unknown.get_or_insert_with(why);
    }

    /// Adds another session's count.
    pub(super) fn merge(&mut self, other: Self) {
        self.checked += other.checked;
        self.violations.extend(other.violations);
        if let Some(why) = other.unknown {
            self.unknown(|| why);
        }
    }

    /// The verdict: a breach outweighs a gap, and a gap outweighs what was checked.
    pub(super) fn verdict(self) -> Verdict {
        match (self.violations.is_empty(), self.unknown, self.checked) {
            (false, _, _) => Verdict::Broken { violations: self.violations },
            (true, Some(why), _) => Verdict::Unknown { why },
            (true, None, 0) => Verdict::NotExercised,
            (true, None, checked) => Verdict::Holds { checked },
        }
    }
}
