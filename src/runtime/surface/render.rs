//! From facts to emissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Emission, Limits, Phase, Surface, fit, observer, progress, stream};
use crate::base::digest::{Digest, Hasher};
use crate::base::secret::SecretSet;
use crate::base::world::Millis;
use crate::journal::event::call::{AttemptFailed, ToolCallRequested, ToolCallSettled};
use crate::journal::outcome::{Fault, Outcome};
use crate::journal::{Blobs, Entry, Event};

/// A name of whatever origin is shown up to this many Unicode scalar values.
const NAME: usize = 80;

/// Which call something is about, as it is shown.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) tool: String,
    pub(super) provider_id: Option<String>,
    pub(super) channel: String,
    pub(super) agent: String,
    pub(super) turn: Option<String>,
    pub(super) correlation: Digest,
    /// The same, as it is shown.
    pub(super) short: String,
}

/// How a call ended, as it is shown.
pub(super) struct End<'a> {
    pub(super) outcome: &'a Outcome,
    /// For calls that ran.
    pub(super) duration_ms: Option<u64>,
    /// What the model is shown.
    pub(super) result: Option<String>,
    /// Why it is no success.
    pub(super) reason: Option<String>,
}

impl End<'_> {
    pub(super) fn success(&self) -> bool {
        *self.outcome == Outcome::Succeeded
    }
}

/// A call that has no outcome yet.
#[derive(Debug, Default)]
struct Open {
    tool: String,
    provider_id: Option<String>,
    /// As they were proposed, or rewritten; absent where they are not logged.
    args: Option<String>,
    /// Since when it runs, and as which call it was shown.
    running: Option<(Millis, Named)>,
    ended: Option<Millis>,
}

/// Renders the facts of one session, in their order. It remembers the calls that have no outcome
/// yet and nothing else.
pub struct Renderer {
    limits: Limits,
    channel: String,
    alias: String,
    secrets: SecretSet,
    ingress: Option<String>,
    open: BTreeMap<Arc<str>, Open>,
}

impl Renderer {
    /// A renderer for the agent `alias`. `channel` stands where a message does not say by which
    /// ingress it came. Nothing of `secrets` is in any text.
    pub fn new(limits: Limits, channel: &str, alias: &str, secrets: SecretSet) -> Self {
        let (channel, alias) = (channel.to_owned(), alias.to_owned());
        Self { limits, channel, alias, secrets, ingress: None, open: BTreeMap::new() }
    }

    /// What is shown of an entry; of most it is nothing.
    pub fn render(&mut self, entry: &Entry, blobs: &Blobs) -> Vec<Emission> {
        match &entry.event {
            Event::UserPromptSubmitted(fact) => self.ingress.clone_from(&fact.ingress),
            Event::TurnFinished(_) => self.open.clear(),
            event => {
                if let Some(call) = &entry.call {
                    return self.about(event, (entry, call), blobs);
                }
            }
        }
        Vec::new()
    }

