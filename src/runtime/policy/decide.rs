//! The merge of all votes on one call.
//!
//! Votes come from the principal's scopes, the descriptor's permissions and trust, the rules, and
//! the level's default. The strictest vote wins. The level's default has no vote where a rule
//! allows the call: that is how a rule says otherwise (seed B invariant 5). A rule that asks or
//! denies only ever makes a call stricter.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rules::{Question, Rules};
use super::shell::{self, PartJudgement};
use crate::runtime::catalog::Registered;
use crate::runtime::sandbox::adapter::Adapter;
use crate::tool::descriptor::{ApprovalPolicy, AuditLevel, SandboxMode};
use crate::tool::risk::Level;

/// Who acts, for whom, and with which scopes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The id.
    pub id: String,
    /// For whom: an organisation, a workspace, a project. What is granted for one is not granted
    /// for another.
    pub tenant: Option<String>,
    /// What they hold.
    pub scopes: BTreeSet<String>,
}

impl Principal {
    /// A principal of no tenant.
    pub fn new(id: impl Into<String>, scopes: BTreeSet<String>) -> Self {
        Self { id: id.into(), tenant: None, scopes }
    }
}

/// Decisions from mildest to strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Runs by itself.
    Allow,
    /// A person is asked.
    Ask,
    /// A person confirms in the stronger way.
    StrongAsk,
    /// Never.
    Deny,
}

impl Decision {
    /// The name as written in files and journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::StrongAsk => "strong_ask",
            Self::Deny => "deny",
        }
    }
}

/// A decision with its reasons, strictest first, and the rules that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reasons: Vec<String>,
    /// Ids of the rules that voted.
    pub rules: Vec<String>,
    /// The parts of a command line, where the tool has one.
    pub parts: Vec<PartJudgement>,
}

impl Judgement {
    /// All reasons in one line.
    pub fn reason(&self) -> String {
        self.reasons.join("; ")
    }
}

/// The scope that L2 needs (seed B section 12).
pub const WORKSPACE_WRITE: &str = "workspace_write";

/// The scope that L3 needs where a tool names none of its own (seed B section 12).
pub const EXTERNAL_READ: &str = "external_read";

/// What may be done with this call.
pub fn decide(tool: &Registered, args: &Value, principal: &Principal, rules: &Rules) -> Judgement {
    let (votes, parts) = votes(tool, Some(args), principal, rules);
    let mut judged = merge(votes);
    for rule in parts.iter().flat_map(|part| &part.rules) {
        if !judged.rules.contains(rule) {
            judged.rules.push(rule.clone());
        }
    }
    Judgement { parts, ..judged }
}

/// Whether the tool may be shown at all: as [`decide`], before there are arguments. Rules that
/// look at arguments have no vote yet.
pub fn may_expose(tool: &Registered, principal: &Principal, rules: &Rules) -> Judgement {
    merge(votes(tool, None, principal, rules).0)
}

struct Vote {
    decision: Decision,
    reason: String,
    rule: Option<String>,
}

impl Vote {
    fn new(decision: Decision, reason: impl Into<String>) -> Self {
        Self { decision, reason: reason.into(), rule: None }
    }
}

