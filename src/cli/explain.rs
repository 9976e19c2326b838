//! `proofmark explain CALL`: what a journal says of one call.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::recorded::load_any;
use crate::base::printable::printable;
use crate::law::account::pick::{Known, NotFound};
use crate::law::account::{Account, account};
use crate::report::account as report;
use crate::report::json::envelope;

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark explain rule-denies-an-argument\n  \
    proofmark explain call_2 --case lifecycle/yes-for-once-is-used-once\n  \
    proofmark explain '#2' --journal session.jsonl --format json")]
pub struct ExplainArgs {
    /// The call's id, `#2` for the second, or a case that made a single call
    call: String,
    /// A journal, one event a line
    #[arg(long, conflicts_with = "run")]
    journal: Option<PathBuf>,
    /// A run: its name, its folder, or its run.jsonl; the latest when left out
    #[arg(long)]
    run: Option<PathBuf>,
    /// Where reports are
    #[arg(long, default_value = "reports")]
    reports: PathBuf,
    /// The case, `suite/case`, or the whole name of a session, where several have such a call
    #[arg(long)]
    case: Option<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Explains a call.
///
/// # Errors
/// When there is no such journal, or no such call in it; then nothing is explained.
pub fn explain(args: &ExplainArgs, output: &mut Output) -> Result<Exit, CliError> {
    let path = source(args)?;
    let (entries, _) = load_any(&path)?;
    let found = Known::of(&entries).find(&args.call, args.case.as_deref());
    let found = found.map_err(|why| missing(args, &why))?;
    let own = entries.iter().filter(|entry| *entry.session == *found.session);
    let Some(account) = account(own, found.call) else {
        return Err(missing(args, &NotFound::Unknown(None)));
    };
    match args.format {
        Format::Human => output.text(&report::text(&account)),
        Format::Json => output.json(&answer(&account)),
    }
    Ok(Exit::Pass)
}

fn answer(account: &Account) -> Value {
    let mut answer = envelope(None, "pass", Exit::Pass.code());
    if let Value::Object(more) = report::json(account) {
        answer.extend(more);
    }
    Value::Object(answer)
}

/// The file to read.
fn source(args: &ExplainArgs) -> Result<PathBuf, CliError> {
    if let Some(path) = &args.journal {
        return Ok(path.clone());
    }
    let record = |folder: PathBuf| folder.join("run.jsonl");
    match &args.run {
        Some(path) if path.is_file() => Ok(path.clone()),
        Some(path) if path.is_dir() => Ok(record(path.clone())),
        Some(name) => Ok(record(args.reports.join(name))),
        None => {
            let latest = fs::read_to_string(args.reports.join("latest")).map_err(|_| {
                let help = "there is no run yet; `proofmark run` first, or name a `--journal`";
                CliError::Usage(help.into())
            })?;
            Ok(record(args.reports.join(latest.trim())))
        }
    }
}

fn missing(args: &ExplainArgs, why: &NotFound) -> CliError {
    let help = match why {
        NotFound::Several(..) if args.case.is_none() => "; name one with --case",
        _ => "",
    };
    CliError::Usage(format!("`{}`: {}{help}", printable(&args.call), printable(&why.to_string())))
}
