//! Secrets: held without being printable, found again in text, replaced.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};

use super::digest::{Digest, Hasher};

/// Every canary begins so. A canary is a made-up secret that a trial plants; wherever one turns
/// up, something leaked.
pub const CANARY_PREFIX: &str = "pmk-canary-";

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

    /// A digest under a key, by which a journal can name the secret without holding it.
    pub fn keyed_hash(&self, key: &str) -> Digest {
        keyed_hash(key, &self.0)
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

/// The known secrets of a session; replaces each of them in any text.
#[derive(Clone, Default)]
pub struct SecretSet {
    values: Vec<Secret>,
    finder: Option<AhoCorasick>,
}

impl SecretSet {
    /// Builds the set. Values shorter than four characters are left out: replacing them would
    /// destroy ordinary text.
    pub fn new(values: impl IntoIterator<Item = Secret>) -> Self {
        let values: Vec<Secret> =
            values.into_iter().filter(|value| value.0.chars().count() >= 4).collect();
        let mut patterns: Vec<String> = values.iter().map(|value| value.0.clone()).collect();
        // A secret inside JSON text stands there escaped.
        for value in &values {
            let escaped = serde_json::Value::from(value.0.as_str()).to_string();
            let inner = escaped[1..escaped.len() - 1].to_owned();
            if inner != value.0 {
                patterns.push(inner);
            }
        }
        let finder = (!patterns.is_empty())
            .then(|| {
                AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok()
            })
            .flatten();
        Self { values, finder }
    }

    /// How many secrets it knows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The secrets, for those who must hand them over or hash them.
    pub fn values(&self) -> &[Secret] {
        &self.values
    }

    /// The text with every known secret replaced by [`REDACTED`]; borrowed when there was none.
    pub fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.finder {
            Some(finder) if finder.is_match(text) => {
                let with = vec![REDACTED; finder.patterns_len()];
                Cow::Owned(finder.replace_all(text, &with))
            }
            _ => Cow::Borrowed(text),
        }
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
    fn canaries_are_stable_and_distinct() {
        assert_eq!(Secret::canary("s", 1), Secret::canary("s", 1));
        assert_ne!(Secret::canary("s", 1), Secret::canary("s", 2));
        assert!(Secret::canary("s", 1).expose().starts_with(CANARY_PREFIX));
        assert_eq!(format!("{:?}", Secret::new("hunter22")), "Secret(..)");
    }
}
