//! `proofmark laws` and `proofmark mutants`.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::{Format, interruptible, runtime, suites};
use crate::base::choice::Random;
use crate::eval::fixture::Shared;
use crate::eval::runner::{RunEvent, RunOptions, run_suite};
use crate::journal::{Blobs, Entry};
use crate::law::registry;
use crate::report::json::envelope;
use crate::report::table::{Look, draw};
use crate::runtime::turn::steps::Steps;
use crate::sim::explore::{Bench, session_seed};
use crate::sim::mutant::grade::{Graded, Outcome, grade, witness_key, witnesses};
use crate::sim::mutant::steps::{self, StepGraded};
use crate::sim::scene::Scene;

/// Arguments of `laws`.
#[derive(Debug, Args)]
pub struct LawsArgs {
    /// Also run the default suites and the simulator and count which laws they exercise
    #[arg(long)]
    coverage: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Arguments of `mutants`.
#[derive(Debug, Args)]
pub struct MutantsArgs {
    /// Suites whose journals are altered, besides the laws' own witnesses
    suites: Vec<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Shows the table of laws.
///
/// # Errors
/// When a suite is invalid.
pub fn laws(args: &LawsArgs, output: &mut Output) -> Result<Exit, CliError> {
    let mut exercised: BTreeMap<&str, usize> = BTreeMap::new();
    let mut simulated: BTreeMap<&str, u64> = BTreeMap::new();
    if args.coverage || args.format == Format::Json {
        let runtime = runtime()?;
        let found = interruptible(&runtime, suites::find(&[], &[]))??;
        for suite in &found.suites {
            let shared = Shared::default();
            let options = RunOptions::default();
            let mut sink = |_: RunEvent<'_>| {};
            let run = run_suite(suite, &options, &shared, None, &mut sink);
            let result = runtime.block_on(run);
            for (law, counts) in &result.counts.laws {
                *exercised.entry(law).or_default() += usize::from(counts.exercised > 0);
            }
        }
        simulated = simulate()?;
    }
    let sessions_of = |name: &str| simulated.get(name).copied().unwrap_or(0);
    let suites_of = |name: &str| exercised.get(name).copied().unwrap_or(0);
    match args.format {
        Format::Human => {
            let rows = registry::all().iter().map(|law| {
                let mut row =
                    vec![law.name.to_owned(), law.source.to_owned(), law.title.to_owned()];
                if args.coverage {
                    row.push(suites_of(law.name).to_string());
                    row.push(sessions_of(law.name).to_string());
                }
                row.push(law.mutants.len().to_string());
                row
            });
            let header: &[&str] = if args.coverage {
                &["law", "from", "says", "suites", "simulated", "mutants"]
            } else {
                &["law", "from", "says", "mutants"]
            };
            output.text(&draw(header, rows.collect(), Look::Terminal));
        }
        Format::Json => {
            let laws: Vec<Value> = registry::all()
                .iter()
                .map(|law| {
                    json!({"name": law.name, "source": law.source, "title": law.title,
                        "exercisedBySuites": suites_of(law.name), "exercisedBySim": sessions_of(law.name),
                        "mutants": law.mutants})
                })
                .collect();
            let mut answer = envelope(None, "pass", 0);
            answer.insert("laws".into(), Value::Array(laws));
            output.json(&Value::Object(answer));
        }
    }
    Ok(Exit::Pass)
}

/// How many turns are simulated to see which laws they exercise: enough for the rarest trouble.
const TURNS: u64 = 20_000;

/// In how many simulated sessions each law held.
fn simulate() -> Result<BTreeMap<&'static str, u64>, CliError> {
    let (scene, steps) = (Scene::new().map_err(CliError::Environment)?, Steps::REAL);
    let mut bench = Bench::new(&scene, &steps);
    for session in 0.. {
        if bench.turns >= TURNS {
            break;
        }
        bench.chance(&mut Random::new(session_seed(SEED, session)));
    }
    Ok(registry::all().iter().map(|law| law.name).zip(bench.exercised).collect())
}

/// Alters journals and asks whether the laws notice.
///
/// # Errors
/// When a suite is invalid.
pub fn mutants(args: &MutantsArgs, output: &mut Output) -> Result<Exit, CliError> {
    let mut graded: Vec<(Graded, &str)> =
        grade(&witnesses(), Some(witness_key())).into_iter().map(|one| (one, "witness")).collect();
    let mut on_suites = 0;
    if !args.suites.is_empty() {
        // What a suite's journals offer no place for is still shown by the laws' own witnesses,
        // and each line says on which of the two it was shown.
        let of_suites = grade(&journals(&args.suites)?, None);
        for (one, of_suite) in graded.iter_mut().zip(of_suites) {
            if of_suite.outcome != Outcome::NotExercised {
                *one = (of_suite, "suite");
                on_suites += 1;
            }
        }
    }
    let scene = Scene::new().map_err(CliError::Environment)?;
    let decided: Vec<StepGraded> =
        steps::all().iter().map(|one| steps::grade(&scene, one, SEED, SESSIONS)).collect();
    let caught = |(one, _): &(Graded, &str)| one.outcome == Outcome::Caught && !one.decoy_flagged;
    let vacuous = graded.is_empty() || (!args.suites.is_empty() && on_suites == 0);
    let noticed = |one: &StepGraded| one.outcome == Outcome::Caught && !one.decoy_flagged;
    let bad = vacuous || !graded.iter().all(caught) || !decided.iter().all(noticed);
    let exit = if bad { Exit::Fail } else { Exit::Pass };
    match args.format {
        Format::Human => {
            let rows = graded.iter().map(|(one, basis)| {
                let decoy = if one.decoy_flagged { "flagged" } else { "quiet" };
                vec![
                    one.name.to_owned(),
                    one.outcome.name().to_owned(),
                    one.caught_by.join(", "),
                    (*basis).to_owned(),
                    decoy.to_owned(),
                ]
            });
            let played = decided.iter().map(|one| {
                let decoy = if one.decoy_flagged { "flagged" } else { "quiet" };
                vec![
                    named(one),
                    one.outcome.name().to_owned(),
                    one.caught_by.join(", "),
                    "simulator".to_owned(),
                    decoy.to_owned(),
                ]
            });
            let table = draw(
                &["mutant", "outcome", "caught by", "shown on", "decoy"],
                rows.chain(played).collect(),
                Look::Terminal,
            );
            let count = graded.len() + decided.len();
            output.text(&format!("{table}\n{count} mutants graded, {on_suites} on suites"));
        }
        Format::Json => {
            let mutants: Vec<Value> = graded
                .iter()
                .map(|(one, basis)| {
                    json!({"basis": basis, "name": one.name, "outcome": one.outcome.name(),
                        "caughtBy": one.caught_by, "decoyFlagged": one.decoy_flagged})
                })
                .collect();
            let played = decided.iter().map(|one| {
                json!({"basis": "simulator", "name": one.name, "outcome": one.outcome.name(),
                    "fault": one.fault, "caughtBy": one.caught_by,
                    "decoyFlagged": one.decoy_flagged, "reproduce": one.replay})
            });
            let mutants = mutants.into_iter().chain(played).collect();
            let mut answer = envelope(None, if bad { "fail" } else { "pass" }, exit.code());
            answer.insert("mutants".into(), Value::Array(mutants));
            output.json(&Value::Object(answer));
        }
    }
    Ok(exit)
}

/// One seed for all that is simulated, so that every run says the same.
const SEED: u64 = 1;
/// Sessions that a decision mutant is played with at most.
const SESSIONS: u64 = 40_000;

fn named(one: &StepGraded) -> String {
    one.fault.map_or(one.name.to_owned(), |fault| format!("{} ({fault})", one.name))
}

fn journals(names: &[String]) -> Result<Vec<(Vec<Entry>, Blobs)>, CliError> {
    let runtime = runtime()?;
    let found = interruptible(&runtime, suites::find(names, &[]))??;
    let mut journals = Vec::new();
    for suite in &found.suites {
        let (shared, options) = (Shared::default(), RunOptions::default());
        let mut sink = |event: RunEvent<'_>| {
            if let RunEvent::TrialFinished { record, .. } = event {
                let entries = record.journal.entries().to_vec();
                journals.push((entries, record.journal.blobs().clone()));
            }
        };
        runtime.block_on(run_suite(suite, &options, &shared, None, &mut sink));
    }
    Ok(journals)
}
