//! No secret in anything that is recorded, sent or shown.

use std::collections::HashSet;

use serde_json::Value;

use super::index::Index;
use super::law::{Scene, Tally};
use super::probe::any_text;
use super::unlogged::is_unlogged;
use crate::base::digest::{Digest, Hasher};
use crate::base::secret::{holds_canary, keyed_hash};
use crate::journal::event::call::{AttemptFailed, ToolCallFinished};
use crate::journal::event::turn::{SecretHash, SessionOpened};
use crate::journal::{Blobs, Entry, Event};

/// Digests of clean texts are remembered up to this many; then the memory starts anew.
const REMEMBERED: usize = 1 << 14;

/// Looks for secrets in texts and remembers which were clean, so that a text is read once.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    no_canary: HashSet<Digest>,
    no_hashed: HashSet<Digest>,
    rules: Option<Digest>,
    reads: usize,
}

/// B7, "credentials must never be exposed to model context": no canary and no text whose keyed
/// hash the session lists, in any event's facts or in any text sent, appended or shown. Where the
/// session planted nothing and lists nothing, nothing was exercised; where no call produced output,
/// a leak is still a breach, but its absence says nothing; where a text is not beside the journal,
/// the answer is unknown.
pub(super) fn no_secrets(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let Some(opened) = index.opened else { return };
    let planted = opened.canaries.is_some_and(|planted| planted > 0);
    let list = listed(index, opened);
    let hashes = Hashes::of(opened, &list);
    let produced = index.entries.iter().any(|e| matches!(e.event, Event::ToolCallFinished(_)));
    if !planted && hashes.is_none() {
        return;
    }
    scene.scanner.obey(hashes);
    facts(index, hashes, tally);
    for entry in &index.entries {
        texts(entry, (index, scene.blobs), |what, name| {
            text_of(entry, (what, name), (scene.blobs, hashes), (scene.scanner, tally));
        });
    }
    if !produced {
        tally.only_breaches();
    }
}

/// Every text an entry names, with a word for it. A payload is tools and messages in one
/// provider's spelling: it need not be stored, and is read where it is.
/// What is not to be logged is not looked for.
fn texts<'a>(
    entry: &'a Entry,
    (index, blobs): (&Index<'_>, &Blobs),
    mut each: impl FnMut(&'static str, &'a Digest),
) {
    let lost = |call: Option<&str>, name: &Digest| {
        call.is_some_and(|call| is_unlogged(index, call)) && blobs.get(name).is_none()
    };
    match &entry.event {
        Event::ModelRequested(fact) => {
            if blobs.get(&fact.payload).is_some() {
                each("a payload", &fact.payload);
            }
            each("a tool list", &fact.tools);
            if !fact.unlogged || blobs.get(&fact.messages).is_some() {
                each("a request's messages", &fact.messages);
            }
        }
        Event::TranscriptAppended(fact) => {
            let kept = fact.messages.iter();
            let kept = kept.filter(|one| !lost(one.call.as_deref(), &one.text));
            kept.for_each(|message| each("a transcript message", &message.text));
        }
        Event::ArtifactPersisted(fact) => each("an artifact", &fact.content_hash),
        Event::ToolCallSettled(fact) => {
            let kept = fact.shown.iter().filter(|shown| !lost(entry.call.as_deref(), shown));
            kept.for_each(|shown| each("a shown result", shown));
        }
        _ => {}
    }
}

fn text_of(
    entry: &Entry,
    (what, name): (&str, &Digest),
    (blobs, hashes): (&Blobs, Option<Hashes<'_>>),
    (scanner, tally): (&mut Scanner, &mut Tally),
) {
    let Some(text) = blobs.get(name) else {
        return tally.unknown(|| format!("{what} is not beside the journal: {}", name.short()));
    };
    tally.checked();
    let (fresh, unlisted) = (scanner.is_fresh(name), scanner.is_unlisted(name, hashes));
    scanner.reads += usize::from(fresh || unlisted);
    let canary = fresh && holds_canary(text);
    let leak = canary || (unlisted && hashes.is_some_and(|hashes| hashes.in_text(text)));
    if leak {
        let message = format!("{what} holds {}", named(canary));
        tally.broken(entry.call.as_deref(), &[entry.seq], message);
        return;
    }
    scanner.remember(name, hashes.is_some());
}

fn named(canary: bool) -> &'static str {
    if canary { "a planted canary" } else { "a secret that the session lists" }
}

