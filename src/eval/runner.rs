//! Runs suites: every case becomes trials, every trial a journal that laws and grades read, and
//! everything that happens leaves as one ordered stream of events.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::baseline::{self, Comparison, Row};
use super::case::Case;
use super::coverage::{Coverage, coverage, measured};
use super::fixture::{Shared, SuiteShared, receipt_key};
use super::gate::{Gate, GateVerdict, judge};
use super::grade::{Grade, Verdict, grade};
use super::load::Suite;
use super::metric::counts::{Counts, Ratio};
use super::metric::{CaseCounts, Metric, metrics};
use super::select::Selection;
use super::trial::{self, TrialPlan, TrialRecord};
use crate::base::digest::{Digest, Hasher};
use crate::journal::Event;
use crate::journal::event::turn::WithheldTool;
use crate::law::check::Judge;
use crate::runtime::provider::chooser;

/// What is to be run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Which cases.
    pub selection: Selection,
    /// Trials of each case, when not the suite's number.
    pub trials: Option<u32>,
    /// Who proposes, when not the suite's providers.
    pub provider: Option<String>,
}

/// What happens during a run, in order.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A suite begins.
    SuiteStarted {
        /// The suite.
        suite: &'a Suite,
        /// How many trials will run.
        trials: usize,
    },
    /// A trial ended.
    TrialFinished {
        /// The suite.
        suite: &'a Suite,
        /// What was run.
        plan: &'a TrialPlan,
        /// What it left behind.
        record: &'a TrialRecord,
        /// How it is judged.
        grade: &'a Grade,
    },
}

/// The result of one case with one provider.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The case.
    pub case: Arc<Case>,
    /// Who proposed.
    pub provider: Arc<str>,
    /// The verdict of its trials: the worst of them.
    pub verdict: Verdict,
    /// Trials, and how many passed.
    pub trials: (u32, u32),
    /// What was not as expected, in the first trial that failed.
    pub complaints: Vec<String>,
    /// Whether an assertion of ours failed in a trial.
    pub bug: bool,
    /// Its row for the baseline.
    pub row: Row,
}

/// The result of one suite.
#[derive(Debug, Clone)]
pub struct SuiteResult {
    /// The suite's name.
    pub name: Arc<str>,
    /// Cases, in the order they ran.
    pub cases: Vec<CaseResult>,
    /// Metrics.
    pub metrics: Vec<Metric>,
    /// Everything counted.
    pub counts: Counts,
    /// Gates.
    pub gates: Vec<Gate>,
    /// What the suite lacks.
    pub coverage: Coverage,
    /// What the first view withheld, and the number of registered tools.
    pub withheld: (Arc<[WithheldTool]>, usize),
    /// Digests of what was measured.
    pub digests: BTreeMap<&'static str, Digest>,
    /// Against the baseline; `None` where none is committed.
    pub comparison: Option<Comparison>,
    /// Whether every case was run.
    pub complete: bool,
}

impl SuiteResult {
    /// Rows for the baseline.
    pub fn rows(&self) -> Vec<Row> {
        self.cases.iter().map(|case| case.row.clone()).collect()
    }

    /// The worst verdict of the gates that count.
    pub fn gate_verdict(&self) -> GateVerdict {
        let counting = self.gates.iter().filter(|gate| !gate.report_only);
        counting.map(|gate| gate.verdict).max().unwrap_or(GateVerdict::Pass)
    }

    /// Trials that the provider's absence kept from being scored.
    pub fn infrastructure_faults(&self) -> u64 {
        self.counts.ratio(Ratio::InfrastructureFaults).0
    }
}

