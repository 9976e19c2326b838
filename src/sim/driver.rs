//! The second driver of the machine: one thread, virtual time, and every race a choice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::oracle::{HookSaid, PersonSaid, Told};
use super::parity::Script;
use super::scene::{self, Class, Scene, secret};
use super::swarm::{Kind, Swarm};
use super::workload::Meant;
use super::world::SimWorld;
use crate::base::choice::Choices;
use crate::base::digest::{Digest, Hasher};
use crate::base::secret::{Secret, SecretSet};
use crate::base::world::Millis;
use crate::journal::{Event, Journal};
use crate::runtime::dialect::{Dialect, Payload, Transcript};
use crate::runtime::evidence::receipt::ReceiptKey;
use crate::runtime::exec::{Ran, Ready};
use crate::runtime::guard::limits::Thresholds;
use crate::runtime::guard::repeat::DuplicateScope;
use crate::runtime::guard::{ApprovalRequest, Envelope, Grants, HookCall, HookSpec, Hooks, Point};
use crate::runtime::provider::scripted::acceptable;
use crate::runtime::resolved::{CompiledView, Knobs, Resolved};
use crate::runtime::turn::log::Log;
use crate::runtime::turn::machine::{Effect, Input, Lent};
use crate::runtime::turn::steps::Steps;
use crate::runtime::turn::{Ticket, Turn};
use crate::runtime::view::Environment;
use crate::tool::id::ToolId;
use crate::tool::intent::{Constraints, Intent};

