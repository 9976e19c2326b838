//! What policy, the declared intent and budgets make of a call.

use std::sync::Arc;

use super::child::declared_at;
use super::machine::{Lent, Turn};
use crate::journal::event::call::ToolPolicyChecked;
use crate::runtime::catalog::Registered;
use crate::runtime::guard::{Consent, Validated};
use crate::runtime::policy::budget::{budgets, cost_of};
use crate::runtime::policy::{Decision, Judgement, PartJudgement};
use crate::tool::descriptor::RedactionPolicy;

impl Turn {
    /// Policy and intent, then whoever has to be asked.
    pub(super) fn judge(&mut self, slot: usize, validated: Validated, cx: &mut Lent<'_>) {
        let tool = Arc::clone(validated.resolved().tool());
        let bundle = cx.resolved;
        let mut judgement =
            (cx.steps.decide)(&tool, validated.args(), &bundle.principal, &bundle.rules);
        let beyond = (cx.steps.beyond_intent)(&tool, &bundle.intent.1);
        if let Some(why) = &beyond
            && judgement.decision == Decision::Allow
            && judgement.rules.is_empty()
        {
            judgement.decision = Decision::Ask;
            judgement.reasons.insert(0, why.clone());
        }
        if let Some(consent) = missing_consent(&tool, cx) {
            judgement.decision = judgement.decision.max(Decision::Ask);
            let why = format!(
                "{} uses the MCP server `{}` for the first time",
                consent.principal, consent.server
            );
            judgement.reasons.insert(0, why);
        }
        if let Some(why) = self.moved_on(&validated) {
            judgement.decision = Decision::Deny;
            judgement.reasons.insert(0, why);
        }
        let beyond = beyond.is_some();
        match self.to_rehearse(&validated, &judgement, cx) {
            Some(rehearsal) => self.rehearse(slot, (validated, judgement, beyond), rehearsal),
            None => self.judged(slot, (validated, judgement, beyond), cx),
        }
    }

    /// Records what policy said, and goes on with whoever has to be asked.
    pub(super) fn judged(
        &mut self,
        slot: usize,
        (validated, judgement, beyond): (Validated, Judgement, bool),
        cx: &mut Lent<'_>,
    ) {
        let tool = Arc::clone(validated.resolved().tool());
        let bundle = cx.resolved;
        let declared = bundle.intent.1.constraints.as_ref().map_or(0, |_| declared_at(cx));
        let budgets = budgets(&judgement, &bundle.rules, (&bundle.intent.1, declared));
        let masked = tool.redaction() == RedactionPolicy::PersonalData;
        let fact = ToolPolicyChecked {
            cost_usd: cost_of(&tool).filter(|_| !budgets.is_empty()),
            budgets,
            redaction: masked.then(|| "personal_data".to_owned()),
            decision: judgement.decision.name().to_owned(),
            reason: judgement.reason(),
            level: Some(tool.level),
            effect_class: Some(tool.class),
            rules: judgement.rules.clone(),
            call_digest: Some(validated.call_digest()),
            intent: Some(if beyond { "beyond" } else { "within" }.to_owned()),
            line_argument: tool.descriptor.shell_line().map(str::to_owned),
            parts: judgement.parts.iter().map(PartJudgement::fact).collect(),
        };
        cx.call(&self.slots.call(slot), fact);
        self.authorize(slot, validated, &judgement, cx);
    }

    /// Why a call would use up more of a budget than there is.
    pub(super) fn spent_too_much(&self, slot: usize, cx: &mut Lent<'_>) -> Option<String> {
        let call = self.slots.call(slot);
        let state = (self.spent_above.as_slice(), cx.world.now());
        (cx.steps.over_budget)(cx.log.journal.entries(), &call, state)
    }
}

/// The consent that a call of a tool still needs: none where its server is not called, or was
/// agreed to.
pub(super) fn missing_consent(tool: &Registered, cx: &Lent<'_>) -> Option<Consent> {
    let server = cx.resolved.environment.called(&tool.descriptor)?;
    let consent = Consent::of(server, &cx.resolved.principal);
    (!(cx.steps.consented)(cx.grants, &consent)).then_some(consent)
}
