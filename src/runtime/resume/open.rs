//! The transcript, and the turn that did not end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::calls::Call;
use super::guards::Memory;
use super::{ResumeError, text};
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::event::call::ToolCallRequested;
use crate::journal::event::turn::{
    BatchOpened, ModelReplied, TranscriptAppended, TurnStarted, UserPromptSubmitted,
};
use crate::journal::{Entry, Event, Journal};
use crate::runtime::dialect::{Message, Transcript};
use crate::runtime::guard::Envelope;
use crate::runtime::resolved::Resolved;
use crate::runtime::state::AgentState;
use crate::runtime::turn::begin::Begun;
use crate::runtime::turn::reopen::{Batch, Left, Place, Reopened, Reopening};
use crate::runtime::turn::steps::Steps;
use crate::runtime::view::{ActivatedSet, Blocks};
use crate::tool::id::ToolId;

/// A view, and what it depended on.
#[derive(Debug, Clone, Default)]
struct Seen {
    digest: Option<Digest>,
    failures: BTreeMap<ToolId, u32>,
    activated: ActivatedSet,
    blocks: Blocks,
}

/// The open turn, as far as it was read.
#[derive(Debug)]
struct Open {
    turn: Arc<str>,
    since: Millis,
    first: usize,
    message: Arc<str>,
    envelope: Envelope,
    provider: Arc<str>,
    direct: bool,
    round: u32,
    words: Arc<str>,
    seen: Seen,
    steered: Vec<Arc<str>>,
    heard: usize,
    cancelled: Option<(String, bool)>,
    batch: Option<(BatchOpened, u64)>,
    at: Place,
}

impl Open {
    fn new(turn: Arc<str>, since: Millis, first: usize) -> Self {
        Self {
            turn,
            since,
            first,
            message: "".into(),
            envelope: Envelope::default(),
            provider: "".into(),
            direct: false,
            round: 0,
            words: "".into(),
            seen: Seen::default(),
            steered: Vec::new(),
            heard: 0,
            cancelled: None,
            batch: None,
            at: Place::Beginning(Begun::Prompted),
        }
    }

    fn prompted(&mut self, fact: &UserPromptSubmitted) {
        self.message = fact.text.as_str().into();
        self.envelope = Envelope {
            ingress: fact.ingress.clone(),
            channel: fact.channel.clone(),
            reply_to: fact.reply_to.clone(),
            thread: fact.thread.clone(),
        };
    }

    fn started(&mut self, fact: &TurnStarted) {
        self.provider = fact.provider.as_str().into();
        self.direct = fact.direct;
        self.at = Place::Beginning(Begun::Started);
    }

    fn replied(&mut self, fact: &ModelReplied) {
        let words: Arc<str> = fact.text.as_deref().unwrap_or_default().into();
        self.at = match &fact.fault {
            Some(fault) => Place::Unanswered(fault.clone()),
            None if fact.calls == 0 => Place::Word(words),
            None => {
                self.words = words;
                // Until its calls are recorded it is as if there had been no reply.
                Place::Between
            }
        };
    }

    fn appended(&mut self, fact: &TranscriptAppended) {
        for message in &fact.messages {
            match message.role.as_str() {
                "user" => {
                    self.heard += 1;
                    self.at = Place::Between;
                }
                "assistant" if message.calls.is_empty() => self.at = Place::Said,
                "assistant" => {
                    self.batch = None;
                    self.at = Place::Between;
                }
                _ => {}
            }
        }
    }
}

