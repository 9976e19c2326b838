//! What a call touches: action types, resource patterns, the effect class.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// The 18 kinds of action (seed B section 7).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the field's own words")]
pub enum ActionType {
    Read,
    Search,
    Inspect,
    Compute,
    Transform,
    Generate,
    Write,
    Patch,
    Execute,
    Deploy,
    ExternalSend,
    Purchase,
    Delete,
    Admin,
    Auth,
    MemoryRead,
    MemoryWrite,
    SubagentDelegate,
}

/// A set of resources, `kind:glob`, such as `workspace:src/**`.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub struct ResourcePattern {
    text: String,
    // Compiled at the first question: results are held against the same patterns call after call.
    matcher: OnceLock<Option<GlobMatcher>>,
}

impl ResourcePattern {
    /// A pattern of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), matcher: OnceLock::new() }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part before the colon.
    pub fn kind(&self) -> &str {
        self.text.split_once(':').map_or("", |(kind, _)| kind)
    }

    /// The part after the colon.
    pub fn glob(&self) -> &str {
        self.text.split_once(':').map_or(self.as_str(), |(_, glob)| glob)
    }

    /// `None` where the glob cannot be read.
    fn matcher(&self) -> Option<&GlobMatcher> {
        let compiled = || Glob::new(self.glob()).ok().map(|glob| glob.compile_matcher());
        self.matcher.get_or_init(compiled).as_ref()
    }

    /// Whether it lies inside the trial's or the session's own workspace.
    pub fn is_workspace(&self) -> bool {
        self.kind() == "workspace"
    }

    /// Whether this pattern covers one concrete resource, `kind:name`.
    pub fn covers(&self, resource: &str) -> bool {
        let Some((kind, name)) = resource.split_once(':') else { return false };
        kind == self.kind() && self.matcher().is_some_and(|glob| glob.is_match(name))
    }

    /// Whether one resource may belong to both; in doubt it does. A name without a wildcard stands
    /// for itself and for what lies below it, as a folder does.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (own, theirs) = (self.literal(), other.literal());
        self.kind() == other.kind()
            && match (own == self.glob(), theirs == other.glob()) {
                (true, true) => within(own, theirs) || within(theirs, own),
                (true, false) => other.may_cover(own) || within(theirs, own),
                (false, true) => self.may_cover(theirs) || within(own, theirs),
                (false, false) => own.starts_with(theirs) || theirs.starts_with(own),
            }
    }

    /// The glob up to its first wildcard.
    fn literal(&self) -> &str {
        let glob = self.glob();
        glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or(glob)
    }

    /// Whether the glob matches a name; one that cannot be read matches whatever begins like it.
    fn may_cover(&self, name: &str) -> bool {
        match self.matcher() {
            Some(glob) => glob.is_match(name),
            None => name.starts_with(self.literal()),
        }
    }
}

/// Whether a name is that of a folder or lies below it.
fn within(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('/') || folder.is_empty() || folder.ends_with('/')
    })
}

impl From<String> for ResourcePattern {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl PartialEq for ResourcePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ResourcePattern {}

impl Serialize for ResourcePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for ResourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ResourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl JsonSchema for ResourcePattern {
    fn schema_name() -> Cow<'static, str> {
        "ResourcePattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[a-z][a-z_]*:.+$",
            "description": "kind:glob, such as workspace:src/**"
        })
    }
}

/// The strictest thing a call may do (seed B principle 7). Ordered from mildest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing.
    Read,
    /// Changes the workspace or the agent's own memory.
    Write,
    /// Is visible outside.
    External,
    /// Removes, deploys, pays, administers, or handles secrets.
    Destructive,
}

impl EffectClass {
    /// The name as written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::External => "external",
            Self::Destructive => "destructive",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_resources() {
        let pattern = ResourcePattern::new("workspace:src/**");
        assert!(pattern.covers("workspace:src/a/b.rs") && pattern.is_workspace());
        assert!(!pattern.covers("workspace:tests/a.rs") && !pattern.covers("api:src/a"));
        assert!(!pattern.covers("nonsense"));
    }

    #[test]
    fn patterns_overlap_both_ways() {
        let overlap = |one: &str, other: &str| {
            let (one, other) = (ResourcePattern::new(one), ResourcePattern::new(other));
            assert_eq!(one.overlaps(&other), other.overlaps(&one), "{one} and {other}");
            one.overlaps(&other)
        };
        for (one, other) in [
            ("workspace:a.txt", "workspace:a.txt"),
            ("workspace:src", "workspace:src/a.rs"),
            ("workspace:src/", "workspace:src/a.rs"),
            ("workspace:src", "workspace:src/**"),
            ("workspace:src/a.rs", "workspace:src/*.rs"),
            ("workspace:**", "workspace:a/b"),
            ("workspace:src/**", "workspace:src/a/*"),
            // Whether these ever meet would take an analysis of both globs: in doubt they do.
            ("workspace:src/*.rs", "workspace:src/*.md"),
            ("workspace:src/[", "workspace:src/a"),
        ] {
            assert!(overlap(one, other), "{one} and {other}");
        }
        for (one, other) in [
            ("workspace:a.txt", "workspace:a.txt.bak"),
            ("workspace:src", "workspace:src2/a.rs"),
            ("workspace:src/**", "workspace:tests/**"),
            ("workspace:src/a.md", "workspace:src/*.rs"),
            ("workspace:a", "api:a"),
            ("workspace:*", "api:*"),
        ] {
            assert!(!overlap(one, other), "{one} and {other}");
        }
    }

    #[test]
    fn there_are_eighteen_action_types() {
        let schema = schemars::schema_for!(ActionType);
        let names = schema.get("enum").and_then(|names| names.as_array()).map(Vec::len);
        assert_eq!(names, Some(18));
    }
}
