//! What a case plays beside the model's words: how its messages come in, hooks, answers, signals,
//! and what simulated tools do. As written, and as trials use it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::runtime::exec::simulated::Act;
use crate::runtime::guard::{Envelope, HookSpec, HookVerdict, Point, Verdict};
use crate::runtime::provider::scripted::Step;
use crate::tool::id::ToolId;

/// How a message comes in, and where an answer goes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EnvelopeEntry {
    /// The way in.
    pub ingress: Option<Ingress>,
    /// The channel it comes by.
    pub channel: Option<String>,
    /// Where an answer goes.
    pub reply_to: Option<String>,
    /// The conversation inside the channel.
    pub thread: Option<String>,
}

/// Ways in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Ingress {
    Cli,
    Channel,
    Acp,
    Websocket,
    Gateway,
    Cron,
    Delegate,
}

impl Ingress {
    /// The name as written in files and journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Channel => "channel",
            Self::Acp => "acp",
            Self::Websocket => "websocket",
            Self::Gateway => "gateway",
            Self::Cron => "cron",
            Self::Delegate => "delegate",
        }
    }
}

/// A scripted hook. One name may stand at several points, once at each.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Its name; what it stops is blocked by that name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// When it runs.
    #[serde(default)]
    pub point: PointName,
    /// Higher runs earlier; equal ones by name.
    #[serde(default)]
    pub priority: i32,
    /// Whether it only observes: whatever it says, and whether it fails, changes nothing.
    #[serde(default)]
    pub observer: bool,
    /// Whether it sees every tool; else only tools whose descriptor names it.
    #[serde(default = "yes")]
    pub global: bool,
    /// The calls it acts on, by the tool's name as it stands; it lets all others pass. All calls
    /// when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What it does.
    #[serde(default)]
    pub action: ActionName,
    /// For `rewrite`: the new name.
    #[serde(default)]
    pub rename: Option<String>,
    /// For `rewrite`: the new arguments, all of them.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    /// For `cancel` and `fail`: its words.
    #[serde(default)]
    pub reason: Option<String>,
    /// How long it takes first, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
}

fn yes() -> bool {
    true
}

/// When a hook runs, as written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PointName {
    /// Before anything is judged.
    #[default]
    BeforeCall,
    /// When a call ended, before its result counts.
    Verify,
    /// After a call that ran.
    AfterCall,
    /// After a call that ran and failed.
    OnError,
}

impl PointName {
    /// The point of that name.
    pub fn point(self) -> Point {
        match self {
            Self::BeforeCall => Point::BeforeCall,
            Self::Verify => Point::Verify,
            Self::AfterCall => Point::AfterCall,
            Self::OnError => Point::OnError,
        }
    }
}

/// What a hook does, as written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionName {
    /// Nothing.
    #[default]
    Pass,
    /// Gives another name, other arguments, or both.
    Rewrite,
    /// Stops the call.
    Cancel,
    /// Says that it failed.
    Fail,
    /// Panics.
    Panic,
    /// Never answers.
    Slow,
}

/// A scripted answer to an approval request.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalEntry {
    /// The tool's id; `*` for any.
    pub tool: String,
    /// What is said.
    pub answer: AnswerName,
    /// The replacement, for `replace`; the reason, for `deny`.
    #[serde(default)]
    pub text: Option<String>,
    /// For `approve` and `confirm`: how far the yes reaches; once when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ReachName")]
    pub scope: Option<ReachName>,
    /// Whether it is said only when the question's time is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The question that it is addressed to, counted over the case from 1, when not the one that
    /// was asked. Where there is no such question yet, it is addressed to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize", range(min = 1))]
    pub to: Option<usize>,
}

/// Answers as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerName {
    /// Yes.
    Approve,
    /// The stronger confirmation.
    Confirm,
    /// No.
    Deny,
    /// A text instead of running.
    Replace,
    /// Whoever is asked says that time is up.
    Timeout,
}

