//! Who proposes. A provider gets a payload and gives a reply; it never sees a descriptor.

pub mod chooser;
pub mod listing;
mod pairing;
pub mod rank;
pub mod scripted;

use super::BoxFuture;
use super::dialect::{Payload, Reply};
use crate::journal::event::turn::ProviderFault;

/// Answers model requests.
pub trait Provider: Send {
    /// The name that reports show.
    fn name(&self) -> &'static str;

    /// Answers one request, or says why there is no answer.
    fn reply<'a>(&'a mut self, payload: &'a Payload)
    -> BoxFuture<'a, Result<Reply, ProviderFault>>;

    /// What is wrong at the end of a session, such as steps of a script that were never played.
    fn leftover(&self) -> Option<ProviderFault> {
        None
    }
}

/// A fault of the harness's own making: a script that ran out, a request that the mock refuses.
pub fn harness_fault(message: impl Into<String>) -> ProviderFault {
    ProviderFault { blame: "harness".to_owned(), message: message.into() }
}
