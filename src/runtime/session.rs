//! The facade: open a session or resume one, say something, read the journal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Held, PoisonError};

use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use super::catalog::source::mcp;
use super::catalog::{Registered, Registry};
use super::dialect::{RawCall, Transcript};
use super::exec::mcp::Links;
use super::exec::{Acts, Workspace};
use super::guard::{Approver, Envelope, Grants, Hook};
use super::provider::{Provider, harness_fault};
use super::resolved::Resolved;
use super::resume::{self, Further, ResumeError};
use super::state::AgentState;
use super::surface::{Limits, Renderer, Sink, Sinks};
use super::turn::begin::Proposal;
use super::turn::delegate::Nested;
use super::turn::driver::{Keeper, Kept, Parties, Shown, Signal, Watch, drive};
use super::turn::log::Log;
pub(crate) use super::turn::log::opening;
use super::turn::log::{agreed, registered};
use super::turn::machine::{Input, Lent};
use super::turn::reopen::Reopened;
use super::turn::steps::Steps;
use super::turn::{Turn, TurnEnd};
use super::undo::{self, UndoRefusal};
use super::view::{Block, Blocks};
use crate::base::secret::SecretSet;
use crate::base::world::{RealWorld, World};
use crate::journal::Journal;
use crate::journal::event::catalog::{GrantRevoked, ToolDiscovered};
use crate::journal::event::turn::ProviderFault;
use crate::tool::descriptor::Descriptor;
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
    /// Who proposes for delegates, by agent; a call to an agent that is not here fails.
    pub delegates: BTreeMap<Arc<str>, Box<dyn Provider>>,
    /// Who is shown what happens; where nobody is, nothing is rendered and nothing recorded of it.
    pub sinks: Vec<Box<dyn Sink>>,
    /// What simulated tools do, where they are to do something else than answer.
    pub simulated: Acts,
}

impl Parts {
    /// A session with a real clock, an empty workspace, and nobody but these.
    pub fn new(
        id: Arc<str>,
        resolved: Arc<Resolved>,
        provider: Box<dyn Provider>,
        approver: Box<dyn Approver>,
    ) -> Self {
        Self {
            id,
            resolved,
            steps: Steps::REAL,
            world: Box::new(RealWorld::default()),
            provider,
            others: BTreeMap::new(),
            approver,
            hooks: BTreeMap::new(),
            workspace: Workspace::default(),
            delegates: BTreeMap::new(),
            sinks: Vec::new(),
            simulated: Acts::default(),
        }
    }
}

/// The registry of a bundle with more tools; `None` where there are none, or one does not compile.
fn registry_with(resolved: &Resolved, new: &[Descriptor]) -> Option<Registry> {
    let known = resolved.registry.iter().map(|tool| tool.descriptor.clone());
    let all: Vec<Descriptor> = known.chain(new.iter().cloned()).collect();
    (!new.is_empty()).then(|| Registry::new(all).ok()).flatten()
}

/// The channel of messages that name no ingress.
const DIRECT: &str = "direct";
/// The agent that is nobody's delegate.
const MAIN: &str = "main";

/// A conversation with one journal and one transcript.
pub struct Session {
    resolved: Arc<Resolved>,
    steps: Steps,
    world: Box<dyn World>,
    provider: Arc<str>,
    providers: BTreeMap<Arc<str>, Mutex<Box<dyn Provider>>>,
    approver: Box<dyn Approver>,
    channel: &'static str,
    hooks: BTreeMap<String, Arc<dyn Hook>>,
    workspace: Held<Workspace>,
    simulated: Acts,
    links: Links,
    log: Log,
    transcript: Transcript,
    secrets: SecretSet,
    failures: BTreeMap<ToolId, u32>,
    grants: Grants,
    blocks: Blocks,
    agents: BTreeMap<Arc<str>, Mutex<Box<dyn Provider>>>,
    children: Vec<Journal>,
    sinks: Sinks,
    limits: Limits,
    renderer: Renderer,
    reopened: Option<Reopened>,
    remote: (mpsc::UnboundedSender<Signal>, mpsc::UnboundedReceiver<Signal>),
    kept: Kept,
}

