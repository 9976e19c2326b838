//! `suite.yaml` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::availability::{DeferredEntry, GroupEntry, McpPolicyEntry, RiskCapEntry};
use super::credentials::CredentialsEntry;
use super::knobs::{LoopLimitsEntry, ScopeName};
pub use super::mcp_source::McpSource;
use crate::lint::Level;
use crate::runtime::dialect::{Dialect, TextRules};
use crate::runtime::policy::Principal;
use crate::tool::strict::{Format, LazyFormat};

/// The format tag.
pub const FORMAT: &str = "proofmark/suite@1";

/// The suite format.
pub static SUITE: LazyFormat = LazyFormat::new(|| Format::of::<SuiteFile>(FORMAT));

/// A suite: tools, principal, policy, settings, providers, prompts and gates.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// The format, `proofmark/suite@1`.
    pub schema: String,
    /// The name; its golden files are under `golden/<name>/`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"))]
    pub name: String,
    /// Whether a bare `run` includes it.
    #[serde(default = "yes")]
    pub default: bool,
    /// Programs it needs; without one of them it is reported as not run.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Where the descriptors are.
    #[schemars(length(min = 1))]
    pub tools: Vec<ToolSource>,
    /// The policy rules.
    #[serde(default)]
    pub rules: Option<String>,
    /// Who acts.
    #[serde(default)]
    pub principal: PrincipalEntry,
    /// Names kept out of every view.
    #[serde(default)]
    pub excluded_tools: Vec<String>,
    /// Groups of MCP tools, shown always or by keywords.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<GroupEntry>")]
    pub tool_filter_groups: Option<Vec<GroupEntry>>,
    /// Tools that `tool_search` must activate first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<DeferredEntry>")]
    pub deferred: Option<Vec<DeferredEntry>>,
    /// The only tools allowed; an empty list allows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub narrowing: Option<Vec<String>>,
    /// Which MCP servers and tools may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "McpPolicyEntry")]
    pub mcp_policy: Option<McpPolicyEntry>,
    /// The highest risk allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RiskCapEntry")]
    pub risk_cap: Option<RiskCapEntry>,
    /// How descriptors are judged by `lint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LintEntry")]
    pub lint: Option<LintEntry>,
    /// Credentials the broker holds; whatever tools require when absent.
    #[serde(default)]
    #[schemars(with = "CredentialsEntry")]
    pub credentials: Option<CredentialsEntry>,
    /// Settings of the runtime.
    #[serde(default)]
    pub knobs: KnobsEntry,
    /// Who proposes: `chooser` or `scripted`.
    #[serde(default = "chooser")]
    #[schemars(length(min = 1))]
    pub providers: Vec<String>,
    /// Trials of each case.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub trials: u32,
    /// The flat prompts, CSV.
    #[serde(default)]
    pub prompts: Option<String>,
    /// Folders or files of cases.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Look-alike pairs, CSV.
    #[serde(default)]
    pub look_alikes: Option<String>,
    /// Laws that must be exercised, besides not being broken.
    #[serde(default)]
    pub exercises: Vec<String>,
    /// Thresholds.
    #[serde(default)]
    pub gates: Vec<GateEntry>,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn chooser() -> Vec<String> {
    vec!["chooser".to_owned()]
}

/// How descriptors are judged by `lint`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintEntry {
    /// The level of rules that shall have another one than their own, by name.
    pub levels: BTreeMap<String, LevelName>,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the levels that `lint` has")]
pub enum LevelName {
    Off,
    Info,
    Warning,
    Error,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Off => Self::Off,
            LevelName::Info => Self::Info,
            LevelName::Warning => Self::Warning,
            LevelName::Error => Self::Error,
        }
    }
}

/// Where descriptors come from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolSource {
    /// A folder or a file of manifests.
    Path(String),
    /// A live MCP server.
    Mcp {
        /// How to reach it.
        mcp: Box<McpSource>,
    },
    /// A file with an OpenAI or Anthropic tool list.
    OpenAi {
        /// The file.
        openai: String,
    },
    /// A saved listing.
    Snapshot {
        /// The file.
        snapshot: String,
    },
    /// A skill's folder: its text, and its scripts as tools.
    Skill {
        /// The folder.
        skill: String,
    },
    /// An agent's home: what its registry has enabled for live use, with its skills and its
    /// credentials.
    Home {
        /// The home's folder.
        home: String,
    },
    /// What a registry has enabled, in whatever scope.
    Registry {
        /// The registry's folder.
        registry: String,
    },
}

/// Who acts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalEntry {
    /// The id.
    pub id: String,
    /// For whom they act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What they hold.
    #[serde(default)]
    pub scopes: Vec<String>,
}

