//! One call, read from its facts.

use std::sync::Arc;

use serde_json::Value;

use super::{ResumeError, text};
use crate::base::digest::Digest;
use crate::journal::event::call::{
    ApprovalExpired, HookRan, ToolCallFinished, ToolCallRequested, ToolCallSettled, UNLOGGED,
};
use crate::journal::outcome::{Denier, Fault};
use crate::journal::{Entry, Event, Journal, Outcome};
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::transcript::AssistantCall;
use crate::runtime::dialect::{Arguments, Origin, Proposed};
use crate::runtime::evidence::Pending;
use crate::runtime::guard::{HookSpec, HookVerdict, Point};
use crate::runtime::resolved::Resolved;
use crate::runtime::turn::assistant_call;
use crate::runtime::turn::reopen::{Attempted, Ended, Had, Left};
use crate::runtime::turn::slots::{Chain, SlotEnd};
use crate::runtime::turn::steps::Steps;
use crate::tool::id::ToolId;

/// What is kept of a call's arguments.
#[derive(Debug, Clone, Default)]
enum Kept {
    /// JSON.
    Json(Value),
    /// A text that is no JSON, or blank.
    Raw(String),
    /// Nothing.
    #[default]
    Nothing,
}

/// What was answered, short of a yes.
#[derive(Debug, Clone)]
enum Refusal {
    Denied(Denier, String),
    Replaced(Option<(Digest, u64)>),
}

/// One call.
#[derive(Debug, Default)]
pub(super) struct Call {
    name: String,
    provider_id: Option<String>,
    index: u32,
    origin: Origin,
    args: Kept,
    seen_by: Vec<String>,
    rewrites: Option<String>,
    blocked: Option<(HookSpec, HookVerdict)>,
    refusal: Option<Refusal>,
    duplicate: Option<String>,
    repeated: bool,
    asked: bool,
    started: Option<u32>,
    tool: Option<(ToolId, Option<Digest>)>,
    failed: Option<(u32, Fault)>,
    torn: bool,
    finished: Option<(u64, ToolCallFinished)>,
    had: Had,
    watched_by: Vec<(String, String)>,
    settled: Option<(u64, ToolCallSettled)>,
    patched: bool,
}

impl Call {
    /// A call as it was requested.
    pub(super) fn requested(fact: &ToolCallRequested) -> Self {
        let args = match (&fact.args, &fact.raw_args) {
            (Some(value), _) => Kept::Json(value.clone()),
            (None, Some(raw)) => Kept::Raw(raw.clone()),
            (None, None) => Kept::Nothing,
        };
        Self {
            name: fact.tool_id.clone(),
            provider_id: fact.provider_call_id.clone(),
            index: fact.index.unwrap_or(0),
            origin: origin(fact.origin.as_deref()),
            args,
            ..Self::default()
        }
    }

    /// Takes the next fact about it.
    pub(super) fn take(&mut self, entry: &Entry) {
        match &entry.event {
            Event::HookRan(fact) => self.hooked(fact),
            Event::ToolCallRewritten(fact) => {
                self.name.clone_from(&fact.tool_id);
                if let Some(args) = &fact.args {
                    self.args = Kept::Json(args.clone());
                }
                self.seen_by.extend(self.rewrites.take());
            }
            Event::ToolArgsValidated(fact) => {
                if let Some(args) = &fact.args {
                    self.args = Kept::Json(args.clone());
                }
            }
            Event::RepeatStopped(_) => self.repeated = true,
            Event::DuplicateDropped(fact) => self.duplicate = Some(fact.of.clone()),
            Event::ToolCallStarted(fact) => {
                self.started = Some(fact.attempt.unwrap_or(1));
                self.torn = false;
                self.tool = fact.tool_id.clone().map(|tool| (tool, fact.tool_version));
            }
            Event::AttemptFailed(fact) => self.failed = Some((fact.attempt, fact.fault.clone())),
            Event::TornDown(_) => self.torn = true,
            Event::ToolCallFinished(fact) => self.finished = Some((entry.seq, fact.clone())),
            Event::ToolResultValidated(_) => self.had.validated = true,
            Event::ArtifactPersisted(fact) => {
                self.had.artifacts.insert(fact.artifact_id.clone());
            }
            Event::ReceiptIssued(_) => self.had.receipt = true,
            Event::ToolCallSettled(fact) => self.settled = Some((entry.seq, fact.clone())),
            Event::StateUpdated(_) => self.patched = true,
            event => self.answered(event, entry.seq),
        }
    }

