//! THE TABLE: every decision of the lifecycle as a named function. The machine consults nothing
//! else, so a mutant is this table with one function replaced.

use std::borrow::Cow;

use serde_json::Value;

use crate::base::bounded::Bounded;
use crate::base::secret::SecretSet;
use crate::journal::outcome::{Fault, Unavailability};
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::Proposed;
use crate::runtime::evidence::settle::Redact;
use crate::runtime::evidence::{preview, settle};
use crate::runtime::guard::permit::Accept;
use crate::runtime::guard::{Resolved, Validated, approval, resolve, validate};
use crate::runtime::policy::{self, Judgement, Principal, Rules};
use crate::runtime::resolved::Knobs;
use crate::runtime::view::View;
use crate::runtime::view::compile::MayExpose;
use crate::tool::schema::ArgumentError;

/// The decisions.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Step 1: whether policy lets a tool be shown.
    pub may_expose: MayExpose,
    /// Step 5b: the name in this view.
    pub resolve: fn(Proposed, &View) -> Result<Resolved, (Proposed, Unavailability)>,
    /// Step 5e: the arguments against the schema.
    pub validate: fn(Resolved, &Principal) -> Result<Validated, (Resolved, Vec<ArgumentError>)>,
    /// Step 5f: policy.
    pub decide: fn(&Registered, &Value, &Principal, &Rules) -> Judgement,
    /// Step 5h: what an answer means.
    pub accept_approval: Accept,
    /// Step 6: how ready calls run.
    pub plan_dispatch: fn(usize, &Knobs) -> Dispatch,
    /// Step 8: what returns to the model.
    pub preview: fn(&str, &str, usize) -> Bounded,
    /// Step 8: whether a result may have a receipt.
    pub receipt_eligible: fn(Option<&Fault>) -> bool,
    /// Step 8: takes secrets out of a text.
    pub redact: Redact,
    /// Step 9: the order in which slots are appended.
    pub append_order: fn(usize) -> Vec<usize>,
    /// Step 10: whether the model is asked again.
    pub next: fn(u32, &Knobs) -> Next,
}

/// How ready calls run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// `sequential`, until parallel execution exists.
    pub mode: &'static str,
    /// Why.
    pub reason: &'static str,
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
        resolve: resolve::resolve,
        validate: validate::validate,
        decide: policy::decide,
        accept_approval: approval::accept,
        plan_dispatch,
        preview: preview::preview,
        receipt_eligible: settle::receipt_eligible,
        redact,
        append_order,
        next,
    };
}

fn plan_dispatch(ready: usize, knobs: &Knobs) -> Dispatch {
    let reason = match (ready, knobs.parallel_tools) {
        (0, _) => "no call is ready",
        (1, _) => "one call is ready",
        (_, false) => "parallel_tools is off",
        (_, true) => "this runtime runs calls one after another",
    };
    Dispatch { mode: "sequential", reason }
}

fn append_order(slots: usize) -> Vec<usize> {
    (0..slots).collect()
}

fn next(iterations: u32, knobs: &Knobs) -> Next {
    if iterations < knobs.iteration_cap { Next::Ask } else { Next::Cap }
}

fn redact<'a>(secrets: &SecretSet, text: &'a str) -> Cow<'a, str> {
    secrets.scrub(text)
}
