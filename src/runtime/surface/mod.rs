//! What leaves for people and observers: three named surfaces, rendered from facts and from
//! nothing else.
//!
//! `observer` opens and closes a span for each call that ran, `stream` a card, `progress` writes
//! lines. A call that never starts has no span and no card; `stream` and `progress` note how it was
//! settled. All texts are scrubbed and then bounded; only their digest and size are recorded.

mod fit;
mod observer;
mod progress;
mod render;
mod sink;
mod stream;

use std::sync::Arc;

pub use render::Renderer;
pub use sink::{Sink, Sinks};

use crate::base::digest::Digest;
use crate::journal::event::call::SurfaceEmitted;

/// A named surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Surface {
    /// Spans, for backends that measure.
    Observer,
    /// Cards, for clients that show a call while it runs.
    Stream,
    /// Lines, for people.
    Progress,
}

impl Surface {
    /// All of them, in the order in which a fact is shown.
    pub const ALL: [Self; 3] = [Self::Observer, Self::Stream, Self::Progress];

    /// The name as written in journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observer => "observer",
            Self::Stream => "stream",
            Self::Progress => "progress",
        }
    }
}

/// Which end of a span, card or pair of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The call is about to run.
    Start,
    /// The call ran, and has its outcome.
    End,
}

impl Phase {
    /// The name as written in journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
        }
    }
}

/// The longest text of each surface, in Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a span's event.
    pub observer: usize,
    /// Of a card's event.
    pub stream: usize,
    /// Of a line.
    pub progress: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { observer: 4_000, stream: 4_000, progress: 200 }
    }
}

impl Limits {
    /// The limit of one surface.
    pub fn of(&self, surface: Surface) -> usize {
        match surface {
            Surface::Observer => self.observer,
            Surface::Stream => self.stream,
            Surface::Progress => self.progress,
        }
    }
}

/// Something that leaves by a surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emission {
    /// By which.
    pub surface: Surface,
    /// Which end it is; `None` for a note.
    pub phase: Option<Phase>,
    /// What is shown; scrubbed, and at most `limit` Unicode scalar values.
    pub text: String,
    /// The same for all that is shown of one call, and for no other call.
    pub correlation: Digest,
    /// The entry that is shown.
    pub of: u64,
    /// The limit.
    pub limit: u64,
    /// The call.
    pub call: Arc<str>,
}

impl Emission {
    /// What is recorded of it.
    pub fn fact(&self) -> SurfaceEmitted {
        SurfaceEmitted {
            surface: self.surface.name().to_owned(),
            digest: Digest::of("surface", self.text.as_bytes()),
            chars: self.text.chars().count() as u64,
            of: Some(self.of),
            phase: self.phase.map(|phase| phase.name().to_owned()),
            correlation: Some(self.correlation),
            limit: Some(self.limit),
        }
    }
}
