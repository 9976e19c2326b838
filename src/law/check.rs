//! Runs every law over every session of a journal.

use std::collections::BTreeMap;

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
}

impl Judge {
    /// A judge; with the key, receipts are verified too.
    pub fn new(key: Option<Secret>) -> Self {
        Self { key, scanner: Scanner::default() }
    }

    /// One finding per law, in the order of the table, merged over all sessions in the slice.
    /// Entries of several sessions may be interleaved; each session is judged and dropped at its
    /// last entry. In merging, a breach outweighs a gap and a gap outweighs what was checked.
    pub fn journal(&mut self, entries: &[Entry], blobs: &Blobs) -> Vec<Finding> {
        let mut totals: Vec<Tally> =
            all().iter().map(|law| Tally::new(law.name, "".into())).collect();
        let Some(first) = entries.first() else { return findings(totals) };
        if entries.iter().all(|entry| entry.session == first.session) {
            let mut index = Index::default();
            entries.iter().for_each(|entry| index.push(entry));
            self.session(&index, blobs, &mut totals);
            return findings(totals);
        }
        let mut last = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            last.insert(entry.session.as_ref(), place);
        }
        let mut open: BTreeMap<&str, Index<'_>> = BTreeMap::new();
        for (place, entry) in entries.iter().enumerate() {
            let session = entry.session.as_ref();
            open.entry(session).or_default().push(entry);
            if last.get(session) == Some(&place)
                && let Some(index) = open.remove(session)
            {
                self.session(&index, blobs, &mut totals);
            }
        }
        findings(totals)
    }

    fn session(&mut self, index: &Index<'_>, blobs: &Blobs, totals: &mut [Tally]) {
        let Some(session) = index.entries.first().map(|entry| &entry.session) else { return };
        let (key, scanner) = (self.key.as_ref(), &mut self.scanner);
        let mut scene = Scene { index, blobs, key, scanner };
        let mut tallies = Vec::with_capacity(totals.len());
        for law in all() {
            let mut tally = Tally::new(law.name, session.clone());
            (law.judge)(&mut scene, &mut tally);
            tallies.push(tally);
        }
        if tallies.iter().any(|tally| !tally.violations.is_empty()) {
            imply(&mut tallies);
        }
        for (total, tally) in totals.iter_mut().zip(tallies) {
            total.merge(tally);
        }
    }
}

fn findings(totals: Vec<Tally>) -> Vec<Finding> {
    totals.into_iter().map(|tally| Finding { law: tally.law, verdict: tally.verdict() }).collect()
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
