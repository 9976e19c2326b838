//! Where a conversation is kept: in an agent's home, in a file, or nowhere.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::ChatArgs;
use crate::base::world::unguessable;
use crate::cli::error::CliError;
use crate::eval::load::Suite;
use crate::journal::{Event, Journal};
use crate::runtime::catalog::desk::LIVE;
use crate::runtime::catalog::standing::Holder;
use crate::runtime::guard::Consent;
use crate::runtime::home::{Follower, Home, HomeError, Record, Run};
use crate::runtime::mcp::{McpServer, Servers};
use crate::runtime::resolved::Resolved;
use crate::runtime::session::{Parts, Session};
use crate::runtime::turn::driver::Signal;
use crate::runtime::view::Environment;

/// A conversation's place.
pub(super) struct Place {
    home: Option<Arc<Home>>,
    keeping: Option<Arc<Mutex<Keeping>>>,
    /// What was recorded of a conversation that goes on.
    before: Option<Run>,
    /// The session's id.
    pub(super) id: String,
    workspace: Option<PathBuf>,
}

/// What is kept while it goes on: each fact before anything follows from it.
struct Keeping {
    home: Option<Arc<Home>>,
    record: Record,
    /// Consents that were recorded before.
    known: Vec<Consent>,
    failed: Option<HomeError>,
}

impl Keeping {
    /// Whether everything is kept so far.
    fn holds(&self) -> bool {
        self.failed.is_none() && self.record.failure().is_none()
    }

    fn see(&mut self, journal: &Journal) {
        for entry in self.record.catch_up(journal) {
            let (Some(home), Event::ServerConsented(fact)) = (&self.home, &entry.event) else {
                continue;
            };
            let consent = Consent::from(fact);
            if !self.known.contains(&consent) {
                let kept = home.consented(fact, entry.at);
                self.failed = self.failed.take().or(kept.err());
                self.known.push(consent);
            }
        }
    }
}

impl Place {
    /// Opens it.
    ///
    /// # Errors
    /// What is in the way.
    pub(super) fn open(args: &ChatArgs) -> Result<Self, CliError> {
        let workspace = args.workspace.as_ref().map(|folder| match folder.is_dir() {
            true => Ok(folder.clone()),
            false => {
                let message = format!("--workspace: {} is no folder", folder.display());
                Err(CliError::Usage(message))
            }
        });
        let home = args.home.as_deref().map(Home::open).transpose()?.map(Arc::new);
        let (mut id, mut workspace) = ("chat".to_owned(), workspace.transpose()?);
        let (mut record, mut before, mut known) = (None, None, Vec::new());
        if let Some(home) = &home {
            id = match &args.resume {
                Some(run) => run.strip_prefix("run_").unwrap_or(run).to_owned(),
                None => unguessable().map_err(CliError::Environment)?[..16].to_owned(),
            };
            known = home.consents()?.into_iter().map(|given| given.consent).collect();
            workspace = Some(workspace.unwrap_or_else(|| home.sandbox(&id)));
            if args.resume.is_some() {
                let (reopened, run) = home.reopen(&id)?;
                (record, before) = (Some(reopened), Some(run));
            } else {
                record = Some(home.record(&id)?);
            }
        }
        if let Some(path) = &args.journal {
            record = Some(Record::create(path, None).map_err(|error| named(error, path))?);
        }
        let keeping = |record| Keeping { home: home.clone(), record, known, failed: None };
        let keeping = record.map(keeping).map(|keeping| Arc::new(Mutex::new(keeping)));
        Ok(Self { home, keeping, before, id, workspace })
    }

