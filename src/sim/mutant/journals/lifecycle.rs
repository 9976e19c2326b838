//! Mistakes in the order and the pairing of a call's steps.

use super::*;
use crate::base::digest::Hasher;
use crate::journal::event::catalog::GrantUsed;
use crate::journal::outcome::Outcome;
use crate::tool::effect::EffectClass;

type Maybe = Option<Altered>;

/// The first start for which something is found.
fn start<'a, T>(
    record: &Record<'a>,
    found: impl FnMut((usize, &'a ToolCallStarted)) -> Option<T>,
) -> Option<T> {
    record.each::<ToolCallStarted>().find_map(found)
}

pub(super) fn retarget_start_version(record: &Record<'_>) -> Maybe {
    let at = start(record, |(at, fact)| record.started_tool(at, fact).map(|_| at))?;
    record.alter(at, |fact: &mut ToolCallStarted| fact.tool_version = Some(other()))
}

pub(super) fn rename_start(record: &Record<'_>) -> Maybe {
    let at = start(record, |(at, fact)| record.started_tool(at, fact).map(|_| at))?;
    let name = ToolId::sanitized("never.registered");
    record.alter(at, |fact: &mut ToolCallStarted| fact.tool_id = Some(name))
}

pub(super) fn drop_settle(record: &Record<'_>) -> Maybe {
    let mut settles = record.each::<ToolCallSettled>();
    let (at, _) = settles
        .find(|(at, _)| record.over(*at) && record.of_call::<ToolCallSettled>(*at).count() == 1)?;
    record.drop(at)
}

pub(super) fn duplicate_settle(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallSettled>().next()?;
    record.repeat(at)
}

/// The first appended result for which something is found: entry, place in it, call.
fn result<'a, T>(
    record: &Record<'a>,
    mut found: impl FnMut(usize, usize, &'a TranscriptAppended) -> Option<T>,
) -> Option<T> {
    record.each::<TranscriptAppended>().find_map(|(at, fact)| {
        let places = fact.messages.iter().enumerate();
        let mut results = places.filter(|(_, message)| message.call.is_some());
        results.find_map(|(place, _)| found(at, place, fact))
    })
}

pub(super) fn drop_result(record: &Record<'_>) -> Maybe {
    let (at, place) = result(record, |at, place, fact| {
        let more = record.in_session::<TranscriptAppended>(at).count() > 1;
        (record.over(at) && (more || fact.messages.len() > 1)).then_some((at, place))
    })?;
    record.alter(at, |fact: &mut TranscriptAppended| drop(fact.messages.remove(place)))
}

pub(super) fn duplicate_result(record: &Record<'_>) -> Maybe {
    let (at, place) = result(record, |at, place, _| Some((at, place)))?;
    record.alter(at, |fact: &mut TranscriptAppended| {
        if let Some(again) = fact.messages.get(place).cloned() {
            fact.messages.insert(place + 1, again);
        }
    })
}

pub(super) fn drop_start(record: &Record<'_>) -> Maybe {
    let at = start(record, |(at, _)| {
        let once = record.of_call::<ToolCallStarted>(at).count() == 1;
        (once && record.has::<ToolCallFinished>(at)).then_some(at)
    })?;
    record.drop(at)
}

pub(super) fn duplicate_request(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallRequested>().next()?;
    record.repeat(at)
}

/// Two neighbouring results of one batch.
fn neighbours(record: &Record<'_>) -> Option<(usize, usize)> {
    result(record, |at, place, fact| {
        let call = |place: usize| fact.messages.get(place).and_then(|m| m.call.as_ref());
        let (left, right) = (call(place)?, call(place + 1)?);
        let both =
            |(_, batch): At<'_, BatchOpened>| [left, right].iter().all(|c| batch.slots.contains(c));
        record.in_session(at).any(both).then_some((at, place))
    })
}

pub(super) fn swap_results(record: &Record<'_>) -> Maybe {
    let (at, place) = neighbours(record)?;
    record.alter(at, |fact: &mut TranscriptAppended| fact.messages.swap(place, place + 1))
}

pub(super) fn reverse_slots(record: &Record<'_>) -> Maybe {
    let (at, place) = neighbours(record)?;
    let (_, fact) = record.each::<TranscriptAppended>().find(|(entry, _)| *entry == at)?;
    let call = fact.messages.get(place)?.call.as_ref()?;
    let mut batches = record.in_session::<BatchOpened>(at);
    let (batch, _) = batches.find(|(_, batch)| batch.slots.contains(call))?;
    record.alter(batch, |fact: &mut BatchOpened| fact.slots.reverse())
}

pub(super) fn speak_between_results(record: &Record<'_>) -> Maybe {
    let (at, place) = result(record, |at, place, fact| {
        // Who made the calls stands right before, be it in the entry before.
        let earlier = |(other, _): &At<'_, TranscriptAppended>| *other < at;
        let maker = match place.checked_sub(1) {
            Some(before) => fact.messages.get(before)?,
            None => record.in_session(at).rfind(earlier)?.1.messages.last()?,
        };
        (!maker.calls.is_empty()).then_some((at, place))
    })?;
    record.alter(at, |fact: &mut TranscriptAppended| {
        if let Some(near) = fact.messages.get(place).cloned() {
            let said = TranscriptMessage { role: "user".into(), call: None, ..near };
            fact.messages.insert(place, said);
        }
    })
}

/// A call's only validation and its only policy check after it.
fn judged(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<ToolPolicyChecked>().find_map(|(policy, _)| {
        let (validated, fact) = record.one::<ToolArgsValidated>(policy)?;
        let once = record.of_call::<ToolArgsValidated>(policy).count() == 1
            && record.of_call::<ToolPolicyChecked>(policy).count() == 1;
        (once && validated < policy && fact.status == "passed").then_some((validated, policy))
    })
}

pub(super) fn policy_before_validation(record: &Record<'_>) -> Maybe {
    let (validated, policy) = judged(record)?;
    record.shift(validated, policy)
}

pub(super) fn drop_validation(record: &Record<'_>) -> Maybe {
    judged(record).and_then(|(validated, _)| record.drop(validated))
}

pub(super) fn fail_validation(record: &Record<'_>) -> Maybe {
    let (validated, _) = judged(record)?;
    record.alter(validated, |fact: &mut ToolArgsValidated| fact.status = "failed".into())
}

/// A start and its call's only policy check before it.
fn permitted<'a>(
    record: &Record<'a>,
    fits: impl Fn(usize, &'a ToolPolicyChecked) -> bool,
) -> Option<(usize, usize)> {
    start(record, |(at, _)| {
        let (policy, fact) = record.one::<ToolPolicyChecked>(at)?;
        let once = record.of_call::<ToolPolicyChecked>(at).count() == 1;
        (once && policy < at && fits(at, fact)).then_some((at, policy))
    })
}

pub(super) fn start_before_policy(record: &Record<'_>) -> Maybe {
    let once = |at| record.of_call::<ToolCallStarted>(at).count() == 1;
    let (at, policy) = permitted(record, |at, _| once(at))?;
    record.shift(at, policy)
}

pub(super) fn drop_policy(record: &Record<'_>) -> Maybe {
    permitted(record, |_, _| true).and_then(|(_, policy)| record.drop(policy))
}

pub(super) fn start_other_arguments(record: &Record<'_>) -> Maybe {
    let at = start(record, |(at, fact)| {
        let (_, validated) = record.one::<ToolArgsValidated>(at)?;
        (fact.args_digest.is_some() && validated.args_digest.is_some()).then_some(at)
    })?;
    record.alter(at, |fact: &mut ToolCallStarted| fact.args_digest = Some(other()))
}

/// Whether a call's authority can only come from its policy check.
fn policy_alone(record: &Record<'_>, at: usize) -> bool {
    !record.has::<ApprovalGranted>(at) && !record.has::<GrantUsed>(at)
}

fn strict(record: &Record<'_>, at: usize, policy: &ToolPolicyChecked) -> bool {
    let started = record.one::<ToolCallStarted>(at).and_then(|(_, start)| start.effect_class);
    started.max(policy.effect_class) >= Some(EffectClass::External)
}

pub(super) fn erase_rule(record: &Record<'_>) -> Maybe {
    let (_, policy) = permitted(record, |at, policy| {
        let ruled = policy.decision == "allow" && !policy.rules.is_empty();
        ruled && policy_alone(record, at) && strict(record, at, policy)
    })?;
    record.alter(policy, |fact: &mut ToolPolicyChecked| fact.rules.clear())
}

pub(super) fn raise_effect(record: &Record<'_>) -> Maybe {
    let (at, _) = permitted(record, |at, policy| {
        policy.decision == "allow" && policy.rules.is_empty() && policy_alone(record, at)
    })?;
    let class = Some(EffectClass::Destructive);
    record.alter(at, |fact: &mut ToolCallStarted| fact.effect_class = class)
}

pub(super) fn drop_standing_grant(record: &Record<'_>) -> Maybe {
    let (at, _) = permitted(record, |at, policy| {
        let rests = policy.decision == "allow" && policy.rules.is_empty();
        let once = record.of_call::<GrantUsed>(at).count() == 1;
        rests && once && !record.has::<ApprovalGranted>(at) && strict(record, at, policy)
    })?;
    record.one::<GrantUsed>(at).and_then(|(grant, _)| record.drop(grant))
}

/// A start, its call's only yes, and the request it answers.
fn granted<'a>(
    record: &Record<'a>,
    fits: impl Fn(&'a ApprovalRequested, &'a ApprovalGranted) -> bool,
) -> Option<(usize, usize, usize)> {
    start(record, |(at, _)| {
        let (grant, yes) = record.one::<ApprovalGranted>(at)?;
        let once = record.of_call::<ApprovalGranted>(at).count() == 1;
        let mut asked = record.of_call::<ApprovalRequested>(at);
        let (request, ask) = asked.find(|(_, ask)| ask.approval_id == yes.approval_id)?;
        (once && request < grant && grant < at && fits(ask, yes)).then_some((at, grant, request))
    })
}

