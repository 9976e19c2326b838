//! The one fold that all laws share: a session's entries in order, and the same by kind, by call,
//! by turn and by round. What several laws need is worked out once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::repeat::Scopes;
use super::spans::{Round, Turns, rounds};

use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::catalog::*;
use crate::journal::event::turn::*;
use crate::journal::{Entry, Event};
use crate::tool::id::ToolId;

/// The facts of one kind of event, read from any event.
pub(crate) trait Fact: Sized {
    /// Which kind, as one bit of a set.
    const BIT: u64;
    /// The facts, when the event is of this kind.
    fn of(event: &Event) -> Option<&Self>;
    /// The same, to be altered by a mutant.
    fn of_mut(event: &mut Event) -> Option<&mut Self>;
}

macro_rules! facts {
    ($($name:ident),+ $(,)?) => {
        #[derive(Clone, Copy)]
        enum Kind { $($name),+ }

        /// The kind of an event, as one bit; nothing for a kind that no law asks for.
        fn bit(event: &Event) -> u64 {
            match event {
                $(Event::$name(_) => $name::BIT,)+
                _ => 0,
            }
        }

        /// The names of the events that laws read.
        #[cfg(test)]
        pub(crate) const READ: &[&str] = &[$(stringify!($name)),+];

        $(impl Fact for $name {
            const BIT: u64 = 1 << Kind::$name as u32;

            fn of(event: &Event) -> Option<&Self> {
                if let Event::$name(fact) = event { Some(fact) } else { None }
            }

            fn of_mut(event: &mut Event) -> Option<&mut Self> {
                if let Event::$name(fact) = event { Some(fact) } else { None }
            }
        })+
    };
}

facts! {
    DispatchPlanned, ToolSandboxPrepared, ModelSwitched, SteeringReceived, StateUpdated,
    LoopWarned, LoopStopped, CancelAcknowledged, TornDown, LateResultDropped,
    ToolDiscovered, ToolNormalized, ToolVerified, ToolEnabled, ToolBlocked, GrantUsed,
    SessionOpened, TurnStarted, ViewCompiled, ModelRequested, ModelReplied, BatchOpened,
    TranscriptAppended, TurnFinished,
    ToolCallRequested, ToolCallRewritten, ToolArgsValidated, ToolPolicyChecked, ApprovalRequested,
    ApprovalGranted, ApprovalDenied, ApprovalReplaced, ApprovalExpired, ApprovalUnreachable,
    ToolCallStarted, AttemptFailed, ToolCallFinished, ToolResultValidated, ArtifactPersisted,
    ReceiptIssued, ToolCallSettled,
    GrantIssued, GrantRevoked, ServerConsented, HookRan, RepeatStopped, DuplicateDropped,
    ToolActivated, DelegateStarted, DelegateFinished, SurfaceEmitted,
}

/// One fact and where it stands.
#[derive(Debug)]
pub(crate) struct Seen<'a, F> {
    /// Its place in the session, from 0.
    pub(crate) at: usize,
    /// Its entry.
    pub(crate) entry: &'a Entry,
    /// What it says.
    pub(crate) fact: &'a F,
}

impl<F> Clone for Seen<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Seen<'_, F> {}

impl<'a, F: Fact> Seen<'a, F> {
    fn of((at, entry): (usize, &'a Entry)) -> Option<Self> {
        F::of(&entry.event).map(|fact| Self { at, entry, fact })
    }

    /// The entry's number.
    pub(crate) fn seq(&self) -> u64 {
        self.entry.seq
    }
}

/// The part of a list that stands before a place.
pub(crate) fn until<'s, 'a, F>(seen: &'s [Seen<'a, F>], at: usize) -> &'s [Seen<'a, F>] {
    seen.get(..seen.partition_point(|seen| seen.at < at)).unwrap_or_default()
}