/// A journal while it is read.
pub(super) struct Reading<'a> {
    journal: &'a Journal,
    place: usize,
    transcript: Transcript,
    state: AgentState,
    calls: BTreeMap<Arc<str>, Call>,
    open: Option<Open>,
    /// The last turn that ended. What leaves by a surface is recorded behind the end of its turn,
    /// and opens it no more.
    over: Option<Arc<str>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(journal: &'a Journal) -> Self {
        Self {
            journal,
            place: 0,
            transcript: Transcript::new(),
            state: AgentState::default(),
            calls: BTreeMap::new(),
            open: None,
            over: None,
        }
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self, entry: &Entry) -> Result<(), ResumeError> {
        if let Some(turn) = &entry.turn
            && self.over.as_ref() != Some(turn)
            && self.open.as_ref().is_none_or(|open| open.turn != *turn)
        {
            self.open = Some(Open::new(Arc::clone(turn), entry.at, self.place));
        }
        if let Event::TranscriptAppended(fact) = &entry.event {
            self.append(fact, entry.seq)?;
        }
        if let Some(call) = &entry.call {
            match &entry.event {
                Event::ToolCallRequested(fact) => {
                    self.calls.insert(Arc::clone(call), Call::requested(fact));
                }
                _ => {
                    if let Some(known) = self.calls.get_mut(call) {
                        known.take(entry);
                    }
                }
            }
        }
        self.turn(entry);
        self.state.apply(entry);
        self.place += 1;
        Ok(())
    }

    fn turn(&mut self, entry: &Entry) {
        let Some(open) = &mut self.open else { return };
        match &entry.event {
            Event::UserPromptSubmitted(fact) => open.prompted(fact),
            Event::TurnStarted(fact) => open.started(fact),
            Event::IntentDeclared(_) => open.at = Place::Beginning(Begun::Intended),
            Event::ViewCompiled(fact) => {
                open.seen = Seen {
                    digest: Some(fact.view),
                    failures: self.state.failures(),
                    activated: self.state.activated.clone(),
                    blocks: self.state.blocks.clone(),
                };
            }
            Event::ModelRequested(_) => open.round += 1,
            Event::ModelReplied(fact) => open.replied(fact),
            Event::ModelSwitched(fact) => open.provider = fact.to.as_str().into(),
            Event::SteeringReceived(fact) => open.steered.push(fact.text.as_str().into()),
            Event::BatchOpened(fact) => open.batch = Some((fact.clone(), entry.seq)),
            Event::TranscriptAppended(fact) => open.appended(fact),
            Event::LoopStopped(fact) => open.at = Place::Stopped(fact.pattern.clone()),
            Event::CancelRequested(fact) => open.cancelled = Some((fact.cause.clone(), false)),
            Event::CancelAcknowledged(_) => {
                if let Some((_, acknowledged)) = &mut open.cancelled {
                    *acknowledged = true;
                }
            }
            Event::TurnFinished(_) => {
                self.open = None;
                self.over.clone_from(&entry.turn);
            }
            _ => {}
        }
    }

    fn append(&mut self, fact: &TranscriptAppended, seq: u64) -> Result<(), ResumeError> {
        for message in &fact.messages {
            let called = message.call.as_deref().and_then(|call| self.calls.get(call));
            let text = match called {
                Some(call) => call.result(self.journal, &message.text, seq)?,
                None => text(self.journal, &message.text, seq)?,
            };
            let message = match (message.role.as_str(), &message.call) {
                ("tool", Some(call)) => {
                    let call: Arc<str> = call.as_str().into();
                    let known = self.calls.get(&call).and_then(Call::succeeded);
                    Message::Tool { call, text, is_error: known != Some(true) }
                }
                ("assistant", _) => {
                    let made = message.calls.iter().map(|call| {
                        let call: Arc<str> = call.as_str().into();
                        let known = self.calls.get(&call).ok_or(ResumeError::Call(seq))?;
                        Ok(known.shown(&call))
                    });
                    Message::Assistant { text, calls: made.collect::<Result<_, _>>()? }
                }
                _ => Message::User { text },
            };
            self.transcript.push(message);
        }
        Ok(())
    }

    /// What was read, and the open turn for this bundle.
    pub(super) fn finish(
        mut self,
        bundle: (&Resolved, &Steps),
    ) -> Result<(Transcript, AgentState, Option<Reopened>), ResumeError> {
        let open = match self.open.take() {
            Some(open) => Some(self.reopened(open, bundle)?),
            None => None,
        };
        Ok((self.transcript, self.state, open))
    }

    fn reopened(
        &mut self,
        open: Open,
        bundle: (&Resolved, &Steps),
    ) -> Result<Reopened, ResumeError> {
        let requests = self.requests(&open)?;
        let slots = open.batch.iter().flat_map(|(batch, _)| &batch.slots);
        let slots: Vec<Arc<str>> = slots.map(|slot| slot.as_str().into()).collect();
        let again: BTreeSet<Arc<str>> = slots
            .iter()
            .filter(|call| self.calls.get(*call).is_some_and(Call::is_open))
            .cloned()
            .collect();
        let facts = self.journal.entries().iter().skip(open.first);
        let facts = facts.filter(|entry| entry.turn.as_ref() == Some(&open.turn));
        let memory = Memory::of(facts, &again, bundle);
        let at = match &open.batch {
            None => open.at,
            Some((batch, seq)) => {
                let mut reopening = Vec::new();
                for call in &slots {
                    let known = self.calls.get(call).ok_or(ResumeError::Call(*seq))?;
                    let mut left = known.left(call, self.journal, bundle)?;
                    if let Left::Failed(attempted) = &mut left {
                        attempted.round = memory.round_of(call, bundle.0);
                    }
                    let (shown, asked) = (known.shown(call), known.asked());
                    let unkept = memory.args_of(call).filter(|_| !known.keeps_args());
                    reopening.push(Reopening { shown, asked, unkept, left });
                }
                Place::Batch(Box::new(Batch {
                    id: batch.batch.clone(),
                    view: open.seen.digest,
                    failures: open.seen.failures,
                    activated: open.seen.activated,
                    blocks: open.seen.blocks,
                    requests,
                    slots: reopening,
                }))
            }
        };
        let heard = open.heard.saturating_sub(1);
        let steering: VecDeque<Arc<str>> = open.steered.into_iter().skip(heard).collect();
        Ok(Reopened {
            turn: open.turn,
            since: open.since,
            message: open.message,
            envelope: open.envelope,
            provider: open.provider,
            direct: open.direct,
            round: open.round,
            words: open.words,
            steering,
            cancelled: open.cancelled,
            stopped: memory.stopped,
            warned: memory.warned,
            ledger: memory.ledger,
            rounds: memory.rounds,
            calls: u32::try_from(memory.counted.len()).unwrap_or(u32::MAX),
            activated: self.state.activated.clone(),
            at,
        })
    }

    /// Requests of the open batch that are not recorded yet. They are calls from here on.
    fn requests(&mut self, open: &Open) -> Result<Vec<(Arc<str>, ToolCallRequested)>, ResumeError> {
        let Some((batch, seq)) = &open.batch else { return Ok(Vec::new()) };
        let known = |call: &str| self.calls.contains_key(call);
        if batch.slots.iter().all(|slot| known(slot)) {
            return Ok(Vec::new());
        }
        let name = batch.requests.as_ref().ok_or(ResumeError::Text(*seq))?;
        let mut requests: Vec<(Arc<str>, ToolCallRequested)> =
            serde_json::from_str(&text(self.journal, name, *seq)?)
                .map_err(|_| ResumeError::Text(*seq))?;
        requests.retain(|(call, _)| !known(call));
        for (call, fact) in &requests {
            self.calls.insert(Arc::clone(call), Call::requested(fact));
        }
        Ok(requests)
    }
}
