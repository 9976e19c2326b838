//! Tools that do not stand in manifests: live MCP servers, tool lists, saved listings.

use std::path::{Path, PathBuf};

use super::error::CliError;
use super::suites::host;
use crate::base::digest::Digest;
use crate::base::document::Document;
use crate::base::problem::{Position, Problem};
use crate::eval::load::Listed;
pub use crate::eval::mcp_source::{program, short_name};
use crate::eval::read::{read, shown};
use crate::eval::suite::{McpSource, SuiteFile, ToolSource};
use crate::runtime::catalog::desk::LIVE;
use crate::runtime::catalog::source::snapshot::{self, Snapshot};
use crate::runtime::catalog::source::{Imported, ServerName, mcp, openai};
use crate::runtime::catalog::store::{Store, StoreError};
use crate::runtime::credential::Broker;
use crate::runtime::home::TOOLS;
use crate::runtime::mcp::{Allows, Deadlines, Transport, list_by};
use crate::runtime::sandbox::for_server;
use crate::tool::descriptor::Descriptor;

/// What the sources of a suite gave.
#[derive(Debug, Default)]
pub struct Sources {
    /// Descriptors by the index of their source.
    pub descriptors: Listed,
    /// Live listings that are not the pinned ones.
    pub stale: Vec<String>,
    /// Files that cannot be read.
    pub problems: Vec<Problem>,
}

/// Lists every source of a suite that is no manifest.
///
/// # Errors
/// When a server fails.
pub async fn listed(folder: &Path, file: &SuiteFile) -> Result<Sources, CliError> {
    let mut out = Sources::default();
    for (index, source) in file.tools.iter().enumerate() {
        let imported = match source {
            ToolSource::Path(_) | ToolSource::Skill { .. } => continue,
            // Said where the suite is loaded, with its place.
            ToolSource::Mcp { mcp } if mcp.problem().is_some() => continue,
            ToolSource::Mcp { mcp } => {
                let (imported, digest) = live(folder, mcp).await?;
                if let Some(pinned) = mcp.digest.filter(|pinned| *pinned != digest) {
                    let server = without_secrets(&mcp.shown()).join(" ");
                    out.stale.push(format!(
                        "{}: `{server}` lists {digest}, pinned is {pinned}; measure again, then \
                         pin the new digest",
                        file.name
                    ));
                }
                Ok(imported)
            }
            ToolSource::OpenAi { openai } => tool_list(&folder.join(openai)),
            ToolSource::Snapshot { snapshot } => saved(&folder.join(snapshot)).map(|(_, i)| i),
            ToolSource::Registry { .. } | ToolSource::Home { .. } => {
                let (root, scope) = match source {
                    ToolSource::Home { home } => (folder.join(home).join(TOOLS), Some(LIVE)),
                    ToolSource::Registry { registry } => (folder.join(registry), None),
                    _ => continue,
                };
                let (descriptors, problems) = enabled(&root, scope)?;
                out.problems.extend(problems);
                out.descriptors.insert(index, descriptors);
                continue;
            }
        };
        match imported {
            Ok(imported) => drop(out.descriptors.insert(index, imported.descriptors)),
            Err(problem) => {
                out.problems.push(problem);
                // The source was read, if in vain: it is no second problem that it gave nothing.
                out.descriptors.insert(index, Vec::new());
            }
        }
    }
    Ok(out)
}

/// What a registry has enabled; anything else of it can neither be shown nor called.
fn enabled(root: &Path, scope: Option<&str>) -> Result<(Vec<Descriptor>, Vec<Problem>), CliError> {
    match Store::read(root).and_then(|store| store.enabled(scope)) {
        Ok(descriptors) => Ok((descriptors, Vec::new())),
        Err(StoreError::Problems(problems)) => Ok((Vec::new(), problems)),
        Err(error @ StoreError::Io { .. }) => Err(CliError::from(error)),
    }
}

async fn live(folder: &Path, source: &McpSource) -> Result<(Imported, Digest), CliError> {
    let server = source.server(folder);
    let root = tempfile::tempdir();
    let root = root.map_err(|error| CliError::Environment(format!("no folder: {error}")))?;
    let root = root.path().canonicalize().unwrap_or_else(|_| root.path().to_owned());
    let failed = |why: String| CliError::Environment(format!("{}: {why}", source.shown()[0]));
    // Only a confinement that the suite states is one for the listing too: a server that is listed
    // and not called may have to be fetched first.
    let started = server.started().filter(|_| source.sandbox.is_some());
    let confined = started.map(|(section, program)| for_server(section, program, &host()));
    let confined = confined.transpose().map_err(|refusal| failed(refusal.to_string()))?.flatten();
    let link = server.connect(confined.as_ref(), (&root, &Broker::default())).await;
    let listing = match link {
        Ok(link) => link.list(server.deadlines.request).await,
        Err(error) => Err(error),
    };
    let listing = listing.map_err(|error| failed(error.to_string()))?;
    let mut snapshot = Snapshot::of(&listing, &[]);
    // As it stands in the suite, without this machine's folders.
    snapshot.command = without_secrets(&source.shown());
    keep(folder, source, &snapshot)?;
    let imported = mcp::import(&ServerName::sanitized(&server.id), &snapshot.tools);
    Ok((imported, snapshot.digest()))
}

