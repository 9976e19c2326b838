//! From policy's word to a call that can start: duplicates, grants, the question to a person and
//! its answer, loop guard, budget, credential, sandbox.

use std::sync::Arc;

use super::control::{LoopVerdict, Round};
use super::judge::missing_consent;
use super::machine::{Effect, Lent, Turn, trace};
use super::review::kept;
use super::slots::Stage;
use crate::base::bounded::bound;
use crate::journal::Outcome;
use crate::journal::event::call::{
    ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalReplaced, ApprovalRequested,
    ApprovalUnreachable, CredentialBound, DuplicateDropped, RepeatStopped, ToolSandboxPrepared,
};
use crate::journal::event::catalog::{GrantIssued, GrantUsed};
use crate::journal::event::turn::LoopWarned;
use crate::journal::outcome::Denier;
use crate::runtime::exec::ready;
use crate::runtime::guard::approval::{ApprovalRequest, REHEARSAL_SHOWN};
use crate::runtime::guard::grant::ALWAYS_MS;
use crate::runtime::guard::permit::{Answered, Word, by_approval, by_grant, by_policy};
use crate::runtime::guard::repeat::{CallKey, Repeat, key};
use crate::runtime::guard::spent::time_left;
use crate::runtime::guard::{Answer, AnswerScope, Grant, Permitted, Validated, Verdict};
use crate::runtime::policy::{Decision, Judgement};
use crate::tool::descriptor::CredentialStrategy;
use crate::tool::effect::EffectClass;

impl Turn {
    /// Who allows it: policy alone, a grant, or a person.
    pub(super) fn authorize(
        &mut self,
        slot: usize,
        validated: Validated,
        judgement: &Judgement,
        cx: &mut Lent<'_>,
    ) {
        if judgement.decision == Decision::Deny {
            return self.deny(slot, Denier::Policy, judgement.reason(), cx);
        }
        let (call, key) = (self.slots.call(slot), key(&validated));
        if self.drop_duplicate(slot, (key, &validated), cx) {
            return;
        }
        let validated = match by_policy(validated, judgement) {
            Ok(permitted) => return self.make_ready(slot, key, permitted, cx),
            Err(validated) => validated,
        };
        let now = cx.world.now();
        let principal = &cx.resolved.principal;
        let grant = (cx.steps.standing_grant)(cx.grants, &validated, principal, now).cloned();
        // A grant for a tool is none for a server that nobody agreed to.
        let grant = grant.filter(|_| missing_consent(validated.resolved().tool(), cx).is_none());
        let validated = match by_grant(validated, judgement, grant.as_ref()) {
            Ok(permitted) => {
                if let Word::Grant { id } = permitted.word() {
                    let grant_id = id.clone();
                    cx.call(&call, GrantUsed { grant_id });
                }
                return self.make_ready(slot, key, permitted, cx);
            }
            Err(validated) => validated,
        };
        match (cx.steps.repeated_prompt)(&self.ledger, key, self.round) {
            Repeat::Fresh => self.prompt(slot, (key, validated), judgement, cx),
            Repeat::SameReply(of) => self.drop_as(slot, &of, cx),
            Repeat::Again(of) => {
                cx.call(&call, RepeatStopped { of: of.to_string() });
                self.stopped = Some("repeated_prompt".to_owned());
                let by = "repeated_prompt".to_owned();
                self.refuse(slot, Outcome::Blocked { by }, REPEATED, cx);
            }
        }
    }

