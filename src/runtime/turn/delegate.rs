//! A delegate is a session of its own: the same machine, the same driver, the same guards. It
//! shares its parent's approver, hooks, workspace and sinks; transcript, grants and journal are
//! its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Held, PoisonError};

use tokio::sync::{Mutex, mpsc};

use super::driver::{Kept, Parties, Shown, Signal, drive};
use super::log::{Log, agreed, opening};
use super::machine::{Input, Lent, Turn, TurnEnd};
use super::steps::Steps;
use crate::base::caught::caught;
use crate::base::secret::SecretSet;
use crate::base::world::World;
use crate::journal::event::call::ToolCallStarted;
use crate::journal::outcome::{Blame, Fault};
use crate::journal::{Entry, Event, Journal};
use crate::runtime::BoxFuture;
use crate::runtime::dialect::{Message, Transcript};
use crate::runtime::exec::delegate::{
    Above, Delegate, DelegateRequest, DelegateResult, DelegateStatus,
};
use crate::runtime::exec::mcp::Links;
use crate::runtime::exec::{Acts, Workspace};
use crate::runtime::guard::spent::all_spent;
use crate::runtime::guard::{Approver, Envelope, Grants, Hook};
use crate::runtime::policy::Principal;
use crate::runtime::provider::Provider;
use crate::runtime::resolved::{Knobs, Resolved};
use crate::runtime::surface::{Limits, Renderer, Sinks};
use crate::runtime::view::Blocks;
use crate::tool::intent::Intent;

/// How deep delegates may stand below a session.
pub const MAX_DEPTH: u32 = 3;

/// The ingress of a delegate's message.
pub const INGRESS: &str = "delegate";

/// Why the turn of a delegate ends whose parent tore it down.
pub const PARENT_GONE: &str = "its parent was cancelled";

/// Runs the delegates of one session.
#[derive(Clone, Copy)]
pub struct Nested<'a> {
    /// The bundle of the session that delegates.
    pub resolved: &'a Resolved,
    /// The decisions.
    pub steps: &'a Steps,
    /// What must never leave.
    pub secrets: &'a SecretSet,
    /// Who proposes, by agent.
    pub agents: &'a BTreeMap<Arc<str>, Mutex<Box<dyn Provider>>>,
    /// Who approves.
    pub approver: &'a dyn Approver,
    /// By which channel.
    pub channel: &'static str,
    /// Who keeps the records.
    pub kept: &'a Kept,
    /// Who looks at calls, by name.
    pub hooks: &'a BTreeMap<String, Arc<dyn Hook>>,
    /// Where file tools act.
    pub workspace: &'a Held<Workspace>,
    /// What simulated tools do.
    pub simulated: &'a Acts,
    /// The links to MCP servers.
    pub links: &'a Links,
    /// Who is shown what happens.
    pub sinks: &'a Sinks,
    /// In which lengths.
    pub limits: Limits,
    /// The records of delegates that are back.
    pub children: &'a Held<Vec<Journal>>,
    /// How deep the session stands itself.
    pub depth: u32,
}

impl Delegate for Nested<'_> {
    fn run<'a>(
        &'a self,
        request: DelegateRequest,
        world: Box<dyn World>,
        above: Above<'a>,
    ) -> BoxFuture<'a, DelegateResult> {
        Box::pin(async move {
            let known = self.agents.contains_key(&request.agent);
            match refusal(&request, (self.depth, known)) {
                Some(refused) => refused,
                None => self.session(&request, world, above).await,
            }
        })
    }
}

/// How a delegate's turn ended, and why where that alone does not say it.
#[derive(Debug)]
pub struct Ended {
    /// `Err`: what a panic said.
    pub end: Result<TurnEnd, String>,
    /// Whether the parent tore it down.
    pub stopped: bool,
    /// Whether it spent more tokens than it has.
    pub overspent: bool,
}

