//! Delegates: sessions under a call of another session, moved by the same choices.

use super::driver::Sim;
use super::oracle::End;
use super::seat::{Job, Seat};
use super::swarm::Kind;
use crate::journal::Journal;
use crate::runtime::exec::DelegateRequest;
use crate::runtime::turn::Ticket;
use crate::runtime::turn::delegate::{
    Ended, INGRESS, PARENT_GONE, Spending, beginning, bundle, refusal, result,
};
use crate::runtime::turn::machine::TurnEnd;
use crate::runtime::view::Block;

/// What a delegate's session stands under.
pub(super) struct Under {
    /// The place of the session that delegates.
    above: usize,
    /// Its call.
    ticket: Ticket,
    request: DelegateRequest,
    pub(super) spending: Spending,
    /// How deep it stands.
    depth: u32,
    /// What its end means once it was torn down.
    torn: Option<End>,
    over: bool,
}

impl Sim<'_> {
    /// A call delegates: a session of its own begins, or is refused.
    pub(super) fn delegate(&mut self, above: usize, ticket: Ticket, request: DelegateRequest) {
        let parent = &mut self.seats[above];
        if let Some(told) = parent.told.get_mut(&ticket.call) {
            told.started = true;
        }
        let depth = parent.under.as_ref().map_or(0, |under| under.depth);
        if let Some(refused) = refusal(&request, (depth, true)) {
            return parent.jobs.push(Job::Back(ticket, Box::new(refused), End::Bad));
        }
        let bundle = bundle(&parent.resolved, &request);
        let (turn, first) = beginning(&request, &bundle);
        // What its caller's searches had found before it was called is found.
        let found = parent.activated.iter().filter(|(_, round)| **round < parent.round);
        let found = found.map(|(tool, _)| (tool.clone(), 0)).collect();
        // What its caller had lost before it began itself is lost as well.
        let mut hidden = parent.hidden.clone();
        hidden.extend(request.blocks.iter().cloned());
        let table = &mut self.table;
        let id = request.child.clone();
        let mut seat = Seat::new(id, bundle, &table.swarm, &mut table.world);
        (seat.turn, seat.activated, seat.hidden) = (turn, found, hidden);
        let surfaces = table.surfaces.as_ref();
        seat.renderer = surfaces.map(|to| to.renderer(INGRESS, &request.agent, &table.secrets));
        seat.jobs.push(Job::Begin(Box::new(first)));
        let spending = Spending::new(&request);
        let depth = depth + 1;
        seat.under =
            Some(Under { above, ticket, request, spending, depth, torn: None, over: false });
        self.seats.push(seat);
    }

    /// The delegates of a session that are not over.
    pub(super) fn delegates_of(&self, above: usize) -> impl Iterator<Item = &Under> {
        let all = self.seats.iter().filter_map(|seat| seat.under.as_ref());
        all.filter(move |under| under.above == above && !under.over)
    }

    /// The call of a delegate is torn down: its turn must end, and only then is the call over.
    /// `cancelled`: not because the call took too long.
    pub(super) fn abandon(&mut self, above: usize, ticket: &Ticket, cancelled: bool) {
        for seat in &mut self.seats {
            let own = seat.under.as_mut();
            let own = own.filter(|one| one.above == above && one.ticket == *ticket && !one.over);
            if let Some(under) = own {
                under.torn = Some(if cancelled { End::Torn } else { End::Bad });
                seat.jobs.push(Job::Stop(PARENT_GONE.to_owned()));
            }
        }
    }

    /// What its caller has lost a delegate loses too, before anything else of it goes on.
    pub(super) fn pass_on(&mut self, above: usize, ticket: &Ticket, block: &Block) {
        for seat in &mut self.seats {
            let own = seat.under.as_ref();
            if own.is_some_and(|one| one.above == above && one.ticket == *ticket && !one.over) {
                seat.jobs.push(Job::Block(block.clone()));
            }
        }
    }

    /// A delegate's turn is over: what it gives back is on its way.
    pub(super) fn back(&mut self, place: usize, end: TurnEnd) {
        let Some(under) = self.seats[place].under.as_mut() else { return };
        under.over = true;
        let must = match (&end, under.torn) {
            (TurnEnd::FinalText, _) => End::Good,
            (TurnEnd::Cancelled(_), Some(torn)) => torn,
            _ => End::Bad,
        };
        let ended = Ended {
            end: Ok(end),
            stopped: under.torn.is_some(),
            overspent: under.spending.is_over(),
        };
        let (above, ticket) = (under.above, under.ticket.clone());
        let Some(under) = &self.seats[place].under else { return };
        let result =
            result(&under.request, ended, (&self.records(place), &self.seats[place].transcript));
        let (swarm, choices) = (&mut self.table.swarm, &mut *self.table.choices);
        let again = swarm.strikes(Kind::ToolTwice, 4, choices);
        let parent = &mut self.seats[above];
        if again {
            parent.jobs.push(Job::Back(ticket.clone(), Box::new(result.clone()), must));
        }
        parent.jobs.push(Job::Back(ticket, Box::new(result), must));
    }

    /// The records of a delegate and of those below it, its own the last.
    fn records(&self, place: usize) -> Vec<Journal> {
        let below = |seat: &Seat| seat.under.as_ref().is_some_and(|under| under.above == place);
        let places = (0..self.seats.len()).filter(|other| below(&self.seats[*other]));
        let mut all: Vec<Journal> = places.flat_map(|other| self.records(other)).collect();
        all.push(self.seats[place].log.journal.clone());
        all
    }
}
