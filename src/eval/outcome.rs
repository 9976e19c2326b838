//! What a whole run comes to.

use std::sync::Arc;

use super::gate::GateVerdict;
use super::runner::SuiteResult;

/// A suite that was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// The suite.
    pub suite: Arc<str>,
    /// Why.
    pub reason: String,
    /// Whether it was required.
    pub required: bool,
}

/// Reasons a run can end for, mildest first; the strictest one names the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunVerdict {
    /// Everything holds.
    Pass,
    /// Nothing was selected.
    NothingSelected,
    /// A gate cannot be decided.
    Inconclusive,
    /// The evidence belongs to other descriptors.
    Stale,
    /// A gate failed, a law broke, or the baseline differs.
    Fail,
    /// A provider or the environment failed.
    Environment,
    /// An assertion of ours failed.
    HarnessBug,
}

impl RunVerdict {
    /// `pass`, `fail` or `inconclusive`, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NothingSelected
            | Self::Inconclusive
            | Self::Stale
            | Self::Environment
            | Self::HarnessBug => "inconclusive",
        }
    }
}

/// A run's results.
#[derive(Debug, Clone, Default)]
pub struct RunResult {
    /// Suites, in the order they ran.
    pub suites: Vec<SuiteResult>,
    /// Suites that did not run.
    pub not_run: Vec<NotRun>,
    /// Suites whose listing is not the one they are pinned to.
    pub stale: Vec<String>,
    /// Whether a difference from the baseline is only reported.
    pub proposing: bool,
}

/// The verdict on one suite.
pub fn suite_verdict(suite: &SuiteResult, proposing: bool) -> RunVerdict {
    let differs = suite.comparison.as_ref().is_some_and(|found| !found.differences.is_empty());
    let gates = match suite.gate_verdict() {
        GateVerdict::Pass => RunVerdict::Pass,
        GateVerdict::Inconclusive => RunVerdict::Inconclusive,
        GateVerdict::Fail => RunVerdict::Fail,
    };
    let baseline = if differs && !proposing { RunVerdict::Fail } else { RunVerdict::Pass };
    let environment = match suite.infrastructure_faults() {
        0 => RunVerdict::Pass,
        _ => RunVerdict::Environment,
    };
    let bug = match suite.cases.iter().any(|case| case.bug) {
        true => RunVerdict::HarnessBug,
        false => RunVerdict::Pass,
    };
    gates.max(baseline).max(environment).max(bug)
}

impl RunResult {
    /// The strictest verdict of all suites.
    pub fn verdict(&self) -> RunVerdict {
        let cases: usize = self.suites.iter().map(|suite| suite.cases.len()).sum();
        let mut verdict = if cases == 0 { RunVerdict::NothingSelected } else { RunVerdict::Pass };
        for suite in &self.suites {
            if !suite.cases.is_empty() {
                verdict = verdict.max(suite_verdict(suite, self.proposing));
            }
        }
        if !self.stale.is_empty() {
            verdict = verdict.max(RunVerdict::Stale);
        }
        if self.not_run.iter().any(|one| one.required) {
            verdict = verdict.max(RunVerdict::Environment);
        }
        verdict
    }
}
