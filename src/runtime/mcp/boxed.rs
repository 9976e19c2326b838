//! A server in a sandbox: confined by the kernel for as long as it runs, with its proxy where it
//! has one.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::Mutex as Asked;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connect::{exit_status, exited, keep_tail, lock};
use super::link::Streams;
use super::{Launch, McpError};
use crate::runtime::sandbox::blocked::Blocked;
use crate::runtime::sandbox::confined::{Confined, Ordered};
use crate::runtime::sandbox::launch::Sandbox;
use crate::runtime::sandbox::order::{Report, Stdin};
use crate::runtime::sandbox::proxy::{EgressLog, serve};

/// Time for the last of a stream.
const SETTLE: Duration = Duration::from_millis(500);

/// A running server and everything around it. Dropping it ends everything in the sandbox.
#[derive(Debug)]
pub struct Boxed {
    sandbox: Asked<Sandbox>,
    pid: Pid,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Reading its errors, and serving its connections.
    tasks: Tasks,
    _blocked: Blocked,
}

/// Tasks that end with what they serve.
#[derive(Debug, Default)]
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Boxed {
    /// Starts a server in its sandbox, in the folder of a workspace. Of the launch's folder nothing
    /// is taken: the sandbox says where it starts.
    ///
    /// # Errors
    /// [`McpError::Spawn`] with what could not be done; then nothing of it ran.
    pub async fn start(
        launch: &Launch,
        confined: &Confined,
        workspace: &Path,
    ) -> Result<Self, McpError> {
        let fail = |reason: String| McpError::Spawn { program: launch.program.clone(), reason };
        let words: Vec<String> =
            std::iter::once(&launch.program).chain(&launch.args).cloned().collect();
        let ordered = confined.order(workspace, &words, Stdin::Pipe);
        let Ordered { mut order, blocked } =
            ordered.map_err(|error| fail(format!("the sandbox cannot be made: {error}")))?;
        order.env.extend(launch.env.iter().cloned());
        let started = Sandbox::start(&confined.helper, order, &[]).await;
        let mut sandbox = started.map_err(|error| fail(format!("nothing was started: {error}")))?;
        let pid = sandbox.child().id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.and_then(Pid::from_raw).ok_or_else(|| fail("it is gone".to_owned()))?;
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Tasks::default();
        if let Some(stream) = sandbox.child().stderr.take() {
            tasks.0.push(tokio::spawn(keep_tail(stream, Arc::clone(&stderr))));
        }
        if let Some(listener) = sandbox.listener() {
            let egress = confined.egress.clone();
            tasks.0.push(tokio::spawn(async move {
                serve(&listener, &egress, &EgressLog::default()).await;
            }));
        }
        let sandbox = Asked::new(sandbox);
        Ok(Self { sandbox, pid, stderr, tasks, _blocked: blocked })
    }

    /// What it reads and writes; given once.
    pub(super) fn streams(&mut self) -> Result<Streams, McpError> {
        let sandbox = self.sandbox.get_mut();
        match (sandbox.input(), sandbox.child().stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok((Box::new(stdin), Box::new(stdout))),
            _ => {
                let reason = "its streams are missing".to_owned();
                Err(McpError::Spawn { program: "the sandbox".to_owned(), reason })
            }
        }
    }

    /// How the sandbox ended, if it has: of the server itself only [`Boxed::exited`] tells.
    pub(super) fn exit_status(&self) -> Option<String> {
        exit_status(self.pid)
    }

    /// Waits until the sandbox has ended, and says how the server did.
    pub(super) async fn exited(&self) -> String {
        let status = exited(self.pid).await;
        match timeout(SETTLE, async { self.sandbox.lock().await.report().await }).await {
            Ok(Ok(Report::Ended { code: Some(code), .. })) => format!("exit code {code}"),
            Ok(Ok(Report::Ended { signal: Some(signal), .. })) => format!("signal {signal}"),
            // It never ran: why is the only thing that there is to say.
            Ok(Ok(Report::Failed { step, reason })) => {
                format!("the sandbox's failure: {step}: {reason}")
            }
            _ => status,
        }
    }

    /// The end of its standard error so far.
    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&lock(&self.stderr)).into_owned()
    }

    /// Ends it; call it once its input is closed. It may go by itself for a third of `deadline`, as
    /// a server that is not confined may; then everything in the sandbox is ended.
    pub(super) async fn stop(mut self, deadline: Duration) -> String {
        let mut sandbox = self.sandbox.into_inner();
        let report = timeout(deadline / 3, sandbox.report()).await;
        if let Ok(Ok(Report::Failed { step, reason })) = report {
            tracing::debug!(step, reason, "a server's sandbox failed");
        }
        if !sandbox.end().await {
            tracing::warn!("a server's sandbox hangs");
        }
        let reading = self.tasks.0.first_mut();
        if let Some(reading) = reading {
            // Everybody who could write to it is gone.
            let _ended = timeout(SETTLE, reading).await;
        }
        String::from_utf8_lossy(&lock(&self.stderr)).into_owned()
    }
}
