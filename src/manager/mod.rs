//! The tool manager as another program embeds it (seed B section 17): one value that holds a
//! registry on disk and a session, and answers each question on the way from a tool's discovery to
//! its effect.
//!
//! What asks changes nothing: [`ToolManager::resolve`], [`ToolManager::compile_view`],
//! [`ToolManager::validate_args`], [`ToolManager::authorize`] and
//! [`ToolManager::prepare_runtime`] say what would become of a call. [`ToolManager::execute`] runs
//! it, and asks all of that again: nothing that was said before is trusted, and there is one way
//! through the guards. What happened is in the journal; [`ToolManager::verify`] reads it.
//!
//! `examples/embed.rs` is a whole program.

mod offered;
mod source;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

pub use source::{DiscoverError, Discovered, ToolSource};

use crate::base::problem::Problem;
use crate::base::secret::Secret;
use crate::base::world::{Millis, RealWorld, World, wall_clock};
use crate::journal::outcome::Unavailability;
use crate::journal::{Event, Journal, Outcome};
use crate::law::Judge;
use crate::law::account::{Account, account};
use crate::law::law::Finding;
use crate::runtime::catalog::desk::{self, Basis, Candidate};
use crate::runtime::catalog::lifecycle::State;
use crate::runtime::catalog::standing::Holder;
use crate::runtime::catalog::store::{Store, StoreError};
use crate::runtime::catalog::{Registered, Registry};
use crate::runtime::credential::Broker;
use crate::runtime::dialect::{Arguments, Origin, Proposed};
use crate::runtime::evidence::receipt::ReceiptKey;
use crate::runtime::guard::resolve::resolve;
use crate::runtime::guard::validate::validate;
use crate::runtime::guard::{Approver, Hooks, Validated};
use crate::runtime::policy::{Judgement, Principal, Rules, decide};
use crate::runtime::provider::Provider;
use crate::runtime::resolved::{CompiledView, Knobs, Resolved};
use crate::runtime::sandbox::host::Host;
use crate::runtime::sandbox::{self, Plan};
use crate::runtime::session::{Parts, Session};
use crate::runtime::surface::Sink;
use crate::runtime::turn::TurnEnd;
use crate::runtime::view::compile::MAY_EXPOSE;
use crate::runtime::view::{ActivatedSet, Availability, Environment};
use crate::tool::descriptor::Descriptor;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;
use crate::tool::schema::ArgumentError;

/// What a manager is for: who acts, under which rules, in which surroundings.
#[derive(Debug)]
pub struct Setting {
    /// In which scope of the registry; tools that are enabled in another are not there.
    pub scope: String,
    /// Who acts.
    pub principal: Principal,
    /// Rules of policy, as YAML; none when empty.
    pub rules: String,
    /// Settings of turns.
    pub knobs: Knobs,
    /// What is at hand. `evaluation` makes verified tools callable before they are enabled, and
    /// enabled ones before they are granted.
    pub environment: Environment,
    /// Credentials.
    pub broker: Broker,
    /// The key of receipts; without one successes have none.
    pub receipt_key: Option<Secret>,
}

/// Why the manager cannot do something. What becomes of a call is no error.
#[derive(Debug, Error)]
pub enum ManagerError {
    /// The registry cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The registry does not allow it.
    #[error(transparent)]
    Refused(#[from] desk::Refusal),
    /// The rules cannot be read, or an example of one of them does not hold.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Rules(Vec<Problem>),
    /// An enabled tool does not compile.
    #[error("{0}")]
    Tool(String),
}

/// What became of a call.
#[derive(Debug)]
pub struct CallReport {
    /// Its id in the journal; none where nothing was recorded of it.
    pub call: Option<Arc<str>>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What a model would be shown of it.
    pub shown: Option<Arc<str>>,
    /// How its turn ended.
    pub end: TurnEnd,
}

/// A registry on disk with a session over what it has enabled.
pub struct ToolManager {
    store: Store,
    setting: Setting,
    session: Session,
    resolved: Arc<Resolved>,
    world: RealWorld,
}

impl ToolManager {
    /// Opens the registry in a folder, and a session. The registry is locked until the manager is
    /// dropped; its folder is made where it is not there.
    ///
    /// # Errors
    /// What is wrong with the registry, its enabled tools or the rules.
    pub fn open(
        registry: &Path,
        setting: Setting,
        (provider, approver): (Box<dyn Provider>, Box<dyn Approver>),
    ) -> Result<Self, ManagerError> {
        let store = Store::write(registry)?;
        let resolved = Arc::new(bundle(&store, &setting)?);
        let mut world = RealWorld::default();
        let id = format!("manager-{}", world.now());
        let parts = Parts::new(id.into(), Arc::clone(&resolved), provider, approver);
        Ok(Self { store, setting, session: Session::open(parts), resolved, world })
    }

