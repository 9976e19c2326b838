//! What a descriptor must say before it is verified (seed B section 10 and invariants 13, 14):
//! authority that fits its effects, and confinement that fits the way it runs.
//!
//! Each rule is one function from a descriptor to what is wrong; a rule with nothing to say about
//! a tool says nothing. What a check cannot see in the descriptor alone is for the review.

use std::fmt;
use std::sync::LazyLock;

use serde_json::Value;

use super::lifecycle::Hold;
use super::source::words;
use crate::base::secret::SecretSet;
use crate::tool::descriptor::{
    ApprovalPolicy, Descriptor, EgressPolicy, SandboxMode, SourceType, TrustLevel,
};
use crate::tool::effect::ActionType;
use crate::tool::risk::{self, Level};
use crate::tool::undo;

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

/// One rule.
struct Rule {
    name: &'static str,
    hold: Hold,
    help: &'static str,
    judge: fn(&Descriptor) -> Option<String>,
}

const RULES: [Rule; 10] = [
    Rule {
        name: "undeclared-change",
        hold: Hold::Permission,
        help: "name what it changes under `effects.writes` or `effects.deletes`",
        judge: undeclared_change,
    },
    Rule {
        name: "undeclared-sending",
        hold: Hold::Permission,
        help: "set `effects.externalCalls`",
        judge: undeclared_sending,
    },
    Rule {
        name: "weak-confirmation",
        hold: Hold::Permission,
        help: "support a dry run, or set `permissions.approvalPolicy` to `on_risk` or `always`",
        judge: weak_confirmation,
    },
    Rule {
        name: "secret-argument",
        hold: Hold::Permission,
        help: "name the secret under `credentials.requiredSecrets` and drop the parameter",
        judge: secret_argument,
    },
    Rule {
        name: "secret-value",
        hold: Hold::Permission,
        help: "take the value out, and change it where it is used",
        judge: secret_value,
    },
    Rule {
        name: "empty-claim-to-undo",
        hold: Hold::Permission,
        help: "name an inverse, or drop `effects.reversible`",
        judge: undo::claims,
    },
    Rule {
        name: "no-egress",
        hold: Hold::Sandbox,
        help: "set `sandbox.network.egressPolicy: allowlist` and `allowDomains`",
        judge: no_egress,
    },
    Rule {
        name: "no-confinement",
        hold: Hold::Sandbox,
        help: "set `sandbox.mode` to what it needs",
        judge: no_confinement,
    },
    Rule {
        name: "no-blocked-paths",
        hold: Hold::Sandbox,
        help: "list what it must never touch under `sandbox.filesystem.blockedPaths`",
        judge: no_blocked_paths,
    },
    Rule {
        name: "no-limits",
        hold: Hold::Sandbox,
        help: "set `sandbox.limits.maxMemoryMb` and `maxOutputBytes`",
        judge: no_limits,
    },
];