impl Nested<'_> {
    async fn session(
        &self,
        request: &DelegateRequest,
        mut world: Box<dyn World>,
        above: Above<'_>,
    ) -> DelegateResult {
        let bundle = bundle(self.resolved, request);
        let mut log = Log::new(Arc::clone(&request.child));
        opening(&mut log, &mut *world, &bundle, self.channel);
        let mut transcript = Transcript::new();
        let (mut failures, mut grants) = (BTreeMap::new(), Grants::default());
        agreed(&mut log, &mut *world, &bundle, &mut grants);
        let mut blocks = Blocks::default();
        let mut lent = Lent {
            resolved: &bundle,
            steps: self.steps,
            secrets: self.secrets,
            world: &mut *world,
            log: &mut log,
            transcript: &mut transcript,
            failures: &mut failures,
            grants: &mut grants,
            blocks: &mut blocks,
        };
        let below = Held::default();
        let own = Nested { resolved: &bundle, children: &below, depth: self.depth + 1, ..*self };
        let ended = own.turn(request, &mut lent, above).await;
        let mut records = below.into_inner().unwrap_or_else(PoisonError::into_inner);
        records.push(log.journal);
        let result = result(request, ended, (&records, &transcript));
        self.children.lock().unwrap_or_else(PoisonError::into_inner).extend(records);
        result
    }

    /// The one turn of the delegate that this stands for.
    async fn turn(
        &self,
        request: &DelegateRequest,
        cx: &mut Lent<'_>,
        (mut above, stop): Above<'_>,
    ) -> Ended {
        let (send, mut signals) = mpsc::unbounded_channel();
        let secrets = self.secrets.clone();
        let mut renderer = Renderer::new(self.limits, INGRESS, &request.agent, secrets);
        let mut spending = Spending::new(request);
        let mut watch = |entry: &Entry| {
            spending.count(&entry.event).map(Signal::Cancel).into_iter().collect::<Vec<Signal>>()
        };
        let parties = Parties {
            providers: self.agents,
            approver: self.approver,
            hooks: self.hooks,
            workspace: self.workspace,
            simulated: self.simulated,
            links: self.links,
            signals: &mut signals,
            kept: self.kept,
            watch: &mut watch,
            shown: Shown { sinks: self.sinks, renderer: &mut renderer },
            delegate: self,
        };
        let (turn, first) = beginning(request, cx.resolved);
        let mut work = Box::pin(caught(drive(turn, first, parties, cx)));
        let mut stopped = false;
        let end = loop {
            // The turn takes what comes from above before anything else.
            tokio::select! {
                biased;
                () = stop.notified() => {
                    stopped = true;
                    // It is over when its calls are gone.
                    let _there = send.send(Signal::Cancel(PARENT_GONE.to_owned()));
                    break work.as_mut().await;
                }
                Some(block) = above.recv() => drop(send.send(Signal::Block(block))),
                end = work.as_mut() => break end,
            }
        };
        drop(work);
        cx.log.set_turn(None);
        Ended { end, stopped, overspent: spending.is_over() }
    }
}

/// Why a delegate cannot begin; `None` when it can. `depth` is how deep the session stands that
/// delegates, `known` whether somebody proposes for the agent.
pub fn refusal(request: &DelegateRequest, (depth, known): (u32, bool)) -> Option<DelegateResult> {
    let refused = |code: &str, message: String| {
        DelegateResult::without(DelegateStatus::Refused, (Blame::Operator, code), message)
    };
    if depth >= MAX_DEPTH {
        let message = format!("delegates may stand {MAX_DEPTH} deep and no deeper");
        return Some(refused("too_deep", message));
    }
    let message = || format!("there is no agent `{}`", request.agent);
    (!known).then(|| refused("no_agent", message()))
}

/// The bundle of the session that delegates, narrowed to what its delegate is given.
pub fn bundle(parent: &Resolved, request: &DelegateRequest) -> Resolved {
    let (by, mut intent) = ("subagent".to_owned(), parent.intent.1.clone());
    // Its time is its turn's; what is left of the money is told with the call.
    if let Some(limits) = &mut intent.constraints {
        limits.deadline_ms = limits.deadline_ms.map(|most| most.min(request.budget.timeout_ms));
        limits.max_cost_usd = request.cost_left;
    }
    let goal = request.goal.clone();
    let allowed: Vec<String> = request.tools.iter().map(ToString::to_string).collect();
    let budget = request.budget;
    let scopes = request.scopes.intersection(&parent.principal.scopes).cloned().collect();
    Resolved {
        hooks: parent.hooks.clone(),
        registry: Arc::clone(&parent.registry),
        principal: Principal { scopes, ..parent.principal.clone() },
        rules: Arc::clone(&parent.rules),
        environment: parent.environment.clone(),
        excluded: parent.excluded.iter().chain(request.blocks.iter()).cloned().collect(),
        availability: Arc::new(parent.availability.delegated(&allowed, request.scoped)),
        knobs: Knobs {
            iteration_cap: budget.turns,
            call_budget: budget.calls,
            turn_deadline_ms: Some(budget.timeout_ms),
            ..parent.knobs.clone()
        },
        intent: (by, Intent { user_goal: goal.clone(), current_task: goal, ..intent }),
        broker: parent.broker.clone(),
        receipt_key: parent.receipt_key.clone(),
        views: Arc::clone(&parent.views),
    }
}

/// The one turn of a delegate, and its first input.
pub fn beginning(request: &DelegateRequest, bundle: &Resolved) -> (Turn, Input) {
    let envelope = Envelope { ingress: Some(INGRESS.to_owned()), ..Envelope::default() };
    let provider = Arc::clone(&request.agent);
    let first = Input::Begin { text: request.message(), envelope, provider };
    let activated = request.activated.within(&bundle.scoped());
    (Turn::of_delegate(activated, request.spent.clone()), first)
}