/// One call: its entries in order.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    seen: Vec<(usize, &'a Entry)>,
    kinds: u64,
    /// Messages of the transcript that answer it, as places in `Index::transcript`.
    pub(crate) messages: Vec<usize>,
}

impl<'a> Call<'a> {
    /// All its facts of one kind, oldest first.
    pub(crate) fn each<F: Fact + 'a>(&self) -> impl DoubleEndedIterator<Item = Seen<'a, F>> {
        let seen = if self.has::<F>() { self.seen.as_slice() } else { &[] };
        seen.iter().filter_map(|seen| Seen::of(*seen))
    }

    /// Whether it has a fact of a kind.
    pub(crate) fn has<F: Fact>(&self) -> bool {
        self.kinds & F::BIT != 0
    }

    /// Its entries, oldest first.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (usize, &'a Entry)> {
        self.seen.iter().copied()
    }

    /// The last fact of a kind.
    pub(crate) fn last<F: Fact + 'a>(&self) -> Option<Seen<'a, F>> {
        self.each().next_back()
    }

    /// The first fact of a kind.
    pub(crate) fn first<F: Fact + 'a>(&self) -> Option<Seen<'a, F>> {
        self.each().next()
    }

    /// The last fact of a kind before a place.
    pub(crate) fn before<F: Fact + 'a>(&self, at: usize) -> Option<Seen<'a, F>> {
        if !self.has::<F>() {
            return None;
        }
        let end = self.seen.partition_point(|(place, _)| *place < at);
        self.seen.get(..end)?.iter().rev().find_map(|seen| Seen::of(*seen))
    }

    /// Where its record begins.
    pub(crate) fn begins(&self) -> Option<(usize, &'a Entry)> {
        self.seen.first().copied()
    }

    /// Whether an entry of that number belongs to it.
    pub(crate) fn has_seq(&self, seq: u64) -> bool {
        self.seen.iter().any(|(_, entry)| entry.seq == seq)
    }

    /// Its last rewriting before a place, or the session's start.
    pub(crate) fn rewritten(&self, before: usize) -> usize {
        self.before::<ToolCallRewritten>(before).map_or(0, |rewrite| rewrite.at)
    }
}

/// A message of the transcript and where it was appended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// The place of its entry.
    pub(crate) at: usize,
    /// Its entry.
    pub(crate) entry: &'a Entry,
    /// The message.
    pub(crate) message: &'a TranscriptMessage,
}

/// One session's entries, by order and by call.
#[derive(Default)]
pub(crate) struct Index<'a> {
    /// All entries, in order.
    pub(crate) entries: Vec<&'a Entry>,
    /// The session's rules.
    pub(crate) opened: Option<&'a SessionOpened>,
    /// Its calls, by first appearance.
    pub(crate) calls: Vec<Call<'a>>,
    /// Its transcript.
    pub(crate) transcript: Vec<Message<'a>>,
    /// Its views.
    pub(crate) views: Vec<Seen<'a, ViewCompiled>>,
    /// Every verification.
    pub(crate) verified: Vec<Seen<'a, ToolVerified>>,
    /// Every block.
    pub(crate) blocked: Vec<Seen<'a, ToolBlocked>>,
    /// Every registration, by tool and then by place.
    registered: Vec<Registered<'a>>,
    kinds: u64,
    names: BTreeMap<&'a str, usize>,
    approvals: BTreeMap<&'a str, usize>,
    ends: Ends<'a>,
    last_call: Option<(&'a Arc<str>, usize)>,
    turns: Turns,
    rounds: Vec<Round<'a>>,
    scopes: Scopes<'a>,
}

/// Where a tool was registered in a version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registered<'a> {
    /// The tool.
    tool: &'a str,
    /// The place of its entry.
    pub(crate) at: usize,
    /// The version.
    pub(crate) version: &'a Digest,
}

