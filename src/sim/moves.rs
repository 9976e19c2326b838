//! What happens next in a simulated session: one job goes on, something comes from outside, or the
//! clock moves.

use std::sync::Arc;

use super::actors::{self, Act};
use super::driver::{Flavour, Mode, Sim, Table};
use super::oracle::{End, HookSaid, PersonSaid};
use super::scene::{self, secret};
use super::seat::{Job, Seat};
use super::swarm::Kind;
use super::workload;
use crate::base::digest::Digest;
use crate::journal::Event;
use crate::runtime::dialect::Payload;
use crate::runtime::exec::{DelegateResult, Ran, Ready, Rehearsal, Rehearsed, search, simulated};
use crate::runtime::guard::{
    Answer, AnswerScope, ApprovalRequest, HookCall, HookVerdict, Point, Verdict,
};
use crate::runtime::provider::harness_fault;
use crate::runtime::resolved::CompiledView;
use crate::runtime::turn::Ticket;
use crate::runtime::turn::machine::Input;
use crate::runtime::view::Block;
use crate::tool::id::ToolId;

impl Sim<'_> {
    /// The next input and whose it is, by choice; `None` when nothing can ever happen again.
    pub(super) fn next(&mut self) -> Option<(usize, Input)> {
        self.table.world.pass(1);
        if self.visited.is_some() {
            let (state, path) = (self.state(), self.table.choices.path());
            if let Some(visited) = &mut self.visited
                && visited.knows(state, path)
            {
                visited.pruned += 1;
                self.left = true;
                return None;
            }
        }
        loop {
            if let Some(outside) = self.outside() {
                return Some((0, outside));
            }
            let seats = self.seats.iter().enumerate();
            let awake: Vec<(usize, usize)> =
                seats.flat_map(|(at, seat)| seat.awake().map(move |job| (at, job))).collect();
            if awake.is_empty() {
                return self.elapse();
            }
            let (at, job) = awake[self.table.choices.pick(awake.len())];
            if let Some(input) = self.seats[at].go_on(job, &mut self.table) {
                return Some((at, input));
            }
        }
    }

    /// The clock moves to the next time that anybody waits for.
    fn elapse(&mut self) -> Option<(usize, Input)> {
        let first = self.seats.iter().flat_map(|seat| &seat.wakes).copied().min()?;
        let waits = |seat: &Seat| seat.wakes.contains(&first);
        let seats: Vec<usize> =
            (0..self.seats.len()).filter(|at| waits(&self.seats[*at])).collect();
        let at = seats[self.table.choices.pick(seats.len())];
        self.seats[at].wakes.retain(|wake| *wake != first);
        self.table.world.move_to(first);
        Some((at, Input::Elapsed))
    }

    /// What comes from outside, to the user's session: a cancellation, a word, another model, a
    /// grant taken back, a tool blocked.
    fn outside(&mut self) -> Option<Input> {
        let (own, table) = (&mut self.seats[0], &mut self.table);
        let (swarm, choices) = (&mut table.swarm, &mut *table.choices);
        if let Mode::Flavours(_) = table.mode {
            if !own.cancelled && swarm.has(Kind::Cancels) && choices.pick(2) == 1 {
                own.cancelled = true;
                return Some(Input::Cancel("the user".to_owned()));
            }
            return None;
        }
        if !own.cancelled && swarm.strikes(Kind::Cancels, 16, choices) {
            own.cancelled = true;
            return Some(Input::Cancel(format!("the user, {}", secret().expose())));
        }
        if swarm.strikes(Kind::Steers, 20, choices) {
            return Some(Input::Steered(format!("and {} too", secret().expose())));
        }
        if swarm.strikes(Kind::Switches, 20, choices) {
            return Some(Input::Switched(["sim", "other"][choices.pick(2)].into()));
        }
        if swarm.has(Kind::Revokes)
            && let Some(id) = own.grants.ids().next().map(str::to_owned)
            && swarm.strikes(Kind::Revokes, 2, choices)
        {
            return Some(Input::Revoked(id, "the operator".to_owned()));
        }
        if table.swarm.has(Kind::Blocks) {
            return self.block();
        }
        None
    }

    /// A tool is blocked that somebody has just called.
    fn block(&mut self) -> Option<Input> {
        let called: Vec<&str> =
            self.seats.iter().flat_map(|seat| &seat.pending).map(|meant| meant.tool).collect();
        let (swarm, choices) = (&mut self.table.swarm, &mut *self.table.choices);
        if called.is_empty() || !swarm.strikes(Kind::Blocks, 8, choices) {
            return None;
        }
        let tool = ToolId::parse(called[choices.pick(called.len())])?;
        let reason = format!("it said {}", secret().expose());
        Some(Input::Blocked(Block { tool, reason, by: "the operator".to_owned() }))
    }
}

