//! Names of tools.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// What a tool id may be made of: MCP's name alphabet (`server/tools`: 1 to 128 of
/// `[A-Za-z0-9_.-]`).
pub const ID_PATTERN: &str = "^[A-Za-z0-9_.-]{1,128}$";

/// The canonical name of a tool, such as `file.read`; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ToolId(Arc<str>);

impl ToolId {
    /// Checks the alphabet and the length.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
        fits.then(|| Self(text.into()))
    }

    /// The nearest id to any text: other characters become `_`, the length is cut to 128.
    pub fn sanitized(text: &str) -> Self {
        let keep = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
        let mut clean: String = text.chars().map(keep).take(128).collect();
        if clean.is_empty() {
            clean.push('_');
        }
        Self(clean.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ToolId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl de::Visitor<'_> for Text {
    type Value = ToolId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ToolId, E> {
        ToolId::parse(text).ok_or_else(|| E::custom(format!("`{text}` is no tool id")))
    }
}

impl JsonSchema for ToolId {
    fn schema_name() -> Cow<'static, str> {
        "ToolId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": ID_PATTERN})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabet_and_length() {
        assert!(ToolId::parse("file.read_2-x").is_some());
        for bad in ["", "a b", "a/b", "é", &"x".repeat(129)] {
            assert_eq!(ToolId::parse(bad), None, "{bad}");
            assert!(ToolId::parse(ToolId::sanitized(bad).as_str()).is_some(), "{bad}");
        }
        assert_eq!(ToolId::sanitized("srv/a b").as_str(), "srv_a_b");
    }
}
