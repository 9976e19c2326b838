//! From the registry to one view.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::lease::{Lease, View};
use crate::base::canon;
use crate::journal::event::turn::{ExposedTool, WithheldTool};
use crate::journal::outcome::Unavailability;
use crate::runtime::catalog::{Registered, Registry, alias};
use crate::runtime::policy::{Decision, Judgement, Principal, Rules, may_expose};
use crate::runtime::sandbox;
use crate::tool::descriptor::{LifecycleStatus, OutputExposure, SourceType};
use crate::tool::effect::ActionType;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;

/// What is at hand where calls would run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    /// Names of credentials the broker holds; `None` when it holds whatever a tool requires.
    pub credentials: Option<BTreeSet<String>>,
    /// Whether this is an evaluation: verified tools are callable inside its trials.
    pub evaluation: bool,
    /// Money left, in US dollars; `None` when it is not limited.
    pub budget_usd: Option<f64>,
    /// How many tools a request may show.
    pub max_tools: usize,
}

/// Everything a view depends on.
#[derive(Debug, Clone, Copy)]
pub struct ViewRequest<'a> {
    /// What exists.
    pub registry: &'a Registry,
    /// Who acts.
    pub principal: &'a Principal,
    /// The rules.
    pub rules: &'a Rules,
    /// What is intended.
    pub intent: &'a Intent,
    /// What is at hand.
    pub environment: &'a Environment,
    /// Names kept out by hand.
    pub excluded: &'a BTreeSet<ToolId>,
    /// Failures in this session by tool, for ranking.
    pub failures: &'a BTreeMap<ToolId, u32>,
    /// The decision that may be replaced by a mutant: whether policy lets a tool be shown.
    pub may_expose: MayExpose,
}

/// Whether policy lets a tool be shown.
pub type MayExpose = fn(&Registered, &Principal, &Rules) -> Judgement;

/// The real decision, for [`ViewRequest::may_expose`].
pub const MAY_EXPOSE: MayExpose = may_expose;

struct Candidate {
    tool: Arc<Registered>,
    judgement: Judgement,
    relevance: usize,
    reason: String,
}

/// Compiles a view. Total: an empty registry gives an empty view.
pub fn compile(request: &ViewRequest<'_>) -> View {
    let (mut candidates, mut withheld) = (Vec::new(), Vec::new());
    for tool in request.registry.iter() {
        match admit(tool, request) {
            Ok(candidate) => candidates.push(candidate),
            Err((filter, reason)) => withheld.push(withhold(tool, filter, reason)),
        }
    }
    // Best intent match first; among equals the milder level, then fewer recent failures, then id.
    candidates.sort_by_key(|candidate| {
        let failures = request.failures.get(candidate.tool.id()).copied().unwrap_or(0);
        let id = candidate.tool.id().clone();
        (Reverse(candidate.relevance), candidate.tool.level, failures, id)
    });
    let room = request.environment.max_tools.min(candidates.len());
    for (rank, cut) in candidates.split_off(room).into_iter().enumerate() {
        let place = room + rank + 1;
        let reason = format!("rank {place} of at most {room} tools a request may show");
        withheld.push(withhold(&cut.tool, "budget", reason));
    }
    assemble(candidates, withheld, request.registry)
}

fn withhold(tool: &Registered, filter: &str, reason: String) -> WithheldTool {
    WithheldTool { tool_id: tool.id().clone(), filter: filter.to_owned(), reason }
}

