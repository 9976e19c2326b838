//! Hooks: what they rewrote is what is judged and run, and a guard that fails blocks.

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use super::outcome::looped;
use crate::journal::event::call::*;
use crate::journal::outcome::Outcome;
use crate::tool::id::ToolId;

/// A, "hooks may cancel a call or rewrite its name and arguments, before anything else": the tool
/// that is validated and started is the one that the rewritten name denotes in the call's view, a
/// person is asked only after policy judged the rewritten call, no yes to what the call was before
/// starts it, and nothing is rewritten once it runs. That the rewritten call is validated and
/// judged at all is for `validated-before-policy` and `policy-before-start`.
pub(super) fn rewritten_is_judged(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        if call.first::<ToolCallRewritten>().is_none() {
            continue;
        }
        for validated in call.each::<ToolArgsValidated>() {
            let Some(rewrite) = call.before::<ToolCallRewritten>(validated.at) else { continue };
            let tool = validated.fact.tool_id.as_ref();
            let Some(fits) = tool.and_then(|tool| denotes(index, call, rewrite, tool)) else {
                continue;
            };
            tally.checked();
            if !fits {
                let message = "another tool was validated than the call was rewritten to";
                tally.broken(Some(call.id), &[rewrite.seq(), validated.seq()], message.into());
            }
        }
        for asked in call.each::<ApprovalRequested>() {
            let Some(rewrite) = call.before::<ToolCallRewritten>(asked.at) else { continue };
            tally.checked();
            let policy = call.before::<ToolPolicyChecked>(asked.at);
            if policy.is_none_or(|policy| policy.at < rewrite.at) {
                let message = "a person was asked for a rewritten call that was not judged again";
                tally.broken(Some(call.id), &[rewrite.seq(), asked.seq()], message.into());
            }
        }
        for start in call.each::<ToolCallStarted>() {
            started_as_rewritten(index, call, start, tally);
        }
    }
}

fn started_as_rewritten<'a>(
    index: &Index<'a>,
    call: &Call<'a>,
    start: Seen<'a, ToolCallStarted>,
    tally: &mut Tally,
) {
    tally.checked();
    if let Some(late) = call.each::<ToolCallRewritten>().find(|seen| seen.at > start.at) {
        let message = "a call was rewritten after it had started".into();
        tally.broken(Some(call.id), &[start.seq(), late.seq()], message);
    }
    let Some(rewrite) = call.before::<ToolCallRewritten>(start.at) else { return };
    let tool = start.fact.tool_id.as_ref();
    if tool.and_then(|tool| denotes(index, call, rewrite, tool)) == Some(false) {
        let message = "another tool started than the call was rewritten to".into();
        tally.broken(Some(call.id), &[rewrite.seq(), start.seq()], message);
    }
    let judged = call.before::<ToolPolicyChecked>(start.at).is_some_and(|p| p.at > rewrite.at);
    let yes = call.before::<ApprovalGranted>(start.at).filter(|yes| yes.at < rewrite.at);
    if let Some(yes) = yes.filter(|_| judged) {
        let message = "a call started on a yes to what it was before it was rewritten".into();
        tally.broken(Some(call.id), &[yes.seq(), rewrite.seq(), start.seq()], message);
    }
}

/// Whether a tool is the one that the rewritten name stands for; `None` without a view.
fn denotes(
    index: &Index<'_>,
    call: &Call<'_>,
    rewrite: Seen<'_, ToolCallRewritten>,
    tool: &ToolId,
) -> Option<bool> {
    let view = index.view_of(call).filter(|view| !view.fact.exposed.is_empty())?;
    let name = rewrite.fact.tool_id.as_str();
    let shown = view.fact.exposed.iter();
    let named = shown.clone().find(|shown| shown.name == name);
    let named = named.or_else(|| shown.clone().find(|shown| shown.tool_id.as_str() == name));
    Some(named.map_or(tool.as_str() == name, |named| named.tool_id == *tool))
}

