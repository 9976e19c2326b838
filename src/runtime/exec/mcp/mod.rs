//! Tools of MCP servers. A call goes to its server once, and only where the server still offers
//! the very tool that was registered: what a server says a tool is cannot be changed behind the
//! back of whoever reviewed it.

mod content;
mod links;

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Notify;

pub use links::Links;
use links::NoTool;

use super::ran::Ran;
use super::ready::Ready;
use super::workspace::Workspace;
use super::{Ended, lock};
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;
use crate::runtime::credential::Broker;
use crate::runtime::mcp::{McpError, Patience};

/// How many times its deadline a call may take in all while it makes progress.
const PROGRESSING: u32 = 10;

/// Calls a tool of a server, or until `stop` says that it must go; then the server is told.
pub async fn run(
    ready: &Ready,
    links: &Links,
    workspace: &Mutex<Workspace>,
    broker: &Broker,
    stop: &Notify,
) -> Ended {
    let plan = ready.plan();
    let tool = &ready.permitted().validated().resolved().tool().descriptor;
    let root = match lock(workspace).root() {
        Ok(root) => root,
        Err(error) => return failed(Blame::Environment, error.code(), error.to_string()),
    };
    let link = tokio::select! {
        biased;
        () = stop.notified() => return Ended::TornDown("nothing had been sent to its server"),
        link = links.to(tool, plan.confined.as_ref(), (&root, broker)) => link,
    };
    let link = match link {
        Ok(link) => link,
        Err(why) => return refused(why),
    };
    let args = match ready.args() {
        Value::Object(args) => args.clone(),
        _ => Map::new(),
    };
    let idle = Duration::from_millis(plan.timeout_ms);
    let patience = Patience { idle, total: idle.saturating_mul(PROGRESSING) };
    let name = tool.canonical_name.as_deref().unwrap_or(tool.tool_id.as_str());
    match link.call(name, args, patience, stop).await {
        Ok(result) => {
            let limit = plan.max_output_bytes;
            Ended::Ran(Box::new(content::read(result, limit, broker.secrets(), unseen())))
        }
        Err(McpError::Stopped) => Ended::TornDown("its server was told to stop"),
        Err(error) => {
            let (blame, code) = kind(&error);
            failed(blame, code, broker.secrets().scrub(&error.to_string()).into_owned())
        }
    }
}

/// Nothing was sent.
fn refused(why: NoTool) -> Ended {
    let (blame, code, message) = match why {
        NoTool::Unknown => {
            (Blame::Environment, "no_server", "its server is not known here".to_owned())
        }
        NoTool::Gone => {
            (Blame::Environment, "tool_gone", "its server does not offer it any more".to_owned())
        }
        NoTool::Changed { registered, now } => {
            let message = format!(
                "nothing was sent: its server says now that it is something else than what was \
                 registered ({now} instead of {registered}); review it and register it again"
            );
            (Blame::Environment, "definition_changed", message)
        }
        NoTool::Server(error) => {
            let message = format!("its server cannot be reached: {error}");
            (Blame::Environment, kind(&error).1, message)
        }
    };
    failed(blame, code, message)
}

/// Whose fault it is, and its code: a word of the tool's, or something below it.
fn kind(error: &McpError) -> (Blame, &'static str) {
    match error {
        McpError::Refused { .. } => (Blame::Tool, "rpc_error"),
        McpError::Timeout { .. } => (Blame::Tool, "timeout"),
        McpError::Exited { .. } => (Blame::Tool, "server_ended"),
        McpError::Protocol { .. } => (Blame::Tool, "protocol"),
        McpError::Stopped => (Blame::Environment, "stopped"),
        McpError::Spawn { .. } | McpError::Command { .. } => (Blame::Environment, "spawn"),
        McpError::PageLoop { .. }
        | McpError::TooManyTools { .. }
        | McpError::TooManyPages { .. } => (Blame::Tool, "listing"),
    }
}

fn failed(blame: Blame, code: &str, message: String) -> Ended {
    Ended::Ran(Box::new(Ran { effects: unseen(), ..Ran::failed(blame, code, message) }))
}

/// Nobody here sees what a server does.
fn unseen() -> ObservedEffects {
    ObservedEffects { method: "unknown".to_owned(), ..ObservedEffects::default() }
}
