//! The turn as a machine: an input goes in, facts are appended, effects come out. It never
//! awaits, sleeps, spawns, prints or reads a clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::begin::{Proposal, Undoes};
use super::control::{LoopVerdict, Round};
use super::log::Log;
use super::reopen::Reopened;
use super::schedule::Dispatch;
use super::slots::{Slots, Ticket};
use super::steps::{Next, Steps};
use crate::base::secret::SecretSet;
use crate::base::world::{Millis, World};
use crate::journal::event::call::{LateResultDropped, Spent};
use crate::journal::event::turn::{
    LoopStopped, LoopWarned, ModelReplied, ModelRequested, ModelSwitched, ProviderFault,
    SteeringReceived, TraceUpdated, TurnFinished, ViewCompiled,
};
use crate::runtime::dialect::proposed::scrub;
use crate::runtime::dialect::{Dialect, Message, Payload, Reply, Transcript, payload};
use crate::runtime::exec::{DelegateRequest, DelegateResult, Ran, Ready, Rehearsal, Rehearsed};
use crate::runtime::guard::repeat::Ledger;
use crate::runtime::guard::{Answer, ApprovalRequest, Envelope, Grants, HookCall, HookVerdict};
use crate::runtime::resolved::{CompiledView, Resolved};
use crate::runtime::view::{ActivatedSet, Block, Blocks};
use crate::tool::id::ToolId;

/// What can happen to a turn.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "an input is taken at once and never kept")]
pub enum Input {
    /// The user said this, by this ingress.
    Begin {
        /// The text.
        text: String,
        /// How it came in.
        envelope: Envelope,
        /// Who is asked, by the name that reports show.
        provider: Arc<str>,
    },
    /// The provider answered, or did not.
    Replied(Result<Reply, ProviderFault>),
    /// A hook looked at a call.
    Hooked(Ticket, HookVerdict),
    /// The file that a call would run was read; `None` when there is none.
    Inspected(Ticket, Option<crate::base::digest::Digest>),
    /// What a call would do was found out.
    Rehearsed(Ticket, Rehearsed),
    /// A person answered, by this channel.
    Answered(Answer, &'static str),
    /// A call ended by itself.
    Finished(Ticket, Ran),
    /// A delegate is back.
    Delegated(Ticket, Box<DelegateResult>),
    /// Everything of a call is gone, by these means.
    TornDown(Ticket, String),
    /// Somebody wants the turn to end.
    Cancel(String),
    /// A time that was to be woken at has come.
    Elapsed,
    /// The user spoke while the turn ran.
    Steered(String),
    /// Another model answers from here on.
    Switched(Arc<str>),
    /// A grant was taken back, by this person.
    Revoked(String, String),
    /// A tool was blocked.
    Blocked(Block),
    /// Somebody other than a model proposes this one call, and no model is asked.
    Propose(Box<Proposal>),
    /// The process that ran the turn is gone; what it left open goes on.
    Resume(Box<Reopened>),
}

/// What a turn wants done.
#[derive(Debug)]
pub enum Effect {
    /// Ask this provider.
    Ask(Arc<str>, Payload),
    /// Stop waiting for the provider.
    AbandonAsk,
    /// Run a hook.
    RunHook(Ticket, Box<HookCall>),
    /// Read the file that a call would run.
    Inspect(Ticket, Vec<String>),
    /// Find out what a call would do, without doing it.
    Rehearse(Ticket, Box<Rehearsal>),
    /// Ask a person.
    Prompt(Box<ApprovalRequest>),
    /// The question is moot.
    Withdraw(String),
    /// Run a call; a search looks among what waits in the view.
    Start(Ticket, Arc<Ready>, Arc<CompiledView>),
    /// Run a delegate; it answers with `Delegated`, whatever becomes of it.
    Delegate(Ticket, Box<DelegateRequest>),
    /// Tear down whatever runs under this ticket. A call answers with `TornDown`, or with
    /// `Finished` when it was faster; a hook or an inspection is dropped.
    Abort(Ticket),
    /// Tell the delegate that runs under this ticket that a tool was blocked.
    Block(Ticket, Block),
    /// Send `Elapsed` at this time.
    Wake(Millis),
    /// The turn is over.
    Return(TurnEnd),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model said its last word.
    FinalText,
    /// The iteration cap was reached.
    IterationCap,
    /// There was no reply.
    ProviderFault(ProviderFault),
    /// Somebody ended it.
    Cancelled(String),
    /// It went in circles.
    LoopStopped(String),
    /// Its one batch is done, and no model was asked.
    Direct,
}

impl TurnEnd {
    /// The name as written in journals.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FinalText => "final_text",
            Self::IterationCap => "iteration_cap",
            Self::ProviderFault(_) => "provider_fault",
            Self::Cancelled(_) => "cancelled",
            Self::LoopStopped(_) => "loop_stopped",
            Self::Direct => "direct",
        }
    }
}

