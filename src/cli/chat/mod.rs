//! `proofmark chat`: an agent on the embedded runtime, and a person who talks to it, is asked by
//! it, and keeps its journal.

mod place;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tokio::net::TcpListener;

use place::Place;

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::{interruptible, runtime, suites};
use crate::base::printable::printable;
use crate::base::problem::nearest;
use crate::base::secret::Secret;
use crate::base::world::{env_var, unguessable, wall_clock};
use crate::eval::case::Case;
use crate::eval::fixture::{self, Shared, SuiteShared};
use crate::eval::load::Suite;
use crate::eval::play::Play;
use crate::journal::{Entry, Journal};
use crate::law::account::account;
use crate::law::account::pick::{Known, NotFound};
use crate::report::account as report;
use crate::runtime::BoxFuture;
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::Message;
use crate::runtime::evidence::receipt::ReceiptKey;
use crate::runtime::guard::Approver;
use crate::runtime::guard::approver::Refusing;
use crate::runtime::guard::door::back_channel::BackChannel;
use crate::runtime::guard::door::terminal::{Terminal, Typed, typed};
use crate::runtime::resolved::Resolved;
use crate::runtime::session::{Parts, Session};
use crate::runtime::surface::{Emission, Surface};
use crate::runtime::turn::TurnEnd;

/// Arguments of `chat`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark chat coding-agent --case c-approve-send\n  \
    proofmark chat office --approvals http --journal session.jsonl\n  \
    proofmark chat --home ~/.agent --workspace .")]
pub struct ChatArgs {
    /// The suite whose tools, rules and settings the agent has; that of its home when left out
    #[arg(required_unless_present = "home")]
    suite: Option<String>,
    /// The agent's home: what it has, and where everything is kept that outlives the session
    #[arg(long, conflicts_with = "journal")]
    home: Option<PathBuf>,
    /// Go on with this run of the home
    #[arg(long, requires = "home", value_name = "RUN")]
    resume: Option<String>,
    /// The folder in which file tools and commands act; one of the session's own when left out
    #[arg(long)]
    workspace: Option<PathBuf>,
    /// Begin in the setting of this case: its files, hooks, settings, and script if it has one
    #[arg(long)]
    case: Option<String>,
    /// Who is asked for approvals
    #[arg(long, value_enum, default_value_t = Door::Terminal)]
    approvals: Door,
    #[command(flatten)]
    fixtures: suites::Fixtures,
    /// Write the journal here; nothing that is there is replaced
    #[arg(long)]
    journal: Option<PathBuf>,
    /// Receipt what succeeds, under a key of this session that is left in this key store
    #[arg(long)]
    receipts: Option<PathBuf>,
}

/// A front door of approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Door {
    /// The person who types here
    Terminal,
    /// A person elsewhere, over HTTP on loopback
    Http,
    /// Nobody: what needs an approval is denied
    None,
}

const HELP: &str = "a line is a message; /tools lists the view, /tool-call CALL explains a call, \
                    /block TOOL [WHY] takes a tool away, /undo CALL takes a call back, /help, \
                    /quit";

/// Talks until the input ends.
///
/// # Errors
/// When the suite cannot be loaded, the case is not there, or the journal cannot be written.
pub fn chat(args: &ChatArgs, output: &mut Output) -> Result<Exit, CliError> {
    let runtime = runtime()?;
    let home = args.home.as_ref().map(|home| home.to_string_lossy().into_owned());
    let name = args.suite.clone().or(home).unwrap_or_default();
    let mut found = interruptible(&runtime, suites::find(&[name], &[]))??;
    args.fixtures.tell(&mut found.suites);
    let suite = found.suites.first().ok_or_else(|| found.nothing())?;
    let case = setting(suite, args.case.as_deref())?;
    let values = interruptible(&runtime, values(suite))??;
    let mut place = Place::open(args)?;
    let keys = typed(tokio::io::BufReader::new(tokio::io::stdin()));
    let (approver, work) = runtime.block_on(door(args.approvals, &keys, output))?;
    let parts = parts(suite, &case, approver, values);
    let (parts, follower) = place.settle(parts, suite)?;
    let mut session = place.begin(match &args.receipts {
        Some(folder) => receipted(parts, folder)?,
        None => parts,
    })?;
    if let Some(follower) = follower {
        runtime.spawn(follower.follow(session.remote()));
    }
    let talk = async {
        tokio::select! {
            biased;
            () = talk((&mut session, suite), &keys, (&place, output)) => Ok(()),
            why = work => Err(CliError::Environment(format!("the back-channel ended: {why}"))),
        }
    };
    let ended = interruptible(&runtime, talk);
    // Whoever reads the keyboard cannot be told to stop, and nobody waits for them.
    runtime.shutdown_background();
    if let Some(farewell) = place.farewell() {
        output.error(&farewell);
    }
    place.close(session)?;
    ended??;
    Ok(Exit::Pass)
}

