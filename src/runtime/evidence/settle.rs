//! From `Ran` to `Settled`: verify, take out what is no text, scrub, normalise, store, preview,
//! receipt.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::receipt::{self, ReceiptKey};
use super::{Stored, attached, preview, verify};
use crate::base::bounded::Bounded;
use crate::base::digest::Digest;
use crate::base::secret::SecretSet;
use crate::base::world::Millis;
use crate::journal::event::call::{
    Check, ObservedEffects, ReceiptIssued, ToolCallFinished, ToolResultValidated, UNLOGGED_FAULT,
};
use crate::journal::outcome::{Blame, Fault, Outcome};
use crate::journal::receipt::Scope;
use crate::runtime::catalog::Registered;
use crate::runtime::credential::hash;
use crate::runtime::exec::{PreImage, Ran, Ready};
use crate::tool::descriptor::{OutputExposure, RedactionPolicy};

/// Takes secrets out of a text.
pub type Redact = for<'a> fn(&SecretSet, &'a str) -> Cow<'a, str>;

/// Takes personal data out of a text.
pub type Mask = for<'a> fn(&'a str) -> Cow<'a, str>;

/// Only successes are receipted.
pub fn receipt_eligible(fault: Option<&Fault>) -> bool {
    fault.is_none()
}

/// What settling needs to know beside the call.
#[derive(Clone, Copy)]
pub struct Settling<'a> {
    /// Takes secrets out of a text.
    pub redact: Redact,
    /// Takes personal data out of a text.
    pub mask: Mask,
    /// What verifiers found.
    pub checks: &'a [Check],
    /// Bounds what returns to the model.
    pub preview: fn(&str, &str, usize) -> Bounded,
    /// Whether a result may have a receipt.
    pub receipt_eligible: fn(Option<&Fault>) -> bool,
    /// What must never leave.
    pub secrets: &'a SecretSet,
    /// The receipts' key; `None` when receipts are off.
    pub key: Option<&'a ReceiptKey>,
    /// The session's limit in Unicode scalar values.
    pub max_tool_result_chars: usize,
    /// Session, turn and call.
    pub scope: Scope<'a>,
    /// When.
    pub now: Millis,
}

/// A call that ended by itself, with everything that is to be recorded of it.
#[derive(Debug)]
pub struct Settled {
    /// The end.
    pub finished: ToolCallFinished,
    /// What verification found.
    pub validated: ToolResultValidated,
    /// The full output, where only a part returns.
    pub artifact: Option<Arc<str>>,
    /// What the result held that is no text, as it is to be kept.
    pub artifacts: Vec<Stored>,
    /// What it changed in a file, as a unified diff.
    pub diff: Option<Arc<str>>,
    /// What was there before, where the call changed a file and that can be kept whole.
    pub pre_image: Option<Arc<str>>,
    /// The command line that ran, scrubbed.
    pub command: Option<String>,
    /// Only for successes.
    pub receipt: Option<ReceiptIssued>,
    /// The one outcome.
    pub outcome: Outcome,
    /// What the model is shown.
    pub shown: Arc<str>,
    /// Whether the middle was cut.
    pub cut: bool,
}

/// Settles one execution.
pub fn settle(ready: &Ready, ran: Ran, cx: Settling<'_>) -> Settled {
    let call = ready.permitted().validated();
    settled(call.resolved().tool(), call.args_digest(), ran, cx)
}

