//! A turn that was open when its process ended goes on. What a journal says of it is data here;
//! `resume` reads it. The rules:
//!
//! - A call that is settled keeps its outcome, one that had ended is settled as it ended.
//! - A call that had started never starts again: it is interrupted, its outcome unknown. One that
//!   waited for another attempt ends with the failure of its last one.
//! - A call that was refused, replaced, dropped or blocked is settled as that.
//! - Any other call goes through the guards again, under its id and with its arguments: whatever
//!   allowed it was a value of a process that is gone, so a person is asked anew. Hooks that have
//!   seen it do not see it again. Where its arguments were not kept, or the view it was made under
//!   cannot be had any more, it is settled without having started.
//! - What no model proposed, such as an undo, is not gone on with: whoever proposed it is gone.
//! - The model is asked again only where its reply had not been taken apart yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::authority::{REPEATED, dropped_text, replaced_text};
use super::begin::Begun;
use super::cancel::TOO_LATE;
use super::control::Round;
use super::machine::{Lent, Phase, Turn, TurnEnd};
use super::prepare::{blocked_text, record_hook};
use super::slots::{Chain, Slot, SlotEnd, Slots, Stage};
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::Outcome;
use crate::journal::event::call::{
    ObservedEffects, ToolCallFinished, ToolCallRequested, ToolResultValidated, TornDown,
};
use crate::journal::event::turn::{CancelAcknowledged, ProviderFault, StateUpdated};
use crate::journal::outcome::{Denier, Fault, Unavailability};
use crate::runtime::dialect::Proposed;
use crate::runtime::dialect::transcript::AssistantCall;
use crate::runtime::evidence::Pending;
use crate::runtime::guard::repeat::Ledger;
use crate::runtime::guard::{Envelope, HookSpec, HookVerdict};
use crate::runtime::state::StatePatch;
use crate::runtime::view::{ActivatedSet, Blocks};
use crate::tool::id::ToolId;

/// How a call that ran was torn down.
pub const GONE: &str = "the process ended";

/// Why a call whose arguments are not in the record never starts.
pub const NOT_KEPT: &str = "the session was resumed and its arguments were not kept";

/// Why a call that no model proposed never starts.
pub const PROPOSER_GONE: &str = "whoever proposed it is gone; propose it again";

/// A turn as its journal leaves it.
#[derive(Debug)]
pub struct Reopened {
    /// Its id.
    pub turn: Arc<str>,
    /// When it began.
    pub since: Millis,
    /// What the user said.
    pub message: Arc<str>,
    /// How it came in.
    pub envelope: Envelope,
    /// Who is asked.
    pub provider: Arc<str>,
    /// Whether no model is asked.
    pub direct: bool,
    /// Model requests so far.
    pub round: u32,
    /// What the model said beside the calls of its last reply.
    pub words: Arc<str>,
    /// What the user said meanwhile and the model has not heard.
    pub steering: VecDeque<Arc<str>>,
    /// Why it is cancelled, and whether that was acknowledged.
    pub cancelled: Option<(String, bool)>,
    /// The pattern that stopped it.
    pub stopped: Option<String>,
    /// Patterns that were warned about.
    pub warned: BTreeSet<&'static str>,
    /// What the guards remember.
    pub ledger: Ledger,
    /// What the loop guard remembers.
    pub rounds: Vec<Round>,
    /// Calls that count against the budget, without those that are made ready again.
    pub calls: u32,
    /// What searches activated.
    pub activated: ActivatedSet,
    /// Where it stands.
    pub at: Place,
}

/// Where a turn stands between two entries.
#[derive(Debug)]
pub enum Place {
    /// Before the first message of the transcript.
    Beginning(Begun),
    /// Nothing is open: the model is asked next.
    Between,
    /// The model said this, and it is not in the transcript yet.
    Word(Arc<str>),
    /// The last word stands in the transcript.
    Said,
    /// There was no reply.
    Unanswered(ProviderFault),
    /// The loop was stopped, and its round stands in the transcript.
    Stopped(String),
    /// The calls of a reply are open.
    Batch(Box<Batch>),
}

