//! `proofmark registry`: tools on their way from seen to callable, kept in a folder.
//!
//! Each command asks the desk (`runtime/catalog/desk.rs`) and writes down the facts it answers
//! with. `add` reads definitions, `sign` makes keys and signatures, `try_out` is the dry run,
//! `answer` says what became of it.

mod add;
mod answer;
mod sign;
mod try_out;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Format;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::base::digest::Digest;
use crate::base::world::wall_clock;
use crate::eval::evidence::{self, Golden};
use crate::eval::read::{read, shown};
use crate::journal::Event;
use crate::runtime::catalog::desk::{self, Basis, EVALUATION, LIVE, Refusal};
use crate::runtime::catalog::store::{Eval, Store, StoreError};
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use answer::{Answer, Asked};

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
        /// Whether this principal may call it now
        #[arg(long = "for")]
        principal: Option<String>,
        /// For whom the principal acts
        #[arg(long, requires = "principal")]
        tenant: Option<String>,
        /// The scope in which the principal asks
        #[arg(long, default_value = LIVE)]
        scope: String,
    },
    /// Make a pair of keys; the private one goes into a file, the public one is shown
    Keygen(sign::KeygenArgs),
    /// Sign definitions: what stands in their `provenance` then is shown
    Sign(sign::SignArgs),
    #[command(flatten)]
    Change(Change),
}

/// Commands that record facts about one tool.
#[derive(Debug, Subcommand)]
enum Change {
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
        /// Who disables it
        #[arg(long)]
        by: Option<String>,
    },
    /// It must never be called again
    Block {
        /// The tool
        id: String,
        /// Why
        #[arg(long)]
        why: String,
        /// Who blocks it
        #[arg(long)]
        by: Option<String>,
    },
    /// It should no longer be chosen
    Deprecate {
        /// The tool
        id: String,
        /// What to use instead
        #[arg(long)]
        successor: Option<String>,
        /// Who deprecates it
        #[arg(long)]
        by: Option<String>,
    },
    /// Give authority ahead of calls, for the version that is enabled
    Grant {
        /// The tool
        id: String,
        /// To whom
        #[arg(long)]
        to: String,
        /// For whom that one acts; nobody when left out
        #[arg(long)]
        tenant: Option<String>,
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
    let answer = &mut Answer::new(args.format, output);
    match &args.command {
        Command::Keygen(keygen) => sign::keygen(keygen, answer),
        Command::Sign(signed) => sign::sign(signed, answer),
        Command::List => listed(&args.registry, answer),
        Command::Show { id, principal, tenant, scope } => {
            let store = opened(Store::read(&args.registry), answer)?;
            let asked = principal.as_deref().map(|principal| Asked {
                principal,
                tenant: tenant.as_deref(),
                scope,
            });
            match known(&store, id) {
                Ok(id) => answer.show(&store, &id, asked).map(|()| Exit::Pass),
                Err(refusal) => Ok(answer.refused(&store, &refusal)),
            }
        }
        Command::Add(add) => add::add(add, args, answer),
        Command::Change(change) => {
            let mut store = opened(Store::write(&args.registry), answer)?;
            match decide(change, &store, answer) {
                Ok((tool, facts)) => {
                    record(&mut store, &facts)?;
                    answer.done(&store, &tool, &facts);
                    Ok(Exit::Pass)
                }
                Err(Stop::Refused(refusal)) => Ok(answer.refused(&store, &refusal)),
                Err(Stop::Stale(message)) => Ok(answer.stale(&message)),
                Err(Stop::Failed(error)) => Err(error),
            }
        }
    }
}

/// All tools of a registry on disk, and where they stand.
///
/// # Errors
/// When it cannot be read.
pub(super) fn list(
    folder: &std::path::Path,
    format: Format,
    output: &mut Output,
) -> Result<Exit, CliError> {
    listed(folder, &mut Answer::new(format, output))
}

fn listed(folder: &std::path::Path, answer: &mut Answer<'_>) -> Result<Exit, CliError> {
    let store = opened(Store::read(folder), answer)?;
    answer.list(&store);
    Ok(Exit::Pass)
}

