//! `proofmark sim`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::kept;
use super::output::Output;
use crate::base::choice::{from_text, to_text};
use crate::base::world::Stopwatch;
use crate::journal::{Journal, format};
use crate::law::explain;
use crate::report::json::envelope;
use crate::runtime::turn::steps::Steps;
use crate::sim::explore::{self, Bench, Found};
use crate::sim::scene::Scene;
use crate::sim::swarm::Kind;

/// Arguments of `sim`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark sim --seed 7 --count 100000\n  \
    proofmark sim --exhaustive\n  proofmark sim --replay 1.0.3.1 --journal found.jsonl\n  \
    proofmark sim --mutant no-cap --keep golden/journals/regressions")]
pub struct SimArgs {
    /// Which sessions: the same seed gives the same journals, byte for byte
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many turns
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Every order of up to this many calls instead, with a cancellation at every step
    #[arg(long, value_name = "CALLS", num_args = 0..=1, default_missing_value = "3",
        conflicts_with_all = ["seed", "count", "replay"],
        value_parser = clap::value_parser!(u8).range(1..=4))]
    exhaustive: Option<u8>,
    /// One session again, by the list that a failure printed
    #[arg(long, value_name = "LIST", conflicts_with_all = ["seed", "count"])]
    replay: Option<String>,
    /// Play with a known mistake in the decisions (`all` for each in turn), until a law notices it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["count", "exhaustive", "replay", "journal"])]
    mutant: Option<String>,
    /// Keep what is found: the journal in this folder, and a row in its index.csv
    #[arg(long, value_name = "FOLDER", conflicts_with = "exhaustive")]
    keep: Option<PathBuf>,
    /// The file's name in that folder: what went wrong, in words like `starts-after-cancel`
    #[arg(long, value_name = "NAME", requires = "keep", conflicts_with = "mutant")]
    cause: Option<String>,
    /// Where to write the journal of a failure, or of the session that is replayed
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// What is to be told.
#[derive(Default)]
struct Answer {
    schedules: Option<(u64, u64)>,
    found: Vec<Found>,
    options: Vec<&'static str>,
    reproduce: Option<String>,
    journal: Option<Journal>,
    shape: Option<String>,
}

/// Runs simulated sessions.
///
/// # Errors
/// When the list to be replayed is none, or the journal cannot be written.
pub fn sim(args: &SimArgs, output: &mut Output) -> Result<Exit, CliError> {
    let scene = Scene::new().map_err(CliError::Environment)?;
    if let Some(name) = &args.mutant {
        let played = kept::mutants(&scene, (name, args.seed), args.keep.as_deref())?;
        match args.format {
            Format::Human => output.text(&played.text()),
            Format::Json => output.json(&played.json()),
        }
        return Ok(played.exit());
    }
    if args.keep.is_some() && !args.cause.as_deref().is_some_and(kept::is_name) {
        let message = "--keep needs --cause NAME: what went wrong, like `starts-after-cancel`";
        return Err(CliError::Usage(message.to_owned()));
    }
    let steps = Steps::REAL;
    let (mut bench, watch) = (Bench::new(&scene, &steps), Stopwatch::start());
    let answer = if let Some(calls) = args.exhaustive {
        everything(&mut bench, usize::from(calls))
    } else if let Some(list) = &args.replay {
        again(&mut bench, list)?
    } else {
        chance(&mut bench, args)
    };
    if let (Some(path), Some(journal)) = (&args.journal, &answer.journal) {
        let mut lines = Vec::new();
        journal.entries().iter().for_each(|entry| format::write_line(entry, &mut lines));
        std::fs::write(path, lines).map_err(|error| {
            CliError::Environment(format!("{}: {}", path.display(), error.kind()))
        })?;
    }
    if let (Some(folder), Some(cause), Some(journal)) = (&args.keep, &args.cause, &answer.journal)
        && !answer.found.is_empty()
    {
        let found = crate::sim::kept::of(journal, &[]).ok_or_else(|| {
            let message = "there is no journal here in which exactly one law is broken";
            CliError::NothingSelected(message.to_owned())
        })?;
        kept::keep(folder, cause, &found)?;
    }
    let exit = if answer.found.is_empty() { Exit::Pass } else { Exit::Fail };
    match args.format {
        Format::Human => {
            let seconds = watch.elapsed().as_secs_f64();
            output.text(&told(args, &bench, &answer, seconds));
        }
        Format::Json => output.json(&Value::Object(as_json(args, &bench, &answer, exit))),
    }
    Ok(exit)
}

