//! Secrets that are known by value: the fast search for all of them at once.

use std::ops::Range;
use std::sync::Arc;

use super::escapes::Views;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memchr2_iter;

/// The spellings to look for. They are sought in what a text says as well as in how it is
/// spelled, so that no escaped form needs to be listed.
#[derive(Clone, Default)]
pub(in crate::base) struct Known {
    spellings: Arc<[String]>,
    finders: Option<Finders>,
    shortest: usize,
    longest: usize,
}

/// The one that only sees whether there is any is the faster one by far.
#[derive(Clone)]
struct Finders {
    any: AhoCorasick,
    all: AhoCorasick,
}

impl Finders {
    fn new(spellings: &[String]) -> Option<Self> {
        let mut build = AhoCorasick::builder();
        let all = build.kind(Some(AhoCorasickKind::ContiguousNFA)).build(spellings).ok()?;
        // Which of several is found first is all the same; this kind looks at many bytes at once.
        let any = build.match_kind(MatchKind::LeftmostFirst).build(spellings).ok()?;
        Some(Self { any, all })
    }
}

/// Whether a text may hold characters that are escaped by their numbers: a letter, a digit or a
/// sign of an alphabet is escaped in no other way.
fn has_numbers(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr2_iter(b'\\', b'%', bytes)
        .any(|at| bytes[at] == b'%' || matches!(bytes.get(at + 1), Some(b'u' | b'x')))
}

impl Known {
    /// Builds the search; no spelling may be empty.
    pub(in crate::base) fn new(spellings: Vec<String>) -> Self {
        let finders = (!spellings.is_empty()).then(|| Finders::new(&spellings)).flatten();
        let lengths = || spellings.iter().map(String::len);
        let (shortest, longest) = (lengths().min(), lengths().max());
        let (shortest, longest) = (shortest.unwrap_or_default(), longest.unwrap_or_default());
        Self { spellings: spellings.into(), finders, shortest, longest }
    }

    /// Bytes of the longest spelling.
    pub(in crate::base) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether there is any in the text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let long = text.len() >= self.shortest;
        long && self.finders.as_ref().is_some_and(|finders| finders.any.is_match(text))
    }

    /// Whether there is any in what the text says, at any depth of escaping.
    pub(in crate::base) fn is_behind(&self, text: &str) -> bool {
        // What a text says is never longer than its spelling.
        text.len() >= self.shortest
            && (self.is_in(text)
                || (has_numbers(text)
                    && Views::of(text).each(text).any(|(_, said, _)| self.is_in(said))))
    }

    /// Where they stand; those that overlap are one range.
    pub(super) fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let Some(finders) = self.finders.as_ref().filter(|_| self.is_in(text)) else {
            return Vec::new();
        };
        let mut ranges: Vec<Range<usize>> =
            finders.all.find_overlapping_iter(text).map(|found| found.range()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }

    /// Where the longest end of the text begins that more text could make one of them.
    pub(super) fn begun(&self, text: &str) -> Option<usize> {
        let text = text.as_bytes();
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        (from..text.len()).find(|start| {
            let end = &text[*start..];
            let begins = |one: &String| one.len() > end.len() && one.as_bytes().starts_with(end);
            self.spellings.iter().any(begins)
        })
    }

    /// The bytes with every spelling overwritten, in UTF-8 and UTF-16; their number is kept.
    pub(in crate::base) fn mask(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let forms = |one: &String| {
            let wide: Vec<u16> = one.encode_utf16().collect();
            let little = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big = wide.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            [one.clone().into_bytes(), little, big]
        };
        let forms: Vec<Vec<u8>> = self.spellings.iter().flat_map(forms).collect();
        let finder = (!forms.is_empty()).then(|| AhoCorasick::new(&forms).ok()).flatten();
        let Some(finder) = finder else { return bytes };
        let found: Vec<Range<usize>> =
            finder.find_overlapping_iter(&bytes).map(|found| found.range()).collect();
        for range in found {
            bytes[range].fill(b'*');
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(spellings: &[&str]) -> Known {
        Known::new(spellings.iter().map(|one| (*one).to_owned()).collect())
    }

    #[test]
    fn overlapping_values_are_one_range_and_touching_ones_two() {
        let known = known(&["abcd", "cdef", "bc"]);
        assert_eq!(known.ranges("xabcdefabcd"), [1..7, 7..11]);
        assert!(known.ranges("abd").is_empty());
    }

    #[test]
    fn beginnings_are_seen_at_the_end() {
        let known = known(&["secret", "ret!"]);
        let begun = |text: &str| known.begun(text);
        assert_eq!(
            [begun("a sec"), begun("a s"), begun("a"), begun("")],
            [Some(2), Some(2), None, None]
        );
        assert_eq!(begun("a secret"), Some(5));
    }

    #[test]
    fn bytes_are_overwritten_in_place() {
        let wide: Vec<u8> = "key1".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let bytes = [b"\xff key1 ".as_slice(), &wide].concat();
        assert_eq!(known(&["key1"]).mask(bytes), b"\xff **** ********");
        assert_eq!(known(&[]).mask(b"key1".to_vec()), b"key1");
    }
}
