//! Where turns, rounds of calls and running calls begin and end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::index::{Call, Index, Seen};
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;

/// The turn of each entry: the one it names; where the session names none, the one that was
/// opened last.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of each entry's turn.
    of: Vec<u32>,
    /// The entries' places, by turn.
    places: Vec<u32>,
    /// Where in `places` each turn begins; one more than there are turns.
    begins: Vec<u32>,
}

/// In no turn.
const NONE: u32 = u32::MAX;

impl Turns {
    /// The turns of a session.
    pub(super) fn of(index: &Index<'_>) -> Self {
        let named = index.entries.iter().any(|entry| entry.turn.is_some());
        let (of, count) = if named { named_turns(index) } else { opened_turns(index) };
        let mut begins = vec![0; count as usize + 1];
        for turn in of.iter().filter(|turn| **turn != NONE) {
            begins[*turn as usize + 1] += 1;
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        let (mut free, mut places) = (begins.clone(), vec![0; sum as usize]);
        for (at, turn) in (0..).zip(&of).filter(|(_, turn)| **turn != NONE) {
            let next = &mut free[*turn as usize];
            places[*next as usize] = at;
            *next += 1;
        }
        Self { of, places, begins }
    }

    /// Whether two entries stand in one turn. What stands in none is with nothing else.
    pub(super) fn same(&self, one: usize, other: usize) -> bool {
        let turn = self.turn(one);
        turn != NONE && turn == self.turn(other)
    }

    /// The places of all entries that stand in the turn of this one, in order.
    pub(super) fn places(&self, at: usize) -> impl Iterator<Item = usize> {
        let begin = |turn: u32| self.begins.get(turn as usize).map_or(0, |begin| *begin as usize);
        let turn = self.turn(at);
        let range = if turn == NONE { 0..0 } else { begin(turn)..begin(turn + 1) };
        self.places.get(range).unwrap_or_default().iter().map(|at| *at as usize)
    }

    fn turn(&self, at: usize) -> u32 {
        self.of.get(at).copied().unwrap_or(NONE)
    }
}

fn named_turns(index: &Index<'_>) -> (Vec<u32>, u32) {
    let mut names: BTreeMap<&str, u32> = BTreeMap::new();
    let mut last: Option<(&Arc<str>, u32)> = None;
    let mut turns = Vec::with_capacity(index.entries.len());
    let mut count = 0;
    for entry in &index.entries {
        turns.push(match (&entry.turn, last) {
            (None, _) => NONE,
            (Some(name), Some((same, turn))) if Arc::ptr_eq(name, same) => turn,
            (Some(name), _) => {
                let turn = *names.entry(name).or_insert(count);
                count = count.max(turn + 1);
                last = Some((name, turn));
                turn
            }
        });
    }
    (turns, count)
}

/// A prompt or a start opens a turn, and so does whatever asks again after an end.
fn opened_turns(index: &Index<'_>) -> (Vec<u32>, u32) {
    let (mut turn, mut fresh, mut ended) = (0, false, false);
    let mut turns = Vec::with_capacity(index.entries.len());
    for entry in &index.entries {
        let opens = matches!(entry.event, Event::UserPromptSubmitted(_) | Event::TurnStarted(_));
        let asks = matches!(entry.event, Event::ModelRequested(_) | Event::ToolCallRequested(_));
        if (opens && !fresh) || (asks && ended) {
            turn += 1;
            ended = false;
        }
        fresh = opens;
        ended |= matches!(entry.event, Event::TurnFinished(_));
        turns.push(turn);
    }
    (turns, turn + 1)
}

/// The calls of one reply: the slots of a batch, or what an assistant message makes where no
/// batch is recorded.
pub(super) struct Round<'a> {
    /// The place of its entry.
    pub(super) at: usize,
    /// The number of its entry.
    pub(super) seq: u64,
    /// Its calls' ids, in the model's order.
    pub(super) calls: &'a [String],
    /// Its place in the transcript, where a message is all that is recorded of it.
    place: Option<usize>,
}

impl Round<'_> {
    /// Whether it was opened before a message of the transcript, whose entry stands at `at`.
    pub(super) fn before(&self, at: usize, message: usize) -> bool {
        self.place.map_or(self.at < at, |place| place < message)
    }
}

/// The rounds of a session, by place.
pub(super) fn rounds<'a>(index: &Index<'a>) -> Vec<Round<'a>> {
    let mut covered = BTreeSet::new();
    let mut rounds = Vec::new();
    for batch in index.each::<BatchOpened>() {
        covered.extend(batch.fact.slots.iter().map(String::as_str));
        let calls = &batch.fact.slots;
        rounds.push(Round { at: batch.at, seq: batch.seq(), calls, place: None });
    }
    for (place, made) in index.transcript.iter().enumerate() {
        let calls = &made.message.calls;
        if calls.first().is_some_and(|first| !covered.contains(first.as_str())) {
            let place = Some(place);
            rounds.push(Round { at: made.at, seq: made.entry.seq, calls, place });
        }
    }
    rounds.sort_by_key(|round| round.at);
    rounds
}

/// The time in which a call ran: from its first start to its finish, its teardown or its settling,
/// whichever came first. Waiting for another attempt is part of it.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    /// The call's id.
    pub(super) id: &'a str,
    /// Its first start.
    pub(super) start: Seen<'a, ToolCallStarted>,
    /// The place where it ended.
    pub(super) end: usize,
}

impl Span<'_> {
    /// Whether another call started while this one ran.
    pub(super) fn covers(&self, other: &Span<'_>) -> bool {
        self.start.at < other.start.at && other.start.at < self.end
    }
}

/// When a call ran, if it did.
pub(super) fn span<'a>(call: &Call<'a>) -> Option<Span<'a>> {
    let start = call.first::<ToolCallStarted>()?;
    let after = |at: &usize| *at > start.at;
    let ends = [
        call.each::<ToolCallFinished>().map(|seen| seen.at).find(after),
        call.each::<TornDown>().map(|seen| seen.at).find(after),
        call.each::<ToolCallSettled>().map(|seen| seen.at).find(after),
    ];
    let end = ends.into_iter().flatten().min().unwrap_or(usize::MAX);
    Some(Span { id: call.id, start, end })
}

/// Whether a call ended in a way that says it never started.
pub(super) fn refused(call: &Call<'_>) -> bool {
    call.first::<ToolCallSettled>().is_some_and(|settled| !settled.fact.outcome.started())
}

/// Whether an outcome closes a call that had no end of its own.
pub(super) fn closes(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Interrupted | Outcome::Cancelled { .. })
}
