//! Ready calls start, run, end, are torn down, tried again; and what a cancellation leaves of them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cancel::{dropped, late};
use super::control::Round;
use super::machine::{Effect, Lent, Phase, Turn};
use super::reopen::Had;
use super::schedule::Batch;
use super::slots::{SlotEnd, Stage, Teardown, Ticket};
use crate::base::digest::Digest;
use crate::journal::event::call::{
    ArtifactPersisted, AttemptFailed, Check, ToolActivated, ToolCallSettled, ToolCallStarted,
    TornDown,
};
use crate::journal::event::turn::{DispatchPlanned, StateUpdated};
use crate::journal::outcome::{Blame, Denier, Fault};
use crate::journal::receipt::Scope;
use crate::journal::{Blobs, Outcome};
use crate::runtime::catalog::Registered;
use crate::runtime::credential::hash;
use crate::runtime::evidence::pending::{self, Pending};
use crate::runtime::evidence::settle::{Settling, logged, settle};
use crate::runtime::exec::{Ran, Ready};
use crate::runtime::guard::repeat::key;
use crate::runtime::guard::{HookCall, HookSpec, Point};
use crate::runtime::state::StatePatch;
use crate::runtime::view::activation::is_search;
use crate::tool::id::ToolId;

impl Turn {
    /// Plans; called when every slot is settled or ready.
    pub(super) fn dispatch(&mut self, cx: &mut Lent<'_>) {
        self.phase = Phase::Running;
        let queued = |stage: &Stage| matches!(stage, Stage::Queued(_));
        let ready: Vec<&Arc<str>> =
            self.slots.iter().filter(|slot| queued(&slot.stage)).map(|slot| &slot.call).collect();
        if ready.is_empty() {
            return;
        }
        let search = self.slots.iter().any(|slot| match &slot.stage {
            Stage::Queued(ready) => is_search(ready.permitted().validated().resolved().tool()),
            _ => false,
        });
        let asked = self.slots.iter().any(|slot| slot.asked);
        let batch = Batch { ready: ready.len(), asked, search };
        let calls = ready.into_iter().map(ToString::to_string).collect();
        let plan = (cx.steps.plan_dispatch)(&batch, &cx.resolved.knobs);
        cx.fact(DispatchPlanned {
            batch: self.batch.clone(),
            mode: plan.mode().to_owned(),
            reason: plan.reason.to_owned(),
            calls,
        });
        self.plan = Some(plan);
    }

    /// Starts what may start now.
    pub(super) fn start_ready(&mut self, cx: &mut Lent<'_>) {
        let parallel = self.plan.as_ref().is_some_and(|plan| plan.parallel);
        let first = self.slots.first_open();
        for slot in first..self.slots.len() {
            let open = |stage: &Stage| !stage.is_out();
            match &self.slots.get(slot).stage {
                Stage::Queued(ready) => {
                    let tool = ready.permitted().validated().resolved().tool();
                    let blocked = self.slots.iter().take(slot).skip(first).any(|earlier| {
                        open(&earlier.stage)
                            && (!parallel || self.clashes(&earlier.stage, tool, cx))
                    });
                    if blocked {
                        if parallel {
                            continue;
                        }
                        return;
                    }
                    self.start(slot, cx);
                }
                stage if !parallel && open(stage) => return,
                _ => {}
            }
        }
    }

    /// Whether what an earlier call may touch, and a tool, may not run at the same time.
    fn clashes(&self, earlier: &Stage, tool: &Arc<Registered>, cx: &Lent<'_>) -> bool {
        let other = match earlier {
            Stage::Queued(ready)
            | Stage::Rechecking(ready)
            | Stage::Reviewing(ready, _)
            | Stage::Running { ready, .. }
            | Stage::Aborting { ready, .. }
            | Stage::Backoff { ready, .. } => ready,
            _ => return false,
        };
        let other = self.reach(other.permitted().validated().resolved().tool(), cx);
        let own = self.reach(tool, cx);
        other.iter().any(|one| own.iter().any(|two| (cx.steps.conflict)(one, two)))
    }

    /// The last look before the start: is the word still good, did the file change, did the same
    /// call run meanwhile.
    fn start(&mut self, slot: usize, cx: &mut Lent<'_>) {
        let Stage::Queued(ready) = self.slots.take(slot) else { return };
        let tool = Arc::clone(ready.permitted().validated().resolved().tool());
        if self.bars(slot, tool.id(), cx) {
            return;
        }
        let now = cx.world.now();
        if let Err((by, why)) = (cx.steps.still_permitted)(&ready, cx.grants, now) {
            return self.deny(slot, by, why.to_owned(), cx);
        }
        if self.repeats(slot, ready.permitted().validated(), cx) {
            return;
        }
        if let Some(reason) = self.spent_too_much(slot, cx) {
            return self.deny(slot, Denier::Budget, reason, cx);
        }
        let operands = self.operands(ready.permitted().validated());
        if !operands.is_empty() && self.slots.get(slot).asked {
            let ticket = self.ticket(slot, 1);
            self.slots.put(slot, Stage::Rechecking(ready));
            self.out.push(Effect::Inspect(ticket, operands));
            return;
        }
        self.review(slot, (ready, None), cx);
    }

