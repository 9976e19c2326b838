//! What an outcome says, held against the facts before it.

use super::answer::{Word, last_word, word};
use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use super::repeat::Scopes;
use crate::journal::event::call::*;
use crate::journal::outcome::{Denier, Outcome};
use crate::journal::{Entry, Event};

/// How an outcome stands to the facts before it.
enum Stands {
    /// Another law's matter, or nothing to compare with.
    Unjudged,
    Agrees,
    /// The entry that says otherwise, when there is one, and what was seen.
    Differs(Option<u64>, String),
    /// The journal lacks this fact.
    Unsaid(&'static str),
}

/// A, "each outcome is told apart in the text and in the audit": an outcome agrees with the last
/// fact that decided it. What policy denies, validation fails, a person refuses or replaces, or
/// the duplicate guard drops ends as just that, and nothing ends so without it; blocked names a
/// hook, a repeat or a loop; failed calls had started. Starts of what was refused are for
/// `denied-never-runs`, requests that nobody answered for `timeout-is-no-refusal`, how a call that
/// ran had finished for `truth-of-finish`, and that an interrupted one had started for
/// `torn-down-before-end`.
pub(super) fn outcome_tells_truth(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let scopes = index.scopes();
    for call in &index.calls {
        let Some(settled) = call.first::<ToolCallSettled>() else { continue };
        let stands = if call.first::<ToolCallStarted>().is_some() {
            started(settled)
        } else {
            unstarted(index, scopes, call, settled)
        };
        match stands {
            Stands::Unjudged => {}
            Stands::Agrees => tally.checked(),
            Stands::Differs(seq, message) => {
                tally.checked();
                let events: Vec<u64> = seq.into_iter().chain([settled.seq()]).collect();
                tally.broken(Some(call.id), &events, message);
            }
            Stands::Unsaid(what) => {
                tally.unknown(|| format!("the journal records no {what} of {}", call.id));
            }
        }
    }
}

fn started(settled: Seen<'_, ToolCallSettled>) -> Stands {
    match settled.fact.outcome {
        Outcome::Failed { .. } => Stands::Agrees,
        _ => Stands::Unjudged,
    }
}

fn differs(seq: u64, message: &str) -> Stands {
    Stands::Differs(Some(seq), message.into())
}

/// What the last deciding fact demands of the outcome.
enum Demand {
    Nothing,
    Rejection,
    Denial,
    Refusal,
    Replacement,
    Drop,
}

fn unstarted(
    index: &Index<'_>,
    scopes: &Scopes<'_>,
    call: &Call<'_>,
    settled: Seen<'_, ToolCallSettled>,
) -> Stands {
    let outcome = &settled.fact.outcome;
    if outcome.started() {
        // A finish, a success and an interruption without a start are other laws' matter.
        let finished = call.first::<ToolCallFinished>().is_some();
        let other = finished || matches!(outcome, Outcome::Succeeded | Outcome::Interrupted);
        let message = format!("a call ended as {} and never started", outcome.name());
        return if other { Stands::Unjudged } else { Stands::Differs(None, message) };
    }
    let mut before = call.entries().rev().filter(|(at, _)| *at < settled.at);
    let last = before.find_map(|(_, entry)| demand(entry).map(|demand| (entry.seq, demand)));
    let (seq, demand) = last.unwrap_or((settled.seq(), Demand::Nothing));
    let (met, said) = match demand {
        Demand::Nothing => return undecided(index, scopes, call, settled),
        Demand::Rejection => {
            (matches!(outcome, Outcome::Rejected { .. }), "whose arguments failed validation")
        }
        Demand::Denial => (denied(outcome, |by| !personal(by)), "that policy denied"),
        Demand::Refusal => {
            let alone = index.opened.and_then(|opened| opened.approver.as_deref()) == Some("none");
            let by = |by| match by {
                Denier::Operator | Denier::ApprovalMismatch => true,
                other => other == Denier::NoApprover && alone,
            };
            (denied(outcome, by), "that a person refused")
        }
        Demand::Replacement => (*outcome == Outcome::Replaced, "that a person replaced"),
        Demand::Drop => (matches!(outcome, Outcome::Duplicate { .. }), "dropped as a duplicate"),
    };
    if met {
        return Stands::Agrees;
    }
    differs(seq, &format!("a call {said} ended as {}", told(outcome)))
}

/// What an entry demands of the outcome; `None` for one that decides nothing.
fn demand(entry: &Entry) -> Option<Demand> {
    let demand = match &entry.event {
        Event::ToolArgsValidated(fact) if fact.status != "passed" => Demand::Rejection,
        Event::ToolPolicyChecked(fact) if fact.decision == "deny" => Demand::Denial,
        Event::DuplicateDropped(_) => Demand::Drop,
        Event::HookRan(fact) if fact.point != "before_call" => return None,
        Event::ToolArgsValidated(_)
        | Event::ToolPolicyChecked(_)
        | Event::RepeatStopped(_)
        | Event::HookRan(_)
        | Event::ToolCallRewritten(_) => Demand::Nothing,
        event => match word(event)? {
            Word::No => Demand::Refusal,
            Word::Edited => Demand::Replacement,
            Word::Asked | Word::Yes | Word::Expired | Word::Unreachable => Demand::Nothing,
        },
    };
    Some(demand)
}

fn denied(outcome: &Outcome, fits: impl Fn(Denier) -> bool) -> bool {
    matches!(outcome, Outcome::Denied { by, .. } if fits(*by))
}

/// Whether only a question to a person can end so.
fn personal(by: Denier) -> bool {
    match by {
        Denier::Operator
        | Denier::NoApprover
        | Denier::ApprovalTimeout
        | Denier::ApprovalExpired
        | Denier::ApprovalMismatch => true,
        Denier::Policy
        | Denier::Sandbox
        | Denier::Credential
        | Denier::Budget
        | Denier::GrantRevoked
        | Denier::ToolBlocked => false,
    }
}

/// No fact demands an outcome: then the outcome must have its own cause.
fn undecided(
    index: &Index<'_>,
    scopes: &Scopes<'_>,
    call: &Call<'_>,
    settled: Seen<'_, ToolCallSettled>,
) -> Stands {
    let outcome = &settled.fact.outcome;
    let policy = call.before::<ToolPolicyChecked>(settled.at);
    let spoken = last_word(call, settled.at).map(|(_, word)| word);
    let asks = || index.each::<ApprovalRequested>().next().is_some();
    let baseless =
        || Stands::Differs(None, format!("a call ended as {} for nothing", told(outcome)));
    let unless = |known: bool, what| if known { baseless() } else { Stands::Unsaid(what) };
    match outcome {
        Outcome::Denied { .. } if spoken.is_some_and(Word::unanswered) => Stands::Unjudged,
        Outcome::Rejected { .. } => match call.before::<ToolArgsValidated>(settled.at) {
            None => Stands::Unsaid("validation"),
            Some(seen) if seen.fact.status != "passed" => Stands::Agrees,
            Some(seen) => differs(seen.seq(), "a call whose arguments passed ended as rejected"),
        },
        Outcome::Denied { by: Denier::Policy, .. } => match policy {
            None => Stands::Unsaid("policy check"),
            Some(policy) if policy.fact.decision == "deny" => Stands::Agrees,
            Some(policy) => differs(policy.seq(), "policy denied nothing, and was blamed"),
        },
        Outcome::Denied { by: Denier::Operator, .. } => unless(asks(), "approval"),
        Outcome::Denied {
            by: Denier::NoApprover | Denier::ApprovalTimeout | Denier::ApprovalExpired,
            ..
        } => match policy.filter(|seen| seen.fact.decision == "allow" && spoken.is_none()) {
            Some(policy) => differs(policy.seq(), "a call that needed nobody lacked an answer"),
            None => Stands::Unjudged,
        },
        Outcome::Replaced => unless(asks(), "approval"),
        Outcome::Duplicate { .. } if call.first::<DuplicateDropped>().is_some() => Stands::Agrees,
        Outcome::Duplicate { .. } => {
            let guarded = index.each::<DuplicateDropped>().next().is_some()
                || scopes.turn(call).is_some_and(|turn| turn.fact.duplicate_scope.is_some());
            unless(guarded, "dropped duplicate")
        }
        Outcome::Blocked { .. } if caused(index, call, settled.at) => Stands::Agrees,
        Outcome::Blocked { .. } => unless(guards(index), "hook or guard"),
        _ => Stands::Unjudged,
    }
}

/// Whether a hook, a repeat or a loop can have blocked the call.
fn caused(index: &Index<'_>, call: &Call<'_>, before: usize) -> bool {
    let hook = |seen: Seen<'_, HookRan>| {
        seen.fact.point == "before_call"
            && matches!(seen.fact.verdict.as_str(), "cancel" | "failed")
    };
    call.each::<HookRan>().any(hook)
        || call.first::<RepeatStopped>().is_some()
        || looped(index, call, before)
}

