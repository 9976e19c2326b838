//! The context bundle of one request: what a model, a delegate or a reader may build on. It is a
//! pure function of the journal and its blobs, and holds the digest of the view, what was shown of
//! results, structured outputs, and references to evidence. It never holds a whole result: whatever
//! a journal says, no text in it is longer than the session's limit, and what was cut is named by
//! its artifact.
//!
//! What is memory? A call of a tool whose action types name `memory_write`, that somebody proposed,
//! policy let pass and that succeeded: an explicit write, with its arguments as what is remembered.
//! Nothing else is. A result is none, however often it is shown; a [`MemoryCandidate`] is none,
//! because it says that nothing was remembered yet; and the runtime writes no candidate of its own,
//! neither for a result, since it does not judge what is worth remembering, nor for a memory write,
//! which is more than a candidate already.
//!
//! [`MemoryCandidate`]: crate::journal::event::turn::MemoryCandidate

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::base::bounded::bound;
use crate::base::digest::Digest;
use crate::journal::event::call::{ArtifactPersisted, ToolCallSettled, UNLOGGED};
use crate::journal::event::turn::{TranscriptAppended, ViewCompiled};
use crate::journal::{Entry, Event, Journal, Outcome};
use crate::runtime::catalog::{Registered, Registry};
use crate::tool::effect::ActionType;
use crate::tool::id::ToolId;

/// The limit where a journal names none, in Unicode scalar values.
pub const MAX_CHARS: usize = 4_000;

/// What was shown of one result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The call.
    pub call: Arc<str>,
    /// The text, never above the limit.
    pub text: Arc<str>,
    /// Whether something was cut.
    pub cut: bool,
}

/// The structured output of one call, where its tool returns that instead of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured {
    /// The call.
    pub call: Arc<str>,
    /// The output.
    pub value: Value,
}

/// Where the whole of something can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The artifact's id.
    pub artifact: String,
    /// Its kind.
    pub kind: String,
    /// The call that left it.
    pub call: Arc<str>,
    /// The entry that it belongs to.
    pub event: u64,
}

/// What was explicitly written to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The call that wrote it.
    pub call: Arc<str>,
    /// By which tool.
    pub tool: ToolId,
    /// Its arguments as JSON, cut to the limit; empty where they were not kept.
    pub text: String,
}

/// The context of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// The number of the request's entry.
    pub request: u64,
    /// The view it was made under.
    pub view: Digest,
    /// Results that are shown as text, in the transcript's order.
    pub previews: Vec<Preview>,
    /// Results that are shown as what they are, in the same order.
    pub structured: Vec<Structured>,
    /// Artifacts of these calls.
    pub evidence: Vec<Evidence>,
    /// What was written to memory before.
    pub memory: Vec<Memory>,
}

/// Whether calling a tool is an explicit memory write.
pub fn writes_memory(tool: &Registered) -> bool {
    tool.descriptor.intent.action_types.contains(&ActionType::MemoryWrite)
}

/// The bundle of the request with that number; `None` when there is no such request, or no view
/// before it. The registry says which tools write memory; a tool that it does not hold at the
/// version that ran writes none.
pub fn bundle(journal: &Journal, request: u64, registry: &Registry) -> Option<Bundle> {
    let mut fold = Fold::new(journal, registry);
    for entry in journal.entries().iter().take_while(|entry| entry.seq < request) {
        fold.take(entry);
    }
    let mut entries = journal.entries().iter();
    let asked = entries.find(|entry| entry.seq == request)?;
    matches!(asked.event, Event::ModelRequested(_)).then_some(())?;
    let Fold { view, previews, structured, mut evidence, memory, answered, .. } = fold;
    evidence.retain(|one| answered.contains(&one.call));
    let view = view?.view;
    Some(Bundle { request, view, previews, structured, evidence, memory })
}

/// What is known of one call.
#[derive(Default)]
struct Known<'a> {
    args: Option<&'a Value>,
    view: Option<&'a ViewCompiled>,
    tool: Option<(&'a ToolId, Option<Digest>)>,
    settled: Option<&'a ToolCallSettled>,
    unlogged: bool,
}

struct Fold<'a> {
    journal: &'a Journal,
    registry: &'a Registry,
    limit: usize,
    view: Option<&'a ViewCompiled>,
    calls: BTreeMap<&'a str, Known<'a>>,
    previews: Vec<Preview>,
    structured: Vec<Structured>,
    evidence: Vec<Evidence>,
    memory: Vec<Memory>,
    answered: Vec<Arc<str>>,
}

