//! The keys of suites and cases that say which tools a request may show, and how they are read.
//!
//! What bounds (`narrowing`, `mcp_policy`, `risk_cap`) adds up: a case can only be stricter than
//! its suite. What arranges (`tool_filter_groups`, `deferred`) is the case's where it has any.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::base::document::Document;
use crate::base::problem::Problem;
use crate::runtime::catalog::{Registered, Registry};
use crate::runtime::view::Availability;
use crate::runtime::view::activation::{self, ADAPTER, search_tool};
use crate::runtime::view::availability::{Deferred, McpPolicy, RiskCap, TrustCaps, server};
use crate::runtime::view::group::{Group, GroupMode, Keyword, is_mcp};
use crate::runtime::view::pattern::Pattern;
use crate::tool::descriptor::{Descriptor, SourceType};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;
use crate::tool::risk::Level;

/// A group of MCP tools.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupEntry {
    /// A name, for reasons.
    #[schemars(length(min = 1))]
    pub name: String,
    /// When its tools are shown.
    pub mode: ModeName,
    /// Its members: tool ids, or beginnings of ids followed by `*`.
    #[schemars(length(min = 1))]
    pub tools: Vec<String>,
    /// For `dynamic`: words or phrases of which the user's message must name one, as whole words.
    #[serde(default)]
    pub keywords: Vec<String>,
}

/// Modes as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeName {
    /// In every turn; deferred members need no search.
    Always,
    /// In turns whose message names a keyword.
    Dynamic,
}

/// Tools that a search must activate first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DeferredEntry {
    /// A tool id, or the beginning of ids followed by `*`.
    Tools(String),
    /// All tools of one kind of source.
    Source(SourceEntry),
}

/// A kind of source.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceEntry {
    /// Which kind, such as `mcp`.
    pub source: SourceType,
}

/// The highest risk; a part that is left out bounds nothing.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct RiskCapEntry {
    /// The highest level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The strictest effect class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_class: Option<EffectClass>,
    /// The highest level by how far a tool's source is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TrustCaps")]
    pub trust: Option<TrustCaps>,
}

/// Which MCP servers and tools may be used; a list that is left out bounds nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpPolicyEntry {
    /// Servers by their exact names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub servers: Option<Vec<String>>,
    /// Tools: ids, or beginnings of ids followed by `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub tools: Option<Vec<String>>,
    /// Tools that are refused, whatever else is said.
    #[serde(default)]
    pub deny: Vec<String>,
}

/// The keys of one suite or case.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) groups: Option<&'a Vec<GroupEntry>>,
    pub(super) deferred: Option<&'a Vec<DeferredEntry>>,
    pub(super) narrowing: Option<&'a Vec<String>>,
    pub(super) mcp_policy: Option<&'a McpPolicyEntry>,
    pub(super) risk_cap: Option<RiskCapEntry>,
}

/// The keys of a [`SuiteFile`](super::suite::SuiteFile) or a
/// [`CaseEntry`](super::case::CaseEntry), which name them alike.
macro_rules! keys {
    ($written:expr) => {
        $crate::eval::availability::Keys {
            groups: $written.tool_filter_groups.as_ref(),
            deferred: $written.deferred.as_ref(),
            narrowing: $written.narrowing.as_ref(),
            mcp_policy: $written.mcp_policy.as_ref(),
            risk_cap: $written.risk_cap,
        }
    };
}
pub(super) use keys;

impl Keys<'_> {
    /// The keys as written, for a digest; `None` where none is.
    pub(super) fn content(&self) -> Option<Value> {
        let Self { groups, deferred, narrowing, mcp_policy, risk_cap } = self;
        self.any().then(|| {
            json!({"groups": groups, "deferred": deferred, "narrowing": narrowing,
                "mcp_policy": mcp_policy, "risk_cap": risk_cap})
        })
    }

    /// Whether there is any of them.
    pub(super) fn any(&self) -> bool {
        let bounds =
            self.narrowing.is_some() || self.mcp_policy.is_some() || self.risk_cap.is_some();
        bounds || self.groups.is_some() || self.deferred.is_some()
    }
}

