//! Content digests: SHA-256 over length-prefixed fields under a domain tag.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

const PREFIX: &str = "sha256:";
const HEX: &[u8; 16] = b"0123456789abcdef";

impl Digest {
    /// Digest of one field: `Hasher::new(domain).field(bytes).finish()`.
    pub fn of(domain: &str, bytes: &[u8]) -> Self {
        Hasher::new(domain).field(bytes).finish()
    }

    /// The raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve hexadecimal digits, for people.
    pub fn short(&self) -> String {
        self.hex()[..12].to_owned()
    }

    /// All 64 hexadecimal digits without the prefix.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Reads `sha256:<64 hex>`; `None` when the text has another shape.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let mut bytes = [0; 32];
        unhex(digits, &mut bytes)?;
        Some(Self(bytes))
    }
}

/// Lower-case hexadecimal text of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    }
    out
}

/// Fills `out` from exactly twice as many lower-case hexadecimal digits.
pub fn unhex(digits: &str, out: &mut [u8]) -> Option<()> {
    let digits = digits.as_bytes();
    if digits.len() != out.len() * 2 {
        return None;
    }
    let mut wrong = 0;
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
        wrong |= high | low;
        *byte = high << 4 | low & 15;
    }
    (wrong < 16).then_some(())
}

/// What a hexadecimal digit stands for; 16 or more for what is none.
const VALUES: [u8; 256] = {
    let (mut values, mut at) = ([u8::MAX; 256], 0);
    while at < HEX.len() {
        values[HEX[at] as usize] = at as u8;
        at += 1;
    }
    values
};

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.short())
    }
}

/// As text; as bytes where nobody reads it.
impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        let mut text = [0_u8; PREFIX.len() + 64];
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        for (pair, byte) in text[PREFIX.len()..].chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        serializer.serialize_str(str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

/// Reads a digest where it stands: journals hold a few in every line.
struct Text;

impl de::Visitor<'_> for Text {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Digest, E> {
        Digest::parse(text)
            .ok_or_else(|| E::custom(format!("`{text}` is not sha256:<64 hex digits>")))
    }
}

impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"})
    }
}

/// Hashes a sequence of fields so that no two sequences share a digest by concatenation: the
/// domain tag and every field are prefixed by their length as eight little-endian bytes.
pub struct Hasher(Sha256);

impl Hasher {
    /// Starts under a domain tag, so that digests of different kinds never meet.
    pub fn new(domain: &str) -> Self {
        Self(Sha256::new()).field(domain.as_bytes())
    }

    /// Adds one field.
    #[must_use]
    pub fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// The digest of all fields so far.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let digest = Digest::of("test", b"x");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{digest}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        assert_eq!(Digest::parse("sha256:00"), None);
        assert_eq!(Digest::parse(&digest.to_string().to_uppercase()), None);
    }

    #[test]
    fn moving_a_boundary_changes_the_digest() {
        let ab_c = Hasher::new("d").field(b"ab").field(b"c").finish();
        let a_bc = Hasher::new("d").field(b"a").field(b"bc").finish();
        assert_ne!(ab_c, a_bc);
        assert_ne!(Digest::of("d", b"x"), Digest::of("e", b"x"));
    }
}
