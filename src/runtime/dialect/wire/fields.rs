//! JSON of a provider, member by member. A member of an unexpected kind is as good as none: what
//! is odd in one place must not lose a call in another.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{Fault, Trouble, shown};

/// The members of an object, as they stand.
#[derive(Default)]
pub(super) struct Fields<'a> {
    members: BTreeMap<String, &'a RawValue>,
    /// A member that stands twice. Two readers would choose differently.
    twice: Option<String>,
}

impl<'a> Fields<'a> {
    /// Reads an object; `None` for all else.
    pub(super) fn of(source: &'a RawValue) -> Option<Self> {
        serde_json::from_str(source.get()).ok()
    }

    /// Refuses an object in which a member stands twice.
    pub(super) fn plain(self) -> Result<Self, Fault> {
        match &self.twice {
            None => Ok(self),
            Some(key) => {
                let key = shown(&format!("{key:?}"));
                let message = format!("the member {key} stands twice in one object");
                Err(Fault::new(Trouble::Foreign, message))
            }
        }
    }

    /// Whether a member stands twice.
    pub(super) fn is_torn(&self) -> bool {
        self.twice.is_some()
    }

    /// A member; `null` is as good as none.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.get(key).copied().filter(|value| value.get() != "null")
    }

    /// A member that is text.
    pub(super) fn text(&self, key: &str) -> Option<Pieces> {
        self.get(key).and_then(text)
    }

    /// A member that is text and not empty, as a word.
    pub(super) fn word(&self, key: &str) -> Option<String> {
        self.text(key).map(Pieces::text).filter(|word| !word.trim().is_empty())
    }

    /// A member that is a whole number, also where it is written as text.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.get().trim_matches('"').parse().ok()
    }

    /// A member that is `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get() == "true")
    }

    /// A member that is an object.
    pub(super) fn object(&self, key: &str) -> Option<Self> {
        self.get(key).and_then(Self::of)
    }

    /// A member that is a list, or an object in place of a list of one.
    pub(super) fn list(&self, key: &str) -> Vec<&'a RawValue> {
        self.get(key).map(items).unwrap_or_default()
    }

    /// Argument text: what a string says, any other value as it stands.
    pub(super) fn argument(&self, key: &str) -> Option<Pieces> {
        self.get(key).map(|value| text(value).unwrap_or_else(|| Pieces::from(value.get())))
    }
}

/// The text of a string.
pub(super) fn text(source: &RawValue) -> Option<Pieces> {
    serde_json::from_str(source.get()).ok()
}

/// The items of a list, or one object in its place.
pub(super) fn items(source: &RawValue) -> Vec<&RawValue> {
    if source.get().starts_with('{') {
        return vec![source];
    }
    serde_json::from_str(source.get()).unwrap_or_default()
}

/// What a provider says of its own failure: a member `error` that says something, or an object
/// that calls itself an error.
pub(super) fn failure(fields: &Fields<'_>) -> Option<String> {
    let named = |key| fields.word(key).as_deref() == Some("error");
    let inner = fields.get("error").and_then(said);
    inner.or_else(|| {
        (named("type") || named("object"))
            .then(|| explained(fields).unwrap_or_else(|| "it does not say why".to_owned()))
    })
}

fn said(error: &RawValue) -> Option<String> {
    if let Some(text) = text(error).map(Pieces::text) {
        return (!text.trim().is_empty()).then_some(text);
    }
    let fields = Fields::of(error);
    let empty = fields.as_ref().is_some_and(|fields| fields.members.is_empty());
    if empty || matches!(error.get(), "false" | "0" | "[]") {
        return None;
    }
    Some(fields.as_ref().and_then(explained).unwrap_or_else(|| error.get().to_owned()))
}

/// Code and message of an error.
pub(super) fn explained(fields: &Fields<'_>) -> Option<String> {
    let kind = ["type", "status", "code"].into_iter().find_map(|key| {
        let number = || fields.number(key).map(|number| number.to_string());
        fields.word(key).or_else(number).filter(|kind| kind != "error")
    });
    let message = ["message", "detail", "error_message"].into_iter().find_map(|key| {
        fields.word(key).or_else(|| fields.get(key).map(|value| value.get().to_owned()))
    });
    match (kind, message) {
        (Some(kind), Some(message)) => Some(format!("{kind}: {message}")),
        (one, other) => other.or(one),
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<Pieces>()? {
            let (key, value) = (key.text(), map.next_value()?);
            if fields.members.insert(key.clone(), value).is_some() {
                fields.twice = Some(key);
            }
        }
        Ok(fields)
    }
}