fn settled(tool: &Registered, args_digest: Digest, mut ran: Ran, cx: Settling<'_>) -> Settled {
    let policy = &tool.descriptor.context_policy;
    let verification = verify::verify(tool, &ran);
    let masked = tool.redaction() == RedactionPolicy::PersonalData;
    let clean = |text: &str| match (cx.redact)(cx.secrets, text) {
        clean if masked => (cx.mask)(&clean).into_owned(),
        clean => clean.into_owned(),
    };
    let keep = tool.descriptor.observability.keeps_results();
    let artifacts = attached::take(&mut ran, cx.secrets, keep);
    let output = clean(&ran.output);
    let output = preview::with_notes(&output, &artifacts);
    let output = preview::normalise(&output);
    let fault = ran.fault.or(verification.fault).or_else(|| unverified(cx.checks));
    let fault = fault.map(|fault| Fault {
        code: clean(&fault.code),
        message: clean(&fault.message),
        ..fault
    });
    let result_digest = Digest::of("result", output.as_bytes());
    let facts = || ReceiptIssued {
        receipt: String::new(),
        key_id: String::new(),
        tool_id: tool.id().clone(),
        tool_version: tool.version,
        args_digest,
        result_digest,
        issued_at: cx.now,
    };
    let eligible = (cx.receipt_eligible)(fault.as_ref());
    let receipt = cx.key.filter(|_| eligible).map(|key| receipt::issue(key, cx.scope, facts()));
    let body = match &fault {
        Some(fault) => failure_text(fault, output),
        None => exposed(policy.expose_output_to_model, (output, ran.structured.as_ref()), &clean),
    };
    let suffix = receipt.as_ref().map(receipt::suffix).unwrap_or_default();
    let limit = preview::limit(policy, cx.max_tool_result_chars);
    let shown = (cx.preview)(&body, &suffix, limit);
    // Also where something else than the text is shown.
    let large = output.chars().count() > cx.max_tool_result_chars;
    let hidden = shown.cut || large || policy.expose_output_to_model == OutputExposure::None;
    let status = if fault.is_some() { "failed" } else { "success" };
    // The model is told; the record keeps what kind of fault it was.
    let fault = fault.map(|fault| logged(tool, fault));
    Settled {
        finished: ToolCallFinished {
            status: status.to_owned(),
            artifact_id: None,
            result_digest: Some(result_digest),
            result_chars: Some(output.chars().count() as u64),
            effects: Some(scrubbed(ran.effects, &clean)),
            fault: fault.clone(),
            pending: None,
            unlogged: !keep,
            obtained: ran.obtained.iter().map(|value| hash(cx.scope.session, value)).collect(),
        },
        validated: ToolResultValidated {
            status: if fault.is_some() { "failed" } else { "passed" }.to_owned(),
            summary: Some(verification.summary),
            undeclared: each_scrubbed(&verification.undeclared, &clean),
            checks: cx.checks.to_vec(),
        },
        artifact: (hidden && keep).then(|| Arc::from(output)),
        artifacts: artifacts.into_iter().filter(|one| one.kept).collect(),
        diff: ran.diff.filter(|_| keep).map(|diff| clean(&diff).into()),
        pre_image: ran.before.and_then(|before| pre_image(&before, &clean)),
        command: ran.command.as_deref().map(clean),
        receipt,
        outcome: fault.map_or(Outcome::Succeeded, |fault| Outcome::Failed { fault }),
        shown: shown.text.into(),
        cut: shown.cut,
    }
}

/// As much of a success as its tool exposes.
fn exposed(
    exposure: OutputExposure,
    (output, structured): (&str, Option<&Value>),
    clean: &dyn Fn(&str) -> String,
) -> String {
    match (exposure, structured) {
        (OutputExposure::None, _) => preview::NOT_SHOWN.to_owned(),
        (OutputExposure::Structured, Some(value)) => clean(&value.to_string()),
        _ => output.to_owned(),
    }
}

/// A fault as the record keeps it: its words may be the tool's, and are a part of its result.
pub fn logged(tool: &Registered, fault: Fault) -> Fault {
    if tool.descriptor.observability.keeps_results() {
        return fault;
    }
    Fault { message: UNLOGGED_FAULT.to_owned(), ..fault }
}

/// What is stored holds no secret, and what is restored must be what was there: a pre-image with a
/// secret in it is not kept.
fn pre_image(before: &PreImage, clean: &dyn Fn(&str) -> String) -> Option<Arc<str>> {
    let texts = [Some(&before.path), before.before.as_ref()];
    let whole = texts.into_iter().flatten().all(|text| clean(text) == *text);
    whole.then(|| serde_json::to_string(before).ok().map(Arc::from))?
}

/// Names of what was touched can hold a secret as well as any text.
fn scrubbed(seen: ObservedEffects, clean: &dyn Fn(&str) -> String) -> ObservedEffects {
    let each = |names: &[String]| each_scrubbed(names, clean);
    ObservedEffects {
        reads: each(&seen.reads),
        writes: each(&seen.writes),
        deletes: each(&seen.deletes),
        external_calls: each(&seen.external_calls),
        method: clean(&seen.method),
        cost_usd: seen.cost_usd,
    }
}

fn each_scrubbed(names: &[String], clean: &dyn Fn(&str) -> String) -> Vec<String> {
    names.iter().map(|name| clean(name)).collect()
}

/// The first verifier that found the result wanting, or did not look.
fn unverified(checks: &[Check]) -> Option<Fault> {
    let failed = checks.iter().find(|check| check.result == "fail")?;
    let why = failed.message.as_deref().unwrap_or("it gave no reason");
    let message = format!("the verifier {} did not pass the result: {why}", failed.name);
    Some(Fault { blame: Blame::Tool, code: "verifier".to_owned(), message })
}

/// Error and partial output are both kept.
fn failure_text(fault: &Fault, output: &str) -> String {
    if output == preview::NO_OUTPUT {
        format!("error {}: {}", fault.code, fault.message)
    } else {
        format!("error {}: {}\npartial output:\n{output}", fault.code, fault.message)
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
