//! The front doors of approval: ways to reach a person. What a person may be asked, and what an
//! answer is worth, is decided elsewhere; a door shows a question, reads an answer that is
//! addressed to it, and where nobody answers says so. Silence is never a yes.

pub mod acp;
pub mod back_channel;
pub mod terminal;

use serde_json::{Value, json};

use super::approval::ApprovalRequest;

/// A question as JSON, for doors that programs look through.
pub fn question(request: &ApprovalRequest) -> Value {
    json!({
        "approvalId": request.id,
        "call": &*request.call,
        "tool": request.tool,
        "summary": request.summary,
        "arguments": request.args,
        "callDigest": request.call_digest,
        "effectClass": request.class,
        "risk": request.risk,
        "reasons": request.reasons,
        "principal": request.principal.id,
        "tenant": request.principal.tenant,
        "scopes": request.principal.scopes,
        "strong": request.strong,
        "options": request.options(),
        "expiresAt": request.expires_at,
        "rehearsal": request.rehearsal,
    })
}

#[cfg(test)]
pub(super) mod sample {
    use std::sync::Arc;

    use serde_json::json;

    use crate::base::digest::Digest;
    use crate::runtime::guard::AnswerScope;
    use crate::runtime::guard::approval::ApprovalRequest;
    use crate::runtime::policy::Principal;
    use crate::tool::effect::EffectClass;
    use crate::tool::risk::RiskLevel;

    /// A question about a mail, or the stronger one about a purge.
    pub(in crate::runtime::guard::door) fn request(id: &str, strong: bool) -> ApprovalRequest {
        let tool = if strong { "mail.purge" } else { "mail.send" };
        let offered = match strong {
            true => vec![AnswerScope::Once],
            false => vec![AnswerScope::Once, AnswerScope::Session, AnswerScope::Always],
        };
        ApprovalRequest {
            id: id.to_owned(),
            call: Arc::from(format!("call-{id}")),
            tool: tool.to_owned(),
            summary: format!("{tool} (external): Does it."),
            args: json!({"to": "ann@example.org\u{202e}\u{9b}2J"}),
            call_digest: Digest::of("call", b"x"),
            class: EffectClass::External,
            principal: Principal::new("dev", ["s1".to_owned()].into()),
            risk: RiskLevel::Medium,
            reasons: vec!["L4 is visible outside".to_owned()],
            strong,
            offered,
            expires_at: 5_000,
            rehearsal: Some("--- a/x\u{202e}\n+++ b/x".into()),
        }
    }
}