impl PrincipalEntry {
    /// As the runtime knows them.
    pub fn principal(&self) -> Principal {
        let scopes = self.scopes.iter().cloned().collect();
        Principal { tenant: self.tenant.clone(), ..Principal::new(self.id.clone(), scopes) }
    }
}

impl Default for PrincipalEntry {
    fn default() -> Self {
        Self {
            id: "dev".to_owned(),
            tenant: None,
            scopes: vec!["workspace_write".to_owned(), "external_read".to_owned()],
        }
    }
}

/// Settings of the runtime.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KnobsEntry {
    /// Whether calls may run in parallel.
    pub parallel_tools: bool,
    /// What returns to the model, in Unicode scalar values.
    #[schemars(range(min = 1))]
    pub max_tool_result_chars: usize,
    /// Whether successes get receipts.
    pub receipts: bool,
    /// Model requests of one turn.
    #[schemars(range(min = 1))]
    pub iteration_cap: u32,
    /// How many tools a request may show.
    pub max_tools: usize,
    /// Money, in US dollars.
    pub budget_usd: Option<f64>,
    /// How requests are spelled.
    pub dialect: DialectName,
    /// Which parts of a description are shown.
    pub rendering: RenderingEntry,
    /// Which spellings of a call count in plain text, under the dialect `text`.
    // A suite that says nothing about it keeps the digest it had before this could be said; so for
    // all that follows.
    #[serde(skip_serializing_if = "TextRules::is_usual")]
    pub text: TextRules,
    /// How far back the duplicate guard looks; within one reply when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScopeName")]
    pub duplicate_scope: Option<ScopeName>,
    /// Tools that the duplicate guard leaves alone, beside polling tools and delegation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicate_exempt: Vec<String>,
    /// When calls that go in circles are warned about, blocked, and end the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LoopLimitsEntry")]
    pub loop_limits: Option<LoopLimitsEntry>,
    /// How many calls a turn may start; no limit when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub call_budget: Option<u32>,
    /// Changes of the workspace (L2) of so many lines are confirmed by a person; none when left
    /// out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1))]
    pub confirm_diff_lines: Option<u32>,
    /// How long a turn may take, in milliseconds; no limit when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pub turn_deadline_ms: Option<u64>,
    /// How long an answer may take, in milliseconds; 300,000 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pub approval_expiry_ms: Option<u64>,
    /// How long a hook may take, in milliseconds; 10,000 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pub hook_timeout_ms: Option<u64>,
}

impl Default for KnobsEntry {
    fn default() -> Self {
        Self {
            parallel_tools: false,
            max_tool_result_chars: 4_000,
            receipts: true,
            iteration_cap: 10,
            max_tools: 128,
            budget_usd: None,
            dialect: DialectName::OpenaiChat,
            rendering: RenderingEntry::default(),
            text: TextRules::default(),
            duplicate_scope: None,
            duplicate_exempt: Vec::new(),
            loop_limits: None,
            call_budget: None,
            confirm_diff_lines: None,
            turn_deadline_ms: None,
            approval_expiry_ms: None,
            hook_timeout_ms: None,
        }
    }
}

/// Dialects as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the dialects' own")]
pub enum DialectName {
    OpenaiChat,
    OpenaiResponses,
    AnthropicMessages,
    Gemini,
    Text,
}

impl DialectName {
    /// The dialect of that name.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::OpenaiChat => Dialect::OpenAiChat,
            Self::OpenaiResponses => Dialect::OpenAiResponses,
            Self::AnthropicMessages => Dialect::AnthropicMessages,
            Self::Gemini => Dialect::Gemini,
            Self::Text => Dialect::Text,
        }
    }
}

/// Which parts of a description are shown beside the summary.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RenderingEntry {
    /// Use-when and do-not-use-when.
    pub use_when: bool,
    /// Examples.
    pub examples: bool,
    /// Intent, risk and approval hints.
    pub hints: bool,
}

impl Default for RenderingEntry {
    fn default() -> Self {
        Self { use_when: true, examples: true, hints: false }
    }
}

/// A threshold on a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateEntry {
    /// The metric's name.
    pub metric: String,
    /// `tool`: one threshold for each tool.
    #[serde(default)]
    pub per: Option<String>,
    /// Exact scope, such as `{split: frozen}`.
    #[serde(default)]
    pub scope: BTreeMap<String, String>,
    /// The value must be at least this.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The value must be at most this.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Below this denominator the gate is undecided.
    #[serde(default)]
    pub min_denominator: u64,
    /// Judged and shown, without effect on the verdict.
    #[serde(default)]
    pub report_only: bool,
}
