//! Mistakes of hooks, of the guards against repeats, and in what an outcome says.

use super::*;
use crate::journal::event::catalog::{GrantIssued, GrantUsed};
use crate::journal::outcome::{Blame, Denier, Fault, Outcome, Unavailability};
use crate::tool::effect::EffectClass;
use crate::tool::shell;

type Maybe = Option<Altered>;

/// The same as one more entry right after the one at a place, about the same call.
fn insert_after(entries: &mut Vec<Entry>, at: usize, event: Event) -> Option<()> {
    let near = entries.get(at)?;
    let same = entries.iter().filter(|entry| entry.session == near.session);
    let seq = same.map(|entry| entry.seq).max()?.saturating_add(1);
    let entry = Entry { seq, event, cause: None, ..near.clone() };
    entries.insert(at + 1, entry);
    Some(())
}

/// The first settled call for which something is found.
pub(super) fn settled<'a, T>(
    record: &Record<'a>,
    found: impl FnMut(At<'a, ToolCallSettled>) -> Option<T>,
) -> Option<T> {
    record.each::<ToolCallSettled>().find_map(found)
}

/// Ends a call in another way.
pub(super) fn end(record: &Record<'_>, at: usize, outcome: Outcome) -> Maybe {
    record.alter(at, |fact: &mut ToolCallSettled| fact.outcome = outcome)
}

pub(super) fn denied(by: Denier) -> Outcome {
    Outcome::Denied { by, reason: "mutant".into() }
}

pub(super) fn failed() -> Outcome {
    let (blame, code, message) = (Blame::Tool, "mutant".into(), "it failed".into());
    Outcome::Failed { fault: Fault { blame, code, message } }
}

fn call_of<'a>(record: &Record<'a>, at: usize) -> Option<&'a str> {
    record.entry(at)?.call.as_deref()
}

/// Whether a guard dropped or stopped a call for the sake of this one.
pub(super) fn named(record: &Record<'_>, at: usize) -> bool {
    let call = call_of(record, at);
    let dropped = record.in_session::<DuplicateDropped>(at).map(|(_, fact)| fact.of.as_str());
    let stopped = record.in_session::<RepeatStopped>(at).map(|(_, fact)| fact.of.as_str());
    dropped.chain(stopped).any(|of| Some(of) == call)
}

pub(super) fn approve_before_rewriting(record: &Record<'_>) -> Maybe {
    let (rewrite, asked, yes) = record.each::<ToolCallRewritten>().find_map(|(at, _)| {
        let (asked, _) = record.one::<ApprovalRequested>(at)?;
        let (yes, _) = record.one::<ApprovalGranted>(at)?;
        let (start, _) = record.one::<ToolCallStarted>(at)?;
        let last = record.of_call::<ToolCallRewritten>(at).next_back()?.0 == at;
        (last && at < asked && asked < yes && yes < start).then_some((at, asked, yes))
    })?;
    record.edit(|entries| {
        let (yes, asked) = (entries.remove(yes), entries.remove(asked));
        entries.splice(rewrite..rewrite, [asked, yes]);
        Some(())
    })
}

/// The tool that a rewritten call was proposed for, when its view shows it beside another.
fn proposed<'a>(record: &Record<'a>, at: usize, not: &ToolId) -> Option<&'a ExposedTool> {
    let (rewrite, _) = record.one::<ToolCallRewritten>(at)?;
    let (requested, request) = record.one::<ToolCallRequested>(at)?;
    let (_, view) = record.view(requested)?;
    let mut shown = view.exposed.iter().filter(|tool| tool.source.is_none());
    let shown = shown.find(|tool| tool.name == request.tool_id)?;
    (rewrite < at && shown.tool_id != *not).then_some(shown)
}

pub(super) fn validate_unrewritten_tool(record: &Record<'_>) -> Maybe {
    let (at, shown) = record.each::<ToolArgsValidated>().find_map(|(at, fact)| {
        let free = !record.has::<GrantUsed>(at) && !named(record, at);
        let shown = proposed(record, at, fact.tool_id.as_ref()?)?;
        free.then_some((at, shown))
    })?;
    record.alter(at, |fact: &mut ToolArgsValidated| fact.tool_id = Some(shown.tool_id.clone()))
}

