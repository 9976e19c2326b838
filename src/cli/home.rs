//! `proofmark home`: an agent's home on disk.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::{Span, SpanRelativeTo, Unit};
use serde_json::{Value, json};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::base::printable::printable;
use crate::base::problem::nearest;
use crate::base::world::{Millis, wall_clock};
use crate::eval::home_source::{self, HomeParts};
use crate::journal::Event;
use crate::report::json::envelope;
use crate::report::table::{Look, draw};
use crate::runtime::catalog::store::Store;
use crate::runtime::home::{Artifact, Fate, Given, Home, Retention, Run};

/// Arguments of `home`.
#[derive(Debug, Args)]
#[command(after_help = "Example, from nothing to an agent that acts:\n  \
    proofmark home --home ~/.agent init\n  \
    proofmark registry --registry ~/.agent/tools add my-tool.yaml\n  \
    proofmark registry --registry ~/.agent/tools enable my.tool --scope live \\\n    \
      --evidence reports/TIME/run.jsonl\n  \
    proofmark chat --home ~/.agent --workspace .")]
pub struct HomeArgs {
    /// The home's folder
    #[arg(long, global = true, default_value = ".agent")]
    home: PathBuf,
    /// How the answer is written
    #[arg(long, global = true, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make one; files that are there stay as they are
    Init,
    /// What is in it: tools, runs, artifacts, servers, consents, credentials
    Show,
    /// The artifacts, each with the call that it came from
    Artifacts {
        /// Only those of this call
        #[arg(long)]
        call: Option<String>,
        /// Only those of this run
        #[arg(long)]
        run: Option<String>,
        /// Only those of this kind: `tool_output`, `diff`, `pre_image`, `binary`
        #[arg(long)]
        kind: Option<String>,
    },
    /// Remove artifacts, and workspaces of runs, that are kept no longer; the record says who did
    Prune(PruneArgs),
    /// Take back every consent for an MCP server
    Withdraw {
        /// The server
        server: String,
        /// Who takes it back
        #[arg(long)]
        by: String,
    },
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rule").required(true).multiple(true)
    .args(["older_than", "keep_bytes"]))]
struct PruneArgs {
    /// What is older than this goes: `30d`, `12h`, `0s`
    #[arg(long, value_parser = age)]
    older_than: Option<Millis>,
    /// The oldest go until all artifacts together have no more bytes than this
    #[arg(long)]
    keep_bytes: Option<u64>,
    /// Who removes it
    #[arg(long)]
    by: String,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
}

fn age(text: &str) -> Result<Millis, String> {
    let wrong = || format!("`{text}` is no time such as 30d or 12h");
    let span: Span = text.parse().map_err(|_| wrong())?;
    let days = SpanRelativeTo::days_are_24_hours();
    let millis = span.total((Unit::Millisecond, days)).map_err(|_| wrong())?;
    if millis < 0.0 { Err(wrong()) } else { Ok(millis as Millis) }
}

/// Runs the command.
///
/// # Errors
/// What of the home cannot be read or written.
pub fn home(args: &HomeArgs, output: &mut Output) -> Result<Exit, CliError> {
    let root = &args.home;
    if !matches!(args.command, Action::Init) && !root.is_dir() {
        let message = format!("{} is no home; make one: proofmark home init", root.display());
        return Err(CliError::Usage(message));
    }
    let (text, answer) = match &args.command {
        Action::Init => init(root)?,
        Action::Show => show(root)?,
        Action::Artifacts { call, run, kind } => {
            let mut all = Home::open(root)?.all_artifacts()?;
            let is = |wanted: &Option<String>, found: Option<&str>| {
                wanted.as_deref().is_none_or(|wanted| Some(wanted) == found)
            };
            all.retain(|one| {
                is(call, one.tool_call_id.as_deref())
                    && is(run, Some(&one.run))
                    && is(kind, Some(&one.kind))
            });
            (listed(&all), json!({"artifacts": all}))
        }
        Action::Prune(prune) => pruned(root, prune)?,
        Action::Withdraw { server, by } => withdrawn(root, server, by)?,
    };
    match args.format {
        Format::Human => output.text(&text),
        Format::Json => {
            let mut whole = envelope(None, "pass", Exit::Pass.code());
            if let Value::Object(answer) = answer {
                whole.extend(answer);
            }
            output.json(&Value::Object(whole));
        }
    }
    Ok(Exit::Pass)
}

