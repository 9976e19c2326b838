//! The turn as a machine: an input goes in, facts are appended, effects come out. It never
//! awaits, sleeps, spawns, prints or reads a clock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::log::Log;
use super::slots::{SlotEnd, Slots};
use super::steps::{Next, Steps};
use crate::base::secret::SecretSet;
use crate::base::world::World;
use crate::journal::Outcome;
use crate::journal::event::call::{ArtifactPersisted, ToolCallSettled};
use crate::journal::event::call::{ToolCallFinished, ToolCallStarted};
use crate::journal::event::turn::{
    DispatchPlanned, IntentDeclared, ModelReplied, ModelRequested, ProviderFault, TurnFinished,
    TurnStarted, UserPromptSubmitted, ViewCompiled,
};
use crate::journal::receipt::Scope;
use crate::runtime::dialect::proposed::scrub;
use crate::runtime::dialect::{Message, Payload, Reply, Transcript, payload};
use crate::runtime::evidence::settle::{Settled, Settling, settle};
use crate::runtime::exec::{Ran, Ready};
use crate::runtime::guard::{Answer, ApprovalRequest, Validated};
use crate::runtime::resolved::{CompiledView, Resolved};
use crate::runtime::view::ActivatedSet;
use crate::tool::id::ToolId;

/// What can happen to a turn.
#[derive(Debug)]
pub enum Input {
    /// The user said this, by this ingress.
    Begin {
        /// The text.
        text: String,
        /// The name that reports show of the provider.
        provider: &'static str,
    },
    /// The provider answered, or did not.
    Replied(Result<Reply, ProviderFault>),
    /// A person answered.
    Answered(Answer, &'static str),
    /// A call ended by itself.
    Finished(usize, Box<Ready>, Ran),
}

/// What a turn wants done.
#[derive(Debug)]
pub enum Effect {
    /// Ask the provider.
    Ask(Payload),
    /// Ask a person.
    Prompt(Box<ApprovalRequest>),
    /// Run a call.
    Start(usize, Box<Ready>),
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
}

impl TurnEnd {
    /// The name as written in journals.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FinalText => "final_text",
            Self::IterationCap => "iteration_cap",
            Self::ProviderFault(_) => "provider_fault",
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
}

/// One turn.
#[derive(Default)]
pub struct Turn {
    pub(super) view: Option<Arc<CompiledView>>,
    pub(super) slots: Slots,
    pub(super) batch: String,
    pub(super) proposed: VecDeque<crate::runtime::dialect::Proposed>,
    pub(super) waiting: Option<(usize, Validated, ApprovalRequest)>,
    pub(super) ready: VecDeque<(usize, Box<Ready>)>,
    iterations: u32,
    provider: &'static str,
    message: Arc<str>,
    activated: ActivatedSet,
}

impl Turn {
    /// Takes one input. Every effect must be answered by exactly one input.
    pub fn step(&mut self, input: Input, cx: &mut Lent<'_>) -> Effect {
        match input {
            Input::Begin { text, provider } => self.begin(&text, provider, cx),
            Input::Replied(Ok(reply)) => self.replied(reply, cx),
            Input::Replied(Err(fault)) => self.unanswered(fault, cx),
            Input::Answered(answer, channel) => self.answered(&answer, channel, cx),
            Input::Finished(slot, ready, ran) => self.finished(slot, &ready, ran, cx),
        }
    }

    fn begin(&mut self, text: &str, provider: &'static str, cx: &mut Lent<'_>) -> Effect {
        let turn = cx.world.next_id("t");
        self.provider = provider;
        cx.log.set_turn(Some(turn.into()));
        let text: Arc<str> = (cx.steps.redact)(cx.secrets, text).into();
        let prompt = UserPromptSubmitted { text: text.to_string(), ingress: None };
        cx.log.fact(cx.world, prompt);
        let knobs = &cx.resolved.knobs;
        let started = TurnStarted {
            provider: provider.to_owned(),
            dialect: knobs.dialect.name().to_owned(),
            iteration_cap: Some(knobs.iteration_cap),
            parallel_tools: knobs.parallel_tools,
            ..TurnStarted::new(String::new(), String::new())
        };
        cx.log.fact(cx.world, started);
        let (by, mut intent) = cx.resolved.intent.clone();
        for text in [&mut intent.user_goal, &mut intent.current_task, &mut intent.rationale_summary]
        {
            *text = (cx.steps.redact)(cx.secrets, text).into_owned();
        }
        cx.log.fact(cx.world, IntentDeclared { by, intent });
        self.message = Arc::clone(&text);
        super::append::append(cx, vec![Message::User { text }]);
        self.ask(cx)
    }

