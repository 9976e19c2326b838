//! One proposed call through the guards, in the one order there is: resolve, validate, policy,
//! approval, sandbox and credential. Approval is the only guard that can wait.

use std::sync::Arc;

use super::append::append;
use super::machine::{Effect, Lent, Turn};
use super::pin::pin;
use super::slots::{SlotEnd, Slots};
use crate::journal::Outcome;
use crate::journal::event::call::{
    ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalReplaced, ApprovalRequested,
    ApprovalUnreachable, CredentialBound, ToolArgsValidated, ToolCallRequested, ToolPolicyChecked,
    ToolSandboxPrepared,
};
use crate::journal::event::turn::BatchOpened;
use crate::journal::outcome::{Denier, Unavailability};
use crate::runtime::dialect::transcript::AssistantCall;
use crate::runtime::dialect::{Arguments, Message, Proposed, RawCall};
use crate::runtime::exec::ready;
use crate::runtime::guard::permit::{Answered, by_approval, by_policy};
use crate::runtime::guard::{Answer, ApprovalRequest, Permitted, Validated, Verdict};
use crate::runtime::policy::{Decision, Judgement};
use crate::tool::descriptor::CredentialStrategy;
use crate::tool::schema::ArgumentError;

impl Turn {
    /// Fixes one slot per call, before anything else happens.
    pub(super) fn open_batch(&mut self, text: Arc<str>, calls: Vec<RawCall>, cx: &mut Lent<'_>) {
        let redact = |text: &str| (cx.steps.redact)(cx.secrets, text).into_owned();
        // Nothing of a reply is recorded or rendered before it is scrubbed: names and ids too.
        let scrub = |raw: RawCall| RawCall {
            id: raw.id.as_deref().map(redact),
            name: redact(&raw.name),
            arguments: redact(&raw.arguments),
            ..raw
        };
        let calls: Vec<RawCall> = calls.into_iter().map(scrub).collect();
        let ids = pin(&calls, cx.transcript, cx.world);
        let mut proposed = Vec::new();
        for ((index, raw), call) in (0..).zip(calls).zip(ids) {
            let (arguments, origin) = (raw.read().scrubbed(&redact), raw.origin);
            let (provider_id, name) = (raw.id, raw.name);
            proposed.push(Proposed { call, provider_id, name, arguments, index, origin });
        }
        self.batch = cx.world.next_id("b");
        let slots = proposed.iter().map(|one| one.call.to_string()).collect();
        self.slots = Slots::for_batch(proposed.iter().map(|one| Arc::clone(&one.call)));
        let calls = proposed.iter().map(assistant_call).collect();
        append(cx, vec![Message::Assistant { text, calls }]);
        cx.log.fact(cx.world, BatchOpened { batch: self.batch.clone(), slots });
        for one in &proposed {
            let fact = requested(one);
            cx.log.call(cx.world, &one.call, fact);
        }
        self.proposed = proposed.into();
    }

    /// Takes the next proposed calls through the guards until one has to wait.
    pub(super) fn prepare(&mut self, cx: &mut Lent<'_>) -> Effect {
        while let Some(proposed) = self.proposed.pop_front() {
            let slot = proposed.index as usize;
            if let Some(request) = self.before_approval(slot, proposed, cx) {
                return Effect::Prompt(Box::new(request));
            }
        }
        self.dispatch(cx)
    }