/// What lives as long as the session and is lent to its turns.
pub struct Lent<'a> {
    /// The bundle.
    pub resolved: &'a Resolved,
    /// The decisions.
    pub steps: &'a Steps,
    /// What must never leave.
    pub secrets: &'a SecretSet,
    /// Time and ids.
    pub world: &'a mut dyn World,
    /// The journal.
    pub log: &'a mut Log,
    /// The messages.
    pub transcript: &'a mut Transcript,
    /// Failures by tool.
    pub failures: &'a mut BTreeMap<ToolId, u32>,
    /// Standing authority.
    pub grants: &'a mut Grants,
    /// Tools that were blocked.
    pub blocks: &'a mut Blocks,
}

impl Lent<'_> {
    /// A text without secrets.
    pub fn redact(&self, text: &str) -> String {
        (self.steps.redact)(self.secrets, text).into_owned()
    }

    /// A text of a model, a user or a hook without known secrets.
    pub fn redact_known(&self, text: &str) -> String {
        (self.steps.redact_known)(self.secrets, text).into_owned()
    }

    /// Appends a fact about a call.
    pub(super) fn call(&mut self, call: &Arc<str>, event: impl Into<crate::journal::Event>) -> u64 {
        self.log.call(self.world, call, event)
    }

    /// Appends a fact about the turn.
    pub(super) fn fact(&mut self, event: impl Into<crate::journal::Event>) -> u64 {
        self.log.fact(self.world, event)
    }
}

/// Where a turn stands between two inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Not begun.
    #[default]
    Idle,
    /// The model is asked.
    Asking,
    /// The calls of a reply go through the guards.
    Preparing,
    /// Ready calls run.
    Running,
    /// Over.
    Ended,
}

/// One turn.
#[derive(Debug, Default)]
pub struct Turn {
    pub(super) view: Option<Arc<CompiledView>>,
    pub(super) slots: Slots,
    pub(super) words: Arc<str>,
    pub(super) batch: String,
    pub(super) phase: Phase,
    pub(super) plan: Option<Dispatch>,
    pub(super) ledger: Ledger,
    pub(super) rounds: Vec<Round>,
    pub(super) warned: BTreeSet<&'static str>,
    pub(super) cancelled: Option<String>,
    pub(super) stopped: Option<String>,
    pub(super) envelope: Envelope,
    pub(super) started_calls: u32,
    pub(super) deadline: Option<Millis>,
    pub(super) round: u32,
    pub(super) out: Vec<Effect>,
    pub(super) steering: VecDeque<Arc<str>>,
    pub(super) provider: Arc<str>,
    pub(super) activated: ActivatedSet,
    /// Calls that are set aside for delegates, by the call that delegates.
    pub(super) lent: BTreeMap<Arc<str>, u32>,
    /// What is used up of budgets by those above.
    pub(super) spent_above: Vec<Spent>,
    /// Results that came once more while verifiers looked at the first: recorded behind it.
    pub(super) again: Vec<(Arc<str>, LateResultDropped)>,
    pub(super) message: Arc<str>,
    pub(super) direct: bool,
    pub(super) undoes: Option<Undoes>,
}

impl Turn {
    /// A turn of a delegate: these deferred tools can be called from the start, and so much is
    /// used up of budgets already.
    pub fn of_delegate(activated: ActivatedSet, spent_above: Vec<Spent>) -> Self {
        Self { activated, spent_above, ..Self::default() }
    }