impl<'a> Fold<'a> {
    fn new(journal: &'a Journal, registry: &'a Registry) -> Self {
        Self {
            journal,
            registry,
            limit: MAX_CHARS,
            view: None,
            calls: BTreeMap::new(),
            previews: Vec::new(),
            structured: Vec::new(),
            evidence: Vec::new(),
            memory: Vec::new(),
            answered: Vec::new(),
        }
    }

    fn take(&mut self, entry: &'a Entry) {
        match &entry.event {
            Event::SessionOpened(fact) => {
                let limit =
                    fact.max_tool_result_chars.and_then(|limit| usize::try_from(limit).ok());
                self.limit = limit.unwrap_or(self.limit);
            }
            Event::ViewCompiled(fact) => self.view = Some(fact),
            Event::TranscriptAppended(fact) => self.appended(fact),
            event => {
                if let Some(call) = &entry.call {
                    self.about(call, event);
                }
            }
        }
    }

    fn about(&mut self, call: &'a Arc<str>, event: &'a Event) {
        let view = self.view;
        let known = self.calls.entry(call).or_default();
        match event {
            Event::ToolCallRequested(fact) => {
                known.args = fact.args.as_ref();
                known.view = view;
            }
            Event::ToolCallRewritten(fact) => known.args = fact.args.as_ref().or(known.args),
            Event::ToolCallStarted(fact) => {
                known.tool = fact.tool_id.as_ref().map(|tool| (tool, fact.tool_version));
            }
            Event::ToolCallFinished(fact) => known.unlogged = fact.unlogged,
            Event::ArtifactPersisted(fact) => self.stored(call, fact),
            Event::ToolCallSettled(fact) => {
                known.settled = Some(fact);
                if fact.outcome == Outcome::Succeeded {
                    self.remember(call);
                }
            }
            _ => {}
        }
    }

    fn stored(&mut self, call: &Arc<str>, fact: &ArtifactPersisted) {
        let Some(event) = fact.event_id else { return };
        self.evidence.push(Evidence {
            artifact: fact.artifact_id.clone(),
            kind: fact.kind.clone(),
            call: Arc::clone(call),
            event,
        });
    }

    fn remember(&mut self, call: &Arc<str>) {
        let Some(known) = self.calls.get(&**call) else { return };
        let Some((id, version)) = known.tool else { return };
        let tool = self.registry.get(id).filter(|tool| Some(tool.version) == version);
        if tool.is_some_and(|tool| writes_memory(tool)) {
            let text = known.args.map(Value::to_string).unwrap_or_default();
            let text = bound(&text, self.limit).text;
            self.memory.push(Memory { call: Arc::clone(call), tool: id.clone(), text });
        }
    }

    fn appended(&mut self, fact: &TranscriptAppended) {
        for message in fact.messages.iter().filter(|message| message.role == "tool") {
            let Some(call) = &message.call else { continue };
            let known = self.calls.get(call.as_str());
            let unlogged = known.is_some_and(|known| known.unlogged);
            let kept = self.journal.blobs().get(&message.text).map(|text| &**text);
            let Some(text) = kept.or(unlogged.then_some(UNLOGGED)) else { continue };
            let call: Arc<str> = Arc::from(call.as_str());
            self.answered.push(Arc::clone(&call));
            let value = known.and_then(|known| structured(known, text));
            // What a foreign journal shows at any length is cut here once more.
            let shown = bound(text, self.limit);
            match value.filter(|_| !shown.cut) {
                Some(value) => self.structured.push(Structured { call, value }),
                None => {
                    let settled = known.and_then(|known| known.settled);
                    let cut = shown.cut || settled.is_some_and(|settled| settled.cut);
                    self.previews.push(Preview { call, text: shown.text.into(), cut });
                }
            }
        }
    }
}

/// The structured output that a view lets return, read from what was shown; the receipt's line at
/// its end is no part of it.
fn structured(known: &Known<'_>, shown: &str) -> Option<Value> {
    let settled = known.settled.filter(|settled| settled.outcome == Outcome::Succeeded)?;
    let (tool, _) = known.tool?;
    let mut tools = known.view?.exposed.iter();
    let exposed = tools.find(|exposed| exposed.tool_id == *tool)?;
    if exposed.projection != "structured" || settled.cut {
        return None;
    }
    let body = match shown.rsplit_once('\n') {
        Some((body, line)) if line.starts_with("[receipt ") => body,
        _ => shown,
    };
    serde_json::from_str(body).ok()
}
