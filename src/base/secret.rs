//! Secrets: held without being printable, found again in text, replaced.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

use zeroize::Zeroize;

use super::digest::{Digest, Hasher};
use super::redact::encoded::encoded;
use super::redact::known::Known;
use super::redact::{self, Rules, StreamScrubber};

/// Every canary begins so. A canary is a made-up secret that a trial plants; wherever one turns
/// up, something leaked.
pub const CANARY_PREFIX: &str = "pmk-canary-";

/// Whether a canary, or what begins like one, stands in a text, in any alphabet and behind escapes.
pub fn holds_canary(text: &str) -> bool {
    // Looked for in every text of every fact: the search is prepared once.
    static CANARY: LazyLock<Known> = LazyLock::new(|| {
        let plain = CANARY_PREFIX.to_owned();
        Known::new([plain].into_iter().chain(encoded(CANARY_PREFIX)).collect())
    });
    CANARY.is_behind(text)
}

/// What stands where a secret stood. It is valid inside a JSON string.
pub const REDACTED: &str = "[redacted]";

/// A value that cannot be printed or serialized by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The canary number `n` of a seed: the same seed and number give the same canary.
    pub fn canary(seed: &str, n: usize) -> Self {
        let digest = Hasher::new("canary").field(seed.as_bytes()).field(&n.to_le_bytes()).finish();
        Self(format!("{CANARY_PREFIX}{}", &digest.hex()[..20]))
    }

    /// The value itself, for the one place that must hand it over.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a text is the value, in a time that does not tell how much of it fits.
    pub fn is(&self, text: &str) -> bool {
        keyed_hash("comparison", text) == self.keyed_hash("comparison")
    }

    /// A digest under a key, by which a journal can name the secret without holding it.
    pub fn keyed_hash(&self, key: &str) -> Digest {
        keyed_hash(key, &self.0)
    }
}

/// Nothing of it is left in memory that was its own.
impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The keyed hash of a text, comparable with [`Secret::keyed_hash`].
pub fn keyed_hash(key: &str, text: &str) -> Digest {
    Hasher::new("secret").field(key.as_bytes()).field(text.as_bytes()).finish()
}

/// The known secrets of a session; replaces each of them in any text, and what looks like one.
#[derive(Clone, Default)]
pub struct SecretSet {
    values: Vec<Secret>,
    known: Known,
    by_value_alone: bool,
    /// What has been learnt since, in the place of everything above; shared by every copy.
    later: Arc<OnceLock<Box<SecretSet>>>,
}

impl SecretSet {
    /// Builds the set. Values of less than four characters, blanks around them not counted, are
    /// left out: replacing them would destroy ordinary text. A value is found with and without
    /// the blanks around it, and in other alphabets: Base64, hexadecimal digits, as a part of an
    /// address.
    pub fn new(values: impl IntoIterator<Item = Secret>) -> Self {
        let long = |value: &Secret| value.0.trim().chars().count() >= 4;
        let values: Vec<Secret> = values.into_iter().filter(long).collect();
        let mut spellings: Vec<String> = values.iter().map(|value| value.0.clone()).collect();
        spellings.extend(values.iter().map(|value| value.0.trim().to_owned()));
        spellings.extend(values.iter().flat_map(|value| encoded(value.0.trim())));
        spellings.sort_unstable();
        spellings.dedup();
        let later = Arc::default();
        Self { values, known: Known::new(spellings), by_value_alone: false, later }
    }

    /// Learns one more value, for every copy of this set at once.
    pub fn learn(&self, value: Secret) {
        let mut latest = self.latest();
        while !latest.values.contains(&value) {
            let values = latest.values.iter().cloned().chain([value.clone()]);
            let next = Self { by_value_alone: self.by_value_alone, ..Self::new(values) };
            match latest.later.set(Box::new(next)) {
                Ok(()) => return,
                // Somebody was faster: what they learnt stays too.
                Err(_) => latest = latest.latest(),
            }
        }
    }

    /// The set with everything that was learnt.
    fn latest(&self) -> &Self {
        let mut set = self;
        while let Some(later) = set.later.get() {
            set = later;
        }
        set
    }

    /// Whether texts are searched for the shapes of secrets too; they are unless told otherwise.
    #[must_use]
    pub fn with_patterns(self, patterns: bool) -> Self {
        Self { by_value_alone: !patterns, ..self }
    }

    /// How many secrets it knows.
    pub fn len(&self) -> usize {
        self.latest().values.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.latest().values.is_empty()
    }

    /// The secrets, for those who must hand them over or hash them.
    pub fn values(&self) -> &[Secret] {
        &self.latest().values
    }

    /// Bytes of the longest known secret.
    pub fn longest(&self) -> usize {
        self.latest().known.longest()
    }

    /// The text with every known secret replaced by [`REDACTED`], and what has the shape of one
    /// by a mark with that shape's name, `[redacted:NAME]`; borrowed when there was none. Escapes
    /// hide nothing, and valid JSON stays valid.
    pub fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redact::scrub(self.rules(), text)
    }

    /// As [`Self::scrub`], by known value alone: for text that is acted upon, where a shape that
    /// was mistaken for a secret would change what is done.
    pub fn scrub_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redact::scrub(Rules { patterns: false, ..self.rules() }, text)
    }

    /// Scrubs a text that comes in pieces.
    pub fn stream(&self) -> StreamScrubber<'_> {
        StreamScrubber::new(self)
    }

    /// Bytes that are no text, every known secret in them overwritten with `*`. Their number
    /// stays.
    pub fn mask(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.latest().known.mask(bytes)
    }

    /// What to look for.
    pub(in crate::base) fn rules(&self) -> Rules<'_> {
        Rules { known: &self.latest().known, patterns: !self.by_value_alone, personal: false }
    }
}

impl std::fmt::Debug for SecretSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretSet({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrubs_plain_and_escaped() {
        let set = SecretSet::new([Secret::new("to\"ken\n1"), Secret::new("abc")]);
        assert_eq!(set.len(), 1);
        assert_eq!(set.scrub("x to\"ken\n1 y"), "x [redacted] y");
        let json = serde_json::json!({"k": "to\"ken\n1"}).to_string();
        assert_eq!(set.scrub(&json), r#"{"k":"[redacted]"}"#);
        assert!(matches!(set.scrub("clean abc"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_learnt_is_known_to_every_copy_and_what_was_known_stays_so() {
        let set = SecretSet::new([Secret::new("first-one")]).with_patterns(false);
        let copy = set.clone();
        let stream = copy.stream();
        set.learn(Secret::new("second-one"));
        copy.learn(Secret::new("third-one"));
        for one in [&set, &copy] {
            assert_eq!((one.len(), one.longest() >= 10), (3, true));
            let scrubbed = one.scrub("first-one second-one third-one AKIAIOSFODNN7EXAMPLE");
            assert_eq!(scrubbed, "[redacted] [redacted] [redacted] AKIAIOSFODNN7EXAMPLE");
        }
        let mut stream = stream;
        let said = stream.push("a third-one b") + &stream.finish();
        assert_eq!(said, "a [redacted] b");
    }

    #[test]
    fn canaries_are_stable_and_distinct() {
        assert_eq!(Secret::canary("s", 1), Secret::canary("s", 1));
        assert_ne!(Secret::canary("s", 1), Secret::canary("s", 2));
        assert!(Secret::canary("s", 1).expose().starts_with(CANARY_PREFIX));
        assert_eq!(format!("{:?}", Secret::new("hunter22")), "Secret(..)");
    }
}
