//! Stage 4: authority, a resolved sandbox plan, and the digest compared once more.

use serde_json::Value;

use crate::base::digest::{Digest, Hasher};
use crate::runtime::guard::Permitted;
use crate::runtime::guard::delivery::restore_marker;
use crate::runtime::guard::permit::Word;
use crate::runtime::sandbox::{self, Ground, Plan, Refusal};
use crate::tool::http::Operation;

/// A call that can start.
#[derive(Debug)]
pub struct Ready {
    permitted: Permitted,
    plan: Plan,
    marked: Option<Value>,
    key: Option<String>,
}

impl Ready {
    /// The stage before.
    pub fn permitted(&self) -> &Permitted {
        &self.permitted
    }

    /// Where and how it runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The arguments as the tool gets them: with the approval marker, where the tool declares one
    /// and the call was approved.
    pub fn args(&self) -> &Value {
        self.marked.as_ref().unwrap_or_else(|| self.permitted.validated().args())
    }

    /// The same for every attempt of the call, and for no other call; only where the tool is
    /// idempotent.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The command line as the record keeps it: the descriptor's own, or a request's method and
    /// address, in which there is no secret. Where arguments are not kept, neither are they here.
    pub fn command_line(&self) -> Option<String> {
        let descriptor = &self.permitted.validated().resolved().tool().descriptor;
        let execution = &descriptor.execution;
        let Some(http) = &execution.http else {
            return (!execution.command.is_empty()).then(|| execution.command.join(" "));
        };
        let request = || Operation::parse(http).ok()?.request(self.args()).ok();
        let kept = descriptor.observability.keeps_args();
        let url = kept.then(request).flatten().map_or_else(|| http.url.clone(), |it| it.url());
        Some(format!("{} {url}", http.method.name()))
    }

    /// Whether the arguments that run carry the tool's approval marker, whoever set it.
    pub fn is_marked(&self) -> bool {
        let tool = self.permitted.validated().resolved().tool();
        let marker = tool.descriptor.permissions.approval_marker.as_deref();
        marker.is_some_and(|name| carries(self.args(), name))
    }
}

fn carries(args: &Value, name: &str) -> bool {
    match args {
        Value::Object(map) => map.iter().any(|(key, value)| key == name || carries(value, name)),
        Value::Array(items) => items.iter().any(|item| carries(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Resolves the plan, which gives no more milliseconds than are `left`, and sets the approval
/// marker on calls that a person approved.
///
/// # Errors
/// The call back, and what cannot be enforced.
///
/// # Panics
/// When the call is not the one that was permitted: a bug of ours, never input.
pub fn prepare(
    permitted: Permitted,
    granted: Digest,
    (ground, left): (Ground<'_>, Option<u64>),
    (session, call): (&str, &str),
) -> Result<Ready, (Permitted, Refusal)> {
    let call_digest = permitted.validated().call_digest();
    assert_eq!(call_digest, granted, "the call changed after it was permitted");
    let descriptor = &permitted.validated().resolved().tool().descriptor;
    match sandbox::plan(descriptor, ground) {
        Ok(mut plan) => {
            plan.timeout_ms = plan.timeout_ms.min(left.unwrap_or(u64::MAX));
            let approved = *permitted.word() != Word::Policy;
            let marker = descriptor.permissions.approval_marker.as_ref().filter(|_| approved);
            let marked = marker.map(|name| restore_marker(permitted.validated().args(), name));
            let key = descriptor.effects.idempotent.then(|| idempotency_key(session, call));
            Ok(Ready { permitted, plan, marked, key })
        }
        Err(refusal) => Err((permitted, refusal)),
    }
}

fn idempotency_key(session: &str, call: &str) -> String {
    let digest = Hasher::new("idempotency").field(session.as_bytes()).field(call.as_bytes());
    format!("idem_{}", &digest.finish().hex()[..24])
}
