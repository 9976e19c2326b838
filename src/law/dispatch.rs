//! How calls are started: planned, one at a time or side by side, and each attempt once.

use super::index::{Call, Fact, Index, Seen};
use super::law::{Scene, Tally};
use super::spans::{Span, refused, span};
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::tool::effect::ResourcePattern;

const SEARCH: &str = "tool_search";
const SEARCH_ADAPTER: &str = "builtin:tool_search";

/// A, its four conditions of parallel dispatch: a plan is parallel only where the turn's knob is on
/// and it lists several calls, and where in its whole batch no call asked for approval and none
/// that is not settled yet searches for tools, by its final name; of two calls planned sequentially
/// neither starts while
/// the other runs. Overlaps with a search are `search-alone`'s, and a start before its plan is
/// `one-pipeline`'s.
pub(super) fn parallel_only_when_safe(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let plans: Vec<Seen<'_, DispatchPlanned>> = index.each().collect();
    if plans.is_empty() {
        return;
    }
    for (place, plan) in plans.iter().enumerate() {
        match plan.fact.mode.as_str() {
            "parallel" => side_by_side(index, *plan, tally),
            "sequential" => one_by_one(index, &plans, place, tally),
            _ => {}
        }
    }
}

fn side_by_side(index: &Index<'_>, plan: Seen<'_, DispatchPlanned>, tally: &mut Tally) {
    let begun = index.turns().places(plan.at).find_map(|at| {
        let entry = index.entries.get(at)?;
        TurnStarted::of(&entry.event).map(|fact| (entry.seq, fact))
    });
    let Some((begun, turn)) = begun else {
        return tally.unknown(|| "a plan is parallel, and no turn says whether it may be".into());
    };
    tally.checked();
    if !turn.parallel_tools {
        let message = "calls were planned in parallel although the turn does not allow it";
        tally.broken(None, &[begun, plan.seq()], message.into());
    }
    if plan.fact.calls.len() < 2 {
        let message = "fewer than two calls were planned in parallel";
        tally.broken(None, &[plan.seq()], message.into());
    }
    for call in batch(index, plan).iter().filter_map(|id| index.call(id)) {
        if let Some(asked) = call.first::<ApprovalRequested>() {
            let message = "a batch was planned in parallel in which a call asked for approval";
            tally.broken(Some(call.id), &[asked.seq(), plan.seq()], message.into());
        }
        let settled = call.before::<ToolCallSettled>(plan.at).is_some();
        if searches(call) && !settled {
            let message = "a batch was planned in parallel in which a call searches for tools";
            tally.broken(Some(call.id), &[plan.seq()], message.into());
        }
    }
}

/// The slots of a plan's batch, or the calls it lists where no batch is recorded.
fn batch<'a>(index: &Index<'a>, plan: Seen<'a, DispatchPlanned>) -> &'a [String] {
    let opened = index.entries.get(..plan.at).unwrap_or_default();
    let mut batches = opened.iter().rev().filter_map(|entry| BatchOpened::of(&entry.event));
    let own = batches.find(|batch| batch.batch == plan.fact.batch);
    own.map_or(&plan.fact.calls, |batch| &batch.slots)
}

fn one_by_one(
    index: &Index<'_>,
    plans: &[Seen<'_, DispatchPlanned>],
    place: usize,
    tally: &mut Tally,
) {
    let (earlier, later) = plans.split_at(place + 1);
    let Some(plan) = earlier.last() else { return };
    // A call that was planned again runs by its last plan.
    let again = |own: &Span<'_>| {
        let mut after = later.iter().take_while(|other| other.at < own.start.at);
        after.any(|other| other.fact.calls.iter().any(|id| id == own.id))
    };
    let calls = plan.fact.calls.iter().filter_map(|id| index.call(id));
    let mut spans: Vec<Span<'_>> = calls.filter(|call| !searches(call)).filter_map(span).collect();
    spans.retain(|own| own.start.at > plan.at && !again(own));
    spans.sort_by_key(|own| own.start.at);
    let mut spans = spans.into_iter();
    let Some(mut running) = spans.next() else { return };
    for own in spans {
        tally.checked();
        if running.covers(&own) {
            let message = "a call started while another of the same sequential plan ran";
            let events = [plan.seq(), running.start.seq(), own.start.seq()];
            tally.broken(Some(own.id), &events, message.into());
        }
        if own.end > running.end {
            running = own;
        }
    }
}

