//! Cases: `suites/<suite>/cases/*.yaml` as written, and the case that everything else uses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::availability::{DeferredEntry, GroupEntry, McpPolicyEntry, RiskCapEntry};
use super::events::{EndName, ExpectedEvent, ExpectedEventEntry};
use super::knobs::CaseKnobsEntry;
use super::play::{
    ActEntry, ApprovalEntry, EnvelopeEntry, HookEntry, Play, PlayedAnswer, SignalEntry,
};
use crate::base::digest::Digest;
use crate::runtime::dialect::Dialect;
use crate::runtime::provider::scripted::Step;
use crate::runtime::resolved::Knobs;
use crate::runtime::view::Availability;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;
use crate::tool::matcher::Matchers;
use crate::tool::strict::{Format, LazyFormat};

/// The format of a file with one case.
pub static CASE: LazyFormat = LazyFormat::new(|| Format::of::<CaseEntry>("proofmark/case@1"));
/// The format of a file with many cases.
pub static CASES: LazyFormat = LazyFormat::new(|| Format::of::<CasesFile>("proofmark/cases@1"));
/// The format of a script.
pub static SCRIPT: LazyFormat = LazyFormat::new(|| Format::of::<ScriptFile>("proofmark/script@1"));

/// Many cases in one file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CasesFile {
    /// The format, `proofmark/cases@1`.
    pub schema: String,
    /// The cases.
    pub cases: Vec<CaseEntry>,
}

/// One case as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseEntry {
    /// The format, `proofmark/case@1`, in a file of its own.
    #[serde(default)]
    pub schema: Option<String>,
    /// A stable, unique id.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"))]
    pub id: String,
    /// What the user says.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What the user says, turn by turn.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Who proposes; by default `scripted` with a script, else the suite's providers.
    #[serde(default)]
    pub provider: Option<String>,
    /// The script: a file, or its steps.
    #[serde(default)]
    pub script: Option<ScriptEntry>,
    /// Providers that a signal can switch to, by name, each with its script.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, ScriptEntry>,
    /// How the messages come in; unsaid when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EnvelopeEntry")]
    pub envelope: Option<EnvelopeEntry>,
    /// Who looks at calls before and after they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookEntry>,
    /// Answers to approval requests, in order; without any, nobody is there.
    #[serde(default)]
    pub approvals: Vec<ApprovalEntry>,
    /// What comes from outside while a turn runs. A signal that is never sent is a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalEntry>,
    /// What simulated tools do, by id: one entry for each start or attempt, in order. After them a
    /// tool answers as its descriptor says; what is never played is a mistake.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Vec<ActEntry>>,
    /// Files of the trial's workspace. `${secret:NAME}` stands for a planted secret: here, in a
    /// file's name, and in all that is said in a case.
    #[serde(default)]
    pub workspace: BTreeMap<String, String>,
    /// Names kept out of this case's views.
    #[serde(default)]
    pub excluded_tools: Vec<String>,
    /// Groups of MCP tools, shown always or by keywords, when not the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<GroupEntry>")]
    pub tool_filter_groups: Option<Vec<GroupEntry>>,
    /// Tools that `tool_search` must activate first, when not the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<DeferredEntry>")]
    pub deferred: Option<Vec<DeferredEntry>>,
    /// The only tools allowed, beside what the suite says; an empty list allows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub narrowing: Option<Vec<String>>,
    /// Which MCP servers and tools may be used, beside what the suite says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "McpPolicyEntry")]
    pub mcp_policy: Option<McpPolicyEntry>,
    /// The highest risk allowed, beside what the suite says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RiskCapEntry")]
    pub risk_cap: Option<RiskCapEntry>,
    /// Who acts, when not the suite's principal.
    #[serde(default)]
    pub principal: Option<super::suite::PrincipalEntry>,
    /// What is intended, when it is declared.
    #[serde(default)]
    pub intent: Option<Intent>,
    /// How requests are spelled, when not as the suite says.
    #[serde(default)]
    pub dialect: Option<super::suite::DialectName>,
    /// Settings of the runtime, where they are not the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CaseKnobsEntry")]
    pub knobs: Option<CaseKnobsEntry>,
    /// Labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Trials, when not the suite's number.
    #[serde(default)]
    pub trials: Option<u32>,
    /// What must happen.
    #[serde(default)]
    pub expect: ExpectEntry,
}

/// A script by file or in place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScriptEntry {
    /// A file, relative to the case's.
    File(String),
    /// The steps.
    Steps(Vec<StepEntry>),
}

/// A script file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// The format, `proofmark/script@1`.
    pub schema: String,
    /// The steps.
    pub steps: Vec<StepEntry>,
}

/// One step: what the request must show, and the answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StepEntry {
    /// What the request must show.
    pub expect_request: ExpectRequestEntry,
    /// The reply.
    pub reply: Option<ReplyEntry>,
    /// No reply, and why.
    pub fault: Option<FaultEntry>,
}

/// What a request must show.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectRequestEntry {
    /// Texts in the messages.
    pub contains: Vec<String>,
    /// Tools advertised.
    pub tools: Vec<String>,
    /// Tools not advertised.
    pub no_tools: Vec<String>,
}

/// A scripted reply.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyEntry {
    /// Text.
    pub text: Option<String>,
    /// Native reasoning, from which no call is ever taken.
    pub reasoning: Option<String>,
    /// Calls.
    pub calls: Vec<CallEntry>,
}

/// A scripted call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallEntry {
    /// The provider's id.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool's id, or any name.
    pub name: String,
    /// Arguments.
    #[serde(default)]
    pub arguments: Option<Map<String, Value>>,
    /// Arguments as text that need not be JSON.
    #[serde(default)]
    pub raw_arguments: Option<String>,
}