pub(super) fn drop_yes(record: &Record<'_>) -> Maybe {
    let (at, grant, _) = granted(record, |_, _| true)?;
    let (_, policy) = record.one::<ToolPolicyChecked>(at)?;
    let asked = policy.decision == "ask" || policy.decision == "strong_ask";
    (asked && !record.has::<GrantUsed>(at)).then(|| record.drop(grant))?
}

pub(super) fn grant_other_arguments(record: &Record<'_>) -> Maybe {
    let (_, grant, _) = granted(record, |_, _| true)?;
    record.alter(grant, |fact: &mut ApprovalGranted| fact.call_digest = other())
}

pub(super) fn start_other_operand(record: &Record<'_>) -> Maybe {
    let (at, ..) = granted(record, |_, _| true)?;
    record.alter(at, |fact: &mut ToolCallStarted| {
        let before = fact.call_digest.unwrap_or_else(other);
        let changed = Hasher::new("mutant").field(before.as_bytes()).finish();
        fact.call_digest = Some(changed);
    })
}

pub(super) fn late_yes(record: &Record<'_>) -> Maybe {
    let (_, grant, request) = granted(record, |_, _| true)?;
    let end = record.entry(grant)?.at.checked_sub(1)?;
    record.alter(request, |fact: &mut ApprovalRequested| fact.expires_at = Some(end))
}

