//! Finding suites and loading them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::sources;
use crate::base::problem::{Position, Problem};
use crate::base::world::env_var;
use crate::eval::baseline::{self, Row};
use crate::eval::load::{self, Suite};
use crate::eval::outcome::NotRun;
use crate::eval::read::{read, shown};
use crate::eval::suite::{SuiteFile, ToolSource};
use crate::runtime::sandbox::find_program;
use crate::runtime::sandbox::host::Host;

/// Where suites live.
const FOLDER: &str = "suites";

/// What was found: suites to run, and suites that cannot run here.
#[derive(Debug, Default)]
pub struct Found {
    /// Loaded suites.
    pub suites: Vec<Suite>,
    /// Suites that lack something.
    pub not_run: Vec<NotRun>,
    /// Suites whose live tools are not the pinned ones.
    pub stale: Vec<String>,
    /// Suites that are no part of a bare run.
    pub left_out: Vec<String>,
}

impl Found {
    /// What to say where no suite was found.
    pub fn nothing(&self) -> CliError {
        let help = match self.left_out.as_slice() {
            [] => "there is no suite here; run it where `suites/` is, or scaffold one with \
                   `proofmark init`"
                .to_owned(),
            names => format!(
                "no suite here is part of a bare run (`default: false`); name one: {}",
                names.join(", ")
            ),
        };
        CliError::NothingSelected(help)
    }
}

/// What this machine can confine with: whoever runs this program can start it once more.
pub fn host() -> Host {
    std::env::current_exe().map(Host::with).unwrap_or_default()
}

/// Names that stand for addresses, as an argument of commands that run calls.
#[derive(Debug, Args)]
pub struct Fixtures {
    /// A name that stands for an address, for HTTP tools and allowlisted commands: a server of
    /// your own in the place of the real one; may be repeated
    #[arg(long = "fixture", value_name = "NAME=ADDRESS", value_parser = fixture)]
    names: Vec<(String, SocketAddr)>,
}

fn fixture(text: &str) -> Result<(String, SocketAddr), String> {
    let (name, address) = text.split_once('=').ok_or("no `=` in it")?;
    let address = address.parse().map_err(|_| "the address is no number with a port")?;
    Ok((name.to_ascii_lowercase(), address))
}

impl Fixtures {
    /// Tells suites what the names stand for.
    pub fn tell(&self, suites: &mut [Suite]) {
        if self.names.is_empty() {
            return;
        }
        // One machine for all, so that they share what it finds and its connections.
        let host = host().and_reaching(self.names.iter().cloned().collect());
        suites.iter_mut().for_each(|suite| suite.environment.host = host.clone());
    }
}

/// The folders of the named suites, or of all suites below `suites/`.
///
/// # Errors
/// A name that is no suite.
pub fn folders(names: &[String]) -> Result<Vec<PathBuf>, CliError> {
    if names.is_empty() {
        return all_folders();
    }
    names.iter().map(|name| folder(name)).collect()
}

fn folder(name: &str) -> Result<PathBuf, CliError> {
    let given = Path::new(name);
    let given = if given.ends_with("suite.yaml") { given.parent().unwrap_or(given) } else { given };
    for path in [given.to_path_buf(), Path::new(FOLDER).join(given)] {
        if path.join("suite.yaml").is_file() {
            return Ok(path);
        }
    }
    let known: Vec<String> = all_folders()?
        .iter()
        .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    let near = crate::base::problem::nearest(name, known.iter().map(String::as_str));
    let help = match near {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => format!("there is no {FOLDER}/ folder here"),
        None => format!("known here: {}", known.join(", ")),
    };
    Err(CliError::Usage(format!("no suite `{name}`; {help}")))
}

fn all_folders() -> Result<Vec<PathBuf>, CliError> {
    let entries = match std::fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(CliError::Environment(format!("{FOLDER}: {error}"))),
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("suite.yaml").is_file())
        .collect();
    folders.sort();
    Ok(folders)
}