/// Reaches a session while a turn of it runs: the cancellation token, the steering queue, the
/// model switch, the revocation of grants and the blocking of tools.
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
        session.blocks = read.state.blocks;
        session.reopened = read.open;
        Ok(session)
    }

    fn begin(mut parts: Parts, mut log: Log) -> Self {
        let links = Links::new(&parts.resolved.environment.servers);
        let channel = parts.approver.channel();
        opening(&mut log, &mut *parts.world, &parts.resolved, channel);
        let mut grants = AgentState::of(log.journal.entries()).grants;
        agreed(&mut log, &mut *parts.world, &parts.resolved, &mut grants);
        let secrets = parts.resolved.broker.secrets().clone();
        let renderer = Renderer::new(Limits::default(), DIRECT, MAIN, secrets.clone());
        let provider: Arc<str> = parts.provider.name().into();
        let mut providers = BTreeMap::from([(Arc::clone(&provider), Mutex::new(parts.provider))]);
        let shared = |(name, provider)| (name, Mutex::new(provider));
        providers.extend(parts.others.into_iter().map(shared));
        Self {
            resolved: parts.resolved,
            steps: parts.steps,
            world: parts.world,
            provider,
            providers,
            approver: parts.approver,
            channel,
            hooks: parts.hooks,
            workspace: Held::new(parts.workspace),
            simulated: parts.simulated,
            links,
            log,
            transcript: Transcript::new(),
            secrets,
            failures: BTreeMap::new(),
            grants,
            blocks: Blocks::default(),
            agents: parts.delegates.into_iter().map(shared).collect(),
            children: Vec::new(),
            sinks: Sinks::new(parts.sinks),
            limits: Limits::default(),
            renderer,
            reopened: None,
            remote: mpsc::unbounded_channel(),
            kept: Kept::default(),
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
        self.hear().await;
        self.take();
        let provider = Arc::clone(&self.provider);
        self.drive(Input::Begin { text, envelope, provider }, watch).await
    }

    /// What MCP servers said of their lists since the last turn. A tool that became another one, or
    /// is gone, is blocked: nobody has looked at it as it is now. One that is new is recorded, and
    /// joins the tools of the turns that follow where its server may offer such.
    async fn hear(&mut self) {
        for news in self.links.news().await {
            let registry = &self.resolved.registry;
            let own = |tool: &&Arc<Registered>| {
                tool.descriptor.source.server_id.as_deref() == Some(&*news.server.id)
            };
            let mut lost = Vec::new();
            for tool in registry.iter().filter(own) {
                let now = news.tools.iter().find(|one| one.tool_id == *tool.id());
                let pinned = mcp::definition(&tool.descriptor);
                match now.map(mcp::definition) {
                    Some(now) if now == pinned => {}
                    Some(now) => lost.push((
                        tool.id().clone(),
                        format!("its server changed what it is, from {pinned} to {now}"),
                    )),
                    None => lost.push((
                        tool.id().clone(),
                        "its server does not offer it any more".to_owned(),
                    )),
                }
            }
            let new = news.tools.iter().filter(|one| registry.get(&one.tool_id).is_none());
            let new: Vec<Descriptor> = new.cloned().collect();
            for (tool, why) in lost {
                self.block(tool, &why, &format!("the pins of {}", news.server.id));
            }
            let mut joined = registry_with(&self.resolved, &new);
            for tool in new {
                let fact = ToolDiscovered { tool_id: tool.tool_id, source: Some("mcp".to_owned()) };
                self.log.fact(&mut *self.world, fact);
            }
            let offered = news.server.offers_new && self.resolved.environment.evaluation;
            if let Some(registry) = joined.take().filter(|_| offered) {
                let (registry, views) = (Arc::new(registry), Arc::default());
                let resolved = Resolved { registry, views, ..Resolved::clone(&self.resolved) };
                self.renew(Arc::new(resolved));
            }
        }
    }

    /// What was taken away while no turn ran is gone before the next one begins. Other signals are
    /// for the turn.
    fn take(&mut self) {
        let mut others = Vec::new();
        while let Ok(signal) = self.remote.1.try_recv() {
            match signal {
                Signal::Block(Block { tool, reason, by }) => drop(self.block(tool, &reason, &by)),
                Signal::Revoke(grant, by) => drop(self.revoke(&grant, &by)),
                other => others.push(other),
            }
        }
        for signal in others {
            // The receiver is this session's own.
            let _there = self.remote.0.send(signal);
        }
    }

    /// Ends the turn that was open when the session was resumed; `None` when there was none.
    pub async fn go_on(&mut self, watch: Watch<'_>) -> Option<TurnEnd> {
        let mut open = self.reopened.take()?;
        if open.provider.is_empty() {
            open.provider = Arc::clone(&self.provider);
        }
        Some(self.drive(Input::Resume(Box::new(open)), watch).await)
    }

    /// A call that the embedding program proposes itself, in a turn of its own and through all
    /// guards. The journal says what became of it.
    pub async fn propose(&mut self, tool: &str, args: &Value) -> TurnEnd {
        self.go_on(&mut |_| Vec::new()).await;
        let proposal = Proposal {
            text: format!("Call {tool}."),
            provider: Arc::clone(&self.provider),
            call: RawCall::native(None, tool, args.to_string()),
            undoes: None,
        };
        self.drive(Input::Propose(Box::new(proposal)), &mut |_| Vec::new()).await
    }

    /// The bundle of the turns that follow. Tools that are new are recorded.
    pub fn renew(&mut self, resolved: Arc<Resolved>) {
        registered(&mut self.log, &mut *self.world, &resolved);
        self.kept.see(&self.log.journal);
        self.secrets = resolved.broker.secrets().clone();
        self.resolved = resolved;
    }

    /// Takes a grant of this session back, between turns. Whether there was one.
    pub fn revoke(&mut self, grant: &str, by: &str) -> bool {
        let was = self.grants.revoke(grant);
        if was {
            let fact = GrantRevoked { grant_id: grant.to_owned(), by: Some(by.to_owned()) };
            self.log.fact(&mut *self.world, fact);
            self.kept.see(&self.log.journal);
        }
        was
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
        let children = Held::default();
        let nested = Nested {
            resolved: &self.resolved,
            steps: &self.steps,
            secrets: &self.secrets,
            agents: &self.agents,
            approver: &*self.approver,
            channel: self.channel,
            kept: &self.kept,
            hooks: &self.hooks,
            workspace: &self.workspace,
            simulated: &self.simulated,
            links: &self.links,
            sinks: &self.sinks,
            limits: self.limits,
            children: &children,
            depth: 0,
        };
        let parties = Parties {
            providers: &self.providers,
            approver: &*self.approver,
            hooks: &self.hooks,
            workspace: &self.workspace,
            simulated: &self.simulated,
            links: &self.links,
            signals: &mut self.remote.1,
            kept: &self.kept,
            watch,
            shown: Shown { sinks: &self.sinks, renderer: &mut self.renderer },
            delegate: &nested,
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
            blocks: &mut self.blocks,
        };
        let end = drive(Turn::default(), first, parties, &mut lent).await;
        self.log.set_turn(None);
        self.children.extend(children.into_inner().unwrap_or_else(PoisonError::into_inner));
        end
    }

    /// How surfaces show the session from its next turn on: in which lengths, by which channel
    /// where a message names no ingress, and under which name of the agent. Unless it is told, the
    /// channel is `direct` and the agent `main`.
    pub fn show_as(&mut self, limits: Limits, channel: &str, alias: &str) {
        self.limits = limits;
        self.renderer = Renderer::new(limits, channel, alias, self.secrets.clone());
    }

    /// Shows what happens from here on to one more sink.
    pub fn observe(&mut self, sink: Box<dyn Sink>) {
        self.sinks.add(sink);
    }

    /// How often a sink failed. It changes nothing else.
    pub fn sink_failures(&self) -> u64 {
        self.sinks.failures()
    }

    /// Blocks a tool for the rest of the session, its delegates among it; while a turn runs,
    /// [`Signal::Block`] does. Whether that is new: nothing is recorded of a second time.
    pub fn block(&mut self, tool: ToolId, reason: &str, by: &str) -> bool {
        let new = self.blocks.add(tool.clone());
        if new {
            let block = Block { tool, reason: reason.to_owned(), by: by.to_owned() };
            let clean = |text: &str| (self.steps.redact)(&self.secrets, text).into_owned();
            self.log.fact(&mut *self.world, block.fact(clean));
            self.kept.see(&self.log.journal);
        }
        new
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

    /// The records of all delegates so far, in the order in which they ended. Each is a session
    /// whose id is its parent's, a slash, and the call that delegated.
    pub fn children(&self) -> &[Journal] {
        &self.children
    }

    /// The messages so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// What is wrong at the end with a provider or a simulated tool, such as steps of a script
    /// that were never played.
    pub fn leftover(&mut self) -> Option<ProviderFault> {
        let all = self.providers.values_mut().chain(self.agents.values_mut());
        let steps = all.into_iter().find_map(|provider| provider.get_mut().leftover());
        steps.or_else(|| {
            let (tool, acts) = self.simulated.left()?;
            Some(harness_fault(format!("{acts} acts of {tool} were never played")))
        })
    }

    /// Has the journal, and those of delegates, kept elsewhere too: what is recorded already now,
    /// and everything else before anything follows from it.
    pub fn keep(&mut self, keeper: Keeper) {
        self.kept.by(keeper);
        self.kept.see(&self.log.journal);
        self.children.iter().for_each(|child| self.kept.see(child));
    }

    /// Ends the links to MCP servers, each of them politely. A session that is only closed, or
    /// dropped, kills the servers that were started for it.
    pub async fn disconnect(&self) {
        self.links.close().await;
    }

    /// Ends the session and gives its record away.
    pub fn close(self) -> (Journal, Transcript) {
        drop(self.workspace.into_inner().unwrap_or_else(PoisonError::into_inner));
        (self.log.journal, self.transcript)
    }
}
