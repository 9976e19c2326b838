//! Every tool of a server, all pages.

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::model::PaginatedRequestParams;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::connect::lock;
use super::filter::{Allows, Ledger};
use super::link::{Failure, Link, Transport, request_failure};
use super::{Deadlines, Launch, Listing, McpError, Phase, cut};

/// Most tools a server may list.
pub const MAX_TOOLS: usize = 10_000;
/// Most pages a listing may have.
pub const MAX_PAGES: usize = 1_000;
/// How long a server that declares no tools may take to say so again.
const UNDECLARED: Duration = Duration::from_secs(5);

/// Lists every tool of a server that is started for it.
///
/// The client declares no capabilities, yet answers `ping` and `roots/list` (no roots) and refuses
/// every other request of the server without failing.
///
/// Whatever happens, the server's process group is gone when this returns. It gets to see its
/// input closed, then SIGTERM, then SIGKILL. If the future is dropped the group is killed at once.
/// A process that left the group (`setsid`) is not found.
///
/// # Errors
/// [`McpError`], within `deadlines.start + deadlines.request + deadlines.stop` and about a second
/// for a server that stops answering; a server that answers slowly takes up to `deadlines.request`
/// for each page.
///
/// # Panics
/// As any use of `tokio`: outside a runtime with input, output and time enabled.
pub async fn list_tools(launch: &Launch, deadlines: &Deadlines) -> Result<Listing, McpError> {
    list_by(&Transport::Stdio(launch.clone()), Allows::default(), deadlines).await
}

/// Lists every tool of a server, however it is reached. Some servers offer more to a client that
/// may be asked for more.
///
/// # Errors
/// As [`list_tools`].
pub async fn list_by(
    transport: &Transport,
    allows: Allows,
    deadlines: &Deadlines,
) -> Result<Listing, McpError> {
    Link::open(transport, allows, deadlines).await?.list(deadlines.request).await
}

type Outcome = Result<(Vec<Value>, usize), Failure>;

impl Link {
    /// Lists every tool, as sent and in the order sent.
    ///
    /// # Errors
    /// What the server did wrong. The link is of no use then.
    pub async fn tools(&self, deadline: Duration) -> Result<Vec<Value>, McpError> {
        match self.pages(deadline).await {
            Ok((tools, _)) => Ok(tools),
            Err(failure) => Err(self.explain(failure).await),
        }
    }

    /// Lists every tool and ends the link.
    ///
    /// # Errors
    /// As [`Link::tools`].
    pub async fn list(self, deadline: Duration) -> Result<Listing, McpError> {
        match self.pages(deadline).await {
            Ok((tools, pages)) => {
                let shared = self.shared().clone();
                let stderr = self.close().await;
                Ok(listing(&lock(&shared), (tools, pages), stderr))
            }
            Err(failure) => Err(self.fail(failure).await),
        }
    }

    async fn pages(&self, deadline: Duration) -> Outcome {
        self.until_gone(self.list_pages(deadline)).await
    }

    async fn list_pages(&self, deadline: Duration) -> Outcome {
        let declared = declares_tools(&lock(self.shared()));
        lock(self.shared()).begin_listing();
        let mut tools = Vec::new();
        let mut seen = BTreeSet::new();
        let mut cursor: Option<String> = None;
        for page in 1..=MAX_PAGES {
            lock(self.shared()).phase = Phase::Page(page);
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let answer = if declared {
                self.fetch_page(params, deadline).await?
            } else {
                // Some servers forget to declare the tools they have, so it is worth asking.
                match self.fetch_page(params, deadline.min(UNDECLARED)).await {
                    Err(Failure::Refused(_) | Failure::Timeout(_)) if page == 1 => {
                        return Ok((Vec::new(), 0));
                    }
                    answer => answer?,
                }
            };
            let (page_tools, next) = open_page(answer)?;
            tools.extend(page_tools);
            if tools.len() > MAX_TOOLS {
                return Err(Failure::TooManyTools);
            }
            let Some(next) = next else { return Ok((tools, page)) };
            if !seen.insert(next.clone()) {
                return Err(Failure::PageLoop(cut(&next, 200)));
            }
            cursor = Some(next);
        }
        Err(Failure::TooManyPages)
    }

    async fn fetch_page(
        &self,
        params: PaginatedRequestParams,
        deadline: Duration,
    ) -> Result<Map<String, Value>, Failure> {
        match timeout(deadline, self.service().peer().list_tools(Some(params))).await {
            Err(_) => Err(Failure::Timeout(deadline)),
            Ok(Err(error)) => Err(request_failure(error)),
            Ok(Ok(_)) => {
                let page = lock(self.shared()).page.take();
                page.ok_or_else(|| Failure::Other("an answer to tools/list went missing".into()))
            }
        }
    }
}

/// Takes a page apart: its tools and the cursor of the next page.
fn open_page(mut page: Map<String, Value>) -> Result<(Vec<Value>, Option<String>), Failure> {
    let Some(Value::Array(tools)) = page.remove("tools") else {
        return Err(Failure::Other("a page has no tools array".into()));
    };
    match page.remove("nextCursor") {
        None | Some(Value::Null) => Ok((tools, None)),
        // Some servers mark the last page this way.
        Some(Value::String(cursor)) if cursor.is_empty() => Ok((tools, None)),
        Some(Value::String(cursor)) => Ok((tools, Some(cursor))),
        Some(other) => {
            let text = cut(&other.to_string(), 200);
            Err(Failure::Other(format!("nextCursor is no string but {text}")))
        }
    }
}

fn declares_tools(ledger: &Ledger) -> bool {
    let tools = ledger.welcome.as_ref().and_then(|welcome| welcome.pointer("/capabilities/tools"));
    !matches!(tools, None | Some(Value::Null | Value::Bool(false)))
}

fn listing(ledger: &Ledger, (tools, pages): (Vec<Value>, usize), stderr: String) -> Listing {
    let text = |path: &str| {
        let value = ledger.welcome.as_ref().and_then(|welcome| welcome.pointer(path));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    Listing {
        server_name: text("/serverInfo/name").unwrap_or_default(),
        server_version: text("/serverInfo/version").unwrap_or_default(),
        protocol_version: text("/protocolVersion").unwrap_or_default(),
        instructions: text("/instructions"),
        tools,
        noise: ledger.noise.clone(),
        noise_lines: ledger.noise_lines,
        stderr_tail: stderr,
        pages,
    }
}
