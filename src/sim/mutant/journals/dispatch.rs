//! Mistakes in how calls are started, stopped, tried again and torn down.

use super::*;
use crate::journal::outcome::Outcome;
use crate::tool::effect::ResourcePattern;

type Maybe = Option<Altered>;

impl<'a> Record<'a> {
    /// Whether two entries stand in one turn of one session.
    pub(super) fn together(&self, one: usize, other: usize) -> bool {
        let turn = |at| self.entry(at).map(|entry| (&entry.session, &entry.turn));
        turn(one).is_some_and(|(_, turn)| turn.is_some()) && turn(one) == turn(other)
    }

    /// Facts of the turn of the entry at a place.
    pub(super) fn in_turn<F: Fact + 'a>(
        &self,
        at: usize,
    ) -> impl DoubleEndedIterator<Item = At<'a, F>> {
        self.in_session::<F>(at).filter(move |(place, _)| self.together(*place, at))
    }

    /// Whether a call's entries say that it was refused.
    pub(super) fn refused(&self, at: usize) -> bool {
        self.one::<ToolCallSettled>(at).is_some_and(|(_, settled)| !settled.outcome.started())
    }

    /// A number that follows all of the session of the entry at a place.
    pub(super) fn past(&self, at: usize) -> Option<u64> {
        let near = self.entry(at)?;
        let own = self.entries.iter().filter(|entry| entry.session == near.session);
        own.map(|entry| entry.seq).max()?.checked_add(1)
    }
}

pub(super) fn interrupt_what_finished(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallSettled>().find(|(at, settled)| {
        let ended = |(end, fact): At<'_, ToolCallFinished>| end < *at && fact.status != "cancelled";
        let kept = matches!(settled.outcome, Outcome::Succeeded | Outcome::Failed { .. });
        let open = record.one::<ToolCallRequested>(*at).is_some_and(|(asked, _)| {
            let mut cancels = record.in_turn::<CancelAcknowledged>(*at);
            cancels.any(|(cancel, _)| asked < cancel && cancel < *at)
        });
        kept && open && record.of_call(*at).any(ended)
    })?;
    record.alter(at, |fact: &mut ToolCallSettled| fact.outcome = Outcome::Interrupted)
}

pub(super) fn close_again_on_cancel(record: &Record<'_>) -> Maybe {
    let (cancel, settled) = record.each::<CancelAcknowledged>().find_map(|(cancel, _)| {
        let before = |(at, _): &At<'_, ToolCallSettled>| {
            *at < cancel && record.of_call::<ToolCallSettled>(*at).count() == 1
        };
        record.in_turn(cancel).find(before).map(|(at, _)| (cancel, at))
    })?;
    let seq = record.past(cancel)?;
    record.edit(|entries| {
        let mut again = Entry { seq, ..entries.get(settled)?.clone() };
        ToolCallSettled::of_mut(&mut again.event)?.outcome = Outcome::Interrupted;
        entries.insert(cancel + 1, again);
        Some(())
    })
}

/// Moves a stop before the last fact of a kind that its turn had before it.
fn stopped_before<S: Fact, F: Fact>(record: &Record<'_>) -> Maybe {
    let (stop, earlier) = record.each::<S>().find_map(|(stop, _)| {
        let first = !record.in_turn::<S>(stop).any(|(at, _)| at < stop);
        let before = record.in_turn::<F>(stop).rfind(|(at, _)| *at < stop);
        before.filter(|_| first).map(|(at, _)| (stop, at))
    })?;
    record.shift(stop, earlier)
}

/// Gives another reason for the end of a turn that was stopped in one way only.
fn ended_otherwise<S: Fact>(record: &Record<'_>, reason: &str) -> Maybe {
    let end = record.each::<S>().find_map(|(stop, _)| {
        let stops = record.entries.iter().enumerate().filter(|(_, entry)| {
            matches!(
                entry.event,
                Event::CancelAcknowledged(_) | Event::LoopStopped(_) | Event::RepeatStopped(_)
            )
        });
        let once = stops.filter(|(at, _)| record.together(*at, stop)).count() == 1;
        let mut ends = record.in_turn::<TurnFinished>(stop);
        let end = ends.find(|(end, fact)| *end > stop && fact.reason == reason);
        end.filter(|_| once).map(|(end, _)| end)
    })?;
    record.alter(end, |fact: &mut TurnFinished| fact.reason = "final_text".into())
}

pub(super) fn acknowledge_before_start(record: &Record<'_>) -> Maybe {
    stopped_before::<CancelAcknowledged, ToolCallStarted>(record)
}

