//! Settings of the runtime as suites and cases write them, and how they are read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::availability::Place;
use super::suite::KnobsEntry;
use crate::base::problem::Problem;
use crate::runtime::dialect::{Rendering, TextRules};
use crate::runtime::guard::limits::{LoopLimits, Thresholds};
use crate::runtime::guard::repeat::DuplicateScope;
use crate::runtime::resolved::Knobs;
use crate::tool::id::ToolId;

/// How far back the duplicate guard looks, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScopeName {
    /// Within one reply.
    Reply,
    /// Within the turn.
    Turn,
}

/// When calls that go in circles are warned about, blocked, and end the turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoopLimitsEntry {
    /// The same call with the same result; 3, 4, 6 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThresholdsEntry")]
    pub identical: Option<ThresholdsEntry>,
    /// Two calls in turn, each with its same result; 6, 8, 10 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThresholdsEntry")]
    pub ping_pong: Option<ThresholdsEntry>,
    /// One tool with different arguments and the same result; 6, 8, 10 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThresholdsEntry")]
    pub no_progress: Option<ThresholdsEntry>,
}

/// After how many calls a pattern is warned about, blocked, and ends the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdsEntry {
    /// It is warned about.
    #[schemars(range(min = 2))]
    pub warn: usize,
    /// The next one of it does not run.
    #[schemars(range(min = 2))]
    pub block: usize,
    /// The turn ends.
    #[schemars(range(min = 2))]
    pub stop: usize,
}

/// Settings of one case, where they are not its suite's.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CaseKnobsEntry {
    /// Whether calls may run in parallel.
    #[schemars(with = "bool")]
    pub parallel_tools: Option<bool>,
    /// What returns to the model, in Unicode scalar values.
    #[schemars(with = "usize", range(min = 1))]
    pub max_tool_result_chars: Option<usize>,
    /// Model requests of one turn.
    #[schemars(with = "u32", range(min = 1))]
    pub iteration_cap: Option<u32>,
    /// Which spellings of a call count in plain text, under the dialect `text`.
    #[schemars(with = "TextRules")]
    pub text: Option<TextRules>,
    /// How far back the duplicate guard looks.
    #[schemars(with = "ScopeName")]
    pub duplicate_scope: Option<ScopeName>,
    /// Tools that the duplicate guard leaves alone.
    #[schemars(with = "Vec<String>")]
    pub duplicate_exempt: Option<Vec<String>>,
    /// When calls that go in circles are warned about, blocked, and end the turn.
    #[schemars(with = "LoopLimitsEntry")]
    pub loop_limits: Option<LoopLimitsEntry>,
    /// How many calls a turn may start.
    #[schemars(with = "u32")]
    pub call_budget: Option<u32>,
    /// Changes of the workspace of so many lines are confirmed by a person.
    #[schemars(with = "u32", range(min = 1))]
    pub confirm_diff_lines: Option<u32>,
    /// How long a turn may take, in milliseconds.
    #[schemars(with = "u64", range(min = 1))]
    pub turn_deadline_ms: Option<u64>,
    /// How long an answer may take, in milliseconds.
    #[schemars(with = "u64", range(min = 1))]
    pub approval_expiry_ms: Option<u64>,
    /// How long a hook may take, in milliseconds.
    #[schemars(with = "u64", range(min = 1))]
    pub hook_timeout_ms: Option<u64>,
}

impl CaseKnobsEntry {
    /// The suite's settings with what the case says in their place.
    pub(super) fn over(&self, suite: &KnobsEntry) -> KnobsEntry {
        let mut knobs = suite.clone();
        macro_rules! replace {
            ($($name:ident),+) => {
                $(if let Some(value) = &self.$name {
                    knobs.$name = value.clone().into();
                })+
            };
        }
        replace!(parallel_tools, max_tool_result_chars, iteration_cap, text, duplicate_scope);
        replace!(duplicate_exempt, call_budget, turn_deadline_ms, approval_expiry_ms);
        replace!(hook_timeout_ms, confirm_diff_lines);
        if let Some(own) = self.loop_limits {
            let base = knobs.loop_limits.unwrap_or_default();
            knobs.loop_limits = Some(LoopLimitsEntry {
                identical: own.identical.or(base.identical),
                ping_pong: own.ping_pong.or(base.ping_pong),
                no_progress: own.no_progress.or(base.no_progress),
            });
        }
        knobs
    }
}

/// Tools that do not exist, and thresholds in the wrong order.
pub(super) fn check(
    (exempt, limits): (&[String], Option<LoopLimitsEntry>),
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) {
    let (registry, document) = (place.registry, place.document);
    for (index, name) in exempt.iter().enumerate().filter(|_| !registry.is_empty()) {
        if ToolId::parse(name).is_none_or(|id| registry.get(&id).is_none()) {
            let at = format!("{}/knobs/duplicate_exempt/{index}", place.at);
            let problem = document.problem(&at, format!("no tool `{name}`"));
            problems.push(problem.suggest(name, registry.iter().map(|tool| tool.id().as_str())));
        }
    }
    let LoopLimitsEntry { identical, ping_pong, no_progress } = limits.unwrap_or_default();
    let all = [("identical", identical), ("ping_pong", ping_pong), ("no_progress", no_progress)];
    for (name, limits) in all {
        if limits.is_some_and(|limits| limits.warn > limits.block || limits.block > limits.stop) {
            let at = format!("{}/knobs/loop_limits/{name}", place.at);
            let problem = document.problem(&at, "a later step comes before an earlier one");
            problems.push(problem.help("write warn, then block, then stop, each at least as high"));
        }
    }
}

/// The settings as the runtime takes them.
pub(super) fn settings(written: &KnobsEntry) -> Knobs {
    let usual = Knobs::default();
    let exempt = written.duplicate_exempt.iter().filter_map(|name| ToolId::parse(name));
    Knobs {
        parallel_tools: written.parallel_tools,
        max_tool_result_chars: written.max_tool_result_chars,
        receipts: written.receipts,
        iteration_cap: written.iteration_cap,
        dialect: written.dialect.dialect(),
        rendering: Rendering {
            use_when: written.rendering.use_when,
            examples: written.rendering.examples,
            hints: written.rendering.hints,
        },
        text: written.text,
        duplicate_scope: match written.duplicate_scope {
            Some(ScopeName::Turn) => DuplicateScope::Turn,
            Some(ScopeName::Reply) => DuplicateScope::Reply,
            None => usual.duplicate_scope,
        },
        duplicate_exempt: exempt.collect(),
        loop_limits: limits(written.loop_limits.unwrap_or_default(), usual.loop_limits),
        call_budget: written.call_budget,
        turn_deadline_ms: written.turn_deadline_ms,
        confirm_diff_lines: written.confirm_diff_lines,
        approval_expiry_ms: written.approval_expiry_ms.unwrap_or(usual.approval_expiry_ms),
        hook_timeout_ms: written.hook_timeout_ms.unwrap_or(usual.hook_timeout_ms),
    }
}

fn limits(written: LoopLimitsEntry, usual: LoopLimits) -> LoopLimits {
    let read = |entry: Option<ThresholdsEntry>, usual: Thresholds| {
        entry.map_or(usual, |own| Thresholds { warn: own.warn, block: own.block, stop: own.stop })
    };
    LoopLimits {
        identical: read(written.identical, usual.identical),
        ping_pong: read(written.ping_pong, usual.ping_pong),
        no_progress: read(written.no_progress, usual.no_progress),
    }
}
