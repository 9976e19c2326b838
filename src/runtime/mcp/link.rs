//! A connection to a server that stays open: its tools are listed, and called.
//!
//! Whatever a server sends, a link gives it back raw; the SDK decides when an answer is one. A call
//! is sent once. Where the connection breaks while it runs, nothing is sent again: nobody knows
//! what the server did.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientRequest, ElicitationCapability, ErrorData, FormElicitationCapability,
    Implementation, ProtocolVersion, RequestId,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
    RoleClient, RunningService, ServiceError,
};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::boxed::Boxed;
use super::connect::{Server, lock};
use super::filter::{Allows, Ledger, key_of};
use super::http::{Address, Web};
use super::wire::{Input, Output, Pump, Shared, wire};
use super::{Deadlines, Launch, McpError, Phase, cut};

/// How long answers may still arrive once the server's process has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// How long telling a server something that it does not answer may take.
const TELLING: Duration = Duration::from_millis(500);

pub(super) type Service = RunningService<RoleClient, ClientConfig>;

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// It is started, and spoken to through its input and output.
    Stdio(Launch),
    /// It runs somewhere, and is spoken to over streamable HTTP.
    Http(Address),
}

impl Transport {
    /// The command line, or the address.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Stdio(launch) => {
                std::iter::once(&launch.program).chain(&launch.args).cloned().collect()
            }
            Self::Http(address) => vec![address.url.clone()],
        }
    }
}

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Without a sign of life; progress that grows is one.
    pub idle: Duration,
    /// In all, whatever progress is made.
    pub total: Duration,
}

/// A connection. Dropping it kills a server that was started for it; [`Link::close`] asks first.
#[derive(Debug)]
pub struct Link {
    service: Service,
    shared: Shared,
    end: End,
    stop: Duration,
}

/// What is at the other end.
#[derive(Debug)]
enum End {
    Started(Process, Pump),
    Away,
}

/// What a server reads, and what it writes.
pub(super) type Streams = (Input, Output);

/// A server that was started, confined by the kernel or not.
#[derive(Debug)]
enum Process {
    Plain(Server),
    Boxed(Box<Boxed>),
}

impl Process {
    fn exit_status(&self) -> Option<String> {
        match self {
            Self::Plain(server) => server.exit_status(),
            Self::Boxed(server) => server.exit_status(),
        }
    }

    async fn exited(&self) -> String {
        match self {
            Self::Plain(server) => server.exited().await,
            Self::Boxed(server) => server.exited().await,
        }
    }

    fn stderr(&self) -> String {
        match self {
            Self::Plain(server) => server.stderr(),
            Self::Boxed(server) => server.stderr(),
        }
    }

    async fn stop(self, deadline: Duration) -> String {
        match self {
            Self::Plain(server) => server.stop(deadline).await,
            Self::Boxed(server) => server.stop(deadline).await,
        }
    }
}

/// Why a conversation ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server closed its output, or has ended.
    Closed,
    Timeout(Duration),
    Refused(ErrorData),
    Other(String),
    PageLoop(String),
    TooManyTools,
    TooManyPages,
    /// Nobody waits for it any more.
    Stopped,
}

impl Link {
    /// Connects: the ordinary `initialize` handshake, with the latest revision that has one, and
    /// not the SDK's probe for later revisions: against a server that ignores unknown requests, as
    /// most in use do, the probe costs its full ten seconds.
    ///
    /// # Errors
    /// [`McpError`], within `deadlines.start` and `deadlines.stop`.
    ///
    /// # Panics
    /// As any use of `tokio`: outside a runtime with input, output and time enabled.
    pub async fn open(
        transport: &Transport,
        allows: Allows,
        deadlines: &Deadlines,
    ) -> Result<Self, McpError> {
        let shared: Shared = Arc::new(std::sync::Mutex::new(Ledger::allowing(allows)));
        let config = config(allows);
        match transport {
            Transport::Stdio(launch) => {
                let (server, stdin, stdout) = Server::spawn(launch)?;
                let streams: Streams = (Box::new(stdin), Box::new(stdout));
                Self::over(Process::Plain(server), streams, shared, (config, deadlines)).await
            }
            Transport::Http(address) => {
                let web = Web::new(address, &shared)?;
                let start =
                    config.serve_with_lifecycle(web.transport(), ClientLifecycleMode::Initialize);
                match started_by(Ok(timeout(deadlines.start, start).await), deadlines.start) {
                    Ok(service) => {
                        Ok(Self { service, shared, end: End::Away, stop: deadlines.stop })
                    }
                    Err(failure) => Err(explain(failure, None, &lock(&shared), String::new())),
                }
            }
        }
    }

