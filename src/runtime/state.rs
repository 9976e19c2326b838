//! The agent's state: a pure fold of its journal and nothing else, so that whoever holds the record
//! holds the state.
//!
//! Two things feed it. Facts that the lifecycle records anyway say who acts, what is intended, what
//! was spent, bound, granted, asked and left open. Beside them stands one JSON document that
//! [`StateUpdated`] changes by merge patches (RFC 7396); the failures by tool that a view looks at
//! are a member of it, `recentFailures`. A call that fails counts there at once, and the patch that
//! follows says the same count, so a record that ends between the two loses nothing.
//!
//! A patch that is no object is a fact of nothing: it changes nothing and is counted. A memory
//! candidate is remembered as a candidate only; what makes a memory is said in `context`.
//!
//! [`StateUpdated`]: crate::journal::event::turn::StateUpdated

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::journal::event::call::ObservedEffects;
use crate::journal::event::catalog::GrantIssued;
use crate::journal::event::turn::SessionOpened;
use crate::journal::{Entry, Event, Outcome};
use crate::runtime::guard::{Grant, Grants};
use crate::runtime::view::{ActivatedSet, Blocks};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;

/// The member of the document that counts failures by tool.
pub const FAILURES: &str = "recentFailures";

/// A change of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct StatePatch(Map<String, Value>);

impl StatePatch {
    /// Reads a patch; `None` when it is no object.
    pub fn read(patch: &Value) -> Option<Self> {
        patch.as_object().cloned().map(Self)
    }

    /// The patch that counts a tool's failures.
    pub fn failures(tool: &ToolId, count: u32) -> Self {
        let counts = Map::from_iter([(tool.to_string(), Value::from(count))]);
        Self(Map::from_iter([(FAILURES.to_owned(), Value::Object(counts))]))
    }

    /// Changes a document: members are merged at every depth, `null` removes one, anything else
    /// replaces one (RFC 7396).
    pub fn apply(&self, document: &mut Map<String, Value>) {
        merge(document, &self.0);
    }

    /// The patch as it is written.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(key);
            }
            Value::Object(inner) => {
                let own = target.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
                if !own.is_object() {
                    *own = Value::Object(Map::new());
                }
                if let Value::Object(own) = own {
                    merge(own, inner);
                }
            }
            other => {
                target.insert(key.clone(), other.clone());
            }
        }
    }
}

/// What the user said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The text, scrubbed.
    pub text: String,
    /// The ingress it came by.
    pub ingress: Option<String>,
}

/// What is intended.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Who declared it.
    pub by: String,
    /// The intent.
    pub intent: Intent,
}

/// The rules that the session was opened under, as far as they are facts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyFacts {
    /// Who acts.
    pub principal: String,
    /// For whom.
    pub tenant: Option<String>,
    /// What they may do.
    pub scopes: Vec<String>,
    /// Names that may neither be shown nor run.
    pub excluded: BTreeSet<ToolId>,
    /// `evaluation` or `live`.
    pub scope: Option<String>,
    /// Who answers approvals.
    pub approver: Option<String>,
    /// The limit of what returns to the model, in Unicode scalar values.
    pub max_tool_result_chars: Option<u64>,
}

/// What calls were seen to leave in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touched {
    /// Resources that were written and not removed since.
    pub written: BTreeSet<String>,
    /// Resources that were removed and not written since.
    pub removed: BTreeSet<String>,
}

/// What the present turn, or the last one, has spent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spent {
    /// Model requests.
    pub requests: u32,
    /// How many model requests the turn may take.
    pub iteration_cap: Option<u32>,
    /// Calls that were made ready to start: what a budget of calls counts.
    pub calls: BTreeSet<Arc<str>>,
}

impl Spent {
    /// How many further calls a budget allows; no limit without one.
    pub fn calls_left(&self, budget: Option<u32>) -> Option<u32> {
        let spent = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        budget.map(|budget| budget.saturating_sub(spent))
    }
}

/// How far an open call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// It goes through the guards.
    #[default]
    Guarded,
    /// It can start.
    Ready,
    /// It runs.
    Started,
    /// It ended and is not settled.
    Finished,
}

/// A call without an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenCall {
    /// How far it has come.
    pub stage: Stage,
    /// The tool that started.
    pub tool: Option<ToolId>,
    /// The last attempt that started, from 1; 0 before.
    pub attempt: u32,
}

