//! The facade: open a session or resume one, say something, read the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex as Held, PoisonError};

use tokio::sync::{Mutex, mpsc};

use super::catalog::Registered;
use super::dialect::Transcript;
use super::exec::Workspace;
use super::guard::{Approver, Envelope, Grants, Hook};
use super::provider::Provider;
use super::resolved::Resolved;
use super::resume::{self, Further, ResumeError};
use super::state::AgentState;
use super::turn::TurnEnd;
use super::turn::driver::{Parties, Signal, Watch, drive};
use super::turn::log::Log;
use super::turn::machine::{Input, Lent};
use super::turn::reopen::Reopened;
use super::turn::steps::Steps;
use super::undo::{self, UndoRefusal};
use crate::base::digest::Digest;
use crate::base::secret::SecretSet;
use crate::base::world::World;
use crate::journal::event::catalog::ToolVerified;
use crate::journal::event::turn::{ProviderFault, SessionOpened};
use crate::journal::{Event, Journal};
use crate::tool::id::ToolId;

/// Everything a session is made of.
pub struct Parts {
    /// The session's id.
    pub id: Arc<str>,
    /// The bundle its turns run on.
    pub resolved: Arc<Resolved>,
    /// The decisions.
    pub steps: Steps,
    /// Time and ids.
    pub world: Box<dyn World>,
    /// Who proposes first.
    pub provider: Box<dyn Provider>,
    /// Who may be switched to, by name.
    pub others: BTreeMap<Arc<str>, Box<dyn Provider>>,
    /// Who approves.
    pub approver: Box<dyn Approver>,
    /// Who looks at calls before and after, by name.
    pub hooks: BTreeMap<String, Arc<dyn Hook>>,
    /// Where file tools act.
    pub workspace: Workspace,
}

/// A conversation with one journal and one transcript.
pub struct Session {
    resolved: Arc<Resolved>,
    steps: Steps,
    world: Box<dyn World>,
    provider: Arc<str>,
    providers: BTreeMap<Arc<str>, Mutex<Box<dyn Provider>>>,
    approver: Mutex<Box<dyn Approver>>,
    hooks: BTreeMap<String, Arc<dyn Hook>>,
    workspace: Held<Workspace>,
    log: Log,
    transcript: Transcript,
    secrets: SecretSet,
    failures: BTreeMap<ToolId, u32>,
    grants: Grants,
    reopened: Option<Reopened>,
    remote: (mpsc::UnboundedSender<Signal>, mpsc::UnboundedReceiver<Signal>),
}

/// Reaches a session while a turn of it runs: the cancellation token, the steering queue, the
/// model switch and the revocation of grants.
#[derive(Debug, Clone)]
pub struct Remote(mpsc::UnboundedSender<Signal>);

impl Remote {
    /// Sends a signal; the turn takes it before anything else. Whether the session is still there.
    pub fn send(&self, signal: Signal) -> bool {
        self.0.send(signal).is_ok()
    }
}

impl Session {
    /// Opens a session and records its rules and its registered tools.
    pub fn open(parts: Parts) -> Self {
        let log = Log::new(Arc::clone(&parts.id));
        Self::begin(parts, log)
    }

    /// Rebuilds a session from its journal and goes on in it: under the same id, with the messages,
    /// the failures and the grants that the journal says, and with ids that it does not know. A
    /// turn that had not ended goes on before the next one does.
    ///
    /// # Errors
    /// Why the journal cannot be gone on with.
    pub fn resume(mut parts: Parts, journal: Journal) -> Result<Self, ResumeError> {
        let read = resume::read(&journal, &parts.id, (&parts.resolved, &parts.steps))?;
        parts.world = Box::new(Further::new(parts.world, read.ids));
        let log = Log::resumed(Arc::clone(&parts.id), journal);
        let mut session = Self::begin(parts, log);
        session.transcript = read.transcript;
        session.failures = read.state.failures();
        session.grants = read.state.grants;
        session.reopened = read.open;
        Ok(session)
    }

    fn begin(mut parts: Parts, mut log: Log) -> Self {
        let channel = parts.approver.channel();
        opening(&mut log, &mut *parts.world, &parts.resolved, channel);
        let secrets = parts.resolved.broker.secrets();
        let provider: Arc<str> = parts.provider.name().into();
        let mut providers = BTreeMap::from([(Arc::clone(&provider), Mutex::new(parts.provider))]);
        let others = parts.others.into_iter();
        providers.extend(others.map(|(name, provider)| (name, Mutex::new(provider))));
        Self {
            resolved: parts.resolved,
            steps: parts.steps,
            world: parts.world,
            provider,
            providers,
            approver: Mutex::new(parts.approver),
            hooks: parts.hooks,
            workspace: Held::new(parts.workspace),
            log,
            transcript: Transcript::new(),
            secrets,
            failures: BTreeMap::new(),
            grants: Grants::default(),
            reopened: None,
            remote: mpsc::unbounded_channel(),
        }
    }