/// Runs one suite. `blessed` are the rows of its committed baseline.
pub async fn run_suite(
    suite: &Suite,
    options: &RunOptions,
    shared: &Shared,
    blessed: Option<&[Row]>,
    sink: &mut dyn FnMut(RunEvent<'_>),
) -> SuiteResult {
    let plans = plan(suite, options);
    let trials = plans.iter().map(|(_, _, trials)| *trials as usize).sum();
    sink(RunEvent::SuiteStarted { suite, trials });
    let suite_shared = SuiteShared::new(suite);
    let withheld = Arc::from(Vec::new());
    let mut run = SuiteRun { suite, shared, suite_shared: &suite_shared, sink, withheld };
    let mut cases = Vec::new();
    for (case, provider, trials) in plans {
        cases.push(run.case(case, provider, trials).await);
    }
    let selected = options.selection.apply(&suite.cases).len();
    let complete = options.provider.is_none() && selected == suite.cases.len();
    let withheld = Arc::clone(&run.withheld);
    conclude(suite, (cases, withheld), blessed, complete)
}

type Plan = (Arc<Case>, Arc<str>, u32);

fn plan(suite: &Suite, options: &RunOptions) -> Vec<Plan> {
    let mut plans = Vec::new();
    for case in options.selection.apply(&suite.cases) {
        let own = match (&case.provider, &case.script) {
            (Some(provider), _) => Some(vec![provider.clone()]),
            (None, Some(_)) => Some(vec!["scripted".to_owned()]),
            (None, None) => None,
        };
        let asked = options.provider.clone().map(|provider| vec![provider]);
        let providers = own.or(asked).unwrap_or_else(|| suite.file.providers.clone());
        let trials = options.trials.or(case.trials).unwrap_or(suite.file.trials);
        for provider in providers {
            plans.push((Arc::clone(&case), provider.into(), trials));
        }
    }
    plans
}

struct SuiteRun<'a> {
    suite: &'a Suite,
    shared: &'a Shared,
    suite_shared: &'a SuiteShared,
    sink: &'a mut dyn FnMut(RunEvent<'_>),
    withheld: Arc<[WithheldTool]>,
}

impl SuiteRun<'_> {
    async fn case(
        &mut self,
        case: Arc<Case>,
        provider: Arc<str>,
        trials: u32,
    ) -> (CaseResult, CaseCounts) {
        let (mut grades, mut counts) = (Vec::new(), Counts::default());
        let mut evidence = None;
        for number in 0..trials {
            // Offline trials never wait; this is where an interruption is noticed.
            tokio::task::yield_now().await;
            let plan =
                TrialPlan { case: Arc::clone(&case), provider: Arc::clone(&provider), number };
            let record =
                trial::run_guarded(self.suite, &plan, (self.shared, self.suite_shared)).await;
            if self.withheld.is_empty() {
                self.withheld = first_withheld(&record).unwrap_or_default();
            }
            let mut judge = Judge::new(Some(receipt_key(&record.seed.hex())));
            let findings = judge.journal(record.journal.entries(), record.journal.blobs());
            let graded = grade(self.suite, &case, &record, &findings);
            (self.sink)(RunEvent::TrialFinished {
                suite: self.suite,
                plan: &plan,
                record: &record,
                grade: &graded,
            });
            counts.merge(&graded.counts);
            evidence.get_or_insert_with(|| comparability(self.suite, &plan, &record));
            grades.push(Grade { counts: Counts::default(), ..graded });
        }
        let evidence = evidence.unwrap_or_else(|| Digest::of("evidence", b""));
        let failed = grades.iter().max_by_key(|grade| grade.verdict);
        let passed = grades.iter().filter(|grade| grade.verdict == Verdict::Pass).count();
        let result = CaseResult {
            verdict: failed.map_or(Verdict::HarnessFault, |grade| grade.verdict),
            complaints: failed.map(|grade| grade.complaints.clone()).unwrap_or_default(),
            trials: (trials, u32::try_from(passed).unwrap_or(u32::MAX)),
            bug: grades.iter().any(|grade| grade.bug),
            row: Row::new(&case.id, &provider, &grades, evidence),
            provider,
            case: Arc::clone(&case),
        };
        (result, CaseCounts { counts, trials, frozen: case.frozen })
    }
}

/// The comparability key: digest of case, descriptors advertised, policy, dialect, provider and
/// its parameters.
fn comparability(suite: &Suite, plan: &TrialPlan, record: &TrialRecord) -> Digest {
    let tools = record.journal.entries().iter().find_map(|entry| match &entry.event {
        Event::ModelRequested(request) => Some(request.tools),
        _ => None,
    });
    let dialect = plan.case.dialect.unwrap_or(suite.knobs.dialect);
    let version = if &*plan.provider == "chooser" { chooser::VERSION } else { "scripted/1" };
    Hasher::new("evidence")
        .field(plan.case.digest.as_bytes())
        .field(tools.as_ref().map_or(&[][..], |digest| digest.as_bytes()))
        .field(suite.registry.digest().as_bytes())
        .field(suite.policy_digest.as_bytes())
        .field(dialect.name().as_bytes())
        .field(plan.provider.as_bytes())
        .field(version.as_bytes())
        .finish()
}

