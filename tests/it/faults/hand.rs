//! One turn moved by hand: every input is given in the order that a row wants.

use std::collections::BTreeMap;
use std::sync::Arc;

use proofmark::base::digest::Digest;
use proofmark::base::secret::SecretSet;
use proofmark::journal::Journal;
use proofmark::journal::event::call::ObservedEffects;
use proofmark::journal::event::turn::SessionOpened;
use proofmark::runtime::dialect::{Payload, Reply, Transcript};
use proofmark::runtime::exec::{Ran, Ready, Rehearsed};
use proofmark::runtime::guard::{
    Answer, ApprovalRequest, Envelope, Grants, HookCall, HookVerdict, Verdict,
};
use proofmark::runtime::provider::scripted;
use proofmark::runtime::resolved::Resolved;
use proofmark::runtime::turn::log::Log;
use proofmark::runtime::turn::machine::{Effect, Input, Lent};
use proofmark::runtime::turn::steps::Steps;
use proofmark::runtime::turn::{Ticket, Turn, TurnEnd};
use proofmark::runtime::view::Blocks;
use proofmark::tool::id::ToolId;

use super::scene::{Clock, Play, calls, lawful};

/// The machine, and everything it wanted so far.
pub struct Hand {
    pub resolved: Resolved,
    pub clock: Clock,
    pub transcript: Transcript,
    pub asked: Vec<Payload>,
    pub prompts: Vec<ApprovalRequest>,
    pub hooks: Vec<(Ticket, HookCall)>,
    pub looks: Vec<Ticket>,
    pub started: Vec<(Ticket, Arc<Ready>)>,
    pub aborted: Vec<Ticket>,
    pub withdrawn: Vec<String>,
    pub end: Option<TurnEnd>,
    turn: Turn,
    log: Log,
    secrets: SecretSet,
    failures: BTreeMap<ToolId, u32>,
    grants: Grants,
    blocks: Blocks,
}

impl Hand {
    /// A session whose first turn has begun: the model is asked.
    pub fn new(mut play: Play) -> Self {
        let resolved = play.resolved();
        let (mut clock, mut log) = (Clock::default(), Log::new("s1".into()));
        let opened = SessionOpened {
            scopes: resolved.principal.scopes.iter().cloned().collect(),
            receipts: true,
            max_tool_result_chars: Some(resolved.knobs.max_tool_result_chars as u64),
            approver: Some("scripted".to_owned()),
            ..SessionOpened::new(resolved.principal.id.clone())
        };
        log.fact(&mut clock, opened);
        let mut hand = Self {
            secrets: resolved.broker.secrets().clone(),
            resolved,
            clock,
            transcript: Transcript::new(),
            asked: Vec::new(),
            prompts: Vec::new(),
            hooks: Vec::new(),
            looks: Vec::new(),
            started: Vec::new(),
            aborted: Vec::new(),
            withdrawn: Vec::new(),
            end: None,
            turn: Turn::default(),
            log,
            failures: BTreeMap::new(),
            grants: Grants::default(),
            blocks: Blocks::default(),
        };
        hand.begin();
        hand
    }

    /// Begins another turn.
    pub fn begin(&mut self) {
        self.begin_from(Envelope::default());
    }

    /// Begins another turn, whose message came in so.
    pub fn begin_from(&mut self, envelope: Envelope) {
        self.turn = Turn::default();
        self.end = None;
        let text = "do it".to_owned();
        self.give(Input::Begin { text, envelope, provider: "scripted".into() });
    }

