//! Beside the decision: budgets, verifiers, what is shown to whoever confirms, personal data.

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use super::unlogged::is_unlogged;
use crate::base::digest::Digest;
use crate::base::redact::personal_data;
use crate::journal::Blobs;
use crate::journal::event::call::*;

/// Millionths of a dollar: sums of floating point are compared without their last digits.
fn micros(usd: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    let micros = (usd * 1e6).round() as i64;
    micros
}

/// B, "budget", and the cost and deadline of a declared intent: no start uses up more calls or
/// more money than a budget has that its policy check names, none whose cost is not bounded starts
/// under one of money, and none starts after its deadline. What ended counts with what it cost,
/// where that was said; everything else with the most that it may cost; what a delegate used up
/// counts with what it told.
pub(super) fn budgets_kept(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        for start in call.each::<ToolCallStarted>() {
            let Some(policy) = call.before::<ToolPolicyChecked>(start.at) else { continue };
            for budget in &policy.fact.budgets {
                tally.checked();
                if let Some(message) = overrun(index, (call, start), (policy.fact, budget)) {
                    tally.broken(Some(call.id), &[policy.seq(), start.seq()], message);
                }
            }
        }
    }
}

fn overrun<'a>(
    index: &Index<'a>,
    (call, start): (&Call<'a>, Seen<'a, ToolCallStarted>),
    (policy, budget): (&ToolPolicyChecked, &Budget),
) -> Option<String> {
    let name = &budget.name;
    if budget.deadline.is_some_and(|at| start.entry.at > at) {
        return Some(format!("a call started after the deadline of `{name}`"));
    }
    let used = used(index, (call.id, start), budget);
    let again = call.each::<ToolCallStarted>().any(|seen| seen.at < start.at);
    if !again && budget.calls.is_some_and(|most| used.calls >= most) {
        return Some(format!("more calls started than `{name}` allows"));
    }
    let most = budget.cost_usd?;
    let Some(cost) = policy.cost_usd else {
        return Some(format!("a call started under `{name}` whose cost nobody bounds"));
    };
    let over = micros(used.cost_usd) + micros(cost) > micros(most);
    over.then(|| format!("calls may cost more than `{name}` allows"))
}

/// What was used up of a budget before a start.
fn used<'a>(
    index: &Index<'a>,
    (call, start): (&str, Seen<'a, ToolCallStarted>),
    budget: &Budget,
) -> Spent {
    let here =
        |turn: &Option<std::sync::Arc<str>>| budget.per == "session" || *turn == start.entry.turn;
    let mut sum = Spent::default();
    for other in &index.calls {
        for back in other.each::<DelegateFinished>() {
            let told = back.fact.spent.iter().filter(|one| one.name == budget.name);
            for one in told.filter(|_| back.at < start.at && here(&back.entry.turn)) {
                sum.calls += one.calls;
                sum.cost_usd += one.cost_usd;
            }
        }
        let starts = other.each::<ToolCallStarted>().filter(|seen| seen.at < start.at);
        let count = u32::try_from(starts.count()).unwrap_or(u32::MAX);
        let Some(policy) = other.before::<ToolPolicyChecked>(start.at) else { continue };
        let named = policy.fact.budgets.iter().any(|one| one.name == budget.name);
        if count == 0 || !named || !here(&policy.entry.turn) {
            continue;
        }
        let ended = other.before::<ToolCallFinished>(start.at);
        let said = ended.and_then(|seen| seen.fact.effects.as_ref()?.cost_usd);
        let most = policy.fact.cost_usd.unwrap_or_default() * f64::from(count);
        sum.calls += u32::from(other.id != call);
        sum.cost_usd += said.unwrap_or(most);
    }
    sum
}

