//! Starting the helper, and the harness's end of its socket.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, IoSliceMut, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Blocking;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::unix::pipe::Sender;
use tokio::net::{TcpListener, UnixStream};
use tokio::process::{Child, Command};
use zeroize::Zeroizing;

use super::cgroup::Cgroups;
use super::mechanism::Mechanism;
use super::order::{Order, Report, SUBCOMMAND, Stdin, frame};

/// How long the helper may take to confine itself.
const PREPARING: Duration = Duration::from_secs(10);
/// How long it may take to end all that it started.
const ENDING: Duration = Duration::from_secs(5);

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The helper cannot be started, or ended without a word.
    #[error("the sandbox helper: {0}")]
    Helper(#[from] io::Error),
    /// A mechanism could not be applied, or the program not started.
    #[error("{step}: {reason}")]
    Step {
        /// The mechanism, or `start`.
        step: String,
        /// What the system said.
        reason: String,
    },
    /// The helper applied less than was ordered, or more.
    #[error("other mechanisms were applied than were ordered")]
    Other,
}

/// A sandbox in which a program runs. Dropping it ends everything in it.
#[derive(Debug)]
pub struct Sandbox {
    child: Child,
    socket: UnixStream,
    pending: Vec<u8>,
    enforced: BTreeSet<Mechanism>,
    /// Open files that came with a report, in their order.
    files: VecDeque<OwnedFd>,
    listener: Option<TcpListener>,
    input: Option<Sender>,
    // After the child, so that nobody is left in them.
    _cgroups: Cgroups,
}