    fn prompt(
        &mut self,
        slot: usize,
        (key, validated): (CallKey, Validated),
        judgement: &Judgement,
        cx: &mut Lent<'_>,
    ) {
        // Nobody is asked about what cannot start. What needs no question is seen at its start.
        if self.bars(slot, validated.resolved().tool().id(), cx) {
            return;
        }
        let call = self.slots.call(slot);
        let id = cx.world.next_id("apr_");
        let principal = &cx.resolved.principal;
        let expires_at = cx.world.now().saturating_add(cx.resolved.knobs.approval_expiry_ms);
        let rehearsal = self.slots.get(slot).rehearsal.clone();
        let shown = rehearsal.as_ref().map(|text| bound(text, REHEARSAL_SHOWN).text.into());
        let request = ApprovalRequest {
            rehearsal: shown,
            ..ApprovalRequest::new(id, &validated, judgement, principal, expires_at)
        };
        // Whoever is asked sees the arguments; the record keeps them only if it may.
        let log = &validated.resolved().tool().descriptor.observability;
        let (logged, whole) = (log.keeps_args(), log.keeps_args() && log.keeps_results());
        let fact = ApprovalRequested {
            approval_id: request.id.clone(),
            summary: request.summary.clone(),
            call_digest: request.call_digest,
            strong: request.strong,
            args_preview: logged.then(|| request.args.clone()),
            principal: Some(principal.id.clone()),
            scopes: principal.scopes.iter().cloned().collect(),
            risk: Some(request.risk),
            reasons: request.reasons.clone(),
            expires_at: Some(expires_at),
            options: request.options(),
            rehearsal: rehearsal.map(|text| kept(text, whole, cx)),
        };
        cx.call(&call, fact);
        self.ledger.prompted(key, &call, self.round);
        self.stand(slot, (key, &validated), cx);
        self.slots.get_mut(slot).asked = true;
        self.out.push(Effect::Prompt(Box::new(request.clone())));
        self.out.push(Effect::Wake(expires_at.saturating_add(1)));
        self.slots.put(slot, Stage::Asking(Box::new(validated), Box::new(request)));
    }

    /// What an answer leaves of the call it is addressed to. Any other answer changes nothing.
    pub(super) fn answered(&mut self, answer: &Answer, channel: &str, cx: &mut Lent<'_>) {
        let addressed = |stage: &Stage| match stage {
            Stage::Asking(_, request) => request.id == answer.approval_id,
            _ => false,
        };
        let Some(slot) = self.slots.find(addressed) else {
            let id = cx.redact(&answer.approval_id);
            return trace(cx, &format!("an answer to {id} was late or addressed to nobody"));
        };
        if let Stage::Asking(validated, request) = self.slots.take(slot) {
            self.decided(slot, (*validated, &request), (answer, channel), cx);
        }
        self.advance(cx);
    }

    fn decided(
        &mut self,
        slot: usize,
        (validated, request): (Validated, &ApprovalRequest),
        (answer, channel): (&Answer, &str),
        cx: &mut Lent<'_>,
    ) {
        let (call, now, same) = (self.slots.call(slot), cx.world.now(), key(&validated));
        let judged = by_approval(validated, request, answer, cx.steps.accept_approval, now);
        let (decider, channel) = (cx.redact(&answer.decider), channel.to_owned());
        let approval_id = request.id.clone();
        match judged {
            Answered::Permitted(permitted) => {
                self.ledger.granted(same);
                let (strong, said) = match answer.verdict {
                    Verdict::Yes { strong, scope } => (strong, scope),
                    _ => (false, AnswerScope::Once),
                };
                let reach = request.reach(said);
                let call_digest = permitted.validated().call_digest();
                let scope = Some(reach.name().to_owned());
                let fact =
                    ApprovalGranted { approval_id, call_digest, decider, channel, strong, scope };
                cx.call(&call, fact);
                let tool = permitted.validated().resolved().tool();
                if let Some(consent) = missing_consent(tool, cx) {
                    cx.grants.consent(consent.clone());
                    cx.call(&call, consent.fact(&answer.decider));
                }
                if reach > AnswerScope::Once {
                    issue(&call, request, &permitted, reach, cx);
                }
                self.make_ready(slot, same, permitted, cx);
            }
            Answered::Replaced(_, text) => {
                let shown = replaced_text(&cx.redact(&text));
                let text = Some(cx.log.journal.put_blob(shown.as_str().into()));
                cx.call(&call, ApprovalReplaced { approval_id, decider, channel, text });
                self.ledger.granted(same);
                self.refuse(slot, Outcome::Replaced, &shown, cx);
            }
            Answered::Refused(_, by, why) => {
                let why = cx.redact(&why);
                let reason = Some(why.clone());
                let audit = ApprovalDenied { approval_id, decider, channel, reason };
                record_refusal(cx, &call, by, audit);
                self.ledger.refused(same, &call);
                self.deny(slot, by, why, cx);
            }
        }
    }