pub(super) fn start_unrewritten_tool(record: &Record<'_>) -> Maybe {
    let (at, shown) = record
        .each::<ToolCallStarted>()
        .find_map(|(at, fact)| Some((at, proposed(record, at, fact.tool_id.as_ref()?)?)))?;
    record.alter(at, |fact: &mut ToolCallStarted| {
        fact.tool_id = Some(shown.tool_id.clone());
        fact.tool_version = Some(shown.tool_version);
    })
}

pub(super) fn rewrite_what_runs(record: &Record<'_>) -> Maybe {
    let (at, tool) = record.each::<ToolCallStarted>().find_map(|(at, fact)| {
        let once = record.of_call::<ToolCallStarted>(at).count() == 1;
        once.then_some((at, fact.tool_id.as_ref()?))
    })?;
    let rewrite = ToolCallRewritten::new(tool.to_string());
    record.edit(|entries| insert_after(entries, at, rewrite.into()))
}

/// The first hook at a point for which something is found.
fn hook<'a, T>(
    record: &Record<'a>,
    point: &str,
    mut found: impl FnMut(usize, &'a HookRan) -> Option<T>,
) -> Option<T> {
    let mut hooks = record.each::<HookRan>().filter(|(_, hook)| hook.point == point);
    hooks.find_map(|(at, hook)| found(at, hook))
}

fn stops(hook: &HookRan) -> bool {
    let against = matches!(hook.verdict.as_str(), "cancel" | "failed");
    hook.point == "before_call" && against && !hook.observer
}

pub(super) fn hook_cancels_what_ran(record: &Record<'_>) -> Maybe {
    let at = hook(record, "before_call", |at, hook| {
        let (start, _) = record.one::<ToolCallStarted>(at)?;
        let (_, end) = record.one::<ToolCallSettled>(at)?;
        let passed = hook.verdict == "pass" && !hook.observer;
        (passed && at < start && end.outcome.started()).then_some(at)
    })?;
    record.alter(at, |fact: &mut HookRan| fact.verdict = "cancel".into())
}

pub(super) fn unblock_hook_cancel(record: &Record<'_>) -> Maybe {
    let at = settled(record, |(at, fact)| {
        let blocked = matches!(fact.outcome, Outcome::Blocked { .. });
        let stopped = record.of_call::<HookRan>(at).any(|(_, hook)| stops(hook));
        (blocked && stopped).then_some(at)
    })?;
    end(record, at, Outcome::Unavailable { why: Unavailability::LeaseExpired })
}

pub(super) fn observer_blocks(record: &Record<'_>) -> Maybe {
    let at = hook(record, "before_call", |at, hook| {
        let alone = record.of_call::<HookRan>(at).filter(|(_, hook)| stops(hook)).count() == 1;
        let (_, end) = record.one::<ToolCallSettled>(at)?;
        let blocked = matches!(end.outcome, Outcome::Blocked { .. });
        (alone && blocked && hook.verdict == "failed" && !hook.observer).then_some(at)
    })?;
    record.alter(at, |fact: &mut HookRan| fact.observer = true)
}

pub(super) fn guard_after_start(record: &Record<'_>) -> Maybe {
    let (at, start) = hook(record, "before_call", |at, hook| {
        let (start, _) = record.one::<ToolCallStarted>(at)?;
        (hook.verdict == "pass" && at < start).then_some((at, start))
    })?;
    record.shift(at, start)
}

pub(super) fn follow_what_never_ran(record: &Record<'_>) -> Maybe {
    let ran = |at| record.has::<ToolCallStarted>(at) || record.has::<ToolCallFinished>(at);
    let at = settled(record, |(at, _)| (!ran(at)).then_some(at))?;
    record.insert(at, true, HookRan::new("mutant".into(), "after_call".into(), "pass".into()))
}

