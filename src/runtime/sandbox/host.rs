//! What this machine can confine with. It is found once, by having the helper confine itself for
//! nothing; a plan that demands more is refused before anything starts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::container::Engine;
use super::launch::{LaunchError, probe};
use super::mechanism::{Mechanism, Reach};
use super::order::{Caps, Handed, Order, Stdin, Visible};
use super::web::Clients;

/// The machine, as far as it confines, and how it reaches services; without a helper it confines
/// no command. Two of the same helper and the same names are the same.
#[derive(Debug, Clone, Default)]
pub struct Host(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    helper: Option<PathBuf>,
    fixtures: BTreeMap<String, SocketAddr>,
    can: OnceLock<BTreeSet<Mechanism>>,
    engine: Arc<Engine>,
    clients: Arc<Clients>,
}

impl PartialEq for Host {
    fn eq(&self, other: &Self) -> bool {
        self.helper() == other.helper() && self.fixtures() == other.fixtures()
    }
}

impl Host {
    /// A machine whose helper is this program: the one whose `main` calls
    /// [`super::child::main`] first.
    pub fn with(helper: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Known { helper: Some(helper.into()), ..Known::default() }))
    }

    /// The same, where names stand for addresses that are not looked up, and may be private ones:
    /// servers that a test or an evaluation started itself.
    pub fn reaching(helper: impl Into<PathBuf>, fixtures: BTreeMap<String, SocketAddr>) -> Self {
        Self::with(helper).and_reaching(fixtures)
    }

    /// This machine, with names as in [`Self::reaching`] in place of those it has.
    #[must_use]
    pub fn and_reaching(&self, fixtures: BTreeMap<String, SocketAddr>) -> Self {
        let clients = Arc::new(Clients::new(fixtures.clone()));
        let (helper, can) = (self.0.helper.clone(), self.0.can.clone());
        let engine = Arc::clone(&self.0.engine);
        Self(Arc::new(Known { helper, fixtures, can, engine, clients }))
    }

    /// The helper.
    pub fn helper(&self) -> Option<&Path> {
        self.0.helper.as_deref()
    }

    /// Names that stand for addresses.
    pub fn fixtures(&self) -> BTreeMap<String, SocketAddr> {
        self.0.fixtures.clone()
    }

    /// The clients of HTTP tools, shared by all their calls.
    pub fn clients(&self) -> Arc<Clients> {
        Arc::clone(&self.0.clients)
    }

    /// The engine of containers, where one works.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The mechanisms that work here; found when it is first asked for.
    pub fn can(&self) -> BTreeSet<Mechanism> {
        let Some(helper) = &self.0.helper else { return BTreeSet::new() };
        self.0.can.get_or_init(|| find(helper)).clone()
    }
}

/// Tries all, then all but what failed, until the rest works.
fn find(helper: &Path) -> BTreeSet<Mechanism> {
    let mut left: BTreeSet<Mechanism> = Mechanism::ALL.iter().copied().collect();
    if rustix::process::geteuid().is_root() {
        // The kernel does not count root's.
        left.remove(&Mechanism::RlimitProcesses);
    }
    while !left.is_empty() {
        let step = match probe(helper, order(left.clone())) {
            Ok(applied) => return applied,
            Err(LaunchError::Step { step, .. }) => step,
            Err(LaunchError::Helper(_) | LaunchError::Other) => return BTreeSet::new(),
        };
        let before = left.len();
        left.retain(|one| one.name() != step && !one.name().starts_with(&format!("{step}_")));
        if step == Mechanism::MountNamespace.name() {
            // Covers are mounts.
            left.remove(&Mechanism::BlockedPaths);
        }
        if left.len() == before {
            return BTreeSet::new();
        }
    }
    left
}

fn order(mechanisms: BTreeSet<Mechanism>) -> Order {
    Order {
        mechanisms,
        command: Vec::new(),
        env: BTreeMap::new(),
        handed: Handed::default(),
        cwd: PathBuf::from("/"),
        stdin: Stdin::Null,
        visible: Visible::default(),
        reach: Reach::Proxy,
        limits: Caps::default(),
        cgroups: Vec::new(),
    }
}
