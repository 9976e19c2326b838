//! Stage 4: authority, a resolved sandbox plan, and the digest compared once more.

use crate::base::digest::Digest;
use crate::runtime::guard::Permitted;
use crate::runtime::sandbox::{self, Plan, Refusal};

/// A call that can start.
#[derive(Debug)]
pub struct Ready {
    permitted: Permitted,
    plan: Plan,
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
}

/// Resolves the plan.
///
/// # Errors
/// The call back, and what cannot be enforced.
///
/// # Panics
/// When the call is not the one that was permitted: a bug of ours, never input.
pub fn prepare(permitted: Permitted, granted: Digest) -> Result<Ready, (Permitted, Refusal)> {
    let call_digest = permitted.validated().call_digest();
    assert_eq!(call_digest, granted, "the call changed after it was permitted");
    match sandbox::plan(&permitted.validated().resolved().tool().descriptor) {
        Ok(plan) => Ok(Ready { permitted, plan }),
        Err(refusal) => Err((permitted, refusal)),
    }
}