/// How far a yes reaches, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReachName {
    /// This call.
    Once,
    /// Calls of this tool in this session.
    Session,
    /// Calls of this tool until the grant expires.
    Always,
}

/// Something from outside, sent as soon as an event is recorded. Exactly one of `cancel`, `steer`,
/// `switch`, `revoke` and `block` says what.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalEntry {
    /// The event's name.
    pub after: String,
    /// Only events of calls of this tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// The how many-th of them, over the case, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// The turn must end, and why.
    #[serde(default)]
    pub cancel: Option<String>,
    /// The user says this.
    #[serde(default)]
    pub steer: Option<String>,
    /// This provider answers from here on: one of `others`, or `scripted`.
    #[serde(default)]
    pub switch: Option<String>,
    /// All grants of the session so far are taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoke: bool,
    /// This tool is blocked for the rest of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
}

fn one() -> u32 {
    1
}

/// What a simulated tool does at one start, or at one attempt of a call.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ActEntry {
    /// What it answers: a text, or a structure; what its descriptor says when left out.
    pub output: Option<Value>,
    /// It fails; what it answers stands beside that.
    pub fault: Option<ActFaultEntry>,
    /// It never ends by itself.
    pub hang: bool,
    /// It panics.
    pub panic: bool,
    /// How long it takes, in milliseconds.
    pub delay_ms: u64,
    /// Whether it goes on to its end when it is told to stop.
    pub deaf: bool,
    /// A resource that it is seen to write, such as `api:elsewhere`.
    #[schemars(regex(pattern = r"^[a-z][a-z_]*:.+$"))]
    pub undeclared: Option<String>,
    /// What it is seen to cost, in US dollars.
    #[schemars(range(min = 0.0))]
    pub cost_usd: Option<f64>,
}

/// How a simulated tool fails.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActFaultEntry {
    /// A stable name, such as `busy`.
    #[schemars(length(min = 1))]
    pub code: String,
    /// What happened.
    #[serde(default)]
    pub message: String,
}

/// What a case plays beside the model's words, ready for trials.
#[derive(Debug, Clone, Default)]
pub struct Play {
    /// How its messages come in.
    pub envelope: Envelope,
    /// Its hooks.
    pub hooks: Vec<PlayedHook>,
    /// What comes from outside.
    pub signals: Vec<PlayedSignal>,
    /// Who may be switched to.
    pub others: BTreeMap<Arc<str>, Arc<[Step]>>,
    /// What its simulated tools do, by start.
    pub tools: BTreeMap<ToolId, Vec<Act>>,
}

/// A hook, ready for trials.
#[derive(Debug, Clone)]
pub struct PlayedHook {
    /// When it runs, and as what.
    pub spec: HookSpec,
    /// The names it acts on; all when empty.
    pub tools: BTreeSet<String>,
    /// How long it takes first, in milliseconds.
    pub delay_ms: u64,
    /// How it ends.
    pub end: HookEnd,
}

/// How a hook ends.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEnd {
    /// It says this.
    Says(HookVerdict),
    /// It panics.
    Panics,
    /// It does not.
    Never,
}

/// An answer, ready for trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedAnswer {
    /// The tool it is meant for; `*` for any.
    pub tool: String,
    /// What is said.
    pub verdict: Verdict,
    /// Whether it comes only when the question's time is over.
    pub late: bool,
    /// Another question that it is addressed to, counted from 1.
    pub to: Option<usize>,
}

/// A signal, ready for trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedSignal {
    /// The event's name.
    pub after: String,
    /// Only events of calls of this tool.
    pub tool: Option<ToolId>,
    /// The how many-th of them, from 1.
    pub count: u32,
    /// What is sent.
    pub what: What,
}

/// What a signal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The turn must end.
    Cancel(String),
    /// The user speaks.
    Steer(String),
    /// Another provider answers.
    Switch(String),
    /// All grants so far are taken back.
    Revoke,
    /// This tool is blocked.
    Block(ToolId),
}
