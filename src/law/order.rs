//! Validation before policy before start; and what was refused never starts.

use super::index::{Call, Seen};
use super::law::{Scene, Tally};
use crate::journal::event::call::*;

/// B3, "tool args must be schema-validated before policy check": each policy check follows a
/// validation that passed, after the last rewriting.
pub(super) fn validated_before_policy(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for check in call.each::<ToolPolicyChecked>() {
            tally.checked();
            let validated = call.before::<ToolArgsValidated>(check.at);
            let message = match validated {
                Some(seen) if seen.fact.status != "passed" => {
                    "policy was checked on arguments that failed validation"
                }
                Some(seen) if seen.at < call.rewritten(check.at) => {
                    "policy was checked on a rewritten call that was not validated again"
                }
                Some(_) => continue,
                None => "policy was checked before the arguments were validated",
            };
            let other = validated.or(call.first());
            let events = other.map(|seen| seen.seq()).into_iter().chain([check.seq()]);
            tally.broken(Some(call.id), &events.collect::<Vec<_>>(), message.into());
        }
    }
}

/// B4, "policy check must happen before execution": each start follows a passed validation and a
/// policy check of the final name and arguments, and runs the arguments that were validated. The
/// call digest is compared with policy's where nobody was asked; else `approval-binds` does it.
pub(super) fn policy_before_start(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for start in call.each::<ToolCallStarted>() {
            tally.checked();
            let validated = call.before::<ToolArgsValidated>(start.at);
            let policy = call.before::<ToolPolicyChecked>(start.at);
            if let Some(message) = unprepared(call, start, (validated, policy)) {
                let seqs = [validated.map(|seen| seen.seq()), policy.map(|seen| seen.seq())];
                let events: Vec<u64> = seqs.into_iter().flatten().chain([start.seq()]).collect();
                tally.broken(Some(call.id), &events, message.into());
            }
        }
    }
}

type Prepared<'a> = (Option<Seen<'a, ToolArgsValidated>>, Option<Seen<'a, ToolPolicyChecked>>);

fn unprepared(
    call: &Call<'_>,
    start: Seen<'_, ToolCallStarted>,
    (validated, policy): Prepared<'_>,
) -> Option<&'static str> {
    let Some(validated) = validated.filter(|seen| seen.fact.status == "passed") else {
        return Some("a call started without arguments that passed validation");
    };
    let Some(policy) = policy else {
        return Some("a call started before policy was checked");
    };
    let rewritten = call.rewritten(start.at);
    if validated.at < rewritten || policy.at < rewritten {
        return Some("a rewritten call started without being judged again");
    }
    let differ = |a: Option<_>, b: Option<_>| a.is_some() && b.is_some() && a != b;
    if differ(start.fact.args_digest, validated.fact.args_digest) {
        return Some("a call started with other arguments than those validated");
    }
    let asked = call.first::<ApprovalRequested>().is_some();
    if !asked && differ(start.fact.call_digest, policy.fact.call_digest) {
        return Some("a call started as something else than policy judged");
    }
    None
}

/// A, the outcome table: what ends as rejected, unavailable, denied, replaced, blocked, duplicate
/// or cancelled never started; and nothing starts after policy's deny or after an answer other
/// than yes, unless a later answer granted it.
pub(super) fn denied_never_runs(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        let settled = call.first::<ToolCallSettled>().filter(|s| !s.fact.outcome.started());
        let refused = refusal(call, usize::MAX);
        if settled.is_none() && refused.is_none() {
            continue;
        }
        tally.checked();
        let Some(last) = call.before::<ToolCallStarted>(usize::MAX) else { continue };
        if let Some(settled) = settled {
            let message = format!("a call that ended as {} started", settled.fact.outcome.name());
            tally.broken(Some(call.id), &[last.seq(), settled.seq()], message);
        } else if let Some((seq, what)) =
            call.each::<ToolCallStarted>().find_map(|start| refusal(call, start.at))
        {
            tally.broken(Some(call.id), &[seq, last.seq()], format!("a call started after {what}"));
        }
    }
}

/// The refusal in force before a place: the last policy check denies, or the last answer was not
/// a yes.
fn refusal(call: &Call<'_>, before: usize) -> Option<(u64, &'static str)> {
    let policy = call.before::<ToolPolicyChecked>(before);
    if let Some(policy) = policy.filter(|seen| seen.fact.decision == "deny") {
        return Some((policy.seq(), "policy denied it"));
    }
    let place = |seen: Option<(usize, u64)>, what| seen.map(|(at, seq)| (at, seq, what));
    let denied = call.before::<ApprovalDenied>(before).map(|seen| (seen.at, seen.seq()));
    let replaced = call.before::<ApprovalReplaced>(before).map(|seen| (seen.at, seen.seq()));
    let expired = call.before::<ApprovalExpired>(before).map(|seen| (seen.at, seen.seq()));
    let unreached = call.before::<ApprovalUnreachable>(before).map(|seen| (seen.at, seen.seq()));
    let last = [
        place(denied, "a person denied it"),
        place(replaced, "a person replaced it"),
        place(expired, "its approval expired"),
        place(unreached, "nobody could be asked"),
    ];
    let (at, seq, what) = last.into_iter().flatten().max()?;
    let granted = call.before::<ApprovalGranted>(before);
    granted.is_none_or(|granted| granted.at < at).then_some((seq, what))
}
