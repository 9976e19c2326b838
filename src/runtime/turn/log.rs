//! Appending facts: who, when, and which fact led to which.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::world::World;
use crate::journal::{Entry, Event, Journal};

/// Writes a session's journal. Facts about a call are caused by that call's fact before; facts
/// about the turn by the turn's.
pub struct Log {
    /// The journal.
    pub journal: Journal,
    session: Arc<str>,
    turn: Option<Arc<str>>,
    last: Option<u64>,
    calls: BTreeMap<Arc<str>, u64>,
}

impl Log {
    /// An empty journal of one session.
    pub fn new(session: Arc<str>) -> Self {
        Self { journal: Journal::new(), session, turn: None, last: None, calls: BTreeMap::new() }
    }

    /// Goes on with a journal that was written before. Its facts belong to no turn until one is
    /// reopened.
    pub fn resumed(session: Arc<str>, journal: Journal) -> Self {
        let last = journal.entries().iter().rev().find(|entry| entry.call.is_none());
        let last = last.map(|entry| entry.seq);
        Self { last, journal, ..Self::new(session) }
    }

    /// Facts belong from here on to a turn that was open, and to its calls.
    pub fn reopen(&mut self, turn: Arc<str>) {
        let entries = self.journal.entries().iter();
        let own = entries.filter(|entry| entry.turn.as_ref() == Some(&turn));
        self.calls =
            own.filter_map(|one| Some((Arc::clone(one.call.as_ref()?), one.seq))).collect();
        self.turn = Some(turn);
    }

    /// The session's id.
    pub fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// The turn's id, inside one.
    pub fn turn(&self) -> Option<&Arc<str>> {
        self.turn.as_ref()
    }

    /// Facts belong to this turn from here on.
    pub fn set_turn(&mut self, turn: Option<Arc<str>>) {
        self.turn = turn;
        self.calls.clear();
    }

    /// Appends a fact about the session or the turn.
    pub fn fact(&mut self, world: &mut dyn World, event: impl Into<Event>) -> u64 {
        let entry = self.entry(world, None, self.last, event.into());
        let seq = self.journal.append(entry);
        self.last = Some(seq);
        seq
    }

    /// Appends a fact about a call.
    pub fn call(&mut self, world: &mut dyn World, call: &Arc<str>, event: impl Into<Event>) -> u64 {
        let cause = self.calls.get(call).copied().or(self.last);
        let entry = self.entry(world, Some(Arc::clone(call)), cause, event.into());
        let seq = self.journal.append(entry);
        self.calls.insert(Arc::clone(call), seq);
        seq
    }

    fn entry(
        &self,
        world: &mut dyn World,
        call: Option<Arc<str>>,
        cause: Option<u64>,
        event: Event,
    ) -> Entry {
        Entry {
            seq: 0,
            session: Arc::clone(&self.session),
            turn: self.turn.clone(),
            call,
            cause,
            at: world.now(),
            event,
        }
    }
}
