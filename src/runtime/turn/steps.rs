//! THE TABLE: every decision of the lifecycle as a named function. The machine consults nothing
//! else, so a mutant is this table with one function replaced.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::control::{self, LoopVerdict, Round};
use super::schedule::{self, Batch, Dispatch, OnCancel};
use super::slots::Stage;
use crate::base::bounded::Bounded;
use crate::base::digest::Digest;
use crate::base::redact::mask_personal;
use crate::base::secret::SecretSet;
use crate::base::world::Millis;
use crate::journal::event::call::Check;
use crate::journal::outcome::{Fault, Unavailability};
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::{Dialect, Proposed, RawCall, Reply, TextRules};
use crate::runtime::evidence::settle::{Mask, Redact};
use crate::runtime::evidence::{preview, settle};
use crate::runtime::exec::{Ready, Rehearsed};
use crate::runtime::guard::permit::Accept;
use crate::runtime::guard::repeat::{self, CallKey, DuplicateScope, Ledger, Repeat};
use crate::runtime::guard::spent::{self, OverBudget};
use crate::runtime::guard::{
    Envelope, Grant, Grants, HookSpec, HookVerdict, Resolved, Validated, approval, delivery, grant,
    resolve, validate,
};
use crate::runtime::policy::{self, Judgement, Principal, Rules};
use crate::runtime::resolved::Knobs;
use crate::runtime::view::compile::MayExpose;
use crate::runtime::view::{ActivatedSet, Blocks, View, delegated};
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;
use crate::tool::risk::Level;
use crate::tool::schema::ArgumentError;

/// The decisions.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Step 1: whether policy lets a tool be shown.
    pub may_expose: MayExpose,
    /// Step 3: the calls of a reply.
    pub parse: fn(Dialect, &Reply, TextRules) -> (Option<String>, Vec<RawCall>),
    /// Step 5a: whether a hook's word blocks the call; the reason when it does.
    pub hook_blocks: fn(&HookSpec, &HookVerdict) -> Option<String>,
    /// Step 5b: the name in this view.
    pub resolve: fn(Proposed, &View) -> Result<Resolved, (Proposed, Unavailability)>,
    /// Step 5c: takes the approval marker out, whoever wrote it.
    pub clear_marker: fn(&mut Value, &str) -> bool,
    /// Step 5d: fills in what the ingress envelope knows.
    pub delivery_defaults: fn(&mut Value, &Registered, &Envelope, &str) -> Vec<String>,
    /// Step 5e: the arguments against the schema.
    pub validate: fn(Resolved, &Principal) -> Result<Validated, (Resolved, Vec<ArgumentError>)>,
    /// Step 5f: policy.
    pub decide: fn(&Registered, &Value, &Principal, &Rules) -> Judgement,
    /// Step 5f: how the call compares with the declared intent; why it goes beyond.
    pub beyond_intent: fn(&Registered, &Intent) -> Option<String>,
    /// Step 5g: whether the same question was asked before.
    pub repeated_prompt: fn(&Ledger, CallKey, u32) -> Repeat,
    /// Step 5h: the grant that answers instead of a person.
    pub standing_grant: for<'g> fn(&'g Grants, &Validated, &Principal, Millis) -> Option<&'g Grant>,
    /// Step 5h: whether the use of an MCP server was agreed to.
    pub consented: fn(&Grants, &grant::Consent) -> bool,
    /// Step 5h: what an answer means.
    pub accept_approval: Accept,
    /// Step 5h: whether a budget is used up; how when it is.
    pub over_budget: OverBudget,
    /// Step 5h: whether a change is so large that somebody looks at it first.
    pub large_change: fn(&Rehearsed, &Registered, &Knobs) -> Option<String>,
    /// Step 5j: the earlier call that this one repeats.
    pub duplicate: fn(&Ledger, (CallKey, &str), u32, DuplicateScope) -> Option<Arc<str>>,
    /// Step 6: how ready calls run.
    pub plan_dispatch: fn(&Batch, &Knobs) -> Dispatch,
    /// Step 6: whether two calls may not run at the same time.
    pub conflict: fn(&Registered, &Registered) -> bool,
    /// Steps 5h and 7: whether a tool was blocked since its view was compiled.
    pub is_blocked: fn(&Blocks, &ToolId) -> bool,
    /// Step 7: whether a started call still has its authority; the reason when it has not.
    pub still_permitted: fn(&Ready, &Grants, Millis) -> Result<(), schedule::Void>,
    /// Step 7: whether the file that would run now is the one that was approved.
    pub same_operand: fn(&Validated, Option<Digest>) -> bool,
    /// Step 7: whether what a call would do is what was shown to whoever confirmed it.
    pub same_rehearsal: fn(&str, &str) -> bool,
    /// Step 7: when a failed attempt is tried again.
    pub retry: fn(&Registered, &Fault, u32, Millis) -> Option<Millis>,
    /// Step 7: what a cancellation does to a call.
    pub on_cancel: fn(&Stage) -> OnCancel,
    /// Step 8: what a verifier's word means.
    pub check: fn(&HookSpec, &HookVerdict) -> Check,
    /// Step 8: takes personal data out of a text.
    pub mask: Mask,
    /// Step 8: what returns to the model.
    pub preview: fn(&str, &str, usize) -> Bounded,
    /// Step 8: whether a result may have a receipt.
    pub receipt_eligible: fn(Option<&Fault>) -> bool,
    /// Step 8: takes secrets out of a text.
    pub redact: Redact,
    /// Step 3: takes known secrets out of what a model or a hook wrote. Patterns have no say here:
    /// a tool gets the arguments that were meant for it.
    pub redact_known: Redact,
    /// Step 8: what of a search's finds can be called from the next request on.
    pub activate: fn(&mut ActivatedSet, &[ToolId], &View) -> Vec<ToolId>,
    /// Step 7: which of the view's tools a delegate gets.
    pub delegated: fn(&Registered, &View) -> Vec<ToolId>,
    /// Step 9: the order in which slots are appended.
    pub append_order: fn(usize) -> Vec<usize>,
    /// Step 10: whether the calls of the turn go in circles.
    pub loop_guard: fn(&[Round], Option<CallKey>, &Knobs) -> LoopVerdict,
    /// Step 10: whether the model is asked again.
    pub next: fn(u32, &Knobs) -> Next,
}

