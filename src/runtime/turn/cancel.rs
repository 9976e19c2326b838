//! What a cancellation, a stopped loop and the clock do to calls, and what becomes of results that
//! come too late.

use super::machine::{Effect, Lent, Phase, Turn, TurnEnd};
use super::prepare::record_hook;
use super::schedule::OnCancel;
use super::slots::{Stage, Teardown, Ticket};
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::Outcome;
use crate::journal::event::call::LateResultDropped;
use crate::journal::event::turn::{CancelAcknowledged, CancelRequested};
use crate::runtime::exec::Ran;
use crate::runtime::guard::HookVerdict;

/// Why calls of a stopped loop never start.
pub const LOOP_STOPPED: &str = "the loop was stopped";

/// Why nothing starts once a turn's time is up.
pub(super) const TOO_LATE: &str = "the turn's deadline has passed";

impl Turn {
    /// Somebody wants the turn to end: nothing starts from here on.
    pub(super) fn cancel(&mut self, cause: &str, cx: &mut Lent<'_>) {
        if self.phase == Phase::Ended || self.phase == Phase::Idle || self.cancelled.is_some() {
            return;
        }
        let cause = cx.redact(cause);
        cx.fact(CancelRequested { cause: cause.clone() });
        let open = self.slots.iter().filter(|slot| !slot.stage.is_settled()).count();
        let open = Some(u32::try_from(open).unwrap_or(u32::MAX));
        cx.fact(CancelAcknowledged { open });
        self.cancelled = Some(cause.clone());
        if self.phase == Phase::Asking {
            self.out.push(Effect::AbandonAsk);
            return self.end(TurnEnd::Cancelled(cause), cx);
        }
        for slot in 0..self.slots.len() {
            self.cancel_slot(slot, &cause, cx);
        }
        self.phase = Phase::Running;
        self.advance(cx);
    }

    pub(super) fn cancel_slot(&mut self, slot: usize, cause: &str, cx: &mut Lent<'_>) {
        match (cx.steps.on_cancel)(&self.slots.get(slot).stage) {
            OnCancel::Close => self.close(slot, cause, cx),
            OnCancel::Abort => {
                if let Stage::Running { ready, attempt, .. } = self.slots.take(slot) {
                    let why = Teardown::Cancelled;
                    self.out.push(Effect::Abort(self.ticket(slot, attempt)));
                    self.slots.put(slot, Stage::Aborting { ready, attempt, why });
                }
            }
            OnCancel::Keep => self.keep(slot, cx),
        }
    }

    /// What has a result keeps it: a failed attempt is not tried again, hooks are not waited for.
    fn keep(&mut self, slot: usize, cx: &mut Lent<'_>) {
        match &self.slots.get(slot).stage {
            Stage::Backoff { .. } => {
                if let Stage::Backoff { ready, ran, .. } = self.slots.take(slot) {
                    self.conclude(slot, ready, *ran, cx);
                    self.keep(slot, cx);
                }
            }
            Stage::Verifying { .. } => {
                if let Stage::Verifying { ready, ran, left, checks } = self.slots.take(slot) {
                    self.out.push(Effect::Abort(self.verifying(slot, &checks)));
                    self.unlooked(slot, (ready, ran, left), checks, cx);
                    self.keep(slot, cx);
                }
            }
            Stage::Observing { .. } => {
                if let Stage::Observing { end, ready, left, ran } = self.slots.take(slot) {
                    self.out.push(Effect::Abort(self.ticket(slot, ran)));
                    let call = self.slots.call(slot);
                    let why = HookVerdict::Failed { why: "the turn was cancelled".to_owned() };
                    if let Some(spec) = left.front() {
                        record_hook(&call, spec, &why, cx);
                    }
                    self.settle(slot, end, cx);
                    let tool = ready.permitted().validated().resolved().tool();
                    self.note_failure(slot, tool.id(), cx);
                }
            }
            _ => {}
        }
    }

    /// A call that never starts because the turn ends.
    fn close(&mut self, slot: usize, cause: &str, cx: &mut Lent<'_>) {
        match &self.slots.get(slot).stage {
            Stage::Asking(_, request) => self.out.push(Effect::Withdraw(request.id.clone())),
            Stage::Hooking(_, chain) => {
                let ticket = self.ticket(slot, chain.ran);
                self.out.push(Effect::Abort(ticket));
            }
            Stage::Inspecting(_) | Stage::Rehearsing(_) => {
                self.out.push(Effect::Abort(self.ticket(slot, 0)));
            }
            Stage::Rechecking(_) | Stage::Reviewing(..) => {
                self.out.push(Effect::Abort(self.ticket(slot, 1)));
            }
            _ => {}
        }
        let shown = format!("not started: {cause}");
        self.refuse(slot, Outcome::Cancelled { cause: cause.to_owned() }, &shown, cx);
    }

    /// The loop stopped: what has not started never will.
    pub(super) fn close_unstarted(&mut self, cx: &mut Lent<'_>) {
        let cause = LOOP_STOPPED;
        for slot in 0..self.slots.len() {
            let stage = &self.slots.get(slot).stage;
            if !stage.is_settled() && !stage.is_live() {
                self.close(slot, cause, cx);
            }
        }
    }

    /// A time has come: questions expire, attempts are made again, running calls are torn down.
    pub(super) fn elapsed(&mut self, cx: &mut Lent<'_>) {
        if self.phase == Phase::Ended || self.phase == Phase::Idle {
            return;
        }
        let now = cx.world.now();
        if self.deadline.is_some_and(|at| now >= at) && self.cancelled.is_none() {
            return self.cancel(TOO_LATE, cx);
        }
        self.expire(cx);
        for slot in 0..self.slots.len() {
            self.wake(slot, now, cx);
        }
        self.advance(cx);
    }

    fn wake(&mut self, slot: usize, now: Millis, cx: &mut Lent<'_>) {
        match &self.slots.get(slot).stage {
            Stage::Backoff { at, .. } if now >= *at => {
                if let Stage::Backoff { ready, attempt, ran, .. } = self.slots.take(slot) {
                    // A further attempt needs its authority as much as the first one did.
                    let tool = ready.permitted().validated().resolved().tool();
                    let blocked = (cx.steps.is_blocked)(cx.blocks, tool.id());
                    match (cx.steps.still_permitted)(&ready, cx.grants, now) {
                        Ok(()) if !blocked && self.spent_too_much(slot, cx).is_none() => {
                            self.launch(slot, (ready, attempt + 1), None, cx)
                        }
                        _ => self.conclude(slot, ready, *ran, cx),
                    }
                }
            }
            Stage::Running { deadline, .. } if now >= *deadline => {
                if let Stage::Running { ready, attempt, .. } = self.slots.take(slot) {
                    let why = Teardown::Deadline;
                    self.out.push(Effect::Abort(self.ticket(slot, attempt)));
                    self.slots.put(slot, Stage::Aborting { ready, attempt, why });
                }
            }
            _ => {}
        }
    }
}

/// A result that belongs to nothing any more: a fact, and nothing else.
pub(super) fn late(ticket: &Ticket, ran: Option<&Ran>, cx: &mut Lent<'_>) {
    let fact = dropped(ran, cx);
    cx.call(&ticket.call, fact);
}

/// What is recorded of a result that is late.
pub(super) fn dropped(ran: Option<&Ran>, cx: &Lent<'_>) -> LateResultDropped {
    let digest = ran.map(|ran| {
        let output = cx.redact(&ran.output);
        Digest::of("result", output.as_bytes())
    });
    LateResultDropped { result_digest: digest }
}
