//! `proofmark init`: a suite from real tools.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::sources::{self, short_name, stem, without_secrets};
use super::{Format, interruptible, runtime};
use crate::base::problem::Problem;
use crate::eval::scaffold::{Origin, ScaffoldError, scaffold, write};
use crate::report::json::envelope;
use crate::runtime::catalog::source::snapshot::Snapshot;
use crate::runtime::catalog::source::{Imported, ServerName, mcp};
use crate::runtime::mcp::{Allows, parse_server};

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    proofmark init --mcp \"npx -y @modelcontextprotocol/server-filesystem DIR\"\n  \
    proofmark init --mcp \"TZ=UTC uvx mcp-server-time\" --name time\n  \
    proofmark init --openai tools.json\n  proofmark init --listing saved.json")]
#[command(group = clap::ArgGroup::new("source").required(true).args(["mcp", "openai", "listing"]))]
pub struct InitArgs {
    /// An MCP server: its command line (leading NAME=value words set its environment) or address
    #[arg(long)]
    mcp: Option<String>,
    /// A file with an OpenAI or Anthropic tool list
    #[arg(long)]
    openai: Option<PathBuf>,
    /// A saved `tools/list` result
    #[arg(long)]
    listing: Option<PathBuf>,
    /// The suite's name, and the namespace of its tools; from the source when left out
    #[arg(long)]
    name: Option<String>,
    /// Where `suites/` and `golden/` are
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Lists tools and writes a suite.
///
/// # Errors
/// When the tools cannot be listed or files are in the way.
pub fn init(args: &InitArgs, output: &mut Output) -> Result<Exit, CliError> {
    let found = find(args, output)?;
    if found.imported.descriptors.is_empty() {
        let from = &found.origin.found;
        return Err(CliError::NothingSelected(format!("there is not a single tool in {from}")));
    }
    let mut scaffolded = scaffold(&found.name, &found.origin, &found.imported);
    // What people write by hand is never overwritten: `--force` refreshes descriptors.
    let authored = |path: &Path| path.ends_with("prompts.csv") || path.ends_with("suite.yaml");
    let mut kept = Vec::new();
    if args.force {
        scaffolded.files.retain(|path, _| {
            let keep = authored(path) && args.dir.join(path).exists();
            if keep {
                kept.push(path.clone());
            }
            !keep
        });
    }
    let files = write(&scaffolded, &args.dir, args.force).map_err(|error| match &error {
        ScaffoldError::Exists { .. } => {
            let help = "`--force` refreshes the descriptors and keeps suite.yaml and prompts.csv";
            CliError::Usage(format!("{error}; {help}"))
        }
        ScaffoldError::Outside { .. } | ScaffoldError::Io { .. } => {
            CliError::Environment(format!("{}: {error}", args.dir.display()))
        }
    })?;
    for path in kept {
        output.error(&format!("kept {}", path.display()));
    }
    answer(args, &found, &files, output);
    Ok(Exit::Pass)
}

struct Found {
    name: String,
    origin: Origin,
    imported: Imported,
}

fn find(args: &InitArgs, output: &mut Output) -> Result<Found, CliError> {
    let waits = output.watched();
    let suite_name = |fallback: String| suite_name(args.name.as_deref(), &fallback);
    if let Some(line) = &args.mcp {
        let server = parse_server(line).map_err(|error| CliError::Usage(error.to_string()))?;
        let command = server.words();
        if waits {
            output.error(&format!("waiting for {} (60 s at most)", command[0]));
        }
        let snapshot = interruptible(&runtime()?, sources::list(&server, Allows::default()))??;
        let name = suite_name(short_name(&command))?;
        let imported = mcp::import(&ServerName::sanitized(&name), &snapshot.tools);
        let imported = mcp::pinned(imported);
        let found = without_secrets(&command).join(" ");
        return Ok(Found { name, origin: Origin { found, snapshot }, imported });
    }
    let inputs = |problem: Problem| CliError::Inputs(vec![problem]);
    if let Some(path) = &args.listing {
        let (snapshot, _) = sources::saved(path).map_err(inputs)?;
        let fallback = match snapshot.command.as_slice() {
            [] => stem(path),
            command => short_name(command),
        };
        let name = suite_name(fallback)?;
        let imported = mcp::import(&ServerName::sanitized(&name), &snapshot.tools);
        let imported = mcp::pinned(imported);
        let found = crate::eval::read::shown(path);
        return Ok(Found { name, origin: Origin { found, snapshot }, imported });
    }
    let path = args.openai.clone().unwrap_or_default();
    let imported = sources::tool_list(&path).map_err(inputs)?;
    let found = crate::eval::read::shown(&path);
    let snapshot = tool_list_snapshot(&path)?;
    Ok(Found { name: suite_name(stem(&path))?, origin: Origin { found, snapshot }, imported })
}

/// A name that a suite can have: a given one must be legal, one from the source is made so.
fn suite_name(given: Option<&str>, fallback: &str) -> Result<String, CliError> {
    let legal = |name: &str| {
        let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        rest && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 64
    };
    match given {
        Some(name) if legal(name) => Ok(name.to_owned()),
        Some(name) => {
            let help = "use letters, digits, `_`, `.` and `-`, a letter or digit first, 64 at most";
            Err(CliError::Usage(format!("--name {name}: {help}")))
        }
        None => {
            let clean = ServerName::sanitized(fallback);
            let clean: String = clean.as_str().chars().take(64).collect();
            let clean = clean.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            Ok(if clean.is_empty() { "tools".to_owned() } else { clean.to_owned() })
        }
    }
}

/// A tool list is kept as it came, as a listing of a server without a name.
fn tool_list_snapshot(path: &Path) -> Result<Snapshot, CliError> {
    let text = crate::eval::read::read(path).map_err(|problem| vec![problem])?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let tools = crate::runtime::catalog::source::openai::tools(&value);
    Ok(Snapshot {
        server_name: stem(path),
        server_version: String::new(),
        protocol_version: String::new(),
        command: Vec::new(),
        tools: tools.map(<[Value]>::to_vec).unwrap_or_default(),
    })
}

fn answer(args: &InitArgs, found: &Found, files: &[PathBuf], output: &mut Output) {
    let (imported, name) = (&found.imported, &found.name);
    if args.format == Format::Json {
        let mut answer = envelope(Some(name), "pass", 0);
        let problems: Vec<Value> = imported
            .problems
            .iter()
            .map(|p| {
                json!({"tool": p.tool, "severity": p.severity.name(), "message": p.message,
                    "help": p.help})
            })
            .collect();
        let files: Vec<String> = files.iter().map(|path| crate::eval::read::shown(path)).collect();
        answer.insert("tools".into(), imported.descriptors.len().into());
        answer.insert("listing".into(), found.origin.snapshot.digest().to_string().into());
        answer.insert("problems".into(), Value::Array(problems));
        answer.insert("files".into(), json!(files));
        output.json(&Value::Object(answer));
        return;
    }
    let mut text = String::new();
    for problem in &imported.problems {
        let _ = writeln!(text, "{problem}");
    }
    let _ = writeln!(
        text,
        "{} tools from {}; {} files written under suites/{name} and golden/{name}",
        imported.descriptors.len(),
        found.origin.found,
        files.len()
    );
    let _ = writeln!(
        text,
        "next: replace the prompts in golden/{name}/prompts.csv with what your users say,\n      \
         then `proofmark run {name}` and `proofmark accept`"
    );
    output.text(&text);
}
