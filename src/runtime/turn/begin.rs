//! How a turn begins: what the user said, the bundle it runs on, what is intended.

use std::sync::Arc;

use super::append::append;
use super::machine::{Effect, Lent, Turn};
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::event::turn::{IntentDeclared, TurnStarted, UserPromptSubmitted};
use crate::runtime::dialect::{Dialect, Message, RawCall};
use crate::runtime::guard::{Envelope, Validated};

/// How much of a beginning is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Begun {
    /// What the user said.
    #[default]
    Prompted,
    /// The bundle.
    Started,
    /// The intent.
    Intended,
}

/// A call that somebody other than a model proposes.
#[derive(Debug)]
pub struct Proposal {
    /// What is asked for, in words, as the transcript will show it.
    pub text: String,
    /// Whom the session talks to.
    pub provider: Arc<str>,
    /// The call.
    pub call: RawCall,
    /// What it takes back, where it is an undo.
    pub undoes: Option<Undoes>,
}

/// What an undo must find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undoes {
    /// The call that it takes back.
    pub call: String,
    /// The files that it changes; none where the inverse is not about files.
    pub files: Vec<String>,
    /// What they must still hold, as an operand's digest; `None` where there must be none.
    pub left: Option<Digest>,
}

impl Turn {
    /// A turn of one call, through all guards.
    pub(super) fn propose(&mut self, proposal: Proposal, cx: &mut Lent<'_>) {
        let turn = cx.world.next_id("t");
        cx.log.set_turn(Some(turn.into()));
        self.provider = proposal.provider;
        self.message = cx.redact_known(&proposal.text).into();
        self.direct = true;
        self.undoes = proposal.undoes;
        self.begun(Begun::Prompted, None, cx);
        self.compile(cx);
        self.open_batch("".into(), vec![proposal.call], cx);
        self.advance(cx);
    }

    /// Files whose content is part of what a call is allowed for.
    pub(super) fn operands(&self, validated: &Validated) -> Vec<String> {
        match &self.undoes {
            Some(undoes) if !undoes.files.is_empty() => undoes.files.clone(),
            _ => validated.resolved().tool().operands(validated.args()),
        }
    }

    /// Why a call would take back more than it should: what the call it undoes had left is not
    /// there any more.
    pub(super) fn moved_on(&self, validated: &Validated) -> Option<String> {
        let undoes = self.undoes.as_ref().filter(|undoes| !undoes.files.is_empty())?;
        let same = validated.is_bound_to(undoes.left);
        let files = undoes.files.join(", ");
        (!same).then(|| format!("{files} has changed since {}, and would lose that", undoes.call))
    }

    pub(super) fn begin(
        &mut self,
        text: &str,
        envelope: Envelope,
        provider: Arc<str>,
        cx: &mut Lent<'_>,
    ) {
        let turn = cx.world.next_id("t");
        cx.log.set_turn(Some(turn.into()));
        self.provider = provider;
        self.message = cx.redact_known(text).into();
        let clean = |field: &Option<String>| field.as_deref().map(|text| cx.redact_known(text));
        let fact = UserPromptSubmitted {
            text: self.message.to_string(),
            ingress: envelope.ingress.clone(),
            channel: clean(&envelope.channel),
            reply_to: clean(&envelope.reply_to),
            thread: clean(&envelope.thread),
        };
        cx.fact(fact);
        self.envelope = envelope;
        self.begun(Begun::Prompted, None, cx);
        self.ask(cx);
    }

    /// Records what is missing of the beginning, to the first message of the transcript.
    pub(super) fn begun(&mut self, recorded: Begun, since: Option<Millis>, cx: &mut Lent<'_>) {
        let knobs = &cx.resolved.knobs;
        if recorded < Begun::Started {
            let (provider, dialect) = (self.provider.to_string(), knobs.dialect.name().to_owned());
            cx.fact(TurnStarted {
                iteration_cap: Some(knobs.iteration_cap),
                parallel_tools: knobs.parallel_tools,
                duplicate_scope: Some(knobs.duplicate_scope.name().to_owned()),
                duplicate_exempt: cx.resolved.exempt(),
                call_budget: knobs.call_budget,
                loop_warn: u32::try_from(knobs.loop_limits.identical.warn).ok(),
                loop_stop: u32::try_from(knobs.loop_limits.identical.stop).ok(),
                strict: knobs.dialect == Dialect::Text && knobs.text.strict,
                direct: self.direct,
                ..TurnStarted::new(provider, dialect)
            });
        }
        if recorded < Begun::Intended {
            let (by, mut intent) = cx.resolved.intent.clone();
            let texts =
                [&mut intent.user_goal, &mut intent.current_task, &mut intent.rationale_summary];
            for text in texts {
                *text = cx.redact_known(text);
            }
            cx.fact(IntentDeclared { by, intent });
        }
        self.limit(since, cx);
        append(cx, vec![Message::User { text: Arc::clone(&self.message) }]);
    }

    /// The turn's time runs from its beginning, also while nobody works on it.
    pub(super) fn limit(&mut self, since: Option<Millis>, cx: &mut Lent<'_>) {
        if let Some(limit) = cx.resolved.knobs.turn_deadline_ms {
            let at = since.unwrap_or_else(|| cx.world.now()).saturating_add(limit);
            self.deadline = Some(at);
            self.out.push(Effect::Wake(at));
        }
    }
}