type Refusal = (&'static str, String);

fn admit(tool: &Arc<Registered>, request: &ViewRequest<'_>) -> Result<Candidate, Refusal> {
    if request.excluded.contains(tool.id()) {
        return Err(("excluded", "named in excluded_tools".to_owned()));
    }
    lifecycle(tool, request.environment)?;
    let (relevance, reason) = capability(tool, request.intent)?;
    let judgement = (request.may_expose)(tool, request.principal, request.rules);
    if judgement.decision == Decision::Deny {
        return Err(("policy", judgement.reason()));
    }
    environment(tool, request.environment)?;
    if !tool.descriptor.context_policy.expose_to_model {
        return Err(("context", "its context policy keeps it from models".to_owned()));
    }
    Ok(Candidate { tool: Arc::clone(tool), judgement, relevance, reason })
}

fn lifecycle(tool: &Registered, environment: &Environment) -> Result<(), Refusal> {
    let refuse = |reason: &str| Err(("lifecycle", reason.to_owned()));
    match tool.descriptor.lifecycle.status {
        LifecycleStatus::Enabled => Ok(()),
        LifecycleStatus::Verified if environment.evaluation => Ok(()),
        LifecycleStatus::Verified => refuse("verified, and not enabled outside evaluations"),
        LifecycleStatus::Discovered => refuse("discovered, and not verified"),
        LifecycleStatus::Disabled => refuse("disabled"),
        LifecycleStatus::Deprecated => refuse("deprecated"),
        LifecycleStatus::Blocked => refuse("blocked"),
    }
}

/// How well a tool fits the declared intent: matching action types and domains, counted.
fn capability(tool: &Registered, intent: &Intent) -> Result<(usize, String), Refusal> {
    let section = &tool.descriptor.intent;
    let goal = intent.user_goal.to_lowercase();
    let words = |hints: &[String]| hints.iter().any(|hint| goal.contains(&hint.to_lowercase()));
    if !section.required_user_intent.is_empty() && !words(&section.required_user_intent) {
        return Err(("intent", "the goal names none of its required words".to_owned()));
    }
    if words(&section.negative_intent_hints) {
        return Err(("intent", "the goal names a word that speaks against it".to_owned()));
    }
    let actions: Vec<&ActionType> =
        section.action_types.iter().filter(|a| intent.action_types.contains(a)).collect();
    let domains = section.domains.iter().filter(|d| intent.domains.contains(d)).count();
    if !intent.action_types.is_empty() && actions.is_empty() {
        return Err(("intent", "none of its action types is intended".to_owned()));
    }
    let reason = match (actions.len(), domains) {
        (0, 0) => "no action is declared, any may serve".to_owned(),
        (a, d) => format!("serves the intent: {a} action types and {d} domains match"),
    };
    Ok((actions.len() + domains, reason))
}

/// Whether it could run here: adapter, program, sandbox, credential, money.
fn environment(tool: &Registered, environment: &Environment) -> Result<(), Refusal> {
    sandbox::plan(&tool.descriptor).map_err(|refusal| ("environment", refusal.to_string()))?;
    let credentials = &tool.descriptor.credentials;
    if let Some(held) = &environment.credentials {
        let missing = credentials.required_secrets.iter().find(|name| !held.contains(*name));
        if let Some(name) = missing {
            return Err(("environment", format!("credential {name} is not held")));
        }
    }
    let cost = tool.descriptor.sandbox.limits.max_cost_usd;
    match (environment.budget_usd, cost) {
        (Some(left), Some(cost)) if cost > left => {
            Err(("environment", format!("may cost {cost} US dollars, {left} are left")))
        }
        _ => Ok(()),
    }
}

fn assemble(candidates: Vec<Candidate>, withheld: Vec<WithheldTool>, registry: &Registry) -> View {
    let names = alias::aliases(registry.iter().map(|tool| tool.id()));
    let (mut leases, mut exposed) = (Vec::new(), Vec::new());
    let mut by_name = BTreeMap::new();
    for held in &withheld {
        let why = if held.filter == "excluded" {
            Unavailability::Excluded
        } else {
            Unavailability::Withheld
        };
        by_name.insert(held.tool_id.to_string(), Err(why));
        if let Some(name) = names.get(&held.tool_id) {
            by_name.insert(name.clone(), Err(why));
        }
    }
    for candidate in candidates {
        let tool = candidate.tool;
        let name = names.get(tool.id()).cloned().unwrap_or_else(|| tool.id().to_string());
        exposed.push(expose(&tool, &name, &candidate.judgement, candidate.reason));
        by_name.insert(tool.id().to_string(), Ok(leases.len()));
        by_name.insert(name.clone(), Ok(leases.len()));
        leases.push(Lease { tool, name });
    }
    let content = json!({"exposed": exposed, "withheld": withheld});
    View {
        digest: canon::content_digest("view", &content),
        advertised: leases.iter().map(|lease| lease.name.clone()).collect(),
        leases,
        exposed: exposed.into(),
        withheld: withheld.into(),
        names: by_name,
    }
}

fn expose(tool: &Registered, name: &str, judgement: &Judgement, reason: String) -> ExposedTool {
    let projection = match tool.descriptor.context_policy.expose_output_to_model {
        OutputExposure::None => "none",
        OutputExposure::Preview => "preview",
        OutputExposure::Structured => "structured",
        OutputExposure::Full => "full",
    };
    let source = match tool.descriptor.source.r#type {
        SourceType::Builtin => None,
        SourceType::Cli => Some("cli"),
        SourceType::Skill => Some("skill"),
        SourceType::Mcp => Some("mcp"),
        SourceType::Http => Some("http"),
        SourceType::Subagent => Some("subagent"),
    };
    ExposedTool {
        tool_id: tool.id().clone(),
        tool_version: tool.version,
        name: name.to_owned(),
        reason: format!("{reason}; {}", judgement.reason()),
        decision: judgement.decision.name().to_owned(),
        level: tool.level,
        projection: projection.to_owned(),
        source: source.map(str::to_owned),
    }
}
