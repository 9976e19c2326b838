//! `proofmark lint`: tool descriptors judged before anybody calls them.

mod gather;
mod place;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::base::problem::nearest;
use crate::lint::{Finding, Level, Levels, Profile, check, registry};
use crate::report::lint::{Located, Shown, count, explain, json, sarif, terminal};
use gather::Unit;

/// Arguments of `lint`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark lint\n  proofmark lint coding-agent\n  \
    proofmark lint tools/ --deny warnings --format sarif\n  \
    proofmark lint --mcp \"npx -y @modelcontextprotocol/server-filesystem DIR\"\n  \
    proofmark lint --listing saved.json --profile gemini --rule long-description=off\n  \
    proofmark lint --explain null-default")]
pub struct LintArgs {
    /// Suites, or files and folders of descriptors and saved listings; all suites when left out
    targets: Vec<String>,
    /// An MCP server: its command line, which is started twice, or its address
    #[arg(long)]
    mcp: Option<String>,
    /// A saved `tools/list` result, or a tool list of OpenAI or Anthropic
    #[arg(long)]
    listing: Vec<PathBuf>,
    /// Judge the facts of a provider too: openai-chat, openai-strict, anthropic, gemini
    #[arg(long)]
    profile: Vec<String>,
    /// The level of one rule: off, info, warning or error
    #[arg(long, value_name = "NAME=LEVEL")]
    rule: Vec<String>,
    /// What makes the exit code 1 beside errors
    #[arg(long, value_enum)]
    deny: Option<Deny>,
    /// Tell hints like everything else
    #[arg(long)]
    all: bool,
    /// Say everything about one rule, and judge nothing
    #[arg(long, value_name = "RULE", conflicts_with_all = ["targets", "mcp", "listing"])]
    explain: Option<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = LintFormat::Human)]
    format: LintFormat,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// For people.
    Human,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code hosts.
    Sarif,
}

/// What fails beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings.
    Warnings,
    /// Warnings and hints.
    Info,
}

impl LintArgs {
    pub(super) fn format(&self) -> Format {
        if self.format == LintFormat::Human { Format::Human } else { Format::Json }
    }
}

/// Judges descriptors.
///
/// # Errors
/// When something that is asked for cannot be read, or is not there.
pub fn lint(args: &LintArgs, output: &mut Output) -> Result<Exit, CliError> {
    if let Some(name) = &args.explain {
        output.text(&explain(known(name)?));
        return Ok(Exit::Pass);
    }
    let levels = levels(args)?;
    let units = gather::gather(args, output)?;
    let tools: usize = units.iter().flat_map(|unit| &unit.servers).map(|one| one.tools.len()).sum();
    if tools == 0 {
        return Err(CliError::NothingSelected("there is not a single tool to judge".to_owned()));
    }
    let mut found = Vec::new();
    for unit in &units {
        let levels = own(unit, &levels, args)?;
        found.extend(place::locate(unit, judge(unit, &levels)));
    }
    let exit = exit(args, &found);
    match args.format {
        LintFormat::Human => {
            let shown = if args.all { Shown::All } else { Shown::Counted };
            output.text(&terminal(&found, tools, shown));
        }
        LintFormat::Json => output.json(&json(&found, exit.code())),
        LintFormat::Sarif => output.json(&sarif(&found)),
    }
    Ok(exit)
}

fn judge(unit: &Unit, levels: &Levels) -> Vec<Finding> {
    let mut found = check(&unit.servers, levels);
    for (number, server) in unit.servers.iter().enumerate() {
        if let Some(prompts) = &unit.prompts {
            found.extend(check::unprompted((number, server), prompts, levels));
        }
    }
    if let Some([first, second]) = &unit.starts {
        found.extend(check::unstable(0, [first, second], levels));
    }
    check::sort(&mut found);
    found
}

fn exit(args: &LintArgs, found: &[Located]) -> Exit {
    let denied = match args.deny {
        None => Level::Error,
        Some(Deny::Warnings) => Level::Warning,
        Some(Deny::Info) => Level::Info,
    };
    let failed = Level::ALL.into_iter().filter(|level| *level >= denied);
    if failed.map(|level| count(found, level)).sum::<usize>() > 0 { Exit::Fail } else { Exit::Pass }
}

fn known(name: &str) -> Result<&'static crate::lint::Rule, CliError> {
    registry::rule(name).ok_or_else(|| {
        let near = nearest(name, registry::rules().map(|rule| rule.name));
        let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        CliError::Usage(format!("there is no rule `{}`{help}", name.escape_debug()))
    })
}

/// What the command line asks for.
fn levels(args: &LintArgs) -> Result<Levels, CliError> {
    let mut levels = Levels::default();
    for name in &args.profile {
        let Some(profile) = Profile::parse(name) else {
            let names: Vec<&str> = Profile::ALL.iter().map(|profile| profile.name()).collect();
            let known = names.join(", ");
            return Err(CliError::Usage(format!("--profile {name}: known here: {known}")));
        };
        levels.profile(profile);
    }
    asked(args, &mut levels)?;
    Ok(levels)
}

fn asked(args: &LintArgs, levels: &mut Levels) -> Result<(), CliError> {
    for text in &args.rule {
        let parsed =
            text.split_once('=').and_then(|(name, level)| Some((name, Level::parse(level)?)));
        let Some((name, level)) = parsed else {
            let help = "write NAME=off, NAME=info, NAME=warning or NAME=error";
            return Err(CliError::Usage(format!("--rule {text}: {help}")));
        };
        levels.set(name, level).map_err(|error| CliError::Usage(format!("--rule: {error}")))?;
    }
    Ok(())
}

/// The levels of one unit: its suite's, then those of the command line.
fn own(unit: &Unit, levels: &Levels, args: &LintArgs) -> Result<Levels, CliError> {
    let mut own = levels.clone();
    for (name, level, problem) in &unit.levels {
        own.set(name, *level).map_err(|error| {
            let mut problem = problem.clone();
            problem.message = error;
            CliError::Inputs(vec![problem])
        })?;
    }
    asked(args, &mut own)?;
    Ok(own)
}