/// The last end of each turn, of those without a name, and of all.
#[derive(Default)]
struct Ends<'a> {
    named: BTreeMap<&'a str, usize>,
    unnamed: Option<usize>,
    last: Option<usize>,
}

impl<'a> Index<'a> {
    /// The index of a session's entries.
    pub(crate) fn new(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let entries = entries.into_iter();
        let mut index = Self::default();
        index.entries.reserve(entries.size_hint().0);
        entries.for_each(|entry| index.push(entry));
        index.registered.sort_by_key(|known| known.tool);
        index.turns = Turns::of(&index);
        index.rounds = rounds(&index);
        index.scopes = Scopes::of(&index);
        index
    }

    fn push(&mut self, entry: &'a Entry) {
        let at = self.entries.len();
        self.entries.push(entry);
        let kind = bit(&entry.event);
        self.kinds |= kind;
        match &entry.event {
            Event::SessionOpened(fact) => {
                self.opened.get_or_insert(fact);
            }
            Event::ViewCompiled(fact) => self.views.push(Seen { at, entry, fact }),
            Event::ToolNormalized(fact) => self.register(at, &fact.tool_id, &fact.tool_version),
            Event::ToolVerified(fact) => {
                self.verified.push(Seen { at, entry, fact });
                self.register(at, &fact.tool_id, &fact.tool_version);
            }
            Event::ToolBlocked(fact) => self.blocked.push(Seen { at, entry, fact }),
            Event::ToolEnabled(fact) => self.register(at, &fact.tool_id, &fact.tool_version),
            Event::TurnFinished(_) => {
                self.ends.last = Some(at);
                match &entry.turn {
                    Some(turn) => _ = self.ends.named.insert(turn, at),
                    None => self.ends.unnamed = Some(at),
                }
            }
            Event::TranscriptAppended(fact) => self.append(at, entry, fact),
            _ => {}
        }
        if let Some(call) = self.call_of(entry) {
            if let Event::ApprovalRequested(fact) = &entry.event {
                self.approvals.entry(&fact.approval_id).or_insert(call);
            }
            let call = &mut self.calls[call];
            call.kinds |= kind;
            call.seen.push((at, entry));
        }
    }

    fn register(&mut self, at: usize, tool: &'a ToolId, version: &'a Digest) {
        self.registered.push(Registered { tool: tool.as_str(), at, version });
    }

    /// Every registration of a tool, oldest first.
    pub(crate) fn registered(&self, tool: &str) -> &[Registered<'a>] {
        let from = self.registered.partition_point(|known| known.tool < tool);
        let rest = self.registered.get(from..).unwrap_or_default();
        let own = rest.iter().take_while(|known| known.tool == tool).count();
        rest.get(..own).unwrap_or_default()
    }

    /// Whether any tool is registered.
    pub(crate) fn registers(&self) -> bool {
        !self.registered.is_empty()
    }

    fn append(&mut self, at: usize, entry: &'a Entry, fact: &'a TranscriptAppended) {
        for message in &fact.messages {
            let place = self.transcript.len();
            self.transcript.push(Message { at, entry, message });
            if let ("tool", Some(call)) = (message.role.as_str(), &message.call) {
                let call = self.number(call);
                self.calls[call].messages.push(place);
            }
        }
    }

    /// The call an entry is about: its own word, else what its facts name.
    fn call_of(&mut self, entry: &'a Entry) -> Option<usize> {
        if let Some(call) = &entry.call {
            if let Some((last, number)) = self.last_call
                && Arc::ptr_eq(last, call)
            {
                return Some(number);
            }
            let number = self.number(call);
            self.last_call = Some((call, number));
            return Some(number);
        }
        let approval = match &entry.event {
            Event::ArtifactPersisted(fact) => {
                return fact.tool_call_id.as_deref().map(|call| self.number(call));
            }
            Event::ApprovalGranted(fact) => &fact.approval_id,
            Event::ApprovalDenied(fact) => &fact.approval_id,
            Event::ApprovalReplaced(fact) => &fact.approval_id,
            Event::ApprovalExpired(fact) => &fact.approval_id,
            Event::ApprovalUnreachable(fact) => &fact.approval_id,
            _ => return None,
        };
        self.approvals.get(approval.as_str()).copied()
    }

