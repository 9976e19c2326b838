//! Caps and circles: a turn ends in time, and goes in circles only with a warning.

use std::collections::BTreeMap;

use super::index::{Index, Seen};
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;

/// The entries of a turn after its start, as places; up to its end or the session's.
fn span(index: &Index<'_>, start: Seen<'_, TurnStarted>) -> std::ops::Range<usize> {
    let turn = &start.entry.turn;
    let rest = index.entries.iter().enumerate().skip(start.at + 1);
    let mut ends = rest.filter(|(_, entry)| {
        entry.turn != *turn || matches!(entry.event, crate::journal::Event::TurnStarted(_))
    });
    start.at..ends.next().map_or(index.entries.len(), |(at, _)| at)
}

/// A, "until the iteration cap is reached": a turn asks its model at most as often as its cap says
/// and starts at most as many calls as its budget allows, each counted once however often it is
/// tried.
pub(super) fn caps_respected(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for start in index.each::<TurnStarted>() {
        let turn = span(index, start);
        let inside = |at: usize| turn.contains(&at);
        if let Some(cap) = start.fact.iteration_cap {
            let requests = index.each::<ModelRequested>().filter(|seen| inside(seen.at));
            over(
                tally,
                start,
                (cap, "the model was asked more often than the cap allows"),
                requests,
            );
        }
        if let Some(budget) = start.fact.call_budget {
            let starts = index.calls.iter().filter_map(|call| call.first::<ToolCallStarted>());
            let mut first: Vec<_> = starts.filter(|seen| inside(seen.at)).collect();
            first.sort_by_key(|seen| seen.at);
            over(
                tally,
                start,
                (budget, "more calls started than the budget allows"),
                first.into_iter(),
            );
        }
    }
}

fn over<'a, F: 'a>(
    tally: &mut Tally,
    start: Seen<'a, TurnStarted>,
    (limit, message): (u32, &str),
    mut seen: impl Iterator<Item = Seen<'a, F>>,
) {
    let Some(first) = seen.next() else { return };
    tally.checked();
    let beyond = std::iter::once(first).chain(seen).nth(limit as usize);
    if let Some(beyond) = beyond {
        let call = beyond.entry.call.as_deref();
        tally.broken(call, &[start.entry.seq, beyond.entry.seq], message.into());
    }
}

/// A, "loop detection uses the content of results": once the same call has come to the same result
/// as often as the turn says, whatever stood between, the model is not asked again without a
/// warning or a stop. Tools that the duplicate guard leaves alone may poll.
pub(super) fn circles_are_noticed(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for start in index.each::<TurnStarted>() {
        let Some(warn) = start.fact.loop_warn else { continue };
        let turn = span(index, start);
        for (at, call, seq) in nth_of_a_kind(index, start, (&turn, warn)) {
            let asked = index.each::<ModelRequested>();
            let mut asked = asked.filter(|seen| seen.at > at && turn.contains(&seen.at));
            let Some(asked) = asked.next() else { continue };
            tally.checked();
            let said = turn.start..asked.at;
            let warned = index.each::<LoopWarned>().any(|seen| said.contains(&seen.at))
                || index.each::<LoopStopped>().any(|seen| said.contains(&seen.at));
            if !warned {
                let message = format!("{warn} equal calls with equal results went unnoticed");
                tally.broken(Some(call), &[seq, asked.entry.seq], message);
            }
        }
    }
}

/// Where the same call has come to the same result for the `warn`-th time in the turn.
fn nth_of_a_kind<'a>(
    index: &Index<'a>,
    start: Seen<'a, TurnStarted>,
    (turn, warn): (&std::ops::Range<usize>, u32),
) -> Vec<(usize, &'a str, u64)> {
    let mut ends: Vec<(usize, &'a str, u64, (String, Digest, Digest))> = Vec::new();
    for call in &index.calls {
        let Some(finish) = call.first::<ToolCallFinished>() else { continue };
        let Some(valid) = call.before::<ToolArgsValidated>(finish.at) else { continue };
        let (Some(tool), Some(args)) = (&valid.fact.tool_id, valid.fact.args_digest) else {
            continue;
        };
        let exempt = start.fact.duplicate_exempt.contains(tool);
        if let (Some(result), true) = (finish.fact.result_digest, turn.contains(&finish.at))
            && !exempt
        {
            let kind = (tool.to_string(), args, result);
            ends.push((finish.at, call.id, finish.entry.seq, kind));
        }
    }
    ends.sort_by_key(|(at, ..)| *at);
    let mut counts: BTreeMap<(String, Digest, Digest), u32> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, call, seq, kind) in ends {
        let count = counts.entry(kind).or_default();
        *count += 1;
        if *count == warn {
            found.push((at, call, seq));
        }
    }
    found
}
