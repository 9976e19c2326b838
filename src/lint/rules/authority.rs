//! What a descriptor must say about its authority and its confinement (seed B section 10 and
//! invariants 13 and 14). Registration holds a tool for what they find, and for a few others.

use crate::lint::rule::{Found, Judge, Level, Place, RULE, Rule};
use crate::lint::subject::{Part, Subject};
use crate::tool::descriptor::{ApprovalPolicy, Descriptor, EgressPolicy, SandboxMode, SourceType};
use crate::tool::effect::ActionType;
use crate::tool::http::Method;
use crate::tool::risk;
use crate::tool::undo;

pub(in crate::lint) const RULES: [Rule; 8] = [
    Rule {
        name: "undeclared-change",
        level: Level::Error,
        reason: "It says that it changes something, and not what: no policy can judge it.",
        fix: "name what it changes under `effects.writes` or `effects.deletes`",
        good: &["[write]|writes: ['x:y']"],
        bad: &[
            "[write]",
            "writes: [], mutatesState: true",
            "writes: [], externalCalls: true}\nexecution: {adapter: http, http: {method: DELETE, \
             url: 'https://a.example', query: {q: '{title}'}}}\nsandbox: {mode: remote_api, \
             network: {egressPolicy: allowlist, allowDomains: [a.example]}",
        ],
        judge: Judge::Tool(|tool, _| own(tool, "/effects", undeclared_change)),
        ..RULE
    },
    Rule {
        name: "undeclared-sending",
        level: Level::Error,
        reason: "It sends something outside, as every HTTP operation does, and declares no \
                 external call.",
        fix: "set `effects.externalCalls`",
        good: &[
            "writes: [], sendsUserData: true, externalCalls: true",
            "writes: [], externalCalls: true}\nexecution: {adapter: http, http: {method: GET, url: \
             'https://a.example', query: {q: '{title}'}}}\nsandbox: {mode: remote_api, network: \
             {egressPolicy: allowlist, allowDomains: [a.example]}",
        ],
        bad: &[
            "writes: [], sendsUserData: true",
            "writes: []}\nexecution: {adapter: http, http: {method: GET, url: \
             'https://a.example', query: {q: '{title}'}}",
        ],
        judge: Judge::Tool(|tool, _| own(tool, "/effects", undeclared_sending)),
        ..RULE
    },
    Rule {
        name: "weak-confirmation",
        level: Level::Error,
        reason: "It destroys or administers without a dry run, and its author wants nobody asked \
                 (seed B, invariant 14).",
        fix: "support a dry run, or set `permissions.approvalPolicy` to `on_risk` or `always`",
        good: &["writes: [], deletes: ['x:y']"],
        bad: &["writes: [], deletes: ['x:y']}\npermissions: {approvalPolicy: never"],
        judge: Judge::Tool(|tool, _| own(tool, "/permissions/approvalPolicy", weak_confirmation)),
        ..RULE
    },
    Rule {
        name: "empty-claim-to-undo",
        level: Level::Error,
        reason: "It claims to be reversible, and nothing takes it back.",
        fix: "name an inverse under `execution.inverse`, or drop `effects.reversible`",
        good: &["writes: []"],
        bad: &["writes: [], reversible: true"],
        judge: Judge::Tool(|tool, _| own(tool, "/effects/reversible", undo::claims)),
        ..RULE
    },
    Rule {
        name: "no-egress",
        reason: "It calls outside, and does not say which hosts.",
        fix: "set `sandbox.network.egressPolicy: allowlist` and `allowDomains`",
        good: &["run:[example.org]"],
        bad: &[
            "run:[]",
            "writes: [], externalCalls: true}\nexecution: {adapter: http, http: {method: GET, url: \
             'https://a.example', query: {q: '{title}'}}",
        ],
        judge: Judge::Tool(|tool, _| own(tool, "/sandbox/network", no_egress)),
        ..RULE
    },
    Rule {
        name: "no-confinement",
        reason: "It runs a program, and asks for no sandbox.",
        fix: "set `sandbox.mode` to what it needs",
        good: &["run:mode: read_only"],
        bad: &["run:mode: none", "run:simulated, command: [sort]}\nsandbox:\n  mode: none"],
        judge: Judge::Tool(|tool, _| own(tool, "/sandbox/mode", no_confinement)),
        ..RULE
    },
    Rule {
        name: "no-blocked-paths",
        level: Level::Info,
        reason: "It runs a program, and no path is blocked for it.",
        fix: "list what it must never touch under `sandbox.filesystem.blockedPaths`",
        good: &["run:[.git]"],
        bad: &["run:blockedPaths: []"],
        judge: Judge::Tool(|tool, _| own(tool, "/sandbox/filesystem", no_blocked_paths)),
        ..RULE
    },
    Rule {
        name: "no-limits",
        level: Level::Info,
        reason: "It runs a program, and its memory or its output has no limit.",
        fix: "set `sandbox.limits.maxMemoryMb` and `maxOutputBytes`",
        good: &["run:[.git]"],
        bad: &["run:limits: {}"],
        judge: Judge::Tool(|tool, _| own(tool, "/sandbox/limits", no_limits)),
        ..RULE
    },
];