/// Why nothing is recorded.
enum Stop {
    Refused(Refusal),
    /// The evidence belongs to another version.
    Stale(String),
    Failed(CliError),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<CliError> for Stop {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

/// The facts that answer a change, and the tool that they are about.
fn decide(
    change: &Change,
    store: &Store,
    answer: &mut Answer<'_>,
) -> Result<(ToolId, Vec<Event>), Stop> {
    let book = &store.book;
    let id = match change {
        Change::Review { id, .. }
        | Change::Health { id }
        | Change::Disable { id, .. }
        | Change::Block { id, .. }
        | Change::Deprecate { id, .. }
        | Change::Grant { id, .. }
        | Change::Enable(EnableArgs { id, .. }) => known(store, id)?,
        Change::Revoke { grant, .. } => {
            book.owner(grant).cloned().ok_or_else(|| Refusal::NoGrant(grant.clone()))?
        }
    };
    let facts = match change {
        Change::Review { by, reject, .. } => desk::review(book, &id, by, !reject)?,
        Change::Health { .. } => {
            let found = answer.tried(try_out::try_out(&described(store, &id)?));
            desk::health(book, &id, &found)?
        }
        Change::Enable(args) => enable(args, &id, store)?,
        Change::Disable { scope, by, .. } => {
            desk::disable(book, &id, scope.as_deref(), by.as_deref())?
        }
        Change::Block { why, by, .. } => desk::block(book, &id, why, by.as_deref())?,
        Change::Deprecate { successor, by, .. } => {
            let successor = successor.as_ref().map(|other| known(store, other)).transpose()?;
            desk::deprecate(book, &id, successor.as_ref(), by.as_deref())?
        }
        Change::Grant { to, tenant, scope, seconds, .. } => {
            let after = |seconds: u64| wall_clock().saturating_add(seconds.saturating_mul(1_000));
            let to = (to.as_str(), tenant.as_deref());
            desk::grant(book, &described(store, &id)?, to, scope, seconds.map(after))?
        }
        Change::Revoke { grant, by } => desk::revoke(book, grant, by)?,
    };
    Ok((id, facts))
}

fn enable(args: &EnableArgs, id: &ToolId, store: &Store) -> Result<Vec<Event>, Stop> {
    let basis = match (&args.evidence, &args.without_evidence) {
        (Some(path), _) => golden(path, id, store)?,
        (None, why) => Basis::Without(why.clone().unwrap_or_default()),
    };
    let default = match basis {
        Basis::Golden { .. } => LIVE,
        Basis::Without(_) => EVALUATION,
    };
    let scope = args.scope.as_deref().unwrap_or(default);
    let facts = desk::enable(&store.book, id, scope, &basis)?;
    if let (Basis::Golden { evidence, judged, passed }, Some(path)) = (basis, &args.evidence) {
        let (tool_id, tool_version) = (id.clone(), version(store, id)?);
        let (run, at) = (shown(path), wall_clock());
        let eval = Eval { tool_id, tool_version, evidence, judged, passed, run, at };
        store.keep_eval(&eval).map_err(CliError::from)?;
    }
    Ok(facts)
}

/// What a run's record says of the version in question.
fn golden(path: &Path, id: &ToolId, store: &Store) -> Result<Basis, Stop> {
    let text = read(path).map_err(|problem| CliError::from(vec![problem]))?;
    let evidence = evidence::read(&shown(path), &text).map_err(CliError::from)?;
    let version = version(store, id)?;
    let others: Vec<String> = evidence.versions(id).map(Digest::short).collect();
    match evidence.of(id, &version) {
        Some(Golden { digest, judged, passed }) => {
            Ok(Basis::Golden { evidence: digest, judged, passed })
        }
        None if others.is_empty() => {
            Ok(Basis::Golden { evidence: Digest::of("golden", b""), judged: 0, passed: 0 })
        }
        None => {
            let (path, others, own) = (shown(path), others.join(", "), version.short());
            let told = format!("{path} judges version {others} of `{id}`; here it is {own}");
            Err(Stop::Stale(told))
        }
    }
}

/// The id of a registered tool.
fn known(store: &Store, id: &str) -> Result<ToolId, Refusal> {
    let parsed = ToolId::parse(id).filter(|parsed| store.book.get(parsed).is_some());
    parsed.ok_or_else(|| Refusal::Unknown(id.to_owned()))
}

fn version(store: &Store, id: &ToolId) -> Result<Digest, Refusal> {
    let version = store.book.get(id).and_then(|standing| standing.version);
    version.ok_or_else(|| desk::unversioned(&store.book, id))
}

/// The descriptor of the version in question.
fn described(store: &Store, id: &ToolId) -> Result<Descriptor, Stop> {
    Ok(store.descriptor(&version(store, id)?).map_err(CliError::from)?)
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
