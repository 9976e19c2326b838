//! The calls of a trial, read from its journal and from nothing else.

use std::sync::Arc;

use serde_json::Value;

use crate::journal::event::turn::ViewCompiled;
use crate::journal::{Entry, Event};
use crate::runtime::catalog::alias;
use crate::tool::effect::EffectClass;

/// What the journal says about one call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFacts {
    /// Its id.
    pub call: Arc<str>,
    /// The tool's id where the name belongs to one, else the name as spelled.
    pub tool: Arc<str>,
    /// Whether the name was offered to the model.
    pub offered: bool,
    /// The arguments, when they were JSON.
    pub args: Option<Value>,
    /// In which reply of the trial, from 0.
    pub reply: u32,
    /// Whether the arguments passed their schema; `None` when they were never held against one.
    pub valid: Option<bool>,
    /// The strictest thing it may do, where policy looked at it.
    pub class: Option<EffectClass>,
    /// Policy's decision.
    pub decision: Option<String>,
    /// Whether a person was asked.
    pub asked: bool,
    /// Whether the answer was yes.
    pub approved: bool,
    /// Whether it ran.
    pub started: bool,
    /// The tool that ran, by its id: another one where a hook renamed the call.
    pub ran_as: Option<Arc<str>>,
    /// Whether an effect was seen: something written, deleted or reached.
    pub effect_seen: bool,
    /// Whether its effects were observed, and neither simulated nor unknown.
    pub observed: bool,
    /// The outcome's name.
    pub outcome: Option<&'static str>,
}

impl CallFacts {
    /// The tool's id; `phantom` for a name that was not offered.
    pub fn shown_as(&self) -> Arc<str> {
        if self.offered { Arc::clone(&self.tool) } else { "phantom".into() }
    }

    /// Whether it was asked for under a name, or ran as the tool of that name.
    pub fn is(&self, name: &str) -> bool {
        *self.tool == *name || self.ran_as.as_deref() == Some(name)
    }
}

/// Tokens, as estimated in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Of the advertised tools, in the first request.
    pub view: u64,
    /// Of all requests.
    pub request: u64,
    /// Of all replies.
    pub reply: u64,
}

/// The calls in the order they were asked for, and the tokens.
pub fn read(entries: &[Entry]) -> (Vec<CallFacts>, Tokens) {
    let (mut calls, mut tokens) = (Vec::new(), Tokens::default());
    let mut view: Option<&ViewCompiled> = None;
    let mut replies = 0;
    for entry in entries {
        match &entry.event {
            Event::ViewCompiled(compiled) => view = Some(compiled),
            Event::ModelRequested(request) => {
                let first = tokens.request == 0;
                tokens.request += request.tokens.unwrap_or(0);
                if first {
                    tokens.view = request.view_tokens.unwrap_or(0);
                }
            }
            Event::ModelReplied(reply) => {
                replies += 1;
                tokens.reply += reply.tokens.unwrap_or(0);
            }
            Event::ToolCallRequested(request) => {
                let exposed = view.into_iter().flat_map(|view| view.exposed.iter());
                let mut known = exposed.filter(|t| {
                    t.name == request.tool_id || *t.tool_id.as_str() == *request.tool_id
                });
                let known = known.next();
                let tool = match known {
                    Some(tool) => tool.tool_id.as_str().into(),
                    None => withheld(view, &request.tool_id)
                        .unwrap_or_else(|| request.tool_id.as_str().into()),
                };
                calls.push(CallFacts {
                    call: entry.call.clone().unwrap_or_default(),
                    tool,
                    offered: known.is_some(),
                    args: request.args.clone(),
                    reply: u32::saturating_sub(replies, 1),
                    valid: None,
                    class: None,
                    decision: None,
                    asked: false,
                    approved: false,
                    started: false,
                    ran_as: None,
                    effect_seen: false,
                    observed: false,
                    outcome: None,
                });
            }
            event => {
                let id = entry.call.as_ref();
                let found = id.and_then(|id| calls.iter_mut().rev().find(|c| c.call == *id));
                if let Some(call) = found {
                    note(call, event);
                }
            }
        }
    }
    (calls, tokens)
}

/// The id of the withheld tool that would have been advertised by this name.
fn withheld(view: Option<&ViewCompiled>, name: &str) -> Option<Arc<str>> {
    let view = view?;
    let exposed = view.exposed.iter().map(|tool| &tool.tool_id);
    let withheld = view.withheld.iter().map(|tool| &tool.tool_id);
    let names = alias::aliases(exposed.chain(withheld));
    names.into_iter().find(|(_, alias)| alias == name).map(|(id, _)| id.as_str().into())
}

fn note(call: &mut CallFacts, event: &Event) {
    match event {
        Event::ToolArgsValidated(facts) => call.valid = Some(facts.status == "passed"),
        Event::ToolPolicyChecked(facts) => {
            call.class = facts.effect_class;
            call.decision = Some(facts.decision.clone());
        }
        Event::ApprovalRequested(_) => call.asked = true,
        Event::ApprovalGranted(_) => call.approved = true,
        Event::ToolCallStarted(facts) => {
            call.started = true;
            call.ran_as = facts.tool_id.as_ref().map(|id| id.as_str().into());
        }
        Event::ToolCallFinished(facts) => {
            call.observed =
                facts.effects.as_ref().is_some_and(|effects| effects.method == "workspace");
            call.effect_seen = facts.effects.as_ref().is_some_and(|effects| {
                !effects.writes.is_empty()
                    || !effects.deletes.is_empty()
                    || !effects.external_calls.is_empty()
            });
        }
        Event::ToolCallSettled(facts) => {
            call.outcome = Some(facts.outcome.name());
            if facts.outcome.name() == "rejected" {
                call.valid = Some(false);
            }
        }
        _ => {}
    }
}
