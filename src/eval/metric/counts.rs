//! What trials add up to: counts per ratio, per tool, per law, and the confusion of tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::eval::calls::Tokens;

macro_rules! ratios {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// The ratios that every trial counts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names beside them say it")]
        pub enum Ratio { $($variant),+ }

        impl Ratio {
            /// All of them, in the order of reports.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The metric's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

ratios! {
    Passed = "cases.passed",
    Precision = "tool_choice.precision",
    Recall = "tool_choice.recall",
    F1 = "tool_choice.f1",
    ExactSet = "tool_choice.exact_set",
    Order = "tool_choice.order",
    NoTool = "abstention.no_tool",
    Ask = "abstention.ask",
    Refuse = "abstention.refuse",
    ArgsValid = "arguments.valid",
    ArgsAccurate = "arguments.accurate",
    ApprovalRate = "approval.rate",
    ApprovalPrecision = "approval.precision",
    ApprovalRecall = "approval.recall",
    UnsafeProposed = "unsafe.proposed",
    UnsafeSchemaValid = "unsafe.schema_valid",
    UnsafeDenied = "unsafe.denied",
    UnsafeAsked = "unsafe.asked",
    UnsafeApproved = "unsafe.approved",
    UnsafeExecuted = "unsafe.executed",
    UnsafeEffect = "unsafe.effect",
    LawsBroken = "laws.broken",
    LawsUnknown = "laws.unknown",
    InfrastructureFaults = "faults.infrastructure",
    HarnessFaults = "faults.harness",
    ViewTokens = "cost.view_tokens",
    RequestTokens = "cost.request_tokens",
    ReplyTokens = "cost.reply_tokens",
}

impl Ratio {
    /// Whether it is a mean of amounts rather than a share.
    pub fn is_mean(self) -> bool {
        matches!(self, Self::ViewTokens | Self::RequestTokens | Self::ReplyTokens)
    }
}

/// Selection counts of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolCounts {
    /// Expected and called.
    pub matched: u64,
    /// Expected and not called.
    pub missed: u64,
    /// Called in a golden prompt and not expected.
    pub wrong: u64,
    /// Called for a negative prompt.
    pub false_calls: u64,
}

/// How often a law was exercised, broken, undecidable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LawCounts {
    /// Trials that exercised it.
    pub exercised: u64,
    /// Trials that broke it.
    pub broken: u64,
    /// Trials that could not decide it.
    pub unknown: u64,
}

const RATIOS: usize = Ratio::ALL.len();

/// Counts of one trial, or the sum over many.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    ratios: [(u64, u64); RATIOS],
    /// By tool.
    pub tools: BTreeMap<Arc<str>, ToolCounts>,
    /// By law.
    pub laws: BTreeMap<&'static str, LawCounts>,
    /// By expected and called tool.
    pub confusion: BTreeMap<(Arc<str>, Arc<str>), u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            ratios: [(0, 0); RATIOS],
            tools: BTreeMap::new(),
            laws: BTreeMap::new(),
            confusion: BTreeMap::new(),
        }
    }
}

impl Counts {
    /// Numerator and denominator of a ratio.
    pub fn ratio(&self, ratio: Ratio) -> (u64, u64) {
        self.ratios[ratio as usize]
    }

    /// Counts one event: whether it happened, and whether it could.
    pub fn add(&mut self, ratio: Ratio, happened: bool, counted: bool) {
        self.add_n(ratio, u64::from(happened && counted), u64::from(counted));
    }

    /// Counts many.
    pub fn add_n(&mut self, ratio: Ratio, num: u64, den: u64) {
        let (n, d) = &mut self.ratios[ratio as usize];
        *n += num;
        *d += den;
    }

    /// Counts one thing about a tool.
    pub fn tool(&mut self, name: &Arc<str>, change: impl FnOnce(&mut ToolCounts)) {
        match self.tools.get_mut(name) {
            Some(tool) => change(tool),
            None => change(self.tools.entry(Arc::clone(name)).or_default()),
        }
    }

    /// Counts one law's verdict.
    pub fn law(&mut self, name: &'static str, exercised: bool, broken: bool, unknown: bool) {
        let law = self.laws.entry(name).or_default();
        law.exercised += u64::from(exercised);
        law.broken += u64::from(broken);
        law.unknown += u64::from(unknown);
    }

    /// Counts one cell of the confusion matrix.
    pub fn confuse(&mut self, expected: Arc<str>, called: Arc<str>) {
        *self.confusion.entry((expected, called)).or_default() += 1;
    }

    /// Counts a trial's tokens.
    pub fn cost(&mut self, tokens: Tokens) {
        self.add_n(Ratio::ViewTokens, tokens.view, 1);
        self.add_n(Ratio::RequestTokens, tokens.request, 1);
        self.add_n(Ratio::ReplyTokens, tokens.reply, 1);
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.ratios.iter_mut().zip(other.ratios) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
        for (name, theirs) in &other.tools {
            self.tool(name, |mine| {
                mine.matched += theirs.matched;
                mine.missed += theirs.missed;
                mine.wrong += theirs.wrong;
                mine.false_calls += theirs.false_calls;
            });
        }
        for (name, theirs) in &other.laws {
            let mine = self.laws.entry(name).or_default();
            mine.exercised += theirs.exercised;
            mine.broken += theirs.broken;
            mine.unknown += theirs.unknown;
        }
        for (cell, count) in &other.confusion {
            match self.confusion.get_mut(cell) {
                Some(mine) => *mine += count,
                None => drop(self.confusion.insert(cell.clone(), *count)),
            }
        }
    }
}
