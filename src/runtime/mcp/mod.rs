//! Model Context Protocol servers: their tools listed and called, over stdio or streamable HTTP,
//! through the official SDK. A protocol, not a boundary: nothing here decides what may be called.
//!
//! A server that is started runs in a process group of its own, and the whole group is torn down
//! again. What a server sends passes through a filter first, so that descriptors and results reach
//! the caller exactly as they were sent: one malformed tool neither fails the listing nor costs
//! another tool a field.
//!
//! Unix only: the teardown relies on process groups and signals.

mod boxed;
mod connect;
mod filter;
mod http;
mod link;
mod list;
mod offered;
mod servers;
mod wire;

#[cfg(test)]
mod connect_tests;
#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod list_bad_tests;
#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod offered_tests;
#[cfg(test)]
mod test_server;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

pub use boxed::Boxed;
pub use connect::{INHERITED, parse_command};
pub use filter::{Allows, MAX_LINE_BYTES, MAX_LISTING_BYTES};
pub use http::Address;
pub use link::{Link, Patience, Transport};
pub use list::{MAX_PAGES, MAX_TOOLS, list_by, list_tools};
pub use offered::{Candidate, Candidates, Kind, MAX_CANDIDATES, Untrusted};
pub use servers::{McpServer, Servers, WORKSPACE, parse_server};

/// How to start a stdio server.
///
/// Of the environment of the calling process the server gets the variables of [`INHERITED`] alone,
/// because the rest often holds credentials; `env` is added on top of them, the last value of a
/// repeated name winning. The `Debug` form names the variables but hides their values.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// Program, looked up in `PATH` when it contains no slash.
    pub program: String,
    /// Arguments, passed as they are: no shell sees them.
    pub args: Vec<String>,
    /// Extra environment, for example `("TZ", "UTC")`.
    pub env: Vec<(String, String)>,
    /// Working folder; the caller's when absent. Give `program` as an absolute path or a bare
    /// name when this is set: what a relative path is relative to differs between systems.
    pub cwd: Option<PathBuf>,
}

impl fmt::Debug for Launch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env_names", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// How long each part of a listing may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From the start of the process to the answer to `initialize`. Default 60 s: a launcher such
    /// as `npx` may download the server first.
    pub start: Duration,
    /// For each page of `tools/list`. Default 30 s.
    pub request: Duration,
    /// For the server to go once its input is closed. A third of it passes before the group is
    /// asked to terminate, all of it before the group is killed. Default 3 s.
    pub stop: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            request: Duration::from_secs(30),
            stop: Duration::from_secs(3),
        }
    }
}

/// Everything a server told about itself and its tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// `serverInfo.name`, empty when the server gave none.
    pub server_name: String,
    /// `serverInfo.version`, empty when the server gave none.
    pub server_version: String,
    /// Protocol revision the server answered with, known or not.
    pub protocol_version: String,
    /// The server's instructions to its clients.
    pub instructions: Option<String>,
    /// Every element of every `tools` array, as sent and in the order sent. An element need not be
    /// an object, let alone a valid tool. The order of the keys inside an object is that of
    /// `serde_json`'s map.
    pub tools: Vec<Value>,
    /// The first 20 lines on standard output that were no JSON-RPC messages, each cut at 200
    /// characters.
    pub noise: Vec<String>,
    /// How many such lines there were.
    pub noise_lines: usize,
    /// The last 4 KiB of standard error, invalid UTF-8 replaced.
    pub stderr_tail: String,
    /// Pages fetched; 0 when the server offers no tools.
    pub pages: usize,
}

/// What the client was doing when something went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Starting the process and waiting for the answer to `initialize`.
    #[default]
    Start,
    /// Waiting for this page of `tools/list`; the first is 1.
    Page(usize),
    /// Waiting for the answer to a call.
    Call,
    /// Waiting for the answer to this method, which is about something beside tools.
    Beside(&'static str),
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => out.write_str("initialize"),
            Self::Page(1) => out.write_str("tools/list"),
            Self::Call => out.write_str("tools/call"),
            Self::Beside(method) => out.write_str(method),
            Self::Page(page) => write!(out, "tools/list (page {page})"),
        }
    }
}

/// Why a server could not be listed, or its command line not read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum McpError {
    /// The command line is not one plain command.
    #[error("cannot read the command line at byte {at}: {reason}")]
    Command {
        /// What is wrong with it.
        reason: String,
        /// Byte offset in the text given.
        at: usize,
    },
    /// The process could not be started, or the address cannot be one.
    #[error("cannot start `{program}`: {reason}")]
    Spawn {
        /// The program, or the address, asked for.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// The process ended before it had answered.
    #[error("server ended during {phase} with {status}{}", Tail(stderr))]
    Exited {
        /// What it was asked last.
        phase: Phase,
        /// Such as `exit code 1` or `signal 9`.
        status: String,
        /// End of its standard error.
        stderr: String,
    },
    /// No answer came in time.
    #[error("no answer to {phase} within {after:?}{}{}", Hint(hint), Tail(stderr))]
    Timeout {
        /// What it was asked.
        phase: Phase,
        /// The deadline that passed.
        after: Duration,
        /// What came instead of the answer, where anything did.
        hint: Option<String>,
        /// End of its standard error.
        stderr: String,
    },
    /// The server sent something that is no valid answer, or closed its output.
    #[error("server broke the protocol during {phase}: {reason}{}", Tail(stderr))]
    Protocol {
        /// What it was asked.
        phase: Phase,
        /// What it did.
        reason: String,
        /// End of its standard error.
        stderr: String,
    },
    /// The server answered with a JSON-RPC error.
    #[error("server refused {phase}: {message} (code {code}){}", Tail(stderr))]
    Refused {
        /// What it was asked.
        phase: Phase,
        /// JSON-RPC error code, 0 when the server gave none.
        code: i32,
        /// The server's message.
        message: String,
        /// End of its standard error.
        stderr: String,
    },
    /// A page's cursor had already been used, so the listing would never end.
    #[error("tools/list never ends: cursor {cursor:?} was given twice")]
    PageLoop {
        /// The repeated cursor, cut at 200 characters.
        cursor: String,
    },
    /// The call was to end, and the server was told so.
    #[error("the call was stopped")]
    Stopped,
    /// More tools than any server has reason to offer.
    #[error("server lists more than {limit} tools")]
    TooManyTools {
        /// The limit, [`MAX_TOOLS`].
        limit: usize,
    },
    /// More pages than any server has reason to send.
    #[error("tools/list has more than {limit} pages")]
    TooManyPages {
        /// The limit, [`MAX_PAGES`].
        limit: usize,
    },
}

/// Shows the last lines of a server's standard error after a message, or nothing.
struct Tail<'a>(&'a str);

impl fmt::Display for Tail<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.trim();
        if text.is_empty() {
            return Ok(());
        }
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        out.write_str("; stderr ends: ")?;
        for (index, line) in lines.iter().rev().enumerate() {
            let gap = if index == 0 { "" } else { " | " };
            write!(out, "{gap}{}", line.trim())?;
        }
        Ok(())
    }
}

/// Shows a hint after a message, or nothing.
struct Hint<'a>(&'a Option<String>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(hint) => write!(out, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// `text` cut at `limit` characters, an ellipsis marking the cut.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