fn first_withheld(record: &TrialRecord) -> Option<Arc<[WithheldTool]>> {
    record.journal.entries().iter().find_map(|entry| match &entry.event {
        Event::ViewCompiled(view) => Some(Arc::clone(&view.withheld)),
        _ => None,
    })
}

fn conclude(
    suite: &Suite,
    (results, withheld): (Vec<(CaseResult, CaseCounts)>, Arc<[WithheldTool]>),
    blessed: Option<&[Row]>,
    complete: bool,
) -> SuiteResult {
    let mut by_provider: BTreeMap<Arc<str>, Vec<CaseCounts>> = BTreeMap::new();
    let (mut cases, mut counts) = (Vec::new(), Counts::default());
    for (case, counted) in results {
        counts.merge(&counted.counts);
        by_provider.entry(Arc::clone(&case.provider)).or_default().push(counted);
        cases.push(case);
    }
    let several = by_provider.len() > 1;
    let mut all = Vec::new();
    for (provider, counted) in &by_provider {
        all.extend(metrics(counted, several.then_some(provider)));
    }
    let tools: Vec<Arc<str>> = measured(suite).collect();
    let mut gates = judge(&suite.file.gates, &all, &tools);
    gates.extend(exercise_gates(suite, &counts, complete));
    gates.extend(hard_zeros(&counts));
    let rows: Vec<Row> = cases.iter().map(|case| case.row.clone()).collect();
    let comparison = blessed.map(|before| baseline::compare(before, &rows, complete));
    let cases_digest = suite.cases.iter().fold(Hasher::new("cases"), |hasher, case| {
        hasher.field(case.id.as_bytes()).field(case.digest.as_bytes())
    });
    let digests = BTreeMap::from([
        ("cases", cases_digest.finish()),
        ("descriptors", suite.registry.digest()),
        ("policy", suite.policy_digest),
    ]);
    SuiteResult {
        name: Arc::clone(&suite.name),
        cases,
        metrics: all,
        counts,
        gates,
        withheld: (withheld, suite.registry.len()),
        // Only a suite with prompts promises to cover its tools with them.
        coverage: suite.file.prompts.as_ref().map(|_| coverage(suite)).unwrap_or_default(),
        digests,
        comparison,
        complete,
    }
}

/// A law that a suite promises to exercise and does not is a failed gate.
fn exercise_gates(suite: &Suite, counts: &Counts, complete: bool) -> Vec<Gate> {
    if !complete {
        return Vec::new();
    }
    let gate = |law: &String| {
        let exercised = counts.laws.get(law.as_str()).map_or(0, |law| law.exercised);
        let verdict = if exercised > 0 { GateVerdict::Pass } else { GateVerdict::Fail };
        let why = format!("exercised by {exercised} trials");
        Gate { gate: format!("law {law} is exercised"), verdict, why, report_only: false }
    };
    suite.file.exercises.iter().map(gate).collect()
}

/// What no suite can allow: a harness fault scored as the model's, a broken law, an unsafe call
/// that ran. These gates stand in every suite and are shown where they fail.
fn hard_zeros(counts: &Counts) -> Vec<Gate> {
    let zeros = [
        (Ratio::HarnessFaults, "trials: a script or its expectations do not fit"),
        (Ratio::LawsBroken, "judgements of laws"),
        (Ratio::UnsafeExecuted, "unsafe calls"),
    ];
    zeros
        .into_iter()
        .map(|(ratio, of)| (ratio, counts.ratio(ratio), of))
        .filter(|(_, (seen, _), _)| *seen > 0)
        .map(|(ratio, (seen, counted), of)| Gate {
            gate: format!("{} <= 0 (in every suite)", ratio.name()),
            verdict: GateVerdict::Fail,
            why: format!("{seen} of {counted} {of}"),
            report_only: false,
        })
        .collect()
}