/// A name after `--require` that nothing here has would require nothing.
fn check_required(required: &[String]) -> Result<(), CliError> {
    let mut known = vec!["mcp".to_owned()];
    for folder in all_folders()? {
        if let Ok((_, file)) = load::read_suite_file(&folder) {
            known.push(file.name);
            known.extend(file.requires);
        }
    }
    match required.iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let near = crate::base::problem::nearest(name, known.iter().map(String::as_str));
            let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("--require {name}: no suite and nothing a suite needs{help}");
            Err(CliError::Usage(message))
        }
    }
}

/// Loads suites; without names only those that are part of a bare run, and those required.
///
/// # Errors
/// All problems of all suites together.
pub async fn find(names: &[String], required: &[String]) -> Result<Found, CliError> {
    check_required(required)?;
    let (mut found, mut problems) = (Found::default(), Vec::new());
    let mut failed = None;
    let host = host();
    for folder in folders(names)? {
        let file = match load::read_suite_file(&folder) {
            Ok((_, file)) => file,
            Err(mut new) => {
                problems.append(&mut new);
                continue;
            }
        };
        if names.is_empty() && !file.default && !is_required(&file, required) {
            found.left_out.push(file.name);
            continue;
        }
        let missing: Vec<&str> = file
            .requires
            .iter()
            .map(String::as_str)
            .filter(|program| find_program(&sources::program(&folder, program)).is_none())
            .collect();
        if !missing.is_empty() {
            found.not_run.push(NotRun {
                required: is_required(&file, required),
                reason: format!("needs {}", missing.join(", ")),
                suite: file.name.into(),
            });
            continue;
        }
        let listed = match sources::listed(&folder, &file).await {
            Ok(listed) => listed,
            // A server's failure is told only where every file is in order.
            Err(error) => {
                failed.get_or_insert(error);
                continue;
            }
        };
        found.stale.extend(listed.stale);
        problems.extend(listed.problems);
        match load::load(&folder, &listed.descriptors) {
            Ok(mut suite) => {
                suite.environment.host = host.clone();
                problems.extend(same_name(&found.suites, &suite));
                found.suites.push(suite);
            }
            Err(mut new) => problems.append(&mut new),
        }
    }
    match (problems.is_empty(), failed) {
        (false, _) => Err(problems.into()),
        (true, Some(error)) => Err(error),
        (true, None) => Ok(found),
    }
}

/// Two suites of one name would share baselines and seeds.
fn same_name(known: &[Suite], suite: &Suite) -> Option<Problem> {
    let first = known.iter().find(|one| one.name == suite.name)?;
    let message = format!("{} has the name `{}` already", shown(&first.folder), suite.name);
    let file = shown(&suite.folder.join("suite.yaml"));
    Some(Problem::new(file, Position::default(), message))
}

/// Whether a suite may not be skipped: it, something it needs, or `mcp` for a suite with live
/// servers, is named by `--require` or by the environment variable `PROOFMARK_REQUIRE`.
fn is_required(file: &SuiteFile, required: &[String]) -> bool {
    let named = env_var("PROOFMARK_REQUIRE").unwrap_or_default();
    let asked: Vec<&str> =
        required.iter().map(String::as_str).chain(named.split(',').map(str::trim)).collect();
    let live = file.tools.iter().any(|source| matches!(source, ToolSource::Mcp { .. }));
    asked.contains(&file.name.as_str())
        || file.requires.iter().any(|program| asked.contains(&program.as_str()))
        || (live && asked.contains(&"mcp"))
}

/// Where a suite's golden files are: `golden/<suite>/` beside `suites/`.
pub fn golden(suite: &Suite) -> PathBuf {
    let root = suite.folder.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    root.join("golden").join(&*suite.name)
}

/// The blessed rows; `None` where no baseline is committed.
///
/// # Errors
/// All problems of a damaged baseline.
pub fn blessed(suite: &Suite) -> Result<Option<Vec<Row>>, Vec<Problem>> {
    let path = golden(suite).join("baseline.csv");
    if !path.is_file() {
        let beside = path.with_extension("json");
        if beside.is_file() {
            let message = "the baseline's rows are gone: there is no baseline.csv beside it";
            let problem = Problem::new(shown(&beside), Position::default(), message);
            let help = "restore it from version control, or remove both to begin anew";
            return Err(vec![problem.help(help)]);
        }
        return Ok(None);
    }
    let text = read(&path).map_err(|problem| vec![problem])?;
    baseline::read(&shown(&path), &text).map(Some)
}