/// The state after some entries of one session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentState {
    /// What the user said last.
    pub user: Option<Said>,
    /// What was seen to change in the workspace.
    pub workspace: Touched,
    /// What is intended.
    pub task: Option<Task>,
    /// The session's rules.
    pub policy: PolicyFacts,
    /// What the turn has spent.
    pub spent: Spent,
    /// Scopes by the binding of a credential that calls were given.
    pub credentials: BTreeMap<String, Vec<String>>,
    /// Standing authority.
    pub grants: Grants,
    /// Tools that were blocked while the session ran.
    pub blocks: Blocks,
    /// Calls by the approval request that nobody has answered yet.
    pub pending: BTreeMap<String, Arc<str>>,
    /// Calls without an outcome.
    pub open: BTreeMap<Arc<str>, OpenCall>,
    /// What searches of the turn activated.
    pub activated: ActivatedSet,
    /// What may be worth remembering and was not remembered.
    pub candidates: Vec<String>,
    /// Patches that were none.
    pub refused_patches: u32,
    /// The turn that has not ended.
    pub turn: Option<Arc<str>>,
    document: Map<String, Value>,
}

impl AgentState {
    /// The state after these entries of one session.
    pub fn of(entries: &[Entry]) -> Self {
        let mut state = Self::default();
        entries.iter().for_each(|entry| state.apply(entry));
        state
    }

    /// The document that patches change.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Failures by tool, as the next view looks at them. What is no tool's name or no count says
    /// nothing.
    pub fn failures(&self) -> BTreeMap<ToolId, u32> {
        let counts = self.document.get(FAILURES).and_then(Value::as_object).into_iter().flatten();
        let read = counts.filter_map(|(name, count)| {
            let count = u32::try_from(count.as_u64()?).ok().filter(|count| *count > 0)?;
            Some((ToolId::parse(name)?, count))
        });
        read.collect()
    }

