//! The second driver of the machine: one thread, virtual time, and every race a choice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::oracle::Told;
use super::parity::Script;
use super::scene::{Scene, secret, server};
use super::seat::{Job, Seat};
use super::shown::Surfaces;
use super::swarm::{Kind, Swarm};
use super::world::SimWorld;
use crate::base::choice::Choices;
use crate::base::digest::{Digest, Hasher};
use crate::base::secret::{Secret, SecretSet};
use crate::journal::{Blobs, Entry, Event, Journal};
use crate::runtime::dialect::Dialect;
use crate::runtime::evidence::receipt::ReceiptKey;
use crate::runtime::guard::limits::Thresholds;
use crate::runtime::guard::repeat::DuplicateScope;
use crate::runtime::guard::{Envelope, HookSpec, Hooks, Point};
use crate::runtime::mcp::Servers;
use crate::runtime::provider::scripted::acceptable;
use crate::runtime::resolved::{Knobs, Resolved};
use crate::runtime::turn::Ticket;
use crate::runtime::turn::machine::{Effect, Input, TurnEnd};
use crate::runtime::turn::steps::Steps;
use crate::runtime::view::Environment;
use crate::tool::intent::{Constraints, Intent};

/// What one session at the table left behind.
#[derive(Debug)]
pub struct Played {
    /// The record.
    pub journal: Journal,
    /// What each call was told.
    pub told: BTreeMap<Arc<str>, Told>,
}

/// What a simulated session left behind.
#[derive(Debug)]
pub struct Record {
    /// The record.
    pub journal: Journal,
    /// What each call was told.
    pub told: BTreeMap<Arc<str>, Told>,
    /// The sessions of delegates, in the order in which they began.
    pub below: Vec<Played>,
    /// Turns, those of delegates among them.
    pub turns: u32,
    /// Calls, those of delegates among them.
    pub calls: u32,
    /// Which kinds of trouble existed and happened.
    pub swarm: Swarm,
    /// What no journal can show: a turn that never ends, a request no provider would accept.
    pub complaints: Vec<String>,
}

impl Record {
    /// The record with those of its delegates behind it.
    pub fn whole(&self) -> Journal {
        let all =
            || std::iter::once(&self.journal).chain(self.below.iter().map(|one| &one.journal));
        let entries: Vec<Entry> = all().flat_map(Journal::entries).cloned().collect();
        let mut blobs = Blobs::default();
        for (name, text) in all().flat_map(|journal| journal.blobs().iter()) {
            blobs.put_known(*name, Arc::clone(text));
        }
        Journal::from_parts(entries, blobs)
    }
}

const NATIVE: [Dialect; 4] =
    [Dialect::OpenAiChat, Dialect::AnthropicMessages, Dialect::OpenAiResponses, Dialect::Gemini];

/// Inputs a turn may take at most; beyond that it does not end.
const INPUTS: usize = 2_000;

/// The key of all simulated receipts.
pub fn key() -> Secret {
    Secret::new("the key of simulated receipts")
}

/// States that exhaustive exploration has been in, each with the choices that first led there. What
/// can follow from a state was seen when it was first left; it is not run again.
#[derive(Debug, Default)]
pub struct Visited {
    states: HashMap<Digest, Vec<usize>>,
    /// How often a session was cut short because its state was known.
    pub pruned: u64,
}

impl Visited {
    /// Whether other choices have led to this state before.
    pub(super) fn knows(&mut self, state: Digest, path: Vec<usize>) -> bool {
        let first = self.states.entry(state).or_insert_with(|| path.clone());
        *first != path
    }
}

/// How the actors behave.
#[derive(Debug, Clone)]
pub enum Mode {
    /// By chance, with the kinds of trouble that exist.
    Chance,
    /// As a script says, with tools that do what their descriptors say: for comparison with the
    /// other driver.
    Script(Arc<Script>),
    /// One reply with these calls, each as its flavour says; every order is a choice, and so is a
    /// cancellation at every step.
    Flavours(Vec<Flavour>),
}

/// One call of an exhaustive exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flavour {
    /// Allowed, asked and granted, or asked and refused.
    pub person: Option<bool>,
    /// Ends well, fails, or hangs.
    pub end: Option<bool>,
}