fn facts(index: &Index<'_>, hashes: Option<Hashes<'_>>, tally: &mut Tally) {
    tally.checked();
    for entry in &index.entries {
        let canary = any_text(&entry.event, &holds_canary);
        let opening = matches!(entry.event, Event::SessionOpened(_));
        let hashed = |hashes: Hashes<'_>| {
            let value = serde_json::to_value(&entry.event);
            !opening && value.is_ok_and(|value| hashes.in_value(&value))
        };
        if canary || hashes.is_some_and(hashed) {
            let message = format!("the facts of {} hold {}", entry.event.name(), named(canary));
            tally.broken(entry.call.as_deref(), &[entry.seq], message);
        }
    }
}

impl Scanner {
    /// Forgets what was clean under other rules.
    fn obey(&mut self, hashes: Option<Hashes<'_>>) {
        let Some(hashes) = hashes else { return };
        let rules = Some(hashes.digest());
        if self.rules != rules {
            self.rules = rules;
            self.no_hashed.clear();
        }
    }

    /// How many texts were read so far.
    #[cfg(test)]
    pub(super) fn reads(&self) -> usize {
        self.reads
    }

    fn is_fresh(&self, name: &Digest) -> bool {
        !self.no_canary.contains(name)
    }

    fn is_unlisted(&self, name: &Digest, hashes: Option<Hashes<'_>>) -> bool {
        hashes.is_some() && !self.no_hashed.contains(name)
    }

    fn remember(&mut self, name: &Digest, hashed: bool) {
        if self.no_canary.len() >= REMEMBERED || self.no_hashed.len() >= REMEMBERED {
            self.no_canary.clear();
            self.no_hashed.clear();
        }
        self.no_canary.insert(*name);
        if hashed {
            self.no_hashed.insert(*name);
        }
    }
}

/// What a session lists when it opens, and what its calls obtained since.
fn listed(index: &Index<'_>, opened: &SessionOpened) -> Vec<SecretHash> {
    let failed = index.each::<AttemptFailed>().flat_map(|seen| &seen.fact.obtained);
    let ended = index.each::<ToolCallFinished>().flat_map(|seen| &seen.fact.obtained);
    opened.secret_hashes.iter().chain(failed).chain(ended).cloned().collect()
}

/// The secrets that a session lists by keyed hash.
#[derive(Clone, Copy)]
struct Hashes<'a> {
    key: &'a str,
    list: &'a [SecretHash],
}

impl<'a> Hashes<'a> {
    fn of(opened: &'a SessionOpened, list: &'a [SecretHash]) -> Option<Self> {
        let key = opened.secret_key.as_deref().unwrap_or_default();
        (!list.is_empty()).then_some(Self { key, list })
    }

    fn digest(self) -> Digest {
        let start = Hasher::new("secret rules").field(self.key.as_bytes());
        let add = |hasher: Hasher, secret: &SecretHash| {
            hasher.field(&secret.chars.to_le_bytes()).field(secret.hash.as_bytes())
        };
        self.list.iter().fold(start, add).finish()
    }

    /// In the text as it is, and in the strings of the JSON it may be.
    fn in_text(self, text: &str) -> bool {
        self.in_string(text)
            || (text.contains('\\')
                && serde_json::from_str::<Value>(text).is_ok_and(|value| self.in_value(&value)))
    }

    fn in_value(self, value: &Value) -> bool {
        match value {
            // A digest is no place for a secret, and events are full of them.
            Value::String(text) => Digest::parse(text).is_none() && self.in_string(text),
            Value::Array(items) => items.iter().any(|item| self.in_value(item)),
            Value::Object(map) => {
                map.iter().any(|(key, value)| self.in_string(key) || self.in_value(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Whether any stretch of a listed length has a listed hash.
    fn in_string(self, text: &str) -> bool {
        let mut done = Vec::new();
        self.list.iter().any(|secret| {
            if secret.chars == 0 || done.contains(&secret.chars) {
                return false;
            }
            done.push(secret.chars);
            let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let ends = ends.by_ref().skip(secret.chars);
            text.char_indices().zip(ends).any(|((start, _), end)| {
                let stretch = text.get(start..end).unwrap_or_default();
                let hash = keyed_hash(self.key, stretch);
                self.list.iter().any(|listed| listed.chars == secret.chars && listed.hash == hash)
            })
        })
    }
}