/// A scripted fault.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultEntry {
    /// `infrastructure` or `model`.
    pub blame: FaultBlame,
    /// What happened.
    pub message: String,
}

/// Who is to blame for a scripted fault.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum FaultBlame {
    Infrastructure,
    Model,
}

/// What must happen, as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectEntry {
    /// Expected calls.
    pub calls: Vec<ExpectedCallEntry>,
    /// Several acceptable sets of calls.
    pub any_of: Vec<Vec<ExpectedCallEntry>>,
    /// How calls are compared.
    pub mode: Mode,
    /// No tool fits.
    pub none: Option<Kind>,
    /// What must not be proposed or executed.
    pub never: NeverEntry,
    /// Calls that must, and must not, trigger an approval.
    pub approval: ApprovalExpectEntry,
    /// The final text.
    pub r#final: Option<FinalEntry>,
    /// Events of the journal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ExpectedEventEntry>,
    /// How the last turn ends. With `provider_fault`, that there is no reply is no fault of the
    /// provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EndName")]
    pub end: Option<EndName>,
}

/// One expected call as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCallEntry {
    /// The tool's id, or a name that does not exist.
    pub tool: String,
    /// Matchers by argument; not compared when absent.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    /// The outcome's name.
    #[serde(default)]
    pub outcome: Option<String>,
}

/// Tools or effect classes that must not be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NeverEntry {
    /// Not asked for.
    pub proposed: Vec<String>,
    /// Not run.
    pub executed: Vec<String>,
}

/// Tools whose calls must, must not, or must be refused rather than, ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalExpectEntry {
    /// Must ask.
    pub must: Vec<String>,
    /// Must not ask.
    pub must_not: Vec<String>,
}

/// Matchers of the final text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FinalEntry {
    /// Texts it must contain.
    pub contains: Vec<String>,
    /// Texts it must not contain.
    pub lacks: Vec<String>,
}

/// How expected and actual calls are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// These calls, in this order of replies, and no other.
    #[default]
    Exactly,
    /// These calls in this order; others may stand between.
    InOrder,
    /// These calls in any order, and no other.
    AnyOrder,
    /// These calls; others are allowed.
    AtLeast,
    /// No call beyond these.
    AtMost,
    /// These calls first, in this order; others may follow.
    Prefix,
}

/// What kind of prompt it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A tool fits.
    Golden,
    /// No tool fits.
    NoTool,
    /// The right act is to ask.
    Ask,
    /// The right act is to refuse.
    Refuse,
}

impl Kind {
    /// The name as written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Golden => "golden",
            Self::NoTool => "no_tool",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }
}

/// A case, ready to be asked.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its id.
    pub id: Arc<str>,
    /// Where it was written, `file:line`.
    pub origin: String,
    /// What kind of prompt.
    pub kind: Kind,
    /// What the user says, turn by turn.
    pub messages: Vec<String>,
    /// Who proposes, when the case says so.
    pub provider: Option<String>,
    /// The script.
    pub script: Option<Arc<[Step]>>,
    /// Answers to approvals; `None` when nobody is there.
    pub approvals: Option<Vec<PlayedAnswer>>,
    /// Hooks, signals, and what else is played beside the model's words.
    pub play: Play,
    /// Settings, when not the suite's.
    pub knobs: Option<Arc<Knobs>>,
    /// Files of the workspace.
    pub workspace: BTreeMap<String, String>,
    /// Names kept out.
    pub excluded: BTreeSet<ToolId>,
    /// What is allowed beside that, when not as the suite says.
    pub availability: Option<Arc<Availability>>,
    /// Who acts.
    pub principal: Option<super::suite::PrincipalEntry>,
    /// What is intended.
    pub intent: Option<Intent>,
    /// How requests are spelled, when not as the suite says.
    pub dialect: Option<Dialect>,
    /// Labels.
    pub tags: BTreeSet<String>,
    /// Trials.
    pub trials: Option<u32>,
    /// What must happen.
    pub expect: Expectation,
    /// Digest of the case as written.
    pub digest: Digest,
    /// Whether it belongs to the part that nothing is ever tuned on.
    pub frozen: bool,
}

/// The tag of prompts that a scaffold wrote; they are no evidence.
pub const STUB: &str = "stub";

impl Case {
    /// Whether it is a scaffold's placeholder.
    pub fn is_stub(&self) -> bool {
        self.tags.contains(STUB)
    }
}

/// What must happen.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    /// Acceptable sets of calls; one empty set when no call is right.
    pub alternatives: Vec<Vec<ExpectedCall>>,
    /// How they are compared.
    pub mode: Mode,
    /// What must not be.
    pub never: NeverEntry,
    /// Approval labels.
    pub approval: ApprovalExpectEntry,
    /// The final text.
    pub r#final: FinalEntry,
    /// Events of the journal.
    pub events: Vec<ExpectedEvent>,
    /// How the last turn ends.
    pub end: Option<EndName>,
}

/// One expected call.
#[derive(Debug, Clone)]
pub struct ExpectedCall {
    /// The tool's id or a name.
    pub tool: Arc<str>,
    /// Matchers; `None` when arguments are not compared.
    pub args: Option<Matchers>,
    /// The outcome's name.
    pub outcome: Option<String>,
}

/// Whether an id falls into the frozen 30 %: by the hash of suite and id, so that nobody picks.
pub fn is_frozen(suite: &str, id: &str) -> bool {
    let digest = crate::base::digest::Hasher::new("frozen")
        .field(suite.as_bytes())
        .field(id.as_bytes())
        .finish();
    digest.as_bytes()[0] < 77
}
