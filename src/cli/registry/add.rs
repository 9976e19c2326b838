//! `proofmark registry add`: definitions from manifests, saved listings and live servers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::answer::{Added, Answer};
use super::{RegistryArgs, opened, record};
use crate::base::digest::Digest;
use crate::base::problem::Problem;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::sources::{self, short_name};
use crate::cli::{interruptible, runtime};
use crate::eval::read::{read, shown};
use crate::eval::skill_source;
use crate::runtime::catalog::desk::{self, Candidate};
use crate::runtime::catalog::source::{ImportProblem, Imported, ServerName, mcp};
use crate::runtime::catalog::store::Store;
use crate::runtime::mcp::{Allows, parse_server};
use crate::tool::manifest;

/// Arguments of `registry add`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true).multiple(true)
    .args(["files", "mcp", "listing", "skill"]))]
pub(super) struct AddArgs {
    /// Manifests of tools
    files: Vec<PathBuf>,
    /// An MCP server: its command line (leading NAME=value words set its environment) or address
    #[arg(long)]
    mcp: Option<String>,
    /// Saved `tools/list` results
    #[arg(long)]
    listing: Vec<PathBuf>,
    /// Folders of skills: their texts, and their scripts as tools
    #[arg(long)]
    skill: Vec<PathBuf>,
    /// The namespace of a server's tools; from its command or its file when left out
    #[arg(long)]
    name: Option<String>,
}

/// What the sources gave.
#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    /// What was noticed on the way in.
    noticed: Vec<ImportProblem>,
}

/// Registers what the sources show.
///
/// # Errors
/// When a source or the registry cannot be read: then nothing is registered.
pub(super) fn add(
    args: &AddArgs,
    all: &RegistryArgs,
    answer: &mut Answer<'_>,
) -> Result<Exit, CliError> {
    let found = find(args)?;
    if found.candidates.is_empty() {
        return Err(CliError::NothingSelected("there is not a single tool in it".into()));
    }
    let mut store = opened(Store::write(&all.registry), answer)?;
    let mut added = Added::new(found.noticed);
    let mut facts = Vec::new();
    for candidate in &found.candidates {
        let id = &candidate.descriptor.tool_id;
        match desk::add(&store.book, candidate, &store.keys) {
            Ok(new) => {
                // The descriptor stands before the facts that name it.
                store.keep(&candidate.descriptor)?;
                added.tool(id, !new.is_empty());
                facts.extend(new);
            }
            Err(refusal) => added.refused(id, &refusal),
        }
    }
    record(&mut store, &facts)?;
    Ok(answer.added(&store, &added, facts.len()))
}

fn find(args: &AddArgs) -> Result<Found, CliError> {
    let (mut found, mut problems) = (Found::default(), Vec::new());
    for path in &args.files {
        match of_file(path) {
            Ok(candidate) => found.candidates.push(candidate),
            Err(mut new) => problems.append(&mut new),
        }
    }
    for path in &args.listing {
        match sources::saved(path) {
            Ok((snapshot, imported)) => {
                let named = args.name.as_deref().map(ServerName::sanitized);
                let imported = named.map_or(imported, |name| mcp::import(&name, &snapshot.tools));
                found.take(mcp::pinned(imported));
            }
            Err(problem) => problems.push(problem),
        }
    }
    for path in &args.skill {
        match skill_source::read(path) {
            Ok((_, imported)) => found.take(imported),
            Err(mut new) => problems.append(&mut new),
        }
    }
    if !problems.is_empty() {
        return Err(problems.into());
    }
    if let Some(line) = &args.mcp {
        let server = parse_server(line).map_err(|error| CliError::Usage(error.to_string()))?;
        let command = server.words();
        let snapshot = interruptible(&runtime()?, sources::list(&server, Allows::default()))??;
        let name = args.name.clone().unwrap_or_else(|| short_name(&command));
        let imported = mcp::import(&ServerName::sanitized(&name), &snapshot.tools);
        found.take(mcp::pinned(imported));
    }
    twice(&found)?;
    Ok(found)
}

impl Found {
    fn take(&mut self, imported: Imported) {
        self.candidates.extend(desk::candidates(&imported));
        self.noticed.extend(imported.problems);
    }
}

fn of_file(path: &Path) -> Result<Candidate, Vec<Problem>> {
    let text = read(path).map_err(|problem| vec![problem])?;
    let descriptor = manifest::parse(&shown(path), &text)?;
    let manifest = Digest::of("manifest", text.as_bytes());
    Ok(Candidate { descriptor, manifest, unusable: None })
}

/// Two definitions of one id cannot both be the current one.
fn twice(found: &Found) -> Result<(), CliError> {
    let mut ids = BTreeSet::new();
    match found.candidates.iter().find(|one| !ids.insert(&one.descriptor.tool_id)) {
        Some(second) => Err(CliError::Usage(format!(
            "`{}` is defined twice; add one of both, or give one source another `--name`",
            second.descriptor.tool_id
        ))),
        None => Ok(()),
    }
}