/// What all sessions of one table share.
pub(super) struct Table<'a> {
    pub(super) steps: &'a Steps,
    pub(super) choices: &'a mut dyn Choices,
    pub(super) swarm: Swarm,
    pub(super) mode: Mode,
    pub(super) world: SimWorld,
    pub(super) secrets: SecretSet,
    pub(super) surfaces: Option<Surfaces>,
    pub(super) complaints: Vec<String>,
}

/// One simulated session, with those of its delegates.
pub struct Sim<'a> {
    pub(super) table: Table<'a>,
    /// The user's session first.
    pub(super) seats: Vec<Seat>,
    pub(super) visited: Option<&'a mut Visited>,
    /// Whether it was left because its state is known.
    pub(super) left: bool,
    below: Vec<Played>,
}

/// Runs one session to its end; exhaustive exploration leaves it where the state is known.
pub fn run(
    scene: &Scene,
    steps: &Steps,
    (swarm, mode): (Swarm, Mode),
    choices: &mut dyn Choices,
) -> Record {
    run_unless_known(scene, steps, (swarm, mode, None), choices)
}

/// [`run`], cut short where the state is known.
pub fn run_unless_known(
    scene: &Scene,
    steps: &Steps,
    (swarm, mode, visited): (Swarm, Mode, Option<&mut Visited>),
    choices: &mut dyn Choices,
) -> Record {
    let mut sim = Sim::new(scene, steps, (swarm, mode), choices);
    sim.visited = visited;
    let turns = match sim.table.mode {
        Mode::Chance => 1 + sim.table.choices.pick(2) as u32,
        Mode::Flavours(_) | Mode::Script(_) => 1,
    };
    for _ in 0..turns {
        sim.turn();
        sim.clear_away();
    }
    sim.record(turns)
}

fn knobs(swarm: &mut Swarm, mode: &Mode, choices: &mut dyn Choices) -> Knobs {
    let mut knobs = Knobs { iteration_cap: 4, ..Knobs::default() };
    let mut set = |kind: Kind| {
        let on = swarm.has(kind);
        if on {
            swarm.note(kind);
        }
        on
    };
    knobs.parallel_tools = set(Kind::Parallel);
    if set(Kind::WholeTurn) {
        knobs.duplicate_scope = DuplicateScope::Turn;
    }
    if set(Kind::Tight) {
        knobs.max_tool_result_chars = 60;
    }
    if set(Kind::Impatient) {
        knobs.loop_limits.identical = Thresholds { warn: 2, block: 3, stop: 3 };
    }
    if set(Kind::Budget) {
        knobs.call_budget = Some(2);
    }
    if set(Kind::Deadline) {
        knobs.turn_deadline_ms = Some(40_000);
    }
    let spoken = match mode {
        Mode::Chance => set(Kind::Text),
        Mode::Flavours(_) | Mode::Script(_) => false,
    };
    knobs.dialect = match mode {
        Mode::Script(_) => Dialect::OpenAiChat,
        _ if spoken => Dialect::Text,
        _ => NATIVE[choices.pick(NATIVE.len())],
    };
    knobs
}

fn intent(swarm: &mut Swarm) -> Intent {
    if !swarm.has(Kind::Intends) {
        return Intent::default();
    }
    swarm.note(Kind::Intends);
    let must_not = vec!["write".to_owned()];
    let constraints = Some(Constraints { must_not, ..Constraints::default() });
    Intent { constraints, ..Intent::default() }
}

/// The hooks of sessions of chance.
pub fn hooks() -> Hooks {
    let spec = |name: &str, point, observer, global| HookSpec {
        name: name.to_owned(),
        point,
        priority: 1,
        observer,
        global,
    };
    Hooks::new(vec![
        spec("gatekeeper", Point::BeforeCall, false, false),
        spec("watcher", Point::BeforeCall, true, true),
        spec("examiner", Point::Verify, false, false),
        spec("watcher", Point::AfterCall, true, false),
        spec("mourner", Point::OnError, true, true),
    ])
}