pub(super) fn acknowledge_before_asking(record: &Record<'_>) -> Maybe {
    stopped_before::<CancelAcknowledged, ModelRequested>(record)
}

pub(super) fn end_cancel_as_text(record: &Record<'_>) -> Maybe {
    ended_otherwise::<CancelAcknowledged>(record, "cancelled")
}

pub(super) fn stop_before_start(record: &Record<'_>) -> Maybe {
    stopped_before::<LoopStopped, ToolCallStarted>(record)
}

pub(super) fn stop_before_asking(record: &Record<'_>) -> Maybe {
    stopped_before::<LoopStopped, ModelRequested>(record)
}

pub(super) fn end_stop_as_text(record: &Record<'_>) -> Maybe {
    ended_otherwise::<LoopStopped>(record, "loop_stopped")
}

/// The only teardown of a call, and the place where it was settled as interrupted.
fn teardown(record: &Record<'_>, fits: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
    record.each::<TornDown>().find_map(|(torn, _)| {
        let (settled, fact) = record.one::<ToolCallSettled>(torn)?;
        let once = record.of_call::<TornDown>(torn).count() == 1;
        let interrupted = fact.outcome == Outcome::Interrupted && torn < settled;
        (once && interrupted && fits(torn)).then_some((torn, settled))
    })
}

pub(super) fn drop_teardown(record: &Record<'_>) -> Maybe {
    let others = |torn| record.in_session::<TornDown>(torn).count() > 1;
    teardown(record, others).and_then(|(torn, _)| record.drop(torn))
}

pub(super) fn late_teardown(record: &Record<'_>) -> Maybe {
    teardown(record, |_| true).and_then(|(torn, settled)| record.shift(torn, settled))
}

pub(super) fn interrupt_what_never_started(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallSettled>().find(|(at, settled)| {
        let cancelled = matches!(settled.outcome, Outcome::Cancelled { .. });
        cancelled && !record.has::<ToolCallStarted>(*at)
    })?;
    record.alter(at, |fact: &mut ToolCallSettled| fact.outcome = Outcome::Interrupted)
}

pub(super) fn forget_finish(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallFinished>().find(|(at, _)| {
        let failed = record.one::<ToolCallSettled>(*at);
        let failed = failed.is_some_and(|(_, s)| matches!(s.outcome, Outcome::Failed { .. }));
        let alone = !record.has::<TornDown>(*at)
            && !record.has::<AttemptFailed>(*at)
            && !record.has::<ArtifactPersisted>(*at);
        let told = record.in_session::<TornDown>(*at).next().is_some();
        let once = record.of_call::<ToolCallFinished>(*at).count() == 1;
        failed && alone && told && once && record.over(*at) && record.has::<ToolCallStarted>(*at)
    })?;
    record.drop(at)
}

/// A call while it ran: its first start and the place where it ended.
struct Run<'a> {
    start: usize,
    fact: &'a ToolCallStarted,
    end: usize,
    /// Whether it started once.
    once: bool,
}

/// The calls that ran in the turn of an entry, by start.
fn runs<'a>(record: &Record<'a>, at: usize) -> Vec<Run<'a>> {
    let first = |start: usize| record.one::<ToolCallStarted>(start).map(|(at, _)| at);
    let starts = record.in_turn::<ToolCallStarted>(at);
    let starts = starts.filter(|(start, _)| first(*start) == Some(*start));
    let runs = starts.filter_map(|(start, fact)| {
        let after = |end: &usize| *end > start;
        let ends = [
            record.of_call::<ToolCallFinished>(start).map(|(end, _)| end).find(after),
            record.of_call::<TornDown>(start).map(|(end, _)| end).find(after),
            record.of_call::<ToolCallSettled>(start).map(|(end, _)| end).find(after),
        ];
        let once = record.of_call::<ToolCallStarted>(start).count() == 1;
        let end = ends.into_iter().flatten().min()?;
        (!record.refused(start)).then_some(Run { start, fact, end, once })
    });
    runs.collect()
}

fn call_at<'a>(record: &Record<'a>, at: usize) -> Option<&'a str> {
    record.entry(at)?.call.as_deref()
}

fn searches(record: &Record<'_>, at: usize) -> bool {
    let named = |name: &str| name.ends_with("tool_search");
    let start = record.one::<ToolCallStarted>(at).map(|(_, start)| start);
    let tool = start.and_then(|start| start.tool_id.as_ref());
    let adapter = start.and_then(|start| start.adapter.as_deref());
    let request = record.one::<ToolCallRequested>(at).map(|(_, request)| &request.tool_id);
    tool.is_some_and(|tool| named(tool.as_str()))
        || adapter.is_some_and(named)
        || request.is_some_and(|name| named(name))
}

