//! Runs every law over every session of a journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::index::Index;
use super::law::{Finding, Scene, Tally};
use super::registry::all;
use super::secrecy::Scanner;
use crate::base::secret::Secret;
use crate::journal::{Blobs, Entry};

/// Judges journals. It keeps nothing of a session beyond its end but the digests of texts that
/// were clean, and of those a bounded number.
#[derive(Debug, Default)]
pub struct Judge {
    key: Option<Secret>,
    pub(super) scanner: Scanner,
    /// The counts of the session that is being judged.
    tallies: Vec<Tally>,
}

impl Judge {
    /// A judge; with the key, receipts are verified too.
    pub fn new(key: Option<Secret>) -> Self {
        Self { key, ..Self::default() }
    }

    /// One finding per law, in the order of the table, merged over all sessions in the slice.
    /// Entries of several sessions may be interleaved; each session is judged by itself. In
    /// merging, a breach outweighs a gap and a gap outweighs what was checked.
    pub fn journal(&mut self, entries: &[Entry], blobs: &Blobs) -> Vec<Finding> {
        let mut totals = Totals::default();
        let Some(first) = entries.first() else { return totals.findings() };
        if entries.iter().all(|entry| entry.session == first.session) {
            self.session(entries, blobs, &mut totals);
            return totals.findings();
        }
        let mut last = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            last.insert(entry.session.as_ref(), place);
        }
        let mut open: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            let session = entry.session.as_ref();
            open.entry(session).or_default().push(entry);
            if last.get(session) == Some(&place)
                && let Some(own) = open.remove(session)
            {
                self.session(own, blobs, &mut totals);
            }
        }
        totals.findings()
    }

    /// Judges all entries of one session and adds what it finds. Returns the numbers of the entries
    /// that breaches name, sorted.
    pub(super) fn session<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e Entry>,
        blobs: &Blobs,
        totals: &mut Totals,
    ) -> Vec<u64> {
        let index = Index::new(entries);
        let Some(first) = index.entries.first() else { return Vec::new() };
        let (key, scanner) = (self.key.as_ref(), &mut self.scanner);
        let mut scene = Scene { index: &index, blobs, key, scanner };
        self.tallies.clear();
        for law in all() {
            let mut tally = Tally::new(law.name, Arc::clone(&first.session));
            (law.judge)(&mut scene, &mut tally);
            self.tallies.push(tally);
        }
        let mut named = Vec::new();
        if self.tallies.iter().any(|tally| !tally.violations.is_empty()) {
            imply(&mut self.tallies);
            let violations = self.tallies.iter().flat_map(|tally| &tally.violations);
            named.extend(violations.flat_map(|violation| &violation.events).copied());
            named.sort_unstable();
        }
        for (total, tally) in totals.0.iter_mut().zip(self.tallies.drain(..)) {
            total.merge(tally);
        }
        named
    }
}

/// What all laws found so far.
#[derive(Debug)]
pub(super) struct Totals(Vec<Tally>);

impl Default for Totals {
    fn default() -> Self {
        let none: Arc<str> = "".into();
        Self(all().iter().map(|law| Tally::new(law.name, Arc::clone(&none))).collect())
    }
}

impl Totals {
    /// One finding per law, in the order of the table.
    pub(super) fn findings(self) -> Vec<Finding> {
        let finding = |tally: Tally| Finding { law: tally.law, verdict: tally.verdict() };
        self.0.into_iter().map(finding).collect()
    }
}

/// Where one cause breaks several laws for a call, only the root speaks: the others answer
/// unknown for that call. What is suppressed still suppresses, so chains work.
fn imply(tallies: &mut [Tally]) {
    let mut silent: Vec<(&'static str, &'static str, String)> = Vec::new();
    for (law, tally) in all().iter().zip(tallies.iter()) {
        for call in tally.violations.iter().filter_map(|violation| violation.call.as_ref()) {
            silent.extend(law.implies.iter().map(|implied| (*implied, law.name, call.clone())));
        }
    }
    for tally in tallies {
        let mut root = None;
        let law = tally.law;
        tally.violations.retain(|violation| {
            let call = violation.call.as_ref();
            let of = silent.iter().find(|(name, _, of)| *name == law && Some(of) == call);
            root = root.or(of.map(|(_, root, _)| *root));
            of.is_none()
        });
        if let Some(root) = root {
            tally.unknown(|| format!("its breach follows from `{root}`"));
        }
    }
}
