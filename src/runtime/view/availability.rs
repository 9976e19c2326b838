//! What a run allows to be seen and called, beside `excluded_tools`: configuration, resolved.
//!
//! `narrowing`, `mcp` and `risk_cap` bound the scoped registry; each list can only take away.
//! `groups` and `deferred` arrange what is left: they never add a tool to it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activation::is_search;
use super::group::{Group, Matched, is_mcp};
use super::pattern::{self, Pattern};
use crate::runtime::catalog::Registered;
use crate::tool::descriptor::{SourceType, TrustLevel};
use crate::tool::effect::EffectClass;
use crate::tool::risk::Level;

/// What may be seen and called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Availability {
    /// Groups of MCP tools.
    pub groups: Vec<Group>,
    /// Tools that a search must activate first.
    pub deferred: Vec<Deferred>,
    /// Every list must name a tool. No list: no narrowing; an empty list: nothing is allowed.
    pub narrowing: Vec<Vec<Pattern>>,
    /// Every policy must allow an MCP tool.
    pub mcp: Vec<McpPolicy>,
    /// The highest risk.
    pub risk_cap: RiskCap,
}

/// Tools that are deferred.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Deferred {
    /// Those an entry names.
    Tools(Pattern),
    /// All of one kind of source.
    Source(SourceType),
}

/// Which MCP servers and tools may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct McpPolicy {
    /// Servers by their exact names; any when absent.
    pub servers: Option<BTreeSet<String>>,
    /// Tools; any of those servers when absent.
    pub tools: Option<Vec<Pattern>>,
    /// Tools that are refused, whatever else is said.
    pub deny: Vec<Pattern>,
}

/// The highest risk a run allows; no bound where a part is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RiskCap {
    /// The highest level.
    pub level: Option<Level>,
    /// The strictest effect class.
    pub effect_class: Option<EffectClass>,
    /// The highest level by how far a tool's source is trusted.
    pub trust: TrustCaps,
}

/// The highest level that tools of a source may have; no bound where it is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("minProperties" = 1))]
pub struct TrustCaps {
    /// Of this program's own tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Level")]
    pub first_party: Option<Level>,
    /// Of the workspace's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Level")]
    pub workspace: Option<Level>,
    /// Of somebody who is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Level")]
    pub third_party: Option<Level>,
    /// Of everybody else: what is imported from a list or a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Level")]
    pub untrusted: Option<Level>,
}

impl TrustCaps {
    /// The cap of sources that are trusted so far, and what they are called.
    fn of(self, trust: TrustLevel) -> Option<(Level, &'static str)> {
        let (cap, name) = match trust {
            TrustLevel::FirstParty => (self.first_party, "first-party"),
            TrustLevel::Workspace => (self.workspace, "workspace"),
            TrustLevel::ThirdParty => (self.third_party, "third-party"),
            TrustLevel::Untrusted => (self.untrusted, "untrusted"),
        };
        cap.map(|cap| (cap, name))
    }
}

/// The smaller of two bounds.
fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Availability {
    /// The dynamic groups that the turn's user message names.
    pub fn matched(&self, message: &str) -> Matched {
        Matched::of(&self.groups, message)
    }

    /// Whether a tool waits for a search, groups aside. The search itself never does.
    pub fn defers(&self, tool: &Registered) -> bool {
        let named = |entry: &Deferred| match entry {
            Deferred::Tools(pattern) => pattern.names(tool.id()),
            Deferred::Source(source) => tool.descriptor.source.r#type == *source,
        };
        self.deferred.iter().any(named) && !is_search(tool)
    }

    /// What a delegate with its own list of tools gets: never more than this. Groups and deferral
    /// arrange the requests of whoever delegates, and are not its own where it is scoped.
    #[must_use]
    pub fn delegated(&self, allowed: &[String], scoped: bool) -> Self {
        let mut child = self.clone();
        if scoped {
            (child.groups, child.deferred) = Default::default();
        }
        child.narrowing.push(allowed.iter().map(|text| Pattern::new(text)).collect());
        child
    }
}

impl McpPolicy {
    /// Why an MCP tool may not be used; `None` when it may.
    pub(super) fn refuses(&self, tool: &Registered) -> Option<String> {
        if !is_mcp(tool) {
            return None;
        }
        let server = server(tool);
        let servers = self.servers.as_ref();
        if servers.is_some_and(|servers| !server.is_some_and(|name| servers.contains(name))) {
            let name = server.unwrap_or("without a name");
            return Some(format!("MCP server {name} is not allowed"));
        }
        if pattern::any(&self.deny, tool.id()) {
            return Some("the MCP policy denies it".to_owned());
        }
        let listed = self.tools.as_ref().is_none_or(|tools| pattern::any(tools, tool.id()));
        (!listed).then(|| "the MCP policy does not list it".to_owned())
    }
}

/// The name of the MCP server that offers a tool, as it stands in the descriptor.
pub fn server(tool: &Registered) -> Option<&str> {
    let source = &tool.descriptor.source;
    source.server_id.as_deref().or_else(|| source.source_id.strip_prefix("mcp:"))
}

impl RiskCap {
    /// The stricter of both, part by part.
    #[must_use]
    pub fn tightest(self, other: Self) -> Self {
        let (one, two) = (self.trust, other.trust);
        Self {
            level: least(self.level, other.level),
            effect_class: least(self.effect_class, other.effect_class),
            trust: TrustCaps {
                first_party: least(one.first_party, two.first_party),
                workspace: least(one.workspace, two.workspace),
                third_party: least(one.third_party, two.third_party),
                untrusted: least(one.untrusted, two.untrusted),
            },
        }
    }

    /// Why a tool is too much; `None` when it is not.
    pub(super) fn refuses(self, tool: &Registered) -> Option<String> {
        if let Some(cap) = self.level.filter(|cap| tool.level > *cap) {
            return Some(format!("level {} is above the cap {cap}", tool.level));
        }
        let of_source = self.trust.of(tool.descriptor.provenance.trust_level);
        if let Some((cap, name)) = of_source.filter(|(cap, _)| tool.level > *cap) {
            return Some(format!("level {} is above the cap {cap} of {name} sources", tool.level));
        }
        let cap = self.effect_class.filter(|cap| tool.class > *cap)?;
        Some(format!("effect class {} is above the cap {}", tool.class.name(), cap.name()))
    }
}