    /// Compiles the view, renders the request.
    pub(super) fn ask(&mut self, cx: &mut Lent<'_>) -> Effect {
        if (cx.steps.next)(self.iterations, &cx.resolved.knobs) == Next::Cap {
            return self.end(TurnEnd::IterationCap, cx);
        }
        self.iterations += 1;
        let compiled =
            cx.resolved.view(cx.failures, &self.activated, &self.message, cx.steps.may_expose);
        let view = &compiled.view;
        let fact = ViewCompiled {
            view: view.digest,
            exposed: Arc::clone(&view.exposed),
            withheld: Arc::clone(&view.withheld),
        };
        cx.log.fact(cx.world, fact);
        let payload = cx.resolved.knobs.dialect.request(&compiled.tools, cx.transcript);
        let journal = &mut cx.log.journal;
        journal.put_known_blob(payload.tools.digest, Arc::clone(&payload.tools.text));
        journal.put_known_blob(payload.messages_digest, Arc::clone(&payload.messages));
        let fact = ModelRequested {
            provider: self.provider.to_owned(),
            dialect: payload.dialect.name().to_owned(),
            payload: payload.digest,
            tools: payload.tools.digest,
            messages: payload.messages_digest,
            advertised: Arc::clone(&view.advertised),
            tokens: Some(payload.tokens()),
            view_tokens: Some(payload.view_tokens()),
        };
        cx.log.fact(cx.world, fact);
        self.view = Some(compiled);
        Effect::Ask(payload)
    }

    fn replied(&mut self, reply: Reply, cx: &mut Lent<'_>) -> Effect {
        let redact = |text: &str| (cx.steps.redact)(cx.secrets, text).into_owned();
        let finish = reply.finish.as_deref().map(redact);
        let explanation = reply.explanation.clone().map(|mut value| {
            scrub(&mut value, &redact);
            value
        });
        let (text, calls) = cx.resolved.knobs.dialect.parse(reply);
        let text = text.map(|text| redact(&text));
        let bytes = text.as_ref().map_or(0, String::len)
            + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
        let fact = ModelReplied {
            calls: u32::try_from(calls.len()).unwrap_or(u32::MAX),
            text: text.clone(),
            finish,
            fault: None,
            tokens: Some(payload::estimate(bytes)),
            explanation,
            raw: None,
        };
        cx.log.fact(cx.world, fact);
        let text: Arc<str> = text.unwrap_or_default().into();
        if calls.is_empty() {
            super::append::append(cx, vec![Message::Assistant { text, calls: Vec::new() }]);
            return self.end(TurnEnd::FinalText, cx);
        }
        self.open_batch(text, calls, cx);
        self.prepare(cx)
    }

    fn unanswered(&mut self, fault: ProviderFault, cx: &mut Lent<'_>) -> Effect {
        let message = (cx.steps.redact)(cx.secrets, &fault.message).into_owned();
        let fault = ProviderFault { message, ..fault };
        let fact = ModelReplied { fault: Some(fault.clone()), ..ModelReplied::new(0) };
        cx.log.fact(cx.world, fact);
        self.end(TurnEnd::ProviderFault(fault), cx)
    }

    /// Plans and starts; called when every slot is settled or ready.
    pub(super) fn dispatch(&mut self, cx: &mut Lent<'_>) -> Effect {
        if !self.ready.is_empty() {
            let plan = (cx.steps.plan_dispatch)(self.ready.len(), &cx.resolved.knobs);
            let calls = self.ready.iter().map(|(slot, _)| self.slots.call(*slot).to_string());
            let fact = DispatchPlanned {
                batch: self.batch.clone(),
                mode: plan.mode.to_owned(),
                reason: plan.reason.to_owned(),
                calls: calls.collect(),
            };
            cx.log.fact(cx.world, fact);
        }
        self.start_next(cx)
    }

