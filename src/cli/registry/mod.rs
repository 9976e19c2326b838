//! `proofmark registry`: tools on their way from seen to callable, kept in a folder.
//!
//! Each command asks the desk (`runtime/catalog/desk.rs`) and writes down the facts it answers
//! with. `add` reads definitions, `try_out` is the dry run, `answer` says what became of it.

mod add;
mod answer;
mod try_out;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::base::digest::Digest;
use crate::base::world::wall_clock;
use crate::eval::evidence;
use crate::eval::read::{read, shown};
use crate::journal::Event;
use crate::runtime::catalog::desk::{self, Basis, EVALUATION, Refusal};
use crate::runtime::catalog::store::{Store, StoreError};
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use answer::Answer;

/// Arguments of `registry`.
#[derive(Debug, Args)]
#[command(after_help = "Example, from seen to granted:\n  \
    proofmark registry add --mcp \"npx -y @modelcontextprotocol/server-filesystem DIR\"\n  \
    proofmark registry review filesystem.read_file --by Ada\n  \
    proofmark run filesystem\n  \
    proofmark registry enable filesystem.read_file --evidence reports/TIME/run.jsonl\n  \
    proofmark registry grant filesystem.read_file --to user")]
pub struct RegistryArgs {
    /// The folder of the registry
    #[arg(long, global = true, default_value = ".proofmark")]
    registry: PathBuf,
    /// How the answer is written
    #[arg(long, global = true, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Register definitions; a changed one is a new version
    Add(add::AddArgs),
    /// All tools and where they stand
    List,
    /// One tool: its versions, what holds it, where it is enabled, who holds grants
    Show {
        /// The tool
        id: String,
    },
    /// A named person has looked at it
    Review {
        /// The tool
        id: String,
        /// Who
        #[arg(long)]
        by: String,
        /// It was not accepted
        #[arg(long)]
        reject: bool,
    },
    /// Try it as far as that can be done without calling it
    Health {
        /// The tool
        id: String,
    },
    /// It may be granted and called in a scope
    Enable(EnableArgs),
    /// It may no longer be called in a scope, or anywhere
    Disable {
        /// The tool
        id: String,
        /// The scope; all of them when left out
        #[arg(long)]
        scope: Option<String>,
    },
    /// It must never be called again
    Block {
        /// The tool
        id: String,
        /// Why
        #[arg(long)]
        why: String,
    },
    /// It should no longer be chosen
    Deprecate {
        /// The tool
        id: String,
        /// What to use instead
        #[arg(long)]
        successor: Option<String>,
    },
    /// Give authority ahead of calls, for the version that is enabled
    Grant {
        /// The tool
        id: String,
        /// To whom
        #[arg(long)]
        to: String,
        /// Where
        #[arg(long, default_value = LIVE)]
        scope: String,
        /// For so many seconds; without an end when left out
        #[arg(long)]
        seconds: Option<u64>,
    },
    /// Take a grant back
    Revoke {
        /// The grant's id, as `show` has it
        grant: String,
        /// Who takes it back
        #[arg(long)]
        by: String,
    },
}

/// The scope outside of evaluations, where none is named.
const LIVE: &str = "live";

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("basis").required(true)
    .args(["evidence", "without_evidence"]))]
struct EnableArgs {
    /// The tool
    id: String,
    /// Where; `live` when left out, `evaluation` without evidence
    #[arg(long)]
    scope: Option<String>,
    /// The record of a run with golden prompts, `reports/<time>/run.jsonl`
    #[arg(long)]
    evidence: Option<PathBuf>,
    /// Why there is none; only in the scope `evaluation`, where evidence is made
    #[arg(long)]
    without_evidence: Option<String>,
}

/// Does what is asked of a registry.
///
/// # Errors
/// When it cannot be read or written, or an input cannot be read.
pub fn registry(args: &RegistryArgs, output: &mut Output) -> Result<Exit, CliError> {
    let mut answer = Answer::new(args.format, output);
    match &args.command {
        Command::List => {
            let store = opened(Store::read(&args.registry), &mut answer)?;
            answer.list(&store);
            return Ok(Exit::Pass);
        }
        Command::Show { id } => {
            let store = opened(Store::read(&args.registry), &mut answer)?;
            return match known(&store, id) {
                Ok(id) => answer.show(&store, &id).map(|()| Exit::Pass),
                Err(refusal) => Ok(answer.refused(&store, &refusal)),
            };
        }
        Command::Add(add) => return add::add(add, args, &mut answer),
        _ => {}
    }
    let mut store = opened(Store::write(&args.registry), &mut answer)?;
    match decide(&args.command, &store, &mut answer)? {
        Decided::Facts(tool, facts) => {
            record(&mut store, &facts)?;
            answer.done(&store, &tool, &facts);
            Ok(Exit::Pass)
        }
        Decided::Refused(refusal) => Ok(answer.refused(&store, &refusal)),
        Decided::Stale(message) => Ok(answer.stale(&message)),
    }
}

/// What becomes of a command.
enum Decided {
    Facts(ToolId, Vec<Event>),
    Refused(Refusal),
    /// The evidence belongs to another version.
    Stale(String),
}

