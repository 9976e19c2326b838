//! One session at the table: the user's, or a delegate's. It holds the machine, what is under way
//! for it, and what the reference model must know of its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::below::Under;
use super::driver::Table;
use super::oracle::{End, HookSaid, PersonSaid, Told};
use super::scene::{self, COSTLY, Class, DELEGATING, HANDED, SEARCH, SERVED};
use super::swarm::{Kind, Swarm};
use super::workload::Meant;
use super::world::SimWorld;
use crate::base::world::Millis;
use crate::journal::{Event, Outcome};
use crate::runtime::dialect::{Payload, Transcript};
use crate::runtime::exec::{DelegateResult, Ran, Ready, Rehearsal};
use crate::runtime::guard::{ApprovalRequest, Grants, HookCall};
use crate::runtime::resolved::{CompiledView, Resolved};
use crate::runtime::surface::Renderer;
use crate::runtime::turn::driver::{Shown, show};
use crate::runtime::turn::log::Log;
use crate::runtime::turn::machine::{Effect, Input, Lent};
use crate::runtime::turn::{Ticket, Turn};
use crate::runtime::view::{Block, Blocks};
use crate::tool::id::ToolId;

/// What is under way.
pub(super) enum Job {
    /// A delegate's turn begins, before anything else of it.
    Begin(Box<Input>),
    /// A delegate must end, before anything else of it goes on.
    Stop(String),
    /// A delegate hears that a tool was blocked, before anything else of it goes on.
    Block(Block),
    Ask(Payload),
    Hook(Ticket, Box<HookCall>),
    Inspect(Ticket),
    Rehearse(Ticket, Box<Rehearsal>),
    Prompt(Box<ApprovalRequest>, u8),
    Run(Ticket, Arc<Ready>, Arc<CompiledView>, bool),
    Torn(Ticket, Arc<Ready>, bool),
    Late(Ticket, Box<Ran>),
    /// A delegate is back; what that must mean.
    Back(Ticket, Box<DelegateResult>, End),
}

impl Job {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Begin(_) => "begin".to_owned(),
            Self::Stop(_) => "stop".to_owned(),
            Self::Block(block) => format!("block {}", block.tool),
            Self::Ask(_) => "ask".to_owned(),
            Self::Hook(ticket, _) => format!("hook {}", ticket.slot),
            Self::Inspect(ticket) => format!("inspect {}", ticket.slot),
            Self::Rehearse(ticket, _) => format!("rehearse {}", ticket.slot),
            Self::Prompt(request, times) => format!("prompt {} {times}", request.tool),
            Self::Run(ticket, _, _, asleep) => format!("run {} {asleep}", ticket.slot),
            Self::Torn(ticket, _, cancelled) => format!("torn {} {cancelled}", ticket.slot),
            Self::Late(ticket, _) => format!("late {}", ticket.slot),
            Self::Back(ticket, ..) => format!("back {}", ticket.slot),
        }
    }

    /// Whether it waits for the clock.
    fn is_idle(&self) -> bool {
        matches!(self, Self::Run(_, _, _, true) | Self::Prompt(_, 9))
    }

    /// Whether nothing else of its session goes on before it.
    fn is_urgent(&self) -> bool {
        matches!(self, Self::Begin(_) | Self::Stop(_) | Self::Block(_))
    }
}

/// One session.
pub(super) struct Seat {
    pub(super) resolved: Resolved,
    pub(super) turn: Turn,
    pub(super) log: Log,
    pub(super) transcript: Transcript,
    pub(super) failures: BTreeMap<ToolId, u32>,
    pub(super) grants: Grants,
    pub(super) blocks: Blocks,
    /// What no request shows any more, and what was blocked, as somebody outside knows it.
    pub(super) hidden: Blocks,
    lost: Blocks,
    /// Whether somebody agreed to the server that is called.
    agreed: bool,
    pub(super) jobs: Vec<Job>,
    pub(super) wakes: Vec<Millis>,
    pub(super) told: BTreeMap<Arc<str>, Told>,
    pub(super) meant: BTreeMap<Arc<str>, Meant>,
    pub(super) asked: Vec<Meant>,
    pub(super) pending: Vec<Meant>,
    pub(super) round: u32,
    pub(super) cancelled: bool,
    pub(super) rewritten: bool,
    pub(super) activated: BTreeMap<String, u32>,
    pub(super) renderer: Option<Renderer>,
    /// What it is a delegate of, if it is one.
    pub(super) under: Option<Under>,
    /// How many entries were looked at.
    read: usize,
}

