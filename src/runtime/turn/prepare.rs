//! One proposed call through the guards, in the one order there is: hooks, resolve, marker,
//! delivery, validate, operand, policy and intent, duplicate, grant, repeat, approval, credential
//! and sandbox. Approval does not hold up the calls behind it; a hook does.

use std::sync::Arc;

use super::machine::{Effect, Lent, Phase, Turn};
use super::pin::pin;
use super::slots::{Chain, Slot, SlotEnd, Slots, Stage, Ticket};
use crate::base::digest::Digest;
use crate::journal::Outcome;
use crate::journal::event::call::{
    HookRan, ToolArgsValidated, ToolCallRequested, ToolCallRewritten,
};
use crate::journal::event::turn::BatchOpened;
use crate::journal::outcome::{Denier, Unavailability};
use crate::runtime::dialect::proposed::scrub;
use crate::runtime::dialect::transcript::AssistantCall;
use crate::runtime::dialect::{Arguments, Proposed, RawCall};
use crate::runtime::guard::{HookCall, HookSpec, HookVerdict, Point, Resolved};
use crate::tool::schema::ArgumentError;

impl Turn {
    /// Fixes one slot per call, before anything else happens.
    pub(super) fn open_batch(&mut self, text: Arc<str>, calls: Vec<RawCall>, cx: &mut Lent<'_>) {
        // Nothing of a reply is recorded or rendered before it is scrubbed: names and ids too.
        let clean = |raw: RawCall| RawCall {
            id: raw.id.as_deref().map(|text| cx.redact_known(text)),
            name: cx.redact_known(&raw.name),
            arguments: cx.redact_known(&raw.arguments),
            ..raw
        };
        let calls: Vec<RawCall> = calls.into_iter().map(clean).collect();
        let ids = pin(&calls, cx.transcript, cx.world);
        self.batch = cx.world.next_id("b");
        self.words = text;
        let chain = Chain {
            left: cx.resolved.hooks.global(Point::BeforeCall).collect(),
            ..Chain::default()
        };
        let (mut slots, mut facts) = (Vec::new(), Vec::new());
        for ((index, raw), call) in (0..).zip(calls).zip(ids) {
            let arguments = raw.read().scrubbed(&|text: &str| cx.redact_known(text));
            let one = Proposed {
                call: Arc::clone(&call),
                provider_id: raw.id,
                name: raw.name,
                arguments,
                index,
                origin: raw.origin,
            };
            if !self.logs_args(&one.name) {
                cx.log.hush();
            }
            facts.push((Arc::clone(&call), self.requested(&one)));
            let shown = assistant_call(&one);
            let stage = Stage::Proposed(Box::new(one), chain.clone());
            slots.push(Slot { call, shown, stage, asked: false, rehearsal: None, unkept: None });
        }
        let names = slots.iter().map(|slot| slot.call.to_string()).collect();
        self.slots = Slots::for_batch(slots);
        // Facts are plain data: writing them to memory cannot fail.
        let requests = serde_json::to_string(&facts).unwrap_or_default();
        let requests = Some(cx.log.journal.put_blob(requests.into()));
        cx.fact(BatchOpened { batch: self.batch.clone(), slots: names, requests });
        for (call, fact) in facts {
            cx.call(&call, fact);
        }
        self.phase = Phase::Preparing;
    }

    /// Takes calls through the guards in their order. Whether all are through.
    pub(super) fn prepare(&mut self, cx: &mut Lent<'_>) -> bool {
        loop {
            let waits = |stage: &Stage| {
                matches!(stage, Stage::Hooking(..) | Stage::Inspecting(_) | Stage::Rehearsing(_))
            };
            if self.slots.find(waits).is_some() {
                return false;
            }
            if self.stopped.is_some() {
                self.close_unstarted(cx);
                return true;
            }
            let Some(slot) = self.slots.find(|stage| matches!(stage, Stage::Proposed(..))) else {
                return self.slots.find(|stage| matches!(stage, Stage::Asking(..))).is_none();
            };
            if let Stage::Proposed(proposed, chain) = self.slots.take(slot) {
                self.look(slot, proposed, chain, cx);
            }
        }
    }