/// What simulated sessions run on, with ordinary knobs and nothing intended.
pub fn bundle(scene: &Scene, hooks: Hooks) -> Resolved {
    Resolved {
        hooks,
        registry: Arc::clone(&scene.registry),
        principal: scene.principal.clone(),
        rules: Arc::clone(&scene.rules),
        environment: Environment {
            evaluation: true,
            max_tools: 64,
            servers: Arc::new(Servers::new([server()])),
            ..Environment::default()
        },
        excluded: scene.excluded.clone(),
        availability: Arc::clone(&scene.availability),
        knobs: Knobs::default(),
        intent: ("rules".to_owned(), Intent::default()),
        broker: scene.broker.clone(),
        receipt_key: Some(ReceiptKey { id: "sim".to_owned(), key: key() }),
        views: Arc::clone(&scene.views),
    }
}

impl<'a> Sim<'a> {
    fn new(
        scene: &'a Scene,
        steps: &'a Steps,
        (mut swarm, mode): (Swarm, Mode),
        choices: &'a mut dyn Choices,
    ) -> Self {
        let knobs = knobs(&mut swarm, &mode, choices);
        let hooks = match mode {
            Mode::Flavours(_) | Mode::Script(_) => Hooks::default(),
            Mode::Chance => hooks(),
        };
        let intent = ("rules".to_owned(), intent(&mut swarm));
        let resolved = Resolved { knobs, intent, ..bundle(scene, hooks) };
        let mut world = SimWorld::default();
        let secrets = resolved.broker.secrets().clone();
        let surfaces = Surfaces::new(&mut swarm);
        let mut seat = Seat::new("sim".into(), resolved, &swarm, &mut world);
        seat.renderer = surfaces.as_ref().map(|to| to.renderer("direct", "main", &secrets));
        let complaints = Vec::new();
        let table = Table { steps, choices, swarm, mode, world, secrets, surfaces, complaints };
        Self { table, seats: vec![seat], visited: None, left: false, below: Vec::new() }
    }

    fn turn(&mut self) {
        self.seats[0].fresh();
        let before = self.seats[0].started();
        let envelope = Envelope {
            ingress: Some("channel".to_owned()),
            reply_to: Some("ann".to_owned()),
            ..Envelope::default()
        };
        let text = format!("Please, and keep {} to yourself.", secret().expose());
        let mut at = 0;
        let mut input = Input::Begin { text, envelope, provider: "sim".into() };
        for _ in 0..INPUTS {
            let effects = self.seats[at].step(input, &mut self.table);
            if let Some(end) = self.take(at, effects) {
                self.seats[at].log.set_turn(None);
                self.seats[at].rest();
                if self.delegates_of(at).next().is_some() {
                    let why = "a turn ended before its delegates were gone".to_owned();
                    self.table.complaints.push(why);
                }
                if at == 0 {
                    self.within_budget(before);
                    return;
                }
                self.back(at, end);
            }
            match self.next() {
                Some((seat, next)) => (at, input) = (seat, next),
                None if self.left => return,
                None => break,
            }
        }
        self.table.complaints.push("a turn does not end".to_owned());
    }

    /// The calls that delegates start are calls of the turn that made them. `before`: how many
    /// calls had started before the turn.
    fn within_budget(&mut self, before: usize) {
        let started = self.seats.iter().map(Seat::started).sum::<usize>() - before;
        match self.seats[0].resolved.knobs.call_budget {
            Some(budget) if started > budget as usize => {
                let why = format!("{started} calls started, of {budget}, delegates' among them");
                self.table.complaints.push(why);
            }
            _ => {}
        }
    }

    /// The turn is over: what its delegates left is kept.
    fn clear_away(&mut self) {
        self.seats[0].log.set_turn(None);
        let gone = self.seats.drain(1..);
        self.below.extend(gone.map(|seat| Played { journal: seat.log.journal, told: seat.told }));
    }

