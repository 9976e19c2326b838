//! A session is rebuilt from its journal: transcript, state, grants, ids, and the turn that was
//! open. Everything here is data; `turn::reopen` says what becomes of open calls.
//!
//! A resumed session goes on in the same journal. It opens anew, so that the record says where one
//! process ended and another began, and registers versions that are new; numbers go on, and no id
//! is given twice. It never runs under looser rules than it was opened with.
//!
//! What the guards remember of the open turn is read from its facts. At-most-once rests on the
//! calls' own facts and is exact: a call that started never starts again, and a call that equals
//! one which started is still its duplicate. Where a call stood in line among calls that had not
//! started is not recorded, so a read that goes through the guards again may count as a duplicate
//! where it would not have; it then names the call that stands. The loop guard's counts are exact
//! for calls that ended; a stop that it had not recorded yet is decided again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::resolved::Resolved;
use super::state::AgentState;
use super::turn::reopen::Reopened;
use super::turn::steps::Steps;
use crate::base::world::{Millis, World};
use crate::journal::event::turn::SessionOpened;
use crate::journal::{Entry, Event, Journal};
use crate::runtime::dialect::Transcript;

mod calls;
mod guards;
mod open;

/// Why a session cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// There is nothing to resume.
    #[error("the journal does not begin with the opening of a session")]
    NotOpened,
    /// The journal is another session's.
    #[error("the journal is of session `{0}`")]
    OtherSession(String),
    /// The session would run under other rules than it was opened with.
    #[error("the session was opened under other rules: {0}")]
    Rules(&'static str),
    /// A text that an entry names is not beside the journal.
    #[error("the text that entry {0} names is not there")]
    Text(u64),
    /// The transcript makes a call that nobody requested.
    #[error("entry {0} makes a call that nobody requested")]
    Call(u64),
}

/// What a journal says of its session.
#[derive(Debug)]
pub struct Resumed {
    /// The messages.
    pub transcript: Transcript,
    /// The state.
    pub state: AgentState,
    /// All ids that were given.
    pub ids: BTreeSet<String>,
    /// The turn that did not end.
    pub open: Option<Reopened>,
}

/// Reads a journal for a session that is to run on this bundle.
///
/// # Errors
/// Why it cannot be resumed.
pub fn read(
    journal: &Journal,
    session: &str,
    (resolved, steps): (&Resolved, &Steps),
) -> Result<Resumed, ResumeError> {
    let entries = journal.entries();
    let Some(Event::SessionOpened(opened)) = entries.first().map(|entry| &entry.event) else {
        return Err(ResumeError::NotOpened);
    };
    if let Some(other) = entries.iter().find(|entry| *entry.session != *session) {
        return Err(ResumeError::OtherSession(other.session.to_string()));
    }
    rules(opened, resolved)?;
    let mut read = open::Reading::new(journal);
    for entry in entries {
        read.take(entry)?;
    }
    let ids = ids(entries);
    let (transcript, state, open) = read.finish((resolved, steps))?;
    Ok(Resumed { transcript, state, ids, open })
}

/// Rules may be stricter than those of the record, never looser.
fn rules(opened: &SessionOpened, resolved: &Resolved) -> Result<(), ResumeError> {
    let scope = if resolved.environment.evaluation { "evaluation" } else { "live" };
    let limit = resolved.knobs.max_tool_result_chars as u64;
    let differs = [
        (opened.principal != resolved.principal.id, "another principal"),
        (!opened.scopes.iter().eq(&resolved.principal.scopes), "other scopes"),
        (opened.scope.as_deref().is_some_and(|was| was != scope), "evaluation and live differ"),
        (opened.max_tool_result_chars.is_some_and(|was| limit > was), "longer results"),
        (opened.receipts && resolved.receipt_key.is_none(), "no receipts"),
        (
            !opened.excluded_tools.iter().all(|tool| resolved.excluded.contains(tool)),
            "a tool is no longer excluded",
        ),
    ];
    differs
        .iter()
        .find(|(differs, _)| *differs)
        .map_or(Ok(()), |(_, why)| Err(ResumeError::Rules(why)))
}

/// All ids that a record names.
fn ids(entries: &[Entry]) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for entry in entries {
        ids.extend(entry.turn.iter().chain(&entry.call).map(ToString::to_string));
        match &entry.event {
            Event::BatchOpened(fact) => {
                ids.insert(fact.batch.clone());
                ids.extend(fact.slots.iter().cloned());
            }
            Event::ApprovalRequested(fact) => ids.extend([fact.approval_id.clone()]),
            Event::GrantIssued(fact) => ids.extend([fact.grant_id.clone()]),
            Event::CredentialBound(fact) => ids.extend([fact.credential_binding_id.clone()]),
            Event::ToolSandboxPrepared(fact) => ids.extend([fact.sandbox_id.clone()]),
            _ => {}
        }
    }
    ids
}

/// A world that goes on after another one: it gives no id that was given before.
pub struct Further {
    world: Box<dyn World>,
    given: BTreeSet<String>,
}

impl Further {
    /// The world of a resumed session.
    pub fn new(world: Box<dyn World>, given: BTreeSet<String>) -> Self {
        Self { world, given }
    }
}

impl World for Further {
    fn now(&mut self) -> Millis {
        self.world.now()
    }

    fn next_id(&mut self, kind: &str) -> String {
        loop {
            let id = self.world.next_id(kind);
            if !self.given.contains(&id) {
                return id;
            }
        }
    }
}

/// A text beside the journal.
fn text(
    journal: &Journal,
    name: &crate::base::digest::Digest,
    seq: u64,
) -> Result<Arc<str>, ResumeError> {
    journal.blobs().get(name).cloned().ok_or(ResumeError::Text(seq))
}