    /// One turn: the user says `text`, the model acts until it has its last word.
    pub async fn turn(&mut self, text: String) -> TurnEnd {
        self.turn_from(text, Envelope::default(), &mut |_| Vec::new()).await
    }

    /// One turn whose message came in by an envelope. `watch` sees every entry as it is recorded
    /// and may answer with signals, which the turn takes next.
    pub async fn turn_from(
        &mut self,
        text: String,
        envelope: Envelope,
        watch: Watch<'_>,
    ) -> TurnEnd {
        self.go_on(watch).await;
        let provider = Arc::clone(&self.provider);
        self.drive(Input::Begin { text, envelope, provider }, watch).await
    }

    /// Ends the turn that was open when the session was resumed; `None` when there was none.
    pub async fn go_on(&mut self, watch: Watch<'_>) -> Option<TurnEnd> {
        let mut open = self.reopened.take()?;
        if open.provider.is_empty() {
            open.provider = Arc::clone(&self.provider);
        }
        Some(self.drive(Input::Resume(Box::new(open)), watch).await)
    }

    /// Takes a call back: its inverse is proposed by the system, in a turn of its own and through
    /// all guards. The journal says what became of it.
    ///
    /// # Errors
    /// Why there is nothing to propose; nothing was recorded then.
    pub async fn undo(&mut self, call: &str) -> Result<TurnEnd, UndoRefusal> {
        self.go_on(&mut |_| Vec::new()).await;
        let bundle = (&*self.resolved, &self.provider);
        let proposal = undo::propose(&self.log.journal, call, bundle)?;
        let arguments = &proposal.call.arguments;
        if *(self.steps.redact_known)(&self.secrets, arguments) != **arguments {
            // What would be restored holds what is a secret now.
            return Err(UndoRefusal::NotKept(call.to_owned()));
        }
        Ok(self.drive(Input::Propose(Box::new(proposal)), &mut |_| Vec::new()).await)
    }

    async fn drive(&mut self, first: Input, watch: Watch<'_>) -> TurnEnd {
        let parties = Parties {
            providers: &self.providers,
            approver: &self.approver,
            hooks: &self.hooks,
            workspace: &self.workspace,
            signals: &mut self.remote.1,
            watch,
        };
        let mut lent = Lent {
            resolved: &self.resolved,
            steps: &self.steps,
            secrets: &self.secrets,
            world: &mut *self.world,
            log: &mut self.log,
            transcript: &mut self.transcript,
            failures: &mut self.failures,
            grants: &mut self.grants,
        };
        let end = drive(first, parties, &mut lent).await;
        self.log.set_turn(None);
        end
    }

    /// Reaches the session while a turn runs.
    pub fn remote(&self) -> Remote {
        Remote(self.remote.0.clone())
    }

    /// What the record says of the agent.
    pub fn state(&self) -> AgentState {
        AgentState::of(self.log.journal.entries())
    }

    /// Whether a turn is open that another process began.
    pub fn is_open(&self) -> bool {
        self.reopened.is_some()
    }

    /// The record so far.
    pub fn journal(&self) -> &Journal {
        &self.log.journal
    }

    /// The messages so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// What is wrong with a provider at the end, such as steps of a script that were never played.
    pub fn leftover(&mut self) -> Option<ProviderFault> {
        self.providers.values_mut().find_map(|provider| provider.get_mut().leftover())
    }

    /// Ends the session and gives its record away.
    pub fn close(self) -> (Journal, Transcript) {
        drop(self.workspace.into_inner().unwrap_or_else(PoisonError::into_inner));
        (self.log.journal, self.transcript)
    }
}

/// The session's rules as facts, and those of its tools that the journal does not know.
pub(crate) fn opening(log: &mut Log, world: &mut dyn World, resolved: &Resolved, channel: &str) {
    let scope = if resolved.environment.evaluation { "evaluation" } else { "live" };
    let opened = SessionOpened {
        scopes: resolved.principal.scopes.iter().cloned().collect(),
        canaries: Some(u32::try_from(resolved.broker.len()).unwrap_or(u32::MAX)),
        max_tool_result_chars: Some(resolved.knobs.max_tool_result_chars as u64),
        receipts: resolved.receipt_key.is_some(),
        scope: Some(scope.to_owned()),
        excluded_tools: resolved.excluded.iter().cloned().collect(),
        approver: Some(channel.to_owned()),
        ..SessionOpened::new(resolved.principal.id.clone())
    };
    let known: BTreeSet<(ToolId, Digest)> = log
        .journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::ToolVerified(fact) => Some((fact.tool_id.clone(), fact.tool_version)),
            _ => None,
        })
        .collect();
    log.fact(world, opened);
    let new = |tool: &&Arc<Registered>| !known.contains(&(tool.id().clone(), tool.version));
    for tool in resolved.registry.iter().filter(new) {
        let fact = ToolVerified {
            effects_declared: true,
            ..ToolVerified::new(tool.id().clone(), tool.version)
        };
        log.fact(world, fact);
    }
}