/// What a delegate has spent of its tokens.
#[derive(Debug, Clone, Copy)]
pub struct Spending {
    spent: u64,
    most: u64,
}

impl Spending {
    /// Nothing yet of what the request gives.
    pub fn new(request: &DelegateRequest) -> Self {
        Self { spent: 0, most: request.budget.tokens }
    }

    /// Counts an entry of the delegate's record; why its turn must end, said once.
    pub fn count(&mut self, event: &Event) -> Option<String> {
        let before = self.is_over();
        self.spent = self.spent.saturating_add(tokens(event));
        let over = !before && self.is_over();
        over.then(|| format!("its budget of {} tokens is spent", self.most))
    }

    /// Whether it has spent more than it has.
    pub fn is_over(&self) -> bool {
        self.spent > self.most
    }
}

/// What a delegate gives back. Its own record is the last; those below it stand before.
pub fn result(
    request: &DelegateRequest,
    ended: Ended,
    (records, transcript): (&[Journal], &Transcript),
) -> DelegateResult {
    let (status, fault) = judge(ended);
    let own = records.last().into_iter().flat_map(Journal::entries);
    let artifacts = own.filter_map(|entry| match &entry.event {
        Event::ArtifactPersisted(fact) => Some(fact.artifact_id.clone()),
        _ => None,
    });
    let all = records.iter().flat_map(Journal::entries);
    let starts: Vec<&ToolCallStarted> = all
        .filter_map(|entry| match &entry.event {
            Event::ToolCallStarted(fact) if fact.attempt.unwrap_or(1) == 1 => Some(fact),
            _ => None,
        })
        .collect();
    let summary = last_word(transcript).filter(|_| request.return_summary);
    DelegateResult {
        status,
        summary: summary.map(str::to_owned),
        transcript: request.return_transcript.then(|| written(transcript)),
        artifacts: artifacts.collect(),
        risk: starts.iter().filter_map(|start| start.effect_class).max(),
        calls: u32::try_from(starts.len()).unwrap_or(u32::MAX),
        spent: records.last().map(|own| all_spent(own.entries())).unwrap_or_default(),
        fault,
    }
}

/// Estimated tokens of a request or a reply.
fn tokens(event: &Event) -> u64 {
    match event {
        Event::ModelRequested(fact) => fact.tokens.unwrap_or(0),
        Event::ModelReplied(fact) => fact.tokens.unwrap_or(0),
        _ => 0,
    }
}

fn judge(ended: Ended) -> (DelegateStatus, Option<Fault>) {
    let fault =
        |blame, code: &str, message: String| Some(Fault { blame, code: code.to_owned(), message });
    match ended.end {
        Ok(TurnEnd::FinalText | TurnEnd::Direct) => (DelegateStatus::Completed, None),
        Ok(TurnEnd::IterationCap) => {
            let message = "the delegate's turns are spent".to_owned();
            (DelegateStatus::Budget, fault(Blame::Tool, "iteration_cap", message))
        }
        Ok(TurnEnd::LoopStopped(pattern)) => {
            let message = format!("the delegate went in circles: {pattern}");
            (DelegateStatus::Stopped, fault(Blame::Tool, "loop_stopped", message))
        }
        Ok(TurnEnd::ProviderFault(found)) => {
            (DelegateStatus::Failed, fault(Blame::Environment, "provider_fault", found.message))
        }
        Ok(TurnEnd::Cancelled(_)) if ended.stopped => (DelegateStatus::Cancelled, None),
        Ok(TurnEnd::Cancelled(cause)) if ended.overspent => {
            (DelegateStatus::Budget, fault(Blame::Tool, "token_budget", cause))
        }
        Ok(TurnEnd::Cancelled(cause)) => {
            (DelegateStatus::Timeout, fault(Blame::Tool, "timeout", cause))
        }
        Err(said) => (DelegateStatus::Failed, fault(Blame::Tool, "panic", said)),
    }
}

/// The last thing an agent said that is not empty.
fn last_word(transcript: &Transcript) -> Option<&str> {
    transcript.messages().iter().rev().find_map(|message| match message {
        Message::Assistant { text, .. } if !text.trim().is_empty() => Some(&**text),
        _ => None,
    })
}

/// A transcript in plain text.
fn written(transcript: &Transcript) -> String {
    let lines = transcript.messages().iter().map(|message| match message {
        Message::User { text } => format!("user: {text}"),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| format!("\n  {} {}", call.name, call.arguments));
            format!("assistant: {text}{}", calls.collect::<String>())
        }
        Message::Tool { text, .. } => format!("tool: {text}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}
