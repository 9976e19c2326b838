//! What a provider sends over the wire, whole or as a stream, becomes a [`Reply`]; and a reply
//! becomes what a provider would send. It does no input or output: whoever has bytes pushes them.
//!
//! Three things hold for every dialect. The pieces in which a stream arrives change nothing. A
//! stream gives the reply that the whole body gives. And a call runs only if it is known to be
//! whole: of a stream that breaks off, what was cut is marked and nothing is made up.

mod chat;
mod error;
mod fields;
mod fold;
mod gemini;
mod messages;
mod parts;
mod responses;
mod spell;
mod sse;

use super::{Dialect, Reply};
use error::{Fault, shown};
use fold::{Fold, UNFINISHED};
use sse::{Event, Framing};

pub use error::{Trouble, WireError};

/// How long a reply may be. What a server sends is bounded by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireLimits {
    /// Bytes of a body, or of a stream with all that frames it.
    pub bytes: usize,
    /// Parts of a reply: texts, thoughts and calls.
    pub parts: usize,
}

impl Default for WireLimits {
    /// 32 MiB and 512 parts: far above what any model says at once.
    fn default() -> Self {
        Self { bytes: 32 << 20, parts: 512 }
    }
}

impl WireLimits {
    fn exceeded(self) -> Fault {
        Fault::new(Trouble::TooLong, format!("the reply is longer than {} bytes", self.bytes))
    }
}

impl Dialect {
    /// Reads a whole body. The text protocol stands in the messages of chat completions.
    ///
    /// # Errors
    /// When it is no reply, says that the provider failed, or is longer than its limits.
    pub fn decode(self, body: &[u8], limits: WireLimits) -> Result<Reply, WireError> {
        let mut fold = Fold::new(self, limits.parts);
        let read = match body.len() > limits.bytes {
            true => Err(limits.exceeded()),
            false => fold.body(body),
        };
        fold.close(read.err())
    }

    /// Spells a reply as the body that a provider would send.
    pub fn body(self, reply: &Reply) -> String {
        spell::body(self, reply)
    }

    /// Spells a reply as the events that a provider would send, texts and arguments in pieces of
    /// so many Unicode scalar values, at least one.
    pub fn stream(self, reply: &Reply, piece: usize) -> String {
        spell::stream(self, reply, piece.max(1))
    }
}

/// Puts the reply together that a stream tells in pieces.
///
/// A server that answers with a body instead of a stream is understood too. A copy is a reply as
/// far as it came.
#[derive(Debug, Clone)]
pub struct Assembler {
    limits: WireLimits,
    /// Bytes taken so far.
    taken: usize,
    form: Form,
    fold: Fold,
    fault: Option<Fault>,
    /// Whether the mark behind the last event came.
    done: bool,
    /// How many events came.
    events: u64,
}

/// What the bytes turned out to be.
#[derive(Debug, Clone)]
enum Form {
    /// Nothing but white space so far.
    Open(Vec<u8>),
    /// Events. The beginning is kept for whoever has to find out why there are none.
    Events(Framing, Vec<u8>),
    /// A body: JSON, or a page.
    Body(Vec<u8>),
}

/// So many bytes of a stream without events are kept.
const HEAD: usize = 300;

impl Assembler {
    /// Nothing yet.
    pub fn new(dialect: Dialect, limits: WireLimits) -> Self {
        Self {
            limits,
            taken: 0,
            form: Form::Open(Vec::new()),
            fold: Fold::new(dialect, limits.parts),
            fault: None,
            done: false,
            events: 0,
        }
    }

    /// Whether nothing that may still come counts: the reply is at its end, or lost.
    pub fn is_over(&self) -> bool {
        self.done || self.fault.is_some() || self.fold.over()
    }