    /// The file was read again: another content is not what was approved.
    pub(super) fn rechecked(
        &mut self,
        slot: usize,
        ready: Arc<Ready>,
        operand: Option<Digest>,
        cx: &mut Lent<'_>,
    ) {
        let tool = Arc::clone(ready.permitted().validated().resolved().tool());
        if self.bars(slot, tool.id(), cx) {
            return;
        }
        if (cx.steps.same_operand)(ready.permitted().validated(), operand) {
            return self.review(slot, (ready, operand), cx);
        }
        let why = "the file is not any more as it was when the call was approved".to_owned();
        self.deny(slot, Denier::ApprovalMismatch, why, cx);
    }

    pub(super) fn launch(
        &mut self,
        slot: usize,
        (ready, attempt): (Arc<Ready>, u32),
        operand: Option<Digest>,
        cx: &mut Lent<'_>,
    ) {
        let call = self.slots.call(slot);
        let validated = ready.permitted().validated();
        let tool = Arc::clone(validated.resolved().tool());
        // What is recorded is what was found just now, and not what was approved.
        let call_digest = operand.map_or(validated.call_digest(), |it| validated.digest_with(it));
        let effects = &tool.descriptor.effects;
        let names = |list: &[crate::tool::effect::ResourcePattern]| {
            list.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let fact = ToolCallStarted {
            tool_id: Some(tool.id().clone()),
            tool_version: Some(tool.version),
            attempt: Some(attempt),
            args_digest: Some(validated.args_digest()),
            call_digest: Some(call_digest),
            effect_class: Some(tool.class),
            adapter: Some(tool.descriptor.execution.adapter.clone()),
            command: ready.command_line().map(|line| cx.redact(&line)),
            idempotency_key: ready.idempotency_key().map(str::to_owned),
            marker: ready.is_marked(),
            reads: names(&effects.reads),
            writes: [names(&effects.writes), names(&effects.deletes)].concat(),
            verifiers: tool.descriptor.hooks.verifier.clone(),
            rehearsal: self.slots.get(slot).rehearsal.as_deref().map(Blobs::name),
        };
        cx.call(&call, fact);
        self.ledger.started(&call);
        let deadline = cx.world.now().saturating_add(ready.plan().timeout_ms + GRACE_MS);
        let ticket = self.ticket(slot, attempt);
        self.slots.put(slot, Stage::Running { ready: Arc::clone(&ready), attempt, deadline });
        if let Some(view) = self.view.clone() {
            let effect = match self.hand_over(&ticket, (&ready, &view), cx) {
                Some(request) => Effect::Delegate(ticket, Box::new(request)),
                None => Effect::Start(ticket, ready, Self::searched(view, cx)),
            };
            self.out.push(effect);
        }
        self.out.push(Effect::Wake(deadline));
    }

    /// A call ended by itself.
    pub(super) fn finished(&mut self, ticket: &Ticket, ran: Ran, cx: &mut Lent<'_>) {
        if !self.runs(ticket) {
            if self.current(ticket) && self.slots.get(ticket.slot).stage.is_looked_at() {
                let fact = dropped(Some(&ran), cx);
                return self.again.push((Arc::clone(&ticket.call), fact));
            }
            return late(ticket, Some(&ran), cx);
        }
        let (Stage::Running { ready, attempt, .. } | Stage::Aborting { ready, attempt, .. }) =
            self.slots.take(ticket.slot)
        else {
            return;
        };
        self.ended(ticket.slot, (ready, attempt), ran, cx);
        self.advance(cx);
    }

    /// Whether a ticket names an attempt that has not ended.
    pub(super) fn runs(&self, ticket: &Ticket) -> bool {
        self.current(ticket)
            && matches!(
                &self.slots.get(ticket.slot).stage,
                Stage::Running { attempt, .. } | Stage::Aborting { attempt, .. }
                    if *attempt == ticket.attempt
            )
    }

    /// Tries again, or settles.
    fn ended(
        &mut self,
        slot: usize,
        (ready, attempt): (Arc<Ready>, u32),
        ran: Ran,
        cx: &mut Lent<'_>,
    ) {
        let call = self.slots.call(slot);
        let tool = Arc::clone(ready.permitted().validated().resolved().tool());
        let (now, open) = (cx.world.now(), self.cancelled.is_none());
        // A service that did not take a credential did nothing: it is asked once more with a new
        // one.
        let renews =
            ran.unauthorized && attempt == 1 && cx.resolved.broker.renews(&tool.descriptor);
        let again = ran.fault.as_ref().filter(|_| open).and_then(|fault| {
            let at = (cx.steps.retry)(&tool, fault, attempt, now).or(renews.then_some(now));
            at.map(|at| (at, fault.clone()))
        });
        if let Some((at, fault)) = again {
            let fault = logged(&tool, Fault { message: cx.redact(&fault.message), ..fault });
            let session = Arc::clone(cx.log.session());
            let obtained = ran.obtained.iter().map(|value| hash(&session, value)).collect();
            let (retry_at, base) = (Some(at), AttemptFailed::new(attempt, fault));
            let fact = AttemptFailed { retry_at, obtained, ..base };
            cx.call(&call, fact);
            self.out.push(Effect::Wake(at));
            let ran = Box::new(ran);
            return self.slots.put(slot, Stage::Backoff { ready, attempt, at, ran });
        }
        self.conclude(slot, ready, ran, cx);
    }

    /// A call has its result, and its verifiers have looked at it.
    pub(super) fn concluded(
        &mut self,
        slot: usize,
        (ready, ran): (Arc<Ready>, Ran),
        checks: &[Check],
        cx: &mut Lent<'_>,
    ) {
        let call = self.slots.call(slot);
        self.ledger.ended(&call);
        let found = ran.activates.clone();
        let turn = cx.log.turn().cloned().unwrap_or_default();
        let session = Arc::clone(cx.log.session());
        let settling = Settling {
            redact: cx.steps.redact,
            mask: cx.steps.mask,
            checks,
            preview: cx.steps.preview,
            receipt_eligible: cx.steps.receipt_eligible,
            secrets: cx.secrets,
            key: cx.resolved.receipt_key.as_ref(),
            max_tool_result_chars: cx.resolved.knobs.max_tool_result_chars,
            scope: Scope { session: &session, turn: &turn, call: &call },
            now: cx.world.now(),
        };
        let settled = settle(&ready, ran, settling);
        let validated = ready.permitted().validated();
        let tool = validated.resolved().tool();
        let result = settled.finished.result_digest.unwrap_or_else(|| Digest::of("result", b""));
        if !cx.resolved.is_polling(tool) {
            self.rounds.push(Round::ran(key(validated), tool.id().clone(), result));
        }
        let query = validated.args().get("query").and_then(serde_json::Value::as_str);
        let search = (found, query.map(str::to_owned));
        if settled.finished.unlogged {
            cx.log.hush_result(&call);
        }
        let shown = Arc::clone(&settled.shown);
        let kept = (&*call, cx.log.keep_result(&call, &shown));
        let (finished, pending) = pending::keep(settled, search, kept, &mut cx.log.journal);
        let event = cx.call(&call, finished);
        for (_, fact) in self.again.extract_if(.., |(of, _)| *of == call) {
            cx.call(&call, fact);
        }
        let end = self.record_pending(slot, event, (pending, shown, &Had::default()), cx);
        let hooks = &tool.descriptor.hooks;
        let mut left: VecDeque<Arc<HookSpec>> =
            cx.resolved.hooks.global(Point::AfterCall).collect();
        left.extend(cx.resolved.hooks.own(Point::AfterCall, &hooks.post_call));
        if matches!(end.outcome, Outcome::Failed { .. }) {
            left.extend(cx.resolved.hooks.global(Point::OnError));
            left.extend(cx.resolved.hooks.own(Point::OnError, &hooks.on_error));
        }
        let looked = u32::try_from(checks.len()).unwrap_or(u32::MAX);
        self.observe(slot, end, (ready, left, looked), cx);
    }

    /// Records what follows the end of a call, as far as it is not recorded yet.
    pub(super) fn record_pending(
        &mut self,
        slot: usize,
        event: u64,
        (pending, shown, had): (Pending, Arc<str>, &Had),
        cx: &mut Lent<'_>,
    ) -> SlotEnd {
        let call = self.slots.call(slot);
        if !had.validated {
            cx.call(&call, pending.validated);
        }
        for one in pending.artifacts {
            if !had.artifacts.contains(&one.artifact_id) {
                cx.call(&call, ArtifactPersisted { event_id: Some(event), ..one });
            }
        }
        if let Some(receipt) = pending.receipt.filter(|_| !had.receipt) {
            cx.call(&call, receipt);
        }
        if pending.outcome == Outcome::Succeeded {
            self.activate(slot, &pending.found, pending.query.as_deref(), cx);
        }
        SlotEnd { outcome: pending.outcome, shown, cut: pending.cut, name: Some(pending.shown) }
    }

    /// What a search found can be called from the next request on. It grants nothing: policy has
    /// its say then as ever.
    fn activate(&mut self, slot: usize, found: &[ToolId], query: Option<&str>, cx: &mut Lent<'_>) {
        let free = |id: &&ToolId| !(cx.steps.is_blocked)(cx.blocks, id);
        let found: Vec<ToolId> = found.iter().filter(free).cloned().collect();
        let Some(compiled) = self.view.clone().filter(|_| !found.is_empty()) else { return };
        for tool_id in (cx.steps.activate)(&mut self.activated, &found, &compiled.view) {
            let query = query.map(str::to_owned);
            cx.call(&self.slots.call(slot), ToolActivated { tool_id, query });
        }
    }

    /// The next watching hook, or the end.
    pub(super) fn observe(
        &mut self,
        slot: usize,
        end: SlotEnd,
        (ready, left, ran): (Arc<Ready>, VecDeque<Arc<HookSpec>>, u32),
        cx: &mut Lent<'_>,
    ) {
        let Some(spec) = left.front() else {
            self.settle(slot, end, cx);
            return self.note_failure(
                slot,
                ready.permitted().validated().resolved().tool().id(),
                cx,
            );
        };
        let validated = ready.permitted().validated();
        let given = (end.outcome.name(), Arc::clone(&end.shown));
        let call = HookCall::after(spec, self.slots.call(slot), validated, given);
        let ran = ran + 1;
        let ticket = self.ticket(slot, ran);
        self.slots.put(slot, Stage::Observing { end, ready, left, ran });
        self.out.push(Effect::RunHook(ticket, Box::new(call)));
    }

    /// A failure is part of the state that the next view looks at.
    pub(super) fn note_failure(&mut self, slot: usize, tool: &ToolId, cx: &mut Lent<'_>) {
        let failed = match &self.slots.get(slot).stage {
            Stage::Settled(end) => matches!(end.outcome, Outcome::Failed { .. }),
            _ => false,
        };
        if !failed {
            return;
        }
        let count = cx.failures.entry(tool.clone()).or_default();
        *count += 1;
        let patch = StatePatch::failures(tool, *count).into_value();
        cx.call(&self.slots.call(slot), StateUpdated { patch });
    }

    /// Everything of a call is gone.
    pub(super) fn torn_down(&mut self, ticket: &Ticket, how: String, cx: &mut Lent<'_>) {
        let aborting = self.current(ticket)
            && matches!(
                &self.slots.get(ticket.slot).stage,
                Stage::Aborting { attempt, .. } if *attempt == ticket.attempt
            );
        if !aborting {
            return late(ticket, None, cx);
        }
        let Stage::Aborting { ready, attempt, why } = self.slots.take(ticket.slot) else { return };
        cx.call(&ticket.call, TornDown { how: Some(how) });
        if why == Teardown::Deadline {
            let message = format!("no end after {} ms", ready.plan().timeout_ms);
            let ran = Ran::failed(Blame::Tool, "timeout", message);
            self.ended(ticket.slot, (ready, attempt), ran, cx);
        } else {
            self.interrupt(ticket.slot, cx);
        }
        self.advance(cx);
    }

    /// It had started, and nobody can say any more what became of it.
    pub(super) fn interrupt(&mut self, slot: usize, cx: &mut Lent<'_>) {
        let shown: Arc<str> = Arc::from("interrupted: it had started, its outcome is unknown");
        let end = SlotEnd { outcome: Outcome::Interrupted, shown, cut: false, name: None };
        self.settle_bounded(slot, end, cx);
    }

    pub(super) fn settle_bounded(&mut self, slot: usize, end: SlotEnd, cx: &mut Lent<'_>) {
        let limit = cx.resolved.knobs.max_tool_result_chars;
        let shown = (cx.steps.preview)(&end.shown, "", limit);
        self.settle(
            slot,
            SlotEnd { shown: shown.text.into(), cut: shown.cut, name: None, ..end },
            cx,
        );
    }

    /// Settles a slot and records it; every path of every call ends here.
    pub(super) fn settle(&mut self, slot: usize, end: SlotEnd, cx: &mut Lent<'_>) {
        let name =
            end.name.unwrap_or_else(|| cx.log.keep_result(&self.slots.call(slot), &end.shown));
        let fact = ToolCallSettled {
            outcome: end.outcome.clone(),
            shown_chars: Some(end.shown.chars().count() as u64),
            shown: Some(name),
            cut: end.cut,
        };
        cx.call(&self.slots.call(slot), fact);
        self.slots.put(slot, Stage::Settled(end));
    }
}

/// Beyond a tool's own time limit, before the machine tears it down itself: adapters end their own
/// work first, and keep what it left.
const GRACE_MS: u64 = 1_000;