    /// Takes the next entry.
    pub fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            Event::SessionOpened(fact) => self.opened(fact),
            Event::UserPromptSubmitted(fact) => {
                self.begin(entry);
                let (text, ingress) = (fact.text.clone(), fact.ingress.clone());
                self.user = Some(Said { text, ingress });
            }
            Event::TurnStarted(fact) => {
                self.begin(entry);
                self.spent.iteration_cap = fact.iteration_cap;
            }
            Event::IntentDeclared(fact) => {
                self.task = Some(Task { by: fact.by.clone(), intent: fact.intent.clone() });
            }
            Event::ModelRequested(_) => self.spent.requests += 1,
            Event::TurnFinished(_) => {
                self.turn = None;
                self.pending.clear();
            }
            Event::StateUpdated(fact) => match StatePatch::read(&fact.patch) {
                Some(patch) => patch.apply(&mut self.document),
                None => self.refused_patches += 1,
            },
            Event::MemoryCandidate(fact) => self.candidates.push(fact.summary.clone()),
            Event::GrantIssued(fact) => self.granted(fact),
            Event::ServerConsented(fact) => self.grants.consent(fact.into()),
            Event::GrantRevoked(fact) => {
                self.grants.revoke(&fact.grant_id);
            }
            Event::ToolBlocked(fact) => {
                self.blocks.add(fact.tool_id.clone());
            }
            Event::ToolActivated(fact) => self.activated.extend([fact.tool_id.clone()]),
            event => {
                if let Some(call) = &entry.call {
                    self.about(call, event);
                }
            }
        }
    }

    fn opened(&mut self, fact: &SessionOpened) {
        self.policy = PolicyFacts {
            principal: fact.principal.clone(),
            tenant: fact.tenant.clone(),
            scopes: fact.scopes.clone(),
            excluded: fact.excluded_tools.iter().cloned().collect(),
            scope: fact.scope.clone(),
            approver: fact.approver.clone(),
            max_tool_result_chars: fact.max_tool_result_chars,
        };
    }

    fn begin(&mut self, entry: &Entry) {
        if self.turn.is_none() || self.turn != entry.turn {
            self.turn.clone_from(&entry.turn);
            self.spent = Spent::default();
            self.activated = ActivatedSet::default();
        }
    }

    /// A grant holds the scopes that its principal had when it was given.
    fn granted(&mut self, fact: &GrantIssued) {
        self.grants.add(Grant {
            id: fact.grant_id.clone(),
            tool: fact.tool_id.clone(),
            version: fact.tool_version,
            principal: fact.principal.clone(),
            tenant: fact.tenant.clone(),
            scopes: self.policy.scopes.clone(),
            class: fact.effect_class.unwrap_or(EffectClass::Read),
            expires_at: fact.expires_at,
        });
    }

    /// Facts about one call.
    fn about(&mut self, call: &Arc<str>, event: &Event) {
        match event {
            Event::ToolCallRequested(_) => {
                self.open.insert(Arc::clone(call), OpenCall::default());
            }
            Event::ApprovalRequested(fact) => {
                self.pending.insert(fact.approval_id.clone(), Arc::clone(call));
            }
            Event::ApprovalGranted(fact) => self.answered(&fact.approval_id),
            Event::ApprovalDenied(fact) => self.answered(&fact.approval_id),
            Event::ApprovalReplaced(fact) => self.answered(&fact.approval_id),
            Event::ApprovalExpired(fact) => self.answered(&fact.approval_id),
            Event::ApprovalUnreachable(fact) => self.answered(&fact.approval_id),
            Event::CredentialBound(fact) => {
                let scopes = fact.scopes.clone();
                self.credentials.insert(fact.credential_binding_id.clone(), scopes);
            }
            Event::ToolSandboxPrepared(_) => {
                self.spent.calls.insert(Arc::clone(call));
                self.stage(call, Stage::Ready);
            }
            Event::ToolCallStarted(fact) => {
                if let Some(open) = self.stage(call, Stage::Started) {
                    open.tool.clone_from(&fact.tool_id);
                    open.attempt = fact.attempt.unwrap_or(open.attempt + 1);
                }
            }
            Event::ToolCallFinished(fact) => {
                self.stage(call, Stage::Finished);
                if let Some(effects) = &fact.effects {
                    self.touched(effects);
                }
            }
            Event::ToolCallSettled(fact) => self.settled(call, &fact.outcome),
            _ => {}
        }
    }

    fn stage(&mut self, call: &Arc<str>, stage: Stage) -> Option<&mut OpenCall> {
        let open = self.open.get_mut(call)?;
        open.stage = stage;
        Some(open)
    }

    fn answered(&mut self, approval: &str) {
        self.pending.remove(approval);
    }

    fn touched(&mut self, effects: &ObservedEffects) {
        if !effects.sees_changes() {
            return;
        }
        for name in &effects.writes {
            self.workspace.removed.remove(name);
            self.workspace.written.insert(name.clone());
        }
        for name in &effects.deletes {
            self.workspace.written.remove(name);
            self.workspace.removed.insert(name.clone());
        }
    }

    fn settled(&mut self, call: &Arc<str>, outcome: &Outcome) {
        let open = self.open.remove(call);
        self.pending.retain(|_, asked| asked != call);
        let tool = open.and_then(|open| open.tool);
        if let (Outcome::Failed { .. }, Some(tool)) = (outcome, tool) {
            let count = self.failures().get(&tool).copied().unwrap_or(0);
            StatePatch::failures(&tool, count + 1).apply(&mut self.document);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_merge_as_the_rfc_says() {
        for (target, patch, merged) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({"a": "x"}), json!({"a": {"b": {"c": null}}}), json!({"a": {"b": {}}})),
        ] {
            let mut document = target.as_object().unwrap().clone();
            StatePatch::read(&patch).unwrap().apply(&mut document);
            assert_eq!(Value::Object(document), merged, "{target} {patch}");
        }
        for none in [json!(null), json!([1]), json!("a"), json!(7)] {
            assert_eq!(StatePatch::read(&none), None, "{none}");
        }
    }

    #[test]
    fn what_is_no_count_is_no_failure() {
        let mut state = AgentState::default();
        let counts = json!({"a.b": 2, "no name": 1, "c": -1, "d": "two", "e": 0, "f": 1e30});
        let patch = StatePatch::read(&json!({ FAILURES: counts })).unwrap();
        patch.apply(&mut state.document);
        assert_eq!(state.failures(), BTreeMap::from([(ToolId::sanitized("a.b"), 2)]));
        StatePatch::read(&json!({ FAILURES: 3 })).unwrap().apply(&mut state.document);
        assert_eq!(state.failures(), BTreeMap::new());
    }

    #[test]
    fn a_budget_counts_calls_and_never_goes_below_none() {
        let calls = ["1", "2", "3"].map(Arc::from).into();
        let spent = Spent { calls, ..Spent::default() };
        assert_eq!(spent.calls_left(Some(4)), Some(1));
        assert_eq!(spent.calls_left(Some(2)), Some(0));
        assert_eq!(spent.calls_left(None), None);
    }
}
