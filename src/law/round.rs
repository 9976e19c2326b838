//! What stands between two requests of one turn: results, steering, another model.

use std::collections::BTreeMap;

use super::index::{Index, Seen};
use super::law::{Scene, Tally};
use super::spans::Turns;
use crate::base::digest::Digest;
use crate::journal::Blobs;
use crate::journal::event::turn::*;

/// The requests of a session, and what the user said meanwhile, by turn.
struct Asked<'s, 'a> {
    turns: &'s Turns,
    requests: Vec<Seen<'a, ModelRequested>>,
    said: BTreeMap<Digest, Vec<Seen<'a, SteeringReceived>>>,
}

impl<'s, 'a> Asked<'s, 'a> {
    fn of(index: &'s Index<'a>) -> Self {
        let mut said: BTreeMap<Digest, Vec<Seen<'a, SteeringReceived>>> = BTreeMap::new();
        for steer in index.each::<SteeringReceived>() {
            said.entry(Blobs::name(&steer.fact.text)).or_default().push(steer);
        }
        Self { turns: index.turns(), requests: index.each().collect(), said }
    }

    /// The first request after an entry in its turn.
    fn next(&self, at: usize) -> Option<Seen<'a, ModelRequested>> {
        let after = self.requests.partition_point(|request| request.at <= at);
        let mut after = self.requests.iter().skip(after);
        after.find(|request| self.turns.same(request.at, at)).copied()
    }
}

/// A, its next request, which holds the calls and their results in order: when a model is asked,
/// each call of the round before stands answered in the transcript, so that a provider accepts it
/// at all times. Where no transcript is recorded, nothing is judged.
pub(super) fn results_before_request(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if index.transcript.is_empty() {
        return;
    }
    let asked = Asked::of(index);
    for round in index.rounds() {
        let Some(request) = asked.next(round.at) else { continue };
        tally.checked();
        for id in round.calls {
            let first = index.call(id).and_then(|call| call.messages.first());
            let message = first.and_then(|place| index.transcript.get(*place));
            if message.is_none_or(|message| message.at > request.at) {
                let text = "a model was asked before a call of its last reply was answered";
                let own = message.map(|message| message.entry.seq);
                let events: Vec<u64> =
                    [Some(round.seq), Some(request.seq()), own].into_iter().flatten().collect();
                tally.broken(Some(id), &events, text.into());
            }
        }
    }
}

/// A, its steering messages, which belong to a turn and not to its bundle: what the user says while
/// a turn runs becomes a user message once, after all results of a round that is open and before
/// the model is asked again. Nothing is lost where the turn ends before that.
pub(super) fn steering_between_rounds(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if !index.has::<SteeringReceived>() {
        return;
    }
    let asked = Asked::of(index);
    for (text, mut steers) in asked.said.clone() {
        // The same words in another turn are another matter.
        while let Some(first) = steers.first().copied() {
            let same = |steer: &Seen<'_, SteeringReceived>| {
                steer.at == first.at || asked.turns.same(steer.at, first.at)
            };
            let (own, others) = steers.into_iter().partition(same);
            steers = others;
            steered(index, &asked, (text, own), tally);
        }
    }
}

/// All steering of one turn in the same words.
fn steered(
    index: &Index<'_>,
    asked: &Asked<'_, '_>,
    (text, steers): (Digest, Vec<Seen<'_, SteeringReceived>>),
    tally: &mut Tally,
) {
    let Some(first) = steers.first() else { return };
    let messages = index.transcript.iter().enumerate().filter(|(_, message)| {
        let user = message.message.role == "user" && message.message.text == text;
        user && message.at > first.at && asked.turns.same(message.at, first.at)
    });
    let messages: Vec<usize> = messages.map(|(place, _)| place).collect();
    for (number, steer) in steers.iter().enumerate() {
        match messages.get(number) {
            Some(place) => placed(index, asked, *steer, *place, tally),
            None => lost(index, asked, *steer, None, tally),
        }
    }
    for extra in messages.iter().skip(steers.len()) {
        let Some(extra) = index.transcript.get(*extra) else { continue };
        let message = "a steering message was appended more than once".into();
        tally.broken(None, &[first.seq(), extra.entry.seq], message);
    }
}

/// Where the message of a steering stands.
fn placed(
    index: &Index<'_>,
    asked: &Asked<'_, '_>,
    steer: Seen<'_, SteeringReceived>,
    place: usize,
    tally: &mut Tally,
) {
    let Some(message) = index.transcript.get(place) else { return };
    let request = asked.next(steer.at);
    if request.is_some_and(|request| request.at < message.at) {
        return lost(index, asked, steer, Some(message.entry.seq), tally);
    }
    tally.checked();
    let open = index.rounds().iter().filter(|round| round.before(message.at, place));
    let own = open.filter(|round| asked.turns.same(round.at, message.at));
    let results = own.flat_map(|round| round.calls).filter_map(|id| index.call(id));
    let later = results.filter_map(|call| {
        call.messages.first().filter(|result| **result > place).map(|result| (*result, call.id))
    });
    if let Some((result, id)) = later.min() {
        let result = index.transcript.get(result).map(|result| result.entry.seq);
        let events: Vec<u64> =
            [Some(steer.seq()), Some(message.entry.seq), result].into_iter().flatten().collect();
        let text = "a steering message stands between a call and its result";
        tally.broken(Some(id), &events, text.into());
    }
}

/// The model was asked again and has not heard it, if it was asked at all.
fn lost(
    index: &Index<'_>,
    asked: &Asked<'_, '_>,
    steer: Seen<'_, SteeringReceived>,
    late: Option<u64>,
    tally: &mut Tally,
) {
    let Some(request) = asked.next(steer.at) else { return };
    let between = |at: usize| at > steer.at && at < request.at;
    let mut users = index.transcript.iter().filter(|message| {
        message.message.role == "user" && !asked.said.contains_key(&message.message.text)
    });
    if late.is_none() && users.any(|message| between(message.at)) {
        let why = "a user message followed a steering, in other words than it";
        return tally.unknown(|| why.into());
    }
    tally.checked();
    let events: Vec<u64> =
        [Some(steer.seq()), Some(request.seq()), late].into_iter().flatten().collect();
    let message = "a model was asked before it was told what the user had said meanwhile";
    tally.broken(None, &events, message.into());
}

/// A, its callback that switches the model within a turn: after a switch, each request of the turn
/// goes to the model it names. That no slot is lost or asked for twice over it is
/// `one-result-per-call`'s and `results-before-request`'s.
pub(super) fn model_switch_keeps_slots(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let switches: Vec<Seen<'_, _>> = index.each::<ModelSwitched>().collect();
    if switches.is_empty() {
        return;
    }
    let turns = index.turns();
    for request in index.each::<ModelRequested>() {
        let mut before = switches.iter().rev().filter(|switch| switch.at < request.at);
        let Some(switch) = before.find(|switch| turns.same(switch.at, request.at)) else {
            continue;
        };
        tally.checked();
        if request.fact.provider != switch.fact.to {
            let message = "a model was asked that is not the one the turn had switched to";
            tally.broken(None, &[switch.seq(), request.seq()], message.into());
        }
    }
}