fn decide(command: &Command, store: &Store, answer: &mut Answer<'_>) -> Result<Decided, CliError> {
    let book = &store.book;
    let about =
        |id: &String, ask: &mut dyn FnMut(&ToolId) -> Result<Vec<Event>, Refusal>| match known(
            store, id,
        )
        .and_then(|id| ask(&id).map(|facts| (id, facts)))
        {
            Ok((id, facts)) => Decided::Facts(id, facts),
            Err(refusal) => Decided::Refused(refusal),
        };
    Ok(match command {
        Command::Review { id, by, reject } => {
            about(id, &mut |id| desk::review(book, id, by, !reject))
        }
        Command::Disable { id, scope } => {
            about(id, &mut |id| desk::disable(book, id, scope.as_deref()))
        }
        Command::Block { id, why } => about(id, &mut |id| desk::block(book, id, why)),
        Command::Deprecate { id, successor } => about(id, &mut |id| {
            let successor = successor.as_ref().map(|other| known(store, other)).transpose()?;
            desk::deprecate(book, id, successor.as_ref())
        }),
        Command::Revoke { grant, by } => match desk::revoke(book, grant, by) {
            Ok(facts) => {
                let tool = book.owner(grant).cloned();
                Decided::Facts(tool.unwrap_or_else(|| ToolId::sanitized(grant)), facts)
            }
            Err(refusal) => Decided::Refused(refusal),
        },
        Command::Health { id } => match described(store, id)? {
            Err(refusal) => Decided::Refused(refusal),
            Ok(descriptor) => {
                let found = answer.tried(try_out::try_out(&descriptor));
                about(id, &mut |id| desk::health(book, id, &found))
            }
        },
        Command::Grant { id, to, scope, seconds } => match described(store, id)? {
            Err(refusal) => Decided::Refused(refusal),
            Ok(descriptor) => {
                let end = seconds
                    .map(|seconds| wall_clock().saturating_add(seconds.saturating_mul(1_000)));
                about(id, &mut |_| desk::grant(book, &descriptor, to, scope, end))
            }
        },
        Command::Enable(args) => enable(args, store)?,
        // These write nothing and were answered before.
        Command::Add(_) | Command::List | Command::Show { .. } => {
            return Err(CliError::Usage("nothing is to be decided".into()));
        }
    })
}

fn enable(args: &EnableArgs, store: &Store) -> Result<Decided, CliError> {
    let id = match known(store, &args.id) {
        Ok(id) => id,
        Err(refusal) => return Ok(Decided::Refused(refusal)),
    };
    let version = store.book.get(&id).and_then(|standing| standing.version);
    let basis = match (&args.evidence, &args.without_evidence, version) {
        (Some(path), _, Some(version)) => {
            let text = read(path).map_err(|problem| vec![problem])?;
            let evidence = evidence::read(&shown(path), &text)?;
            let others: Vec<String> = evidence.versions(&id).map(Digest::short).collect();
            match evidence.of(&id, &version) {
                Some(golden) => Basis::Golden {
                    evidence: golden.digest,
                    judged: golden.judged,
                    passed: golden.passed,
                },
                None if others.is_empty() => {
                    Basis::Golden { evidence: Digest::of("golden", b""), judged: 0, passed: 0 }
                }
                None => {
                    return Ok(Decided::Stale(format!(
                        "{} judges version {} of `{id}`; here it is {}",
                        shown(path),
                        others.join(", "),
                        version.short()
                    )));
                }
            }
        }
        (_, why, _) => Basis::Without(why.clone().unwrap_or_else(|| "none".to_owned())),
    };
    let default = match basis {
        Basis::Golden { .. } => LIVE,
        Basis::Without(_) => EVALUATION,
    };
    let scope = args.scope.as_deref().unwrap_or(default);
    Ok(match desk::enable(&store.book, &id, scope, &basis) {
        Ok(facts) => Decided::Facts(id, facts),
        Err(refusal) => Decided::Refused(refusal),
    })
}

/// The id of a registered tool.
fn known(store: &Store, id: &str) -> Result<ToolId, Refusal> {
    let parsed = ToolId::parse(id).filter(|parsed| store.book.get(parsed).is_some());
    parsed.ok_or_else(|| Refusal::Unknown(id.to_owned()))
}

/// The descriptor of the version in question.
fn described(store: &Store, id: &str) -> Result<Result<Descriptor, Refusal>, CliError> {
    let id = match known(store, id) {
        Ok(id) => id,
        Err(refusal) => return Ok(Err(refusal)),
    };
    match store.book.get(&id).and_then(|standing| standing.version) {
        Some(version) => Ok(Ok(store.descriptor(&version)?)),
        None => Ok(Err(desk::unversioned(&store.book, &id))),
    }
}

fn record(store: &mut Store, facts: &[Event]) -> Result<(), CliError> {
    store.append(wall_clock(), facts).map_err(CliError::from)
}

/// A registry with its notes told.
fn opened(store: Result<Store, StoreError>, answer: &mut Answer<'_>) -> Result<Store, CliError> {
    let store = store?;
    answer.notes(&store.notes);
    Ok(store)
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Problems(problems) => Self::Inputs(problems),
            StoreError::Io { .. } => Self::Environment(error.to_string()),
        }
    }
}