impl Seat {
    /// One job goes on; `None` when it falls asleep instead.
    fn go_on(&mut self, place: usize, table: &mut Table<'_>) -> Option<Input> {
        match self.jobs.swap_remove(place) {
            Job::Begin(first) => Some(*first),
            Job::Stop(cause) => {
                self.cancelled = true;
                Some(Input::Cancel(cause))
            }
            Job::Block(block) => Some(Input::Blocked(block)),
            Job::Ask(payload) => Some(self.reply(&payload, table)),
            Job::Hook(ticket, call) => Some(self.hook(ticket, &call, table)),
            Job::Inspect(ticket) => Some(self.inspect(ticket, table)),
            Job::Rehearse(ticket, planned) => Some(self.rehearse(ticket, &planned, table)),
            Job::Prompt(request, times) => self.answer(request, times, table),
            Job::Run(ticket, ready, view, _) => self.run(ticket, ready, view, table),
            Job::Torn(ticket, ready, cancelled) => {
                Some(self.torn(ticket, &ready, cancelled, table))
            }
            Job::Late(ticket, ran) => Some(Input::Finished(ticket, *ran)),
            Job::Back(ticket, result, end) => Some(self.returned(ticket, result, end)),
        }
    }

    fn returned(&mut self, ticket: Ticket, result: Box<DelegateResult>, end: End) -> Input {
        if let Some(told) = self.told.get_mut(&ticket.call) {
            told.end = Some(end);
        }
        Input::Delegated(ticket, result)
    }

    fn reply(&mut self, payload: &Payload, table: &mut Table<'_>) -> Input {
        self.round += 1;
        self.asked.append(&mut self.pending);
        let (reply, meant) = match &table.mode {
            Mode::Chance => workload::reply(
                &mut table.swarm,
                (self.round, self.under.is_some()),
                &self.asked,
                table.choices,
            ),
            Mode::Flavours(flavours) => super::explore::reply(flavours, self.round),
            Mode::Script(script) => script.reply(self.round),
        };
        let reply = reply.and_then(|reply| payload.spell(reply).map_err(harness_fault));
        self.pending = meant;
        if table.swarm.strikes(Kind::RepliesLate, 6, table.choices) {
            table.world.pass(30_000);
        }
        Input::Replied(reply)
    }

    /// The second look may find another file than the first.
    fn inspect(&mut self, ticket: Ticket, table: &mut Table<'_>) -> Input {
        if let Mode::Script(_) = table.mode {
            // A script has no files.
            return Input::Inspected(ticket, None);
        }
        let again = ticket.attempt == 1;
        let changed = again && table.swarm.strikes(Kind::OperandChanges, 2, table.choices);
        if changed && let Some(told) = self.told.get_mut(&ticket.call) {
            told.changed = true;
        }
        let word: &[u8] = if changed { b"other" } else { b"same" };
        Input::Inspected(ticket, Some(Digest::of("operand", word)))
    }

    /// The second rehearsal may find something else than the first.
    fn rehearse(&mut self, ticket: Ticket, planned: &Rehearsal, table: &mut Table<'_>) -> Input {
        let again = ticket.attempt == 1 && !matches!(table.mode, Mode::Script(_));
        let changed = again && table.swarm.strikes(Kind::OperandChanges, 2, table.choices);
        if changed && let Some(told) = self.told.get_mut(&ticket.call) {
            told.changed = true;
        }
        let more = if changed { ", and more" } else { "" };
        let text = format!("{}{more}", planned.words());
        Input::Rehearsed(ticket, Rehearsed { text, lines: None })
    }

