//! Lines for people: a call starts, it is done, it failed and why.

use super::fit::line;
use super::render::{End, Named};
use crate::journal::outcome::{Fault, Outcome};

/// A call is about to run.
pub(super) fn start(named: &Named, limit: usize) -> String {
    line(&format!("{}: started", named.tool), limit)
}

/// A call that ran has its outcome.
pub(super) fn end(named: &Named, end: &End<'_>, limit: usize) -> String {
    let after = end.duration_ms.map_or_else(String::new, |millis| format!(" after {millis} ms"));
    let how = match end.outcome {
        Outcome::Succeeded => format!("done{after}"),
        Outcome::Failed { .. } => format!("failed{after}{}", why(end)),
        other => format!("{}{after}", other.name()),
    };
    line(&format!("{}: {how}", named.tool), limit)
}

/// A call that never ran.
pub(super) fn note(named: &Named, end: &End<'_>, limit: usize) -> String {
    line(&format!("{}: {}{}", named.tool, end.outcome.name(), why(end)), limit)
}

/// An attempt failed, and there will be another.
pub(super) fn retry(named: &Named, (attempt, fault): (u32, &Fault), limit: usize) -> String {
    let why = format!("{}: {}", fault.code, fault.message);
    line(&format!("{}: attempt {attempt} failed: {why}; trying again", named.tool), limit)
}

fn why(end: &End<'_>) -> String {
    end.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
}
