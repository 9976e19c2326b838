//! `proofmark receipt verify JOURNAL`: receipts held against the keys of a store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::recorded::load_any;
use super::{Format, runtime};
use crate::base::printable::printable;
use crate::base::problem::{Position, Problem};
use crate::base::secret::Secret;
use crate::eval::read::shown;
use crate::journal::Event;
use crate::journal::receipt::{Proof, Verified, verify_all};
use crate::report::json::envelope;
use crate::report::table::{Look, draw};
use crate::runtime::credential::Source;

/// How the file of a key is named behind its id.
const KEY_FILE: &str = "key";

/// Arguments of `receipt`.
#[derive(Debug, Args)]
pub struct ReceiptArgs {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Verify the receipts of a journal under the keys that they name
    Verify(VerifyArgs),
}

/// Arguments of `receipt verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofmark receipt verify session.jsonl --keys ~/receipt-keys\n  \
    proofmark receipt verify session.jsonl --keys ~/receipt-keys --call call_2 --format json"
)]
struct VerifyArgs {
    /// A journal, one event a line, or the run.jsonl of a run
    journal: PathBuf,
    /// The key store: a folder with a file `ID.key`, of mode 600, for each key
    #[arg(long)]
    keys: PathBuf,
    /// Only the receipts of this call
    #[arg(long)]
    call: Option<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

impl ReceiptArgs {
    /// How the answer is wanted.
    pub(super) fn format(&self) -> Format {
        let Action::Verify(args) = &self.command;
        args.format
    }
}

/// Runs the command.
///
/// # Errors
/// A journal or a key that cannot be read; then nothing is verified.
pub fn receipt(args: &ReceiptArgs, output: &mut Output) -> Result<Exit, CliError> {
    let Action::Verify(args) = &args.command;
    let (entries, blobs) = load_any(&args.journal)?;
    let named: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::ReceiptIssued(facts) => Some(facts.key_id.as_str()),
            _ => None,
        })
        .collect();
    let keys = store(&args.keys, &named)?;
    let mut found = verify_all(&entries, &blobs, &keys);
    if let Some(call) = &args.call {
        found.retain(|one| one.entry.call.as_deref() == Some(call));
    }
    let worst = found.iter().map(|one| one.proof).max();
    let exit = match worst {
        None => Exit::NothingSelected,
        Some(Proof::Valid) => Exit::Pass,
        Some(Proof::NoKey) => Exit::Undecided,
        Some(Proof::Repeated | Proof::Invalid) => Exit::Fail,
    };
    match args.format {
        Format::Human => output.text(&text(&found, &args.journal)),
        Format::Json => output.json(&answer(&found, exit)),
    }
    Ok(exit)
}

/// The keys that are named and there. A file that others may read is no key.
fn store(folder: &Path, named: &BTreeSet<&str>) -> Result<BTreeMap<String, Secret>, CliError> {
    if !folder.is_dir() {
        let problem = Problem::new(shown(folder), Position::default(), "there is no such folder");
        return Err(
            vec![problem.help("`--keys` names a folder with a file ID.key for each key")].into()
        );
    }
    let runtime = runtime()?;
    let mut keys = BTreeMap::new();
    let mut problems = Vec::new();
    for id in named {
        // An id comes from the journal: it names a file of this folder and no other.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if id.is_empty() || id.starts_with('.') || !id.chars().all(plain) {
            continue;
        }
        let path = folder.join(format!("{id}.{KEY_FILE}"));
        if !path.exists() {
            continue;
        }
        match runtime.block_on(Source::File(path.clone()).read()) {
            Ok(key) => drop(keys.insert((*id).to_owned(), key)),
            Err(error) => {
                problems.push(Problem::new(shown(&path), Position::default(), error.to_string()));
            }
        }
    }
    if problems.is_empty() { Ok(keys) } else { Err(problems.into()) }
}

/// Leaves a key in a store, readable by nobody else. What is there is not replaced.
///
/// # Errors
/// The folder cannot be made, or the file is there already.
pub(super) fn keep(folder: &Path, id: &str, key: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(format!("{id}.{KEY_FILE}"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{key}")?;
    file.sync_all()
}

fn text(found: &[Verified<'_>], path: &Path) -> String {
    if found.is_empty() {
        return format!("{}: there is no receipt\n", shown(path));
    }
    let rows = found.iter().map(|one| {
        let call = one.entry.call.as_deref().unwrap_or_default();
        vec![
            one.proof.name().to_owned(),
            printable(&one.entry.session),
            printable(call),
            one.facts.tool_id.to_string(),
            printable(&one.facts.key_id),
            one.artifact.unwrap_or("-").to_owned(),
        ]
    });
    let header = ["receipt", "session", "call", "tool", "key", "result kept as"];
    let table = draw(&header, rows.collect(), Look::Terminal);
    let count = |proof: Proof| found.iter().filter(|one| one.proof == proof).count();
    format!(
        "{table}\n{} receipts: {} valid, {} without a key, {} repeated, {} invalid\n",
        found.len(),
        count(Proof::Valid),
        count(Proof::NoKey),
        count(Proof::Repeated),
        count(Proof::Invalid),
    )
}

fn answer(found: &[Verified<'_>], exit: Exit) -> Value {
    let verdict = match exit {
        Exit::Pass => "pass",
        Exit::Fail => "fail",
        _ => "inconclusive",
    };
    let receipts = found.iter().map(|one| {
        json!({
            "proof": one.proof.name(), "session": one.entry.session, "turn": one.entry.turn,
            "call": one.entry.call, "seq": one.entry.seq, "toolId": one.facts.tool_id,
            "toolVersion": one.facts.tool_version, "keyId": one.facts.key_id,
            "resultDigest": one.facts.result_digest, "artifactId": one.artifact,
        })
    });
    let mut answer = envelope(None, verdict, exit.code());
    answer.insert("receipts".into(), receipts.collect());
    Value::Object(answer)
}