    /// Resolve, validate, policy, and the question if there is one.
    fn before_approval(
        &mut self,
        slot: usize,
        proposed: Proposed,
        cx: &mut Lent<'_>,
    ) -> Option<ApprovalRequest> {
        let call = Arc::clone(&proposed.call);
        let compiled = self.view.clone()?;
        let resolved = match (cx.steps.resolve)(proposed, &compiled.view) {
            Ok(resolved) => resolved,
            Err((proposed, why)) => {
                self.unavailable(slot, &proposed, why, cx);
                return None;
            }
        };
        let validated = match (cx.steps.validate)(resolved, &cx.resolved.principal) {
            Ok(validated) => validated,
            Err((resolved, errors)) => {
                let tool = resolved.tool();
                let fact = ToolArgsValidated {
                    tool_id: Some(tool.id().clone()),
                    tool_version: Some(tool.version),
                    errors: errors.clone(),
                    ..ToolArgsValidated::new("failed".to_owned())
                };
                cx.log.call(cx.world, &call, fact);
                let shown = rejection_text(&errors);
                self.refuse(slot, Outcome::Rejected { errors }, &shown, cx);
                return None;
            }
        };
        let tool = Arc::clone(validated.resolved().tool());
        let fact = ToolArgsValidated {
            tool_id: Some(tool.id().clone()),
            tool_version: Some(tool.version),
            args_digest: Some(validated.args_digest()),
            blank: validated.blank(),
            ..ToolArgsValidated::new("passed".to_owned())
        };
        cx.log.call(cx.world, &call, fact);
        let bundle = cx.resolved;
        let judgement =
            (cx.steps.decide)(&tool, validated.args(), &bundle.principal, &bundle.rules);
        let fact = ToolPolicyChecked {
            decision: judgement.decision.name().to_owned(),
            reason: judgement.reason(),
            level: Some(tool.level),
            effect_class: Some(tool.class),
            rules: judgement.rules.clone(),
            call_digest: Some(validated.call_digest()),
            intent: None,
        };
        cx.log.call(cx.world, &call, fact);
        self.after_policy(slot, validated, &judgement, cx)
    }

    fn after_policy(
        &mut self,
        slot: usize,
        validated: Validated,
        judgement: &Judgement,
        cx: &mut Lent<'_>,
    ) -> Option<ApprovalRequest> {
        let validated = match by_policy(validated, judgement) {
            Ok(permitted) => {
                self.make_ready(slot, permitted, cx);
                return None;
            }
            Err(validated) => validated,
        };
        if judgement.decision == Decision::Deny {
            let reason = judgement.reason();
            self.deny(slot, Denier::Policy, reason, cx);
            return None;
        }
        let id = cx.world.next_id("apr_");
        let now = cx.world.now();
        let principal = &cx.resolved.principal;
        let request = ApprovalRequest::new(id, &validated, judgement, principal, now);
        let fact = ApprovalRequested {
            approval_id: request.id.clone(),
            summary: request.summary.clone(),
            call_digest: request.call_digest,
            strong: request.strong,
            args_preview: Some(request.args.clone()),
            principal: Some(principal.id.clone()),
            scopes: principal.scopes.iter().cloned().collect(),
            risk: Some(request.risk),
            reasons: request.reasons.clone(),
            expires_at: Some(request.expires_at),
            options: Vec::new(),
        };
        cx.log.call(cx.world, &self.slots.call(slot), fact);
        self.waiting = Some((slot, validated, request.clone()));
        Some(request)
    }

    /// What an answer leaves of the call that waits.
    pub(super) fn answered(&mut self, answer: &Answer, channel: &str, cx: &mut Lent<'_>) -> Effect {
        let Some((slot, validated, request)) = self.waiting.take() else {
            return self.prepare(cx);
        };
        let call = self.slots.call(slot);
        let now = cx.world.now();
        let judged = by_approval(validated, &request, answer, cx.steps.accept_approval, now);
        let (decider, channel) = (answer.decider.clone(), channel.to_owned());
        let approval_id = request.id.clone();
        match judged {
            Answered::Permitted(permitted) => {
                let strong = answer.verdict == Verdict::Yes { strong: true };
                let call_digest = permitted.validated().call_digest();
                let scope = Some("once".to_owned());
                let fact =
                    ApprovalGranted { approval_id, call_digest, decider, channel, strong, scope };
                cx.log.call(cx.world, &call, fact);
                self.make_ready(slot, permitted, cx);
            }
            Answered::Replaced(_, text) => {
                cx.log.call(cx.world, &call, ApprovalReplaced { approval_id, decider, channel });
                let text = (cx.steps.redact)(cx.secrets, &text);
                let shown = format!("the operator's replacement for a result:\n{text}");
                self.refuse(slot, Outcome::Replaced, &shown, cx);
            }
            Answered::Refused(_, by, why) => {
                let why = (cx.steps.redact)(cx.secrets, &why).into_owned();
                record_refusal(
                    cx,
                    &call,
                    by,
                    ApprovalDenied { approval_id, decider, channel, reason: Some(why.clone()) },
                );
                self.deny(slot, by, why, cx);
            }
        }
        self.prepare(cx)
    }

