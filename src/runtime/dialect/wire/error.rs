//! Why what came over the wire is no answer.

use crate::base::bounded;
use crate::journal::event::turn::ProviderFault;
use crate::runtime::dialect::Reply;

/// A message shows at most so many Unicode scalar values of what came.
const SHOWN: usize = 300;

/// What kind of trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It is no JSON, or no UTF-8: a page of HTML, a proxy's words, nothing at all.
    Unreadable,
    /// It is JSON, and no reply of this dialect.
    Foreign,
    /// The provider says that it failed.
    Provider,
    /// The model wrote a call that its provider could not read.
    Model,
    /// It ended before it said that it was at its end.
    Cut,
    /// It is longer than its limits.
    TooLong,
}

/// No answer, why, and what arrived all the same.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    /// What kind of trouble it is.
    pub trouble: Trouble,
    /// For the operator; bounded, and not scrubbed yet.
    pub message: String,
    /// What arrived. Every call that is not known to be whole is marked as cut.
    pub kept: Box<Reply>,
}

impl WireError {
    /// The fault as a turn records it: what the model said is its own, all else is the way there.
    pub fn fault(&self) -> ProviderFault {
        let blame = match self.trouble {
            Trouble::Model | Trouble::TooLong => "model",
            Trouble::Unreadable | Trouble::Foreign | Trouble::Provider | Trouble::Cut => {
                "infrastructure"
            }
        };
        ProviderFault { blame: blame.to_owned(), message: self.message.clone() }
    }
}

/// A fault without what arrived.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    trouble: Trouble,
    message: String,
}

impl Fault {
    pub(super) fn new(trouble: Trouble, message: impl Into<String>) -> Self {
        Self { trouble, message: message.into() }
    }

    /// What the provider said of its own failure.
    pub(super) fn provider(said: &str) -> Self {
        Self::new(Trouble::Provider, format!("the provider failed: {}", shown(said)))
    }

    /// Whether it is about bytes that nobody can read.
    pub(super) fn is_unreadable(&self) -> bool {
        self.trouble == Trouble::Unreadable
    }

    pub(super) fn keeping(self, kept: Reply) -> WireError {
        WireError { trouble: self.trouble, message: self.message, kept: Box::new(kept) }
    }
}

/// The beginning and end of a text, on one line.
pub(super) fn shown(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    bounded::bound(&text.join(" "), SHOWN).text.split_whitespace().collect::<Vec<_>>().join(" ")
}
