//! What the guards remember of the open turn, read from its facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::journal::{Entry, Event, Outcome};
use crate::runtime::guard::repeat::{CallKey, Ledger, key_of};
use crate::runtime::resolved::Resolved;
use crate::runtime::turn::LOOP_STOPPED;
use crate::runtime::turn::control::{LoopVerdict, Round, pattern};
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
    writes: BTreeSet<Arc<str>>,
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
        (!polls).then(|| Round { key: *key, tool: tool.clone(), result })
    }

    fn about(&mut self, call: &Arc<str>, event: &Event, (resolved, steps): (&Resolved, &Steps)) {
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
            Event::ToolCallSettled(fact) => self.settled(call, &fact.outcome, (resolved, steps)),
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
                if let LoopVerdict::Stop(pattern) = verdict {
                    self.stopped = Some(pattern.to_owned());
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