    /// A verifier did not pass what a call gave.
    pub(super) fn refuse(&mut self, ticket: &Ticket) {
        if let Some(told) = self.told.get_mut(&ticket.call) {
            told.end = told.end.map(|_| End::Bad);
        }
    }

    fn hook(&mut self, ticket: Ticket, call: &HookCall, table: &mut Table<'_>) -> Input {
        if call.point == Point::Verify {
            if !table.swarm.strikes(Kind::VerifierRefuses, 3, table.choices) {
                return Input::Hooked(ticket, HookVerdict::Pass);
            }
            self.refuse(&ticket);
            let reason = format!("it does not like {}", secret().expose());
            let failed = HookVerdict::Failed { why: reason.clone() };
            let cancels = table.choices.pick(2) == 0;
            let verdict = if cancels { HookVerdict::Cancel { reason } } else { failed };
            return Input::Hooked(ticket, verdict);
        }
        if call.point != Point::BeforeCall {
            let fails = table.swarm.strikes(Kind::WatcherFails, 4, table.choices);
            let why = "the watcher looked away".to_owned();
            let verdict = if fails { HookVerdict::Failed { why } } else { HookVerdict::Pass };
            return Input::Hooked(ticket, verdict);
        }
        let (verdict, name, args) = actors::hook(&call.hook, &mut table.swarm, table.choices);
        let guards = call.hook != "watcher";
        if guards && let Some(told) = self.told.get_mut(&ticket.call) {
            if matches!(verdict, HookVerdict::Cancel { .. } | HookVerdict::Failed { .. }) {
                told.hook = HookSaid::Stop;
            }
            // A rewriting may make a call the same as any other.
            told.seen_before |= name.is_some() || args.is_some();
        }
        if guards && let Some(meant) = self.meant.get_mut(&ticket.call) {
            meant.tool = name.unwrap_or(meant.tool);
            meant.args = args.unwrap_or(meant.args);
            let meant = *meant;
            let (class, limited) = (self.class(meant, &table.swarm), self.is_limited(meant));
            let (blocked, agreed) = (self.has_lost(meant.tool), self.is_agreed(meant.tool));
            if let Some(told) = self.told.get_mut(&ticket.call) {
                (told.class, told.budget, told.blocked) = (class, limited, blocked);
                told.granted |= agreed;
            }
        }
        if matches!(verdict, HookVerdict::Rewrite { .. }) && guards {
            self.rewritten = true;
            self.told.values_mut().for_each(|told| told.seen_before = true);
        }
        Input::Hooked(ticket, verdict)
    }

    fn answer(
        &mut self,
        request: Box<ApprovalRequest>,
        times: u8,
        table: &mut Table<'_>,
    ) -> Option<Input> {
        let call = self.call_of(&request);
        if let Mode::Flavours(flavours) = &table.mode {
            let yes = self.flavour(call.as_ref(), flavours).is_none_or(|f| f.person == Some(true));
            let said = if yes { PersonSaid::StrongYes } else { PersonSaid::No };
            self.note(call.as_ref(), said);
            let scope = AnswerScope::Once;
            let no = Verdict::No { reason: "no".to_owned() };
            let verdict = if yes { Verdict::Yes { strong: true, scope } } else { no };
            return Some(addressed(&request.id, verdict));
        }
        if let Mode::Script(script) = &table.mode {
            return Some(addressed(&request.id, script.answer(&request.tool)));
        }
        if table.swarm.has(Kind::NonInteractive) {
            table.swarm.note(Kind::NonInteractive);
            self.note(call.as_ref(), PersonSaid::Nothing);
            return Some(addressed(&request.id, Verdict::Unreachable));
        }
        if table.swarm.strikes(Kind::SaysNothing, 5, table.choices) {
            self.jobs.push(Job::Prompt(request, 9));
            return None;
        }
        if table.swarm.strikes(Kind::SaysElsewhere, 4, table.choices) {
            let (verdict, _) = actors::person(request.strong, &mut table.swarm, table.choices);
            self.jobs.push(Job::Prompt(request, times));
            return Some(addressed("apr_nobody", verdict));
        }
        let (verdict, mut said) = actors::person(request.strong, &mut table.swarm, table.choices);
        if table.swarm.strikes(Kind::SaysLate, 5, table.choices) {
            table.world.move_to(request.expires_at + 1);
        }
        if table.world.time() > request.expires_at && said != PersonSaid::No {
            said = PersonSaid::Nothing;
        }
        if times == 0 {
            self.note(call.as_ref(), said);
        }
        let id = request.id.clone();
        if times == 0 && table.swarm.strikes(Kind::SaysTwice, 3, table.choices) {
            self.jobs.push(Job::Prompt(request, 1));
        }
        Some(addressed(&id, verdict))
    }