    /// The next hook, or the guards when no hook is left.
    fn look(&mut self, slot: usize, proposed: Box<Proposed>, mut chain: Chain, cx: &mut Lent<'_>) {
        let Some(spec) = chain.left.front() else {
            return self.guard(slot, *proposed, chain, cx);
        };
        let args = match &proposed.arguments {
            Arguments::Json(value) => Some(value.clone()),
            Arguments::Blank | Arguments::Malformed { .. } => None,
        };
        let call = HookCall {
            hook: spec.name.clone(),
            point: Point::BeforeCall,
            call: Arc::clone(&proposed.call),
            tool: proposed.name.clone(),
            args,
            outcome: None,
            shown: None,
        };
        chain.ran += 1;
        let ticket = self.ticket(slot, chain.ran);
        self.slots.put(slot, Stage::Hooking(proposed, chain));
        self.out.push(Effect::RunHook(ticket, Box::new(call)));
    }

    /// What a hook said, before or after the call.
    pub(super) fn hooked(&mut self, ticket: &Ticket, verdict: HookVerdict, cx: &mut Lent<'_>) {
        if !self.current(ticket) {
            return;
        }
        match self.slots.take(ticket.slot) {
            Stage::Hooking(proposed, chain) if chain.ran == ticket.attempt => {
                self.hook_said(ticket.slot, (proposed, chain), verdict, cx);
            }
            Stage::Verifying { ready, ran, left, checks } => {
                self.checked(ticket, (ready, ran, left), (checks, verdict), cx);
            }
            Stage::Observing { end, ready, mut left, ran } if ran == ticket.attempt => {
                if let Some(spec) = left.pop_front() {
                    record_hook(&ticket.call, &spec, &verdict, cx);
                }
                self.observe(ticket.slot, end, (ready, left, ran), cx);
            }
            other => return self.slots.put_back(ticket.slot, other),
        }
        self.advance(cx);
    }

    fn hook_said(
        &mut self,
        slot: usize,
        (mut proposed, mut chain): (Box<Proposed>, Chain),
        verdict: HookVerdict,
        cx: &mut Lent<'_>,
    ) {
        let Some(spec) = chain.left.pop_front() else { return };
        let call = Arc::clone(&proposed.call);
        record_hook(&call, &spec, &verdict, cx);
        if let Some(reason) = (cx.steps.hook_blocks)(&spec, &verdict) {
            let shown = blocked_text(&spec.name, &reason);
            return self.refuse(slot, Outcome::Blocked { by: spec.name.clone() }, &shown, cx);
        }
        if let HookVerdict::Rewrite { name, args } = verdict
            && !spec.observer
        {
            if let Some(name) = name {
                proposed.name = cx.redact_known(&name);
            }
            if let Some(mut args) = args {
                scrub(&mut args, &|text| cx.redact_known(text));
                proposed.arguments = Arguments::Json(args);
            }
            let args = match &proposed.arguments {
                Arguments::Json(value) => Some(value.clone()),
                Arguments::Blank | Arguments::Malformed { .. } => None,
            };
            let unlogged = !self.logs_args(&proposed.name);
            if unlogged {
                cx.log.hush();
            }
            let args_digest = unlogged.then(|| proposed.arguments.digest());
            let args = args.filter(|_| !unlogged);
            let (tool_id, by) = (proposed.name.clone(), Some(spec.name.clone()));
            cx.call(&call, ToolCallRewritten { tool_id, args, by, unlogged, args_digest });
            self.slots.get_mut(slot).shown = assistant_call(&proposed);
        }
        self.slots.put(slot, Stage::Proposed(proposed, chain));
    }

