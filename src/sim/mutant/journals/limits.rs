//! Mistakes about caps and circles.

use super::*;
use crate::base::canon;
use crate::journal::outcome::Outcome;

type Maybe = Option<Altered>;

/// A turn with at least one request, and where it started.
fn capped(record: &Record<'_>) -> Option<usize> {
    record.each::<TurnStarted>().find_map(|(at, start)| {
        let turn = &record.entry(at)?.turn;
        let mut asked = record.in_session::<ModelRequested>(at);
        let here = asked.any(|(place, _)| {
            record.entry(place).is_some_and(|entry| entry.turn == *turn && place > at)
        });
        (start.iteration_cap.is_some() && here).then_some(at)
    })
}

pub(super) fn lower_the_cap(record: &Record<'_>) -> Maybe {
    let at = capped(record)?;
    record.alter(at, |fact: &mut TurnStarted| fact.iteration_cap = Some(0))
}

pub(super) fn lower_the_budget(record: &Record<'_>) -> Maybe {
    let at = record.each::<TurnStarted>().find_map(|(at, _)| {
        let turn = &record.entry(at)?.turn;
        let mut starts = record.in_session::<ToolCallStarted>(at);
        let here = starts.any(|(place, _)| {
            record.entry(place).is_some_and(|entry| entry.turn == *turn && place > at)
        });
        here.then_some(at)
    })?;
    record.alter(at, |fact: &mut TurnStarted| fact.call_budget = Some(0))
}

/// A turn's only warning, with the request after it.
fn warned(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<LoopWarned>().find_map(|(at, _)| {
        let (entry, mut all) = (record.entry(at)?, record.in_session::<LoopWarned>(at));
        let same = |place: usize| record.entry(place).is_some_and(|e| e.turn == entry.turn);
        let others = all.any(|(place, _)| place != at && same(place));
        let stops = record.in_session::<LoopStopped>(at).any(|(place, _)| same(place));
        let counts = record.in_session::<TurnStarted>(at).any(|(place, start)| {
            same(place) && start.loop_warn.is_some_and(|warn| circles(record, place, warn, at))
        });
        let mut asked = record.in_session::<ModelRequested>(at);
        let (next, _) = asked.find(|(place, _)| *place > at && same(*place))?;
        (!others && !stops && counts).then_some((at, next))
    })
}

/// Whether the same call came to the same result, or was refused in the same words, that often
/// between a turn's start and a place.
fn circles(record: &Record<'_>, start: usize, warn: u32, until: usize) -> bool {
    let inside = |at: usize| at > start && at < until;
    let exempt: Vec<ToolId> = record
        .each::<TurnStarted>()
        .filter(|(at, _)| *at == start)
        .flat_map(|(_, fact)| fact.duplicate_exempt.clone())
        .collect();
    let finished = record.in_session::<ToolCallFinished>(start).filter(|(at, _)| inside(*at));
    let mut kinds: Vec<(String, Digest, Digest)> = finished
        .filter_map(|(at, fact)| {
            let (_, valid) = record.of_call::<ToolArgsValidated>(at).last()?;
            let tool = valid.tool_id.clone().filter(|tool| !exempt.contains(tool))?;
            Some((tool.to_string(), valid.args_digest?, fact.result_digest?))
        })
        .collect();
    // Of refusals the plain ones: alone in their reply, and ended as they were requested.
    let settled = record.in_session::<ToolCallSettled>(start).filter(|(at, _)| inside(*at));
    kinds.extend(settled.filter_map(|(at, fact)| {
        let (_, asked) = record.of_call::<ToolCallRequested>(at).next()?;
        let refused =
            matches!(fact.outcome, Outcome::Rejected { .. } | Outcome::Unavailable { .. });
        let alone = asked.index.is_none_or(|index| index == 0);
        let changed = record.has::<ToolCallRewritten>(at) || record.has::<ToolArgsValidated>(at);
        let args = canon::content_digest("args", asked.args.as_ref()?);
        (refused && alone && !changed).then_some((
            format!("refused {}", asked.tool_id),
            args,
            fact.shown?,
        ))
    }));
    kinds.sort();
    kinds.chunk_by(|a, b| a == b).any(|row| row.len() >= warn as usize)
}

/// The turn ends later than its record says: where a call came to the same result once more after
/// the model was asked again.
pub(super) fn stop_sooner(record: &Record<'_>) -> Maybe {
    let at = record.each::<TurnStarted>().find_map(|(at, start)| {
        start.loop_stop?;
        let turn = &record.entry(at)?.turn;
        let here = |place: usize| {
            record.entry(place).is_some_and(|entry| entry.turn == *turn && place > at)
        };
        let asked = record.in_session::<ModelRequested>(at).filter(|(place, _)| here(*place));
        let last = asked.map(|(place, _)| place).max()?;
        circles(record, at, 1, last).then_some(at)
    })?;
    record.alter(at, |fact: &mut TurnStarted| fact.loop_stop = Some(1))
}

pub(super) fn drop_the_warning(record: &Record<'_>) -> Maybe {
    let (at, _) = warned(record)?;
    record.drop(at)
}

pub(super) fn warn_too_late(record: &Record<'_>) -> Maybe {
    let (at, next) = warned(record)?;
    record.shift(at, next)
}
