//! The append-only list of entries, and the blobs beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::Event;
use crate::base::digest::Digest;
use crate::base::world::Millis;

/// One line of a journal: who, when, why, what.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Monotone per session, from 1.
    pub seq: u64,
    /// The session.
    pub session: Arc<str>,
    /// The turn, inside one.
    pub turn: Option<Arc<str>>,
    /// The call, for facts about one.
    pub call: Option<Arc<str>>,
    /// The entry that led to this one.
    pub cause: Option<u64>,
    /// When.
    pub at: Millis,
    /// What.
    pub event: Event,
}

/// A session's journal. Only appending is possible.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    blobs: Blobs,
}

impl Journal {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rebuilds a journal from entries that were written before.
    pub fn from_parts(entries: Vec<Entry>, blobs: Blobs) -> Self {
        Self { entries, blobs }
    }

    /// Appends an entry; its `seq` is the next one. Returns that number.
    pub fn append(&mut self, mut entry: Entry) -> u64 {
        let seq = self.next_seq();
        entry.seq = seq;
        self.entries.push(entry);
        seq
    }

    /// The number that the next entry will have.
    pub fn next_seq(&self) -> u64 {
        self.entries.last().map_or(1, |last| last.seq + 1)
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The texts that entries name by digest.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Stores a text beside the journal and returns its name.
    pub fn put_blob(&mut self, text: Arc<str>) -> Digest {
        self.blobs.put(text)
    }

    /// Stores a text under a name computed before.
    pub fn put_known_blob(&mut self, name: Digest, text: Arc<str>) {
        self.blobs.put_known(name, text);
    }
}

/// Texts by their content's digest: payloads, transcript messages, previews.
#[derive(Debug, Clone, Default)]
pub struct Blobs {
    texts: BTreeMap<Digest, Arc<str>>,
}

impl Blobs {
    /// The name a text has.
    pub fn name(text: &str) -> Digest {
        Digest::of("blob", text.as_bytes())
    }

    /// Stores a text.
    pub fn put(&mut self, text: Arc<str>) -> Digest {
        let name = Self::name(&text);
        self.texts.entry(name).or_insert(text);
        name
    }

    /// Stores a text under a name computed before.
    pub fn put_known(&mut self, name: Digest, text: Arc<str>) {
        self.texts.entry(name).or_insert(text);
    }

    /// The text of a name.
    pub fn get(&self, name: &Digest) -> Option<&Arc<str>> {
        self.texts.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// All texts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Digest, &Arc<str>)> {
        self.texts.iter()
    }
}
