//! Landlock: an exact list of what may be read, written and run; ports; signals and sockets.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};

use super::super::mechanism::{Mechanism, Reach};
use super::super::order::{Order, PROXY_PORT};
use super::super::system;

/// What can be asked for of the kernel with the version that has scopes. A kernel that knows less
/// fails.
const ABI_NEEDED: ABI = ABI::V6;

#[derive(Debug, thiserror::Error)]
pub(super) enum RightsError {
    #[error("{0}")]
    Rules(#[from] RulesetError),
    #[error("{0}")]
    Path(#[from] landlock::PathFdError),
    #[error("the kernel enforces it only in part")]
    Partly,
}

/// Restricts this process and all that it starts.
pub(super) fn restrict(order: &Order) -> Result<(), RightsError> {
    let ordered = |one| order.mechanisms.contains(&one);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if ordered(Mechanism::LandlockFiles) {
        rules = rules.handle_access(AccessFs::from_all(ABI_NEEDED))?;
    }
    if ordered(Mechanism::LandlockNetwork) {
        rules = rules.handle_access(AccessNet::from_all(ABI_NEEDED))?;
    }
    if ordered(Mechanism::LandlockScope) {
        rules = rules.scope(Scope::from_all(ABI_NEEDED))?;
    }
    let mut rules = rules.create()?.no_new_privs(ordered(Mechanism::NoNewPrivileges));
    if ordered(Mechanism::LandlockFiles) {
        rules = files(rules, order)?;
    }
    if ordered(Mechanism::LandlockNetwork) && order.reach == Reach::Proxy {
        rules = rules.add_rule(NetPort::new(PROXY_PORT, AccessNet::ConnectTcp))?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => Err(RightsError::Partly),
    }
}

fn files(mut rules: RulesetCreated, order: &Order) -> Result<RulesetCreated, RightsError> {
    let read = AccessFs::from_read(ABI_NEEDED);
    // Whoever may write makes no devices and asks nothing of them.
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(ABI_NEEDED) & !devices;
    let own_root = order.mechanisms.contains(&Mechanism::MountNamespace);
    for path in system::folders().chain(system::files(order.reach)) {
        rules = allow(rules, Path::new(path), read)?;
    }
    for path in system::DEVICES {
        rules = allow(rules, Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    if own_root {
        // Only then are these not the machine's.
        rules = allow(rules, Path::new("/proc"), AccessFs::ReadFile | AccessFs::ReadDir)?;
        for path in system::SCRATCH {
            rules = allow(rules, Path::new(path), write)?;
        }
    }
    for path in &order.visible.read {
        rules = allow(rules, path, read)?;
    }
    for path in &order.visible.write {
        rules = allow(rules, path, write)?;
    }
    Ok(rules)
}

/// Allows something below a path. What is not there is not allowed: a name that appears later is
/// none that was listed.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RightsError> {
    let Ok(found) = path.metadata() else { return Ok(rules) };
    let fit = if found.is_dir() { access } else { access & AccessFs::from_file(ABI_NEEDED) };
    Ok(rules.add_rule(PathBeneath::new(PathFd::new(path)?, fit))?)
}