/// Whether a call searches for tools: by its adapter, by the tool it resolved to, or by its final
/// name. A name that only ends alike, such as `code_tool_search`, is another tool's.
fn searches(call: &Call<'_>) -> bool {
    let start = call.before::<ToolCallStarted>(usize::MAX).map(|start| start.fact);
    let validated = call.before::<ToolArgsValidated>(usize::MAX).map(|seen| seen.fact);
    let resolved = start
        .and_then(|start| start.tool_id.as_ref())
        .or(validated.and_then(|validated| validated.tool_id.as_ref()));
    let rewritten = call.before::<ToolCallRewritten>(usize::MAX).map(|seen| &seen.fact.tool_id);
    let name = rewritten.or(call.first::<ToolCallRequested>().map(|seen| &seen.fact.tool_id));
    let named = |name: &str| {
        let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
        last == SEARCH || last.strip_suffix(SEARCH).is_some_and(|server| server.ends_with("__"))
    };
    start.is_some_and(|start| start.adapter.as_deref() == Some(SEARCH_ADAPTER))
        || resolved.is_some_and(|tool| named(tool.as_str()))
        || name.is_some_and(|name| named(name))
}

/// A, its warning about searches and what they activate: no other call of its batch runs while a
/// search does. Only batches in which another call ran count.
pub(super) fn search_alone(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for round in index.rounds() {
        let calls: Vec<&Call<'_>> = round.calls.iter().filter_map(|id| index.call(id)).collect();
        for search in calls.iter().filter(|call| searches(call)) {
            let Some(own) = span(search) else { continue };
            let others = calls.iter().filter(|call| call.id != search.id);
            for other in others.filter_map(|call| span(call)) {
                tally.checked();
                if own.covers(&other) || other.covers(&own) {
                    let message = "a search for tools ran beside another call of its batch";
                    let events = [round.seq, own.start.seq(), other.start.seq()];
                    tally.broken(Some(search.id), &events, message.into());
                }
            }
        }
    }
}

/// What a call declares to read and to write.
#[derive(Default)]
struct Resources {
    reads: Vec<ResourcePattern>,
    writes: Vec<ResourcePattern>,
}

impl Resources {
    fn of(call: &Call<'_>) -> Self {
        let mut own = Self::default();
        for start in call.each::<ToolCallStarted>() {
            own.reads.extend(start.fact.reads.iter().cloned().map(ResourcePattern::new));
            own.writes.extend(start.fact.writes.iter().cloned().map(ResourcePattern::new));
        }
        own
    }

    fn declared(&self) -> bool {
        !self.reads.is_empty() || !self.writes.is_empty()
    }

    /// Whether one writes what the other reads or writes.
    fn conflict(&self, other: &Self) -> bool {
        let meets = |one: &[ResourcePattern], other: &[ResourcePattern]| {
            one.iter().any(|own| other.iter().any(|pattern| own.overlaps(pattern)))
        };
        meets(&self.writes, &other.reads)
            || meets(&self.writes, &other.writes)
            || meets(&self.reads, &other.writes)
    }
}

/// A, its order of dispatch, held for what calls declare to touch: no call starts while another
/// runs that declares to write what this one reads or writes, or to read what this one writes.
/// Calls that declare nothing are not judged. What counts is each pair that ran side by side, and
/// each that would have met and did not.
pub(super) fn writers_serial(scene: &mut Scene<'_>, tally: &mut Tally) {
    let declared = |call| {
        let resources = Resources::of(call);
        resources.declared().then_some(resources).zip(span(call))
    };
    let mut runs: Vec<(Resources, Span<'_>)> =
        scene.index.calls.iter().filter_map(declared).collect();
    runs.sort_by_key(|(_, own)| own.start.at);
    let mut open: Vec<usize> = Vec::new();
    for (place, (resources, own)) in runs.iter().enumerate() {
        let run = |place: &usize| runs.get(*place);
        open.retain(|other| run(other).is_some_and(|(_, other)| other.covers(own)));
        let last = place.checked_sub(1).filter(|last| !open.contains(last));
        for (other, before) in open.iter().chain(&last).filter_map(run) {
            let conflict = resources.conflict(other);
            let overlap = before.covers(own);
            if overlap || conflict {
                tally.checked();
            }
            if overlap && conflict {
                let message = "a call started while another ran that touches the same resources";
                tally.broken(Some(own.id), &[before.start.seq(), own.start.seq()], message.into());
            }
        }
        open.push(place);
    }
}

/// A, its one dispatcher for every way in: before it started, each call stood in a dispatch plan of
/// its own batch, made after its last rewriting. That it was requested, validated and policed is
/// `events-name-their-call`'s and `policy-before-start`'s, its sandbox `sandbox-before-start`'s,
/// and that what was refused never starts is `denied-never-runs`'. Where the session records no
/// plan at all, the journal does not say.
pub(super) fn one_pipeline(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let planned = index.has::<DispatchPlanned>();
    let plans = plans_by_call(index);
    for call in &index.calls {
        let Some(start) = call.first::<ToolCallStarted>().filter(|_| !refused(call)) else {
            continue;
        };
        if !planned {
            return tally.unknown(|| format!("no dispatch is planned, and {} started", call.id));
        }
        tally.checked();
        let since = call.rewritten(start.at);
        let first = plans.partition_point(|plan| *plan < (call.id, since));
        if plans.get(first).is_some_and(|(id, at)| *id == call.id && *at < start.at) {
            continue;
        }
        let request = call.first::<ToolCallRequested>().map(|request| request.seq());
        let events: Vec<u64> = request.into_iter().chain([start.seq()]).collect();
        let message = "a call started that no dispatch of its batch had planned".into();
        tally.broken(Some(call.id), &events, message);
    }
}

/// The plans of calls, by call and then by place: those for a batch that has a slot for the call,
/// or for one that is not recorded.
fn plans_by_call<'a>(index: &Index<'a>) -> Vec<(&'a str, usize)> {
    let slots = |batch: Seen<'a, BatchOpened>| {
        let own = batch.fact.slots.iter();
        own.map(move |slot| (batch.fact.batch.as_str(), slot.as_str()))
    };
    let mut slots: Vec<(&str, &str)> = index.each::<BatchOpened>().flat_map(slots).collect();
    slots.sort_unstable();
    let known = |batch: &str| {
        slots.get(slots.partition_point(|(known, _)| *known < batch)).is_some_and(|s| s.0 == batch)
    };
    let mut plans = Vec::new();
    for plan in index.each::<DispatchPlanned>() {
        let batch = plan.fact.batch.as_str();
        let known = known(batch);
        let calls = plan.fact.calls.iter().map(String::as_str);
        let own = calls.filter(|id| !known || slots.binary_search(&(batch, *id)).is_ok());
        plans.extend(own.map(|id| (id, plan.at)));
    }
    plans.sort_unstable();
    plans
}

