//! Taking a call back. An undo is a call like any other: it is proposed by the system in a turn of
//! its own and goes through every guard, so it may be denied, asked about or found unavailable, and
//! it can be undone itself.
//!
//! A call that kept a pre-image is taken back by restoring it: what was there is written, and a
//! file that was not there is deleted (folders made on the way stay). Only text is restored, whole
//! and without secrets, or nothing. What the call had left must still be there: where the file has
//! changed since, policy denies the undo and says that it would lose that change. Nobody is asked
//! about it, because whoever wants that can write or delete the file. The content is bound to the
//! approval like the arguments are, so a change while a person is asked voids it. Any other call is
//! taken back by the inverse that its tool names.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::journal::event::call::{ObservedEffects, ToolCallStarted};
use crate::journal::{Event, Journal, Outcome};
use crate::runtime::catalog::Registered;
use crate::runtime::dialect::RawCall;
use crate::runtime::evidence::pending::PRE_IMAGE;
use crate::runtime::exec::PreImage;
use crate::runtime::resolved::Resolved;
use crate::runtime::turn::begin::{Proposal, Undoes};
use crate::tool::undo::PRE_IMAGES;

/// Why there is nothing to propose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoRefusal {
    /// The session has no such call.
    #[error("there is no call `{0}` in this session")]
    Unknown(String),
    /// It has no outcome.
    #[error("call `{0}` has not ended")]
    Open(String),
    /// It did nothing, or nobody knows what it did.
    #[error("call `{call}` ended as {outcome}; only what succeeded can be undone")]
    NotDone {
        /// The call.
        call: String,
        /// Its outcome.
        outcome: &'static str,
    },
    /// It was seen to change nothing.
    #[error("call `{0}` changed nothing")]
    Nothing(String),
    /// What it changed cannot be restored.
    #[error("what call `{0}` changed was not kept: it was too large, no text, or held a secret")]
    NotKept(String),
    /// Its arguments are not in the record.
    #[error("the arguments of call `{0}` were not kept")]
    NoArguments(String),
    /// Its tool is not there any more as it was.
    #[error("`{tool}` is not registered any more as call `{call}` ran it")]
    Changed {
        /// The call.
        call: String,
        /// Its tool.
        tool: String,
    },
    /// Its tool names no inverse.
    #[error("`{0}` names no inverse and keeps no pre-image")]
    NotReversible(String),
    /// Nothing could restore the file.
    #[error("no tool of this session runs {0}")]
    NoTool(&'static str),
}

/// What a journal says of one call.
#[derive(Default)]
struct Done<'a> {
    known: bool,
    args: Option<&'a Value>,
    start: Option<&'a ToolCallStarted>,
    effects: Option<&'a ObservedEffects>,
    outcome: Option<&'a Outcome>,
    pre_image: Option<PreImage>,
}

impl<'a> Done<'a> {
    fn of(journal: &'a Journal, call: &str) -> Self {
        let mut done = Self::default();
        let own = journal.entries().iter().filter(|entry| entry.call.as_deref() == Some(call));
        for entry in own {
            match &entry.event {
                Event::ToolCallRequested(fact) => {
                    done.known = true;
                    done.args = fact.args.as_ref();
                }
                Event::ToolCallRewritten(fact) => done.args = fact.args.as_ref().or(done.args),
                Event::ToolArgsValidated(fact) => done.args = fact.args.as_ref().or(done.args),
                Event::ToolCallStarted(fact) => done.start = Some(fact),
                Event::ToolCallFinished(fact) => done.effects = fact.effects.as_ref(),
                Event::ArtifactPersisted(fact) if fact.kind == PRE_IMAGE => {
                    let text = journal.blobs().get(&fact.content_hash);
                    done.pre_image = text.and_then(|text| serde_json::from_str(text).ok());
                }
                Event::ToolCallSettled(fact) => done.outcome = Some(&fact.outcome),
                _ => {}
            }
        }
        done
    }
}

/// The call that takes another one back.
///
/// # Errors
/// Why there is none.
pub fn propose(
    journal: &Journal,
    call: &str,
    (resolved, provider): (&Resolved, &Arc<str>),
) -> Result<Proposal, UndoRefusal> {
    let done = Done::of(journal, call);
    let own = || call.to_owned();
    if !done.known {
        return Err(UndoRefusal::Unknown(own()));
    }
    let outcome = done.outcome.ok_or_else(|| UndoRefusal::Open(own()))?;
    let Some(start) = done.start.filter(|_| *outcome == Outcome::Succeeded) else {
        return Err(UndoRefusal::NotDone { call: own(), outcome: outcome.name() });
    };
    let (name, arguments, undoes) = match &done.pre_image {
        Some(image) => restore(call, image, resolved)?,
        None => invert(call, &done, start, resolved)?,
    };
    Ok(Proposal {
        text: format!("Undo {call}."),
        provider: Arc::clone(provider),
        call: RawCall::native(None, name, Value::Object(arguments).to_string()),
        undoes: Some(undoes),
    })
}

type Proposed = (String, Map<String, Value>, Undoes);

fn restore(call: &str, image: &PreImage, resolved: &Resolved) -> Result<Proposed, UndoRefusal> {
    let (adapter, arguments) = match &image.before {
        Some(text) => ("builtin:file.write", json!({"path": image.path, "content": text})),
        None => ("builtin:file.delete", json!({"path": image.path})),
    };
    let runs = |tool: &&Arc<Registered>| tool.descriptor.execution.adapter == adapter;
    let scope = resolved.scoped();
    let tool = scope.tools().find(runs).ok_or(UndoRefusal::NoTool(adapter))?;
    let files = vec![image.path.clone()];
    let undoes = Undoes { call: call.to_owned(), files, left: image.left };
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Ok((tool.id().to_string(), arguments, undoes))
}

fn invert(
    call: &str,
    done: &Done<'_>,
    start: &ToolCallStarted,
    resolved: &Resolved,
) -> Result<Proposed, UndoRefusal> {
    let own = || call.to_owned();
    let id = start.tool_id.as_ref().ok_or_else(|| UndoRefusal::Unknown(own()))?;
    let tool = resolved.registry.get(id);
    let tool = tool.filter(|tool| start.tool_version.is_none_or(|ran| ran == tool.version));
    let changed = || UndoRefusal::Changed { call: own(), tool: id.to_string() };
    let execution = &tool.ok_or_else(changed)?.descriptor.execution;
    let Some(inverse) = &execution.inverse else {
        if !PRE_IMAGES.contains(&execution.adapter.as_str()) {
            return Err(UndoRefusal::NotReversible(id.to_string()));
        }
        let changed = |seen: &&ObservedEffects| !seen.writes.is_empty() || !seen.deletes.is_empty();
        return Err(match done.effects.filter(changed) {
            Some(_) => UndoRefusal::NotKept(own()),
            None => UndoRefusal::Nothing(own()),
        });
    };
    let args = done.args.and_then(Value::as_object);
    let args = args.ok_or_else(|| UndoRefusal::NoArguments(own()))?;
    let undoes = Undoes { call: own(), files: Vec::new(), left: None };
    Ok((inverse.tool.to_string(), inverse.arguments(args), undoes))
}
