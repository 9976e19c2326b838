//! `proofmark run`: the main job.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::{Format, interruptible, runtime, suites};
use crate::base::world::{Stopwatch, wall_clock};
use crate::eval::fixture::Shared;
use crate::eval::grade::Verdict;
use crate::eval::load::{PROVIDERS, Suite};
use crate::eval::outcome::{RunResult, RunVerdict};
use crate::eval::runner::{RunEvent, RunOptions, SuiteResult, run_suite};
use crate::eval::select::Selection;
use crate::report::baseline::{pretty, propose};
use crate::report::jsonl::RunLog;
use crate::report::progress::Progress;
use crate::report::{ReportError, csv, json as report_json, junit, markdown, terminal};

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark run\n  proofmark run office --case 'g-mail-*'\n  \
    proofmark run suites/bench-scripted --trials 50 --format json")]
pub struct RunArgs {
    /// Suites by name or folder; all default suites when left out
    suites: Vec<String>,
    /// Only cases whose id matches this glob; may be repeated
    #[arg(long)]
    case: Vec<String>,
    /// Only cases with this tag; may be repeated
    #[arg(long)]
    tag: Vec<String>,
    /// Only cases that expect this tool; may be repeated
    #[arg(long)]
    tool: Vec<String>,
    /// Trials of each case, instead of the suite's number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,
    /// Who proposes, instead of the suite's providers (scripted cases keep their script)
    #[arg(long)]
    provider: Option<String>,
    /// Fail when this suite, or a program it needs, is absent; may be repeated
    #[arg(long)]
    require: Vec<String>,
    /// Against the baseline: `check` fails on differences, `propose` only reports them
    #[arg(long, value_enum, default_value_t = Bless::Check)]
    baseline: Bless,
    #[command(flatten)]
    fixtures: suites::Fixtures,
    /// Where reports go
    #[arg(long, default_value = "reports")]
    reports: PathBuf,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
    /// Only differences, failures, gates and verdicts; no tables
    #[arg(long)]
    brief: bool,
}

/// What a difference from the baseline means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bless {
    Check,
    Propose,
}

/// Runs suites.
///
/// # Errors
/// When inputs are invalid or reports cannot be written.
pub fn run(args: &RunArgs, output: &mut Output) -> Result<Exit, CliError> {
    let watch = Stopwatch::start();
    check_provider(args.provider.as_ref())?;
    let selection = Selection::new(&args.case, &args.tag, &args.tool)
        .map_err(|(glob, why)| CliError::Usage(format!("--case {glob}: {why}")))?;
    let options = RunOptions { selection, trials: args.trials, provider: args.provider.clone() };
    let runtime = runtime()?;
    let mut found = interruptible(&runtime, suites::find(&args.suites, &args.require))??;
    args.fixtures.tell(&mut found.suites);
    if found.suites.is_empty() && found.not_run.is_empty() {
        return Err(found.nothing());
    }
    check_names(args, &found.suites)?;
    let mut blessed = Vec::new();
    for suite in &found.suites {
        blessed.push(suites::blessed(suite)?);
    }
    let folder = report_folder(&args.reports)?;
    let mut record = Recorder::new(&folder, &found.suites, args, output)?;
    let shared = Shared::default();
    let mut result = RunResult {
        not_run: found.not_run,
        stale: found.stale,
        proposing: args.baseline == Bless::Propose,
        ..RunResult::default()
    };
    for (suite, blessed) in found.suites.iter().zip(&blessed) {
        let mut sink = |event: RunEvent<'_>| record.event(&event);
        let run = run_suite(suite, &options, &shared, blessed.as_deref(), &mut sink);
        result.suites.push(interruptible(&runtime, run)?);
    }
    let exit = exit_of(&result);
    record.finish(&result, exit)?;
    let timings = json!({"schema": "proofmark/timings@1", "run": folder.file_name().map(|n| n.to_string_lossy()),
        "finishedAt": wall_clock(), "wallMs": watch.elapsed().as_millis() as u64});
    write(&folder.join("timings.json"), &pretty(&timings))?;
    name_latest(&args.reports, &folder)?;
    answer(args, output, &result, exit, &folder);
    Ok(exit)
}

/// A provider that exists, or none.
///
/// # Errors
/// The nearest name that does.
pub fn check_provider(provider: Option<&String>) -> Result<(), CliError> {
    match provider.filter(|provider| !PROVIDERS.contains(&provider.as_str())) {
        None => Ok(()),
        Some(provider) => {
            let known = PROVIDERS.join(", ");
            Err(CliError::Usage(format!("no provider `{provider}`; known: {known}")))
        }
    }
}

/// Tools and tags that no case has select nothing by mistake.
fn check_names(args: &RunArgs, suites: &[Suite]) -> Result<(), CliError> {
    let cases = || suites.iter().flat_map(|suite| suite.cases.iter());
    let expected = || cases().flat_map(|case| case.expect.alternatives.iter().flatten());
    let tools: BTreeSet<&str> = expected().map(|call| &*call.tool).collect();
    let tags: BTreeSet<&str> = cases().flat_map(|case| &case.tags).map(String::as_str).collect();
    for (flag, given, known) in [("--tool", &args.tool, tools), ("--tag", &args.tag, tags)] {
        if let Some(name) = given.iter().find(|name| !known.contains(name.as_str())) {
            let near = crate::base::problem::nearest(name, known.iter().copied());
            let ending = format!(".{name}");
            let near = near.or_else(|| known.iter().copied().find(|one| one.ends_with(&ending)));
            let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(CliError::Usage(format!("{flag} {name}: no case has it{help}")));
        }
    }
    Ok(())
}

