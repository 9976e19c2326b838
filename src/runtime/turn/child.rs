//! What a call hands over to a delegate, and what it gets back. A delegate never has more than the
//! turn that made it.

use std::sync::Arc;

use super::cancel::late;
use super::machine::{Lent, Turn};
use super::slots::Ticket;
use crate::base::bounded::bound;
use crate::base::world::Millis;
use crate::journal::Event;
use crate::journal::event::call::{Budget, DelegateFinished, DelegateStarted, Spent};
use crate::runtime::catalog::Registered;
use crate::runtime::exec::Ready;
use crate::runtime::exec::delegate::{
    DelegateBudget, DelegateRequest, DelegateResult, DelegateStatus, asked,
};
use crate::runtime::guard::spent::handed_on;
use crate::runtime::policy::budget::INTENT;
use crate::runtime::resolved::CompiledView;
use crate::runtime::sandbox::adapter::{Adapter, Builtin};
use crate::tool::descriptor::{ContextInheritance, Subagent, ToolCeiling};

pub(super) const DELEGATE: Adapter = Adapter::Builtin(Builtin::Delegate);
/// How much of the user's message a delegate inherits, in Unicode scalar values.
const SUMMARY: usize = 1_000;
/// How much of one artifact a delegate inherits, in Unicode scalar values.
const EVIDENCE: usize = 2_000;
/// How many artifacts a delegate inherits.
const REFERENCES: usize = 8;

/// The session of the delegate that a ticket's call started.
fn child_of(session: &str, ticket: &Ticket) -> Arc<str> {
    match ticket.attempt {
        0 | 1 => format!("{session}/{}", ticket.call).into(),
        attempt => format!("{session}/{}#{attempt}", ticket.call).into(),
    }
}

impl Turn {
    /// Why nothing can be delegated any more; `None` when it can, or when nothing is.
    pub(super) fn no_turns_left(&self, tool: &Registered, cx: &Lent<'_>) -> Option<String> {
        let spent = self.turns_left(cx) == 0;
        let delegates = Adapter::parse(&tool.descriptor.execution.adapter) == Some(DELEGATE);
        let cap = cx.resolved.knobs.iteration_cap;
        (delegates && spent).then(|| format!("all {cap} requests of the turn are spent"))
    }