/// Adds the search for deferred tools, unless a manifest describes one already. Says so when
/// another tool has its id.
pub(super) fn add_search(descriptors: &mut Vec<Descriptor>) -> Option<String> {
    let described = descriptors.iter().any(|tool| tool.execution.adapter == ADAPTER);
    if descriptors.is_empty() || described {
        return None;
    }
    let search = search_tool();
    if descriptors.iter().any(|tool| tool.tool_id == search.tool_id) {
        let id = search.tool_id;
        return Some(format!("`{id}` is the id of the search that `deferred` brings; rename it"));
    }
    descriptors.push(search);
    None
}

/// Where the keys stand and what they speak about.
pub(super) struct Place<'a> {
    pub(super) document: &'a Document,
    pub(super) at: &'a str,
    pub(super) registry: &'a Registry,
}

/// Reads `excluded_tools`: exact ids of registered tools.
pub(super) fn excluded(
    names: &[String],
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) -> BTreeSet<ToolId> {
    let mut excluded = BTreeSet::new();
    let registry = place.registry;
    for (index, name) in names.iter().enumerate().filter(|_| !registry.is_empty()) {
        match ToolId::parse(name).filter(|id| registry.get(id).is_some()) {
            Some(id) => drop(excluded.insert(id)),
            None => {
                let at = format!("{}/excluded_tools/{index}", place.at);
                let problem = place.document.problem(&at, format!("no tool `{name}`"));
                problems.push(problem.suggest(name, registry.iter().map(|t| t.id().as_str())));
            }
        }
    }
    excluded
}

/// Reads the keys over what is allowed already.
pub(super) fn read(
    keys: &Keys<'_>,
    base: &Availability,
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) -> Availability {
    let mut read = base.clone();
    if place.registry.is_empty() {
        return read;
    }
    let mut reader = Reader { place, problems };
    if let Some(groups) = keys.groups {
        read.groups = reader.groups(groups);
    }
    if let Some(deferred) = keys.deferred {
        let entries = deferred.iter().enumerate();
        read.deferred =
            entries.filter_map(|(index, entry)| reader.deferred(index, entry)).collect();
    }
    if let Some(narrowing) = keys.narrowing {
        read.narrowing.push(reader.patterns("narrowing", narrowing, |_| true));
    }
    if let Some(policy) = keys.mcp_policy {
        read.mcp.push(reader.mcp_policy(policy));
    }
    if let Some(RiskCapEntry { level, effect_class, trust }) = keys.risk_cap {
        let trust = trust.unwrap_or_default();
        read.risk_cap = read.risk_cap.tightest(RiskCap { level, effect_class, trust });
    }
    read
}

