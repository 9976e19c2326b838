//! What a call touches: action types, resource patterns, the effect class.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourcePattern(pub String);

impl ResourcePattern {
    /// The part before the colon.
    pub fn kind(&self) -> &str {
        self.0.split_once(':').map_or("", |(kind, _)| kind)
    }

    /// The part after the colon.
    pub fn glob(&self) -> &str {
        self.0.split_once(':').map_or(self.0.as_str(), |(_, glob)| glob)
    }

    /// Whether it lies inside the trial's or the session's own workspace.
    pub fn is_workspace(&self) -> bool {
        self.kind() == "workspace"
    }

    /// Whether this pattern covers one concrete resource, `kind:name`.
    pub fn covers(&self, resource: &str) -> bool {
        let Some((kind, name)) = resource.split_once(':') else { return false };
        kind == self.kind()
            && globset::Glob::new(self.glob())
                .is_ok_and(|glob| glob.compile_matcher().is_match(name))
    }
}

impl ResourcePattern {
    /// Whether both may name the same resource. Errs on the side of yes: two globs whose literal
    /// beginnings fit together overlap.
    pub fn overlaps(&self, other: &Self) -> bool {
        if self.kind() != other.kind() {
            return false;
        }
        let head = |glob: &str| {
            let end = glob.find(['*', '?', '[', '{']).unwrap_or(glob.len());
            (glob[..end].to_owned(), end == glob.len())
        };
        let ((left, exact_left), (right, exact_right)) = (head(self.glob()), head(other.glob()));
        match (exact_left, exact_right) {
            (true, true) => left == right,
            (true, false) => left.starts_with(&right),
            (false, true) => right.starts_with(&left),
            (false, false) => left.starts_with(&right) || right.starts_with(&left),
        }
    }
}

impl fmt::Display for ResourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
        let pattern = ResourcePattern("workspace:src/**".into());
        assert!(pattern.covers("workspace:src/a/b.rs") && pattern.is_workspace());
        assert!(!pattern.covers("workspace:tests/a.rs") && !pattern.covers("api:src/a"));
        assert!(!pattern.covers("nonsense"));
    }

    #[test]
    fn patterns_that_may_meet_overlap() {
        let check = |left: &str, right: &str, meet: bool| {
            let (l, r) = (ResourcePattern(left.into()), ResourcePattern(right.into()));
            assert_eq!((l.overlaps(&r), r.overlaps(&l)), (meet, meet), "{left} {right}");
        };
        check("workspace:a", "workspace:a", true);
        check("workspace:a", "workspace:ab", false);
        check("workspace:a/**", "workspace:a/b", true);
        check("workspace:a/**", "workspace:b/**", false);
        check("workspace:**", "workspace:a/b", true);
        check("workspace:a", "api:a", false);
        check("workspace:*.txt", "workspace:a/*", true);
    }

    #[test]
    fn there_are_eighteen_action_types() {
        let schema = schemars::schema_for!(ActionType);
        let names = schema.get("enum").and_then(|names| names.as_array()).map(Vec::len);
        assert_eq!(names, Some(18));
    }
}