    /// A tool, and for one that delegates all tools that it hands over.
    pub(super) fn reach<'t>(
        &'t self,
        tool: &'t Arc<Registered>,
        cx: &Lent<'_>,
    ) -> Vec<&'t Arc<Registered>> {
        let mut all = vec![tool];
        if let Some(view) = self.view.as_ref().filter(|_| tool.descriptor.subagent.is_some()) {
            let handed = (cx.steps.delegated)(tool, &view.view);
            let shown = view.view.leases.iter().map(|lease| &lease.tool);
            all.extend(shown.filter(|one| handed.contains(one.id())));
        }
        all
    }

    fn turns_left(&self, cx: &Lent<'_>) -> u32 {
        cx.resolved.knobs.iteration_cap.saturating_sub(self.round)
    }

    /// Calls of the turn that can start no more: those made, and those set aside for delegates.
    pub(super) fn spent_calls(&self) -> u32 {
        self.lent.values().fold(self.started_calls, |sum, calls| sum.saturating_add(*calls))
    }

    /// Narrows what the turn has to what the delegate gets, and records it; `None` for a call that
    /// is not handed over. Calls it may make are
    /// set aside until it is back.
    pub(super) fn hand_over(
        &mut self,
        ticket: &Ticket,
        (ready, view): (&Ready, &CompiledView),
        cx: &mut Lent<'_>,
    ) -> Option<DelegateRequest> {
        if ready.plan().adapter != DELEGATE {
            return None;
        }
        let validated = ready.permitted().validated();
        let tool = validated.resolved().tool();
        let subagent = tool.descriptor.subagent.as_ref()?;
        let (goal, constraints, evidence) = asked(validated.args());
        let context = self.inherited(subagent, &evidence, cx);
        let budget = self.budget(ready, subagent, cx);
        if let Some(calls) = budget.calls {
            self.lent.insert(Arc::clone(&ticket.call), calls);
        }
        let mut tools = (cx.steps.delegated)(tool, &view.view);
        tools.retain(|id| !(cx.steps.is_blocked)(cx.blocks, id));
        let (spent, cost_left) = self.used_up(&ticket.call, cx);
        let request = DelegateRequest {
            child: child_of(cx.log.session(), ticket),
            agent: subagent.agent_id.as_str().into(),
            scoped: subagent.tool_ceiling == ToolCeiling::Scoped,
            goal,
            constraints,
            evidence,
            context,
            tools,
            blocks: cx.blocks.clone(),
            activated: self.activated.clone(),
            scopes: cx.resolved.principal.scopes.clone(),
            budget,
            spent,
            cost_left,
            return_summary: subagent.context_policy.return_summary,
            return_transcript: subagent.context_policy.return_transcript,
        };
        let fact = DelegateStarted {
            child: request.child.to_string(),
            tools: request.tools.clone(),
            scopes: request.scopes.iter().cloned().collect(),
            max_turns: Some(budget.turns),
            scoped: request.scoped,
        };
        cx.call(&ticket.call, fact);
        Some(request)
    }

    /// The smaller of what the descriptor says and what is left.
    fn budget(&self, ready: &Ready, subagent: &Subagent, cx: &mut Lent<'_>) -> DelegateBudget {
        let spent = self.spent_calls();
        let calls = cx.resolved.knobs.call_budget.map(|budget| budget.saturating_sub(spent));
        let now = cx.world.now();
        let of_intent = intended_until(cx);
        let until = [self.deadline, of_intent].into_iter().flatten().min();
        let left = until.map_or(u64::MAX, |at| at.saturating_sub(now));
        DelegateBudget {
            turns: subagent.budget.max_turns.min(self.turns_left(cx)),
            calls,
            tokens: subagent.budget.max_tokens,
            timeout_ms: ready.plan().timeout_ms.min(left),
        }
    }

    /// What a delegate finds used up of the budgets of rules, and what is left of the money that
    /// the intent allows.
    fn used_up(&self, call: &Arc<str>, cx: &Lent<'_>) -> (Vec<Spent>, Option<f64>) {
        let of_rules = cx.resolved.rules.budgets().map(|(rule, budget)| budget.named(rule));
        let limits = cx.resolved.intent.1.constraints.as_ref();
        let most = limits.and_then(|limits| limits.max_cost_usd);
        let of_intent = most.map(|most| Budget {
            name: INTENT.to_owned(),
            per: "turn".to_owned(),
            cost_usd: Some(most),
            ..Budget::default()
        });
        let turn = cx.log.turn().cloned();
        let entries = cx.log.journal.entries();
        let all = of_rules.chain(of_intent);
        let mut spent = handed_on(entries, all, (&turn, call), &self.spent_above);
        let money = spent.iter().position(|one| one.name == INTENT).map(|at| spent.remove(at));
        let left = most.map(|most| (most - money.map_or(0.0, |it| it.cost_usd)).max(0.0));
        (spent, left)
    }

    /// Nothing, what the user asked for, or the texts of the artifacts that the call points to.
    fn inherited(&self, subagent: &Subagent, evidence: &[String], cx: &Lent<'_>) -> Option<String> {
        match subagent.context_policy.inherit_parent_context {
            ContextInheritance::None => None,
            ContextInheritance::Summary => {
                let asked = bound(self.message(), SUMMARY).text;
                Some(format!("The user asked:\n{asked}"))
            }
            ContextInheritance::SelectedRefs => {
                let named = evidence.iter().take(REFERENCES);
                let texts: Vec<String> = named
                    .filter_map(|id| {
                        let text = bound(artifact(id, cx)?, EVIDENCE).text;
                        Some(format!("{id}:\n{text}"))
                    })
                    .collect();
                (!texts.is_empty()).then(|| texts.join("\n\n"))
            }
        }
    }

    /// A delegate is back. It is recorded before anything else of its call is.
    pub(super) fn delegated(&mut self, ticket: &Ticket, result: DelegateResult, cx: &mut Lent<'_>) {
        if !self.runs(ticket) {
            return late(ticket, None, cx);
        }
        self.lent.remove(&ticket.call);
        self.started_calls = self.started_calls.saturating_add(result.calls);
        let child = child_of(cx.log.session(), ticket).to_string();
        let status = result.status.name().to_owned();
        let spent = result.spent.clone();
        cx.call(&ticket.call, DelegateFinished { child, status, spent });
        match result.status {
            DelegateStatus::Cancelled => {
                self.torn_down(ticket, "its turn was cancelled".to_owned(), cx);
            }
            _ => self.finished(ticket, result.into_ran(), cx),
        }
    }
}

/// When the time that the intent gives is up.
pub(super) fn intended_until(cx: &Lent<'_>) -> Option<Millis> {
    let deadline = cx.resolved.intent.1.constraints.as_ref()?.deadline_ms?;
    Some(declared_at(cx).saturating_add(deadline))
}

/// When the intent of the present turn was declared.
pub(super) fn declared_at(cx: &Lent<'_>) -> Millis {
    let mut entries = cx.log.journal.entries().iter().rev();
    let declared = entries.find(|entry| matches!(entry.event, Event::IntentDeclared(_)));
    declared.map_or(0, |entry| entry.at)
}

/// The stored text of an artifact of this session.
fn artifact<'a>(id: &str, cx: &'a Lent<'_>) -> Option<&'a str> {
    let journal = &cx.log.journal;
    let stored = journal.entries().iter().find_map(|entry| match &entry.event {
        Event::ArtifactPersisted(fact) if fact.artifact_id == id => Some(fact.content_hash),
        _ => None,
    });
    journal.blobs().get(&stored?).map(|text| &**text)
}
