//! How ready calls run: in parallel only where that is safe, writers of the same thing never at the
//! same time, attempts again only where that is harmless, and what a cancellation does.

use super::slots::Stage;
use crate::base::world::Millis;
use crate::journal::outcome::{Denier, Fault};
use crate::runtime::catalog::Registered;
use crate::runtime::exec::Ready;
use crate::runtime::guard::Grants;
use crate::runtime::guard::permit::Word;
use crate::runtime::resolved::Knobs;
use crate::tool::effect::ResourcePattern;

/// What the plan looks at, after all rewriting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// How many calls are ready.
    pub ready: usize,
    /// Whether a person was asked about any call of the batch.
    pub asked: bool,
    /// Whether one of the ready calls searches for tools.
    pub search: bool,
}

/// How ready calls run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// Whether several run at the same time.
    pub parallel: bool,
    /// Why.
    pub reason: &'static str,
}

impl Dispatch {
    /// The mode's name as written in journals.
    pub fn mode(&self) -> &'static str {
        if self.parallel { "parallel" } else { "sequential" }
    }
}

/// Parallel only if the knob is on, two or more are ready, nobody was asked about any, and none
/// searches for tools.
pub fn plan_dispatch(batch: &Batch, knobs: &Knobs) -> Dispatch {
    let sequential = |reason| Dispatch { parallel: false, reason };
    match batch {
        Batch { ready: 0, .. } => sequential("no call is ready"),
        Batch { ready: 1, .. } => sequential("one call is ready"),
        _ if !knobs.parallel_tools => sequential("parallel_tools is off"),
        Batch { asked: true, .. } => sequential("a call needed approval"),
        Batch { search: true, .. } => sequential("a search for tools runs alone"),
        _ => Dispatch { parallel: true, reason: "parallel_tools is on and every call is free" },
    }
}

/// Whether one writes what the other reads or writes, as far as both declare it.
pub fn conflict(left: &Registered, right: &Registered) -> bool {
    let (l, r) = (&left.descriptor.effects, &right.descriptor.effects);
    let meet = |a: &[ResourcePattern], b: &[ResourcePattern]| {
        a.iter().any(|one| b.iter().any(|other| one.overlaps(other)))
    };
    let touches = |a: &[ResourcePattern], e: &crate::tool::descriptor::Effects| {
        meet(a, &e.reads) || meet(a, &e.writes) || meet(a, &e.deletes)
    };
    touches(&l.writes, r)
        || touches(&l.deletes, r)
        || touches(&r.writes, l)
        || touches(&r.deletes, l)
}

/// Why an authority given earlier is void.
pub type Void = (Denier, &'static str);

/// Whether a call still has its authority when it is about to start.
///
/// # Errors
/// What voids it: the answer's time has passed, or the grant was taken back.
pub fn still_permitted(ready: &Ready, grants: &Grants, now: Millis) -> Result<(), Void> {
    match ready.permitted().word() {
        Word::Policy => Ok(()),
        Word::Person { expires_at } if now > *expires_at => {
            Err((Denier::ApprovalExpired, "the approval expired before the call could start"))
        }
        Word::Grant { id } if !grants.stands(id, now) => {
            Err((Denier::GrantRevoked, "the grant was taken back"))
        }
        Word::Person { .. } | Word::Grant { .. } => Ok(()),
    }
}

/// When a failed attempt is tried again: only for a tool that declares itself idempotent, only for
/// a fault that its retry policy names, and only so many times.
pub fn retry(tool: &Registered, fault: &Fault, attempt: u32, now: Millis) -> Option<Millis> {
    let policy = &tool.descriptor.execution.retry_policy;
    let again = tool.descriptor.effects.idempotent
        && attempt <= policy.max_retries
        && policy.retry_on.contains(&fault.code);
    again.then(|| now.saturating_add(policy.backoff_ms.unwrap_or(0)))
}

/// What a cancellation does to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCancel {
    /// It keeps what it has.
    Keep,
    /// It never starts.
    Close,
    /// It runs and is torn down.
    Abort,
}

/// Finished calls keep their result; running ones are torn down; the others never start.
pub fn on_cancel(stage: &Stage) -> OnCancel {
    match stage {
        Stage::Proposed(..)
        | Stage::Hooking(..)
        | Stage::Inspecting(_)
        | Stage::Rehearsing(_)
        | Stage::Asking(..)
        | Stage::Queued(_)
        | Stage::Rechecking(_)
        | Stage::Reviewing(..)
        | Stage::Held(_) => OnCancel::Close,
        Stage::Running { .. } => OnCancel::Abort,
        Stage::Aborting { .. }
        | Stage::Backoff { .. }
        | Stage::Verifying { .. }
        | Stage::Observing { .. }
        | Stage::Settled(_)
        | Stage::Between => OnCancel::Keep,
    }
}