    /// Questions whose time is up are denied: a timeout, and nobody's no.
    pub(super) fn expire(&mut self, cx: &mut Lent<'_>) {
        let now = cx.world.now();
        let over =
            |stage: &Stage| matches!(stage, Stage::Asking(_, request) if now > request.expires_at);
        while let Some(slot) = self.slots.find(over) {
            let Stage::Asking(validated, request) = self.slots.take(slot) else { return };
            let call = self.slots.call(slot);
            let approval_id = request.id.clone();
            cx.call(&call, ApprovalExpired { approval_id, late_answer: false });
            self.out.push(Effect::Withdraw(request.id.clone()));
            self.ledger.refused(key(&validated), &call);
            let why = "nobody answered in time".to_owned();
            self.deny(slot, Denier::ApprovalTimeout, why, cx);
        }
    }

    /// Loop guard, budget, credential, sandbox: then the call can start.
    fn make_ready(&mut self, slot: usize, same: CallKey, permitted: Permitted, cx: &mut Lent<'_>) {
        let call = self.slots.call(slot);
        let tool = Arc::clone(permitted.validated().resolved().tool());
        if self.in_circles(slot, same, &permitted, cx) {
            return;
        }
        let spent = self.spent_calls();
        if cx.resolved.knobs.call_budget.is_some_and(|budget| spent >= budget) {
            let reason = format!("the turn's budget of {spent} calls is spent");
            return self.deny(slot, Denier::Budget, reason, cx);
        }
        if let Some(reason) = self.spent_too_much(slot, cx) {
            return self.deny(slot, Denier::Budget, reason, cx);
        }
        if let Some(reason) = self.no_turns_left(&tool, cx) {
            return self.deny(slot, Denier::Budget, reason, cx);
        }
        let credentials = &tool.descriptor.credentials;
        if credentials.strategy != CredentialStrategy::None {
            let (principal, now) = (&cx.resolved.principal.id, cx.world.now());
            if let Err(why) = cx.resolved.broker.bind(&tool.descriptor, principal, now) {
                return self.deny(slot, Denier::Credential, why.to_string(), cx);
            }
            let fact = CredentialBound {
                credential_binding_id: cx.world.next_id("cred_"),
                principal: cx.resolved.principal.id.clone(),
                scopes: tool.descriptor.permissions.required_scopes.clone(),
            };
            cx.call(&call, fact);
        }
        self.stand(slot, (same, permitted.validated()), cx);
        let granted = permitted.validated().call_digest();
        let session = Arc::clone(cx.log.session());
        let ground = cx.resolved.environment.ground(&tool.descriptor);
        let left = time_left(cx.log.journal.entries(), &call, cx.world.now());
        match ready::prepare(permitted, granted, (ground, left), (&session, &call)) {
            Ok(ready) => {
                self.started_calls += 1;
                let server = cx.resolved.environment.called(&tool.descriptor).cloned();
                let fact = ToolSandboxPrepared {
                    sandbox_id: cx.world.next_id("sbx_"),
                    mode: Some(ready.plan().mode.to_owned()),
                    enforcement: Some(ready.plan().enforcement.to_owned()),
                    mechanisms: ready.plan().mechanisms(),
                    server_id: server.as_ref().map(|server| server.id.clone()),
                    server_identity: server.as_ref().map(|server| server.identity()),
                };
                cx.call(&call, fact);
                self.slots.put(slot, Stage::Queued(Arc::new(ready)));
            }
            Err((_, refusal)) => self.deny(slot, Denier::Sandbox, refusal.to_string(), cx),
        }
    }

    /// Whether the call would go on with a circle; then it is blocked, or ends the turn.
    fn in_circles(
        &mut self,
        slot: usize,
        same: CallKey,
        permitted: &Permitted,
        cx: &mut Lent<'_>,
    ) -> bool {
        if cx.resolved.is_polling(permitted.validated().resolved().tool()) {
            return false;
        }
        let knobs = &cx.resolved.knobs;
        let pattern = match (cx.steps.loop_guard)(&self.rounds, Some(same), knobs) {
            LoopVerdict::Pass | LoopVerdict::Warn(_) => return false,
            LoopVerdict::Block(pattern) => {
                let tool = permitted.validated().resolved().tool().id();
                let round = Round::blocked(&self.rounds, same, tool);
                self.rounds.extend(round);
                pattern
            }
            LoopVerdict::Stop(pattern) => {
                self.stopped = Some(pattern.to_owned());
                pattern
            }
        };
        if self.warned.insert(pattern) {
            cx.fact(LoopWarned { pattern: pattern.to_owned() });
        }
        let shown = format!("blocked by the loop guard ({pattern}): try something else");
        self.refuse(slot, Outcome::Blocked { by: "loop_guard".to_owned() }, &shown, cx);
        true
    }