    fn start_next(&mut self, cx: &mut Lent<'_>) -> Effect {
        let Some((slot, ready)) = self.ready.pop_front() else { return self.close_batch(cx) };
        let validated = ready.permitted().validated();
        let tool = validated.resolved().tool();
        let command = &tool.descriptor.execution.command;
        let fact = ToolCallStarted {
            tool_id: Some(tool.id().clone()),
            tool_version: Some(tool.version),
            attempt: Some(1),
            args_digest: Some(validated.args_digest()),
            call_digest: Some(validated.call_digest()),
            effect_class: Some(tool.class),
            adapter: Some(tool.descriptor.execution.adapter.clone()),
            command: (!command.is_empty()).then(|| command.join(" ")),
            ..ToolCallStarted::new()
        };
        cx.log.call(cx.world, &self.slots.call(slot), fact);
        Effect::Start(slot, ready)
    }

    fn finished(&mut self, slot: usize, ready: &Ready, ran: Ran, cx: &mut Lent<'_>) -> Effect {
        let call = self.slots.call(slot);
        let turn = cx.log.turn().cloned().unwrap_or_default();
        let session = Arc::clone(cx.log.session());
        let settling = Settling {
            redact: cx.steps.redact,
            preview: cx.steps.preview,
            receipt_eligible: cx.steps.receipt_eligible,
            secrets: cx.secrets,
            key: cx.resolved.receipt_key.as_ref(),
            max_tool_result_chars: cx.resolved.knobs.max_tool_result_chars,
            scope: Scope { session: &session, turn: &turn, call: &call },
            now: cx.world.now(),
        };
        let settled = settle(ready, ran, settling);
        if matches!(settled.outcome, Outcome::Failed { .. }) {
            let id = ready.permitted().validated().resolved().tool().id().clone();
            *cx.failures.entry(id).or_default() += 1;
        }
        self.record_settled(slot, settled, cx);
        self.start_next(cx)
    }

    fn record_settled(&mut self, slot: usize, settled: Settled, cx: &mut Lent<'_>) {
        let call = self.slots.call(slot);
        let stored = settled.artifact.map(|text| {
            let (bytes, hash) = (text.len() as u64, cx.log.journal.put_blob(text));
            (format!("art_{}", hash.short()), hash, bytes)
        });
        let artifact_id = stored.as_ref().map(|(id, _, _)| id.clone());
        let finished = ToolCallFinished { artifact_id, ..settled.finished };
        let event_id = cx.log.call(cx.world, &call, finished);
        cx.log.call(cx.world, &call, settled.validated);
        if let Some((artifact_id, content_hash, bytes)) = stored {
            let fact = ArtifactPersisted {
                artifact_id,
                kind: "tool_output".to_owned(),
                content_hash,
                bytes,
                tool_call_id: Some(call.to_string()),
                event_id: Some(event_id),
            };
            cx.log.call(cx.world, &call, fact);
        }
        if let Some(receipt) = settled.receipt {
            cx.log.call(cx.world, &call, receipt);
        }
        let end = SlotEnd { outcome: settled.outcome, shown: settled.shown, cut: settled.cut };
        self.settle(slot, end, cx);
    }

    /// Settles a slot and records it; every path of every call ends here.
    pub(super) fn settle(&mut self, slot: usize, end: SlotEnd, cx: &mut Lent<'_>) {
        let fact = ToolCallSettled {
            outcome: end.outcome.clone(),
            shown_chars: Some(end.shown.chars().count() as u64),
            shown: Some(cx.log.journal.put_blob(Arc::clone(&end.shown))),
            cut: end.cut,
        };
        cx.log.call(cx.world, &self.slots.call(slot), fact);
        self.slots.settle(slot, end);
    }

    fn close_batch(&mut self, cx: &mut Lent<'_>) -> Effect {
        let order = (cx.steps.append_order)(self.slots.len());
        let messages = self.slots.drain(&order).into_iter().map(|(call, end)| Message::Tool {
            call,
            text: end.shown,
            is_error: end.outcome != Outcome::Succeeded,
        });
        super::append::append(cx, messages.collect());
        self.ask(cx)
    }

    fn end(&self, end: TurnEnd, cx: &mut Lent<'_>) -> Effect {
        let iterations = Some(self.iterations);
        let fact = TurnFinished { iterations, ..TurnFinished::new(end.name().to_owned()) };
        cx.log.fact(cx.world, fact);
        Effect::Return(end)
    }
}