    fn note(&mut self, call: Option<&Arc<str>>, said: PersonSaid) {
        if let Some(told) = call.and_then(|call| self.told.get_mut(call)) {
            told.person.get_or_insert(said);
        }
    }

    fn call_of(&self, request: &ApprovalRequest) -> Option<Arc<str>> {
        let mut entries = self.log.journal.entries().iter().rev();
        let asked = entries.find(|entry| {
            matches!(&entry.event, Event::ApprovalRequested(f) if f.approval_id == request.id)
        });
        asked.and_then(|entry| entry.call.clone())
    }

    fn flavour(&self, call: Option<&Arc<str>>, flavours: &[Flavour]) -> Option<Flavour> {
        let mut order = self.told.keys();
        order.position(|one| Some(one) == call).and_then(|place| flavours.get(place).copied())
    }

    fn run(
        &mut self,
        ticket: Ticket,
        ready: Arc<Ready>,
        view: Arc<CompiledView>,
        table: &mut Table<'_>,
    ) -> Option<Input> {
        if let Some(found) = search::call(&ready, &view.view.waiting, || view.index()) {
            return Some(self.ended(ticket, found, End::Good));
        }
        let name = ready.permitted().validated().resolved().tool().id().as_str().to_owned();
        let act = match &table.mode {
            Mode::Flavours(flavours) => {
                super::explore::act(flavours.get(ticket.slot).copied(), &name)
            }
            Mode::Script(_) => {
                let ran = simulated::said(&ready, &self.resolved.broker);
                return Some(Input::Finished(ticket, ran));
            }
            Mode::Chance => match scene::find(&name) {
                Some(tool) => actors::tool(tool, &mut table.swarm, table.choices),
                None => return None,
            },
        };
        match act {
            Act::Hangs => {
                self.jobs.push(Job::Run(ticket, ready, view, true));
                None
            }
            Act::Ends(ran, end) => {
                if table.swarm.strikes(Kind::ToolTwice, 4, table.choices) {
                    self.jobs.push(Job::Late(ticket.clone(), Box::new(ran.clone())));
                }
                Some(self.ended(ticket, ran, end))
            }
        }
    }

    fn ended(&mut self, ticket: Ticket, ran: Ran, end: End) -> Input {
        if let Some(told) = self.told.get_mut(&ticket.call) {
            told.end = Some(end);
        }
        Input::Finished(ticket, ran)
    }

    fn torn(
        &mut self,
        ticket: Ticket,
        ready: &Arc<Ready>,
        cancelled: bool,
        table: &mut Table<'_>,
    ) -> Input {
        let faster = match table.mode {
            Mode::Chance => table.swarm.strikes(Kind::ToolFaster, 2, table.choices),
            Mode::Flavours(_) | Mode::Script(_) => table.choices.pick(2) == 1,
        };
        if faster {
            let tool = ready.permitted().validated().resolved().tool();
            let name = tool.id().as_str();
            // No verifier looks any more, and what none has seen has not passed.
            let over = cancelled || self.is_cancelled();
            let unseen = over && !tool.descriptor.hooks.verifier.is_empty();
            let end = if unseen { End::Bad } else { End::Good };
            let ran = Ran::ok(format!("{name} was faster"), super::explore::seen());
            let structured = (name == "order.show").then(|| serde_json::json!({"total": 1}));
            return self.ended(ticket, Ran { structured, ..ran }, end);
        }
        if let Some(told) = self.told.get_mut(&ticket.call) {
            told.end = Some(if cancelled { End::Torn } else { End::Bad });
        }
        Input::TornDown(ticket, "killed".to_owned())
    }
}

fn addressed(id: &str, verdict: Verdict) -> Input {
    let (approval_id, decider) = (id.to_owned(), "ann".to_owned());
    Input::Answered(Answer { approval_id, verdict, decider }, "scripted")
}
