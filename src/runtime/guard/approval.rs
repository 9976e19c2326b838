//! Approval is a contract: what is shown is what runs, by digest, until it expires.

use std::sync::Arc;

use serde_json::Value;

use super::grant::{AnswerScope, asks_each_time};
use super::validate::Validated;
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::outcome::Denier;
use crate::runtime::guard::approver::{Answer, Verdict};
use crate::runtime::policy::{Decision, Judgement, Principal};
use crate::tool::effect::EffectClass;
use crate::tool::risk::RiskLevel;

/// How much of a rehearsal whoever confirms is shown, in Unicode scalar values. What is compared
/// before the start is the whole.
pub const REHEARSAL_SHOWN: usize = 4_000;

/// How long an answer may take, in milliseconds.
pub const EXPIRY_MS: u64 = 300_000;

/// What a person is shown (seed B section 12).
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// An answer is addressed to this id.
    pub id: String,
    /// The call that waits for it.
    pub call: Arc<str>,
    /// The tool's id.
    pub tool: String,
    /// One line.
    pub summary: String,
    /// The canonical arguments.
    pub args: Value,
    /// What the answer binds.
    pub call_digest: Digest,
    /// The strictest thing the call may do.
    pub class: EffectClass,
    /// Who acts.
    pub principal: Principal,
    /// How bad it can be.
    pub risk: RiskLevel,
    /// Why it asks.
    pub reasons: Vec<String>,
    /// Whether the stronger confirmation is needed.
    pub strong: bool,
    /// How far an answer may reach; a strong question, or one of a tool that always asks, is
    /// answered for one call only.
    pub offered: Vec<AnswerScope>,
    /// After this no answer counts.
    pub expires_at: Millis,
    /// What the call would do, as it was found without doing it; at most [`REHEARSAL_SHOWN`].
    pub rehearsal: Option<Arc<str>>,
}

impl ApprovalRequest {
    /// The request for one call.
    pub fn new(
        id: String,
        call: &Validated,
        judgement: &Judgement,
        principal: &Principal,
        expires_at: Millis,
    ) -> Self {
        let tool = call.resolved().tool();
        let strong = judgement.decision == Decision::StrongAsk;
        let mut offered = vec![AnswerScope::Once];
        if !strong && !asks_each_time(&tool.descriptor) {
            offered.extend([AnswerScope::Session, AnswerScope::Always]);
        }
        Self {
            id,
            call: Arc::clone(&call.resolved().proposed().call),
            tool: tool.id().to_string(),
            summary: format!(
                "{} ({}): {}",
                tool.descriptor.shown_name(),
                tool.class.name(),
                tool.descriptor.description.summary
            ),
            args: call.args().clone(),
            call_digest: call.call_digest(),
            class: tool.class,
            principal: principal.clone(),
            risk: tool.descriptor.risk.level,
            reasons: judgement.reasons.clone(),
            strong,
            offered,
            expires_at,
            rehearsal: None,
        }
    }

    /// What may be answered, as it is printed: each line says exactly what it grants.
    pub fn options(&self) -> Vec<String> {
        let (tool, who) = (&self.tool, &self.principal.id);
        let line = |scope: &AnswerScope| match scope {
            AnswerScope::Once => "once: this call with these arguments".to_owned(),
            AnswerScope::Session => {
                format!("session: calls of {tool} at this version by {who} in this session")
            }
            AnswerScope::Always => {
                format!("always: calls of {tool} at this version by {who} for 30 days")
            }
        };
        let yes = self.offered.iter().map(line);
        yes.chain(["no".to_owned(), "replace: this text instead".to_owned()]).collect()
    }

    /// How far an answer reaches: as far as it says where that was offered, else this call only.
    pub fn reach(&self, said: AnswerScope) -> AnswerScope {
        if self.offered.contains(&said) { said } else { AnswerScope::Once }
    }
}

/// What an answer means for the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// It may run.
    Granted,
    /// It may not.
    Refused(Denier, String),
    /// This text stands for its result.
    Replaced(String),
}

/// Judges an answer. Anything but an addressed, timely, matching yes is no authority.
pub fn accept(
    request: &ApprovalRequest,
    answer: &Answer,
    call_digest: Digest,
    now: Millis,
) -> Acceptance {
    let refuse = |by, why: &str| Acceptance::Refused(by, why.to_owned());
    if answer.approval_id != request.id {
        return refuse(Denier::ApprovalMismatch, "the answer is addressed to another request");
    }
    match &answer.verdict {
        Verdict::Yes { .. } | Verdict::Replace { .. } if now > request.expires_at => {
            refuse(Denier::ApprovalExpired, "the answer came after the request had expired")
        }
        Verdict::Yes { .. } if request.call_digest != call_digest => {
            refuse(Denier::ApprovalMismatch, "the call is not the one that was approved")
        }
        Verdict::Yes { strong: false, .. } if request.strong => {
            refuse(Denier::Operator, "the stronger confirmation was not given")
        }
        Verdict::Yes { .. } => Acceptance::Granted,
        Verdict::No { reason } if reason.trim().is_empty() => refuse(Denier::Operator, "no"),
        Verdict::No { reason } => Acceptance::Refused(Denier::Operator, reason.clone()),
        Verdict::Replace { text } => Acceptance::Replaced(text.clone()),
        Verdict::Timeout => refuse(Denier::ApprovalTimeout, "nobody answered in time"),
        Verdict::Unreachable => refuse(Denier::NoApprover, "there is nobody to ask"),
    }
}