    /// A session's parts as they are here. In a home an agent acts: what is not enabled and granted
    /// is not shown, its servers are called, and nothing is simulated.
    ///
    /// # Errors
    /// What of the home cannot be read.
    pub(super) fn settle(
        &self,
        parts: Parts,
        suite: &Suite,
    ) -> Result<(Parts, Option<Follower>), CliError> {
        let workspace = match &self.workspace {
            Some(folder) => parts.workspace.in_folder(folder.clone()),
            None => parts.workspace,
        };
        let parts = Parts { workspace, id: self.id.as_str().into(), ..parts };
        let Some(agent) = &suite.home else { return Ok((parts, None)) };
        let principal = &parts.resolved.principal;
        let (scope, tenant) = (LIVE.to_owned(), principal.tenant.clone());
        let holder = Holder { scope, principal: principal.id.clone(), tenant };
        let home = Home::open(&agent.root)?;
        let (follower, callable) = Follower::new(&home.tools(), holder)?;
        let given = home.consents()?;
        let agreed = |server: &McpServer| {
            let wanted = Consent::of(server, principal);
            let found = given.iter().find(|one| one.consent == wanted);
            McpServer { consented_by: found.map(|one| one.by.clone()), ..server.clone() }
        };
        let servers = agent.servers.iter().map(agreed);
        let others = parts.resolved.environment.servers.iter().map(|one| McpServer::clone(one));
        let environment = Environment {
            evaluation: false,
            servers: Arc::new(Servers::new(others.chain(servers))),
            held: Arc::new(callable.held()),
            ..parts.resolved.environment.clone()
        };
        let views = Arc::default();
        let resolved = Resolved { environment, views, ..Resolved::clone(&parts.resolved) };
        Ok((Parts { resolved: Arc::new(resolved), ..parts }, Some(follower)))
    }

    /// Opens the session, or goes on with the one that was recorded, and keeps its record.
    ///
    /// # Errors
    /// Why that cannot be gone on with.
    pub(super) fn begin(&mut self, parts: Parts) -> Result<Session, CliError> {
        let mut session = match self.before.take() {
            None => Session::open(parts),
            Some(run) => {
                if let Some(found) = run.session().filter(|found| ***found != *self.id) {
                    let message = format!("it is the record of {found}");
                    return Err(CliError::Usage(format!("--resume {}: {message}", self.id)));
                }
                let resumed = Session::resume(parts, run.journal());
                resumed.map_err(|why| CliError::Usage(format!("--resume {}: {why}", self.id)))?
            }
        };
        if let Some(keeping) = self.keeping.clone() {
            let remote = session.remote();
            session.keep(Box::new(move |journal| {
                let mut keeping = keeping.lock().unwrap_or_else(PoisonError::into_inner);
                let held = keeping.holds();
                keeping.see(journal);
                if held && !keeping.holds() {
                    // Nobody acts without a record: what was about to start does not.
                    let why = "the record cannot be written".to_owned();
                    let _there = remote.send(Signal::Cancel(why));
                }
            }));
        }
        Ok(session)
    }

    /// Whether everything is kept so far.
    pub(super) fn holds(&self) -> bool {
        let holds = |keeping: &Arc<Mutex<Keeping>>| {
            keeping.lock().unwrap_or_else(PoisonError::into_inner).holds()
        };
        self.keeping.as_ref().is_none_or(holds)
    }

    /// What is said at the end.
    pub(super) fn farewell(&self) -> Option<String> {
        let home = self.home.as_ref()?;
        let root = home.root().display();
        Some(format!("go on with it: proofmark chat --home {root} --resume {}", self.id))
    }

    /// Ends the record; whoever is asked to keep it later keeps nothing.
    ///
    /// # Errors
    /// The first failure since it was opened.
    pub(super) fn close(self, session: Session) -> Result<(), CliError> {
        drop(session);
        let Some(keeping) = self.keeping.and_then(Arc::into_inner) else { return Ok(()) };
        let Keeping { record, failed, .. } =
            keeping.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Ok(()), Err).and(record.close()).map_err(CliError::from)
    }
}

/// A journal that is there is no failure of the environment.
fn named(error: HomeError, path: &Path) -> CliError {
    if path.exists() {
        let message = format!("{} is there already; name another file", path.display());
        return CliError::Usage(message);
    }
    CliError::from(error)
}

impl From<HomeError> for CliError {
    fn from(error: HomeError) -> Self {
        match error {
            HomeError::Problems(problems) => Self::Inputs(problems),
            HomeError::NoRun(_) => Self::Usage(error.to_string()),
            HomeError::Io { .. } | HomeError::InUse(_) => Self::Environment(error.to_string()),
        }
    }
}