/// A, its one pair of start and result for each call, held for retries: attempts are numbered from
/// 1 without gaps and each starts once, the next one after the fact that the one before failed.
/// Where the session names retry times or idempotency keys at all, each further attempt also waits
/// for the time its failure named and keeps the key; one whose credential was not taken did nothing
/// and needs none. A call that started more than once without
/// saying which attempts those were is unknown.
pub(super) fn at_most_once(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let promised = index.each::<AttemptFailed>().any(|failed| failed.fact.retry_at.is_some())
        || index.each::<ToolCallStarted>().any(|start| start.fact.idempotency_key.is_some());
    for call in &index.calls {
        let starts: Vec<Seen<'_, ToolCallStarted>> = call.each().collect();
        if starts.len() > 1 && starts.iter().any(|start| start.fact.attempt.is_none()) {
            let id = call.id;
            tally.unknown(|| format!("{id} started more than once without numbering its attempts"));
            continue;
        }
        let Some(first) = starts.first() else { continue };
        tally.checked();
        if first.fact.attempt.is_some_and(|attempt| attempt != 1) {
            let message = "the attempts of a call do not begin at 1";
            tally.broken(Some(call.id), &[first.seq()], message.into());
        }
        for pair in starts.windows(2) {
            let [before, after] = pair else { continue };
            tally.checked();
            if let Some((seq, message)) = repeated(call, (*before, *after), promised) {
                let events: Vec<u64> =
                    [Some(before.seq()), seq, Some(after.seq())].into_iter().flatten().collect();
                tally.broken(Some(call.id), &events, message.into());
            }
        }
    }
}

/// The code of a failure in which a service did not take a credential.
const REAUTHORIZE: &str = "reauthorize";

type Pair<'a> = (Seen<'a, ToolCallStarted>, Seen<'a, ToolCallStarted>);

/// What is wrong with a further attempt, and the failure that shows it.
fn repeated(
    call: &Call<'_>,
    (before, after): Pair<'_>,
    promised: bool,
) -> Option<(Option<u64>, &'static str)> {
    let number = |start: Seen<'_, ToolCallStarted>| start.fact.attempt.unwrap_or_default();
    let (last, next) = (number(before), number(after));
    if last == next {
        return Some((None, "one attempt of a call started twice"));
    }
    if last.checked_add(1) != Some(next) {
        return Some((None, "the attempts of a call are not numbered one after another"));
    }
    let mut failures = call.each::<AttemptFailed>();
    let failed =
        failures.find(|seen| (before.at..after.at).contains(&seen.at) && seen.fact.attempt == last);
    let Some(failed) = failed else {
        return Some((None, "a call was tried again before its last attempt had failed"));
    };
    let seq = Some(failed.seq());
    let key = |start: Seen<'_, ToolCallStarted>| start.fact.idempotency_key.clone();
    match failed.fact.retry_at {
        _ if !promised => None,
        None => Some((seq, "a call was tried again after a failure that named no retry")),
        Some(retry) if after.entry.at < retry => {
            Some((seq, "a call was tried again before the time its failure named"))
        }
        // Where a credential was not taken nothing was done, and nothing can be done twice.
        Some(_) if key(before).is_none() && failed.fact.fault.code == REAUTHORIZE => {
            key(after).map(|_| (seq, "a call was tried again under a key that it did not have"))
        }
        Some(_) if key(before).is_none() || key(before) != key(after) => {
            Some((seq, "a call was tried again without the idempotency key of its last attempt"))
        }
        Some(_) => None,
    }
}