pub(super) fn observer_fails_call(record: &Record<'_>) -> Maybe {
    let at = hook(record, "after_call", |at, hook| {
        let (end, settled) = record.one::<ToolCallSettled>(at)?;
        let (_, finish) = record.one::<ToolCallFinished>(at)?;
        let (_, check) = record.one::<ToolResultValidated>(at)?;
        let well = finish.status == "success" && check.status == "passed";
        let clean = check.undeclared.is_empty() && !record.has::<ReceiptIssued>(at);
        let succeeded = settled.outcome == Outcome::Succeeded && hook.verdict == "failed";
        (well && clean && succeeded && at < end).then_some(end)
    })?;
    end(record, at, failed())
}

/// The turn of an entry, when its duplicate guard is on.
fn guarded<'a>(record: &Record<'a>, at: usize) -> Option<At<'a, TurnStarted>> {
    let turn = record.in_session::<TurnStarted>(at).rfind(|(place, _)| *place < at);
    turn.filter(|(_, turn)| turn.duplicate_scope.is_some())
}

/// Starts that follow each other within one turn whose duplicate guard is on.
fn starts<'a, const N: usize>(
    record: &Record<'a>,
    mut found: impl FnMut([At<'a, ToolCallStarted>; N], At<'a, TurnStarted>) -> bool,
) -> Option<[usize; N]> {
    let all: Vec<At<'a, ToolCallStarted>> = record.each().collect();
    all.windows(N).find_map(|window| {
        let window: [At<'a, ToolCallStarted>; N] = window.try_into().ok()?;
        let turns = window.map(|(at, _)| guarded(record, at).map(|(turn, _)| turn));
        let turn = guarded(record, window.first()?.0)?;
        let one = turns.iter().all(|place| *place == Some(turn.0));
        (one && found(window, turn)).then(|| window.map(|(at, _)| at))
    })
}

fn is_exempt(turn: &TurnStarted, start: &ToolCallStarted) -> bool {
    turn.duplicate_exempt.iter().any(|tool| Some(tool) == start.tool_id.as_ref())
}

fn same(first: &ToolCallStarted, second: &ToolCallStarted) -> bool {
    first.tool_id == second.tool_id && first.args_digest == second.args_digest
}

/// Whether a call ran its own arguments on policy's word alone, and nobody refers to it.
fn plain(record: &Record<'_>, at: usize) -> bool {
    let meddled = record.has::<ToolCallRewritten>(at)
        || record.has::<ApprovalRequested>(at)
        || record.has::<GrantUsed>(at)
        || record.has::<ReceiptIssued>(at);
    !meddled && !named(record, at)
}

pub(super) fn repeat_what_ran(record: &Record<'_>) -> Maybe {
    let [first, second] = starts(record, |[(at, first), (again, second)], (_, turn)| {
        let requests = |at| record.one::<ToolCallRequested>(at).map_or(0, |(place, _)| place);
        let next = requests(at) + 1 == requests(again);
        let rewritten = record.has::<ToolCallRewritten>(at);
        let alike = first.tool_id == second.tool_id && !is_exempt(turn, first);
        next && alike && !same(first, second) && plain(record, again) && !rewritten
    })?;
    let args = record.one::<ToolCallRequested>(first)?.1.args.clone();
    let digest = record.one::<ToolArgsValidated>(first)?.1.args_digest;
    let (request, _) = record.one::<ToolCallRequested>(second)?;
    let (validated, _) = record.one::<ToolArgsValidated>(second)?;
    record.edit(|entries| {
        alter(entries, request, |fact: &mut ToolCallRequested| fact.args = args)?;
        alter(entries, validated, |fact: &mut ToolArgsValidated| fact.args_digest = digest)?;
        alter(entries, second, |fact: &mut ToolCallStarted| fact.args_digest = digest)
    })
}

pub(super) fn unexempt_repeat(record: &Record<'_>) -> Maybe {
    let [first, _] = starts(record, |[(_, first), (_, second)], (_, turn)| {
        same(first, second) && is_exempt(turn, first)
    })?;
    let (turn, _) = guarded(record, first)?;
    record.alter(turn, |fact: &mut TurnStarted| fact.duplicate_exempt.clear())
}

/// Sets what a call may do, as policy judged it and as it started.
pub(super) fn set_class(record: &Record<'_>, start: usize, class: EffectClass) -> Maybe {
    let (policy, _) = record.one::<ToolPolicyChecked>(start)?;
    record.edit(|entries| {
        alter(entries, policy, |fact: &mut ToolPolicyChecked| fact.effect_class = Some(class))?;
        alter(entries, start, |fact: &mut ToolCallStarted| {
            fact.effect_class = Some(class);
            fact.writes.clear();
        })
    })
}

pub(super) fn no_write_between(record: &Record<'_>) -> Maybe {
    let [_, between, _] = starts(record, |[(_, first), (_, other), (_, second)], (_, turn)| {
        let writes = other.effect_class > Some(EffectClass::Read);
        same(first, second) && !is_exempt(turn, first) && writes
    })?;
    set_class(record, between, EffectClass::Read)
}

/// A dropped duplicate that nobody had to be asked about, and the end of its call.
fn duplicate(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<DuplicateDropped>().find_map(|(at, _)| {
        let (_, policy) = record.one::<ToolPolicyChecked>(at)?;
        let (end, _) = record.one::<ToolCallSettled>(at)?;
        (policy.decision == "allow").then_some((at, end))
    })
}

/// The request of another call, proposed before the one at a place and after a third.
fn others<'a>(record: &Record<'a>, at: usize, of: &str) -> Option<(usize, &'a str)> {
    let (own, _) = record.one::<ToolCallRequested>(at)?;
    let key = |at| {
        let (_, validated) = record.one::<ToolArgsValidated>(at)?;
        Some((validated.tool_id.as_ref()?, validated.args_digest?))
    };
    let mut earlier = record.in_session::<ToolCallRequested>(at).filter(|(at, _)| *at < own);
    earlier.by_ref().find(|(at, _)| call_of(record, *at) == Some(of))?;
    earlier.find_map(|(place, _)| {
        let distinct = key(place).is_some() && key(place) != key(at);
        distinct.then_some((place, call_of(record, place)?))
    })
}