    /// What the user said at its beginning.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Takes one input and says what is to be done. Total: an input that comes too late changes
    /// nothing, and where it carries a result that is a fact.
    pub fn step(&mut self, input: Input, cx: &mut Lent<'_>) -> Vec<Effect> {
        match input {
            Input::Begin { text, envelope, provider } => {
                self.begin(&text, envelope, provider, cx);
            }
            Input::Replied(reply) if self.phase == Phase::Asking => match reply {
                Ok(reply) => self.replied(reply, cx),
                Err(fault) => self.unanswered(fault, cx),
            },
            Input::Replied(_) => {}
            Input::Hooked(ticket, verdict) => self.hooked(&ticket, verdict, cx),
            Input::Inspected(ticket, operand) => self.inspected(&ticket, operand, cx),
            Input::Rehearsed(ticket, found) => self.rehearsed(&ticket, &found, cx),
            Input::Answered(answer, channel) => self.answered(&answer, channel, cx),
            Input::Finished(ticket, ran) => self.finished(&ticket, ran, cx),
            Input::Delegated(ticket, result) => self.delegated(&ticket, *result, cx),
            Input::TornDown(ticket, how) => self.torn_down(&ticket, how, cx),
            Input::Cancel(cause) => self.cancel(&cause, cx),
            Input::Elapsed => self.elapsed(cx),
            Input::Steered(text) => self.steered(&text, cx),
            Input::Switched(to) => self.switched(to, cx),
            Input::Revoked(grant, by) => self.revoked(&grant, by, cx),
            Input::Blocked(block) => self.blocked(block, cx),
            Input::Propose(proposal) => self.propose(*proposal, cx),
            Input::Resume(reopened) => self.resume(*reopened, cx),
        }
        std::mem::take(&mut self.out)
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Compiles the view, renders the request.
    pub(super) fn ask(&mut self, cx: &mut Lent<'_>) {
        if (cx.steps.next)(self.round, &cx.resolved.knobs) == Next::Cap {
            return self.end(TurnEnd::IterationCap, cx);
        }
        self.round += 1;
        self.phase = Phase::Asking;
        let compiled = self.compile(cx);
        let view = &compiled.view;
        let payload = cx.resolved.knobs.dialect.request(&compiled.tools, cx.transcript);
        let unlogged = cx.log.is_quiet();
        let journal = &mut cx.log.journal;
        journal.put_known_blob(payload.tools.digest, Arc::clone(&payload.tools.text));
        if !unlogged {
            journal.put_known_blob(payload.messages_digest, Arc::clone(&payload.messages));
        }
        cx.fact(ModelRequested {
            provider: self.provider.to_string(),
            dialect: payload.dialect.name().to_owned(),
            payload: payload.digest,
            tools: payload.tools.digest,
            messages: payload.messages_digest,
            advertised: Arc::clone(&view.advertised),
            tokens: Some(payload.tokens()),
            view_tokens: Some(payload.view_tokens()),
            unlogged,
        });
        self.out.push(Effect::Ask(Arc::clone(&self.provider), payload));
    }

    /// What may be seen from here on.
    pub(super) fn compile(&mut self, cx: &mut Lent<'_>) -> Arc<CompiledView> {
        let (activated, message) = (&self.activated, &self.message);
        let state = (&*cx.failures, activated, &*cx.blocks);
        let compiled = cx.resolved.view(state, message, cx.steps.may_expose);
        cx.fact(ViewCompiled {
            view: compiled.view.digest,
            exposed: Arc::clone(&compiled.view.exposed),
            withheld: Arc::clone(&compiled.view.withheld),
        });
        self.view = Some(Arc::clone(&compiled));
        compiled
    }

    fn replied(&mut self, reply: Reply, cx: &mut Lent<'_>) {
        let finish = reply.finish.as_deref().map(|text| cx.redact(text));
        let explanation = reply.explanation.clone().map(|mut value| {
            scrub(&mut value, &|text| cx.redact(text));
            value
        });
        let knobs = &cx.resolved.knobs;
        let told = reply.text.clone().filter(|_| knobs.dialect == Dialect::Text);
        let (text, calls) = (cx.steps.parse)(knobs.dialect, &reply, knobs.text);
        let text = text.map(|text| cx.redact(&text));
        let bytes = text.as_ref().map_or(0, String::len)
            + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
        // The words are kept with the calls in them, or not at all.
        let told = told.filter(|_| calls.iter().all(|call| self.logs_args(&call.name)));
        let raw = told.map(|told| cx.redact(&told));
        let raw = raw.map(|raw| cx.log.journal.put_blob(raw.into()));
        cx.fact(ModelReplied {
            calls: u32::try_from(calls.len()).unwrap_or(u32::MAX),
            text: text.clone(),
            finish,
            fault: None,
            tokens: Some(payload::estimate(bytes)),
            explanation,
            raw,
        });
        let text: Arc<str> = text.unwrap_or_default().into();
        if calls.is_empty() {
            if reply.finish.as_deref() == Some("tool_calls") {
                trace(cx, "the reply ends in calls, and none stands where a call counts");
            }
            return self.said(text, cx);
        }
        self.open_batch(text, calls, cx);
        self.advance(cx);
    }

    /// A reply without calls.
    pub(super) fn said(&mut self, text: Arc<str>, cx: &mut Lent<'_>) {
        super::append::append(cx, vec![Message::Assistant { text, calls: Vec::new() }]);
        self.after_words(cx);
    }

    /// The last word, unless the user spoke meanwhile.
    pub(super) fn after_words(&mut self, cx: &mut Lent<'_>) {
        if self.steering.is_empty() {
            return self.end(TurnEnd::FinalText, cx);
        }
        self.steer(cx);
        self.ask(cx);
    }

    fn unanswered(&mut self, fault: ProviderFault, cx: &mut Lent<'_>) {
        let fault = ProviderFault { message: cx.redact(&fault.message), ..fault };
        cx.fact(ModelReplied { fault: Some(fault.clone()), ..ModelReplied::new(0) });
        self.end(TurnEnd::ProviderFault(fault), cx);
    }

    /// Goes on as far as nothing has to be waited for.
    pub(super) fn advance(&mut self, cx: &mut Lent<'_>) {
        if self.phase == Phase::Preparing && self.prepare(cx) {
            self.dispatch(cx);
        }
        if self.phase == Phase::Running {
            self.start_ready(cx);
            self.release(cx);
            if self.slots.all_settled() {
                self.close_batch(cx);
            }
        }
    }

    /// Appends the round.
    fn close_batch(&mut self, cx: &mut Lent<'_>) {
        let calls = self.slots.iter().map(|slot| slot.shown.clone()).collect();
        let order = (cx.steps.append_order)(self.slots.len());
        let ends = self.slots.drain(&order);
        let mut messages = vec![Message::Assistant { text: Arc::clone(&self.words), calls }];
        messages.extend(ends.into_iter().map(|(call, end)| Message::Tool {
            call,
            text: end.shown,
            is_error: end.outcome != crate::journal::Outcome::Succeeded,
        }));
        super::append::append(cx, messages);
        self.plan = None;
        self.after_round(cx);
    }

    /// How the turn goes on when nothing of it is open.
    pub(super) fn after_round(&mut self, cx: &mut Lent<'_>) {
        if let Some(cause) = self.cancelled.clone() {
            return self.end(TurnEnd::Cancelled(cause), cx);
        }
        match (cx.steps.loop_guard)(&self.rounds, None, &cx.resolved.knobs) {
            LoopVerdict::Stop(pattern) => {
                self.stopped.get_or_insert_with(|| pattern.to_owned());
            }
            LoopVerdict::Warn(pattern) | LoopVerdict::Block(pattern) => {
                if self.warned.insert(pattern) {
                    cx.fact(LoopWarned { pattern: pattern.to_owned() });
                }
            }
            LoopVerdict::Pass => {}
        }
        if let Some(pattern) = self.stopped.clone() {
            cx.fact(LoopStopped { pattern: pattern.clone() });
            return self.end(TurnEnd::LoopStopped(pattern), cx);
        }
        self.steer(cx);
        if self.direct {
            return self.end(TurnEnd::Direct, cx);
        }
        self.ask(cx);
    }

    /// What the user said meanwhile stands after the round and before the next request.
    fn steer(&mut self, cx: &mut Lent<'_>) {
        let said: Vec<Message> =
            self.steering.drain(..).map(|text| Message::User { text }).collect();
        if !said.is_empty() {
            super::append::append(cx, said);
        }
    }

    fn steered(&mut self, text: &str, cx: &mut Lent<'_>) {
        if self.phase == Phase::Ended || self.cancelled.is_some() {
            return trace(cx, "a steering message came after the turn had ended");
        }
        let text = cx.redact_known(text);
        cx.fact(SteeringReceived { text: text.clone() });
        self.steering.push_back(text.into());
    }

    fn switched(&mut self, to: Arc<str>, cx: &mut Lent<'_>) {
        if self.phase == Phase::Ended || self.provider == to {
            return;
        }
        cx.fact(ModelSwitched { from: self.provider.to_string(), to: to.to_string() });
        self.provider = to;
    }

    fn revoked(&mut self, grant: &str, by: String, cx: &mut Lent<'_>) {
        if cx.grants.revoke(grant) {
            let grant_id = grant.to_owned();
            let by = Some(by);
            cx.fact(crate::journal::event::catalog::GrantRevoked { grant_id, by });
        }
    }

    pub(super) fn end(&mut self, end: TurnEnd, cx: &mut Lent<'_>) {
        self.phase = Phase::Ended;
        let events = cx.log.journal.entries().last().map_or(1, |last| last.seq + 1);
        cx.fact(TurnFinished {
            iterations: Some(self.round),
            events: Some(events),
            ..TurnFinished::new(end.name().to_owned())
        });
        self.out.push(Effect::Return(end));
    }
}

/// A note for people; no law reads it.
pub(super) fn trace(cx: &mut Lent<'_>, summary: &str) {
    cx.fact(TraceUpdated { summary: summary.to_owned() });
}