/// A, "the first cancel wins, and a failing guard blocks": a call that a guarding hook cancelled
/// or failed on ends as blocked and never starts; what an observer says blocks nothing; guarding
/// hooks run before the start, the others only for a call that started, and turn no success into
/// a failure.
pub(super) fn failing_guard_blocks(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        let mut stopped = None;
        let mut excused = None;
        for hook in call.each::<HookRan>() {
            match (hook.fact.point.as_str(), hook.fact.verdict.as_str()) {
                ("before_call", verdict) => {
                    guards(call, hook, tally);
                    match (verdict, hook.fact.observer) {
                        ("cancel" | "failed", false) => stopped = stopped.or(Some(hook)),
                        ("cancel" | "failed", true) => excused = excused.or(Some(hook)),
                        _ => {}
                    }
                }
                ("after_call" | "on_error", _) => follows(call, hook, tally),
                _ => {}
            }
        }
        match (stopped, excused) {
            (Some(hook), _) => blocked(call, hook, tally),
            (None, Some(hook)) => unblocked(index, call, hook, tally),
            (None, None) => {}
        }
    }
}

/// A guard that runs once the call runs guards nothing.
fn guards(call: &Call<'_>, hook: Seen<'_, HookRan>, tally: &mut Tally) {
    let Some(start) = call.first::<ToolCallStarted>() else { return };
    tally.checked();
    if start.at < hook.at {
        let message = "a hook that guards the start ran after it".into();
        tally.broken(Some(call.id), &[start.seq(), hook.seq()], message);
    }
}

fn blocked(call: &Call<'_>, hook: Seen<'_, HookRan>, tally: &mut Tally) {
    let settled = call.first::<ToolCallSettled>();
    let start = call.first::<ToolCallStarted>().filter(|start| start.at > hook.at);
    let (seq, message) = match (settled, start) {
        (_, Some(start)) => (start.seq(), "a call started that a hook had stopped".into()),
        (Some(settled), None) => match &settled.fact.outcome {
            Outcome::Blocked { .. } => return tally.checked(),
            other => {
                (settled.seq(), format!("a call that a hook stopped ended as {}", other.name()))
            }
        },
        (None, None) => return,
    };
    tally.checked();
    tally.broken(Some(call.id), &[hook.seq(), seq], message);
}

fn unblocked(index: &Index<'_>, call: &Call<'_>, hook: Seen<'_, HookRan>, tally: &mut Tally) {
    let Some(settled) = call.first::<ToolCallSettled>() else { return };
    tally.checked();
    let blocked = matches!(settled.fact.outcome, Outcome::Blocked { .. });
    let otherwise = call.first::<RepeatStopped>().is_some() || looped(index, call, settled.at);
    if blocked && !otherwise {
        let message = "a call was blocked by a hook that only observes".into();
        tally.broken(Some(call.id), &[hook.seq(), settled.seq()], message);
    }
}

fn follows(call: &Call<'_>, hook: Seen<'_, HookRan>, tally: &mut Tally) {
    tally.checked();
    let settled = call.first::<ToolCallSettled>();
    if call.before::<ToolCallStarted>(hook.at).is_none() {
        let seqs = settled.map(|settled| settled.seq());
        let events: Vec<u64> = [hook.seq()].into_iter().chain(seqs).collect();
        let message = "a hook that follows a call ran for one that had not started".into();
        return tally.broken(Some(call.id), &events, message);
    }
    let failed = matches!(hook.fact.verdict.as_str(), "failed" | "cancel");
    let Some(settled) = settled.filter(|settled| failed && settled.at > hook.at) else { return };
    let finished = call.before::<ToolCallFinished>(settled.at);
    let verified = call.before::<ToolResultValidated>(settled.at);
    let well = finished.is_some_and(|seen| seen.fact.status == "success")
        && verified
            .is_some_and(|seen| seen.fact.status == "passed" && seen.fact.undeclared.is_empty());
    if well && matches!(settled.fact.outcome, Outcome::Failed { .. }) {
        let message = "a call that went well ended as failed after a hook that only observes";
        tally.broken(Some(call.id), &[hook.seq(), settled.seq()], message.into());
    }
}
