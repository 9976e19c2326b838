//! Truncation that says what was lost.

use super::media;
use super::secret::SecretSet;

/// A text cut to a limit, with the count of what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// At most the limit's number of Unicode scalar values.
    pub text: String,
    /// Scalar values before the cut.
    pub total_chars: usize,
    /// Whether anything was cut.
    pub cut: bool,
}

/// Where the words about a cut do not fit.
const ELLIPSIS: &str = "…";

/// Head and tail of a cut text are at least so many Unicode scalar values together.
const ENDS: usize = 3;

/// Cuts `text` to at most `max_chars` Unicode scalar values, the marker included, keeping head
/// and tail. Where they do not fit beside the marker, a shorter one is taken; where not even
/// that fits, the head alone is kept.
pub fn bound(text: &str, max_chars: usize) -> Bounded {
    // Bytes are never fewer than scalar values, so the common case needs no counting.
    let total_chars = text.chars().count();
    if text.len() <= max_chars || total_chars <= max_chars {
        return Bounded { text: text.to_owned(), total_chars, cut: false };
    }
    let marker = format!("\n[… {total_chars} characters in all; the middle is cut …]\n");
    let room = |marker: &str| max_chars.checked_sub(marker.chars().count() + ENDS);
    let marker = [marker.as_str(), ELLIPSIS].into_iter().find(|marker| room(marker).is_some());
    let Some(marker) = marker else {
        let text = text[..place(text, max_chars)].to_owned();
        return Bounded { text, total_chars, cut: true };
    };
    let ends = max_chars - marker.chars().count();
    let tail = ends / 3;
    let (head, rest) = text.split_at(place(text, ends - tail));
    let rest = &rest[place(rest, total_chars - ends)..];
    Bounded { text: [head, marker, rest].concat(), total_chars, cut: true }
}

/// The byte at which the scalar value of this number begins; the end where there are not so many.
fn place(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// At least so many bytes beyond its limit are kept of a stream, so that a secret across the limit
/// is seen whole.
const SPARE: usize = 1024;

/// The head of a stream of bytes, with the count of what there was. Nothing of it is shown before
/// it is scrubbed, and what is shown ends before a secret that the limit cuts.
#[derive(Clone)]
pub struct BoundedBytes<'a> {
    secrets: &'a SecretSet,
    kept: Vec<u8>,
    limit: usize,
    total: u64,
    left: bool,
}

impl<'a> BoundedBytes<'a> {
    /// Nothing yet; at most `limit` bytes will be shown.
    pub fn new(limit: u64, secrets: &'a SecretSet) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { secrets, kept: Vec::new(), limit, total: 0, left: false }
    }

    /// Keeps what there is room for and counts everything.
    pub fn extend(&mut self, bytes: &[u8]) {
        let room = self.most().saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.total = self.total.saturating_add(bytes.len() as u64);
    }

    /// Whether more bytes would only be counted.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= self.most()
    }

    /// Reading ends before the stream does. Where it is known how many bytes there are in all, they
    /// are counted; else there were at least those that came.
    pub fn leave(&mut self, total: Option<u64>) {
        self.left = total.is_none();
        self.total = self.total.max(total.unwrap_or_default());
    }

    /// The stream ended, and everything of it came.
    pub fn ended(&mut self) {
        self.left = false;
    }

    fn most(&self) -> usize {
        self.limit.saturating_add(SPARE.max(self.secrets.longest()))
    }

    /// Bytes there were, as far as they were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What kind of bytes they are; `None` for text.
    pub fn media_type(&self) -> Option<&'static str> {
        media::binary(&self.kept, self.is_cut())
    }

    /// The head as bytes, known secrets overwritten.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.secrets.mask(self.kept.clone());
        bytes.truncate(self.limit);
        bytes
    }

    /// The head as text, scrubbed, bytes that are no UTF-8 replaced, with a marker when something
    /// was cut.
    pub fn text(&self) -> String {
        let total = self.total;
        if !self.is_cut() {
            let text = String::from_utf8_lossy(&self.kept);
            return self.secrets.scrub(&text).into_owned();
        }
        let whole = total == self.kept.len() as u64 && !self.left;
        let text = String::from_utf8_lossy(if whole { &self.kept } else { characters(&self.kept) });
        let mut stream = self.secrets.stream();
        let mut text = stream.push(&text);
        if whole {
            text.push_str(&stream.finish());
        }
        // Without the end of the stream, what may be the beginning of a secret is not shown.
        text.truncate(text.floor_char_boundary(self.limit));
        let kept = text.len();
        let more = if self.left { "at least " } else { "" };
        text.push_str(&format!(
            "\n[… {more}{total} bytes in all; only the first {kept} are kept …]\n"
        ));
        text
    }

    fn is_cut(&self) -> bool {
        (self.left && self.total > 0) || self.total > (self.limit.min(self.kept.len())) as u64
    }
}

