//! One slot per proposed call, fixed when the reply is parsed. A slot is settled exactly once.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::Outcome;
use crate::journal::event::call::Check;
use crate::runtime::dialect::Proposed;
use crate::runtime::dialect::transcript::AssistantCall;
use crate::runtime::exec::{Ran, Ready};
use crate::runtime::guard::{ApprovalRequest, HookSpec, Validated};
use crate::runtime::policy::Judgement;

/// The end of one call, as the transcript will show it.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotEnd {
    /// The outcome.
    pub outcome: Outcome,
    /// What the model is shown.
    pub shown: Arc<str>,
    /// Whether the middle of it was cut.
    pub cut: bool,
    /// The name of what is shown, where it is kept already.
    pub name: Option<Digest>,
}

/// What a driver must name in its answer: this slot of this reply, in this attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket {
    /// The slot.
    pub slot: usize,
    /// The reply of the turn, from 1.
    pub round: u32,
    /// The attempt, from 1; for hooks, the number of the hook's run.
    pub attempt: u32,
    /// The call.
    pub call: Arc<str>,
}

/// Hooks that still have to see a call.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    /// Still to run, in order.
    pub left: VecDeque<Arc<HookSpec>>,
    /// The descriptor's own hooks that ran already, by name.
    pub own: Vec<String>,
    /// How many ran.
    pub ran: u32,
}

/// Why a running call is torn down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teardown {
    /// The turn was cancelled.
    Cancelled,
    /// Its time was up.
    Deadline,
}

/// Where a call stands.
#[derive(Debug)]
pub enum Stage {
    /// Not looked at yet, or between two hooks.
    Proposed(Box<Proposed>, Chain),
    /// A hook is looking at it.
    Hooking(Box<Proposed>, Chain),
    /// The file it would run is being read.
    Inspecting(Box<Validated>),
    /// What it would do is being found out.
    Rehearsing(Box<(Validated, Judgement, bool)>),
    /// A person is asked.
    Asking(Box<Validated>, Box<ApprovalRequest>),
    /// It can start.
    Queued(Arc<Ready>),
    /// The file it will run is being read again.
    Rechecking(Arc<Ready>),
    /// What it would do is being found out again.
    Reviewing(Arc<Ready>, Option<Digest>),
    /// It runs.
    Running {
        /// The call.
        ready: Arc<Ready>,
        /// The attempt, from 1.
        attempt: u32,
        /// When its time is up.
        deadline: Millis,
    },
    /// It is being torn down.
    Aborting {
        /// The call.
        ready: Arc<Ready>,
        /// The attempt.
        attempt: u32,
        /// Why.
        why: Teardown,
    },
    /// An attempt failed; the next one waits.
    Backoff {
        /// The call.
        ready: Arc<Ready>,
        /// The attempt that failed.
        attempt: u32,
        /// When the next may start.
        at: Millis,
        /// What it left.
        ran: Box<Ran>,
    },
    /// It ended; verifiers look at its result.
    Verifying {
        /// The call.
        ready: Arc<Ready>,
        /// Its result.
        ran: Box<Ran>,
        /// Verifiers still to run.
        left: VecDeque<Arc<HookSpec>>,
        /// What was found.
        checks: Vec<Check>,
    },
    /// It ended; hooks watch.
    Observing {
        /// Its end.
        end: SlotEnd,
        /// The call, for the hooks.
        ready: Arc<Ready>,
        /// Hooks still to run.
        left: VecDeque<Arc<HookSpec>>,
        /// How many ran.
        ran: u32,
    },
    /// Its tool waits behind a search of the same reply: it cannot be called yet, and what it is
    /// told depends on what the search finds.
    Held(Box<Proposed>),
    /// It has its one outcome.
    Settled(SlotEnd),
    /// Being moved from one stage to the next.
    Between,
}

impl Stage {
    /// Whether it has begun to run and has not ended.
    pub fn is_live(&self) -> bool {
        matches!(
            self,
            Self::Running { .. }
                | Self::Aborting { .. }
                | Self::Backoff { .. }
                | Self::Verifying { .. }
                | Self::Observing { .. }
        )
    }