impl Seat {
    /// A session that was opened and in which nothing was said yet.
    pub(super) fn new(
        id: Arc<str>,
        resolved: Resolved,
        swarm: &Swarm,
        world: &mut SimWorld,
    ) -> Self {
        let mut log = Log::new(id);
        let nobody = swarm.has(Kind::NonInteractive);
        let channel = if nobody { "none" } else { "scripted" };
        crate::runtime::session::opening(&mut log, world, &resolved, channel);
        let read = log.journal.entries().len();
        Self {
            resolved,
            turn: Turn::default(),
            log,
            transcript: Transcript::new(),
            failures: BTreeMap::new(),
            grants: Grants::default(),
            blocks: Blocks::default(),
            hidden: Blocks::default(),
            lost: Blocks::default(),
            agreed: false,
            jobs: Vec::new(),
            wakes: Vec::new(),
            told: BTreeMap::new(),
            meant: BTreeMap::new(),
            asked: Vec::new(),
            pending: Vec::new(),
            round: 0,
            cancelled: false,
            rewritten: false,
            activated: BTreeMap::new(),
            renderer: None,
            under: None,
            read,
        }
    }

    /// Another turn of the same session.
    pub(super) fn fresh(&mut self) {
        self.turn = Turn::default();
        (self.round, self.cancelled, self.rewritten) = (0, false, false);
        self.asked.clear();
        self.activated.clear();
        self.rest();
    }

    /// Nothing is under way any more.
    pub(super) fn rest(&mut self) {
        self.jobs.clear();
        self.wakes.clear();
    }

    /// How many of its calls were started.
    pub(super) fn started(&self) -> usize {
        self.told.values().filter(|told| told.started).count()
    }

    /// One input, with everything that follows from it at once.
    pub(super) fn step(&mut self, input: Input, table: &mut Table<'_>) -> Vec<Effect> {
        if let Input::Blocked(block) = &input {
            // What the same step asks with does not show it any more.
            self.lose(block.tool.clone());
        }
        let mut lent = Lent {
            resolved: &self.resolved,
            steps: table.steps,
            secrets: &table.secrets,
            world: &mut table.world,
            log: &mut self.log,
            transcript: &mut self.transcript,
            failures: &mut self.failures,
            grants: &mut self.grants,
            blocks: &mut self.blocks,
        };
        let effects = self.turn.step(input, &mut lent);
        if let (Some(renderer), Some(surfaces)) = (&mut self.renderer, &table.surfaces) {
            let mut shown = Shown { sinks: &surfaces.sinks, renderer };
            show(&mut shown, self.read, &mut lent);
        }
        self.learn(&table.swarm);
        effects
    }

    /// The places of the jobs that can go on now.
    pub(super) fn awake(&self) -> impl Iterator<Item = usize> {
        let urgent = self.jobs.iter().position(Job::is_urgent);
        let all = self.jobs.iter().enumerate();
        all.filter(move |(place, job)| match urgent {
            Some(first) => *place == first,
            None => !job.is_idle(),
        })
        .map(|(place, _)| place)
    }

    /// A tool was blocked: what has not started must not start.
    fn lose(&mut self, tool: ToolId) {
        for (call, told) in &mut self.told {
            let own = self.meant.get(call).is_some_and(|meant| meant.tool == tool.as_str());
            told.blocked |= own && !told.started;
        }
        self.lost.add(tool);
    }

    /// Whether a tool is of a server that somebody agreed to.
    pub(super) fn is_agreed(&self, tool: &str) -> bool {
        tool == SERVED && self.agreed
    }

    /// Whether a tool was blocked.
    pub(super) fn has_lost(&self, tool: &str) -> bool {
        ToolId::parse(tool).is_some_and(|id| self.lost.holds(&id))
    }

    /// Whether a tool was blocked before the present request.
    fn is_hidden(&self, tool: &str) -> bool {
        ToolId::parse(tool).is_some_and(|id| self.hidden.holds(&id))
    }

    /// What a call must come to: a tool that waits can be called once an earlier reply's search
    /// found it, and a delegate has what it was handed.
    pub(super) fn class(&self, meant: Meant, swarm: &Swarm) -> Class {
        let none_waits = meant.tool == SEARCH && self.is_hidden("cellar.read");
        let handed = self.under.is_none() || HANDED.contains(&meant.tool);
        if !handed || none_waits || self.is_hidden(meant.tool) {
            return Class::Unavailable;
        }
        let found = self.has_found("cellar.read");
        let class = scene::class(meant.tool, meant.args, found);
        let writes = meant.tool == "note.write" || meant.tool == "page.write";
        // What goes beyond the intent is asked.
        let beyond = swarm.has(Kind::Intends) && writes && class == Class::Free;
        if beyond { Class::Ask } else { class }
    }