fn exit_of(result: &RunResult) -> Exit {
    match result.verdict() {
        RunVerdict::Pass => Exit::Pass,
        RunVerdict::NothingSelected => Exit::NothingSelected,
        RunVerdict::Inconclusive => Exit::Undecided,
        RunVerdict::Stale => Exit::Stale,
        RunVerdict::Fail => Exit::Fail,
        RunVerdict::Environment => Exit::Environment,
        RunVerdict::HarnessBug => Exit::HarnessBug,
    }
}

fn answer(args: &RunArgs, output: &mut Output, result: &RunResult, exit: Exit, folder: &Path) {
    match args.format {
        Format::Json => output.json(&report_json::report(result, exit.code())),
        Format::Human => {
            let mut text = terminal::summary(result, !args.brief);
            if result.verdict() == RunVerdict::NothingSelected {
                text.push_str("no case was selected\n");
            }
            output.text(&format!("{text}reports: {}", folder.display()));
        }
    }
}

/// A new folder `reports/<time>`, named by the clock and never reused.
fn report_folder(reports: &Path) -> Result<PathBuf, ReportError> {
    fs::create_dir_all(reports).map_err(|error| ReportError::io(reports, &error))?;
    let millis = i64::try_from(wall_clock()).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    let stamp: String = time.to_string().chars().filter(char::is_ascii_digit).take(17).collect();
    for attempt in 0_u32.. {
        let name = if attempt == 0 { stamp.clone() } else { format!("{stamp}-{attempt}") };
        let folder = reports.join(&name);
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(ReportError::io(folder, &error)),
        }
    }
    Err(ReportError { path: reports.to_path_buf(), reason: "no free name".to_owned() })
}

/// Only a run that ended is the latest one.
fn name_latest(reports: &Path, folder: &Path) -> Result<(), ReportError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    // A name of its own: runs may end at the same time.
    let (fresh, latest) = (reports.join(format!("latest.{name}.new")), reports.join("latest"));
    write(&fresh, &name)?;
    fs::rename(&fresh, &latest).map_err(|error| ReportError::io(&latest, &error))
}

fn write(path: &Path, text: &str) -> Result<(), ReportError> {
    fs::write(path, text).map_err(|error| ReportError::io(path, &error))
}

/// Everything that listens to a run. A reporter that fails is told at the end and silences no
/// other.
struct Recorder {
    folder: PathBuf,
    log: Option<RunLog>,
    progress: Progress,
    golden: BTreeMap<Arc<str>, PathBuf>,
    failed: Option<ReportError>,
}

impl Recorder {
    fn new(
        folder: &Path,
        suites: &[Suite],
        args: &RunArgs,
        output: &Output,
    ) -> Result<Self, ReportError> {
        let names: Vec<String> = suites.iter().map(|suite| suite.name.to_string()).collect();
        let log = RunLog::create(folder.join("run.jsonl"), &names)?;
        let visible = output.watched() && args.format == Format::Human;
        let progress = Progress::new(visible);
        let place = |suite: &Suite| (Arc::clone(&suite.name), suites::golden(suite));
        let golden = suites.iter().map(place).collect();
        Ok(Self { folder: folder.to_path_buf(), log: Some(log), progress, golden, failed: None })
    }

    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::SuiteStarted { suite, trials } => self.progress.suite(&suite.name, *trials),
            RunEvent::TrialFinished { suite, plan, record, grade } => {
                let written =
                    self.log.as_mut().map(|log| log.trial(&suite.name, plan, record, grade));
                if let Some(Err(error)) = written {
                    self.failed.get_or_insert(error);
                    self.log = None;
                }
                self.progress.trial();
            }
        }
    }

    fn finish(mut self, result: &RunResult, exit: Exit) -> Result<(), ReportError> {
        self.progress.finish();
        if let Some(log) = self.log.take() {
            log.finish(result, exit.code())?;
        }
        let report = report_json::report(result, exit.code());
        write(&self.folder.join("report.json"), &pretty(&report))?;
        write(&self.folder.join("cases.csv"), &csv::cases(result))?;
        write(&self.folder.join("metrics.csv"), &csv::metrics(result))?;
        write(&self.folder.join("summary.md"), &markdown::summary(result))?;
        write(&self.folder.join("junit.xml"), &junit::junit(result)?)?;
        // A fault is no result to bless.
        let sound = |suite: &&SuiteResult| {
            suite.complete && suite.cases.iter().all(|case| case.verdict <= Verdict::Fail)
        };
        for suite in result.suites.iter().filter(sound) {
            let same = suite
                .comparison
                .as_ref()
                .is_some_and(|found| found.differences.is_empty() && found.remeasured == 0);
            if !same {
                propose(&self.folder, suite, self.golden.get(&suite.name))?;
            }
        }
        self.failed.map_or(Ok(()), Err)
    }
}