    /// Calls without an outcome that are remembered.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    fn about(
        &mut self,
        event: &Event,
        (entry, call): (&Entry, &Arc<str>),
        blobs: &Blobs,
    ) -> Vec<Emission> {
        match event {
            Event::ToolCallRequested(fact) => {
                self.open.entry(Arc::clone(call)).or_insert_with(|| requested(fact));
            }
            Event::ToolCallRewritten(fact) => {
                let open = self.open.entry(Arc::clone(call)).or_default();
                open.tool.clone_from(&fact.tool_id);
                // What was not logged when it was proposed is not shown when it is rewritten.
                open.args =
                    open.args.take().map(|args| fact.args.as_ref().map_or(args, Value::to_string));
            }
            Event::ToolCallStarted(fact) => {
                let open = self.open.entry(Arc::clone(call)).or_default();
                if let Some(id) = &fact.tool_id {
                    id.as_str().clone_into(&mut open.tool);
                }
                return self.started((entry, call));
            }
            Event::AttemptFailed(fact) => return self.again(fact, (entry, call)),
            Event::ToolCallFinished(_) | Event::TornDown(_) => {
                if let Some(open) = self.open.get_mut(call) {
                    open.ended = Some(entry.at);
                }
            }
            Event::ToolCallSettled(fact) => return self.settled(fact, (entry, call), blobs),
            _ => {}
        }
        Vec::new()
    }

    /// Opens span and card; further attempts belong to the same.
    fn started(&mut self, (entry, call): (&Entry, &Arc<str>)) -> Vec<Emission> {
        let Some(open) = self.open.get(call).filter(|open| open.running.is_none()) else {
            return Vec::new();
        };
        let named = self.named(open, (entry, call));
        let args = open.args.as_deref().map(|args| self.clean(args));
        let args = args.as_deref();
        let out = Surface::ALL.map(|surface| {
            let limit = self.limits.of(surface);
            let text = match surface {
                Surface::Observer => observer::start(&named, args, limit),
                Surface::Stream => stream::start(&named, args, limit),
                Surface::Progress => progress::start(&named, limit),
            };
            self.emission(surface, Some(Phase::Start), text, (&named, entry, call))
        });
        if let Some(open) = self.open.get_mut(call) {
            open.running = Some((entry.at, named));
        }
        out.into()
    }

    fn again(&self, fact: &AttemptFailed, (entry, call): (&Entry, &Arc<str>)) -> Vec<Emission> {
        let running = self.open.get(call).and_then(|open| open.running.as_ref());
        let Some((_, named)) = running.filter(|_| fact.retry_at.is_some()) else {
            return Vec::new();
        };
        let fault = self.clean_fault(&fact.fault);
        let text = progress::retry(named, (fact.attempt, &fault), self.limits.progress);
        vec![self.emission(Surface::Progress, None, text, (named, entry, call))]
    }

    /// Closes span and card, or notes how a call ended that never ran.
    fn settled(
        &mut self,
        fact: &ToolCallSettled,
        (entry, call): (&Entry, &Arc<str>),
        blobs: &Blobs,
    ) -> Vec<Emission> {
        let Some(mut open) = self.open.remove(call) else { return Vec::new() };
        let shown = fact.shown.as_ref().and_then(|name| blobs.get(name));
        let ended = open.ended.unwrap_or(entry.at);
        let running = open.running.take();
        let end = End {
            outcome: &fact.outcome,
            duration_ms: running.as_ref().map(|(since, _)| ended.saturating_sub(*since)),
            result: shown.map(|text| self.clean(text)),
            reason: reason(&fact.outcome).map(|text| self.clean(&text)),
        };
        let (named, phase) = match running {
            Some((_, named)) => (named, Some(Phase::End)),
            None => (self.named(&open, (entry, call)), None),
        };
        let text = |surface: Surface| {
            let limit = self.limits.of(surface);
            Some(match (surface, phase) {
                (Surface::Observer, Some(_)) => observer::end(&named, &end, limit),
                (Surface::Observer, None) => return None,
                (Surface::Stream, Some(_)) => stream::end(&named, &end, limit),
                (Surface::Stream, None) => stream::note(&named, &end, limit),
                (Surface::Progress, Some(_)) => progress::end(&named, &end, limit),
                (Surface::Progress, None) => progress::note(&named, &end, limit),
            })
        };
        let shown = Surface::ALL.into_iter().filter_map(|surface| Some((surface, text(surface)?)));
        shown
            .map(|(surface, text)| self.emission(surface, phase, text, (&named, entry, call)))
            .collect()
    }

    fn emission(
        &self,
        surface: Surface,
        phase: Option<Phase>,
        text: String,
        (named, entry, call): (&Named, &Entry, &Arc<str>),
    ) -> Emission {
        Emission {
            surface,
            phase,
            text,
            correlation: named.correlation,
            of: entry.seq,
            limit: self.limits.of(surface) as u64,
            call: Arc::clone(call),
        }
    }

    fn named(&self, open: &Open, (entry, call): (&Entry, &Arc<str>)) -> Named {
        let name = |text: &str| fit::line(&self.clean(text), NAME);
        let channel = self.ingress.as_ref().unwrap_or(&self.channel);
        let turn = entry.turn.as_deref();
        let provider_id = open.provider_id.as_deref();
        let mut hasher = Hasher::new("correlation");
        for field in [&entry.session, call, open.tool.as_str(), channel, &self.alias] {
            hasher = hasher.field(field.as_bytes());
        }
        for field in [provider_id, turn] {
            // An absent one is told from an empty one by the number of fields.
            hasher = hasher.field(&[u8::from(field.is_some())]);
            hasher = hasher.field(field.unwrap_or_default().as_bytes());
        }
        let correlation = hasher.finish();
        Named {
            tool: name(&open.tool),
            provider_id: provider_id.map(name),
            channel: name(channel),
            agent: name(&self.alias),
            turn: turn.map(name),
            short: correlation.short(),
            correlation,
        }
    }

    fn clean(&self, text: &str) -> String {
        self.secrets.scrub(text).into_owned()
    }

    fn clean_fault(&self, fault: &Fault) -> Fault {
        Fault { code: self.clean(&fault.code), message: self.clean(&fault.message), ..*fault }
    }
}

fn requested(fact: &ToolCallRequested) -> Open {
    let args = fact.args.as_ref().map(Value::to_string).or_else(|| fact.raw_args.clone());
    Open {
        tool: fact.tool_id.clone(),
        provider_id: fact.provider_call_id.clone(),
        args,
        ..Open::default()
    }
}

/// Why a call is no success, in the words that its outcome has.
fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed { fault } => Some(format!("{}: {}", fault.code, fault.message)),
        Outcome::Rejected { errors } => errors.first().map(|error| error.message.clone()),
        Outcome::Denied { reason, .. } => Some(reason.clone()),
        Outcome::Blocked { by } => Some(format!("by {by}")),
        Outcome::Duplicate { of } => Some(format!("of {of}")),
        Outcome::Cancelled { cause } => Some(cause.clone()),
        Outcome::Succeeded
        | Outcome::Unavailable { .. }
        | Outcome::Replaced
        | Outcome::Interrupted => None,
    }
}