struct Reader<'a> {
    place: &'a Place<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, key: &str, message: impl Into<String>) -> &mut Problem {
        let at = format!("{}/{key}", self.place.at);
        self.problems.push(self.place.document.problem(&at, message));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// A problem, with the nearest of the names that would be right.
    fn unknown<'b>(
        &mut self,
        key: &str,
        (message, wrong): (String, &str),
        names: impl IntoIterator<Item = &'b str>,
    ) {
        let problem = self.problem(key, message);
        *problem = problem.clone().suggest(wrong, names);
    }

    /// Entries of which each must name a registered tool: one that names none is a mistake, and
    /// in a list that forbids, a hole.
    fn patterns(
        &mut self,
        key: &str,
        written: &[String],
        counts: fn(&Registered) -> bool,
    ) -> Vec<Pattern> {
        let list = written.iter().enumerate();
        list.map(|(index, text)| self.pattern(&format!("{key}/{index}"), text, counts)).collect()
    }

    fn pattern(&mut self, key: &str, text: &str, counts: fn(&Registered) -> bool) -> Pattern {
        let registry = self.place.registry;
        let pattern = Pattern::new(text);
        let named = || registry.iter().filter(|tool| pattern.names(tool.id()));
        if named().any(|tool| counts(tool)) {
            return pattern;
        }
        let ids = || registry.iter().filter(|tool| counts(tool)).map(|tool| tool.id().as_str());
        match &pattern {
            wrong if !wrong.is_legal() => {
                let help = "write an id, or the beginning of ids with one `*` at its end";
                let problem = self.problem(key, format!("`{text}` can name no tool"));
                problem.help = Some(help.to_owned());
            }
            _ if named().next().is_some() => {
                let message = format!("`{text}` names no MCP tool");
                self.unknown(key, (message, text), ids());
            }
            Pattern::Prefix(start) => {
                self.unknown(key, (format!("no tool begins with `{start}`"), start), ids());
            }
            Pattern::Exact(_) => self.unknown(key, (format!("no tool `{text}`"), text), ids()),
        }
        pattern
    }

    fn groups(&mut self, written: &[GroupEntry]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (index, entry) in written.iter().enumerate() {
            let at = format!("tool_filter_groups/{index}");
            if groups.iter().any(|group| group.name == entry.name) {
                self.problem(&format!("{at}/name"), format!("a second group `{}`", entry.name));
            }
            let mode = match entry.mode {
                ModeName::Always => GroupMode::Always,
                ModeName::Dynamic => GroupMode::Dynamic,
            };
            match (mode, entry.keywords.is_empty()) {
                (GroupMode::Dynamic, true) => {
                    self.problem(&at, "a dynamic group without keywords never shows its tools");
                }
                (GroupMode::Always, false) => {
                    let message = "a group that is always shown has no keywords";
                    self.problem(&format!("{at}/keywords"), message);
                }
                _ => {}
            }
            let tools = self.patterns(&format!("{at}/tools"), &entry.tools, is_mcp);
            let mut keywords = Vec::new();
            for (index, text) in entry.keywords.iter().enumerate() {
                match Keyword::parse(text) {
                    Some(keyword) => keywords.push(keyword),
                    None => {
                        self.problem(&format!("{at}/keywords/{index}"), "the keyword is blank");
                    }
                }
            }
            groups.push(Group { name: entry.name.clone(), mode, tools, keywords });
        }
        groups
    }

    fn deferred(&mut self, index: usize, entry: &DeferredEntry) -> Option<Deferred> {
        let at = format!("deferred/{index}");
        match entry {
            DeferredEntry::Tools(text) => {
                let counts = |tool: &Registered| !activation::is_search(tool);
                Some(Deferred::Tools(self.pattern(&at, text, counts)))
            }
            DeferredEntry::Source(SourceEntry { source }) => {
                let comes = |tool: &Registered| tool.descriptor.source.r#type == *source;
                if self.place.registry.iter().any(|tool| comes(tool)) {
                    return Some(Deferred::Source(*source));
                }
                self.problem(&at, "no tool comes from such a source");
                None
            }
        }
    }

    fn mcp_policy(&mut self, entry: &McpPolicyEntry) -> McpPolicy {
        let registry = self.place.registry;
        let known: BTreeSet<&str> =
            registry.iter().filter(|tool| is_mcp(tool)).filter_map(|tool| server(tool)).collect();
        for (index, name) in entry.servers.iter().flatten().enumerate() {
            if !known.contains(name.as_str()) {
                let key = format!("mcp_policy/servers/{index}");
                let message = format!("no tool comes from an MCP server `{name}`");
                self.unknown(&key, (message, name), known.iter().copied());
            }
        }
        let tools = entry.tools.as_ref();
        McpPolicy {
            servers: entry.servers.clone().map(|names| names.into_iter().collect()),
            tools: tools.map(|list| self.patterns("mcp_policy/tools", list, is_mcp)),
            deny: self.patterns("mcp_policy/deny", &entry.deny, is_mcp),
        }
    }
}

#[cfg(test)]
#[path = "availability_tests.rs"]
mod tests;