    fn number(&mut self, id: &'a str) -> usize {
        let next = self.calls.len();
        let number = *self.names.entry(id).or_insert(next);
        if number == next {
            let (seen, messages) = (Vec::with_capacity(16), Vec::new());
            self.calls.push(Call { id, seen, kinds: 0, messages });
        }
        number
    }

    /// All facts of one kind in the session, oldest first.
    pub(crate) fn each<F: Fact + 'a>(&self) -> impl DoubleEndedIterator<Item = Seen<'a, F>> {
        let entries = if self.has::<F>() { self.entries.as_slice() } else { &[] };
        entries.iter().enumerate().filter_map(|(at, entry)| Seen::of((at, entry)))
    }

    /// Whether the session has a fact of a kind.
    pub(crate) fn has<F: Fact>(&self) -> bool {
        self.kinds & F::BIT != 0
    }

    /// Its turns.
    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The calls of each reply, by place.
    pub(super) fn rounds(&self) -> &[Round<'a>] {
        &self.rounds
    }

    /// Which turn and which reply each call belongs to.
    pub(super) fn scopes(&self) -> &Scopes<'a> {
        &self.scopes
    }

    /// A call by its id.
    pub(crate) fn call(&self, id: &str) -> Option<&Call<'a>> {
        self.names.get(id).and_then(|number| self.calls.get(*number))
    }

    /// The call that asked for an approval.
    pub(crate) fn asked_by(&self, approval: &str) -> Option<&Call<'a>> {
        self.approvals.get(approval).and_then(|number| self.calls.get(*number))
    }

    /// The view in force at a place.
    pub(crate) fn view(&self, at: usize) -> Option<Seen<'a, ViewCompiled>> {
        until(&self.views, at).last().copied()
    }

    /// The view a call was proposed under.
    pub(crate) fn view_of(&self, call: &Call<'a>) -> Option<Seen<'a, ViewCompiled>> {
        let asked = call.first::<ToolCallRequested>().map(|request| request.at);
        self.view(asked.or(call.begins().map(|(at, _)| at))?)
    }

    /// Whether the call's turn ended, so that nothing more can come.
    pub(crate) fn over(&self, call: &Call<'a>) -> bool {
        let Some((at, entry)) = call.begins() else { return self.ends.last.is_some() };
        let end = match entry.turn.as_deref() {
            Some(turn) => self.ends.named.get(turn).copied().max(self.ends.unnamed),
            None => self.ends.last,
        };
        end.is_some_and(|end| end > at)
    }

    /// The tool of a started call: what the start names, else what validation resolved, else what
    /// the view calls by the requested name, else that name.
    pub(crate) fn tool(
        &self,
        call: &Call<'a>,
        start: Seen<'a, ToolCallStarted>,
    ) -> Option<&'a str> {
        if let Some(tool) = &start.fact.tool_id {
            return Some(tool.as_str());
        }
        let validated = call.before::<ToolArgsValidated>(start.at);
        if let Some(tool) = validated.and_then(|seen| seen.fact.tool_id.as_ref()) {
            return Some(tool.as_str());
        }
        let rewritten = call.before::<ToolCallRewritten>(start.at).map(|seen| &seen.fact.tool_id);
        let name =
            rewritten.or(call.first::<ToolCallRequested>().map(|seen| &seen.fact.tool_id))?;
        let view = self.view_of(call).map(|view| &view.fact.exposed);
        let shown = view.and_then(|shown| shown.iter().find(|tool| tool.name == *name));
        Some(shown.map_or(name.as_str(), |tool| tool.tool_id.as_str()))
    }
}
