//! Mistakes about budgets, verifiers, rehearsals and personal data.

use super::*;
use crate::journal::outcome::{Fault, Outcome};

type Maybe = Option<Altered>;

/// A call that started and was bound by a budget, and where policy said so.
fn bound(record: &Record<'_>, fits: impl Fn(&Budget) -> bool) -> Option<usize> {
    record.each::<ToolPolicyChecked>().find_map(|(at, fact)| {
        let bound = fact.budgets.iter().any(&fits) && record.has::<ToolCallStarted>(at);
        bound.then_some(at)
    })
}

pub(super) fn budget_of_no_call(record: &Record<'_>) -> Maybe {
    let at = bound(record, |budget| budget.calls.is_some())?;
    record.alter(at, |fact: &mut ToolPolicyChecked| {
        for budget in &mut fact.budgets {
            budget.calls = budget.calls.map(|_| 0);
        }
    })
}

pub(super) fn budget_of_no_money(record: &Record<'_>) -> Maybe {
    let mut all = record.each::<ToolPolicyChecked>();
    let (at, _) = all.find(|(at, fact)| {
        let costs = fact.cost_usd.is_some_and(|cost| cost > 0.0);
        costs && fact.budgets.iter().any(|one| one.cost_usd.is_some()) && started(record, *at)
    })?;
    record.alter(at, |fact: &mut ToolPolicyChecked| {
        for budget in &mut fact.budgets {
            budget.cost_usd = budget.cost_usd.map(|_| 0.0);
        }
    })
}

fn started(record: &Record<'_>, at: usize) -> bool {
    record.has::<ToolCallStarted>(at)
}

pub(super) fn cost_unbounded(record: &Record<'_>) -> Maybe {
    let at = bound(record, |budget| budget.cost_usd.is_some())?;
    record.alter(at, |fact: &mut ToolPolicyChecked| fact.cost_usd = None)
}

pub(super) fn past_the_deadline(record: &Record<'_>) -> Maybe {
    let at = bound(record, |budget| budget.deadline.is_some())?;
    record.alter(at, |fact: &mut ToolPolicyChecked| {
        for budget in &mut fact.budgets {
            budget.deadline = budget.deadline.map(|_| 0);
        }
    })
}

/// A success that verifiers passed: its end, and the first look.
fn passed(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<ToolCallFinished>().find_map(|(end, fact)| {
        let (start, begun) = record.of_call::<ToolCallStarted>(end).last()?;
        let named = |hook: &HookRan| hook.point == "verify" && begun.verifiers.contains(&hook.hook);
        let mut looks = record.of_call::<HookRan>(end);
        let (look, found) = looks.find(|(at, hook)| start < *at && *at < end && named(hook))?;
        (fact.status == "success" && !found.observer).then_some((end, look))
    })
}

pub(super) fn unlooked_success(record: &Record<'_>) -> Maybe {
    record.drop(passed(record)?.1)
}

pub(super) fn refused_success(record: &Record<'_>) -> Maybe {
    let (_, look) = passed(record)?;
    record.alter(look, |fact: &mut HookRan| fact.verdict = "cancel".to_owned())
}

pub(super) fn another_verifier(record: &Record<'_>) -> Maybe {
    let (end, _) = passed(record)?;
    let (start, _) = record.of_call::<ToolCallStarted>(end).last()?;
    record.alter(start, |fact: &mut ToolCallStarted| fact.verifiers.push("nobody".to_owned()))
}

pub(super) fn look_too_late(record: &Record<'_>) -> Maybe {
    let (end, look) = passed(record)?;
    record.shift(look, end)
}

/// The start of a call that was confirmed with its rehearsal.
fn rehearsed(record: &Record<'_>) -> Option<usize> {
    record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let (_, asked) = record.of_call::<ApprovalRequested>(at).last()?;
        let (_, yes) = record.of_call::<ApprovalGranted>(at).last()?;
        let shown = asked.rehearsal.is_some() && asked.approval_id == yes.approval_id;
        (shown && start.rehearsal.is_some()).then_some(at)
    })
}

pub(super) fn rehearsed_once(record: &Record<'_>) -> Maybe {
    let at = rehearsed(record)?;
    record.alter(at, |fact: &mut ToolCallStarted| fact.rehearsal = None)
}

pub(super) fn does_something_else(record: &Record<'_>) -> Maybe {
    let at = rehearsed(record)?;
    let other = Digest::of("rehearsal", b"something else");
    record.alter(at, |fact: &mut ToolCallStarted| fact.rehearsal = Some(other))
}

/// A result whose words were looked at by nobody: it is said to be of a tool that reads people's
/// data, and holds some.
pub(super) fn mask_what_is_bare(record: &Record<'_>) -> Maybe {
    let (at, settled) = record.each::<ToolCallSettled>().find(|(at, settled)| {
        let masked = |(_, fact): At<'_, ToolPolicyChecked>| fact.redaction.is_some();
        let text = settled.shown.and_then(|name| record.blobs.get(&name));
        record.of_call::<ToolPolicyChecked>(*at).any(masked)
            && record.has::<ToolCallFinished>(*at)
            && text.is_some()
    })?;
    let text = record.blobs.get(&settled.shown?)?;
    let bare = format!("ann@example.org{}", &text[text.floor_char_boundary(15)..]);
    // What is told of the call is told everywhere.
    let mut blobs = record.blobs.clone();
    let (old, new) = (settled.shown?, blobs.put(bare.as_str().into()));
    let chars = bare.chars().count();
    let call = record.entry(at)?.call.clone();
    let mut entries = record.entries.to_vec();
    for entry in &mut entries {
        match &mut entry.event {
            Event::ToolCallSettled(fact) if entry.call == call => {
                fact.shown = Some(new);
                fact.shown_chars = Some(chars as u64);
            }
            Event::TranscriptAppended(fact) => {
                let own = |one: &&mut TranscriptMessage| {
                    one.text == old && one.call.as_deref() == call.as_deref()
                };
                for message in fact.messages.iter_mut().filter(own) {
                    message.text = new;
                    message.chars = chars;
                }
            }
            _ => {}
        }
    }
    Some((entries, blobs))
}

pub(super) fn bare_fault(record: &Record<'_>) -> Maybe {
    let (end, _) = record.each::<ToolCallFinished>().find(|(end, fact)| {
        let masked = |(_, policy): At<'_, ToolPolicyChecked>| policy.redaction.is_some();
        fact.fault.is_some()
            && !fact.unlogged
            && record.of_call::<ToolPolicyChecked>(*end).any(masked)
    })?;
    let (settled, _) = record.one::<ToolCallSettled>(end)?;
    let bare = |fault: &mut Fault| fault.message = "ann@example.org has no mailbox".to_owned();
    record.edit(|entries| {
        alter(entries, end, |fact: &mut ToolCallFinished| {
            fact.fault.iter_mut().for_each(bare);
        })?;
        alter(entries, settled, |fact: &mut ToolCallSettled| {
            if let Outcome::Failed { fault } = &mut fact.outcome {
                bare(fault);
            }
        })
    })
}
