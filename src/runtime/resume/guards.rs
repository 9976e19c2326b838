//! What the guards remember of the open turn, read from its facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::journal::event::turn::ExposedTool;
use crate::journal::{Entry, Event, Outcome};
use crate::runtime::dialect::Arguments;
use crate::runtime::guard::repeat::{CallKey, Ledger, key_of};
use crate::runtime::resolved::Resolved;
use crate::runtime::turn::LOOP_STOPPED;
use crate::runtime::turn::control::{LoopVerdict, Round, add_refusal, is_refusal, pattern};
use crate::runtime::turn::steps::Steps;
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;

/// The memory of one turn.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// What was asked, what stands, what ran.
    pub(super) ledger: Ledger,
    /// Calls that ended, for the loop guard.
    pub(super) rounds: Vec<Round>,
    /// The pattern that stopped the turn.
    pub(super) stopped: Option<String>,
    /// Patterns that were warned about.
    pub(super) warned: BTreeSet<&'static str>,
    /// Calls that count against the budget.
    pub(super) counted: BTreeSet<Arc<str>>,
    keys: BTreeMap<Arc<str>, (CallKey, ToolId)>,
    made: BTreeMap<Arc<str>, (String, Digest)>,
    writes: BTreeSet<Arc<str>>,
    exposed: Arc<[ExposedTool]>,
    batch: BTreeSet<String>,
    round: u32,
}