/// What a simulated session left behind.
#[derive(Debug)]
pub struct Record {
    /// The record.
    pub journal: Journal,
    /// What each call was told.
    pub told: BTreeMap<Arc<str>, Told>,
    /// Turns.
    pub turns: u32,
    /// Calls.
    pub calls: u32,
    /// Which kinds of trouble existed and happened.
    pub swarm: Swarm,
    /// What no journal can show: a turn that never ends, a request no provider would accept.
    pub complaints: Vec<String>,
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

pub(super) enum Job {
    Ask(Payload),
    Hook(Ticket, Box<HookCall>),
    Inspect(Ticket),
    Prompt(Box<ApprovalRequest>, u8),
    Run(Ticket, Arc<Ready>, Arc<CompiledView>, bool),
    Torn(Ticket, Arc<Ready>, bool),
    Late(Ticket, Ran),
}

impl Job {
    fn name(&self) -> String {
        match self {
            Self::Ask(_) => "ask".to_owned(),
            Self::Hook(ticket, _) => format!("hook {}", ticket.slot),
            Self::Inspect(ticket) => format!("inspect {}", ticket.slot),
            Self::Prompt(request, times) => format!("prompt {} {times}", request.tool),
            Self::Run(ticket, _, _, asleep) => format!("run {} {asleep}", ticket.slot),
            Self::Torn(ticket, _, cancelled) => format!("torn {} {cancelled}", ticket.slot),
            Self::Late(ticket, _) => format!("late {}", ticket.slot),
        }
    }
}

/// One simulated session.
pub struct Sim<'a> {
    pub(super) steps: &'a Steps,
    pub(super) choices: &'a mut dyn Choices,
    pub(super) swarm: Swarm,
    pub(super) mode: Mode,
    pub(super) resolved: Resolved,
    pub(super) world: SimWorld,
    pub(super) log: Log,
    pub(super) transcript: Transcript,
    pub(super) secrets: SecretSet,
    pub(super) failures: BTreeMap<ToolId, u32>,
    pub(super) grants: Grants,
    pub(super) jobs: Vec<Job>,
    pub(super) wakes: Vec<Millis>,
    pub(super) told: BTreeMap<Arc<str>, Told>,
    pub(super) meant: BTreeMap<Arc<str>, Meant>,
    pub(super) asked: Vec<Meant>,
    pub(super) pending: Vec<Meant>,
    pub(super) round: u32,
    pub(super) cancelled: bool,
    pub(super) rewritten: bool,
    pub(super) left: bool,
    pub(super) activated: BTreeMap<String, u32>,
    pub(super) read: usize,
    pub(super) complaints: Vec<String>,
    pub(super) visited: Option<&'a mut Visited>,
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
    let turns = match sim.mode {
        Mode::Chance => 1 + sim.choices.pick(2) as u32,
        Mode::Flavours(_) | Mode::Script(_) => 1,
    };
    for _ in 0..turns {
        sim.turn();
    }
    let calls = u32::try_from(sim.told.len()).unwrap_or(u32::MAX);
    let Sim { log, told, swarm, complaints, .. } = sim;
    Record { journal: log.journal, told, turns, calls, swarm, complaints }
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

fn hooks(mode: &Mode) -> Hooks {
    let spec = |name: &str, point, observer, global| HookSpec {
        name: name.to_owned(),
        point,
        priority: 1,
        observer,
        global,
    };
    match mode {
        Mode::Flavours(_) | Mode::Script(_) => Hooks::default(),
        Mode::Chance => Hooks::new(vec![
            spec("gatekeeper", Point::BeforeCall, false, false),
            spec("watcher", Point::BeforeCall, true, true),
            spec("watcher", Point::AfterCall, true, false),
            spec("mourner", Point::OnError, true, true),
        ]),
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
        let resolved = Resolved {
            hooks: hooks(&mode),
            registry: Arc::clone(&scene.registry),
            principal: scene.principal.clone(),
            rules: Arc::clone(&scene.rules),
            environment: Environment { evaluation: true, max_tools: 64, ..Environment::default() },
            excluded: scene.excluded.clone(),
            availability: Arc::clone(&scene.availability),
            knobs,
            intent: ("rules".to_owned(), intent(&mut swarm)),
            broker: scene.broker.clone(),
            receipt_key: Some(ReceiptKey { id: "sim".to_owned(), key: key() }),
            views: Arc::clone(&scene.views),
        };
        let mut world = SimWorld::default();
        let mut log = Log::new("sim".into());
        let nobody = swarm.has(Kind::NonInteractive);
        let channel = if nobody { "none" } else { "scripted" };
        crate::runtime::session::opening(&mut log, &mut world, &resolved, channel);
        let secrets = resolved.broker.secrets();
        let read = log.journal.entries().len();
        Self {
            steps,
            choices,
            swarm,
            mode,
            resolved,
            world,
            log,
            transcript: Transcript::new(),
            secrets,
            failures: BTreeMap::new(),
            grants: Grants::default(),
            jobs: Vec::new(),
            wakes: Vec::new(),
            told: BTreeMap::new(),
            meant: BTreeMap::new(),
            asked: Vec::new(),
            pending: Vec::new(),
            round: 0,
            cancelled: false,
            rewritten: false,
            left: false,
            activated: BTreeMap::new(),
            read,
            complaints: Vec::new(),
            visited: None,
        }
    }

    fn turn(&mut self) {
        let mut turn = Turn::default();
        (self.round, self.cancelled, self.rewritten) = (0, false, false);
        self.asked.clear();
        self.activated.clear();
        self.jobs.clear();
        self.wakes.clear();
        let envelope = Envelope {
            ingress: Some("channel".to_owned()),
            reply_to: Some("ann".to_owned()),
            ..Envelope::default()
        };
        let text = format!("Please, and keep {} to yourself.", secret().expose());
        let mut input = Input::Begin { text, envelope, provider: "sim".into() };
        for _ in 0..INPUTS {
            let mut lent = Lent {
                resolved: &self.resolved,
                steps: self.steps,
                secrets: &self.secrets,
                world: &mut self.world,
                log: &mut self.log,
                transcript: &mut self.transcript,
                failures: &mut self.failures,
                grants: &mut self.grants,
            };
            let effects = turn.step(input, &mut lent);
            self.learn();
            if self.take(effects) {
                self.log.set_turn(None);
                return;
            }
            match self.next() {
                Some(next) => input = next,
                None if self.known() => {
                    self.log.set_turn(None);
                    return;
                }
                None => break,
            }
        }
        self.complaints.push("a turn does not end".to_owned());
        self.log.set_turn(None);
    }

    /// Whether the session was left because its state is known.
    fn known(&self) -> bool {
        self.left
    }

    /// What can still happen depends on this alone: what every call has seen, what is under way,
    /// and whether the turn was cancelled.
    pub(super) fn state(&self) -> Digest {
        let mut calls: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
        for entry in self.log.journal.entries() {
            calls.entry(entry.call.as_deref().unwrap_or("")).or_default().push(entry.event.name());
        }
        let mut jobs: Vec<String> = self.jobs.iter().map(Job::name).collect();
        jobs.sort();
        let mut hasher = Hasher::new("state").field(&[u8::from(self.cancelled)]);
        for (call, events) in calls {
            hasher = hasher.field(call.as_bytes()).field(events.join(" ").as_bytes());
        }
        jobs.iter().fold(hasher, |hasher, job| hasher.field(job.as_bytes())).finish()
    }

    /// Effects become jobs. Whether the turn is over.
    fn take(&mut self, effects: Vec<Effect>) -> bool {
        let mut over = false;
        for effect in effects {
            assert!(!over, "something is wanted after the turn was over");
            match effect {
                Effect::Return(_) => over = true,
                Effect::Wake(at) => self.wakes.push(at),
                Effect::Ask(_, payload) => {
                    if let Err(why) = acceptable(&payload) {
                        self.complaints.push(format!("a provider would refuse a request: {why}"));
                    }
                    self.jobs.push(Job::Ask(payload));
                }
                Effect::AbandonAsk => self.jobs.retain(|job| !matches!(job, Job::Ask(_))),
                Effect::RunHook(ticket, call) => self.jobs.push(Job::Hook(ticket, call)),
                Effect::Inspect(ticket, _) => self.jobs.push(Job::Inspect(ticket)),
                Effect::Prompt(request) => self.jobs.push(Job::Prompt(request, 0)),
                Effect::Withdraw(id) => {
                    self.jobs.retain(|job| !matches!(job, Job::Prompt(r, _) if r.id == id));
                }
                Effect::Start(ticket, ready, view) => {
                    if let Some(told) = self.told.get_mut(&ticket.call) {
                        told.started = true;
                    }
                    self.jobs.push(Job::Run(ticket, ready, view, false));
                }
                Effect::Delegate(ticket, _) => {
                    self.complaints.push(format!("{} delegates, and no tool does", ticket.call));
                }
                Effect::Abort(ticket) => self.abort(&ticket),
            }
        }
        over
    }

    fn abort(&mut self, ticket: &Ticket) {
        let same = |job: &Job| match job {
            Job::Run(own, ..) | Job::Hook(own, _) | Job::Inspect(own) => own == ticket,
            _ => false,
        };
        let Some(place) = self.jobs.iter().position(same) else { return };
        if let Job::Run(ticket, ready, ..) = self.jobs.swap_remove(place) {
            // Why it is torn down is decided now, whatever comes before it is gone.
            let cancelled = self.cancelled || self.deadline_passed();
            self.jobs.push(Job::Torn(ticket, ready, cancelled));
        }
    }

    /// What a call must come to: a tool that waits can be called once an earlier reply's search
    /// found it.
    pub(super) fn class(&self, meant: Meant) -> Class {
        let found = self.activated.get("cellar.read").is_some_and(|round| *round < self.round);
        let class = scene::class(meant.tool, meant.args, found);
        let writes = meant.tool == "note.write" || meant.tool == "page.write";
        // What goes beyond the intent is asked.
        let beyond = self.swarm.has(Kind::Intends) && writes && class == Class::Free;
        if beyond { Class::Ask } else { class }
    }

    /// What the machine wrote about new calls, for the reference model.
    fn learn(&mut self) {
        let entries = &self.log.journal.entries()[self.read..];
        self.read += entries.len();
        let mut over = false;
        for entry in entries {
            match (&entry.event, &entry.call) {
                (Event::ToolCallRequested(fact), Some(call)) => {
                    let place = fact.index.unwrap_or(0) as usize;
                    let Some(meant) = self.pending.get(place).copied() else { continue };
                    let same = |one: &Meant| *one == meant;
                    let seen_before = self.rewritten
                        || self.asked.iter().any(same)
                        || self.pending[..place].iter().any(same);
                    let told = Told {
                        class: self.class(meant),
                        hook: HookSaid::Nothing,
                        person: None,
                        granted: self.grants.ids().next().is_some(),
                        end: None,
                        started: false,
                        changed: false,
                        turn_over: false,
                        seen_before,
                        budget: self.resolved.knobs.call_budget.is_some(),
                    };
                    self.told.insert(Arc::clone(call), told);
                    self.meant.insert(Arc::clone(call), meant);
                }
                (Event::ApprovalExpired(_), Some(call)) => {
                    if let Some(told) = self.told.get_mut(call) {
                        told.person.get_or_insert(PersonSaid::Nothing);
                    }
                }
                (Event::ToolActivated(fact), _) => {
                    self.activated.insert(fact.tool_id.to_string(), self.round);
                }
                (Event::GrantIssued(_), _) => {
                    self.told.values_mut().for_each(|told| told.granted = true);
                }
                (Event::RepeatStopped(_) | Event::CancelAcknowledged(_), _) => over = true,
                (Event::ToolCallSettled(fact), _) if stops(fact) => over = true,
                _ => {}
            }
        }
        if over {
            // Calls may be closed from here on without having started.
            self.told.values_mut().for_each(|told| told.turn_over = true);
        }
    }
}

/// A block by the loop guard may be the one that ends the turn.
fn stops(fact: &crate::journal::event::call::ToolCallSettled) -> bool {
    matches!(&fact.outcome, crate::journal::Outcome::Blocked { by } if by == "loop_guard")
}