    /// Whether verifiers look at its result.
    pub fn is_looked_at(&self) -> bool {
        matches!(self, Self::Verifying { .. })
    }

    /// Whether it stands in nobody's way.
    pub fn is_out(&self) -> bool {
        matches!(self, Self::Settled(_) | Self::Held(_))
    }

    /// Whether it has its outcome.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Settled(_))
    }
}

/// One call of a reply.
#[derive(Debug)]
pub struct Slot {
    /// The call.
    pub call: Arc<str>,
    /// As the transcript will show it: the final name and arguments.
    pub shown: AssistantCall,
    /// Where it stands.
    pub stage: Stage,
    /// Whether a person was asked about it.
    pub asked: bool,
    /// What it would do, as whoever was asked was shown it.
    pub rehearsal: Option<Arc<str>>,
    /// Digest of its arguments, where they are not known any more.
    pub unkept: Option<Digest>,
}

/// The calls of a reply, in model order.
#[derive(Debug, Default)]
pub struct Slots {
    slots: Vec<Slot>,
    /// So many at the front are settled, and stay so: nothing is looked for among them.
    done: usize,
}

impl Slots {
    /// One open slot per call, in model order.
    pub fn for_batch(slots: Vec<Slot>) -> Self {
        let mut slots = Self { slots, done: 0 };
        slots.pass();
        slots
    }

    fn pass(&mut self) {
        let settled = |slot: &Slot| slot.stage.is_settled();
        self.done += self.slots[self.done..].iter().take_while(|slot| settled(slot)).count();
    }

    /// The number of the first slot that is not settled; how many there are when all are.
    pub fn first_open(&self) -> usize {
        self.done
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }

    /// The call of a slot.
    pub fn call(&self, slot: usize) -> Arc<str> {
        Arc::clone(&self.slots[slot].call)
    }

    /// One of them.
    pub fn get(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    /// One of them, to be moved on.
    pub fn get_mut(&mut self, slot: usize) -> &mut Slot {
        &mut self.slots[slot]
    }

    /// Takes a slot's stage, to put the next one in its place.
    pub fn take(&mut self, slot: usize) -> Stage {
        std::mem::replace(&mut self.slots[slot].stage, Stage::Between)
    }

    /// Moves a slot on.
    ///
    /// # Panics
    /// When it is settled already: a bug of ours, never input.
    pub fn put(&mut self, slot: usize, stage: Stage) {
        let place = &mut self.slots[slot].stage;
        assert!(!place.is_settled(), "slot {slot} is settled twice");
        *place = stage;
        self.pass();
    }

    /// Puts back what was taken by mistake.
    pub fn put_back(&mut self, slot: usize, stage: Stage) {
        self.slots[slot].stage = stage;
    }

    /// The first slot that is not settled and of which something holds.
    pub fn find(&self, holds: impl Fn(&Stage) -> bool) -> Option<usize> {
        let holds = |slot: &Slot| !slot.stage.is_settled() && holds(&slot.stage);
        Some(self.done + self.slots[self.done..].iter().position(holds)?)
    }

    /// Whether all have their outcome.
    pub fn all_settled(&self) -> bool {
        self.done == self.slots.len()
    }

    /// Takes all ends in an order of slots, with their calls.
    ///
    /// # Panics
    /// When a slot is still open: a bug of ours, never input.
    pub fn drain(&mut self, order: &[usize]) -> Vec<(Arc<str>, SlotEnd)> {
        assert!(self.all_settled(), "a slot is still open");
        let mut slots: Vec<Option<Slot>> =
            std::mem::take(self).slots.into_iter().map(Some).collect();
        let taken = order.iter().filter_map(|index| slots.get_mut(*index)?.take());
        taken
            .filter_map(|slot| match slot.stage {
                Stage::Settled(end) => Some((slot.call, end)),
                _ => None,
            })
            .collect()
    }
}