type Answer = Result<(String, Value), CliError>;

const SUITE: &str = "\
# What the agent is: whose tools, which rules, in whose name. `proofmark chat --home DIR` acts with
# it, and `proofmark run DIR` measures it once it has prompts.
schema: proofmark/suite@1
name: agent
default: false
tools: [{home: .}]
rules: rules.yaml
principal: {id: dev, scopes: [workspace_write]}
";
const RULES: &str = "\
schema: proofmark/rules@1
# Without a rule: L0 and L1 run, L2 runs for whoever holds workspace_write, L3 for external_read,
# L4 is asked, L5 is confirmed strongly. Deny beats ask beats allow.
rules: []
";
const SERVERS: &str = "{\"mcpServers\": {}}\n";

fn init(root: &Path) -> Answer {
    drop(Home::open(root)?);
    let files = [
        ("suite.yaml", SUITE),
        ("rules.yaml", RULES),
        ("mcp/servers.json", SERVERS),
        ("credentials/bindings.jsonl", ""),
    ];
    let mut made = Vec::new();
    for (name, text) in files {
        let path = root.join(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => made.push(name),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(CliError::Environment(format!("{}: {error}", path.display())));
            }
        }
    }
    let shown = root.display();
    let text = format!(
        "{shown} is an agent's home; written: {}\n\
         next: proofmark registry --registry {shown}/tools add TOOL.yaml\n",
        if made.is_empty() { "nothing new".to_owned() } else { made.join(", ") }
    );
    Ok((text, json!({"home": shown.to_string(), "written": made})))
}

fn show(root: &Path) -> Answer {
    let home = Home::open(root)?;
    let store = Store::read(&home.tools())?;
    let HomeParts { servers, packages, bindings } = home_source::parts(root)?;
    let (runs, artifacts, consents) = (home.all_runs()?, home.all_artifacts()?, home.consents()?);
    let tools: Vec<(String, &'static str)> =
        store.book.iter().map(|(id, one)| (id.to_string(), one.state().name())).collect();
    let news = news(&home, &store)?;
    let kept = |one: &&Artifact| one.fate == Fate::Kept;
    let (count, bytes) = artifacts
        .iter()
        .filter(kept)
        .fold((0, 0), |(count, bytes), one| (count + 1, bytes + one.bytes));
    let agreed = |id: &str| consents.iter().find(|given| given.consent.server == id);
    let mut text = String::new();
    let mut part = |name: &str, lines: Vec<String>| {
        text.push_str(&format!("{name} ({})\n", lines.len()));
        lines.iter().for_each(|line| text.push_str(&format!("  {}\n", printable(line))));
    };
    part("tools", tools.iter().map(|(id, state)| format!("{id}: {state}")).collect());
    part("tools that servers added and nobody registered", news.clone());
    part("runs", runs.iter().map(|(id, run)| of_run(id, run)).collect());
    part("artifacts", vec![format!("{count} kept, {bytes} bytes")]);
    part(
        "servers",
        servers.iter().map(|server| of_server(&server.id, agreed(&server.id))).collect(),
    );
    part("skills", packages.iter().map(|package| package.id.clone()).collect());
    part("credentials", bindings.keys().cloned().collect());
    let answer = json!({
        "tools": tools.iter().map(|(id, state)| json!({"toolId": id, "state": state})).collect::<Vec<_>>(),
        "discovered": news,
        "runs": runs.iter().map(|(id, run)| json!({"run": id, "events": run.entries.len(),
            "open": run.is_open(), "torn": run.torn})).collect::<Vec<_>>(),
        "artifacts": {"kept": count, "bytes": bytes},
        "servers": servers.iter().map(|server| json!({"serverId": server.id,
            "consentedBy": agreed(&server.id).map(|given| &given.by)})).collect::<Vec<_>>(),
        "skills": packages.iter().map(|package| &package.id).collect::<Vec<_>>(),
        "credentials": bindings.keys().collect::<Vec<_>>(),
    });
    Ok((text, answer))
}

fn of_run(id: &str, run: &Run) -> String {
    let open = if run.is_open() { "; its last turn did not end" } else { "" };
    let torn = match run.torn {
        0 => String::new(),
        torn => format!("; {torn} bytes of a last line that was cut short"),
    };
    format!("{id}: {} events{open}{torn}", run.entries.len())
}

fn of_server(id: &str, given: Option<&Given>) -> String {
    match given {
        Some(given) => format!("{id}: {} agreed for {}", given.by, given.consent.principal),
        None => format!("{id}: nobody agreed yet"),
    }
}

/// Tools that servers added while sessions ran, less those that were registered since.
fn news(home: &Home, store: &Store) -> Result<Vec<String>, CliError> {
    let entries = home.news()?;
    let mut found: Vec<String> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::ToolDiscovered(fact) if store.book.get(&fact.tool_id).is_none() => {
                Some(fact.tool_id.to_string())
            }
            _ => None,
        })
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

