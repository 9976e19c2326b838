//! What happens: an adapter runs a ready call and says what it saw.

pub mod builtin;
pub mod command;
pub mod delegate;
pub mod http;
pub mod mcp;
mod parsed;
pub mod ran;
pub mod ready;
pub mod rehearsal;
pub mod search;
pub mod seen;
pub mod simulated;
pub mod workspace;

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub use delegate::{Delegate, DelegateRequest, DelegateResult};
pub use ran::{Attachment, PreImage, Ran};
pub use ready::Ready;
pub use rehearsal::{Rehearsal, Rehearsed};
pub use simulated::Acts;
pub use workspace::Workspace;

use super::credential::{Broker, Fresh};
use super::sandbox::adapter::{Adapter, Builtin};
use crate::base::caught::caught;
use crate::base::digest::{Digest, Hasher};
use crate::base::world::Millis;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;

/// How an execution ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself.
    Ran(Box<Ran>),
    /// It was torn down, and everything of it is gone.
    TornDown(&'static str),
}

/// What a session has for the calls in it.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// Where file tools act.
    pub workspace: &'a Mutex<Workspace>,
    /// What simulated tools still have to play.
    pub acts: &'a Acts,
    /// Credentials.
    pub broker: &'a Broker,
    /// The links to MCP servers.
    pub links: &'a mcp::Links,
    /// The present time.
    pub now: Millis,
}

/// Runs one call to its end, or until `stop` says that it must go. A panic of a tool is that call's
/// failure.
pub async fn run(ready: &Ready, around: Around<'_>, stop: &Notify) -> Ended {
    let Around { workspace, acts, broker, links, now } = around;
    let tool = &ready.permitted().validated().resolved().tool().descriptor;
    let fresh = tokio::select! {
        biased;
        // Ready at once where nothing is to be obtained: then whoever runs it hears of a stop.
        fresh = broker.fresh(tool, now) => fresh,
        () = stop.notified() => return Ended::TornDown("it was stopped before it started"),
    };
    let Fresh { in_use, obtained } = match fresh {
        Ok(fresh) => fresh,
        Err(why) => {
            let effects = ObservedEffects { method: "none".to_owned(), ..Default::default() };
            let failed = Ran::failed(Blame::Operator, "reauthorize", why.to_string());
            return Ended::Ran(Box::new(Ran { effects, ..failed }));
        }
    };
    let work = async {
        match ready.plan().adapter {
            Adapter::Simulated => simulated::run(ready, broker, acts, stop).await,
            Adapter::Cli | Adapter::Builtin(Builtin::CommandRun | Builtin::Shell) => {
                command::run(ready, workspace, broker, stop).await
            }
            Adapter::Mcp => mcp::run(ready, links, workspace, broker, stop).await,
            Adapter::Http => http::run(ready, broker, stop).await,
            Adapter::Builtin(builtin) => {
                Ended::Ran(Box::new(builtin::run(builtin, ready, &mut lock(workspace))))
            }
        }
    };
    let ended = caught(work).await.unwrap_or_else(|said| {
        let effects = ObservedEffects { method: "unknown".to_owned(), ..Default::default() };
        Ended::Ran(Box::new(Ran { effects, ..Ran::failed(Blame::Tool, "panic", said) }))
    });
    match ended {
        Ended::Ran(ran) => {
            if ran.unauthorized {
                in_use.refused();
            }
            Ended::Ran(Box::new(Ran { obtained, ..*ran }))
        }
        torn @ Ended::TornDown(_) => torn,
    }
}

/// A tool that panicked while it held the workspace left it as it was on disk.
pub(crate) fn lock(workspace: &Mutex<Workspace>) -> MutexGuard<'_, Workspace> {
    workspace.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Digest of the files of the workspace that a call would run or change; `None` when none of the
/// names is a file there.
pub fn operand(files: &[String], workspace: &Mutex<Workspace>) -> Option<Digest> {
    let mut workspace = lock(workspace);
    let read = files.iter().filter_map(|name| Some((name.as_str(), workspace.read(name).ok()?)));
    operand_of(read)
}

/// Digest of files by name and content; `None` for none.
pub fn operand_of<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Option<Digest> {
    let mut hasher = Hasher::new("operand");
    let mut found = false;
    for (name, content) in files {
        found = true;
        hasher = hasher.field(name.as_bytes()).field(content.as_bytes());
    }
    found.then(|| hasher.finish())
}
