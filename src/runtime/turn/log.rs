//! Appending facts: who, when, and which fact led to which.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::base::world::World;
use crate::journal::event::catalog::ToolVerified;
use crate::journal::event::turn::SessionOpened;
use crate::journal::{Blobs, Entry, Event, Journal};
use crate::runtime::catalog::Registered;
use crate::runtime::guard::{Consent, Grants};
use crate::runtime::resolved::Resolved;
use crate::tool::id::ToolId;

/// Writes a session's journal. Facts about a call are caused by that call's fact before; facts
/// about the turn by the turn's.
pub struct Log {
    /// The journal.
    pub journal: Journal,
    session: Arc<str>,
    turn: Option<Arc<str>>,
    last: Option<u64>,
    calls: BTreeMap<Arc<str>, u64>,
    /// Calls whose results are not to be logged.
    hushed: BTreeSet<Arc<str>>,
    /// Whether the transcript holds what is not to be logged.
    quiet: bool,
}

impl Log {
    /// An empty journal of one session.
    pub fn new(session: Arc<str>) -> Self {
        Self {
            journal: Journal::new(),
            session,
            turn: None,
            last: None,
            calls: BTreeMap::new(),
            hushed: BTreeSet::new(),
            quiet: false,
        }
    }

    /// Goes on with a journal that was written before. Its facts belong to no turn until one is
    /// reopened.
    pub fn resumed(session: Arc<str>, journal: Journal) -> Self {
        let last = journal.entries().iter().rev().find(|entry| entry.call.is_none());
        let last = last.map(|entry| entry.seq);
        Self { last, journal, ..Self::new(session) }
    }

    /// Facts belong from here on to a turn that was open, and to its calls.
    pub fn reopen(&mut self, turn: Arc<str>) {
        let entries = self.journal.entries().iter();
        let own = entries.filter(|entry| entry.turn.as_ref() == Some(&turn));
        self.calls =
            own.filter_map(|one| Some((Arc::clone(one.call.as_ref()?), one.seq))).collect();
        self.turn = Some(turn);
    }

    /// The session's id.
    pub fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// The turn's id, inside one.
    pub fn turn(&self) -> Option<&Arc<str>> {
        self.turn.as_ref()
    }

    /// Facts belong to this turn from here on.
    pub fn set_turn(&mut self, turn: Option<Arc<str>>) {
        self.turn = turn;
        self.calls.clear();
    }

    /// The transcript holds, or will hold, what is not to be logged: requests are kept by their
    /// digests from here on.
    pub fn hush(&mut self) {
        self.quiet = true;
    }

    /// Whether requests are kept by their digests alone.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The result of a call is not to be logged.
    pub fn hush_result(&mut self, call: &str) {
        self.hushed.insert(call.into());
        self.hush();
    }

    /// Keeps what is shown of a call, unless it is not to be logged; returns its name either way.
    pub fn keep_result(&mut self, call: &str, shown: &Arc<str>) -> Digest {
        if self.hushed.contains(call) {
            return Blobs::name(shown);
        }
        self.journal.put_blob(Arc::clone(shown))
    }

    /// Appends a fact about the session or the turn.
    pub fn fact(&mut self, world: &mut dyn World, event: impl Into<Event>) -> u64 {
        let entry = self.entry(world, None, self.last, event.into());
        let seq = self.journal.append(entry);
        self.last = Some(seq);
        seq
    }

    /// Appends a fact about a call.
    pub fn call(&mut self, world: &mut dyn World, call: &Arc<str>, event: impl Into<Event>) -> u64 {
        let next = self.journal.next_seq();
        let cause = match self.calls.get_mut(call) {
            Some(last) => Some(std::mem::replace(last, next)),
            None => {
                self.calls.insert(Arc::clone(call), next);
                self.last
            }
        };
        let entry = self.entry(world, Some(Arc::clone(call)), cause, event.into());
        self.journal.append(entry)
    }

    /// Appends a fact about a call that no later fact of it follows from.
    pub fn aside(
        &mut self,
        world: &mut dyn World,
        (call, cause): (&Arc<str>, u64),
        event: impl Into<Event>,
    ) -> u64 {
        let entry = self.entry(world, Some(Arc::clone(call)), Some(cause), event.into());
        self.journal.append(entry)
    }

    fn entry(
        &self,
        world: &mut dyn World,
        call: Option<Arc<str>>,
        cause: Option<u64>,
        event: Event,
    ) -> Entry {
        Entry {
            seq: 0,
            session: Arc::clone(&self.session),
            turn: self.turn.clone(),
            call,
            cause,
            at: world.now(),
            event,
        }
    }
}

/// The session's rules and tools as facts.
pub(crate) fn opening(log: &mut Log, world: &mut dyn World, resolved: &Resolved, channel: &str) {
    let scope = if resolved.environment.evaluation { "evaluation" } else { "live" };
    let hashes = resolved.broker.hashes(&log.session);
    let planted = resolved.broker.len() - hashes.len();
    let opened = SessionOpened {
        secret_key: (!hashes.is_empty()).then(|| log.session.to_string()),
        secret_hashes: hashes,
        tenant: resolved.principal.tenant.clone(),
        scopes: resolved.principal.scopes.iter().cloned().collect(),
        canaries: Some(u32::try_from(planted).unwrap_or(u32::MAX)),
        max_tool_result_chars: Some(resolved.knobs.max_tool_result_chars as u64),
        receipts: resolved.receipt_key.is_some(),
        scope: Some(scope.to_owned()),
        excluded_tools: resolved.excluded.iter().cloned().collect(),
        approver: Some(channel.to_owned()),
        ..SessionOpened::new(resolved.principal.id.clone())
    };
    log.fact(world, opened);
    registered(log, world, resolved);
}

/// The consents that were given beforehand.
pub(crate) fn agreed(
    log: &mut Log,
    world: &mut dyn World,
    resolved: &Resolved,
    grants: &mut Grants,
) {
    for server in resolved.environment.servers.iter() {
        let consent = Consent::of(server, &resolved.principal);
        if let Some(by) = server.consented_by.as_ref().filter(|_| !grants.consented(&consent)) {
            grants.consent(consent.clone());
            log.fact(world, consent.fact(by));
        }
    }
}

/// The tools that the journal does not know yet.
pub(crate) fn registered(log: &mut Log, world: &mut dyn World, resolved: &Resolved) {
    // What the journal of a resumed session knows already is not said again.
    let known: BTreeSet<(ToolId, Digest)> = log
        .journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::ToolVerified(fact) => Some((fact.tool_id.clone(), fact.tool_version)),
            _ => None,
        })
        .collect();
    let new = |tool: &&Arc<Registered>| !known.contains(&(tool.id().clone(), tool.version));
    for tool in resolved.registry.iter().filter(new) {
        let fact = ToolVerified {
            effects_declared: true,
            ..ToolVerified::new(tool.id().clone(), tool.version)
        };
        log.fact(world, fact);
    }
}
