//! `proofmark accept`: blesses what a run proposed.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::eval::baseline;
use crate::report::ReportError;
use crate::report::baseline::TARGET;
use crate::report::json::envelope;

/// Arguments of `accept`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark accept\n  proofmark accept office\n  \
    proofmark accept --run 20260501120000000")]
pub struct AcceptArgs {
    /// Suites to bless; all that the run proposed when left out
    suites: Vec<String>,
    /// The run; the latest when left out
    #[arg(long)]
    run: Option<String>,
    /// Where reports are
    #[arg(long, default_value = "reports")]
    reports: PathBuf,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Moves proposed baselines into `golden/`.
///
/// # Errors
/// When there is no such run, or it proposed nothing.
pub fn accept(args: &AcceptArgs, output: &mut Output) -> Result<Exit, CliError> {
    let run = match &args.run {
        Some(run) => run.clone(),
        None => fs::read_to_string(args.reports.join("latest"))
            .map_err(|_| CliError::Usage("there is no run yet; `proofmark run` first".into()))?,
    };
    let pending = args.reports.join(run.trim()).join("pending");
    let mut proposed: Vec<PathBuf> = fs::read_dir(&pending)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    proposed.sort();
    proposed.retain(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        args.suites.is_empty() || name.is_some_and(|name| args.suites.contains(&name))
    });
    if proposed.is_empty() {
        let message = format!(
            "run {} proposed nothing to accept: it was filtered, or nothing changed, or it faulted",
            run.trim()
        );
        return Err(CliError::NothingSelected(message));
    }
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(name) = args.suites.iter().find(|n| !proposed.iter().any(|p| name_of(p) == **n)) {
        let message = format!("run {} proposed nothing for `{name}`", run.trim());
        return Err(CliError::NothingSelected(message));
    }
    let mut moves = Vec::new();
    for path in &proposed {
        let golden = fs::read_to_string(path.join(TARGET)).map(PathBuf::from);
        let golden = golden.map_err(|error| ReportError::io(path.join(TARGET), &error))?;
        fs::create_dir_all(&golden).map_err(|error| ReportError::io(&golden, &error))?;
        for file in ["baseline.csv", "baseline.json"] {
            // All are written beside first and then renamed, so that none is ever half there.
            let (target, fresh) = (golden.join(file), golden.join(format!("{file}.new")));
            fs::copy(path.join(file), &fresh).map_err(|error| ReportError::io(&fresh, &error))?;
            moves.push((fresh, target));
        }
    }
    let mut blessed = Vec::new();
    for (fresh, target) in moves {
        fs::rename(&fresh, &target).map_err(|error| ReportError::io(&target, &error))?;
        if target.extension().is_some_and(|ending| ending == "csv") {
            blessed.push(format!("{}: {}", target.display(), counts(&target)));
        }
    }
    match args.format {
        Format::Human => blessed.iter().for_each(|path| output.text(&format!("blessed {path}"))),
        Format::Json => {
            let mut answer = envelope(None, "pass", 0);
            answer.insert("blessed".into(), blessed.into());
            output.json(&serde_json::Value::Object(answer));
        }
    }
    Ok(Exit::Pass)
}

/// How many rows pass, of how many: blessing failures is an act that should be seen.
fn counts(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let rows = baseline::read(&path.to_string_lossy(), &text).unwrap_or_default();
    let passed = rows.iter().filter(|row| row.verdict == "pass").count();
    format!("{} cases, {passed} pass, {} do not", rows.len(), rows.len() - passed)
}