/// Without the beginning of a character at the end.
fn characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Secret;
    use proptest::prelude::*;

    #[test]
    fn keeps_head_and_tail() {
        let text = format!("head{}tail", "x".repeat(1000));
        let cut = bound(&text, 200);
        assert!(cut.cut && cut.text.starts_with("head") && cut.text.ends_with("tail"));
        assert_eq!(cut.total_chars, 1008);
        assert!(cut.text.contains("1008 characters"));
    }

    #[test]
    fn cut_bytes_say_so() {
        let secrets = SecretSet::default();
        let mut bytes = BoundedBytes::new(4, &secrets);
        bytes.extend(b"abc");
        assert_eq!(bytes.text(), "abc");
        bytes.extend(b"d");
        assert_eq!(bytes.text(), "abcd");
        bytes.extend(b"ef");
        assert_eq!(bytes.text(), "abcd\n[… 6 bytes in all; only the first 4 are kept …]\n");
    }

    #[test]
    fn a_stream_that_is_left_says_what_is_known_of_its_length() {
        let secrets = SecretSet::default();
        let left = |total| {
            let mut bytes = BoundedBytes::new(4, &secrets);
            while !bytes.is_full() {
                bytes.extend(&[b'x'; 100]);
            }
            bytes.leave(total);
            bytes.text()
        };
        let spare = "xxxx\n[… at least 1100 bytes in all; only the first 4 are kept …]\n";
        assert_eq!(left(None), spare);
        assert_eq!(left(Some(5000)), spare.replace("at least 1100", "5000"));
        // What broke off may end within a secret.
        let secrets = SecretSet::new([Secret::new("hunter22hunter22")]);
        for (total, said) in [(None, "at least 13"), (Some(40), "40")] {
            let mut bytes = BoundedBytes::new(100, &secrets);
            bytes.extend(b"abc hunter22h");
            bytes.leave(total);
            let kept = format!("abc \n[… {said} bytes in all; only the first 4 are kept …]\n");
            assert_eq!(bytes.text(), kept);
        }
    }

    #[test]
    fn no_character_is_cut() {
        let secrets = SecretSet::default();
        for (limit, head) in [(4, "ab"), (5, "ab…"), (6, "ab…")] {
            let mut bytes = BoundedBytes::new(limit, &secrets);
            bytes.extend("ab……".as_bytes());
            bytes.extend(&"…".repeat(2000).as_bytes()[..5000]);
            assert_eq!(bytes.media_type(), None);
            assert!(bytes.text().starts_with(&format!("{head}\n[… ")), "{}", bytes.text());
        }
    }

    /// A secret at every place around the limit, and around the end of what is kept.
    #[test]
    fn no_secret_is_cut_in_two() {
        let secret = Secret::canary("cut", 1);
        let secrets = SecretSet::new([secret.clone()]);
        let canary = secret.expose();
        let limit = 64;
        for at in (0..100).chain(limit + SPARE - 60..limit + SPARE + 20) {
            for after in [0, 3000] {
                let text = format!("{}{canary}{}", "x".repeat(at), "y".repeat(after));
                let mut bytes = BoundedBytes::new(limit as u64, &secrets);
                text.as_bytes().chunks(7).for_each(|chunk| bytes.extend(chunk));
                let shown = bytes.text();
                assert!(!shown.contains("pmk"), "{at}: {shown}");
                assert!(shown.starts_with(&"x".repeat(at.min(limit))), "{at}: {shown}");
                let binary = bytes.bytes();
                assert!(binary.len() <= limit);
                let rest = &binary[at.min(limit)..(at + canary.len()).min(limit)];
                assert!(rest.iter().all(|byte| *byte == b'*'), "{at}");
            }
        }
    }

    #[test]
    fn a_key_across_the_limit_is_not_shown() {
        let secrets = SecretSet::default();
        for at in 0..80 {
            let mut bytes = BoundedBytes::new(64, &secrets);
            let key =
                "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n".to_owned() + &"A\n".repeat(2000);
            bytes.extend(format!("{}\n{key}", "x".repeat(at)).as_bytes());
            assert!(!bytes.text().contains("MII"), "{at}: {}", bytes.text());
        }
    }

    proptest! {
        #[test]
        fn both_ends_are_kept(text in any::<String>(), max in 0_usize..300) {
            let cut = bound(&text, max);
            prop_assert!(cut.text.chars().count() <= max);
            prop_assert_eq!(cut.cut, text.chars().count() > max);
            if !cut.cut {
                prop_assert_eq!(cut.text, text);
            } else if max > ENDS {
                let (head, tail) = cut.text.split_once(['…', '\n']).unwrap_or_default();
                let tail = tail.rsplit(['…', '\n']).next().unwrap_or_default();
                prop_assert!(!head.is_empty() || text.starts_with(['…', '\n']));
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
            } else {
                prop_assert!(text.starts_with(&cut.text));
            }
        }
    }
}
