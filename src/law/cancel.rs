//! Stops: what a cancel leaves of a round, and what must not follow a cancel or a loop stop.

use std::collections::BTreeSet;

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use super::spans::{Turns, closes, refused, rounds};
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;

/// The first acknowledged cancel of each turn.
fn cancels<'a>(index: &Index<'a>, turns: &Turns) -> Vec<Seen<'a, CancelAcknowledged>> {
    let mut first: Vec<Seen<'a, CancelAcknowledged>> = Vec::new();
    for cancel in index.each::<CancelAcknowledged>() {
        if !first.iter().any(|one| turns.same(one.at, cancel.at)) {
            first.push(cancel);
        }
    }
    first
}

/// A, its reviewers' question about cancels: in a turn whose cancel was acknowledged, a call that
/// had finished is settled by its finish, be it one that came after the cancel; a call settled
/// before is not settled again; and a call in no batch that was open is settled before the turn
/// ends. Slots of batches are `closed-before-end`'s, and calls that are never settled at all are
/// `one-result-per-call`'s. A finish that reports itself as cancelled is no result to keep.
pub(super) fn cancel_closes_open_only(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if index.each::<CancelAcknowledged>().next().is_none() {
        return;
    }
    let turns = Turns::of(index);
    let rounds = rounds(index);
    let slots: BTreeSet<&str> =
        rounds.iter().flat_map(|round| round.calls).map(String::as_str).collect();
    for cancel in cancels(index, &turns) {
        let ends = index.each::<TurnFinished>().map(|end| end.at);
        let end = ends.filter(|end| *end > cancel.at).find(|end| turns.same(cancel.at, *end));
        for call in &index.calls {
            let begun = call.begins().map(|(at, _)| at);
            if !begun.is_some_and(|at| at < cancel.at && turns.same(at, cancel.at)) {
                continue;
            }
            closed_once(call, cancel, end.filter(|_| !slots.contains(call.id)), tally);
        }
    }
}

fn closed_once(
    call: &Call<'_>,
    cancel: Seen<'_, CancelAcknowledged>,
    end: Option<usize>,
    tally: &mut Tally,
) {
    let Some(settled) = call.first::<ToolCallSettled>() else { return };
    tally.checked();
    let late = settled.at > cancel.at;
    let again = call.each::<ToolCallSettled>().find(|again| !late && again.at > cancel.at);
    let finish = call.before::<ToolCallFinished>(settled.at);
    let finish = finish.filter(|finish| late && finish.fact.status != "cancelled");
    let (other, message) = if let Some(again) = again {
        (again.seq(), "a call that was settled before the cancel was settled again")
    } else if let Some(finish) = finish.filter(|_| closes(&settled.fact.outcome)) {
        (finish.seq(), "the cancel replaced the result of a call that had finished")
    } else if late && end.is_some_and(|end| end < settled.at) {
        (cancel.seq(), "a call that was open at the cancel was closed after its turn had ended")
    } else {
        return;
    };
    tally.broken(Some(call.id), &[cancel.seq(), settled.seq(), other], message.into());
}

/// A, its check before each call and the halt of all further dispatch: once a cancel is
/// acknowledged, no call starts and no model is asked in that turn any more, and it ends as
/// cancelled. A yes that comes later takes effect only by a start, so the start is what counts.
/// Where the loop had been stopped as well, that reason is as good.
pub(super) fn nothing_after_cancel(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if index.each::<CancelAcknowledged>().next().is_none() {
        return;
    }
    let turns = Turns::of(index);
    for cancel in cancels(index, &turns) {
        let stop = Stop { at: cancel.at, seq: cancel.seq(), what: "the cancel was acknowledged" };
        nothing_follows(index, &turns, stop, tally);
    }
}

/// A, its guard against loops, which breaks off instead of asking on: after the loop guard or a
/// repeated prompt stopped a turn, no call starts and no model is asked in it, and it ends as
/// stopped. Where it was cancelled as well, that reason is as good. That a call which the guard
/// blocked never started is `denied-never-runs`'.
pub(super) fn loop_stop_stops(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let entries = index.entries.iter().enumerate();
    let stops: Vec<(usize, u64)> = entries
        .filter(|(_, entry)| loops(&entry.event))
        .map(|(at, entry)| (at, entry.seq))
        .collect();
    if stops.is_empty() {
        return;
    }
    let turns = Turns::of(index);
    for (place, (at, seq)) in stops.iter().enumerate() {
        if !stops.iter().take(place).any(|(first, _)| turns.same(*first, *at)) {
            let stop = Stop { at: *at, seq: *seq, what: "the loop was stopped" };
            nothing_follows(index, &turns, stop, tally);
        }
    }
}

fn loops(event: &Event) -> bool {
    matches!(event, Event::LoopStopped(_) | Event::RepeatStopped(_))
}

/// Where a turn was stopped, and by what.
#[derive(Clone, Copy)]
struct Stop {
    at: usize,
    seq: u64,
    what: &'static str,
}

fn nothing_follows(index: &Index<'_>, turns: &Turns, stop: Stop, tally: &mut Tally) {
    tally.checked();
    let entries = || index.entries.iter().enumerate().filter(|(at, _)| turns.same(stop.at, *at));
    let cancelled = entries().any(|(_, entry)| matches!(entry.event, Event::CancelAcknowledged(_)));
    let looped = entries().any(|(_, entry)| loops(&entry.event));
    for (_, entry) in entries().filter(|(at, _)| *at > stop.at) {
        let message = match &entry.event {
            Event::ToolCallStarted(_) => "a call started after",
            Event::ModelRequested(_) => "a model was asked after",
            Event::TurnFinished(end) => match end.reason.as_str() {
                "cancelled" if cancelled => continue,
                "loop_stopped" if looped => continue,
                _ => "a turn ended for another reason although",
            },
            _ => continue,
        };
        let events = [stop.seq, entry.seq];
        tally.broken(entry.call.as_deref(), &events, format!("{message} {}", stop.what));
    }
}