/// What the agent finds when it begins.
fn setting(suite: &Suite, id: Option<&str>) -> Result<Case, CliError> {
    let nothing = |what: String| CliError::NothingSelected(what);
    if let Some(id) = id {
        let case = suite.cases.iter().find(|case| *case.id == *id);
        return case
            .map(|case| Case::clone(case))
            .ok_or_else(|| nothing(format!("{} has no case {id}", suite.name)));
    }
    let any = suite.cases.first().ok_or_else(|| nothing(format!("{} is empty", suite.name)))?;
    Ok(Case {
        messages: Vec::new(),
        script: None,
        approvals: None,
        play: Play::default(),
        knobs: None,
        workspace: Default::default(),
        excluded: Default::default(),
        availability: None,
        principal: None,
        intent: None,
        dialect: None,
        ..Case::clone(any)
    })
}

/// The values of the suite's credentials that say where they come from.
async fn values(suite: &Suite) -> Result<BTreeMap<String, Secret>, CliError> {
    let mut values = BTreeMap::new();
    let sources = suite.file.credentials.as_ref().map(|held| held.sources(&suite.folder));
    for (name, source) in sources.unwrap_or_default() {
        let failed = |why| CliError::Environment(format!("credential {name}: {why}"));
        values.insert(name.clone(), source.read().await.map_err(failed)?);
    }
    Ok(values)
}

fn parts(
    suite: &Suite,
    case: &Case,
    approver: Box<dyn Approver>,
    values: BTreeMap<String, Secret>,
) -> Parts {
    let provider = if case.script.is_some() { "scripted" } else { "chooser" };
    let seed = fixture::seed(&suite.name, &case.id, provider, 0);
    let of_suite = SuiteShared::new(suite).with(values);
    let shared = (&Shared::default(), &of_suite);
    let (parts, _) = fixture::build(suite, case, provider, ("chat".into(), seed), shared);
    let parts = refreshing(parts, suite);
    let shown = |one: &Emission| {
        if one.surface == Surface::Progress {
            let _closed = writeln!(std::io::stderr().lock(), "  {}", printable(&one.text));
        }
    };
    Parts { approver, sinks: vec![Box::new(shown)], ..parts }
}

/// Credentials whose place gives new values are obtained anew there.
fn refreshing(parts: Parts, suite: &Suite) -> Parts {
    let Some(held) = &suite.file.credentials else { return parts };
    let (sources, now) = (held.sources(&suite.folder), wall_clock());
    let mut broker = parts.resolved.broker.clone();
    for (name, lifetime) in held.refreshed() {
        if let Some(source) = sources.get(&name) {
            broker = broker.renewed(&name, Arc::new(source.clone()), (lifetime, now));
        }
    }
    let resolved = Arc::new(Resolved { broker, ..Resolved::clone(&parts.resolved) });
    Parts { resolved, ..parts }
}

/// Success is receipted under a key of this session's own, which is left in a key store.
fn receipted(parts: Parts, folder: &Path) -> Result<Parts, CliError> {
    let failed = |why: String| CliError::Environment(format!("no key for receipts: {why}"));
    let word = || unguessable().map_err(failed);
    let (id, key) = (format!("chat-{}", &word()?[..16]), [word()?, word()?].concat());
    super::receipt::keep(folder, &id, &key).map_err(|error| failed(error.to_string()))?;
    let receipt_key = Some(ReceiptKey { id, key: Secret::new(key) });
    let resolved = Arc::new(Resolved { receipt_key, ..Resolved::clone(&parts.resolved) });
    Ok(Parts { resolved, ..parts })
}