impl Memory {
    /// Reads the facts of a turn. Calls that go through the guards `again` leave nothing behind:
    /// they will stand, be asked about and count once more.
    pub(super) fn of<'a>(
        facts: impl Iterator<Item = &'a Entry>,
        again: &BTreeSet<Arc<str>>,
        (resolved, steps): (&Resolved, &Steps),
    ) -> Self {
        let mut memory = Self::default();
        for entry in facts {
            match (&entry.event, &entry.call) {
                (Event::ModelRequested(_), _) => memory.round += 1,
                (Event::LoopWarned(fact), _) => memory.warned.extend(pattern(&fact.pattern)),
                (Event::ViewCompiled(fact), _) => memory.exposed = Arc::clone(&fact.exposed),
                (Event::BatchOpened(fact), _) => {
                    memory.batch = fact.slots.iter().cloned().collect();
                }
                (event, Some(call)) if !again.contains(call) => {
                    memory.about(call, event, (resolved, steps));
                }
                _ => {}
            }
        }
        memory
    }

    /// What the loop guard remembers of a call that ended without a result.
    pub(super) fn round_of(&self, call: &Arc<str>, resolved: &Resolved) -> Option<Round> {
        let (key, tool) = self.keys.get(call)?;
        let polls = resolved.registry.get(tool).is_some_and(|tool| resolved.is_polling(tool));
        let result = Digest::of("result", b"");
        (!polls).then(|| Round::ran(*key, tool.clone(), result))
    }

    /// What the loop guard remembers of a call that never started.
    fn refusal_of(&self, call: &Arc<str>, told: Digest, resolved: &Resolved) -> Option<Round> {
        let (name, args) = self.made.get(call)?;
        let mut exposed = self.exposed.iter();
        let shown = exposed.find(|one| one.name == *name || one.tool_id.as_str() == name);
        let tool = shown.map(|one| one.tool_id.clone());
        let known = tool.as_ref().and_then(|tool| resolved.registry.get(tool));
        let polls = known.is_some_and(|tool| resolved.is_polling(tool));
        (!polls).then(|| Round::refused((name, *args), tool, told, self.round))
    }

    /// Digest of a call's arguments, where the record says it.
    pub(super) fn args_of(&self, call: &Arc<str>) -> Option<Digest> {
        self.made.get(call).map(|(_, args)| *args)
    }

    /// The name and the arguments of a call as they are from here on.
    fn makes(&mut self, call: &Arc<str>, event: &Event) {
        let (name, args) = match event {
            Event::ToolCallRequested(fact) => {
                let json = fact.args.clone().map(Arguments::Json);
                let read = || fact.raw_args.as_deref().map(Arguments::read);
                (Some(&fact.tool_id), fact.args_digest.or(json.or_else(read).map(|it| it.digest())))
            }
            Event::ToolCallRewritten(fact) => {
                let json = fact.args.clone().map(Arguments::Json);
                (Some(&fact.tool_id), fact.args_digest.or(json.map(|it| it.digest())))
            }
            // Blank arguments stand for none and are shown as they were.
            Event::ToolArgsValidated(fact) if !fact.blank => {
                let json = fact.args.clone().map(Arguments::Json);
                (None, fact.args_digest.or(json.map(|it| it.digest())))
            }
            _ => return,
        };
        let known = self.made.get(call);
        let name = name.or(known.map(|(name, _)| name)).cloned();
        let args = args.or(known.map(|(_, args)| *args));
        if let Some(made) = name.zip(args) {
            self.made.insert(Arc::clone(call), made);
        }
    }

    fn about(&mut self, call: &Arc<str>, event: &Event, (resolved, steps): (&Resolved, &Steps)) {
        self.makes(call, event);
        match event {
            Event::ToolArgsValidated(fact) => {
                if let (Some(tool), Some(args)) = (&fact.tool_id, fact.args_digest) {
                    let known = (key_of(tool, args), tool.clone());
                    self.keys.insert(Arc::clone(call), known);
                }
            }
            Event::ToolPolicyChecked(fact) if fact.effect_class > Some(EffectClass::Read) => {
                self.writes.insert(Arc::clone(call));
            }
            Event::ApprovalRequested(_) => {
                if let Some(key) = self.key(call) {
                    self.ledger.prompted(key, call, self.round);
                    self.stand(call, key);
                }
            }
            Event::ApprovalGranted(_) | Event::ApprovalReplaced(_) => {
                if let Some(key) = self.key(call) {
                    self.ledger.granted(key);
                }
            }
            Event::ApprovalDenied(_)
            | Event::ApprovalExpired(_)
            | Event::ApprovalUnreachable(_) => {
                if let Some(key) = self.key(call) {
                    self.ledger.refused(key, call);
                }
            }
            Event::RepeatStopped(_) => self.stopped = Some("repeated_prompt".to_owned()),
            Event::ToolSandboxPrepared(_) => {
                self.counted.insert(Arc::clone(call));
                if let Some(key) = self.key(call) {
                    self.stand(call, key);
                }
            }
            Event::ToolCallStarted(_) => self.ledger.started(call),
            Event::ToolCallFinished(fact) => {
                self.ledger.ended(call);
                let round = self.round_of(call, resolved);
                let result = fact.result_digest;
                self.rounds.extend(
                    round.map(|round| Round { result: result.unwrap_or(round.result), ..round }),
                );
            }
            Event::ToolCallSettled(fact) => {
                let same_reply = |of: &str| self.batch.contains(of);
                if is_refusal(&fact.outcome, &same_reply)
                    && let Some(told) = fact.shown
                    && let Some(round) = self.refusal_of(call, told, resolved)
                {
                    add_refusal(&mut self.rounds, round);
                }
                self.settled(call, &fact.outcome, (resolved, steps));
            }
            _ => {}
        }
    }

    fn settled(
        &mut self,
        call: &Arc<str>,
        outcome: &Outcome,
        (resolved, steps): (&Resolved, &Steps),
    ) {
        match outcome {
            // Whether this one blocked the call or ended the turn is decided as it was then.
            Outcome::Blocked { by } if by == "loop_guard" => {
                let verdict = (steps.loop_guard)(&self.rounds, self.key(call), &resolved.knobs);
                match (verdict, self.keys.get(call)) {
                    (LoopVerdict::Stop(pattern), _) => self.stopped = Some(pattern.to_owned()),
                    (LoopVerdict::Block(_), Some((key, tool))) => {
                        let round = Round::blocked(&self.rounds, *key, tool);
                        self.rounds.extend(round);
                    }
                    _ => {}
                }
            }
            Outcome::Cancelled { cause } if cause == LOOP_STOPPED => {
                self.stopped.get_or_insert_with(|| "loop".to_owned());
            }
            _ => {}
        }
        if !outcome.started() {
            self.ledger.fall(call);
        }
    }

    fn key(&self, call: &Arc<str>) -> Option<CallKey> {
        self.keys.get(call).map(|(key, _)| *key)
    }

    fn stand(&mut self, call: &Arc<str>, key: CallKey) {
        self.ledger.stand(key, call, self.round, self.writes.contains(call));
    }
}
