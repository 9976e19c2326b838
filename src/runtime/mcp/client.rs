//! The conversation with a server: the SDK on one side, pipes and a filter on the other.

use std::collections::BTreeSet;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, PaginatedRequestParams,
    ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
    ServiceError,
};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connect::{Server, lock};
use super::filter::{Filter, Ledger, MAX_LINE_BYTES};
use super::{Deadlines, Launch, Listing, McpError, Phase, cut};

/// Most tools a server may list.
pub const MAX_TOOLS: usize = 10_000;
/// Most pages a listing may have.
pub const MAX_PAGES: usize = 1_000;
/// How long answers may still arrive once the server's process has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a server that declares no tools may take to say so again.
const UNDECLARED: Duration = Duration::from_secs(5);

type Shared = Arc<Mutex<Ledger>>;

/// Lists every tool of a server, all pages.
///
/// The ordinary `initialize` handshake is used, with the latest revision that has one, and not the
/// SDK's probe for later revisions: against a server that ignores unknown requests, as most in use
/// do, the probe costs its full ten seconds, and later revisions list the same tools either way.
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
    let (server, stdin, stdout) = Server::spawn(launch)?;
    let shared = Shared::default();
    let (wire, pump) = wire(stdin, stdout, &shared);
    let outcome = watch(&server, exchange(wire, &shared, deadlines)).await;
    let status = match &outcome {
        Err(Failure::Closed) if lock(&shared).fault.is_none() => {
            // The output closes a little before the process can be seen to have ended.
            timeout(DRAIN, server.exited()).await.ok()
        }
        _ => None,
    };
    drop(pump);
    let stderr = server.stop(deadlines.stop).await;
    let ledger = lock(&shared);
    match outcome {
        Ok((tools, pages)) => Ok(listing(&ledger, (tools, pages), stderr)),
        Err(failure) => Err(explain(failure, status, &ledger, stderr)),
    }
}

/// Why the conversation ended early.
#[derive(Debug)]
enum Failure {
    /// The server closed its output, or has ended.
    Closed,
    Timeout(Duration),
    Refused(ErrorData),
    Other(String),
    PageLoop(String),
    TooManyTools,
    TooManyPages,
}

type Outcome = Result<(Vec<Value>, usize), Failure>;

/// Runs the conversation, but not for long once the server has ended: another process may hold
/// its output open.
async fn watch(server: &Server, conversation: impl Future<Output = Outcome>) -> Outcome {
    let mut conversation = pin!(conversation);
    tokio::select! {
        outcome = &mut conversation => outcome,
        _ = server.exited() => {
            timeout(DRAIN, conversation).await.unwrap_or(Err(Failure::Closed))
        }
    }
}

async fn exchange(wire: (Reader, Writer), shared: &Shared, deadlines: &Deadlines) -> Outcome {
    let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let config = ClientConfig::new(ClientCapabilities::default(), client)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let start = config.serve_with_lifecycle(wire, ClientLifecycleMode::Initialize);
    let mut service = match timeout(deadlines.start, start).await {
        Ok(started) => started.map_err(start_failure)?,
        Err(_) => return Err(Failure::Timeout(deadlines.start)),
    };
    let outcome = list_pages(&service, shared, deadlines.request).await;
    // Only to let the SDK's task end in good order; its pipes go with the pump in any case.
    let _ = service.close_with_timeout(Duration::from_millis(100)).await;
    outcome
}