/// Where a live listing of a suite is kept.
pub fn kept(folder: &Path, source: &McpSource) -> PathBuf {
    folder.join(".listings").join(format!("{}.json", source.id()))
}

/// Keeps a live listing beside the suite, in a folder that is not committed, to be looked at.
fn keep(folder: &Path, source: &McpSource, snapshot: &Snapshot) -> Result<(), CliError> {
    let file = kept(folder, source);
    std::fs::create_dir_all(folder.join(".listings"))
        .and_then(|()| std::fs::write(&file, snapshot.to_text()))
        .map_err(|error| CliError::Environment(format!("cannot write {}: {error}", shown(&file))))
}

/// Lists a server; the snapshot's command is written without values that look secret.
///
/// # Errors
/// What the server did wrong.
pub async fn list(transport: &Transport, allows: Allows) -> Result<Snapshot, CliError> {
    let command = transport.words();
    let listing = list_by(transport, allows, &Deadlines::default())
        .await
        .map_err(|error| CliError::Environment(format!("{}: {error}", command[0])))?;
    Ok(Snapshot::of(&listing, &without_secrets(&command)))
}

/// Reads an OpenAI or Anthropic tool list.
///
/// # Errors
/// Where and why it cannot be read.
pub fn tool_list(path: &Path) -> Result<Imported, Problem> {
    let document = Document::parse(&shown(path), &read(path)?)?;
    let fail = |error: openai::ToolListError| document.problem("", error.to_string());
    openai::import(None, &document.value).map_err(fail)
}

/// Reads a saved `tools/list` result.
///
/// # Errors
/// Why it cannot be read.
pub fn saved(path: &Path) -> Result<(Snapshot, Imported), Problem> {
    let text = read(path)?;
    let fail = |error: snapshot::SnapshotError| {
        Problem::new(shown(path), Position::default(), error.to_string())
    };
    let saved = snapshot::parse(&text).map_err(fail)?.snapshot;
    let name = match saved.command.as_slice() {
        [] if saved.server_name.is_empty() => stem(path),
        [] => saved.server_name.clone(),
        command => short_name(command),
    };
    let imported = mcp::import(&ServerName::sanitized(&name), &saved.tools);
    Ok((saved, imported))
}

/// The file's name without folders and endings.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// The command without what looks secret: values of telling options and variables, the user and
/// query parts of addresses, bearer tokens. A file that is committed shows names, not values.
pub fn without_secrets(command: &[String]) -> Vec<String> {
    let telling = |name: &str| {
        let name = name.to_lowercase();
        ["key", "token", "secret", "password", "passwd", "auth", "credential", "header"]
            .iter()
            .any(|word| name.contains(word))
    };
    let mut hide = false;
    let mut out = Vec::new();
    for word in command {
        if std::mem::take(&mut hide) {
            out.push(HIDDEN.to_owned());
            continue;
        }
        out.push(match word.split_once('=') {
            Some((name, _)) if telling(name) => format!("{name}={HIDDEN}"),
            None if word.starts_with('-') && telling(word) => {
                hide = true;
                word.clone()
            }
            _ if word.to_lowercase().contains("bearer ") => HIDDEN.to_owned(),
            _ => without_user(word),
        });
    }
    out
}

const HIDDEN: &str = "<secret>";

/// An address without user, password and query.
fn without_user(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let (rest, query) = rest.split_once('?').map_or((rest, false), |(rest, _)| (rest, true));
    let rest = rest
        .rsplit_once('@')
        .map_or_else(|| rest.to_owned(), |(_, host)| format!("{HIDDEN}@{host}"));
    let query = if query { format!("?{HIDDEN}") } else { String::new() };
    format!("{scheme}://{rest}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_files() {
        for (line, expected) in [
            (
                "srv --api-key abc --token=xyz --dir /d -v",
                "srv --api-key <secret> --token=<secret> --dir /d -v",
            ),
            (
                "docker run -e API_KEY=abc -e MODE=fast img",
                "docker run -e API_KEY=<secret> -e MODE=fast img",
            ),
            ("srv postgres://u:p@host/db?x=1", "srv postgres://<secret>@host/db?<secret>"),
            ("srv https://host/mcp", "srv https://host/mcp"),
            ("srv --header X", "srv --header <secret>"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(without_secrets(&words).join(" "), expected);
        }
        assert_eq!(without_secrets(&["Authorization: Bearer abc".to_owned()]), ["<secret>"]);
    }
}
