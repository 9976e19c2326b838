//! Judging entries as they come, so that a journal need not fit into memory.
//!
//! A session is kept until it ends: then it is judged, and only what is wrong with it stays. That
//! a session ends cannot be seen in its entries, since sessions may be interleaved and any entry
//! may be the last. Whoever pushes says so, for instance because it looked where each session's
//! last line is; a session that nobody ends is judged at the end of the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check::{Judge, Totals};
use super::law::Finding;
use crate::base::secret::Secret;
use crate::journal::{Blobs, Entry};

/// Buffers of ended sessions that are kept for later ones.
const SPARE: usize = 16;

/// Judges a journal one entry after another.
#[derive(Debug, Default)]
pub struct Stream {
    judge: Judge,
    blobs: Blobs,
    open: BTreeMap<Arc<str>, Vec<Entry>>,
    spare: Vec<Vec<Entry>>,
    totals: Totals,
    shown: Vec<Entry>,
}

/// What a journal came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// One finding per law, in the order of the table.
    pub findings: Vec<Finding>,
    /// The entries that breaches name, those of one session together and in their order.
    pub shown: Vec<Entry>,
}

impl Stream {
    /// Judges a journal without texts beside it; with the key, receipts are verified too.
    pub fn new(key: Option<Secret>) -> Self {
        Self { judge: Judge::new(key), ..Self::default() }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: Entry) {
        if let Some(own) = self.open.get_mut(&entry.session) {
            return own.push(entry);
        }
        let mut own = self.spare.pop().unwrap_or_default();
        let session = Arc::clone(&entry.session);
        own.push(entry);
        self.open.insert(session, own);
    }

    /// No further entry of a session will come: it is judged and dropped.
    pub fn end(&mut self, session: &str) {
        let Some(mut own) = self.open.remove(session) else { return };
        let named = self.judge.session(&own, &self.blobs, &mut self.totals);
        if !named.is_empty() {
            self.shown.extend(own.extract_if(.., |entry| named.binary_search(&entry.seq).is_ok()));
        }
        if self.spare.len() < SPARE {
            own.clear();
            self.spare.push(own);
        }
    }

    /// How many sessions are kept.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Nothing more will come: what is still open is judged too.
    pub fn finish(mut self) -> Judged {
        while let Some(session) = self.open.keys().next().cloned() {
            self.end(&session);
        }
        Judged { findings: self.totals.findings(), shown: self.shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Verdict, dsl};

    /// Two sessions, entry by entry in turn; one of them settles a call twice.
    fn mixed() -> Vec<Entry> {
        let open = "open; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; ";
        let journal = |line: &str| dsl::journal(line).map(|(entries, _)| entries);
        let good = journal(&format!("{open}set 1 succeeded; app 1; end"));
        let bad = journal(&format!("{open}set 1 succeeded; set 1 succeeded; app 1; end"));
        let (good, mut bad) = (good.unwrap_or_default(), bad.unwrap_or_default());
        bad.iter_mut().for_each(|entry| entry.session = "s2".into());
        let mut mixed = Vec::new();
        let mut good = good.into_iter();
        for entry in bad {
            mixed.extend(good.next());
            mixed.push(entry);
        }
        mixed
    }

    #[test]
    fn a_stream_finds_what_a_slice_shows_and_keeps_what_is_open() {
        let entries = mixed();
        let whole = Judge::new(Some(dsl::key())).journal(&entries, &Blobs::default());
        let mut stream = Stream::new(Some(dsl::key()));
        let last = entries.iter().rposition(|entry| &*entry.session == "s1");
        for (place, entry) in entries.iter().cloned().enumerate() {
            stream.push(entry);
            if Some(place) == last {
                assert_eq!(stream.open(), 2);
                stream.end("s1");
                assert_eq!(stream.open(), 1);
            }
        }
        stream.end("nobody");
        let Judged { findings, shown } = stream.finish();
        assert_eq!(findings, whole);
        let Some(Verdict::Broken { violations }) =
            findings.iter().find(|f| f.law == "one-result-per-call").map(|f| &f.verdict)
        else {
            panic!("{findings:#?}")
        };
        let named: Vec<u64> = shown.iter().map(|entry| entry.seq).collect();
        assert!(violations[0].events.iter().all(|seq| named.contains(seq)), "{named:?}");
        assert!(shown.iter().all(|entry| &*entry.session == "s2"));
    }

    #[test]
    fn nothing_is_judged_without_an_entry() {
        let Judged { findings, shown } = Stream::new(None).finish();
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::NotExercised));
        assert_eq!(shown, []);
    }
}
