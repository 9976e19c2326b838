//! Scrubbing a text that comes in pieces.

use super::escapes::Views;
use super::{Edit, joined, patterns, scan};
use crate::base::secret::SecretSet;

/// So many bytes of what may become a secret by shape are kept back at most. A longer one is
/// replaced as far as it is recognised, and swallowed up to its end.
const HELD: usize = 8 << 10;

/// Bytes that are remembered of what was given out: the beginning of a word or of a name, and an
/// end marker that is cut in two.
const BEHIND: usize = 96;

/// Scrubs a text that comes in pieces, wherever they are cut. It keeps back only what could be the
/// beginning of a secret.
///
/// All pieces together give what [`SecretSet::scrub`] makes of the whole text, with two
/// exceptions: JSON is treated as text, so that a number that is a secret leaves a mark without
/// quotes; and a private key, or another recognised shape above 8 KiB, without its end goes
/// on to its end, however far that is.
#[derive(Clone)]
pub struct StreamScrubber<'a> {
    secrets: &'a SecretSet,
    buffer: String,
    /// Bytes of the buffer that were given out.
    done: usize,
    /// Bytes of the buffer whose mark was given out.
    covered: usize,
    endless: Option<Endless>,
}

/// What is being swallowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endless {
    /// A private key, up to its end marker.
    Key,
    /// A value, up to a blank or a quote.
    Value,
}

impl<'a> StreamScrubber<'a> {
    /// Nothing came yet.
    pub(in crate::base) fn new(secrets: &'a SecretSet) -> Self {
        Self { secrets, buffer: String::new(), done: 0, covered: 0, endless: None }
    }

    /// Takes a piece and gives what is safe to give.
    pub fn push(&mut self, piece: &str) -> String {
        self.buffer.push_str(piece);
        self.advance(false)
    }

    /// What was kept back, when nothing more comes.
    pub fn finish(mut self) -> String {
        self.advance(true)
    }

    /// Bytes that are kept: held back or remembered.
    pub fn kept(&self) -> usize {
        self.buffer.len()
    }

    fn advance(&mut self, last: bool) -> String {
        self.swallow();
        let views = Views::of(&self.buffer);
        let rules = self.secrets.rules();
        let mut edits = joined(scan(rules, &self.buffer, &views));
        edits.retain(|edit| edit.range.end > self.covered.max(self.done));
        let safe = if last { self.buffer.len() } else { self.safe(&edits, &views) };
        let out = self.give(&edits, safe);
        self.done = safe;
        let behind = self.buffer.floor_char_boundary(safe.saturating_sub(BEHIND));
        let gone = views.between(behind);
        self.buffer.drain(..gone);
        self.done -= gone;
        self.covered = self.covered.saturating_sub(gone);
        out
    }

    /// Extends what is covered over a value that goes on.
    fn swallow(&mut self) {
        let end = match self.endless {
            None => return,
            Some(Endless::Key) => patterns::key_end(&self.buffer),
            Some(Endless::Value) => {
                let rest = &self.buffer[self.covered..];
                rest.find(patterns::ends_value).map(|at| self.covered + at)
            }
        };
        if end.is_some() {
            self.endless = None;
        }
        self.covered = end.unwrap_or(self.buffer.len()).max(self.covered);
    }

    /// Up to where nothing can become a secret, or a longer one.
    fn safe(&mut self, edits: &[Edit], views: &Views) -> usize {
        let (end, rules) = (self.buffer.len(), self.secrets.rules());
        let (mut known, mut shaped) = (end, end);
        for (depth, said, unfinished) in views.each(&self.buffer) {
            let whole = &said[..unfinished.unwrap_or(said.len())];
            let spelled = |at: usize| views.spelled(depth, at..at).start;
            let begun = rules.known.begun(whole).or(unfinished);
            known = known.min(begun.map_or(end, spelled));
            if rules.patterns {
                shaped = shaped.min(patterns::begun(whole).map_or(end, spelled));
            }
        }
        let open = |edit: &&Edit| !edit.known && (edit.endless || edit.range.end == end);
        let open = edits.iter().find(open);
        shaped = shaped.min(open.map_or(end, |edit| edit.range.start));
        if end - shaped.clamp(self.done, end) > HELD {
            shaped = end;
            if let Some(edit) = open {
                self.endless = Some(if edit.endless { Endless::Key } else { Endless::Value });
            }
        }
        // What is covered was given out as a mark; a known value may still begin inside it.
        let covered = views.between(self.covered.min(known));
        views.between(known.min(shaped)).max(covered).max(self.done)
    }

    /// The text from what was given out up to `safe`, its edits made.
    fn give(&mut self, edits: &[Edit], safe: usize) -> String {
        let mut out = String::new();
        let mut at = self.done.max(self.covered.min(safe));
        for edit in edits.iter().filter(|edit| edit.range.start < safe) {
            if edit.range.start >= self.covered {
                out.push_str(self.buffer.get(at..edit.range.start).unwrap_or_default());
                out.push_str(&edit.with);
            }
            at = edit.range.end.min(safe);
            self.covered = self.covered.max(edit.range.end);
        }
        out.push_str(&self.buffer[at.min(safe)..safe]);
        out
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
