//! The helper's end of the socket, which is its input. It is read byte by byte as far as a message
//! goes: what follows belongs to the process that comes after.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use zeroize::Zeroizing;

use super::super::order::{Order, Report, frame};
use super::Failure;

/// Longer orders are not the harness's.
const LONGEST: usize = 4 << 20;

/// Reads one order.
pub(super) fn order() -> Result<Order, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::new("order", error);
    let mut length = [0; 4];
    exactly(&mut length).map_err(|error| bad(&error))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(bad(&"too long"));
    }
    let mut text = Zeroizing::new(vec![0; length]);
    exactly(&mut text).map_err(|error| bad(&error))?;
    serde_json::from_slice(&text).map_err(|error| bad(&error))
}

/// Fills a buffer from the socket.
pub(super) fn exactly(mut rest: &mut [u8]) -> io::Result<()> {
    let stdin = io::stdin();
    while !rest.is_empty() {
        let count = rustix::io::read(stdin.as_fd(), &mut *rest)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        rest = &mut rest[count..];
    }
    Ok(())
}

/// Sends a report, with open files beside it where there are some.
pub(super) fn report(report: &Report, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = frame(report)?;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(files));
    }
    let whole = [io::IoSlice::new(&bytes)];
    sendmsg(io::stdin().as_fd(), &whole, &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Tells what failed; where nobody listens any more, nobody needs to know.
pub(super) fn fail(failure: Failure) {
    let Failure { step, reason } = failure;
    let _closed = report(&Report::Failed { step, reason }, &[]);
}