    /// What a source offers. Nothing is registered.
    ///
    /// # Errors
    /// Why the source cannot be read.
    pub async fn discover(&self, source: &ToolSource) -> Result<Discovered, DiscoverError> {
        source.discover(self.around()).await
    }

    /// Registers a definition, and says where it stands: verified, or what holds it.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub fn register(&mut self, descriptor: &Descriptor) -> Result<State, ManagerError> {
        let candidate = Candidate {
            descriptor: descriptor.clone(),
            manifest: descriptor.content_digest(),
            unusable: None,
        };
        let facts = desk::add(&self.store.book, &candidate, &self.store.keys)?;
        if !facts.is_empty() {
            // The descriptor stands before the facts that name it.
            self.store.keep(&candidate.descriptor)?;
        }
        self.record(&facts)?;
        Ok(self.state(&descriptor.tool_id))
    }

    /// A named person looked at what waits for a review.
    ///
    /// # Errors
    /// When it does not wait, or nobody is named.
    pub fn review(&mut self, id: &ToolId, by: &str, accepted: bool) -> Result<State, ManagerError> {
        let facts = desk::review(&self.store.book, id, by, accepted)?;
        self.record(&facts)?;
        Ok(self.state(id))
    }

    /// Enables a verified tool in a scope. Outside of evaluations that needs golden evidence (seed
    /// B invariant 16).
    ///
    /// # Errors
    /// When it is not verified, or the evidence does not do.
    pub fn enable(
        &mut self,
        id: &ToolId,
        scope: &str,
        basis: &Basis,
    ) -> Result<State, ManagerError> {
        let facts = desk::enable(&self.store.book, id, scope, basis)?;
        self.record(&facts)?;
        Ok(self.state(id))
    }

    /// Takes a grant back: one of the registry, or one that an answer gave in this session. Whether
    /// there was one.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub fn revoke(&mut self, grant: &str, by: &str) -> Result<bool, ManagerError> {
        if self.store.book.owner(grant).is_some() {
            let facts = desk::revoke(&self.store.book, grant, by)?;
            self.record(&facts)?;
            return Ok(true);
        }
        Ok(self.session.revoke(grant, by))
    }

    /// The enabled tools, by id.
    pub fn tools(&self) -> BTreeMap<&ToolId, &Arc<Registered>> {
        self.resolved.registry.iter().map(|tool| (tool.id(), tool)).collect()
    }

    /// Where a tool stands in the registry.
    pub fn state(&self, id: &ToolId) -> State {
        self.store.book.get(id).map_or(State::Discovered, |standing| standing.state())
    }

    /// The tools for an intent, best first, each with its reason; and those that are not shown,
    /// with theirs.
    pub fn resolve(&self, intent: &Intent) -> Candidates {
        let compiled = self.compile_view(intent);
        Candidates {
            exposed: compiled
                .view
                .exposed
                .iter()
                .map(|tool| (tool.tool_id.clone(), tool.reason.clone()))
                .collect(),
            withheld: compiled
                .view
                .withheld
                .iter()
                .map(|tool| (tool.tool_id.clone(), format!("{}: {}", tool.filter, tool.reason)))
                .collect(),
        }
    }

    /// The tools of one request, as the dialect of the setting spells them.
    pub fn compile_view(&self, intent: &Intent) -> Arc<CompiledView> {
        let message = intent.user_goal.clone();
        let with = Resolved {
            intent: ("embedder".to_owned(), intent.clone()),
            ..Resolved::clone(&self.resolved)
        };
        let state = self.session.state();
        let lost = (&state.failures(), &ActivatedSet::default(), &state.blocks);
        with.view(lost, &message, MAY_EXPOSE)
    }

    /// Holds a call's arguments against its tool's schema.
    ///
    /// # Errors
    /// Why it cannot be called, or every place where the arguments do not fit.
    pub fn validate_args(&self, tool: &str, args: &Value) -> Result<Validated, BadCall> {
        let compiled = self.compile_view(&self.resolved.intent.1);
        let proposed = Proposed {
            call: "draft".into(),
            provider_id: None,
            name: tool.to_owned(),
            arguments: Arguments::Json(args.clone()),
            index: 0,
            origin: Origin::default(),
        };
        let resolved = resolve(proposed, &compiled.view);
        let resolved = resolved.map_err(|(_, why)| BadCall::Unavailable(why))?;
        let principal = &self.resolved.principal;
        validate(resolved, principal).map_err(|(_, errors)| BadCall::Arguments(errors))
    }

    /// What policy says of a call: allowed, asked, or denied, with every reason.
    pub fn authorize(&self, call: &Validated) -> Judgement {
        let bundle = &self.resolved;
        decide(call.resolved().tool(), call.args(), &bundle.principal, &bundle.rules)
    }

    /// Where and how a call would run, and what would confine it.
    ///
    /// # Errors
    /// What cannot be enforced here.
    pub fn prepare_runtime(&self, call: &Validated) -> Result<Plan, sandbox::Refusal> {
        let descriptor = &call.resolved().tool().descriptor;
        sandbox::plan(descriptor, self.resolved.environment.ground(descriptor))
    }

    /// Runs a call through all guards to its end, asking whoever approves where policy says so.
    pub async fn execute(&mut self, tool: &str, args: &Value) -> CallReport {
        let before = self.session.journal().entries().len();
        let end = self.session.propose(tool, args).await;
        let (mut call, mut outcome, mut shown) = (None, None, None);
        let journal = self.session.journal();
        for entry in &journal.entries()[before..] {
            match &entry.event {
                Event::ToolCallRequested(_) => call = entry.call.clone(),
                Event::ToolCallSettled(fact) => {
                    outcome = Some(fact.outcome.clone());
                    shown = fact.shown.and_then(|text| journal.blobs().get(&text).cloned());
                }
                _ => {}
            }
        }
        CallReport { call, outcome, shown, end }
    }

    /// Judges the journal by every law; receipts are checked where there is a key.
    pub fn verify(&self) -> Vec<Finding> {
        let journal = self.journal();
        Judge::new(self.setting.receipt_key.clone()).journal(journal.entries(), journal.blobs())
    }

    /// Answers every question about a call from the journal alone; `None` for a call that it does
    /// not know.
    pub fn explain(&self, call: &str) -> Option<Account> {
        account(self.journal().entries(), call)
    }

    /// Everything that happened.
    pub fn journal(&self) -> &Journal {
        self.session.journal()
    }

    /// Takes a call back, by a call that goes through all guards itself.
    ///
    /// # Errors
    /// Why there is nothing to propose.
    pub async fn undo(&mut self, call: &str) -> Result<TurnEnd, crate::runtime::undo::UndoRefusal> {
        self.session.undo(call).await
    }

    /// Shows what happens from here on to somebody: rendered from facts, scrubbed and bounded.
    pub fn observe(&mut self, sink: Box<dyn Sink>) {
        self.session.observe(sink);
    }

    /// The session, to speak with the model in it.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Ends the session and gives its record away. MCP servers that were started for it are asked
    /// to go.
    pub async fn close(self) -> Journal {
        self.session.disconnect().await;
        self.session.close().0
    }

    /// With what servers are started.
    fn around(&self) -> (&Host, &Broker) {
        (&self.setting.environment.host, &self.setting.broker)
    }

    /// Records facts of the registry; what follows runs on what is enabled now.
    fn record(&mut self, facts: &[Event]) -> Result<(), ManagerError> {
        if facts.is_empty() {
            return Ok(());
        }
        let now: Millis = self.world.now();
        self.store.append(now, facts)?;
        self.resolved = Arc::new(bundle(&self.store, &self.setting)?);
        self.session.renew(Arc::clone(&self.resolved));
        Ok(())
    }
}