/// Judges the contract, where there is one.
fn own(
    tool: &Subject,
    pointer: &'static str,
    judge: fn(&Descriptor) -> Option<String>,
) -> Vec<Found> {
    let message = tool.descriptor.as_ref().and_then(|descriptor| judge(descriptor));
    message.map(|text| Found::new(Place::of(Part::Section(pointer)), text)).into_iter().collect()
}

/// Whether a program of somebody else runs on this machine for it.
fn runs_a_program(descriptor: &Descriptor) -> bool {
    matches!(descriptor.source.r#type, SourceType::Cli | SourceType::Skill)
        || !descriptor.execution.command.is_empty()
}

/// Whether a call is a request to a service outside.
fn calls_a_service(descriptor: &Descriptor) -> bool {
    descriptor.execution.http.is_some()
}

/// Invariant 13: whoever says that it changes something says what.
fn undeclared_change(descriptor: &Descriptor) -> Option<String> {
    let effects = &descriptor.effects;
    let changes = |action: &ActionType| {
        matches!(
            action,
            ActionType::Write
                | ActionType::Patch
                | ActionType::Delete
                | ActionType::Deploy
                | ActionType::Purchase
                | ActionType::Admin
                | ActionType::MemoryWrite
        )
    };
    // POST says nothing: many services search by it.
    let by_method =
        descriptor.execution.http.as_ref().is_some_and(|http| {
            matches!(http.method, Method::Put | Method::Patch | Method::Delete)
        });
    let says =
        by_method || effects.mutates_state || descriptor.intent.action_types.iter().any(changes);
    (says && effects.writes.is_empty() && effects.deletes.is_empty())
        .then(|| "it changes something, and declares no write and no deletion".to_owned())
}

fn undeclared_sending(descriptor: &Descriptor) -> Option<String> {
    let effects = &descriptor.effects;
    let sends = effects.sends_user_data
        || calls_a_service(descriptor)
        || descriptor.intent.action_types.contains(&ActionType::ExternalSend);
    (sends && !effects.external_calls)
        .then(|| "it sends something outside, and declares no external call".to_owned())
}

fn weak_confirmation(descriptor: &Descriptor) -> Option<String> {
    let destroys = risk::level(descriptor) == risk::Level::L5;
    let policy = descriptor.permissions.approval_policy;
    let strong = matches!(policy, ApprovalPolicy::OnRisk | ApprovalPolicy::Always);
    (destroys && !strong && !descriptor.effects.dry_run_supported)
        .then(|| "it destroys or administers, without a dry run or a confirmation".to_owned())
}

/// An MCP server's own traffic is not ours to see; whatever else calls outside says where to.
fn no_egress(descriptor: &Descriptor) -> Option<String> {
    let network = &descriptor.sandbox.network;
    let ours = runs_a_program(descriptor)
        || calls_a_service(descriptor)
        || descriptor.source.r#type == SourceType::Http;
    let named =
        network.egress_policy == EgressPolicy::Allowlist && !network.allow_domains.is_empty();
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