    /// Connects to a server that was started in a sandbox.
    ///
    /// # Errors
    /// As [`Link::open`], or why it could not be started.
    pub async fn open_boxed(
        started: Result<Boxed, McpError>,
        allows: Allows,
        deadlines: &Deadlines,
    ) -> Result<Self, McpError> {
        let mut server = started?;
        let shared: Shared = Arc::new(std::sync::Mutex::new(Ledger::allowing(allows)));
        let streams = server.streams()?;
        let process = Process::Boxed(Box::new(server));
        Self::over(process, streams, shared, (config(allows), deadlines)).await
    }

    /// The handshake over a process's two streams.
    async fn over(
        process: Process,
        (stdin, stdout): Streams,
        shared: Shared,
        (config, deadlines): (ClientConfig, &Deadlines),
    ) -> Result<Self, McpError> {
        let (wire, pump) = wire(stdin, stdout, &shared);
        let start = config.serve_with_lifecycle(wire, ClientLifecycleMode::Initialize);
        let started = timeout(deadlines.start, start);
        let started = started_by(until_gone(&process, started).await, deadlines.start);
        let end = End::Started(process, pump);
        match started {
            Ok(service) => Ok(Self { service, shared, end, stop: deadlines.stop }),
            Err(failure) => Err(give_up(end, &shared, failure, deadlines.stop).await),
        }
    }

    /// Calls a tool and gives the raw result. The server is told of a call that `stop` ends, and of
    /// one that takes too long.
    ///
    /// # Errors
    /// [`McpError::Stopped`] where `stop` ended it; what else went wrong. After a refusal, a
    /// timeout and a stop the link is as good as before.
    pub async fn call(
        &self,
        name: &str,
        args: Map<String, Value>,
        patience: Patience,
        stop: &Notify,
    ) -> Result<Map<String, Value>, McpError> {
        lock(&self.shared).phase = Phase::Call;
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(args);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut options = PeerRequestOptions::with_timeout(patience.idle);
        options.reset_timeout_on_progress = true;
        options.max_total_timeout = Some(patience.total);
        let sent = self.service.peer().send_cancellable_request(request, options);
        let mut id = None;
        let conversation = async {
            let handle = sent.await.map_err(request_failure)?;
            id = Some(handle.id.clone());
            handle.await_response().await.map_err(request_failure)
        };
        let answer = tokio::select! {
            biased;
            answer = self.until_gone(conversation) => answer,
            () = stop.notified() => Err(Failure::Stopped),
        };
        let key = id.as_ref().and_then(key_of);
        match answer {
            Ok(_) => {
                let result = key.and_then(|key| lock(&self.shared).results.remove(&key));
                match result {
                    Some(result) => Ok(result),
                    None => {
                        let why = "an answer to tools/call went missing".to_owned();
                        Err(self.explain(Failure::Other(why)).await)
                    }
                }
            }
            Err(failure) => {
                if let (Failure::Stopped, Some(id)) = (&failure, id) {
                    tell_cancelled(self.service.peer(), id).await;
                }
                let failed = self.explain(failure).await;
                key.iter().for_each(|key| lock(&self.shared).forget(key));
                Err(failed)
            }
        }
    }

    /// How often the server said so far that its tools changed.
    pub fn changes(&self) -> u64 {
        lock(&self.shared).changes
    }

    /// Whether nothing can be asked of it any more.
    pub fn is_dead(&self) -> bool {
        let ended = match &self.end {
            End::Started(server, _) => server.exit_status().is_some(),
            End::Away => false,
        };
        ended || self.service.peer().is_transport_closed() || {
            let ledger = lock(&self.shared);
            ledger.fault.is_some() || ledger.broken.is_some()
        }
    }