fn listed(all: &[Artifact]) -> String {
    if all.is_empty() {
        return "there is no artifact\n".to_owned();
    }
    let rows = all.iter().map(|one| {
        let fate = match &one.fate {
            Fate::Kept => "kept".to_owned(),
            Fate::Pruned { by, .. } => format!("pruned by {}", printable(by)),
            Fate::Absent => "not there".to_owned(),
        };
        vec![
            one.file.clone(),
            one.bytes.to_string(),
            one.run.clone(),
            printable(one.tool_call_id.as_deref().unwrap_or("-")),
            one.event_id.map_or_else(|| "-".to_owned(), |event| event.to_string()),
            fate,
        ]
    });
    draw(&["artifact", "bytes", "run", "call", "event", "now"], rows.collect(), Look::Terminal)
        + "\n"
}

fn pruned(root: &Path, args: &PruneArgs) -> Answer {
    if args.by.trim().is_empty() {
        return Err(CliError::Usage("--by needs a name".to_owned()));
    }
    let (home, now) = (Home::alone(root)?, wall_clock());
    let retention = Retention { age: args.older_than, bytes: args.keep_bytes };
    let gone = home.prune(retention, (now, args.by.trim()), !args.dry_run)?;
    let sandboxes = args.older_than.map(|age| home.prune_sandboxes(age, now, !args.dry_run));
    let sandboxes = sandboxes.transpose()?.unwrap_or_default();
    let bytes: u64 = gone.iter().map(|one| one.bytes).sum();
    let verb = if args.dry_run { "would go" } else { "gone" };
    let mut text = format!("{verb}: {} artifacts, {bytes} bytes", gone.len());
    text.push_str(&format!(", {} workspaces\n", sandboxes.len()));
    for one in gone.iter().map(|one| &one.file).chain(&sandboxes) {
        text.push_str(&format!("  {one}\n"));
    }
    let answer = json!({"dryRun": args.dry_run, "artifacts": gone, "bytes": bytes,
        "sandboxes": sandboxes});
    Ok((text, answer))
}

fn withdrawn(root: &Path, server: &str, by: &str) -> Answer {
    if by.trim().is_empty() {
        return Err(CliError::Usage("--by needs a name".to_owned()));
    }
    let home = Home::open(root)?;
    let known: Vec<String> =
        home.consents()?.into_iter().map(|given| given.consent.server).collect();
    if home.withdraw(server, by.trim(), wall_clock())? == 0 {
        let close = nearest(server, known.iter().map(String::as_str));
        let help = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
        return Err(CliError::Usage(format!("nobody agreed to the server `{server}`{help}")));
    }
    Ok((
        format!("{server}: whoever uses it next is asked again\n"),
        json!({"serverId": server, "withdrawn": true}),
    ))
}
