//! Caps and circles: a turn ends in time, and goes in circles only with a warning.

use std::collections::{BTreeMap, BTreeSet};

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use crate::base::canon;
use crate::base::digest::Digest;
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;

/// The entries of a turn after its start, as places; up to its end or the session's.
fn span(index: &Index<'_>, start: Seen<'_, TurnStarted>) -> std::ops::Range<usize> {
    let turn = &start.entry.turn;
    let rest = index.entries.iter().enumerate().skip(start.at + 1);
    let mut ends = rest
        .filter(|(_, entry)| entry.turn != *turn || matches!(entry.event, Event::TurnStarted(_)));
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
/// warning or a stop; and once it has come to it as often as ends the turn, the model is not asked
/// again at all. A refusal is a result; it counts once a reply, since whoever made the call twice
/// had not been told yet. Tools that the duplicate guard leaves alone may poll.
pub(super) fn circles_are_noticed(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for start in index.each::<TurnStarted>() {
        let (warn, stop) = (start.fact.loop_warn, start.fact.loop_stop);
        if warn.is_none() && stop.is_none() {
            continue;
        }
        let turn = span(index, start);
        let ends = ends(index, start, &turn);
        let next = |at: usize| {
            let mut asked = index.each::<ModelRequested>();
            asked.find(|seen| seen.at > at && turn.contains(&seen.at))
        };
        for end in nth_of_a_kind(&ends, warn) {
            let Some(asked) = next(end.at) else { continue };
            tally.checked();
            let said = turn.start..asked.at;
            let warned = index.each::<LoopWarned>().any(|seen| said.contains(&seen.at))
                || index.each::<LoopStopped>().any(|seen| said.contains(&seen.at));
            if !warned {
                let count = warn.unwrap_or_default();
                let message = format!("{count} equal calls with equal results went unnoticed");
                tally.broken(Some(end.call), &[end.seq, asked.entry.seq], message);
            }
        }
        for end in nth_of_a_kind(&ends, stop) {
            tally.checked();
            if let Some(asked) = next(end.at) {
                let message = "the model was asked again where the circle ends the turn".into();
                tally.broken(Some(end.call), &[end.seq, asked.entry.seq], message);
            }
        }
    }
}

/// What tells one end from another: whether it ran, tool or name, arguments, result.
type Kind<'a> = (bool, &'a str, Digest, Digest);

/// A call's end.
struct End<'a> {
    at: usize,
    call: &'a str,
    seq: u64,
    kind: Kind<'a>,
}

/// The ends of a turn that count, in order.
fn ends<'a>(
    index: &Index<'a>,
    start: Seen<'a, TurnStarted>,
    turn: &std::ops::Range<usize>,
) -> Vec<End<'a>> {
    let exempt = |tool: &str| start.fact.duplicate_exempt.iter().any(|id| id.as_str() == tool);
    let (mut ends, mut refused) = (Vec::new(), BTreeSet::new());
    for call in &index.calls {
        let ran = ran(call);
        let refusal = if ran.is_none() { refusal(index, call) } else { None };
        let once = refusal
            .as_ref()
            .is_none_or(|(end, _)| refused.insert((index.scopes().reply(call), end.kind)));
        let Some((end, tool)) = ran.or(refusal) else { continue };
        if once && turn.contains(&end.at) && !exempt(tool) {
            ends.push(end);
        }
    }
    ends.sort_by_key(|end| end.at);
    ends
}

/// The end of a call that ran, and its tool.
fn ran<'a>(call: &Call<'a>) -> Option<(End<'a>, &'a str)> {
    let finish = call.first::<ToolCallFinished>()?;
    let valid = call.before::<ToolArgsValidated>(finish.at)?;
    let tool = valid.fact.tool_id.as_ref()?.as_str();
    let kind = (true, tool, valid.fact.args_digest?, finish.fact.result_digest?);
    Some((End { at: finish.at, call: call.id, seq: finish.seq(), kind }, tool))
}

/// The end of a call that was refused, and its tool: by its last name and arguments, with what the
/// model was told.
fn refusal<'a>(index: &Index<'a>, call: &Call<'a>) -> Option<(End<'a>, &'a str)> {
    let settled = call.first::<ToolCallSettled>()?;
    let counts = match &settled.fact.outcome {
        Outcome::Rejected { .. }
        | Outcome::Unavailable { .. }
        | Outcome::Denied { .. }
        | Outcome::Replaced => true,
        // The loop guard's own word is no end of the call that it is about.
        Outcome::Blocked { by } => by != "loop_guard" && by != "repeated_prompt",
        Outcome::Duplicate { of } => {
            let scopes = index.scopes();
            let earlier = index.call(of)?;
            scopes.reply(earlier) != scopes.reply(call)
        }
        Outcome::Succeeded
        | Outcome::Failed { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Interrupted => false,
    };
    let told = settled.fact.shown.filter(|_| counts)?;
    let (name, args) = made(call)?;
    let view = index.view_of(call).map(|view| &view.fact.exposed);
    let named = |shown: &&ExposedTool| shown.name == name || shown.tool_id.as_str() == name;
    let tool = view.and_then(|view| view.iter().find(named));
    let tool = tool.map_or(name, |shown| shown.tool_id.as_str());
    let kind = (false, name, args, told);
    Some((End { at: settled.at, call: call.id, seq: settled.seq(), kind }, tool))
}

/// The last name of a call and the digest of its last arguments, where the record says both.
fn made<'a>(call: &Call<'a>) -> Option<(&'a str, Digest)> {
    let request = call.first::<ToolCallRequested>()?;
    let json = |args: &serde_json::Value| canon::content_digest("args", args);
    let text = |raw: &String| Digest::of("argument text", raw.as_bytes());
    let fact = request.fact;
    let sent = fact.args_digest.or(fact.args.as_ref().map(json));
    let mut made = (fact.tool_id.as_str(), sent.or(fact.raw_args.as_ref().map(text)));
    for (_, entry) in call.entries() {
        let later = match &entry.event {
            Event::ToolCallRewritten(fact) => {
                made.0 = &fact.tool_id;
                if fact.unlogged && fact.args_digest.is_none() {
                    made.1 = None;
                }
                (fact.args_digest, fact.args.as_ref())
            }
            Event::ToolArgsValidated(fact) if !fact.blank => (fact.args_digest, fact.args.as_ref()),
            _ => continue,
        };
        made.1 = later.0.or(later.1.map(json)).or(made.1);
    }
    Some((made.0, made.1?))
}

/// The ends at which the same call has come to the same result for the `nth` time.
fn nth_of_a_kind<'e, 'a>(ends: &'e [End<'a>], nth: Option<u32>) -> Vec<&'e End<'a>> {
    let mut counts: BTreeMap<Kind<'a>, u32> = BTreeMap::new();
    let is_nth = |end: &&End<'a>| {
        let count = counts.entry(end.kind).or_default();
        *count += 1;
        Some(*count) == nth
    };
    ends.iter().filter(is_nth).collect()
}