pub(super) fn weak_yes(record: &Record<'_>) -> Maybe {
    let (_, grant, _) = granted(record, |ask, yes| ask.strong && yes.strong)?;
    record.alter(grant, |fact: &mut ApprovalGranted| fact.strong = false)
}

pub(super) fn misaddress_yes(record: &Record<'_>) -> Maybe {
    let (_, grant, _) = granted(record, |_, _| true)?;
    record.alter(grant, |fact: &mut ApprovalGranted| fact.approval_id = "nobody asked".into())
}

pub(super) fn deny_then_start(record: &Record<'_>) -> Maybe {
    let (at, validated) = record.each::<ToolCallSettled>().find_map(|(at, settled)| {
        let (_, validated) = record.one::<ToolArgsValidated>(at)?;
        let named = validated.tool_id.is_some() && validated.tool_version.is_some();
        let ready = named && validated.status == "passed" && record.has::<ToolPolicyChecked>(at);
        (!settled.outcome.started() && ready).then_some((at, validated))
    })?;
    let (_, policy) = record.one::<ToolPolicyChecked>(at)?;
    let started = ToolCallStarted {
        tool_id: validated.tool_id.clone(),
        tool_version: validated.tool_version,
        attempt: Some(1),
        args_digest: validated.args_digest,
        call_digest: policy.call_digest,
        effect_class: policy.effect_class,
        ..ToolCallStarted::new()
    };
    record.insert(at, true, started)
}

pub(super) fn refuse_what_ran(record: &Record<'_>) -> Maybe {
    let mut settles = record.each::<ToolCallSettled>();
    let (at, _) = settles.find(|(at, _)| record.has::<ToolCallStarted>(*at))?;
    let outcome = Outcome::Cancelled { cause: "mutant".into() };
    record.alter(at, |fact: &mut ToolCallSettled| fact.outcome = outcome)
}

pub(super) fn deny_what_ran(record: &Record<'_>) -> Maybe {
    let (_, policy) = permitted(record, |_, _| true)?;
    record.alter(policy, |fact: &mut ToolPolicyChecked| fact.decision = "deny".into())
}