    /// Takes the next bytes, however they are cut.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.is_over() {
            return;
        }
        let room = self.limits.bytes - self.taken;
        let taken = &bytes[..bytes.len().min(room)];
        self.taken += taken.len();
        self.take(taken);
        if bytes.len() > room && !self.is_over() {
            self.fault = Some(self.limits.exceeded());
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        if let Form::Open(before) = &mut self.form {
            let Some(form) = Form::begin(before, &mut bytes) else { return };
            let Form::Open(before) = std::mem::replace(&mut self.form, form) else { return };
            self.take(&before);
        }
        match &mut self.form {
            Form::Open(_) => {}
            Form::Body(body) => body.extend_from_slice(bytes),
            Form::Events(framing, head) => {
                let room = HEAD.saturating_sub(head.len()).min(bytes.len());
                head.extend_from_slice(&bytes[..room]);
                let mut framing = std::mem::take(framing);
                while !bytes.is_empty() && !self.is_over() {
                    let (read, event) = framing.next(bytes);
                    bytes = &bytes[read..];
                    if let Some(event) = event
                        && let Err(fault) = self.event(&event)
                    {
                        self.fault = Some(fault);
                    }
                }
                if let Form::Events(place, _) = &mut self.form {
                    *place = framing;
                }
            }
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), Fault> {
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        self.events += 1;
        if data == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        let text = std::str::from_utf8(data)
            .map_err(|_| Fault::new(Trouble::Unreadable, "an event of the stream is no UTF-8"))?;
        self.fold.event(&event.name, text)
    }

    /// The reply, once no more bytes come.
    ///
    /// # Errors
    /// As [`Dialect::decode`], and when the stream broke off. The error keeps what arrived.
    pub fn finish(mut self) -> Result<Reply, WireError> {
        if self.fault.is_none() {
            self.fault = self.end().err();
        }
        self.fold.close(self.fault)
    }

    fn end(&mut self) -> Result<(), Fault> {
        let head = match std::mem::replace(&mut self.form, Form::Open(Vec::new())) {
            Form::Open(_) => {
                return Err(Fault::new(Trouble::Unreadable, "nothing came"));
            }
            Form::Body(body) => return self.fold.body(&body),
            Form::Events(mut framing, head) => {
                if !self.is_over()
                    && let Some(event) = framing.finish()
                {
                    match self.event(&event) {
                        // What the end of the stream cut is no event.
                        Err(fault) if fault.is_unreadable() => {}
                        other => other?,
                    }
                }
                head
            }
        };
        if self.events == 0 {
            let head = shown(&String::from_utf8_lossy(&head));
            let message = format!("the stream holds no event; it begins with: {head}");
            return Err(Fault::new(Trouble::Unreadable, message));
        }
        let marked = self.done && matches!(self.fold, Fold::Chat(_));
        if !marked && !self.fold.ended() {
            return Err(Fault::new(Trouble::Cut, UNFINISHED));
        }
        if !self.fold.begun() {
            return Err(Fault::new(Trouble::Foreign, "the stream holds no reply"));
        }
        Ok(())
    }
}

impl Form {
    /// Looks for the first byte that tells what the bytes are. What came before it is kept in
    /// `before`, and what is left stays in `bytes`.
    fn begin(before: &mut Vec<u8>, bytes: &mut &[u8]) -> Option<Self> {
        const BOM: &[u8] = b"\xEF\xBB\xBF";
        while let [first, rest @ ..] = *bytes {
            let mark = BOM.get(before.len()) == Some(first) && BOM.starts_with(before);
            if !mark && !first.is_ascii_whitespace() {
                return Some(match first {
                    b'{' | b'[' | b'<' => Self::Body(Vec::new()),
                    _ => Self::Events(Framing::default(), Vec::new()),
                });
            }
            before.push(*first);
            *bytes = rest;
        }
        None
    }
}

#[cfg(test)]
mod bodies_tests;
#[cfg(test)]
mod cases_tests;
#[cfg(test)]
mod properties_tests;