pub(super) fn duplicate_of_another(record: &Record<'_>) -> Maybe {
    let (at, end) = duplicate(record)?;
    let (_, fact) = record.one::<DuplicateDropped>(at)?;
    let (_, other) = others(record, at, &fact.of)?;
    record.edit(|entries| {
        alter(entries, at, |fact: &mut DuplicateDropped| fact.of = other.into())?;
        alter(entries, end, |fact: &mut ToolCallSettled| {
            fact.outcome = Outcome::Duplicate { of: other.into() };
        })
    })
}

pub(super) fn two_stories_of_a_duplicate(record: &Record<'_>) -> Maybe {
    let (at, _) = duplicate(record)?;
    record.alter(at, |fact: &mut DuplicateDropped| fact.of = "mutant".into())
}

pub(super) fn exempt_what_was_dropped(record: &Record<'_>) -> Maybe {
    let (at, _) = duplicate(record)?;
    let tool = record.one::<ToolArgsValidated>(at)?.1.tool_id.clone()?;
    let (turn, _) = guarded(record, at)?;
    record.alter(turn, |fact: &mut TurnStarted| fact.duplicate_exempt.push(tool))
}

pub(super) fn write_before_duplicate(record: &Record<'_>) -> Maybe {
    let (at, _) = duplicate(record)?;
    let (_, fact) = record.one::<DuplicateDropped>(at)?;
    let (other, _) = others(record, at, &fact.of)?;
    let (_, judged) = record.one::<ToolPolicyChecked>(at)?;
    judged.effect_class.filter(|class| *class == EffectClass::Read)?;
    let (start, _) = record.one::<ToolCallStarted>(other)?;
    let (_, finish) = record.one::<ToolCallFinished>(other)?;
    let free = !record.has::<GrantUsed>(other) && finish.status == "success";
    free.then(|| set_class(record, start, EffectClass::Write))?
}