/// The tools for an intent, each with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// What is shown, best first.
    pub exposed: Vec<(ToolId, String)>,
    /// What is not, with the filter that keeps it out.
    pub withheld: Vec<(ToolId, String)>,
}

/// Why a draft is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadCall {
    /// The tool cannot be called.
    Unavailable(Unavailability),
    /// The arguments do not fit.
    Arguments(Vec<ArgumentError>),
}

fn bundle(store: &Store, setting: &Setting) -> Result<Resolved, ManagerError> {
    let enabled = store.enabled(Some(&setting.scope))?;
    let registry = Registry::new(enabled).map_err(|errors| {
        ManagerError::Tool(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    })?;
    let rules = match setting.rules.trim() {
        "" => Rules::default(),
        text => Rules::parse("rules", text, &registry, &setting.principal)
            .map_err(ManagerError::Rules)?,
    };
    let key = setting.receipt_key.clone();
    let mut environment = setting.environment.clone();
    if !environment.evaluation {
        let Principal { id, tenant, .. } = &setting.principal;
        let (scope, principal, tenant) = (setting.scope.clone(), id.clone(), tenant.clone());
        let holder = Holder { scope, principal, tenant };
        environment.held = Arc::new(store.callable(&holder, wall_clock())?.held());
    }
    Ok(Resolved {
        hooks: Hooks::default(),
        registry: Arc::new(registry),
        principal: setting.principal.clone(),
        rules: Arc::new(rules),
        environment,
        excluded: Default::default(),
        availability: Arc::new(Availability::default()),
        knobs: setting.knobs.clone(),
        intent: ("embedder".to_owned(), Intent::default()),
        broker: setting.broker.clone(),
        receipt_key: key.map(|key| ReceiptKey { id: "manager".to_owned(), key }),
        views: Arc::default(),
    })
}
