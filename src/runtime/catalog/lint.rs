//! What a descriptor must say before it is verified (seed B section 10 and invariants 13, 14):
//! authority that fits its effects, and confinement that fits the way it runs.
//!
//! The rules are those of [`crate::lint`]; here stands which of them hold a tool, whatever their
//! level is for its author. What no rule can see in the descriptor alone is for the review.

use std::fmt;

use super::lifecycle::Hold;
use crate::lint::{Subject, registry};
use crate::tool::descriptor::{Descriptor, SourceType, TrustLevel};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule, by name.
    pub rule: &'static str,
    /// What holds the tool for it.
    pub hold: Hold,
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// What to change.
    pub help: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.rule, self.message, self.help)
    }
}

/// The rules that hold a tool, in the order in which they are told.
const HOLDING: [(&str, Hold); 10] = [
    ("undeclared-change", Hold::Permission),
    ("undeclared-sending", Hold::Permission),
    ("weak-confirmation", Hold::Permission),
    ("secret-argument", Hold::Permission),
    ("secret-value", Hold::Permission),
    ("empty-claim-to-undo", Hold::Permission),
    ("no-egress", Hold::Sandbox),
    ("no-confinement", Hold::Sandbox),
    ("no-blocked-paths", Hold::Sandbox),
    ("no-limits", Hold::Sandbox),
];

/// Everything that holds a tool: permission lints, then sandbox lints.
pub fn lint(descriptor: &Descriptor) -> Vec<Finding> {
    let tool = Subject::of_descriptor(descriptor);
    let find = |(name, hold): (&str, Hold)| {
        let rule = registry::rule(name)?;
        let found = rule.judge_alone(&tool).into_iter().next()?;
        Some(Finding { rule: rule.name, hold, message: found.message, help: rule.fix })
    };
    HOLDING.into_iter().filter_map(find).collect()
}

/// Why a named person must look at a tool before it is verified: it came over MCP, which is a
/// protocol and no boundary, or from a source that nobody here answers for. `None` where nobody
/// must.
pub fn needs_review(descriptor: &Descriptor) -> Option<String> {
    let source = descriptor.source.r#type;
    let foreign = match descriptor.provenance.trust_level {
        TrustLevel::FirstParty | TrustLevel::Workspace => None,
        TrustLevel::ThirdParty => Some("third party"),
        TrustLevel::Untrusted => Some("untrusted"),
    };
    match (source, foreign) {
        (SourceType::Mcp, _) => {
            Some(format!("it comes over MCP from `{}`", descriptor.source.source_id))
        }
        (_, Some(trust)) => Some(format!("its source `{}` is {trust}", source_name(source))),
        (_, None) => None,
    }
}

/// The kind of a source as journals name it.
pub fn source_name(source: SourceType) -> &'static str {
    match source {
        SourceType::Builtin => "builtin",
        SourceType::Cli => "cli",
        SourceType::Skill => "skill",
        SourceType::Mcp => "mcp",
        SourceType::Http => "http",
        SourceType::Subagent => "subagent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::Scope;
    use crate::tool::manifest;

    const READ: &str = "\
schema: proofmark/tool@1
toolId: shelf.read
description: {summary: Return the text of one book.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {title: {type: string}}}}
effects: {reads: ['database:books'], writes: []}
";

    /// What holds the tool of these changes to a tool that nothing holds.
    fn check(from: &str, to: &str, expected: &[(&str, Hold)]) {
        assert!(READ.contains(from), "{from}");
        let tool = manifest::parse("t.yaml", &READ.replace(from, to)).unwrap();
        let found: Vec<_> = lint(&tool).iter().map(|one| (one.rule, one.hold)).collect();
        assert_eq!(found, expected, "{from} -> {to}");
    }

    /// That each finds what it is to find is shown where the rules are.
    #[test]
    fn whatever_holds_a_tool_is_a_rule_about_one_tool() {
        for (name, _) in HOLDING {
            let scope = registry::rule(name).map(|rule| rule.scope());
            assert_eq!(scope, Some(Scope::Tool), "{name}");
        }
        let holds = HOLDING.map(|(_, hold)| hold);
        assert!(holds.is_sorted(), "permission lints come first: {holds:?}");
    }

    #[test]
    fn a_tool_is_held_for_what_the_rules_find() {
        use Hold::{Permission, Sandbox};
        check("[read]", "[read]", &[]);
        // A rule that is advice holds nothing.
        check("Return the text of one book.", "Read.", &[]);
        check("[read]", "[write]", &[("undeclared-change", Permission)]);
        check("title:", "password:", &[("secret-argument", Permission)]);
        let run = "execution: {command: [sort]}\nsandbox: {mode: none}";
        let alone = format!("{run}\ntoolId");
        let bare = ["no-confinement", "no-blocked-paths", "no-limits"].map(|name| (name, Sandbox));
        check("toolId", &alone, &bare);
        let both = format!("writes: [], reversible: true}}\n{run}");
        let first = [("empty-claim-to-undo", Permission)];
        check("writes: []}", &both, &[&first[..], &bare].concat());
    }

    #[test]
    fn who_must_be_looked_at() {
        for (from, to, expected) in [
            ("toolId", "toolId", false),
            ("toolId", "provenance: {trustLevel: workspace}\ntoolId", false),
            ("toolId", "provenance: {trustLevel: third_party}\ntoolId", true),
            ("toolId", "source: {type: cli}\ntoolId", false),
            ("toolId", "source: {type: skill}\nprovenance: {trustLevel: untrusted}\ntoolId", true),
            // A server's word about itself counts for nothing.
            ("toolId", "source: {type: mcp}\ntoolId", true),
        ] {
            let tool = manifest::parse("t.yaml", &READ.replace(from, to)).unwrap();
            assert_eq!(needs_review(&tool).is_some(), expected, "{to}");
        }
    }
}