/// A question about a call, as it would have been asked.
fn question(record: &Record<'_>, at: usize) -> Option<ApprovalRequested> {
    let (_, policy) = record.one::<ToolPolicyChecked>(at)?;
    let digest = policy.call_digest.unwrap_or_else(other);
    Some(ApprovalRequested::new("mutant".into(), "may it run?".into(), digest))
}

pub(super) fn ask_twice_in_a_reply(record: &Record<'_>) -> Maybe {
    let at = record.each::<DuplicateDropped>().find_map(|(at, fact)| {
        let mut asked = record.in_session::<ApprovalRequested>(at);
        asked.find(|(place, _)| call_of(record, *place) == Some(&fact.of)).map(|_| at)
    })?;
    record.insert(at, true, question(record, at)?)
}

pub(super) fn ask_after_refusal(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<RepeatStopped>().next()?;
    let (end, _) = record.one::<ToolCallSettled>(at)?;
    let asked: Event = question(record, at)?.into();
    let no = ApprovalDenied::new("mutant".into(), "operator".into(), "scripted".into());
    record.edit(|entries| {
        alter(entries, end, |fact: &mut ToolCallSettled| fact.outcome = denied(Denier::Operator))?;
        entries.get_mut(at)?.event = asked;
        insert_after(entries, at, no.into())
    })
}

pub(super) fn repeat_of_another(record: &Record<'_>) -> Maybe {
    let (at, other) = record
        .each::<RepeatStopped>()
        .find_map(|(at, fact)| Some((at, others(record, at, &fact.of)?.1)))?;
    record.alter(at, |fact: &mut RepeatStopped| fact.of = other.into())
}

pub(super) fn drop_repeat_stop(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<RepeatStopped>().next()?;
    record.drop(at)
}

/// The first policy decision about a command line that fits.
fn line<'a>(
    record: &Record<'a>,
    fits: impl Fn(At<'a, ToolPolicyChecked>) -> bool,
) -> Option<usize> {
    let mut judged = record.each::<ToolPolicyChecked>();
    judged.find(|seen| !seen.1.parts.is_empty() && fits(*seen)).map(|(at, _)| at)
}

pub(super) fn forbid_a_part(record: &Record<'_>) -> Maybe {
    let at = line(record, |(_, fact)| fact.decision != "deny")?;
    record.alter(at, |fact: &mut ToolPolicyChecked| {
        fact.parts.iter_mut().take(1).for_each(|part| part.decision = "deny".into());
    })
}

pub(super) fn forget_a_part(record: &Record<'_>) -> Maybe {
    // Where every part is a command, one less leaves one that was not judged.
    let commands = |(at, fact): At<'_, ToolPolicyChecked>| {
        let argument = fact.line_argument.as_deref()?;
        let (_, request) = record.one::<ToolCallRequested>(at)?;
        let line = request.args.as_ref()?.get(argument)?.as_str()?;
        let parts = shell::parse(line).parts;
        let all = parts.iter().all(|part| part.kind == shell::Kind::Command);
        Some(all && parts.len() == fact.parts.len() && parts.len() > 1)
    };
    let plain = |at| !record.has::<ToolCallRewritten>(at);
    let at = line(record, |seen| plain(seen.0) && commands(seen) == Some(true))?;
    record.alter(at, |fact: &mut ToolPolicyChecked| {
        // The mildest goes, so that the strictest is still the line's.
        let milder = fact.parts.iter().position(|part| part.decision != fact.decision);
        fact.parts.remove(milder.unwrap_or_default());
    })
}

pub(super) fn forget_the_parts(record: &Record<'_>) -> Maybe {
    let at = line(record, |_| true)?;
    record.alter(at, |fact: &mut ToolPolicyChecked| fact.parts.clear())
}

pub(super) fn grant_for_a_line(record: &Record<'_>) -> Maybe {
    // On a yes of its own the call could have started anyway.
    let yes = |at| record.one::<ApprovalGranted>(at).map(|(yes, _)| yes);
    let at = line(record, |(at, fact)| fact.decision == "ask" && yes(at).is_some())?;
    if record.in_session::<GrantIssued>(at).next().is_some() {
        return None;
    }
    record.insert(yes(at)?, true, GrantUsed { grant_id: "mutant".into() })
}