    /// Resolve, clear the marker, fill in delivery, validate.
    fn guard(&mut self, slot: usize, proposed: Proposed, mut chain: Chain, cx: &mut Lent<'_>) {
        let call = Arc::clone(&proposed.call);
        let Some(compiled) = self.view.clone() else { return };
        let mut resolved = match (cx.steps.resolve)(proposed, &compiled.view) {
            Ok(resolved) => resolved,
            Err((proposed, _)) if compiled.view.waits(&proposed.name).is_some() => {
                return self.slots.put(slot, Stage::Held(Box::new(proposed)));
            }
            Err((proposed, why)) => return self.unavailable(slot, &proposed, why, cx),
        };
        let own = self.own_hooks(&resolved, &chain, cx);
        if !own.is_empty() {
            chain.own.extend(own.iter().map(|spec| spec.name.clone()));
            chain.left = own.into();
            let proposed = Box::new(resolved.into_proposed());
            return self.slots.put(slot, Stage::Proposed(proposed, chain));
        }
        let tool = Arc::clone(resolved.tool());
        let (mut cleared, mut defaults) = (false, Vec::new());
        if let Some(args) = resolved.args_mut() {
            if let Some(marker) = &tool.descriptor.permissions.approval_marker {
                cleared = (cx.steps.clear_marker)(args, marker);
            }
            let principal = &cx.resolved.principal.id;
            defaults = (cx.steps.delivery_defaults)(args, &tool, &self.envelope, principal);
            if cleared || !defaults.is_empty() {
                self.slots.get_mut(slot).shown.arguments = args.to_string();
            }
        }
        let changed = cleared || !defaults.is_empty();
        let logged = tool.descriptor.observability.keeps_args();
        let kept = resolved.args_mut().filter(|_| changed && logged).map(|args| args.clone());
        let named = |status: &str| ToolArgsValidated {
            tool_id: Some(tool.id().clone()),
            tool_version: Some(tool.version),
            marker_cleared: cleared,
            args: kept,
            defaults,
            ..ToolArgsValidated::new(status.to_owned())
        };
        let validated = match (cx.steps.validate)(resolved, &cx.resolved.principal) {
            Ok(validated) => validated,
            Err((mut resolved, errors)) => {
                let args_digest = (!logged).then(|| resolved.arguments_mut().digest());
                let fact =
                    ToolArgsValidated { errors: errors.clone(), args_digest, ..named("failed") };
                cx.call(&call, fact);
                let shown = rejection_text(&errors);
                return self.refuse(slot, Outcome::Rejected { errors }, &shown, cx);
            }
        };
        let fact = ToolArgsValidated {
            args_digest: Some(validated.args_digest()),
            blank: validated.blank(),
            ..named("passed")
        };
        cx.call(&call, fact);
        let operands = self.operands(&validated);
        if operands.is_empty() {
            return self.judge(slot, validated, cx);
        }
        let ticket = self.ticket(slot, 0);
        self.slots.put(slot, Stage::Inspecting(Box::new(validated)));
        self.out.push(Effect::Inspect(ticket, operands));
    }

    fn own_hooks(&self, resolved: &Resolved, chain: &Chain, cx: &Lent<'_>) -> Vec<Arc<HookSpec>> {
        let names = &resolved.tool().descriptor.hooks.pre_call;
        let fresh: Vec<String> =
            names.iter().filter(|name| !chain.own.contains(name)).cloned().collect();
        cx.resolved.hooks.own(Point::BeforeCall, &fresh)
    }

    /// What the file that a call would run holds; read before the decision and before the start.
    pub(super) fn inspected(
        &mut self,
        ticket: &Ticket,
        operand: Option<Digest>,
        cx: &mut Lent<'_>,
    ) {
        if !self.current(ticket) {
            return;
        }
        match self.slots.take(ticket.slot) {
            Stage::Inspecting(validated) => {
                let validated = match operand {
                    Some(operand) => validated.with_operand(operand),
                    None => *validated,
                };
                self.judge(ticket.slot, validated, cx);
            }
            Stage::Rechecking(ready) => self.rechecked(ticket.slot, ready, operand, cx),
            other => return self.slots.put_back(ticket.slot, other),
        }
        self.advance(cx);
    }

    /// The ticket of a slot's present stage.
    pub(super) fn ticket(&self, slot: usize, attempt: u32) -> Ticket {
        Ticket { slot, round: self.round, attempt, call: self.slots.call(slot) }
    }

    /// Whether a ticket still names an open slot of the present reply.
    pub(super) fn current(&self, ticket: &Ticket) -> bool {
        ticket.round == self.round
            && ticket.slot < self.slots.len()
            && self.slots.get(ticket.slot).call == ticket.call
            && !self.slots.get(ticket.slot).stage.is_settled()
    }

    pub(super) fn deny(&mut self, slot: usize, by: Denier, reason: String, cx: &mut Lent<'_>) {
        let shown = match by {
            Denier::Operator => format!("denied by the operator: {reason}"),
            Denier::NoApprover => format!("not approved, {reason}; the tool did not run"),
            _ => format!("denied: {reason}"),
        };
        self.refuse(slot, Outcome::Denied { by, reason }, &shown, cx);
    }

    fn unavailable(
        &mut self,
        slot: usize,
        proposed: &Proposed,
        why: Unavailability,
        cx: &mut Lent<'_>,
    ) {
        let Some(compiled) = self.view.clone() else { return };
        let shown = match &proposed.arguments {
            // Not even a name could be read: what is wrong with the block says more.
            Arguments::Malformed { why, .. } if proposed.name.is_empty() => {
                format!("the call cannot be read: {why}")
            }
            _ => compiled.view.refusal(&proposed.name, &self.activated),
        };
        self.refuse(slot, Outcome::Unavailable { why }, &shown, cx);
    }

