//! From the registry to one view.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::activation::{ActivatedSet, is_search};
use super::availability::Availability;
use super::block::Blocks;
use super::group::{self, GroupMode, Matched, Standing};
use super::lease::{Lease, View};
use super::scope::{EXCLUDED, KeptOut, scoped};
use crate::base::digest::Digest;
use crate::journal::event::turn::{ExposedTool, WithheldTool};
use crate::journal::outcome::Unavailability;
use crate::runtime::catalog::{Registered, Registry, alias};
use crate::runtime::mcp::{McpServer, Servers};
use crate::runtime::policy::{Decision, Judgement, Principal, Rules, may_expose};
use crate::runtime::sandbox::adapter::{Adapter, Served};
use crate::runtime::sandbox::package::Packages;
use crate::runtime::sandbox::{self, Ground, host::Host};
use crate::tool::descriptor::{Descriptor, LifecycleStatus, OutputExposure, SourceType};
use crate::tool::effect::ActionType;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;
use crate::tool::risk::Level;

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
    /// What commands can be confined with.
    pub host: Host,
    /// The MCP servers whose tools are really called.
    pub servers: Arc<Servers>,
    /// The files that come with tools.
    pub packages: Arc<Packages>,
    /// The tools that a registry does not let the principal call, with why.
    pub held: Arc<BTreeMap<ToolId, String>>,
}

impl Environment {
    /// What a plan for a descriptor is made for.
    pub fn ground(&self, descriptor: &Descriptor) -> Ground<'_> {
        let served = self.served(descriptor);
        Ground { host: &self.host, served, packages: &self.packages }
    }

    /// The MCP server that a call of a tool goes to; none where it goes to none, or is simulated.
    pub fn called(&self, descriptor: &Descriptor) -> Option<&Arc<McpServer>> {
        let is_mcp = Adapter::parse(&descriptor.execution.adapter) == Some(Adapter::Mcp);
        self.servers.get(descriptor.source.server_id.as_deref().filter(|_| is_mcp)?)
    }

    /// How the tools of a descriptor's server are called here.
    fn served(&self, descriptor: &Descriptor) -> Served<'_> {
        let id = descriptor.source.server_id.as_deref().unwrap_or_default();
        match (self.servers.get(id), self.evaluation) {
            (Some(server), _) => Served::Live(server.started()),
            (None, true) => Served::Simulated,
            (None, false) => Served::Not,
        }
    }
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
    /// What was blocked while the session ran.
    pub blocks: &'a Blocks,
    /// What the run allows beside that.
    pub availability: &'a Availability,
    /// The dynamic groups that the turn's message names.
    pub matched: &'a Matched,
    /// What searches of this turn activated.
    pub activated: &'a ActivatedSet,
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
    /// Whether a search activated it.
    asked: bool,
    /// Whether a search must activate it first.
    waits: bool,
}

/// Filters that say how a request is arranged, and not what may be used: they come after all that
/// do.
pub const ARRANGING: [&str; 3] = [GROUP, DEFERRED, BUDGET];
/// Filter of tools for which a request has no room.
const BUDGET: &str = "budget";
/// Filter of tools that their groups do not show.
const GROUP: &str = "group";
/// Filter of tools that wait for a search, and of a search that nothing waits for.
const DEFERRED: &str = "deferred";

/// Compiles a view. Total: an empty registry gives an empty view.
pub fn compile(request: &ViewRequest<'_>) -> View {
    let (mut candidates, mut searches, mut withheld) = (Vec::new(), Vec::new(), Vec::new());
    let mut waiting = Vec::new();
    let scope = scoped(request.registry, request.availability, request.excluded);
    let scope = scope.without(request.blocks);
    for (tool, kept) in scope.into_all() {
        match kept.map_or_else(|| admit(tool, request), Err) {
            Ok(search) if is_search(tool) => searches.push(search),
            Ok(candidate) if candidate.waits => {
                let kept = KeptOut::new(DEFERRED, "it waits for a search to activate it");
                withheld.push(withhold(tool, kept));
                waiting.push(candidate.tool);
            }
            Ok(candidate) => candidates.push(candidate),
            Err(kept) => withheld.push(withhold(tool, kept)),
        }
    }
    if waiting.is_empty() {
        let idle = || KeptOut::new(DEFERRED, "no tool waits for a search");
        withheld.extend(searches.drain(..).map(|search| withhold(&search.tool, idle())));
    }
    // What was searched for comes first, then the best intent match; among equals the milder
    // level, then fewer recent failures, then id.
    candidates.sort_by_cached_key(|candidate| {
        let failures = request.failures.get(candidate.tool.id()).copied().unwrap_or(0);
        let id = candidate.tool.id().clone();
        let found = (Reverse(candidate.asked), Reverse(candidate.relevance));
        (found, candidate.tool.level, failures, id)
    });
    cut(&mut candidates, searches, &mut withheld, (request.environment.max_tools, waiting.len()));
    assemble(candidates, withheld, waiting, request.registry)
}