/// A, its end for calls that were cut off: a call that ends as interrupted had started and was torn
/// down before it was settled, unless the session was opened again in between, since then nobody
/// was left to do it; and at the end of its turn every call that started has finished, failed its
/// last attempt or been torn down. What was refused and started all the same is
/// `denied-never-runs`'. Where the session records no teardown at all, calls without an end of
/// their own are unknown.
pub(super) fn torn_down_before_end(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let turns = Turns::of(index);
    let ends: Vec<Seen<'_, TurnFinished>> = index.each().collect();
    let told = index.each::<TornDown>().next().is_some();
    for call in index.calls.iter().filter(|call| !refused(call)) {
        let settled = call.first::<ToolCallSettled>();
        let start = call.before::<ToolCallStarted>(usize::MAX);
        let gap = match settled.filter(|seen| seen.fact.outcome == Outcome::Interrupted) {
            Some(settled) => {
                tally.checked();
                interrupted(index, call, settled)
            }
            None => None,
        };
        let end = start.and_then(|start| {
            let mut ends = ends.iter().filter(|end| end.at > start.at);
            ends.find(|end| turns.same(end.at, start.at))
        });
        let gap = match (gap, start.zip(end)) {
            (None, Some((start, end))) => {
                tally.checked();
                let running = !ended(call, start, end.at) && !resumed(index, start.at, end.at);
                running.then(|| Gap {
                    events: vec![start.seq(), end.seq()],
                    message: "a turn ended while a call that had started was still running",
                    sure: settled.is_none_or(|seen| seen.fact.outcome == Outcome::Succeeded),
                })
            }
            (gap, _) => gap,
        };
        match gap {
            Some(gap) if told || gap.sure => {
                tally.broken(Some(call.id), &gap.events, gap.message.into());
            }
            Some(_) => {
                let id = call.id;
                tally.unknown(|| format!("{id} has no end, and no teardown is recorded at all"));
            }
            None => {}
        }
    }
}

/// What is missing, and whether it is certain without any teardown in the session.
struct Gap {
    events: Vec<u64>,
    message: &'static str,
    sure: bool,
}

fn interrupted(
    index: &Index<'_>,
    call: &Call<'_>,
    settled: Seen<'_, ToolCallSettled>,
) -> Option<Gap> {
    let start = call.first::<ToolCallStarted>().filter(|start| start.at < settled.at);
    let Some(start) = start else {
        let message = "a call that had not started ended as interrupted";
        return Some(Gap { events: vec![settled.seq()], message, sure: true });
    };
    let torn = call.before::<TornDown>(settled.at).is_some_and(|torn| torn.at > start.at);
    (!torn && !resumed(index, start.at, settled.at)).then(|| Gap {
        events: vec![start.seq(), settled.seq()],
        message: "a call ended as interrupted before it was torn down",
        sure: false,
    })
}

/// Whether the session was opened again between two places.
fn resumed(index: &Index<'_>, from: usize, to: usize) -> bool {
    let between = index.entries.get(from..to).unwrap_or_default();
    between.iter().any(|entry| matches!(entry.event, Event::SessionOpened(_)))
}

/// Whether a started call came to an end before a place.
fn ended(call: &Call<'_>, start: Seen<'_, ToolCallStarted>, before: usize) -> bool {
    let within = |at: Option<usize>| at.is_some_and(|at| at > start.at);
    within(call.before::<ToolCallFinished>(before).map(|seen| seen.at))
        || within(call.before::<TornDown>(before).map(|seen| seen.at))
        || within(call.before::<AttemptFailed>(before).map(|seen| seen.at))
}

/// A, its one slot for each call: once a call that started is settled, no finish and no stored
/// output of it follows; and a result is dropped only once its call, or an attempt of it, has come
/// to an end, since until then it is the result. A second settling is `one-result-per-call`'s, and
/// a receipt may follow until the result is appended, which is `receipt-only-on-success`'.
pub(super) fn late_results_dropped(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        let start = call.first::<ToolCallStarted>();
        let Some((settled, _)) = call.first::<ToolCallSettled>().zip(start) else { continue };
        tally.checked();
        let mut broken = |seq: u64, message: &str| {
            tally.broken(Some(call.id), &[settled.seq(), seq], message.into());
        };
        for finish in call.each::<ToolCallFinished>().filter(|seen| seen.at > settled.at) {
            broken(finish.seq(), "a result was taken in after its call had been settled");
        }
        let stored = call.each::<ArtifactPersisted>().filter(|seen| seen.at > settled.at);
        for artifact in stored.filter(|seen| seen.fact.kind == "tool_output") {
            broken(artifact.seq(), "an output was stored after its call had been settled");
        }
        for dropped in call.each::<LateResultDropped>().filter(|seen| seen.at < settled.at) {
            if !call.entries().any(|(at, entry)| at < dropped.at && ends_attempt(&entry.event)) {
                broken(
                    dropped.seq(),
                    "a result was dropped as late that was the first of its call",
                );
            }
        }
    }
}

/// Whether a result of an attempt that comes after this is late.
fn ends_attempt(event: &Event) -> bool {
    matches!(event, Event::ToolCallFinished(_) | Event::TornDown(_) | Event::AttemptFailed(_))
}