type Opened = (Box<dyn Approver>, BoxFuture<'static, String>);

/// Opens a door, with the work that keeps it open; it ends only where that fails.
async fn door(door: Door, keys: &Typed, output: &mut Output) -> Result<Opened, CliError> {
    let pending = || Box::pin(std::future::pending()) as BoxFuture<'static, String>;
    match door {
        Door::None => Ok((Box::new(Refusing), pending())),
        Door::Terminal => {
            let who = somebody();
            let screen = Box::new(std::io::stderr());
            Ok((Box::new(Terminal::new(Arc::clone(keys), screen, who)), pending()))
        }
        Door::Http => {
            let failed = |why: String| CliError::Environment(format!("no back-channel: {why}"));
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let listener = listener.map_err(|error| failed(error.to_string()))?;
            let address = listener.local_addr().map_err(|error| failed(error.to_string()))?;
            let token = unguessable().map_err(failed)?;
            output.error(&format!(
                "approvals wait at http://{address}/approvals; every request carries\n\
                 Authorization: Bearer {token}"
            ));
            let channel = BackChannel::default();
            let served = channel.clone();
            let work = Box::pin(async move {
                let ended = served.serve(listener, Secret::new(token)).await;
                ended.map_or_else(|error| error.to_string(), |()| "nobody listens".to_owned())
            });
            Ok((Box::new(channel), work))
        }
    }
}

/// One turn for each line.
async fn talk(
    (session, suite): (&mut Session, &Suite),
    keys: &Typed,
    (place, output): (&Place, &mut Output),
) {
    output.error(&format!("{}: {HELP}", suite.name));
    if session.is_open() {
        let end = session.go_on(&mut |_| Vec::new()).await;
        output.text(&said(session, end.as_ref().map_or("nothing", TurnEnd::name)));
    }
    // Nobody talks to an agent whose record cannot be written.
    while place.holds() {
        let line = keys.lock().await.next_line().await;
        let Ok(Some(line)) = line else { return };
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match word {
            "" => continue,
            "/quit" => return,
            "/help" => output.text(HELP),
            "/tools" => output.text(&tools(suite, session)),
            "/tool-call" => output.text(&explained(session, rest.trim())),
            "/block" => output.text(&block(session, suite, rest.trim())),
            "/undo" => match session.undo(rest.trim()).await {
                Ok(end) => output.text(end.name()),
                Err(why) => output.text(&printable(&why.to_string())),
            },
            word if word.starts_with('/') => output.text(&format!("no command {word}; {HELP}")),
            _ => {
                let text = line.trim().to_owned();
                let end = session.turn(text).await;
                output.text(&said(session, end.name()));
            }
        }
    }
}

/// Whoever sits at the keyboard.
fn somebody() -> String {
    env_var("USER").unwrap_or_else(|| "somebody".to_owned())
}

/// Blocks a tool for the rest of the session; what became of it, in words.
fn block(session: &mut Session, suite: &Suite, said: &str) -> String {
    let (name, why) = said.split_once(' ').unwrap_or((said, "no reason was given"));
    let known = |tool: &&Arc<Registered>| tool.id().as_str() == name;
    let Some(tool) = suite.registry.iter().find(known) else {
        let names = suite.registry.iter().map(|tool| tool.id().as_str());
        let close = nearest(name, names).map(|close| format!("; did you mean `{close}`?"));
        return printable(&format!("no tool `{name}`{}", close.unwrap_or_default()));
    };
    match session.block(tool.id().clone(), why.trim(), &somebody()) {
        true => format!("{name} is blocked"),
        false => format!("{name} is blocked already"),
    }
}

/// The tools as the agent sees them.
fn tools(suite: &Suite, session: &Session) -> String {
    let view = suite.view_without(&session.state().blocks);
    let shown = view.exposed.iter().map(|tool| {
        format!("{} ({}, {}): {}", tool.tool_id, tool.level, tool.decision, tool.reason)
    });
    let held = view
        .withheld
        .iter()
        .map(|tool| format!("{} is withheld by {}: {}", tool.tool_id, tool.filter, tool.reason));
    shown.chain(held).collect::<Vec<_>>().join("\n")
}

/// The account of a call of this session or of its delegates; the last call where none is named.
fn explained(session: &Session, word: &str) -> String {
    let journals = [session.journal()].into_iter().chain(session.children());
    let entries: Vec<&Entry> = journals.flat_map(Journal::entries).collect();
    let known = Known::of(entries.iter().copied());
    let own = session.journal().entries().first().map_or("", |entry| &*entry.session);
    let found = match word {
        "" => {
            let last = known.calls().iter().rfind(|found| found.session == own);
            last.copied().ok_or(NotFound::Empty)
        }
        word => known.find(word, None),
    };
    let found = match found {
        Ok(found) => found,
        Err(why) => return printable(&why.to_string()),
    };
    let of = entries.into_iter().filter(|entry| *entry.session == *found.session);
    account(of, found.call).map(|account| report::text(&account)).unwrap_or_default()
}

/// The model's last word; how the turn ended where it had none.
fn said(session: &Session, end: &str) -> String {
    let last = session.transcript().messages().last();
    match last {
        Some(Message::Assistant { text, calls }) if calls.is_empty() && !text.is_empty() => {
            text.lines().map(printable).collect::<Vec<_>>().join("\n")
        }
        _ => format!("[{end}]"),
    }
}