/// B9, "verifier": a call ends as a success only when every verifier that its start names has
/// looked at the result and passed it, and no other that guards has refused it.
pub(super) fn verified_before_success(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        let Some(finish) = call.last::<ToolCallFinished>() else { continue };
        let Some(start) = call.before::<ToolCallStarted>(finish.at) else { continue };
        let looks = call.each::<HookRan>().filter(|seen| seen.fact.point == "verify");
        let looks: Vec<_> =
            looks.filter(|seen| start.at < seen.at && seen.at < finish.at).collect();
        if looks.is_empty() && start.fact.verifiers.is_empty() {
            continue;
        }
        tally.checked();
        if finish.fact.status != "success" {
            continue;
        }
        for name in &start.fact.verifiers {
            let passed = |seen: &&Seen<'_, HookRan>| {
                seen.fact.hook == *name && (seen.fact.verdict == "pass" || seen.fact.observer)
            };
            if !looks.iter().any(|seen| passed(&seen)) {
                let message = format!("a success that `{name}` did not pass");
                tally.broken(Some(call.id), &[start.seq(), finish.seq()], message);
            }
        }
        let refused = |seen: &&Seen<'_, HookRan>| {
            !seen.fact.observer
                && seen.fact.verdict != "pass"
                && !start.fact.verifiers.contains(&seen.fact.hook)
        };
        if let Some(look) = looks.iter().find(refused) {
            let message = format!("a success that `{}` refused", look.fact.hook);
            tally.broken(Some(call.id), &[look.seq(), finish.seq()], message);
        }
    }
}

/// B, "L5: strong confirmation, dry run, second verification": where whoever confirmed a call was
/// shown what it would do, it starts only when the same was found again just before.
pub(super) fn runs_as_rehearsed(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for start in call.each::<ToolCallStarted>() {
            let Some(yes) = call.before::<ApprovalGranted>(start.at) else { continue };
            let mut asked = call.each::<ApprovalRequested>();
            let asked = asked.find(|seen| seen.fact.approval_id == yes.fact.approval_id);
            let Some(asked) = asked.filter(|seen| seen.fact.rehearsal.is_some()) else { continue };
            tally.checked();
            if start.fact.rehearsal != asked.fact.rehearsal {
                let message = match start.fact.rehearsal {
                    None => "it was not found out again what the call would do",
                    Some(_) => "the call would do something else than was confirmed",
                };
                tally.broken(Some(call.id), &[asked.seq(), start.seq()], message.into());
            }
        }
    }
}

/// B, "L3: sensitive data is masked": of a call whose policy check says so, neither what is shown
/// nor an artifact nor the words of its fault hold personal data that has a shape of its own.
pub(super) fn personal_data_masked(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        let Some(finish) = call.last::<ToolCallFinished>() else { continue };
        let policy = call.before::<ToolPolicyChecked>(finish.at);
        if policy.is_none_or(|seen| seen.fact.redaction.as_deref() != Some("personal_data")) {
            continue;
        }
        let fault = finish.fact.fault.as_ref();
        if fault.is_some_and(|fault| personal_data(&fault.message)) {
            let message = "the words of the fault hold personal data".to_owned();
            tally.broken(Some(call.id), &[finish.seq()], message);
        }
        let shown = call.last::<ToolCallSettled>();
        let shown = shown.and_then(|seen| Some((seen.seq(), "what is shown", seen.fact.shown?)));
        // Bytes that are no text are not looked into.
        let kept = call.each::<ArtifactPersisted>().filter(|seen| seen.fact.kind != "binary");
        let kept = kept.map(|seen| (seen.seq(), "an artifact", seen.fact.content_hash));
        for (seq, what, name) in shown.into_iter().chain(kept) {
            match text(scene.blobs, &name) {
                Some(text) => {
                    tally.checked();
                    if personal_data(text) {
                        let message = format!("{what} holds personal data");
                        tally.broken(Some(call.id), &[finish.seq(), seq], message);
                    }
                }
                None if is_unlogged(index, call.id) => {}
                None => {
                    tally.unknown(|| format!("{what} is not beside the journal: {}", name.short()))
                }
            }
        }
    }
}

fn text<'b>(blobs: &'b Blobs, name: &Digest) -> Option<&'b str> {
    blobs.get(name).map(|text| &**text)
}