/// The first plan of a mode for which something is found, with the calls that ran by it.
fn planned<'a, T>(
    record: &Record<'a>,
    mode: &str,
    found: impl Fn(usize, &'a DispatchPlanned, &[Run<'a>]) -> Option<T>,
) -> Option<T> {
    record.each::<DispatchPlanned>().find_map(|(at, plan)| {
        let listed = |call: &str| plan.calls.iter().any(|id| id == call);
        let mut own = runs(record, at);
        own.retain(|run| run.start > at && call_at(record, run.start).is_some_and(listed));
        if plan.mode == mode { found(at, plan, &own) } else { None }
    })
}

/// The knob of the turn of an entry.
fn knob<'a>(record: &Record<'a>, at: usize) -> Option<At<'a, TurnStarted>> {
    record.in_turn(at).next()
}

fn call_it(record: &Record<'_>, plan: usize, mode: &str) -> Maybe {
    record.alter(plan, |fact: &mut DispatchPlanned| fact.mode = mode.into())
}

pub(super) fn forbid_parallel(record: &Record<'_>) -> Maybe {
    let begun = planned(record, "parallel", |at, _, _| knob(record, at).map(|(begun, _)| begun))?;
    record.alter(begun, |fact: &mut TurnStarted| fact.parallel_tools = false)
}

pub(super) fn call_it_sequential(record: &Record<'_>) -> Maybe {
    let plan = planned(record, "parallel", |at, _, own| {
        let mut pairs = own.windows(2).filter_map(|pair| pair.first().zip(pair.last()));
        pairs.any(|(one, other)| other.start < one.end).then_some(at)
    })?;
    call_it(record, plan, "sequential")
}

pub(super) fn call_it_parallel(record: &Record<'_>) -> Maybe {
    let plan = planned(record, "sequential", |at, _, _| {
        knob(record, at).filter(|(_, begun)| !begun.parallel_tools).map(|_| at)
    })?;
    call_it(record, plan, "parallel")
}

pub(super) fn search_in_parallel_plan(record: &Record<'_>) -> Maybe {
    let plan = planned(record, "sequential", |at, plan, own| {
        let allowed = knob(record, at).is_some_and(|(_, begun)| begun.parallel_tools);
        let search = own.iter().any(|run| searches(record, run.start));
        (allowed && search && plan.calls.len() > 1).then_some(at)
    })?;
    call_it(record, plan, "parallel")
}

/// Moves the start of a call before the end of the one that ran before it, where nothing else
/// starts and nothing of it happens in between.
fn overlapped(record: &Record<'_>, fits: impl Fn(&Run<'_>, &Run<'_>) -> bool) -> Maybe {
    let all = record.each::<TurnStarted>().find_map(|(turn, _)| {
        let all = runs(record, turn);
        let pairs = all.iter().flat_map(|one| all.iter().map(move |other| (one, other)));
        let mut serial = pairs.filter(|(one, other)| one.end < other.start && other.once);
        let found = serial.find(|(one, other)| {
            let between = |at: usize| one.end < at && at < other.start;
            let own = |at: &usize| call_at(record, *at) == call_at(record, other.start);
            let starts = record.in_turn::<ToolCallStarted>(turn).any(|(at, _)| between(at));
            let plans = record.in_turn::<DispatchPlanned>(turn).any(|(at, _)| between(at));
            let happens = (one.end + 1..other.start).any(|at| own(&at));
            !starts && !plans && !happens && fits(one, other)
        });
        found.map(|(one, other)| (other.start, one.end))
    });
    all.and_then(|(start, end)| record.shift(start, end))
}

fn same_batch(record: &Record<'_>, one: usize, other: usize) -> bool {
    let calls = [call_at(record, one), call_at(record, other)];
    record.in_session::<BatchOpened>(one).any(|(_, batch)| {
        calls.iter().all(|call| batch.slots.iter().any(|slot| Some(slot.as_str()) == *call))
    })
}

pub(super) fn start_beside_search(record: &Record<'_>) -> Maybe {
    overlapped(record, |one, other| {
        searches(record, one.start) && same_batch(record, one.start, other.start)
    })
}

pub(super) fn search_beside_call(record: &Record<'_>) -> Maybe {
    overlapped(record, |one, other| {
        searches(record, other.start)
            && !searches(record, one.start)
            && same_batch(record, one.start, other.start)
    })
}