/// Whether the model is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is.
    Ask,
    /// The cap is reached.
    Cap,
}

impl Steps {
    /// The product.
    pub const REAL: Self = Self {
        may_expose: policy::may_expose,
        parse: Dialect::parse,
        hook_blocks,
        resolve: resolve::resolve,
        clear_marker: delivery::clear_marker,
        delivery_defaults: delivery::delivery_defaults,
        validate: validate::validate,
        decide: policy::decide,
        beyond_intent: policy::beyond_intent,
        repeated_prompt: repeat::repeated_prompt,
        standing_grant: grant::standing,
        consented: Grants::consented,
        accept_approval: approval::accept,
        over_budget: spent::over_budget,
        large_change,
        duplicate: repeat::duplicate,
        plan_dispatch: schedule::plan_dispatch,
        conflict: schedule::conflict,
        is_blocked: Blocks::holds,
        still_permitted: schedule::still_permitted,
        same_operand: Validated::is_bound_to,
        same_rehearsal: |shown, found| shown == found,
        retry: schedule::retry,
        on_cancel: schedule::on_cancel,
        check,
        mask: mask_personal,
        preview: preview::preview,
        receipt_eligible: settle::receipt_eligible,
        redact,
        redact_known,
        activate: ActivatedSet::activate,
        delegated,
        append_order,
        loop_guard: control::loop_guard,
        next,
    };
}

/// A cancel blocks; a failure blocks unless the hook only observes.
fn hook_blocks(spec: &HookSpec, verdict: &HookVerdict) -> Option<String> {
    match verdict {
        HookVerdict::Pass | HookVerdict::Rewrite { .. } => None,
        _ if spec.observer => None,
        HookVerdict::Cancel { reason } => Some(reason.clone()),
        HookVerdict::Failed { why } => Some(format!("the guard hook failed: {why}")),
    }
}

/// A verifier passes a result or does not; one that fails has not passed it. What an observer finds
/// is a warning.
fn check(spec: &HookSpec, verdict: &HookVerdict) -> Check {
    let message = match verdict {
        HookVerdict::Pass => None,
        HookVerdict::Cancel { reason } => Some(reason.clone()),
        HookVerdict::Rewrite { .. } => Some("a verifier rewrites nothing".to_owned()),
        HookVerdict::Failed { why } => Some(format!("it failed: {why}")),
    };
    let result = match (&message, spec.observer) {
        (None, _) => "pass",
        (Some(_), true) => "warn",
        (Some(_), false) => "fail",
    };
    Check { name: spec.name.clone(), result: result.to_owned(), message }
}

/// A change of the workspace (L2) of as many lines as the knob says.
fn large_change(found: &Rehearsed, tool: &Registered, knobs: &Knobs) -> Option<String> {
    let (lines, most) = (found.lines?, knobs.confirm_diff_lines?);
    let large = tool.level == Level::L2 && lines >= most;
    large.then(|| format!("it changes {lines} lines, and {most} or more are looked at first"))
}

fn append_order(slots: usize) -> Vec<usize> {
    (0..slots).collect()
}

fn next(iterations: u32, knobs: &Knobs) -> Next {
    if iterations < knobs.iteration_cap { Next::Ask } else { Next::Cap }
}

fn redact_known<'a>(secrets: &SecretSet, text: &'a str) -> Cow<'a, str> {
    secrets.scrub_known(text)
}

fn redact<'a>(secrets: &SecretSet, text: &'a str) -> Cow<'a, str> {
    secrets.scrub(text)
}