fn chance(bench: &mut Bench<'_>, args: &SimArgs) -> Answer {
    match explore::random(bench, args.seed, args.count) {
        None => Answer::default(),
        Some(failure) => Answer {
            reproduce: Some(failure.replay()),
            found: failure.found,
            options: failure.swarm,
            journal: failure.journal,
            ..Answer::default()
        },
    }
}

fn again(bench: &mut Bench<'_>, list: &str) -> Result<Answer, CliError> {
    let parsed = from_text(list).ok_or_else(|| {
        CliError::Usage(format!("`{list}` is no list of choices; it looks like 1.0.3"))
    })?;
    let judged = explore::replay(bench, parsed);
    let options = judged.record.as_ref().map(|r| r.swarm.names()).unwrap_or_default();
    let journal = judged.record.map(|record| record.whole());
    let reproduce = Some(list.to_owned());
    Ok(Answer { found: judged.found, options, reproduce, journal, ..Answer::default() })
}

fn everything(bench: &mut Bench<'_>, calls: usize) -> Answer {
    let explored = explore::exhaustive(bench, calls);
    let mut answer =
        Answer { schedules: Some((explored.schedules, explored.pruned)), ..Answer::default() };
    if let Some((flavours, parallel, choices, found)) = explored.failure {
        let mode = if parallel { "parallel" } else { "sequential" };
        answer.shape = Some(format!("{mode} {flavours:?} with choices {}", to_text(&choices)));
        answer.found = found;
    }
    answer
}

fn told(args: &SimArgs, bench: &Bench<'_>, answer: &Answer, seconds: f64) -> String {
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let mut out = match answer.schedules {
        Some((schedules, pruned)) => format!(
            "{schedules} schedules, {pruned} of them cut short at a known state, {:.0} a second\n",
            rate(schedules)
        ),
        None if args.replay.is_some() => format!("{} events\n", bench.entries),
        None => format!(
            "seed {}: {} turns, {} calls ({:.2} a turn), {} events, {:.0} turns a second\n",
            args.seed,
            bench.turns,
            bench.calls,
            per_turn(bench),
            bench.entries,
            rate(bench.turns)
        ),
    };
    if answer.found.is_empty() {
        out.push_str("no violation");
        return out;
    }
    if !answer.options.is_empty() {
        out.push_str(&format!("trouble that existed: {}\n", answer.options.join(", ")));
    }
    let entries = answer.journal.as_ref().map(Journal::entries).unwrap_or_default();
    for found in &answer.found {
        match &found.violation {
            Some(violation) => out.push_str(&explain::explain(violation, entries)),
            None => out.push_str(&format!("{}: {}\n", found.by, found.message)),
        }
    }
    if let Some(shape) = &answer.shape {
        out.push_str(&format!("{shape}\n"));
    }
    if let Some(list) = &answer.reproduce {
        out.push_str(&format!("again: proofmark sim --replay '{list}'"));
        if args.keep.is_none() && answer.found.iter().any(|found| found.violation.is_some()) {
            let folder = kept::FOLDER;
            out.push_str(&format!(
                "\nkeep it: the same with --keep {folder} --cause WHAT-WENT-WRONG"
            ));
        }
    }
    out
}

fn per_turn(bench: &Bench<'_>) -> f64 {
    if bench.turns == 0 { 0.0 } else { bench.calls as f64 / bench.turns as f64 }
}

fn as_json(args: &SimArgs, bench: &Bench<'_>, answer: &Answer, exit: Exit) -> Map<String, Value> {
    let verdict = if exit == Exit::Pass { "pass" } else { "fail" };
    let mut json = envelope(None, verdict, exit.code());
    let violations: Vec<Value> = answer
        .found
        .iter()
        .map(|found| json!({"law": found.by, "message": found.message}))
        .collect();
    let options: Map<String, Value> = Kind::ALL
        .iter()
        .zip(&bench.drawn)
        .map(|(kind, drawn)| (kind.name().to_owned(), (*drawn).into()))
        .collect();
    json.insert("seed".into(), args.seed.into());
    json.insert("turns".into(), bench.turns.into());
    json.insert("calls".into(), bench.calls.into());
    json.insert("events".into(), bench.entries.into());
    json.insert("callsPerTurn".into(), json!(per_turn(bench)));
    json.insert("schedules".into(), json!(answer.schedules.map(|(run, _)| run)));
    json.insert("pruned".into(), json!(answer.schedules.map(|(_, pruned)| pruned)));
    json.insert("violations".into(), violations.into());
    json.insert("options".into(), options.into());
    json.insert("reproduce".into(), json!(answer.reproduce.as_ref().or(answer.shape.as_ref())));
    json
}