impl Sandbox {
    /// Starts a program under an order. Its output and its errors are pipes.
    ///
    /// # Errors
    /// What failed; then nothing of the program ran.
    pub async fn start(helper: &Path, mut order: Order, stdin: &[u8]) -> Result<Self, LaunchError> {
        let cgroups = Cgroups::make(&order.mechanisms, &order.limits).map_err(|(one, error)| {
            LaunchError::Step { step: one.name().to_owned(), reason: error.to_string() }
        })?;
        order.cgroups = cgroups.doors();
        let (own, its) = Blocking::pair()?;
        own.set_nonblocking(true)?;
        let mut wanted = Command::new(helper);
        wanted.arg(SUBCOMMAND).stdin(OwnedFd::from(its)).kill_on_drop(true);
        wanted.stdout(Stdio::piped()).stderr(Stdio::piped());
        if order.mechanisms.contains(&Mechanism::Environment) {
            wanted.env_clear();
        }
        let child = wanted.spawn()?;
        // Its end lives on in the child alone, so that its death is heard.
        drop(wanted);
        let mut sandbox = Self {
            child,
            socket: UnixStream::from_std(own)?,
            pending: Vec::new(),
            enforced: BTreeSet::new(),
            files: VecDeque::new(),
            listener: None,
            input: None,
            _cgroups: cgroups,
        };
        let prepared = tokio::time::timeout(PREPARING, sandbox.prepare(&order, stdin)).await;
        prepared.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))?;
        if sandbox.enforced != order.mechanisms {
            return Err(LaunchError::Other);
        }
        Ok(sandbox)
    }

    async fn prepare(&mut self, order: &Order, stdin: &[u8]) -> Result<(), LaunchError> {
        let framed = Zeroizing::new(frame(order).map_err(io::Error::other)?);
        // One for each of the two processes. A helper that failed does not read them; its report
        // says why.
        for part in [framed.as_slice(), framed.as_slice(), stdin] {
            if self.socket.write_all(part).await.is_err() {
                break;
            }
        }
        match self.report().await? {
            Report::Enforced(mechanisms) => self.enforced = mechanisms,
            Report::Failed { step, reason } => return Err(LaunchError::Step { step, reason }),
            Report::Ended { .. } => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
        if order.mechanisms.contains(&Mechanism::Proxy) {
            let listener = std::net::TcpListener::from(self.file()?);
            listener.set_nonblocking(true)?;
            self.listener = Some(TcpListener::from_std(listener)?);
        }
        if order.stdin == Stdin::Pipe {
            self.input = Some(Sender::from_owned_fd(self.file()?)?);
        }
        Ok(())
    }

    /// The next of the files that came with the report.
    fn file(&mut self) -> io::Result<OwnedFd> {
        self.files.pop_front().ok_or_else(|| io::Error::other("a file is missing"))
    }

    /// What is in force.
    pub fn enforced(&self) -> &BTreeSet<Mechanism> {
        &self.enforced
    }

    /// The socket in the sandbox's network on which a proxy is to listen; given once.
    pub fn listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Where the program's input is written, if it is a pipe; given once.
    pub fn input(&mut self) -> Option<Sender> {
        self.input.take()
    }

    /// The running helper, whose output is the program's.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The next report.
    ///
    /// # Errors
    /// When the helper ended without one.
    pub async fn report(&mut self) -> io::Result<Report> {
        loop {
            if let Some(length) = self.pending.first_chunk::<4>() {
                let end = 4 + u32::from_le_bytes(*length) as usize;
                if self.pending.len() >= end {
                    let report = serde_json::from_slice(&self.pending[4..end]);
                    self.pending.drain(..end);
                    return report.map_err(io::Error::other);
                }
            }
            self.socket.readable().await?;
            let received = self.socket.try_io(Interest::READABLE, || receive(&self.socket));
            match received {
                Ok((bytes, _)) if bytes.is_empty() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok((bytes, files)) => {
                    self.pending.extend(bytes);
                    self.files.extend(files);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends everything in the sandbox, and waits until nobody of it is left. Returns whether that
    /// could be seen.
    pub async fn end(mut self) -> bool {
        let (ended, deadline) = (Self::gone(&mut self.child), ENDING);
        // Letting go of the socket is what the outer process waits for; it ends the inner one and
        // is gone only after everything is.
        drop(self.socket);
        if tokio::time::timeout(deadline, ended).await.is_ok() {
            return true;
        }
        let _gone = self.child.start_kill();
        tokio::time::timeout(deadline, self.child.wait()).await.is_ok()
    }

    async fn gone(child: &mut Child) {
        let _status = child.wait().await;
    }
}

/// One message with the open files that may come beside it.
fn receive(socket: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; 4096];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let got = {
        let mut whole = [IoSliceMut::new(&mut bytes)];
        recvmsg(socket, &mut whole, &mut beside, RecvFlags::CMSG_CLOEXEC)?
    };
    bytes.truncate(got.bytes);
    let files = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok((bytes, files.flatten().collect()))
}

/// Starts the helper for a probe and waits for its one report, without a runtime around it.
pub(super) fn probe(helper: &Path, mut order: Order) -> Result<BTreeSet<Mechanism>, LaunchError> {
    let cgroups = Cgroups::make(&order.mechanisms, &order.limits).map_err(|(one, error)| {
        LaunchError::Step { step: one.name().to_owned(), reason: error.to_string() }
    })?;
    order.cgroups = cgroups.doors();
    let (mut own, its) = Blocking::pair()?;
    own.set_read_timeout(Some(PREPARING))?;
    let mut wanted = std::process::Command::new(helper);
    wanted.arg(SUBCOMMAND).stdin(OwnedFd::from(its)).env_clear();
    wanted.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = wanted.spawn()?;
    drop(wanted);
    let order = frame(&order).map_err(io::Error::other)?;
    let told = own.write_all(&order).and_then(|()| own.write_all(&order));
    let report = told.or(Ok(())).and_then(|()| first(&mut own));
    drop(own);
    child.wait()?;
    match report? {
        Report::Enforced(mechanisms) => Ok(mechanisms),
        Report::Failed { step, reason } => Err(LaunchError::Step { step, reason }),
        Report::Ended { .. } => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
    }
}

fn first(socket: &mut Blocking) -> io::Result<Report> {
    use std::io::Read;
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut text = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}