    /// Ends the conversation, and a server that was started for it: it gets to see its input
    /// closed, then SIGTERM, then SIGKILL. Gives the end of its standard error.
    pub async fn close(mut self) -> String {
        // Only to let the SDK's task end in good order; its pipes go with the pump in any case.
        let patience = match &self.end {
            End::Started(..) => Duration::from_millis(100),
            // It says goodbye to the server's session.
            End::Away => self.stop,
        };
        let _ = self.service.close_with_timeout(patience).await;
        end(self.end, self.stop).await
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Runs a part of the conversation, but not for long once the server has ended: another process
    /// may hold its output open.
    pub(super) async fn until_gone<T>(
        &self,
        conversation: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match &self.end {
            End::Started(server, _) => until_gone(server, conversation).await.and_then(|out| out),
            End::Away => conversation.await,
        }
    }

    /// What went wrong, for an operator. The server goes on.
    pub(super) async fn explain(&self, failure: Failure) -> McpError {
        let status = how_it_ended(&failure, &self.end, &self.shared).await;
        let stderr = match &self.end {
            End::Started(server, _) => server.stderr(),
            End::Away => String::new(),
        };
        explain(failure, status, &lock(&self.shared), stderr)
    }

    /// Ends the link for a failure and says what went wrong.
    pub(super) async fn fail(mut self, failure: Failure) -> McpError {
        let _ = self.service.close_with_timeout(Duration::from_millis(100)).await;
        give_up(self.end, &self.shared, failure, self.stop).await
    }
}

fn config(allows: Allows) -> ClientConfig {
    let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let mut can = ClientCapabilities::default();
    if allows.elicitation {
        let form = FormElicitationCapability::default();
        can.elicitation = Some(ElicitationCapability::new().with_form(form));
    }
    ClientConfig::new(can, client).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

type Started = Result<Result<Service, ClientInitializeError>, tokio::time::error::Elapsed>;

fn started_by(started: Result<Started, Failure>, deadline: Duration) -> Result<Service, Failure> {
    match started? {
        Ok(service) => service.map_err(start_failure),
        Err(_) => Err(Failure::Timeout(deadline)),
    }
}

async fn until_gone<T>(
    server: &Process,
    conversation: impl Future<Output = T>,
) -> Result<T, Failure> {
    let mut conversation = pin!(conversation);
    tokio::select! {
        outcome = &mut conversation => Ok(outcome),
        _ = server.exited() => timeout(DRAIN, conversation).await.map_err(|_| Failure::Closed),
    }
}

async fn tell_cancelled(peer: &Peer<RoleClient>, id: RequestId) {
    let reason = "the turn was cancelled".to_owned();
    let params = CancelledNotificationParam::new(Some(id), Some(reason));
    // A server that does not listen to it is not waited for.
    let _ = timeout(TELLING, peer.notify_cancelled(params)).await;
}

async fn end(end: End, deadline: Duration) -> String {
    match end {
        End::Started(server, pump) => {
            drop(pump);
            server.stop(deadline).await
        }
        End::Away => String::new(),
    }
}

/// How the server's process ended, where that is why the conversation did.
async fn how_it_ended(failure: &Failure, at: &End, shared: &Shared) -> Option<String> {
    match (failure, at) {
        (Failure::Closed, End::Started(server, _)) if lock(shared).fault.is_none() => {
            // The output closes a little before the process can be seen to have ended.
            timeout(DRAIN, server.exited()).await.ok()
        }
        _ => None,
    }
}

async fn give_up(at: End, shared: &Shared, failure: Failure, deadline: Duration) -> McpError {
    let status = how_it_ended(&failure, &at, shared).await;
    let stderr = end(at, deadline).await;
    explain(failure, status, &lock(shared), stderr)
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

pub(super) fn request_failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) => Failure::Refused(error),
        ServiceError::Timeout { timeout } => Failure::Timeout(timeout),
        ServiceError::TransportClosed
        | ServiceError::TransportSend(_)
        | ServiceError::Cancelled { .. } => Failure::Closed,
        other => Failure::Other(cut(&other.to_string(), 500)),
    }
}

pub(super) fn explain(
    failure: Failure,
    status: Option<String>,
    ledger: &Ledger,
    stderr: String,
) -> McpError {
    let phase = ledger.phase;
    if let Some(reason) = ledger.fault.clone() {
        return McpError::Protocol { phase, reason, stderr };
    }
    match failure {
        Failure::Closed => match status {
            Some(status) => McpError::Exited { phase, status, stderr },
            None => {
                let reason = ledger.broken.clone();
                let usual = || "it closed its output but went on running".to_owned();
                McpError::Protocol { phase, reason: reason.unwrap_or_else(usual), stderr }
            }
        },
        Failure::Timeout(after) => McpError::Timeout { phase, after, hint: ledger.hint(), stderr },
        Failure::Refused(error) => {
            let message = error.message.into_owned();
            McpError::Refused { phase, code: error.code.0, message, stderr }
        }
        Failure::Other(reason) => McpError::Protocol { phase, reason, stderr },
        Failure::PageLoop(cursor) => McpError::PageLoop { cursor },
        Failure::TooManyTools => McpError::TooManyTools { limit: super::MAX_TOOLS },
        Failure::TooManyPages => McpError::TooManyPages { limit: super::MAX_PAGES },
        Failure::Stopped => McpError::Stopped,
    }
}