    /// Credential bound, sandbox resolved: the call can start.
    fn make_ready(&mut self, slot: usize, permitted: Permitted, cx: &mut Lent<'_>) {
        let call = self.slots.call(slot);
        let tool = Arc::clone(permitted.validated().resolved().tool());
        let credentials = &tool.descriptor.credentials;
        if credentials.strategy != CredentialStrategy::None {
            let held = cx.resolved.broker.names();
            if let Some(name) = credentials.required_secrets.iter().find(|n| !held.contains(*n)) {
                let reason = format!("credential {name} is not held");
                self.deny(slot, Denier::Credential, reason, cx);
                return;
            }
            let fact = CredentialBound {
                credential_binding_id: cx.world.next_id("cred_"),
                principal: cx.resolved.principal.id.clone(),
                scopes: tool.descriptor.permissions.required_scopes.clone(),
            };
            cx.log.call(cx.world, &call, fact);
        }
        let granted = permitted.validated().call_digest();
        match ready::prepare(permitted, granted) {
            Ok(ready) => {
                let fact = ToolSandboxPrepared {
                    sandbox_id: cx.world.next_id("sbx_"),
                    mode: Some(ready.plan().mode.to_owned()),
                    enforcement: Some(ready.plan().enforcement.to_owned()),
                };
                cx.log.call(cx.world, &call, fact);
                self.ready.push_back((slot, Box::new(ready)));
            }
            Err((_, refusal)) => self.deny(slot, Denier::Sandbox, refusal.to_string(), cx),
        }
    }

    fn deny(&mut self, slot: usize, by: Denier, reason: String, cx: &mut Lent<'_>) {
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
        // The text is the same for all causes, so that it reveals nothing that was withheld.
        let shown = format!("there is no tool `{}` in this request", proposed.name);
        self.refuse(slot, Outcome::Unavailable { why }, &shown, cx);
    }

    fn refuse(&mut self, slot: usize, outcome: Outcome, shown: &str, cx: &mut Lent<'_>) {
        let limit = cx.resolved.knobs.max_tool_result_chars;
        let text = (cx.steps.redact)(cx.secrets, shown);
        let shown = (cx.steps.preview)(&text, "", limit);
        self.settle(slot, SlotEnd { outcome, shown: shown.text.into(), cut: shown.cut }, cx);
    }
}

fn record_refusal(cx: &mut Lent<'_>, call: &Arc<str>, by: Denier, audit: ApprovalDenied) {
    let ApprovalDenied { approval_id, channel, .. } = &audit;
    match by {
        Denier::NoApprover => {
            let (approval_id, channel) = (approval_id.clone(), channel.clone());
            cx.log.call(cx.world, call, ApprovalUnreachable { approval_id, channel });
        }
        Denier::ApprovalTimeout | Denier::ApprovalExpired => {
            let late_answer = by == Denier::ApprovalExpired;
            let approval_id = approval_id.clone();
            cx.log.call(cx.world, call, ApprovalExpired { approval_id, late_answer });
        }
        _ => {
            cx.log.call(cx.world, call, audit);
        }
    }
}

fn assistant_call(proposed: &Proposed) -> AssistantCall {
    let arguments = match &proposed.arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Blank => String::new(),
        Arguments::Malformed { raw, .. } => raw.clone(),
    };
    AssistantCall { call: Arc::clone(&proposed.call), name: proposed.name.clone(), arguments }
}

fn requested(proposed: &Proposed) -> ToolCallRequested {
    let (args, raw_args) = match &proposed.arguments {
        Arguments::Json(value) => (Some(value.clone()), None),
        Arguments::Blank => (None, Some(String::new())),
        Arguments::Malformed { raw, .. } => (None, Some(raw.clone())),
    };
    ToolCallRequested {
        tool_id: proposed.name.clone(),
        args,
        raw_args,
        provider_call_id: proposed.provider_id.clone(),
        index: Some(proposed.index),
        proposed_by: Some("model".to_owned()),
        tool_version: None,
        origin: Some(proposed.origin.name().to_owned()),
    }
}

fn rejection_text(errors: &[ArgumentError]) -> String {
    let lines = errors.iter().map(|error| match error.path.as_str() {
        "" => format!("- {}", error.message),
        path => format!("- at {path}: {}", error.message),
    });
    format!("the arguments were rejected:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
