//! A server's two pipes, with the filter between them and the SDK.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::connect::lock;
use super::filter::{Filter, Ledger, MAX_LINE_BYTES};

/// What both ends of a conversation look at.
pub(super) type Shared = Arc<Mutex<Ledger>>;
/// What a server reads.
pub(super) type Input = Box<dyn AsyncWrite + Send + Unpin>;
/// What a server writes.
pub(super) type Output = Box<dyn AsyncRead + Send + Unpin>;

/// Puts the filter and the pump between the SDK and the server's pipes.
pub(super) fn wire(stdin: Input, stdout: Output, shared: &Shared) -> ((Reader, Writer), Pump) {
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
async fn pump(mut queue: UnboundedReceiver<Vec<u8>>, mut stdin: Input) {
    while let Some(line) = queue.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
}

/// The task that owns the server's standard input; ends it, and so closes it, when dropped.
#[derive(Debug)]
pub(super) struct Pump(JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The SDK's view of the server's standard output.
pub(super) struct Reader {
    stdout: Output,
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
pub(super) struct Writer {
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
