//! Tools that do not stand in manifests: live MCP servers, tool lists, saved listings.

use std::path::{Path, PathBuf};

use super::error::CliError;
use crate::base::digest::Digest;
use crate::base::document::Document;
use crate::base::problem::{Position, Problem};
use crate::eval::load::Listed;
use crate::eval::read::{read, shown};
use crate::eval::suite::{McpSource, SuiteFile, ToolSource};
use crate::runtime::catalog::source::snapshot::{self, Snapshot};
use crate::runtime::catalog::source::{Imported, ServerName, mcp, openai};
use crate::runtime::catalog::store::{Store, StoreError};
use crate::runtime::mcp::{Deadlines, Launch, list_tools};
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
            ToolSource::Path(_) => continue,
            ToolSource::Mcp { mcp } => {
                let (imported, digest) = live(folder, mcp).await?;
                if let Some(pinned) = mcp.digest.filter(|pinned| *pinned != digest) {
                    let server = without_secrets(&mcp.command).join(" ");
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
            ToolSource::Registry { registry } => {
                let (descriptors, problems) = enabled(&folder.join(registry))?;
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
fn enabled(root: &Path) -> Result<(Vec<Descriptor>, Vec<Problem>), CliError> {
    match Store::read(root).and_then(|store| store.enabled(None)) {
        Ok(descriptors) => Ok((descriptors, Vec::new())),
        Err(StoreError::Problems(problems)) => Ok((Vec::new(), problems)),
        Err(error @ StoreError::Io { .. }) => Err(CliError::from(error)),
    }
}

async fn live(folder: &Path, source: &McpSource) -> Result<(Imported, Digest), CliError> {
    let (program, args) = source.command.split_first().map_or(("", &[][..]), |(p, a)| (p, a));
    let launch = Launch {
        program: self::program(folder, program),
        args: args.to_vec(),
        env: source.env.clone().into_iter().collect(),
        cwd: Some(source.cwd.as_ref().map_or_else(|| folder.to_path_buf(), |cwd| folder.join(cwd))),
    };
    let mut snapshot = list(&launch).await?;
    // As it stands in the suite, without this machine's folders.
    snapshot.command = without_secrets(&source.command);
    let name = source.server.clone().unwrap_or_else(|| short_name(&source.command));
    keep(folder, source, &snapshot)?;
    let imported = mcp::import(&ServerName::sanitized(&name), &snapshot.tools);
    Ok((imported, snapshot.digest()))
}

/// Where a live listing of a suite is kept.
pub fn kept(folder: &Path, source: &McpSource) -> PathBuf {
    let name = source.server.clone().unwrap_or_else(|| short_name(&source.command));
    folder.join(".listings").join(format!("{}.json", ServerName::sanitized(&name).as_str()))
}

/// Keeps a live listing beside the suite, in a folder that is not committed, to be looked at.
fn keep(folder: &Path, source: &McpSource, snapshot: &Snapshot) -> Result<(), CliError> {
    let file = kept(folder, source);
    std::fs::create_dir_all(folder.join(".listings"))
        .and_then(|()| std::fs::write(&file, snapshot.to_text()))
        .map_err(|error| CliError::Environment(format!("cannot write {}: {error}", shown(&file))))
}

/// A program as a suite names it: one with a slash stands relative to the suite's folder.
pub fn program(folder: &Path, program: &str) -> String {
    if !program.contains('/') || Path::new(program).is_absolute() {
        return program.to_owned();
    }
    let file = folder.join(program);
    let file = std::path::absolute(&file).unwrap_or(file);
    file.to_string_lossy().into_owned()
}

/// Lists a server; the snapshot's command is written without values that look secret.
///
/// # Errors
/// What the server did wrong.
pub async fn list(launch: &Launch) -> Result<Snapshot, CliError> {
    let listing = list_tools(launch, &Deadlines::default())
        .await
        .map_err(|error| CliError::Environment(format!("{}: {error}", launch.program)))?;
    let mut command = vec![launch.program.clone()];
    command.extend(launch.args.iter().cloned());
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

/// Words of a command line that name no server.
const LAUNCHERS: [&str; 9] =
    ["npx", "uvx", "uv", "node", "python", "python3", "pipx", "run", "tool"];

/// A short name for the server of a command line: the package's, without scope, version and the
/// words every server carries. `npx -y @scope/server-filesystem@1.2 DIR` gives `filesystem`.
pub fn short_name(command: &[String]) -> String {
    // `@scope/mcp` says more by its scope.
    let base = |word: &String| {
        let word = word.trim_end_matches('/');
        let (scope, base) = word.rsplit_once('/').unwrap_or(("", word));
        let bare = base.split('@').next().unwrap_or(base);
        let scoped =
            scope.strip_prefix('@').filter(|_| ["mcp", "server", "mcp-server"].contains(&bare));
        scoped.unwrap_or(base).to_owned()
    };
    let word = command
        .iter()
        .filter(|word| !word.starts_with('-'))
        .map(base)
        .find(|word| !LAUNCHERS.contains(&word.as_str()))
        .unwrap_or_default();
    let word = word.split(['@', '=', '.']).next().unwrap_or_default().replace('_', "-");
    let mut name = word.as_str();
    for part in ["mcp-server-", "server-mcp-", "server-", "mcp-"] {
        name = name.strip_prefix(part).unwrap_or(name);
    }
    for part in ["-mcp-server", "-server-mcp", "-mcp", "-server"] {
        name = name.strip_suffix(part).unwrap_or(name);
    }
    let name = if name.is_empty() { "server" } else { name };
    ServerName::sanitized(name).as_str().to_owned()
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
    fn short_names() {
        for (line, expected) in [
            ("npx -y @modelcontextprotocol/server-filesystem@2026.1 /tmp", "filesystem"),
            ("uvx mcp-server-time --local-timezone UTC", "time"),
            ("python3 -m mcp_server_git", "git"),
            ("/opt/x/bin/mcp-server-fetch", "fetch"),
            ("npx @playwright/mcp@1.0", "playwright"),
            ("uvx duckduckgo-mcp-server", "duckduckgo"),
            ("node", "server"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(short_name(&words), expected, "{line}");
        }
    }

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