fn votes(
    tool: &Registered,
    args: Option<&Value>,
    principal: &Principal,
    rules: &Rules,
) -> (Vec<Vote>, Vec<PartJudgement>) {
    let mut votes = principal_votes(tool, principal);
    let question = Question { tool, args, principal };
    let (mut spoken, mut permitted) = (false, false);
    let mut of_parts = Vec::new();
    for rule in rules.matching(&question) {
        if !rule.commands().is_empty() {
            of_parts.push(rule);
            continue;
        }
        spoken = true;
        permitted |= rule.decision == Decision::Allow;
        votes.push(Vote {
            decision: rule.decision,
            reason: format!("rule {}: {}", rule.id, rule.reason),
            rule: Some(rule.id.clone()),
        });
    }
    let parts = shell::judge(&question, &of_parts);
    if !parts.is_empty() {
        // Rules that allow each part allow the line.
        let allowed = parts.iter().all(|part| part.decision == Decision::Allow);
        permitted |= allowed && parts.iter().any(|part| !part.rules.is_empty());
        votes.extend(parts.iter().map(|part| Vote::new(part.decision, part.reason.clone())));
    }
    // Where a rule speaks, a level that would allow has nothing to add.
    let level = level_vote(tool.level);
    if !permitted && (!spoken || level.decision > Decision::Allow) {
        votes.push(level);
    }
    match tool.descriptor.permissions.approval_policy {
        ApprovalPolicy::Always if tool.level == Level::L5 => {
            votes.push(Vote::new(Decision::StrongAsk, "the descriptor always asks"));
        }
        ApprovalPolicy::Always => {
            votes.push(Vote::new(Decision::Ask, "the descriptor always asks"));
        }
        ApprovalPolicy::Never | ApprovalPolicy::OnRequest | ApprovalPolicy::OnRisk => {}
    }
    // Nothing holds what a command line tool does then; only a rule can want that.
    let free = tool.descriptor.sandbox.mode == SandboxMode::None
        && Adapter::parse(&tool.descriptor.execution.adapter) == Some(Adapter::Cli);
    if free && !permitted {
        votes.push(Vote::new(Decision::Deny, "no rule allows a command without a sandbox"));
    }
    if tool.descriptor.observability.audit_level == AuditLevel::None && tool.level >= Level::L4 {
        votes.push(Vote::new(Decision::Deny, format!("{} without audit", tool.level)));
    }
    (votes, parts)
}

fn principal_votes(tool: &Registered, principal: &Principal) -> Vec<Vote> {
    let permissions = &tool.descriptor.permissions;
    let mut votes = Vec::new();
    let missing: Vec<&str> = permissions
        .required_scopes
        .iter()
        .map(String::as_str)
        .chain(level_scope(tool))
        .filter(|scope| !principal.scopes.contains(*scope))
        .collect();
    if !missing.is_empty() {
        let scopes = missing.join(", ");
        votes.push(Vote::new(Decision::Deny, format!("{} lacks scope {scopes}", principal.id)));
    }
    if permissions.blocked_principals.contains(&principal.id) {
        votes.push(Vote::new(Decision::Deny, format!("{} is blocked", principal.id)));
    }
    if !permissions.allowed_principals.is_empty()
        && !permissions.allowed_principals.contains(&principal.id)
    {
        votes.push(Vote::new(Decision::Deny, format!("{} is not among the allowed", principal.id)));
    }
    votes
}

/// The scope that a level itself needs.
fn level_scope(tool: &Registered) -> Option<&'static str> {
    let own = !tool.descriptor.permissions.required_scopes.is_empty();
    match tool.level {
        Level::L2 => Some(WORKSPACE_WRITE),
        Level::L3 if !own => Some(EXTERNAL_READ),
        Level::L0 | Level::L1 | Level::L3 | Level::L4 | Level::L5 => None,
    }
}

/// Seed B section 12's defaults.
fn level_vote(level: Level) -> Vote {
    match level {
        Level::L0 => Vote::new(Decision::Allow, "L0 reads inside"),
        Level::L1 => Vote::new(Decision::Allow, "L1 computes inside the sandbox"),
        Level::L2 => Vote::new(Decision::Allow, "L2 writes the workspace with its scope"),
        Level::L3 => Vote::new(Decision::Allow, "L3 reads outside with its scopes"),
        Level::L4 => Vote::new(Decision::Ask, "L4 is visible outside"),
        Level::L5 => Vote::new(Decision::StrongAsk, "L5 destroys or administers"),
    }
}

fn merge(mut votes: Vec<Vote>) -> Judgement {
    // A stable sort keeps the order of sources among equals.
    votes.sort_by_key(|vote| std::cmp::Reverse(vote.decision));
    let decision = votes.first().map_or(Decision::Deny, |vote| vote.decision);
    let rules = votes.iter().filter_map(|vote| vote.rule.clone()).collect();
    let reasons = votes.into_iter().map(|vote| vote.reason).collect();
    Judgement { decision, reasons, rules, parts: Vec::new() }
}