/// Whether the session records guards at all.
fn guards(index: &Index<'_>) -> bool {
    index.entries.iter().any(|entry| {
        loops(entry) || matches!(entry.event, Event::HookRan(_) | Event::RepeatStopped(_))
    })
}

fn loops(entry: &Entry) -> bool {
    matches!(entry.event, Event::LoopWarned(_) | Event::LoopStopped(_))
}

/// Whether the loop guard spoke before a place, in the call's turn and not about another call.
pub(super) fn looped(index: &Index<'_>, call: &Call<'_>, before: usize) -> bool {
    let turn = call.begins().map(|(_, entry)| &entry.turn);
    index.entries.iter().take(before).any(|entry| {
        let own = entry.call.as_deref().is_none_or(|about| about == call.id);
        loops(entry) && own && Some(&entry.turn) == turn
    })
}

/// An outcome in words, with who denied it.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Denied { by, .. } => format!("denied by {}", denier(*by)),
        other => other.name().into(),
    }
}

/// The denier as written in files.
pub(super) fn denier(by: Denier) -> &'static str {
    match by {
        Denier::Policy => "policy",
        Denier::Operator => "operator",
        Denier::NoApprover => "no_approver",
        Denier::ApprovalTimeout => "approval_timeout",
        Denier::ApprovalExpired => "approval_expired",
        Denier::ApprovalMismatch => "approval_mismatch",
        Denier::Sandbox => "sandbox",
        Denier::Credential => "credential",
        Denier::Budget => "budget",
        Denier::GrantRevoked => "grant_revoked",
        Denier::ToolBlocked => "tool_blocked",
    }
}