    fn record(mut self, turns: u32) -> Record {
        let Table { swarm, mut complaints, surfaces, .. } = self.table;
        let own = self.seats.swap_remove(0);
        let (journal, told, below) = (own.log.journal, own.told, self.below);
        if let Some(surfaces) = surfaces {
            let all = std::iter::once(&journal).chain(below.iter().map(|one| &one.journal));
            let shown = |entry: &&Entry| matches!(entry.event, Event::SurfaceEmitted(_));
            let recorded = all.flat_map(Journal::entries).filter(shown).count();
            complaints.extend(surfaces.complaints(recorded as u64));
        }
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let turns = turns.saturating_add(count(below.len()));
        let calls = told.len() + below.iter().map(|one| one.told.len()).sum::<usize>();
        Record { journal, told, below, turns, calls: count(calls), swarm, complaints }
    }

    /// What can still happen depends on this alone: what every call has seen, what is under way,
    /// and whether the turn was cancelled. Exhaustive sessions have no delegates.
    pub(super) fn state(&self) -> Digest {
        let own = &self.seats[0];
        let mut calls: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
        for entry in own.log.journal.entries() {
            calls.entry(entry.call.as_deref().unwrap_or("")).or_default().push(entry.event.name());
        }
        let mut jobs: Vec<String> = own.jobs.iter().map(Job::name).collect();
        jobs.sort();
        let mut hasher = Hasher::new("state").field(&[u8::from(own.cancelled)]);
        for (call, events) in calls {
            hasher = hasher.field(call.as_bytes()).field(events.join(" ").as_bytes());
        }
        jobs.iter().fold(hasher, |hasher, job| hasher.field(job.as_bytes())).finish()
    }

    /// Effects become jobs. How the turn ended, when it did.
    fn take(&mut self, at: usize, effects: Vec<Effect>) -> Option<TurnEnd> {
        let mut over = None;
        for effect in effects {
            assert!(over.is_none(), "something is wanted after the turn was over");
            let seat = &mut self.seats[at];
            match effect {
                Effect::Return(end) => over = Some(end),
                Effect::Wake(at) => seat.wakes.push(at),
                Effect::Ask(_, payload) => {
                    if let Err(why) = acceptable(&payload) {
                        let why = format!("a provider would refuse a request: {why}");
                        self.table.complaints.push(why);
                    }
                    seat.jobs.push(Job::Ask(payload));
                }
                Effect::AbandonAsk => seat.jobs.retain(|job| !matches!(job, Job::Ask(_))),
                Effect::RunHook(ticket, call) => seat.jobs.push(Job::Hook(ticket, call)),
                Effect::Rehearse(ticket, planned) => {
                    seat.jobs.push(Job::Rehearse(ticket, planned));
                }
                Effect::Inspect(ticket, _) => seat.jobs.push(Job::Inspect(ticket)),
                Effect::Prompt(request) => seat.jobs.push(Job::Prompt(request, 0)),
                Effect::Withdraw(id) => {
                    seat.jobs.retain(|job| !matches!(job, Job::Prompt(r, _) if r.id == id));
                }
                Effect::Start(ticket, ready, view) => {
                    if let Some(told) = seat.told.get_mut(&ticket.call) {
                        told.started = true;
                    }
                    seat.jobs.push(Job::Run(ticket, ready, view, false));
                }
                Effect::Delegate(ticket, request) => self.delegate(at, ticket, *request),
                Effect::Abort(ticket) => self.abort(at, &ticket),
                Effect::Block(ticket, block) => self.pass_on(at, &ticket, &block),
            }
        }
        over
    }

    fn abort(&mut self, at: usize, ticket: &Ticket) {
        let seat = &mut self.seats[at];
        // Why it is torn down is decided now, whatever comes before it is gone.
        let cancelled = seat.cancelled || seat.deadline_passed(self.table.world.time());
        let same = |job: &Job| match job {
            Job::Run(own, ..) | Job::Hook(own, _) | Job::Inspect(own) | Job::Rehearse(own, _) => {
                own == ticket
            }
            _ => false,
        };
        let Some(place) = seat.jobs.iter().position(same) else {
            return self.abandon(at, ticket, cancelled);
        };
        match seat.jobs.swap_remove(place) {
            Job::Run(ticket, ready, ..) => seat.jobs.push(Job::Torn(ticket, ready, cancelled)),
            // Whoever did not look has not passed it.
            Job::Hook(ticket, call) if call.point == Point::Verify => seat.refuse(&ticket),
            _ => {}
        }
    }
}