fn conflict(one: &ToolCallStarted, other: &ToolCallStarted) -> bool {
    let meets = |one: &[String], other: &[String]| {
        let pattern = |text: &String| ResourcePattern::new(text.clone());
        one.iter().any(|own| other.iter().any(|text| pattern(own).overlaps(&pattern(text))))
    };
    meets(&one.writes, &other.writes)
        || meets(&one.writes, &other.reads)
        || meets(&one.reads, &other.writes)
}

pub(super) fn overlap_writers(record: &Record<'_>) -> Maybe {
    overlapped(record, |one, other| {
        let search = searches(record, one.start) || searches(record, other.start);
        !search && conflict(one.fact, other.fact)
    })
}

pub(super) fn write_what_another_reads(record: &Record<'_>) -> Maybe {
    let (start, read) = record.each::<TurnStarted>().find_map(|(turn, _)| {
        let all = runs(record, turn);
        let pairs = all.iter().flat_map(|one| all.iter().map(move |other| (one, other)));
        let mut beside =
            pairs.filter(|(one, other)| one.start < other.start && other.start < one.end);
        beside.find_map(|(one, other)| Some((other.start, one.fact.reads.first()?.clone())))
    })?;
    record.alter(start, |fact: &mut ToolCallStarted| fact.writes.push(read))
}

pub(super) fn unplan_call(record: &Record<'_>) -> Maybe {
    let (plan, call) = planned(record, "sequential", |at, _, own| {
        let listed = |call: &str| {
            let plans = record.in_session::<DispatchPlanned>(at);
            plans.filter(|(_, plan)| plan.calls.iter().any(|id| id == call)).count()
        };
        let calls = own.iter().filter_map(|run| call_at(record, run.start));
        calls.filter(|call| listed(call) == 1).map(|call| (at, call)).next()
    })?;
    record.alter(plan, |fact: &mut DispatchPlanned| fact.calls.retain(|id| id != call))
}

pub(super) fn start_before_plan(record: &Record<'_>) -> Maybe {
    let find = |at: usize, own: &[Run<'_>]| {
        let run = own.first().filter(|run| run.once)?;
        let call = call_at(record, run.start);
        let starts = record.in_turn::<ToolCallStarted>(at);
        let first = !starts.into_iter().any(|(start, _)| at < start && start < run.start);
        let happens = (at + 1..run.start).any(|at| call_at(record, at) == call);
        (first && !happens).then_some((run.start, at))
    };
    let either = planned(record, "sequential", |at, _, own| find(at, own));
    let either = either.or_else(|| planned(record, "parallel", |at, _, own| find(at, own)));
    either.and_then(|(start, plan)| record.shift(start, plan))
}

pub(super) fn start_again(record: &Record<'_>) -> Maybe {
    let mut starts = record.each::<ToolCallStarted>();
    let fits = |at, start: &ToolCallStarted| start.attempt.is_some() && !record.refused(at);
    starts.find(|(at, start)| fits(*at, start)).and_then(|(at, _)| record.repeat(at))
}

/// A failed attempt and the start of the next one.
fn retried<'a>(record: &Record<'a>) -> Option<(usize, At<'a, ToolCallStarted>)> {
    record.each::<AttemptFailed>().find_map(|(at, failed)| {
        let mut starts = record.of_call::<ToolCallStarted>(at);
        let next = starts
            .find(|(next, start)| *next > at && start.attempt == failed.attempt.checked_add(1))?;
        Some((at, next))
    })
}

pub(super) fn forget_failed_attempt(record: &Record<'_>) -> Maybe {
    retried(record).and_then(|(failed, _)| record.drop(failed))
}

pub(super) fn retry_too_soon(record: &Record<'_>) -> Maybe {
    let (failed, (next, _)) = retried(record)?;
    let later = record.entry(next)?.at.checked_add(1);
    record.alter(failed, |fact: &mut AttemptFailed| fact.retry_at = later)
}

pub(super) fn retry_under_another_key(record: &Record<'_>) -> Maybe {
    let (_, (next, start)) = retried(record)?;
    start.idempotency_key.as_ref()?;
    let key = Some("another key".into());
    record.alter(next, |fact: &mut ToolCallStarted| fact.idempotency_key = key)
}

pub(super) fn skip_an_attempt(record: &Record<'_>) -> Maybe {
    let (_, (next, start)) = retried(record)?;
    let skipped = start.attempt?.checked_add(1);
    record.alter(next, |fact: &mut ToolCallStarted| fact.attempt = skipped)
}
