//! What this machine can confine with. It is found once, by having the helper confine itself for
//! nothing; a plan that demands more is refused before anything starts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::launch::{LaunchError, probe};
use super::mechanism::{Mechanism, Reach};
use super::order::{Caps, Order, Stdin, Visible};

/// The machine, as far as it confines; without a helper it does not. Two of the same helper are
/// the same.
#[derive(Debug, Clone, Default)]
pub struct Host(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    helper: PathBuf,
    fixtures: BTreeMap<String, SocketAddr>,
    can: OnceLock<BTreeSet<Mechanism>>,
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
        Self::reaching(helper, BTreeMap::new())
    }

    /// The same, where names stand for addresses that are not looked up, and may be private ones:
    /// servers that a test or an evaluation started itself.
    pub fn reaching(helper: impl Into<PathBuf>, fixtures: BTreeMap<String, SocketAddr>) -> Self {
        let can = OnceLock::new();
        Self(Some(Arc::new(Known { helper: helper.into(), fixtures, can })))
    }

    /// The helper.
    pub fn helper(&self) -> Option<&Path> {
        self.0.as_ref().map(|known| known.helper.as_path())
    }

    /// Names that stand for addresses.
    pub fn fixtures(&self) -> BTreeMap<String, SocketAddr> {
        self.0.as_ref().map(|known| known.fixtures.clone()).unwrap_or_default()
    }

    /// The mechanisms that work here; found when it is first asked for.
    pub fn can(&self) -> BTreeSet<Mechanism> {
        let Some(known) = &self.0 else { return BTreeSet::new() };
        known.can.get_or_init(|| find(&known.helper)).clone()
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
        cwd: PathBuf::from("/"),
        stdin: Stdin::Null,
        visible: Visible::default(),
        reach: Reach::Proxy,
        limits: Caps::default(),
        cgroups: Vec::new(),
    }
}