/// Keeps as many tools as a request may show. A search is the last one, and never the one cut.
fn cut(
    candidates: &mut Vec<Candidate>,
    mut searches: Vec<Candidate>,
    withheld: &mut Vec<WithheldTool>,
    (max_tools, waiting): (usize, usize),
) {
    let kept = searches.len().min(max_tools);
    let room = (max_tools - kept).min(candidates.len());
    let tail = candidates.split_off(room).into_iter().chain(searches.split_off(kept));
    for (rank, cut) in tail.enumerate() {
        let (place, most) = (room + kept + rank + 1, room + kept);
        let reason = format!("rank {place} of at most {most} tools a request may show");
        withheld.push(withhold(&cut.tool, KeptOut::new(BUDGET, reason)));
    }
    let stands = |search| Candidate { reason: format!("{waiting} tools wait for it"), ..search };
    candidates.extend(searches.into_iter().map(stands));
}

fn withhold(tool: &Registered, kept: KeptOut) -> WithheldTool {
    let KeptOut { filter, reason } = kept;
    WithheldTool { tool_id: tool.id().clone(), filter: filter.to_owned(), reason }
}

/// A tool of the scoped registry through all filters; the last two depend on the turn.
fn admit(tool: &Arc<Registered>, request: &ViewRequest<'_>) -> Result<Candidate, KeptOut> {
    lifecycle(tool, request.environment)?;
    let search = is_search(tool);
    // A search serves whatever the tools that wait for it serve.
    let (relevance, reason) =
        if search { (0, String::new()) } else { capability(tool, request.intent)? };
    let judgement = (request.may_expose)(tool, request.principal, request.rules);
    if judgement.decision == Decision::Deny {
        return Err(KeptOut::new("policy", judgement.reason()));
    }
    environment(tool, request.environment)?;
    if !tool.descriptor.context_policy.expose_to_model {
        return Err(KeptOut::new("context", "its context policy keeps it from models"));
    }
    let groups = &request.availability.groups;
    let standing = group::standing(groups, request.matched, tool);
    if standing == Standing::Hidden {
        return Err(KeptOut::new(GROUP, group::hidden(groups, tool)));
    }
    let deferred = request.availability.defers(tool);
    let asked = deferred && request.activated.contains(tool.id());
    let spared = matches!(standing, Standing::Shown(group) if group.mode == GroupMode::Always);
    let reason = match standing {
        _ if asked => format!("a search activated it; {reason}"),
        Standing::Shown(group) => format!("group {} shows it; {reason}", group.name),
        Standing::Free | Standing::Hidden => reason,
    };
    let waits = deferred && !asked && !spared;
    Ok(Candidate { tool: Arc::clone(tool), judgement, relevance, reason, asked, waits })
}