    /// Whether the call repeats one that stands; then its slot is settled.
    fn drop_duplicate(
        &mut self,
        slot: usize,
        (key, validated): (CallKey, &Validated),
        cx: &mut Lent<'_>,
    ) -> bool {
        let tool = validated.resolved().tool();
        if cx.resolved.is_exempt(tool) {
            return false;
        }
        let (call, scope) = (self.slots.call(slot), cx.resolved.knobs.duplicate_scope);
        let of = (cx.steps.duplicate)(&self.ledger, (key, &call), self.round, scope);
        let Some(of) = of else { return false };
        self.drop_as(slot, &of, cx);
        true
    }

    fn drop_as(&mut self, slot: usize, of: &str, cx: &mut Lent<'_>) {
        let scope = Some(cx.resolved.knobs.duplicate_scope.name().to_owned());
        let of = of.to_owned();
        cx.call(&self.slots.call(slot), DuplicateDropped { of: of.clone(), scope });
        let shown = dropped_text(&of);
        self.refuse(slot, Outcome::Duplicate { of }, &shown, cx);
    }

    /// Just before the start, what has really run decides.
    pub(super) fn repeats(
        &mut self,
        slot: usize,
        validated: &Validated,
        cx: &mut Lent<'_>,
    ) -> bool {
        self.drop_duplicate(slot, (key(validated), validated), cx)
    }

    fn stand(&mut self, slot: usize, (key, validated): (CallKey, &Validated), _cx: &mut Lent<'_>) {
        let writes = validated.resolved().tool().class > EffectClass::Read;
        self.ledger.stand(key, &self.slots.call(slot), self.round, writes);
    }
}

/// What the model is told of a question that was asked before.
pub(super) const REPEATED: &str = "blocked: the same question was asked before and not granted";

/// What the model is told of a call that stands earlier.
pub(super) fn dropped_text(of: &str) -> String {
    format!("dropped: the same call stands earlier, as {of}")
}

/// What the model is told instead of a result.
pub(super) fn replaced_text(text: &str) -> String {
    format!("the operator's replacement for a result:\n{text}")
}

/// A yes that reaches further than one call is a grant, with exactly the printed scope.
fn issue(
    call: &Arc<str>,
    request: &ApprovalRequest,
    permitted: &Permitted,
    reach: AnswerScope,
    cx: &mut Lent<'_>,
) {
    let tool = permitted.validated().resolved().tool();
    let expires_at = match reach {
        AnswerScope::Always => Some(cx.world.now().saturating_add(ALWAYS_MS)),
        AnswerScope::Once | AnswerScope::Session => None,
    };
    let grant = Grant {
        id: cx.world.next_id("grant_"),
        tool: tool.id().clone(),
        version: tool.version,
        principal: cx.resolved.principal.id.clone(),
        tenant: cx.resolved.principal.tenant.clone(),
        scopes: cx.resolved.principal.scopes.iter().cloned().collect(),
        class: tool.class,
        expires_at,
    };
    let fact = GrantIssued {
        grant_id: grant.id.clone(),
        tool_id: grant.tool.clone(),
        tool_version: grant.version,
        principal: grant.principal.clone(),
        scope: reach.name().to_owned(),
        expires_at,
        approval_id: Some(request.id.clone()),
        effect_class: Some(grant.class),
        tenant: grant.tenant.clone(),
    };
    cx.call(call, fact);
    cx.grants.add(grant);
}

fn record_refusal(cx: &mut Lent<'_>, call: &Arc<str>, by: Denier, audit: ApprovalDenied) {
    let ApprovalDenied { approval_id, channel, .. } = &audit;
    match by {
        Denier::NoApprover => {
            let (approval_id, channel) = (approval_id.clone(), channel.clone());
            cx.call(call, ApprovalUnreachable { approval_id, channel });
        }
        Denier::ApprovalTimeout | Denier::ApprovalExpired => {
            let late_answer = by == Denier::ApprovalExpired;
            let approval_id = approval_id.clone();
            cx.call(call, ApprovalExpired { approval_id, late_answer });
        }
        _ => {
            cx.call(call, audit);
        }
    }
}