/// The calls of a reply.
#[derive(Debug)]
pub struct Batch {
    /// Its id.
    pub id: String,
    /// The digest of the view it was made under, and what that view depended on.
    pub view: Option<Digest>,
    /// Failures by tool as they were then.
    pub failures: BTreeMap<ToolId, u32>,
    /// What had been activated by then.
    pub activated: ActivatedSet,
    /// What had been blocked by then.
    pub blocks: Blocks,
    /// Requests that are not recorded yet.
    pub requests: Vec<(Arc<str>, ToolCallRequested)>,
    /// Its calls, in model order.
    pub slots: Vec<Reopening>,
}

/// One call of an open batch.
#[derive(Debug)]
pub struct Reopening {
    /// As the transcript will show it.
    pub shown: AssistantCall,
    /// Whether a person was asked about it.
    pub asked: bool,
    /// Digest of its arguments, where they were not kept.
    pub unkept: Option<Digest>,
    /// What became of it.
    pub left: Left,
}

/// What became of a call, as far as its journal says.
#[derive(Debug)]
pub enum Left {
    /// It has its outcome. A failure of this tool may not be part of the state yet.
    Settled(SlotEnd, Option<ToolId>),
    /// It ended, and something is still to be recorded.
    Ended(Box<Ended>),
    /// Its last attempt failed, and another one waited.
    Failed(Box<Attempted>),
    /// It runs, or ran when nobody was left to see.
    Running {
        /// Whether its teardown is recorded.
        torn: bool,
    },
    /// Authority was refused.
    Denied(Denier, String),
    /// This text stands for its result, as far as it was kept.
    Replaced(Option<Arc<str>>),
    /// It repeats this call.
    Duplicate(String),
    /// A hook blocked it, for a reason.
    Blocked(String, String),
    /// It asked again what had not been granted.
    Repeated,
    /// It goes through the guards again.
    Open(Box<Proposed>, Chain),
    /// It would, and its arguments were not kept.
    Lost,
}

/// A call that ended.
#[derive(Debug)]
pub struct Ended {
    /// The number of its end's entry.
    pub event: u64,
    /// What follows it.
    pub pending: Pending,
    /// What the model is shown.
    pub shown: Arc<str>,
    /// What of it is recorded.
    pub had: Had,
    /// Its tool.
    pub tool: ToolId,
    /// Hooks that should have watched it.
    pub unwatched: Vec<Arc<HookSpec>>,
}

/// What of a call's end is recorded already.
#[derive(Debug, Default)]
pub struct Had {
    /// Its verification.
    pub validated: bool,
    /// Artifacts, by id.
    pub artifacts: BTreeSet<String>,
    /// Its receipt.
    pub receipt: bool,
}

/// A call whose last attempt failed.
#[derive(Debug)]
pub struct Attempted {
    /// How.
    pub fault: Fault,
    /// Its tool.
    pub tool: ToolId,
    /// What the loop guard will remember of it.
    pub round: Option<Round>,
    /// Hooks that should have watched it.
    pub unwatched: Vec<Arc<HookSpec>>,
}

impl Turn {
    /// Goes on from where a journal ends.
    pub(super) fn resume(&mut self, from: Reopened, cx: &mut Lent<'_>) {
        cx.log.reopen(from.turn);
        self.message = from.message;
        self.envelope = from.envelope;
        self.provider = from.provider;
        self.direct = from.direct;
        self.round = from.round;
        self.words = from.words;
        self.steering = from.steering;
        self.stopped = from.stopped;
        self.warned = from.warned;
        self.ledger = from.ledger;
        self.rounds = from.rounds;
        self.started_calls = from.calls;
        self.activated = from.activated;
        self.phase = Phase::Preparing;
        let recorded = match from.at {
            Place::Beginning(recorded) => {
                self.begun(recorded, Some(from.since), cx);
                return self.go_on(Place::Between, from.cancelled, cx);
            }
            at => at,
        };
        self.limit(Some(from.since), cx);
        self.go_on(recorded, from.cancelled, cx);
    }

