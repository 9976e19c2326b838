//! Requests, ends and transcript messages belong together one to one, in the model's order.

use std::collections::BTreeSet;

use super::index::{Call, Index, Message};
use super::law::{Scene, Tally};
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;

/// B2, "every tool_result must reference exactly one tool_call", and A's slots: each request is
/// settled once, each finish has its one start, each tool message answers one settled call, and
/// each settled call of a finished turn is appended once (where a transcript is recorded at all).
/// In a turn that did not finish, an open call is unknown, not broken.
pub(super) fn one_result_per_call(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for message in &index.transcript {
        if message.message.role == "tool" && message.message.call.is_none() {
            tally.checked();
            let text = "a tool message answers no call".into();
            tally.broken(None, &[message.entry.seq], text);
        }
    }
    for call in &index.calls {
        settled_once(index, call, tally);
        started_once(call, tally);
        appended_once(index, call, tally);
    }
}

fn settled_once(index: &Index<'_>, call: &Call<'_>, tally: &mut Tally) {
    let one = |count| count == 1;
    if one(call.each::<ToolCallRequested>().count()) && one(call.each::<ToolCallSettled>().count())
    {
        return tally.checked();
    }
    let requests: Vec<u64> = call.each::<ToolCallRequested>().map(|seen| seen.seq()).collect();
    let settles: Vec<u64> = call.each::<ToolCallSettled>().map(|seen| seen.seq()).collect();
    let ended = settles.len() + call.messages.len() + call.each::<ToolCallFinished>().count();
    let message = match (requests.as_slice(), settles.as_slice()) {
        ([], _) if ended == 0 => return,
        ([], _) => "a result belongs to a call that nobody requested",
        ([_, _, ..], _) => "a call was requested more than once",
        ([_], []) if !index.over(call) => {
            return tally.unknown(|| format!("the journal ends while {} is open", call.id));
        }
        ([_], []) => "a call was never settled although its turn finished",
        ([_], [_]) => return,
        ([_], [_, _, ..]) => "a call was settled more than once",
    };
    tally.checked();
    let mut events: Vec<u64> = requests.into_iter().take(2).chain(settles).take(3).collect();
    if events.is_empty() {
        let message = call.messages.first().and_then(|place| index.transcript.get(*place));
        let own = call.begins().map(|(_, entry)| entry.seq);
        events.extend(own.or(message.map(|message| message.entry.seq)));
    }
    tally.broken(Some(call.id), &events, message.into());
}

fn started_once(call: &Call<'_>, tally: &mut Tally) {
    let counts = (call.each::<ToolCallStarted>().count(), call.each::<ToolCallFinished>().count());
    if counts == (1, 1) {
        return;
    }
    let starts: Vec<u64> = call.each::<ToolCallStarted>().map(|seen| seen.seq()).collect();
    let finishes: Vec<u64> = call.each::<ToolCallFinished>().map(|seen| seen.seq()).collect();
    let tried = call.each::<AttemptFailed>().count();
    let success = call
        .first::<ToolCallSettled>()
        .filter(|settled| settled.fact.outcome == Outcome::Succeeded)
        .map(|settled| settled.seq());
    let message = match (starts.len(), finishes.len()) {
        (0, 1..) => "a call finished without having started",
        (_, 2..) => "a call finished more than once",
        (1.., _) if starts.len() > tried + 1 => "a call started twice in one attempt",
        (0, 0) if success.is_some() => "a call succeeded without having started",
        (1.., 0) if success.is_some() => "a call succeeded without having finished",
        _ => return,
    };
    let events: Vec<u64> = starts.into_iter().chain(finishes).chain(success).take(3).collect();
    tally.broken(Some(call.id), &events, message.into());
}

fn appended_once(index: &Index<'_>, call: &Call<'_>, tally: &mut Tally) {
    let messages = call.messages.iter().filter_map(|place| index.transcript.get(*place));
    let settled = call.first::<ToolCallSettled>();
    if let ([place], Some(settled)) = (call.messages.as_slice(), settled)
        && index.transcript.get(*place).is_some_and(|message| message.at > settled.at)
    {
        return;
    }
    let messages: Vec<&Message<'_>> = messages.collect();
    let message = match (messages.as_slice(), settled) {
        ([], Some(_)) if !index.transcript.is_empty() && index.over(call) => {
            "a settled call of a finished turn was never appended"
        }
        ([], _) => return,
        ([_], Some(_)) => "a result was appended before its call was settled",
        ([_], None) => "a result was appended whose call never settled",
        ([_, _, ..], _) => "a result was appended more than once",
    };
    let events = settled.map(|seen| seen.seq()).into_iter();
    let events: Vec<u64> = events.chain(messages.iter().map(|m| m.entry.seq)).take(3).collect();
    tally.broken(Some(call.id), &events, message.into());
}

/// A, "slots keep model order whatever completes first": results stand in the order of their
/// batch's slots, next to each other, right after the message that made the calls. Without a
/// recorded batch the assistant message's own list is the order.
pub(super) fn model_order(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if index.transcript.is_empty() {
        return;
    }
    let mut covered = BTreeSet::new();
    for batch in index.each::<BatchOpened>() {
        ordered(index, (&batch.fact.slots, batch.seq()), tally);
        covered.extend(batch.fact.slots.iter().map(String::as_str));
    }
    for made in &index.transcript {
        let first = made.message.calls.first();
        if first.is_some_and(|first| !covered.contains(first.as_str())) {
            ordered(index, (&made.message.calls, made.entry.seq), tally);
        }
    }
}

fn ordered(index: &Index<'_>, (slots, opened): (&[String], u64), tally: &mut Tally) {
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(slots.len());
    for (slot, id) in slots.iter().enumerate() {
        let messages = index.call(id).map_or(&[][..], |call| &call.messages);
        places.extend(messages.iter().map(|place| (*place, slot)));
    }
    places.sort_unstable();
    let Some((first, _)) = places.first().copied() else { return };
    let maker = first.checked_sub(1).and_then(|place| index.transcript.get(place));
    let makes = |message: &Message<'_>| message.message.calls.iter().any(|id| slots.contains(id));
    let follows = maker.is_some_and(makes);
    let made = follows || index.transcript.iter().any(makes);
    if made || places.len() > 1 {
        tally.checked();
    }
    let seq = |place: usize| index.transcript.get(place).map_or(opened, |m| m.entry.seq);
    let name = |slot: usize| slots.get(slot).map(String::as_str);
    if made && !follows {
        let message = "results do not follow the message that made the calls".into();
        tally.broken(
            places.first().and_then(|(_, slot)| name(*slot)),
            &[opened, seq(first)],
            message,
        );
    }
    for pair in places.windows(2) {
        let [(before, left), (after, right)] = *pair else { continue };
        let message = if right <= left {
            "a result stands before one that the model asked for earlier"
        } else if after != before + 1 {
            "something stands between the results of one batch"
        } else {
            continue;
        };
        tally.broken(name(right), &[opened, seq(before), seq(after)], message.into());
    }
}
