//! `proofmark check JOURNAL`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::recorded::{Recorded, is_record, load, with_texts};
use crate::base::problem::{Position, Problem};
use crate::base::secret::Secret;
use crate::eval::read::{read, shown};
use crate::journal::Entry;
use crate::law::check::Judge;
use crate::law::law::{Finding, Verdict};
use crate::law::passes::{self, Unjudged};
use crate::law::stream::Judged;
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
    let Answer { findings, shown: entries, events, complete } = judge(&args.journal, key)?;
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
            let head = format!("{events} events of {}{cut}\n", shown(&args.journal));
            output.text(&(head + &explain::findings(&findings, &entries)));
        }
        Format::Json => {
            let verdict = match exit {
                Exit::Fail => "fail",
                Exit::Pass => "pass",
                _ => "inconclusive",
            };
            let mut answer = envelope(None, verdict, exit.code());
            answer.insert("events".into(), events.into());
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

/// What a file came to.
struct Answer {
    findings: Vec<Finding>,
    /// Entries that breaches name, among others.
    shown: Vec<Entry>,
    events: u64,
    complete: bool,
}

/// A journal is read by lines and never held as a whole; a run's record is.
fn judge(path: &Path, key: Option<Secret>) -> Result<Answer, Vec<Problem>> {
    let fail = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            kind => format!("cannot be read: {kind}"),
        };
        vec![Problem::new(shown(path), Position::default(), message)]
    };
    let source = Source::of(path).map_err(fail)?;
    if is_record(source.open().map_err(fail)?).map_err(fail)? {
        let Recorded { entries, blobs, complete } = load(path)?;
        let findings = Judge::new(key).journal(&entries, &blobs);
        let events = entries.len() as u64;
        return Ok(Answer { findings, shown: entries, events, complete });
    }
    if let Some(run) = with_texts(path)? {
        let findings = Judge::new(key).journal(&run.entries, &run.blobs);
        let events = run.entries.len() as u64;
        return Ok(Answer { findings, shown: run.entries, events, complete: run.torn == 0 });
    }
    let passed = passes::judge(&shown(path), key.as_ref(), &mut || source.open());
    let passed = passed.map_err(|error| match error {
        Unjudged::Read(error) => fail(error),
        Unjudged::Problems(problems) => problems,
    })?;
    let Judged { findings, shown } = passed.judged;
    Ok(Answer { findings, shown, events: passed.events, complete: true })
}

/// Something that can be read more than once.
enum Source<'p> {
    File(&'p Path),
    /// What was read from something that is no file, such as a pipe.
    Bytes(Vec<u8>),
}

impl<'p> Source<'p> {
    fn of(path: &'p Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_file() {
            return Ok(Self::File(path));
        }
        fs::read(path).map(Self::Bytes)
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(match self {
            Self::File(path) => Box::new(BufReader::with_capacity(BUFFER, File::open(path)?)),
            Self::Bytes(bytes) => Box::new(bytes.as_slice()),
        })
    }
}

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 17;