    fn answered(&mut self, event: &Event, seq: u64) {
        let denied = |by, why: &str| Some(Refusal::Denied(by, why.to_owned()));
        match event {
            Event::ApprovalRequested(_) => {
                self.asked = true;
                self.refusal = None;
            }
            Event::ApprovalDenied(fact) => {
                self.refusal = denied(Denier::Operator, fact.reason.as_deref().unwrap_or("no"));
            }
            Event::ApprovalReplaced(fact) => {
                self.refusal = Some(Refusal::Replaced(fact.text.map(|name| (name, seq))));
            }
            Event::ApprovalExpired(ApprovalExpired { late_answer: true, .. }) => {
                let why = "the answer came after the request had expired";
                self.refusal = denied(Denier::ApprovalExpired, why);
            }
            Event::ApprovalExpired(_) => {
                self.refusal = denied(Denier::ApprovalTimeout, "nobody answered in time");
            }
            Event::ApprovalUnreachable(_) => {
                self.refusal = denied(Denier::NoApprover, "there is nobody to ask");
            }
            _ => {}
        }
    }

    fn hooked(&mut self, fact: &HookRan) {
        if fact.point != Point::BeforeCall.name() {
            return self.watched_by.push((fact.point.clone(), fact.hook.clone()));
        }
        let reason = fact.reason.clone().unwrap_or_default();
        let verdict = match fact.verdict.as_str() {
            // It has seen the call only once what it said of it is recorded too.
            "rewrite" if !fact.observer => return self.rewrites = Some(fact.hook.clone()),
            "cancel" if !fact.observer => HookVerdict::Cancel { reason },
            "failed" if !fact.observer => HookVerdict::Failed { why: reason },
            _ => return self.seen_by.push(fact.hook.clone()),
        };
        let spec = HookSpec {
            name: fact.hook.clone(),
            point: Point::BeforeCall,
            priority: 0,
            observer: false,
            global: false,
        };
        self.blocked = Some((spec, verdict));
    }

    /// Whether its outcome is known, and whether that is a success.
    pub(super) fn succeeded(&self) -> Option<bool> {
        self.settled.as_ref().map(|(_, fact)| fact.outcome == Outcome::Succeeded)
    }

    /// What was shown of it; where that was not to be logged it is said that nobody knows it.
    pub(super) fn result(
        &self,
        journal: &Journal,
        name: &Digest,
        seq: u64,
    ) -> Result<Arc<str>, ResumeError> {
        let unlogged = self.finished.as_ref().is_some_and(|(_, fact)| fact.unlogged);
        match text(journal, name, seq) {
            Err(_) if unlogged => Ok(UNLOGGED.into()),
            found => found,
        }
    }

    /// Whether a person was asked about it.
    pub(super) fn asked(&self) -> bool {
        self.asked
    }

    /// As the transcript shows it; arguments that were not kept are shown as none.
    pub(super) fn shown(&self, call: &Arc<str>) -> AssistantCall {
        let nothing = || AssistantCall {
            call: Arc::clone(call),
            name: self.name.clone(),
            arguments: "{}".to_owned(),
        };
        self.proposed(call).map_or_else(nothing, |proposed| assistant_call(&proposed))
    }

    /// Whether its arguments were kept.
    pub(super) fn keeps_args(&self) -> bool {
        !matches!(self.args, Kept::Nothing)
    }

    /// As it can be proposed again; `None` where its arguments were not kept.
    fn proposed(&self, call: &Arc<str>) -> Option<Proposed> {
        let arguments = match &self.args {
            Kept::Json(value) => Arguments::Json(value.clone()),
            Kept::Raw(raw) if raw.trim().is_empty() => Arguments::Blank,
            Kept::Raw(raw) => match Arguments::read(raw) {
                malformed @ Arguments::Malformed { .. } => malformed,
                // It was no call's arguments then, whatever it looks like.
                _ => {
                    let why = "the block they stood in is flawed".to_owned();
                    Arguments::Malformed { raw: raw.clone(), why }
                }
            },
            Kept::Nothing => return None,
        };
        Some(Proposed {
            call: Arc::clone(call),
            provider_id: self.provider_id.clone(),
            name: self.name.clone(),
            arguments,
            index: self.index,
            origin: self.origin,
        })
    }

    /// The chain of hooks that have not seen it.
    fn chain(&self, resolved: &Resolved) -> Chain {
        let unseen = |spec: &Arc<HookSpec>| !self.seen_by.contains(&spec.name);
        let left = resolved.hooks.global(Point::BeforeCall).filter(unseen).collect();
        Chain { left, own: self.seen_by.clone(), ran: 0 }
    }