    fn go_on(&mut self, at: Place, cancelled: Option<(String, bool)>, cx: &mut Lent<'_>) {
        if let Place::Batch(batch) = at {
            return self.reopen_batch(*batch, cancelled, cx);
        }
        if let Some((cause, acknowledged)) = cancelled {
            return self.end_cancelled(cause, acknowledged, cx);
        }
        match at {
            Place::Word(text) => return self.said(text, cx),
            Place::Said => return self.after_words(cx),
            Place::Unanswered(fault) => return self.end(TurnEnd::ProviderFault(fault), cx),
            Place::Stopped(pattern) => return self.end(TurnEnd::LoopStopped(pattern), cx),
            Place::Beginning(_) | Place::Between | Place::Batch(_) => {}
        }
        if self.too_late(cx) {
            self.phase = Phase::Asking;
            return self.cancel(TOO_LATE, cx);
        }
        self.after_round(cx);
    }

    fn too_late(&self, cx: &mut Lent<'_>) -> bool {
        self.deadline.is_some_and(|at| cx.world.now() >= at)
    }

    fn acknowledge(&mut self, cause: String, acknowledged: bool, cx: &mut Lent<'_>) {
        if !acknowledged {
            let open = self.slots.iter().filter(|slot| !slot.stage.is_settled()).count();
            let open = Some(u32::try_from(open).unwrap_or(u32::MAX));
            cx.fact(CancelAcknowledged { open });
        }
        self.cancelled = Some(cause);
    }

    fn end_cancelled(&mut self, cause: String, acknowledged: bool, cx: &mut Lent<'_>) {
        self.acknowledge(cause.clone(), acknowledged, cx);
        self.end(TurnEnd::Cancelled(cause), cx);
    }

    fn reopen_batch(&mut self, batch: Batch, cancelled: Option<(String, bool)>, cx: &mut Lent<'_>) {
        let Batch { id, view, failures, activated, blocks, requests, slots } = batch;
        let message = Arc::clone(&self.message);
        let state = (&failures, &activated, &blocks);
        let compiled = cx.resolved.view(state, &message, cx.steps.may_expose);
        let same = view.is_none_or(|view| view == compiled.view.digest);
        self.view = Some(compiled);
        self.batch = id;
        for (call, fact) in requests {
            cx.call(&call, fact);
        }
        let (mut open, mut left) = (Vec::new(), Vec::new());
        for slot in slots {
            let call = Arc::clone(&slot.shown.call);
            let Reopening { shown, asked, unkept, left: what } = slot;
            let stage = Stage::Between;
            open.push(Slot { call, shown, stage, asked, rehearsal: None, unkept });
            left.push(what);
        }
        self.slots = Slots::for_batch(open);
        for (slot, left) in left.into_iter().enumerate() {
            self.reopen_slot(slot, left, same, cx);
        }
        if let Some((cause, acknowledged)) = cancelled {
            self.acknowledge(cause.clone(), acknowledged, cx);
            for slot in 0..self.slots.len() {
                self.cancel_slot(slot, &cause, cx);
            }
            self.phase = Phase::Running;
        } else if self.too_late(cx) {
            return self.cancel(TOO_LATE, cx);
        }
        self.advance(cx);
    }

