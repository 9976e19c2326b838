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
use crate::eval::scaffold::{Origin, scaffold, write};
use crate::report::json::envelope;
use crate::runtime::catalog::source::snapshot::Snapshot;
use crate::runtime::catalog::source::{Imported, ServerName, mcp};
use crate::runtime::mcp::parse_command;

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    proofmark init --mcp \"npx -y @modelcontextprotocol/server-filesystem DIR\"\n  \
    proofmark init --mcp \"TZ=UTC uvx mcp-server-time\" --name time\n  \
    proofmark init --openai tools.json\n  proofmark init --listing saved.json")]
#[command(group = clap::ArgGroup::new("source").required(true).args(["mcp", "openai", "listing"]))]
pub struct InitArgs {
    /// Command line of an MCP server over stdio; leading NAME=value words set its environment
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
    format: Format,
}

/// Lists tools and writes a suite.
///
/// # Errors
/// When the tools cannot be listed or files are in the way.
pub fn init(args: &InitArgs, output: &mut Output) -> Result<Exit, CliError> {
    let found = find(args)?;
    if found.imported.descriptors.is_empty() {
        let from = &found.origin.found;
        return Err(CliError::NothingSelected(format!("there is not a single tool in {from}")));
    }
    let scaffolded = scaffold(&found.name, &found.origin, &found.imported);
    let files = write(&scaffolded, &args.dir, args.force)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    answer(args, &found, &files, output);
    Ok(Exit::Pass)
}

struct Found {
    name: String,
    origin: Origin,
    imported: Imported,
}

fn find(args: &InitArgs) -> Result<Found, CliError> {
    let suite_name = |fallback: String| {
        let name = args.name.clone().unwrap_or(fallback);
        ServerName::sanitized(&name).as_str().to_owned()
    };
    if let Some(line) = &args.mcp {
        let launch = parse_command(line).map_err(|error| CliError::Usage(error.to_string()))?;
        let snapshot = interruptible(&runtime()?, sources::list(&launch))??;
        let mut command = vec![launch.program.clone()];
        command.extend(launch.args.iter().cloned());
        let name = suite_name(short_name(&command));
        let imported = mcp::import(&ServerName::sanitized(&name), &snapshot.tools);
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
        let name = suite_name(fallback);
        let imported = mcp::import(&ServerName::sanitized(&name), &snapshot.tools);
        let found = crate::eval::read::shown(path);
        return Ok(Found { name, origin: Origin { found, snapshot }, imported });
    }
    let path = args.openai.clone().unwrap_or_default();
    let imported = sources::tool_list(&path).map_err(inputs)?;
    let found = crate::eval::read::shown(&path);
    let snapshot = tool_list_snapshot(&path)?;
    Ok(Found { name: suite_name(stem(&path)), origin: Origin { found, snapshot }, imported })
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