/// Everything that is wrong: permission lints, then sandbox lints.
pub fn lint(descriptor: &Descriptor) -> Vec<Finding> {
    let find = |rule: &Rule| {
        let message = (rule.judge)(descriptor)?;
        Some(Finding { rule: rule.name, hold: rule.hold, message, help: rule.help })
    };
    RULES.iter().filter_map(find).collect()
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

/// Whether a program of somebody else runs on this machine for it.
fn runs_a_program(descriptor: &Descriptor) -> bool {
    matches!(descriptor.source.r#type, SourceType::Cli | SourceType::Skill)
        || !descriptor.execution.command.is_empty()
}

/// Invariant 13: whoever says that it changes something says what.
fn undeclared_change(descriptor: &Descriptor) -> Option<String> {
    let effects = &descriptor.effects;
    let changes = |action: &ActionType| match action {
        ActionType::Write
        | ActionType::Patch
        | ActionType::Delete
        | ActionType::Deploy
        | ActionType::Purchase
        | ActionType::Admin
        | ActionType::MemoryWrite => true,
        ActionType::Read
        | ActionType::Search
        | ActionType::Inspect
        | ActionType::Compute
        | ActionType::Transform
        | ActionType::Generate
        | ActionType::Execute
        | ActionType::ExternalSend
        | ActionType::Auth
        | ActionType::MemoryRead
        | ActionType::SubagentDelegate => false,
    };
    let says = effects.mutates_state || descriptor.intent.action_types.iter().any(changes);
    (says && effects.writes.is_empty() && effects.deletes.is_empty())
        .then(|| "it changes something, and declares no write and no deletion".to_owned())
}

fn undeclared_sending(descriptor: &Descriptor) -> Option<String> {
    let effects = &descriptor.effects;
    let sends = effects.sends_user_data
        || descriptor.intent.action_types.contains(&ActionType::ExternalSend);
    (sends && !effects.external_calls)
        .then(|| "it sends something outside, and declares no external call".to_owned())
}

/// Invariant 14. The level asks strongly by itself; only a wish not to be asked is in the way.
fn weak_confirmation(descriptor: &Descriptor) -> Option<String> {
    let destroys = risk::level(descriptor) == Level::L5;
    let strong = match descriptor.permissions.approval_policy {
        ApprovalPolicy::OnRisk | ApprovalPolicy::Always => true,
        ApprovalPolicy::Never | ApprovalPolicy::OnRequest => false,
    };
    (destroys && !strong && !descriptor.effects.dry_run_supported)
        .then(|| "it destroys or administers, without a dry run or a confirmation".to_owned())
}

/// Names of parameters that carry a secret; each is a run of words.
const SECRETS: [&[&str]; 12] = [
    &["password"],
    &["passwd"],
    &["passphrase"],
    &["secret"],
    &["apikey"],
    &["api", "key"],
    &["access", "token"],
    &["auth", "token"],
    &["bearer", "token"],
    &["refresh", "token"],
    &["private", "key"],
    &["credentials"],
];

/// Invariant 7: a model that fills in a secret has seen it.
fn secret_argument(descriptor: &Descriptor) -> Option<String> {
    let properties = descriptor.schemas.input_schema.get("properties")?.as_object()?;
    let secret = |name: &str| {
        let words = words(name);
        SECRETS.iter().any(|run| {
            let last = words.len().saturating_sub(run.len());
            words.iter().skip(last).eq(run.iter())
        })
    };
    let takes_text = |schema: &Value| {
        schema.get("type").is_none_or(|kind| {
            kind == "string"
                || kind.as_array().is_some_and(|kinds| kinds.contains(&"string".into()))
        })
    };
    let found = properties.iter().find(|(name, schema)| secret(name) && takes_text(schema));
    found.map(|(name, _)| format!("a model would have to fill in `{}`", name.escape_debug()))
}

/// A value that looks like a secret where anybody can read it.
fn secret_value(descriptor: &Descriptor) -> Option<String> {
    static SHAPES: LazyLock<SecretSet> = LazyLock::new(|| SecretSet::new([]).with_patterns(true));
    let text = serde_json::to_string(descriptor).unwrap_or_default();
    (SHAPES.scrub(&text) != text).then(|| "a value in it looks like a secret".to_owned())
}

/// An MCP server's own traffic is not ours to see; whatever else calls outside says where to.
fn no_egress(descriptor: &Descriptor) -> Option<String> {
    let network = &descriptor.sandbox.network;
    let ours = runs_a_program(descriptor) || descriptor.source.r#type == SourceType::Http;
    let named = match network.egress_policy {
        EgressPolicy::Allowlist => !network.allow_domains.is_empty(),
        EgressPolicy::None | EgressPolicy::Open => false,
    };
    (descriptor.effects.external_calls && ours && !named)
        .then(|| "it calls outside, and does not say which hosts".to_owned())
}

fn no_confinement(descriptor: &Descriptor) -> Option<String> {
    (runs_a_program(descriptor) && descriptor.sandbox.mode == SandboxMode::None)
        .then(|| "it runs a program, and asks for no sandbox".to_owned())
}

fn no_blocked_paths(descriptor: &Descriptor) -> Option<String> {
    (runs_a_program(descriptor) && descriptor.sandbox.filesystem.blocked_paths.is_empty())
        .then(|| "it runs a program, and no path is blocked for it".to_owned())
}

fn no_limits(descriptor: &Descriptor) -> Option<String> {
    let limits = &descriptor.sandbox.limits;
    let bound = limits.max_memory_mb.is_some() && limits.max_output_bytes.is_some();
    (runs_a_program(descriptor) && !bound)
        .then(|| "it runs a program, and its memory or its output has no limit".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::manifest;

    const READ: &str = "\
schema: proofmark/tool@1
toolId: shelf.read
description: {summary: Return the text of one book.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {title: {type: string}}}}
effects: {reads: ['database:books'], writes: []}
";
    const RUN: &str = "\
schema: proofmark/tool@1
toolId: shelf.sort
description: {summary: Sort the shelf.}
intent: {actionTypes: [execute]}
schemas: {inputSchema: {type: object}}
effects: {reads: [], writes: ['workspace:**'], externalCalls: true}
execution: {adapter: 'builtin:command.run', command: [sort]}
sandbox:
  mode: workspace_write
  filesystem: {blockedPaths: [.git]}
  network: {egressPolicy: allowlist, allowDomains: [example.org]}
  limits: {maxMemoryMb: 64, maxOutputBytes: 1000}
";

    const COMMAND: &str =
        "'builtin:command.run', command: [sort]}\nsandbox:\n  mode: workspace_write";
    const SIMULATED: &str = "simulated, command: [sort]}\nsandbox:\n  mode: none";

    fn check(text: &str, from: &str, to: &str, expected: &[&str]) {
        assert!(text.contains(from), "{from}");
        let tool = manifest::parse("t.yaml", &text.replace(from, to)).unwrap();
        let found: Vec<&str> = lint(&tool).into_iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected, "{from} -> {to}");
    }

    #[test]
    fn each_rule_has_a_good_and_a_bad_example() {
        let mut shown: std::collections::BTreeSet<&str> = Default::default();
        let never = "deletes: ['x:y']}\npermissions: {approvalPolicy: never}";
        let secret = "properties: {password: {type: string}}";
        let key = "book ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        for (text, from, to, expected) in [
            (READ, "[read]", "[read]", &[] as &[&str]),
            (READ, "[read]", "[write]", &["undeclared-change"]),
            (READ, "writes: []", "writes: ['x:y'], mutatesState: true", &[]),
            (READ, "writes: []", "writes: [], mutatesState: true", &["undeclared-change"]),
            (READ, "writes: []", "writes: [], sendsUserData: true", &["undeclared-sending"]),
            (READ, "writes: []", "writes: [], sendsUserData: true, externalCalls: true", &[]),
            (READ, "writes: []}", "writes: [], deletes: ['x:y']}", &[]),
            (READ, "writes: []}", &format!("writes: [], {never}"), &["weak-confirmation"]),
            (READ, "properties: {title: {type: string}}", secret, &["secret-argument"]),
            (READ, "{title: {type: string}}", "{secretCount: {type: string}}", &[]),
            (READ, "{title: {type: string}}", "{has_secret: {type: boolean}}", &[]),
            (READ, "{title: {type: string}}", "{apiKey: {type: string}}", &["secret-argument"]),
            (READ, "{title: {type: string}}", "{pageToken: {type: string}}", &[]),
            (READ, "one book", key, &["secret-value"]),
            (READ, "writes: []", "writes: [], reversible: true", &["empty-claim-to-undo"]),
            (RUN, "mode: workspace_write", "mode: workspace_write", &[]),
            (RUN, "mode: workspace_write", "mode: none", &["no-confinement"]),
            (RUN, COMMAND, SIMULATED, &["no-confinement"]),
            (RUN, "[example.org]", "[]", &["no-egress"]),
            (RUN, "allowlist", "open", &["no-egress"]),
            (RUN, "[.git]", "[]", &["no-blocked-paths"]),
            (RUN, "maxMemoryMb: 64, ", "", &["no-limits"]),
        ] {
            check(text, from, to, expected);
            shown.extend(expected);
        }
        let rules: std::collections::BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!((shown, rules.len()), (rules.clone(), RULES.len()), "one bad example each");
    }

    #[test]
    fn permission_lints_come_before_sandbox_lints() {
        let holds: Vec<Hold> = RULES.iter().map(|rule| rule.hold).collect();
        assert!(holds.is_sorted(), "{holds:?}");
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
