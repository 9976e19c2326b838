//! `proofmark sim --mutant` and `--keep`: journals that show a breach, and their index.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use crate::journal::format;
use crate::report::json::envelope;
use crate::sim::kept::{self, Kept};
use crate::sim::mutant::steps::{self, StepMutant};
use crate::sim::scene::Scene;

/// Where the project keeps its own.
pub(super) const FOLDER: &str = "golden/journals/regressions";
/// Which journals are there, which law each breaks, and what the law saw.
const INDEX: &str = "index.csv";
/// Sessions that a mistake is played with at most.
const SESSIONS: u64 = 4_000;
/// Every mistake there is.
const ALL: &str = "all";

/// What became of each mistake.
pub(super) struct Played {
    rows: Vec<(&'static str, Option<Kept>)>,
}

/// Plays with mistakes by name, and keeps the journals that show them.
///
/// # Errors
/// When there is no such mistake, or a journal cannot be written.
pub(super) fn mutants(
    scene: &Scene,
    (name, seed): (&str, u64),
    folder: Option<&Path>,
) -> Result<Played, CliError> {
    let chosen: Vec<&StepMutant> =
        steps::all().iter().filter(|one| name == ALL || one.name == name).collect();
    if chosen.is_empty() {
        let known = steps::all().iter().map(|one| one.name);
        let near = crate::base::problem::nearest(name, known);
        let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(CliError::Usage(format!("--mutant {name}: no such mistake{help}")));
    }
    let mut rows = Vec::new();
    for one in chosen {
        let kept = kept::mutant(scene, one, (seed, SESSIONS));
        if let (Some(folder), Some(kept)) = (folder, &kept) {
            keep(folder, one.name, kept)?;
        }
        rows.push((one.name, kept));
    }
    Ok(Played { rows })
}

impl Played {
    /// Whether every mistake that a law must notice is shown by a journal.
    pub(super) fn exit(&self) -> Exit {
        let by_law =
            |name: &str| steps::all().iter().any(|one| one.name == name && one.is_in_journals());
        let missing = self.rows.iter().any(|(name, kept)| kept.is_none() && by_law(name));
        if missing { Exit::Fail } else { Exit::Pass }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let line = |(name, kept): &(&str, Option<Kept>)| match kept {
            Some(kept) => {
                let events = kept.entries.len();
                format!("{name}: {} ({events} events): {}", kept.law, kept.cause)
            }
            None => format!("{name}: no journal shows it"),
        };
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let exit = self.exit();
        let verdict = if exit == Exit::Pass { "pass" } else { "fail" };
        let mut answer = envelope(None, verdict, exit.code());
        let rows = self.rows.iter().map(|(name, kept)| {
            let kept = kept.as_ref().map(
                |kept| json!({"law": kept.law, "cause": kept.cause, "events": kept.entries.len()}),
            );
            json!({"name": name, "kept": kept})
        });
        answer.insert("mutants".into(), rows.collect());
        Value::Object(answer)
    }
}

/// Writes a journal as `<name>.jsonl` into a folder, and its row into the folder's index.
///
/// # Errors
/// When one of the two cannot be read or written.
pub(super) fn keep(folder: &Path, name: &str, kept: &Kept) -> Result<(), CliError> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        CliError::Environment(format!("{}: {error}", path.display()))
    };
    let (file, index) = (format!("{name}.jsonl"), folder.join(INDEX));
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error.kind()))?;
    let mut lines = Vec::new();
    kept.entries.iter().for_each(|entry| format::write_line(entry, &mut lines));
    let path = folder.join(&file);
    fs::write(&path, lines).map_err(|error| failed(&path, &error.kind()))?;
    let known = if index.is_file() {
        fs::read_to_string(&index).map_err(|error| failed(&index, &error.kind()))?
    } else {
        String::new()
    };
    let mut rows: BTreeMap<String, (String, String)> = BTreeMap::new();
    for row in csv::Reader::from_reader(known.as_bytes()).deserialize() {
        let (file, law, cause) = row.map_err(|error: csv::Error| failed(&index, &error))?;
        rows.insert(file, (law, cause));
    }
    rows.insert(file, (kept.law.to_owned(), kept.cause.clone()));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut wrong = writer.write_record(["file", "law", "cause"]).err();
    for (file, (law, cause)) in &rows {
        wrong = wrong.or(writer.write_record([file, law, cause]).err());
    }
    let text = writer.into_inner().map_err(|error| failed(&index, &error.error()))?;
    match wrong {
        Some(error) => Err(failed(&index, &error)),
        None => fs::write(&index, text).map_err(|error| failed(&index, &error.kind())),
    }
}

/// Whether a name can be a file's: words of small letters and digits with hyphens between them.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.split('-').all(plain)
}