    /// Hooks that should watch its end and have not.
    fn unwatched(&self, resolved: &Resolved, failed: bool) -> Vec<Arc<HookSpec>> {
        let own = self.registered(resolved).map(|tool| &tool.descriptor.hooks);
        let of = |point: Point, names: Option<&Vec<String>>| {
            let names = names.map(Vec::as_slice).unwrap_or_default();
            resolved.hooks.global(point).chain(resolved.hooks.own(point, names)).collect::<Vec<_>>()
        };
        let mut specs = of(Point::AfterCall, own.map(|own| &own.post_call));
        if failed {
            specs.extend(of(Point::OnError, own.map(|own| &own.on_error)));
        }
        let seen = |spec: &HookSpec| {
            let mut watched = self.watched_by.iter();
            watched.any(|(point, name)| *point == spec.point.name() && *name == spec.name)
        };
        specs.retain(|spec| !seen(spec));
        specs
    }

    /// The tool that started, where it is still registered at that version.
    fn registered<'r>(&self, resolved: &'r Resolved) -> Option<&'r Arc<Registered>> {
        let (id, version) = self.tool.as_ref()?;
        resolved.registry.get(id).filter(|tool| version.is_none_or(|known| known == tool.version))
    }

    fn tool_id(&self) -> ToolId {
        let started = self.tool.as_ref().map(|(tool, _)| tool.clone());
        started.unwrap_or_else(|| ToolId::sanitized(&self.name))
    }

    /// Whether it goes through the guards again.
    pub(super) fn is_open(&self) -> bool {
        let refused = self.refusal.is_some() || self.blocked.is_some();
        let dropped = self.duplicate.is_some() || self.repeated;
        self.settled.is_none() && self.started.is_none() && !refused && !dropped
    }

    /// What became of it.
    pub(super) fn left(
        &self,
        call: &Arc<str>,
        journal: &Journal,
        (resolved, steps): (&Resolved, &Steps),
    ) -> Result<Left, ResumeError> {
        if let Some((seq, fact)) = &self.settled {
            return self.settled(*seq, fact, journal);
        }
        if let Some((seq, fact)) = &self.finished {
            let name = fact.pending.as_ref().ok_or(ResumeError::Text(*seq))?;
            let pending: Pending = serde_json::from_str(&text(journal, name, *seq)?)
                .map_err(|_| ResumeError::Text(*seq))?;
            let shown = self.result(journal, &pending.shown, *seq)?;
            let failed = matches!(pending.outcome, Outcome::Failed { .. });
            let had = Had {
                validated: self.had.validated,
                artifacts: self.had.artifacts.clone(),
                receipt: self.had.receipt,
            };
            let unwatched = self.unwatched(resolved, failed);
            let tool = self.tool_id();
            let ended = Ended { event: *seq, pending, shown, had, tool, unwatched };
            return Ok(Left::Ended(Box::new(ended)));
        }
        if let Some(attempt) = self.started {
            return Ok(match &self.failed {
                Some((last, fault)) if *last == attempt => Left::Failed(Box::new(Attempted {
                    fault: fault.clone(),
                    tool: self.tool_id(),
                    round: None,
                    unwatched: self.unwatched(resolved, true),
                })),
                _ => Left::Running { torn: self.torn },
            });
        }
        if let Some(refusal) = &self.refusal {
            return Ok(match refusal {
                Refusal::Denied(by, why) => Left::Denied(*by, why.clone()),
                Refusal::Replaced(Some((name, seq))) => {
                    Left::Replaced(Some(text(journal, name, *seq)?))
                }
                Refusal::Replaced(None) => Left::Replaced(None),
            });
        }
        if let Some((spec, verdict)) = &self.blocked
            && let Some(reason) = (steps.hook_blocks)(spec, verdict)
        {
            return Ok(Left::Blocked(spec.name.clone(), reason));
        }
        if let Some(of) = &self.duplicate {
            return Ok(Left::Duplicate(of.clone()));
        }
        if self.repeated {
            return Ok(Left::Repeated);
        }
        Ok(match self.proposed(call) {
            Some(proposed) => Left::Open(Box::new(proposed), self.chain(resolved)),
            None => Left::Lost,
        })
    }

    fn settled(
        &self,
        seq: u64,
        fact: &ToolCallSettled,
        journal: &Journal,
    ) -> Result<Left, ResumeError> {
        let name = fact.shown.as_ref().ok_or(ResumeError::Text(seq))?;
        let end = SlotEnd {
            outcome: fact.outcome.clone(),
            shown: self.result(journal, name, seq)?,
            cut: fact.cut,
            name: Some(*name),
        };
        let failed = matches!(fact.outcome, Outcome::Failed { .. });
        let unpatched = (failed && !self.patched).then(|| self.tool_id());
        Ok(Left::Settled(end, unpatched))
    }
}

fn origin(name: Option<&str>) -> Origin {
    let all = [Origin::Tagged, Origin::Fenced, Origin::Invoke, Origin::Bare];
    all.into_iter().find(|origin| Some(origin.name()) == name).unwrap_or_default()
}
