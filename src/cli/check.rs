//! `proofmark check JOURNAL`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::base::digest::Digest;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::base::secret::Secret;
use crate::eval::read::{read, shown};
use crate::journal::{Blobs, Entry, format};
use crate::law::check::Judge;
use crate::law::law::{Finding, Verdict};
use crate::report::explain;
use crate::report::json::envelope;

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark check reports/20260501120000000/run.jsonl\n  \
    proofmark check journal.jsonl --key receipt.key --format json")]
pub struct CheckArgs {
    /// A journal, one event a line, or the run.jsonl of a run
    journal: PathBuf,
    /// A file with the receipts' key
    #[arg(long)]
    key: Option<PathBuf>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Judges a journal.
///
/// # Errors
/// All unreadable lines; nothing is judged then.
pub fn check(args: &CheckArgs, output: &mut Output) -> Result<Exit, CliError> {
    let key = args.key.as_ref().map(|path| read(path)).transpose();
    let key = key.map_err(|problem| vec![problem])?.map(|text| Secret::new(text.trim()));
    let Recorded { entries, blobs, complete } = load(&args.journal)?;
    let findings = Judge::new(key).journal(&entries, &blobs);
    let broken = findings.iter().any(|f| matches!(f.verdict, Verdict::Broken { .. }));
    let holds = findings.iter().any(|f| matches!(f.verdict, Verdict::Holds { .. }));
    let unknown = findings.iter().any(|f| matches!(f.verdict, Verdict::Unknown { .. }));
    let exit = match (broken, holds && !unknown && complete) {
        (true, _) => Exit::Fail,
        (false, true) => Exit::Pass,
        (false, false) => Exit::Undecided,
    };
    match args.format {
        Format::Human => {
            let cut = if complete { "" } else { " (the run did not end)" };
            let head = format!("{} events of {}{cut}\n", entries.len(), shown(&args.journal));
            output.text(&(head + &explain::findings(&findings, &entries)));
        }
        Format::Json => {
            let verdict = match exit {
                Exit::Fail => "fail",
                Exit::Pass => "pass",
                _ => "inconclusive",
            };
            let mut answer = envelope(None, verdict, exit.code());
            answer.insert("events".into(), entries.len().into());
            answer.insert("laws".into(), findings.iter().map(finding).collect());
            output.json(&Value::Object(answer));
        }
    }
    Ok(exit)
}

fn finding(finding: &Finding) -> Value {
    match &finding.verdict {
        Verdict::Holds { checked } => {
            json!({"name": finding.law, "verdict": "holds", "checked": checked})
        }
        Verdict::NotExercised => json!({"name": finding.law, "verdict": "not_exercised"}),
        Verdict::Unknown { why } => {
            json!({"name": finding.law, "verdict": "unknown", "why": why})
        }
        Verdict::Broken { violations } => {
            let violations: Vec<Value> = violations
                .iter()
                .map(|v| json!({"message": v.message, "call": v.call, "events": v.events}))
                .collect();
            json!({"name": finding.law, "verdict": "broken", "violations": violations})
        }
    }
}

/// What a file records.
#[derive(Debug)]
pub struct Recorded {
    /// The events.
    pub entries: Vec<Entry>,
    /// The texts beside them.
    pub blobs: Blobs,
    /// Whether a run's record has its last line; a plain journal has none.
    pub complete: bool,
}

/// Reads a journal, or all journals of a run's record with their blobs.
///
/// # Errors
/// All unreadable lines.
pub fn load(path: &Path) -> Result<Recorded, Vec<Problem>> {
    let (text, file) = (read(path).map_err(|problem| vec![problem])?, shown(path));
    if !text.trim_start().starts_with("{\"event\":") {
        let (entries, problems) = format::read(&file, &text);
        if problems.is_empty() && entries.is_empty() {
            let problem = Problem::new(file, Position::default(), "there is no event in it");
            return Err(vec![problem]);
        }
        let recorded = Recorded { entries, blobs: Blobs::default(), complete: true };
        return if problems.is_empty() { Ok(recorded) } else { Err(problems) };
    }
    let (lines, mut problems) = jsonl::read(&file, &text);
    let (mut entries, mut blobs) = (Vec::new(), Blobs::default());
    let (mut complete, mut trials) = (false, 0_u64);
    for line in lines {
        let bad = |message: String| Problem::new(&file, Position::new(line.number, 1), message);
        let mut object = line.object;
        match object.get("event").and_then(Value::as_str) {
            Some("blob") => match blob(&object) {
                Some((name, text)) => blobs.put_known(name, text.into()),
                None => problems.push(bad("a blob whose text is not what its digest names".into())),
            },
            Some("trialFinished") => {
                trials += 1;
                let Some(Value::Array(journal)) = object.remove("journal") else {
                    problems.push(bad("a trial without a journal".into()));
                    continue;
                };
                for value in journal {
                    let Value::Object(event) = value else {
                        problems.push(bad("an event that is no object".into()));
                        continue;
                    };
                    match format::entry(event, 1) {
                        Ok(entry) => entries.push(entry),
                        Err((message, _)) => problems.push(bad(message)),
                    }
                }
            }
            Some("runFinished") => {
                complete = true;
                let said = object.get("trials").and_then(Value::as_u64);
                if said.is_some_and(|said| said != trials) {
                    problems.push(bad(format!("{said:?} trials were run, {trials} are here")));
                }
            }
            Some("runStarted" | "trialStarted") => {}
            other => problems.push(bad(format!("unknown record {other:?}"))),
        }
    }
    if entries.is_empty() && problems.is_empty() {
        problems.push(Problem::new(file, Position::default(), "there is no event in it"));
    }
    let recorded = Recorded { entries, blobs, complete };
    if problems.is_empty() { Ok(recorded) } else { Err(problems) }
}

fn blob(object: &Map<String, Value>) -> Option<(Digest, String)> {
    let name = Digest::parse(object.get("digest")?.as_str()?)?;
    let text = object.get("text")?.as_str()?;
    (Blobs::name(text) == name).then(|| (name, text.to_owned()))
}
