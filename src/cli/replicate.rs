//! `proofmark replicate SET`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::base::problem::{Position, Problem};
use crate::replicate::{Replica, SETS, Set, Source, set};
use crate::report::json::envelope;
use crate::report::table::{Look, draw};

/// How many differences are shown unless all are wanted.
const SHOWN: usize = 20;

/// Arguments of `replicate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark replicate\n  \
    proofmark replicate bfcl --data ~/data\n  \
    proofmark replicate asb mcpeval --format json\n  \
    proofmark replicate bfcl-v4 --replay mine.jsonl --all")]
pub struct ReplicateArgs {
    /// Sets to compare; they are listed when left out
    sets: Vec<String>,
    /// The folder of outside data, with a folder for each benchmark
    #[arg(long, env = "PROOFMARK_DATA")]
    data: Option<PathBuf>,
    /// Another file of recorded outputs than the set's own
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Show every difference
    #[arg(long)]
    all: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Scores recorded outputs under their own rules and compares with what was published.
///
/// # Errors
/// A set that does not exist, a folder that nobody names, a file that cannot be read.
pub fn replicate(args: &ReplicateArgs, output: &mut Output) -> Result<Exit, CliError> {
    if args.sets.is_empty() {
        list(args.format, output);
        return Ok(Exit::Pass);
    }
    let wanted = args.sets.iter().map(|name| set(name)).collect::<Result<Vec<&Set>, Problem>>();
    let wanted = wanted.map_err(|problem| vec![problem])?;
    if args.replay.is_some() && wanted.len() > 1 {
        let message = "one file of recorded outputs belongs to one set";
        return Err(vec![Problem::new("--replay", Position::default(), message)].into());
    }
    let source = Source { data: data(args)?, replay: args.replay.clone() };
    let mut found = Vec::new();
    for set in wanted {
        found.push(set.replicate(&source).map_err(|problem| vec![problem])?);
    }
    let exit = match found.iter().all(Replica::is_equal) {
        true if found.iter().any(|one| one.items > 0) => Exit::Pass,
        true => Exit::NothingSelected,
        false => Exit::Fail,
    };
    match args.format {
        Format::Human => found.iter().for_each(|one| output.text(&shown(one, args.all))),
        Format::Json => output.json(&answer(&found, exit)),
    }
    Ok(exit)
}

/// The folder that was named, or the one beside the working folder.
fn data(args: &ReplicateArgs) -> Result<PathBuf, CliError> {
    let beside = || Some(PathBuf::from("../shared/data")).filter(|path| path.is_dir());
    args.data.clone().or_else(beside).ok_or_else(|| {
        let message = "nobody names the folder of outside data";
        let problem = Problem::new("--data", Position::default(), message);
        vec![problem.help("give it, or set PROOFMARK_DATA")].into()
    })
}

fn list(format: Format, output: &mut Output) {
    match format {
        Format::Human => {
            let rows = SETS.iter().map(|set| vec![set.name.to_owned(), set.about.to_owned()]);
            output.text(&draw(&["set", "what is compared"], rows.collect(), Look::Terminal));
        }
        Format::Json => {
            let sets = SETS
                .iter()
                .map(|set| json!({"set": set.name, "profile": set.profile, "about": set.about}));
            let mut answer = envelope(None, "pass", Exit::Pass.code());
            answer.insert("sets".into(), sets.collect());
            output.json(&Value::Object(answer));
        }
    }
}

fn shown(one: &Replica, all: bool) -> String {
    let mut text = format!(
        "{} under the rules {}: {} items, {} equal, {} different",
        one.set, one.profile, one.items, one.equal, one.different
    );
    if one.cells.items > 0 {
        text += &format!("; {} of {} cells equal", one.cells.equal, one.cells.items);
    }
    text.push('\n');
    let most = if all { one.differences.len() } else { SHOWN };
    for it in one.differences.iter().take(most) {
        let (id, model) = (&it.id, &it.model);
        text += &format!("  {id} ({model}): published {}, ours {}\n", it.published, it.ours);
    }
    let left = one.differences.len().saturating_sub(most);
    if left > 0 {
        text += &format!("  and {left} more; `--all` shows them\n");
    }
    text
}

/// One set's keys stand by themselves, several under `sets`.
fn answer(found: &[Replica], exit: Exit) -> Value {
    let verdict = if exit == Exit::Fail { "fail" } else { "pass" };
    let mut answer = envelope(None, verdict, exit.code());
    let mut values = found.iter().filter_map(|one| serde_json::to_value(one).ok());
    match (found.len(), values.next()) {
        (1, Some(Value::Object(one))) => answer.extend(one),
        (_, first) => {
            let all: Vec<Value> = first.into_iter().chain(values).collect();
            answer.insert("sets".into(), all.into());
        }
    }
    Value::Object(answer)
}