    /// Whether an earlier reply's search found it.
    pub(super) fn has_found(&self, tool: &str) -> bool {
        self.activated.get(tool).is_some_and(|round| *round < self.round)
    }

    /// Whether a limit of the turn may keep a call from starting.
    pub(super) fn is_limited(&self, meant: Meant) -> bool {
        let knobs = &self.resolved.knobs;
        let last = meant.tool == DELEGATING && self.round >= knobs.iteration_cap;
        knobs.call_budget.is_some() || last || meant.tool == COSTLY
    }

    /// What the machine wrote about new calls, for the reference model.
    fn learn(&mut self, swarm: &Swarm) {
        let entries = &self.log.journal.entries()[self.read..];
        self.read += entries.len();
        let (mut over, mut spent) = (false, None);
        for entry in entries {
            if let Some(under) = &mut self.under {
                spent = under.spending.count(&entry.event).or(spent);
            }
            match (&entry.event, &entry.call) {
                (Event::ToolCallRequested(fact), Some(call)) => {
                    let place = fact.index.unwrap_or(0) as usize;
                    let Some(meant) = self.pending.get(place).copied() else { continue };
                    let same = |one: &Meant| *one == meant;
                    let seen_before = self.rewritten
                        || self.asked.iter().any(same)
                        || self.pending[..place].iter().any(same);
                    let told = Told {
                        class: self.class(meant, swarm),
                        hook: HookSaid::Nothing,
                        person: None,
                        granted: self.grants.ids().next().is_some() || self.is_agreed(meant.tool),
                        end: None,
                        started: false,
                        changed: false,
                        turn_over: false,
                        seen_before,
                        budget: self.is_limited(meant),
                        blocked: self.has_lost(meant.tool),
                    };
                    self.told.insert(Arc::clone(call), told);
                    self.meant.insert(Arc::clone(call), meant);
                }
                (Event::ViewCompiled(_), _) => self.hidden.extend(self.lost.iter().cloned()),
                (Event::ApprovalExpired(_), Some(call)) => {
                    if let Some(told) = self.told.get_mut(call) {
                        told.person.get_or_insert(PersonSaid::Nothing);
                    }
                }
                (Event::ToolActivated(fact), _) => {
                    self.activated.insert(fact.tool_id.to_string(), self.round);
                }
                (Event::ServerConsented(_), _) => {
                    self.agreed = true;
                    for (call, told) in &mut self.told {
                        let own = self.meant.get(call).is_some_and(|meant| meant.tool == SERVED);
                        told.granted |= own;
                    }
                }
                (Event::GrantIssued(_), _) => {
                    self.told.values_mut().for_each(|told| told.granted = true);
                }
                (Event::RepeatStopped(_) | Event::CancelAcknowledged(_), _) => over = true,
                (Event::ToolCallSettled(fact), _) if stops(&fact.outcome) => over = true,
                _ => {}
            }
        }
        self.jobs.extend(spent.map(Job::Stop));
        if over {
            // Calls may be closed from here on without having started.
            self.told.values_mut().for_each(|told| told.turn_over = true);
        }
    }

    /// Whether the turn is cancelled by now; a call whose time was up may have been stopped before.
    pub(super) fn is_cancelled(&self) -> bool {
        let entries = self.log.journal.entries().iter().rev();
        let mut turn = entries.take_while(|entry| !matches!(entry.event, Event::TurnStarted(_)));
        turn.any(|entry| matches!(entry.event, Event::CancelAcknowledged(_)))
    }

    pub(super) fn deadline_passed(&self, now: Millis) -> bool {
        let mut entries = self.log.journal.entries().iter().rev();
        let begins = entries.find(|entry| matches!(entry.event, Event::TurnStarted(_)));
        let limit = self.resolved.knobs.turn_deadline_ms;
        match (begins, limit) {
            (Some(begins), Some(limit)) => now >= begins.at.saturating_add(limit),
            _ => false,
        }
    }
}

/// A block by the loop guard may be the one that ends the turn.
fn stops(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Blocked { by } if by == "loop_guard")
}