async fn list_pages(
    service: &RunningService<RoleClient, ClientConfig>,
    shared: &Shared,
    deadline: Duration,
) -> Outcome {
    let declared = declares_tools(&lock(shared));
    let mut tools = Vec::new();
    let mut seen = BTreeSet::new();
    let mut cursor: Option<String> = None;
    for page in 1..=MAX_PAGES {
        lock(shared).phase = Phase::Page(page);
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let answer = if declared {
            fetch_page(service, shared, params, deadline).await?
        } else {
            // Some servers forget to declare the tools they have, so it is worth asking.
            match fetch_page(service, shared, params, deadline.min(UNDECLARED)).await {
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
    service: &RunningService<RoleClient, ClientConfig>,
    shared: &Shared,
    params: PaginatedRequestParams,
    deadline: Duration,
) -> Result<Map<String, Value>, Failure> {
    match timeout(deadline, service.peer().list_tools(Some(params))).await {
        Err(_) => Err(Failure::Timeout(deadline)),
        Ok(Err(error)) => Err(request_failure(error)),
        Ok(Ok(_)) => {
            let page = lock(shared).page.take();
            page.ok_or_else(|| Failure::Other("an answer to tools/list went missing".into()))
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

fn start_failure(error: ClientInitializeError) -> Failure {
    match error {
        ClientInitializeError::JsonRpcError(error) => Failure::Refused(error),
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. }
        | ClientInitializeError::Cancelled => Failure::Closed,
        other => Failure::Other(cut(&other.to_string(), 500)),
    }
}

fn request_failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) => Failure::Refused(error),
        ServiceError::TransportClosed
        | ServiceError::TransportSend(_)
        | ServiceError::Cancelled { .. } => Failure::Closed,
        other => Failure::Other(cut(&other.to_string(), 500)),
    }
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

fn explain(failure: Failure, status: Option<String>, ledger: &Ledger, stderr: String) -> McpError {
    let phase = ledger.phase;
    if let Some(reason) = ledger.fault.clone() {
        return McpError::Protocol { phase, reason, stderr };
    }
    match failure {
        Failure::Closed => match status {
            Some(status) => McpError::Exited { phase, status, stderr },
            None => {
                let reason = "it closed its output but went on running".to_owned();
                McpError::Protocol { phase, reason, stderr }
            }
        },
        Failure::Timeout(after) => McpError::Timeout { phase, after, hint: ledger.hint(), stderr },
        Failure::Refused(error) => {
            let message = error.message.into_owned();
            McpError::Refused { phase, code: error.code.0, message, stderr }
        }
        Failure::Other(reason) => McpError::Protocol { phase, reason, stderr },
        Failure::PageLoop(cursor) => McpError::PageLoop { cursor },
        Failure::TooManyTools => McpError::TooManyTools { limit: MAX_TOOLS },
        Failure::TooManyPages => McpError::TooManyPages { limit: MAX_PAGES },
    }
}

/// Puts the filter and the pump between the SDK and the server's pipes.
fn wire(stdin: ChildStdin, stdout: ChildStdout, shared: &Shared) -> ((Reader, Writer), Pump) {
    let (lines, queue) = unbounded_channel();
    let pump = Pump(tokio::spawn(pump(queue, stdin)));
    let reader = Reader {
        stdout,
        filter: Filter::new(MAX_LINE_BYTES),
        shared: Arc::clone(shared),
        replies: lines.clone(),
        sent: 0,
        ended: false,
    };
    let writer = Writer { line: Vec::new(), shared: Arc::clone(shared), lines };
    ((reader, writer), pump)
}

/// Writes the SDK's lines and the filter's replies to the server. Closes the server's input when
/// nobody is left to write.
async fn pump(mut queue: UnboundedReceiver<Vec<u8>>, mut stdin: ChildStdin) {
    while let Some(line) = queue.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
}

/// The task that owns the server's standard input; ends it, and so closes it, when dropped.
struct Pump(JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The SDK's view of the server's standard output.
struct Reader {
    stdout: ChildStdout,
    filter: Filter,
    shared: Shared,
    replies: UnboundedSender<Vec<u8>>,
    /// How much of `filter.forward` the SDK has.
    sent: usize,
    ended: bool,
}

impl Reader {
    /// Gives the SDK what is ready for it; `false` when nothing is.
    fn give(&mut self, out: &mut ReadBuf<'_>) -> bool {
        let ready = self.filter.forward.get(self.sent..).unwrap_or_default();
        let part = ready.get(..out.remaining()).unwrap_or(ready);
        out.put_slice(part);
        self.sent += part.len();
        let given = !part.is_empty();
        if self.sent >= self.filter.forward.len() {
            self.filter.forward.clear();
            self.sent = 0;
        }
        given
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut chunk = [0; 16 << 10];
        loop {
            if this.give(out) || this.ended {
                return Poll::Ready(Ok(()));
            }
            if lock(&this.shared).fault.is_some() {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            let mut buffer = ReadBuf::new(&mut chunk);
            // Pending from time to time even when there is always more, by tokio's budget.
            ready!(Pin::new(&mut this.stdout).poll_read(context, &mut buffer))?;
            let mut ledger = lock(&this.shared);
            if buffer.filled().is_empty() {
                this.ended = true;
                this.filter.finish(&mut ledger);
            } else {
                this.filter.push(buffer.filled(), &mut ledger);
            }
            drop(ledger);
            let replies = std::mem::take(&mut this.filter.replies);
            if !replies.is_empty() {
                // Fails only when the server no longer reads, which shows elsewhere.
                let _ = this.replies.send(replies);
            }
        }
    }
}

/// The SDK's view of the server's standard input.
struct Writer {
    line: Vec<u8>,
    shared: Shared,
    lines: UnboundedSender<Vec<u8>>,
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            this.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut this.line);
                lock(&this.shared).asked(&line);
                if this.lines.send(line).is_err() {
                    return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                }
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