    fn reopen_slot(&mut self, slot: usize, left: Left, same: bool, cx: &mut Lent<'_>) {
        let call = self.slots.call(slot);
        match left {
            Left::Settled(end, unpatched) => {
                self.slots.put(slot, Stage::Settled(end));
                if let Some(tool) = unpatched {
                    let count = cx.failures.get(&tool).copied().unwrap_or(1);
                    let patch = StatePatch::failures(&tool, count).into_value();
                    cx.call(&call, StateUpdated { patch });
                }
            }
            Left::Ended(ended) => {
                let Ended { event, pending, shown, had, tool, unwatched } = *ended;
                let end = self.record_pending(slot, event, (pending, shown, &had), cx);
                self.settle_unwatched(slot, end, (&tool, &unwatched), cx);
            }
            Left::Failed(attempted) => self.last_attempt(slot, *attempted, cx),
            Left::Running { torn } => {
                if !torn {
                    cx.call(&call, TornDown { how: Some(GONE.to_owned()) });
                }
                self.interrupt(slot, cx);
            }
            Left::Denied(by, why) => self.deny(slot, by, why, cx),
            Left::Replaced(text) => {
                let shown = text.unwrap_or_else(|| replaced_text("(it was not kept)").into());
                self.refuse(slot, Outcome::Replaced, &shown, cx);
            }
            Left::Duplicate(of) => {
                let shown = dropped_text(&of);
                self.refuse(slot, Outcome::Duplicate { of }, &shown, cx);
            }
            Left::Blocked(by, reason) => {
                let shown = blocked_text(&by, &reason);
                self.refuse(slot, Outcome::Blocked { by }, &shown, cx);
            }
            Left::Repeated => {
                let by = "repeated_prompt".to_owned();
                self.refuse(slot, Outcome::Blocked { by }, REPEATED, cx);
            }
            Left::Lost => {
                let cause = NOT_KEPT.to_owned();
                let shown = format!("not started: {cause}");
                self.refuse(slot, Outcome::Cancelled { cause }, &shown, cx);
            }
            Left::Open(..) if self.direct => {
                let cause = PROPOSER_GONE.to_owned();
                let shown = format!("not started: {cause}");
                self.refuse(slot, Outcome::Cancelled { cause }, &shown, cx);
            }
            Left::Open(..) if !same => {
                // Nothing that was seen under another view may be called under this one.
                let why = Unavailability::LeaseExpired;
                let shown = "not called: the tools have changed since; call it again if need be";
                self.refuse(slot, Outcome::Unavailable { why }, shown, cx);
            }
            Left::Open(proposed, chain) => self.slots.put(slot, Stage::Proposed(proposed, chain)),
        }
    }

    fn settle_unwatched(
        &mut self,
        slot: usize,
        end: SlotEnd,
        (tool, unwatched): (&ToolId, &[Arc<HookSpec>]),
        cx: &mut Lent<'_>,
    ) {
        let call = self.slots.call(slot);
        for spec in unwatched {
            let why = HookVerdict::Failed { why: GONE.to_owned() };
            record_hook(&call, spec, &why, cx);
        }
        self.settle(slot, end, cx);
        self.note_failure(slot, tool, cx);
    }

    /// The attempt that failed was the last one.
    fn last_attempt(&mut self, slot: usize, attempted: Attempted, cx: &mut Lent<'_>) {
        let Attempted { fault, tool, round, unwatched } = attempted;
        let call = self.slots.call(slot);
        self.ledger.ended(&call);
        self.rounds.extend(round);
        let unknown = ObservedEffects { method: "unknown".to_owned(), ..Default::default() };
        let finished = ToolCallFinished {
            effects: Some(unknown),
            fault: Some(fault.clone()),
            ..ToolCallFinished::new("failed".to_owned())
        };
        cx.call(&call, finished);
        let summary = Some("the tool failed".to_owned());
        cx.call(
            &call,
            ToolResultValidated { summary, ..ToolResultValidated::new("failed".into()) },
        );
        let limit = cx.resolved.knobs.max_tool_result_chars;
        let text = format!("error {}: {}", fault.code, fault.message);
        let shown = (cx.steps.preview)(&text, "", limit);
        let outcome = Outcome::Failed { fault };
        let end = SlotEnd { outcome, shown: shown.text.into(), cut: shown.cut, name: None };
        self.settle_unwatched(slot, end, (&tool, &unwatched), cx);
    }
}