/// Text that comes in pieces. JSON may spell a character as two escapes, and a provider may send
/// one in each of two pieces: halves are kept until they meet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pieces(Vec<u8>);

impl From<&str> for Pieces {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Pieces {
    /// Adds the next piece.
    pub(super) fn push(&mut self, next: &Self) {
        self.0.extend_from_slice(&next.0);
    }

    /// The bytes so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is white space and nothing else.
    pub(super) fn is_blank(&self) -> bool {
        self.0.trim_ascii().is_empty()
    }

    /// The text; half a character is shown as a replacement.
    pub(super) fn text(self) -> String {
        whole(self.0, |_| char::REPLACEMENT_CHARACTER.to_string())
    }

    /// The text of arguments; half a character stays an escape, which no reader of JSON takes.
    pub(super) fn arguments(self) -> String {
        whole(self.0, |half| format!("\\u{half:04x}"))
    }
}

impl<'de> Deserialize<'de> for Pieces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, because half a character is no `str`.
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Pieces;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Pieces, E> {
        Ok(Pieces(bytes.to_vec()))
    }
}

/// Joins halves of characters that follow each other.
fn whole(bytes: Vec<u8>, lone: impl Fn(u16) -> String) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let (mut out, mut rest) = (String::new(), bytes.as_slice());
    while !rest.is_empty() {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        out.push_str(valid);
        rest = &rest[valid.len()..];
        let Some(first) = half(rest) else {
            // Nothing is left, or what JSON cannot have spelled.
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let pair = half(&rest[3..]).map(|second| [first, second]);
        match pair.and_then(|pair| char::decode_utf16(pair).next()?.ok().map(|one| (one, pair))) {
            Some((one, _)) => {
                out.push(one);
                rest = &rest[6..];
            }
            None => {
                out.push_str(&lone(first));
                rest = &rest[3..];
            }
        }
    }
    out
}

/// Half a character at the beginning: three bytes as UTF-8 would spell the number.
fn half(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, ..] => {
            Some(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(spelled: &[&str]) -> Pieces {
        let mut all = Pieces::default();
        for one in spelled {
            all.push(&serde_json::from_str(one).unwrap());
        }
        all
    }

    #[test]
    fn halves_of_a_character_meet_across_pieces() {
        let check = |spelled: &[&str], text: &str, arguments: &str| {
            assert_eq!(pieces(spelled).text(), text, "{spelled:?}");
            assert_eq!(pieces(spelled).arguments(), arguments, "{spelled:?}");
        };
        check(&[r#""a""#, r#""é""#], "aé", "aé");
        check(&[r#""\ud83c""#, r#""\udf27 x""#], "🌧 x", "🌧 x");
        check(&[r#""a\ud83c""#, r#""b""#], "a\u{FFFD}b", "a\\ud83cb");
        check(&[r#""\udf27\ud83c""#, r#""\udf27""#], "\u{FFFD}🌧", "\\udf27🌧");
        check(&[r#""\ud83c""#], "\u{FFFD}", "\\ud83c");
    }

    #[test]
    fn what_says_nothing_is_no_failure() {
        let check = |text: &str, expected: Option<&str>| {
            let fields: Fields<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(failure(&fields).as_deref(), expected, "{text}");
        };
        check(r#"{"error": null}"#, None);
        check(r#"{"error": {}}"#, None);
        check(r#"{"error": ""}"#, None);
        check(r#"{"error": false}"#, None);
        check(r#"{"type": "message"}"#, None);
        check(r#"{"error": "quota"}"#, Some("quota"));
        check(r#"{"error": {"message": "slow down", "type": "rate"}}"#, Some("rate: slow down"));
        check(r#"{"error": {"message": {"a": 1}}}"#, Some("{\"a\": 1}"));
        check(r#"{"error": {"x": 1}}"#, Some("{\"x\": 1}"));
        check(r#"{"error": [3]}"#, Some("[3]"));
        check(r#"{"object": "error", "message": "no model", "code": 404}"#, Some("404: no model"));
        check(r#"{"type": "error"}"#, Some("it does not say why"));
    }
}