    /// Calls of tools that waited behind a search of the same reply, once everything else of it is
    /// settled: they are not run, but may be told to be called again.
    pub(super) fn release(&mut self, cx: &mut Lent<'_>) {
        if self.slots.find(|stage| !stage.is_out()).is_some() {
            return;
        }
        while let Some(slot) = self.slots.find(|stage| matches!(stage, Stage::Held(_))) {
            if let Stage::Held(proposed) = self.slots.take(slot) {
                self.unavailable(slot, &proposed, Unavailability::Withheld, cx);
            }
        }
    }

    /// Settles a call that never starts.
    pub(super) fn refuse(&mut self, slot: usize, outcome: Outcome, shown: &str, cx: &mut Lent<'_>) {
        let limit = cx.resolved.knobs.max_tool_result_chars;
        let text = cx.redact(shown);
        let shown = (cx.steps.preview)(&text, "", limit);
        let call = self.slots.call(slot);
        self.ledger.fall(&call);
        self.remember_refusal(slot, (&outcome, &shown.text), cx);
        self.settle(
            slot,
            SlotEnd { outcome, shown: shown.text.into(), cut: shown.cut, name: None },
            cx,
        );
    }

    /// Whether arguments are logged for a name; they are where nothing is known of it.
    pub(super) fn logs_args(&self, name: &str) -> bool {
        let view = self.view.as_ref();
        let known = view.and_then(|view| view.view.resolve(name).ok());
        known.is_none_or(|tool| tool.descriptor.observability.keeps_args())
    }

    fn requested(&self, proposed: &Proposed) -> ToolCallRequested {
        let logged = self.logs_args(&proposed.name);
        let (args, raw_args) = match &proposed.arguments {
            Arguments::Json(value) => (Some(value.clone()), None),
            Arguments::Blank => (None, Some(String::new())),
            Arguments::Malformed { raw, .. } => (None, Some(raw.clone())),
        };
        ToolCallRequested {
            args: args.filter(|_| logged),
            // That there were none gives nothing away.
            raw_args: raw_args.filter(|raw| logged || raw.is_empty()),
            args_digest: (!logged).then(|| proposed.arguments.digest()),
            provider_call_id: proposed.provider_id.clone(),
            index: Some(proposed.index),
            proposed_by: Some(if self.direct { "system" } else { "model" }.to_owned()),
            origin: Some(proposed.origin.name().to_owned()),
            ..ToolCallRequested::new(proposed.name.clone())
        }
    }
}

pub(super) fn record_hook(
    call: &Arc<str>,
    spec: &HookSpec,
    verdict: &HookVerdict,
    cx: &mut Lent<'_>,
) {
    let (name, reason) = match verdict {
        HookVerdict::Cancel { .. } | HookVerdict::Rewrite { .. } if spec.observer => {
            let wanted = verdict.name();
            ("failed", Some(format!("it only observes, and wanted to {wanted}")))
        }
        HookVerdict::Cancel { reason } => (verdict.name(), Some(cx.redact(reason))),
        HookVerdict::Failed { why } => (verdict.name(), Some(cx.redact(why))),
        HookVerdict::Pass | HookVerdict::Rewrite { .. } => (verdict.name(), None),
    };
    cx.call(
        call,
        HookRan {
            hook: spec.name.clone(),
            point: spec.point.name().to_owned(),
            verdict: name.to_owned(),
            reason,
            observer: spec.observer,
        },
    );
}

/// What the model is told of a call that a hook blocked.
pub(super) fn blocked_text(hook: &str, reason: &str) -> String {
    format!("blocked by the hook {hook}: {reason}")
}

/// A call as the transcript shows it.
pub fn assistant_call(proposed: &Proposed) -> AssistantCall {
    let arguments = match &proposed.arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Blank => String::new(),
        Arguments::Malformed { raw, .. } => raw.clone(),
    };
    AssistantCall { call: Arc::clone(&proposed.call), name: proposed.name.clone(), arguments }
}

fn rejection_text(errors: &[ArgumentError]) -> String {
    let lines = errors.iter().map(|error| match error.path.as_str() {
        "" => format!("- {}", error.message),
        path => format!("- at {path}: {}", error.message),
    });
    format!("the arguments were rejected:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