    /// Gives one input and keeps what is wanted.
    pub fn give(&mut self, input: Input) {
        let steps = Steps::REAL;
        let mut lent = Lent {
            resolved: &self.resolved,
            steps: &steps,
            secrets: &self.secrets,
            world: &mut self.clock,
            log: &mut self.log,
            transcript: &mut self.transcript,
            failures: &mut self.failures,
            grants: &mut self.grants,
            blocks: &mut self.blocks,
        };
        let mut rehearsals = Vec::new();
        for effect in self.turn.step(input, &mut lent) {
            assert_eq!(self.end, None, "{effect:?} is wanted after the end");
            match effect {
                Effect::Ask(_, payload) => self.asked.push(payload),
                Effect::RunHook(ticket, call) => self.hooks.push((ticket, *call)),
                Effect::Rehearse(ticket, planned) => rehearsals.push((ticket, planned)),
                Effect::Inspect(ticket, _) => self.looks.push(ticket),
                Effect::Prompt(request) => self.prompts.push(*request),
                Effect::Withdraw(id) => self.withdrawn.push(id),
                Effect::Start(ticket, ready, _) => self.started.push((ticket, ready)),
                Effect::Abort(ticket) => self.aborted.push(ticket),
                Effect::Return(end) => self.end = Some(end),
                Effect::AbandonAsk | Effect::Wake(_) | Effect::Block(..) | Effect::Delegate(..) => {
                }
            }
        }
        for (ticket, planned) in rehearsals {
            let found = Rehearsed { text: planned.words(), lines: None };
            self.give(Input::Rehearsed(ticket, found));
        }
        if self.end.is_some() {
            self.log.set_turn(None);
            lawful(self.journal());
        }
    }

    pub fn reply(&mut self, reply: Reply) {
        let reply = self.asked.last().unwrap().spell(reply).unwrap();
        self.give(Input::Replied(Ok(reply)));
    }

    /// The model calls.
    pub fn calls(&mut self, list: &[(&str, &str)]) {
        self.reply(calls(list));
    }

    /// The model has its last word.
    pub fn say(&mut self, text: &str) {
        self.reply(scripted::say(text));
    }

    /// A person answers the request of that place.
    pub fn answer(&mut self, place: usize, verdict: Verdict) {
        let id = self.prompts[place].id.clone();
        self.answer_to(&id, verdict);
    }

    /// A person answers that request.
    pub fn answer_to(&mut self, id: &str, verdict: Verdict) {
        let (approval_id, decider) = (id.to_owned(), "ann".to_owned());
        self.give(Input::Answered(Answer { approval_id, verdict, decider }, "scripted"));
    }

    /// A hook says something about the call it saw at that place.
    pub fn hooked(&mut self, place: usize, verdict: HookVerdict) {
        let ticket = self.hooks[place].0.clone();
        self.give(Input::Hooked(ticket, verdict));
    }

    /// The file of the call looked at in that place holds this.
    pub fn found(&mut self, place: usize, content: Option<&str>) {
        let ticket = self.looks[place].clone();
        let digest = content.map(|content| Digest::of("operand", content.as_bytes()));
        self.give(Input::Inspected(ticket, digest));
    }

    /// What started in that place ends well.
    pub fn finish(&mut self, place: usize, output: &str) {
        self.finish_as(place, Ran::ok(output, ObservedEffects::default()));
    }

    /// What started in that place ends so.
    pub fn finish_as(&mut self, place: usize, ran: Ran) {
        let ticket = self.started[place].0.clone();
        self.give(Input::Finished(ticket, ran));
    }

    /// What was to be torn down is gone.
    pub fn torn(&mut self, place: usize) {
        let ticket = self.aborted[place].clone();
        self.give(Input::TornDown(ticket, "killed".to_owned()));
    }

    /// That time has come.
    pub fn wake(&mut self, at: u64) {
        self.clock.now = at;
        self.give(Input::Elapsed);
    }

    pub fn cancel(&mut self) {
        self.give(Input::Cancel("the user".to_owned()));
    }

    pub fn journal(&self) -> &Journal {
        &self.log.journal
    }

    /// The names of the tools that started, in their order.
    pub fn running(&self) -> Vec<&str> {
        let tools = self.started.iter();
        tools
            .map(|(_, ready)| ready.permitted().validated().resolved().tool().id().as_str())
            .collect()
    }

    /// The last request is one that a provider accepts.
    pub fn acceptable(&self) {
        let payload = self.asked.last().unwrap();
        assert_eq!(scripted::acceptable(payload), Ok(()), "{}", payload.messages);
    }
}