fn lifecycle(tool: &Registered, environment: &Environment) -> Result<(), KeptOut> {
    let refuse = |reason: &str| Err(KeptOut::new("lifecycle", reason));
    if let Some(why) = environment.held.get(tool.id()) {
        return refuse(why);
    }
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
fn capability(tool: &Registered, intent: &Intent) -> Result<(usize, String), KeptOut> {
    let section = &tool.descriptor.intent;
    let goal = intent.user_goal.to_lowercase();
    let words = |hints: &[String]| hints.iter().any(|hint| goal.contains(&hint.to_lowercase()));
    if !section.required_user_intent.is_empty() && !words(&section.required_user_intent) {
        return Err(KeptOut::new("intent", "the goal names none of its required words"));
    }
    if words(&section.negative_intent_hints) {
        return Err(KeptOut::new("intent", "the goal names a word that speaks against it"));
    }
    let actions: Vec<&ActionType> =
        section.action_types.iter().filter(|a| intent.action_types.contains(a)).collect();
    let domains = section.domains.iter().filter(|d| intent.domains.contains(d)).count();
    if !intent.action_types.is_empty() && actions.is_empty() {
        return Err(KeptOut::new("intent", "none of its action types is intended"));
    }
    let reason = match (actions.len(), domains) {
        (0, 0) => "no action is declared, any may serve".to_owned(),
        (a, d) => format!("serves the intent: {a} action types and {d} domains match"),
    };
    Ok((actions.len() + domains, reason))
}

/// Whether it could run here: adapter, program, sandbox, credential, money.
fn environment(tool: &Registered, environment: &Environment) -> Result<(), KeptOut> {
    let refuse = |reason: String| KeptOut::new("environment", reason);
    sandbox::plan(&tool.descriptor, environment.ground(&tool.descriptor))
        .map_err(|refusal| refuse(refusal.to_string()))?;
    let credentials = &tool.descriptor.credentials;
    if let Some(held) = &environment.credentials {
        let missing = credentials.required_secrets.iter().find(|name| !held.contains(*name));
        if let Some(name) = missing {
            return Err(refuse(format!("credential {name} is not held")));
        }
    }
    let cost = tool.descriptor.sandbox.limits.max_cost_usd;
    match (environment.budget_usd, cost) {
        (Some(left), Some(cost)) if cost > left => {
            Err(refuse(format!("may cost {cost} US dollars, {left} are left")))
        }
        _ => Ok(()),
    }
}

fn assemble(
    candidates: Vec<Candidate>,
    withheld: Vec<WithheldTool>,
    waiting: Vec<Arc<Registered>>,
    registry: &Registry,
) -> View {
    let names = alias::aliases(registry.iter().map(|tool| tool.id()));
    let name_of = |id: &ToolId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
    let (mut leases, mut exposed) = (Vec::new(), Vec::new());
    let mut by_name = BTreeMap::new();
    for held in &withheld {
        let why = if held.filter == EXCLUDED {
            Unavailability::Excluded
        } else {
            Unavailability::Withheld
        };
        by_name.insert(held.tool_id.to_string(), Err(why));
        by_name.insert(name_of(&held.tool_id), Err(why));
    }
    for candidate in candidates {
        let tool = candidate.tool;
        let name = name_of(tool.id());
        exposed.push(expose(&tool, &name, &candidate.judgement, candidate.reason));
        by_name.insert(tool.id().to_string(), Ok(leases.len()));
        by_name.insert(name.clone(), Ok(leases.len()));
        leases.push(Lease { tool, name });
    }
    let waiting = waiting.into_iter().map(|tool| Lease { name: name_of(tool.id()), tool });
    View {
        digest: digest(&exposed, &withheld),
        advertised: leases.iter().map(|lease| lease.name.clone()).collect(),
        leases,
        waiting: waiting.collect(),
        exposed: exposed.into(),
        withheld: withheld.into(),
        names: by_name,
    }
}

/// Digest of the canonical JSON of what is exposed and withheld (RFC 8785). The members stand here
/// in the order of their names, so that a large view is spelled once and no tree is built of it.
fn digest(exposed: &[ExposedTool], withheld: &[WithheldTool]) -> Digest {
    #[derive(Serialize)]
    struct Content<'a> {
        exposed: Vec<Exposed<'a>>,
        withheld: Vec<Withheld<'a>>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Exposed<'a> {
        decision: &'a str,
        level: Level,
        name: &'a str,
        projection: &'a str,
        reason: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<&'a str>,
        tool_id: &'a ToolId,
        tool_version: &'a Digest,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Withheld<'a> {
        filter: &'a str,
        reason: &'a str,
        tool_id: &'a ToolId,
    }
    let exposed = exposed.iter().map(|tool| Exposed {
        decision: &tool.decision,
        level: tool.level,
        name: &tool.name,
        projection: &tool.projection,
        reason: &tool.reason,
        source: tool.source.as_deref(),
        tool_id: &tool.tool_id,
        tool_version: &tool.tool_version,
    });
    let withheld = withheld.iter().map(|tool| Withheld {
        filter: &tool.filter,
        reason: &tool.reason,
        tool_id: &tool.tool_id,
    });
    let content = Content { exposed: exposed.collect(), withheld: withheld.collect() };
    // Plain data: writing it to memory cannot fail.
    let text = serde_json::to_string(&content).unwrap_or_default();
    Digest::of("view", text.as_bytes())
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
