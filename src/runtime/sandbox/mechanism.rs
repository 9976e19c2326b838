//! The parts that confine a command, each by one name. A plan demands a set of them, the helper
//! reports the set that it applied, and nothing starts where the two differ.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

macro_rules! mechanisms {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// One part of a confinement.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Mechanism {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl Mechanism {
            /// All of them, in the order in which they are applied.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name in a journal.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

mechanisms! {
    /// Nothing of the environment is inherited.
    Environment = "environment",
    /// No open file but input, output and errors is inherited.
    Descriptors = "descriptors",
    /// A session of its own, without a terminal.
    Session = "session",
    /// A cgroup that counts memory.
    CgroupMemory = "cgroup_memory",
    /// A cgroup that counts processes.
    CgroupProcesses = "cgroup_processes",
    /// Users of its own: whatever it may do as one of them, it may not do outside.
    UserNamespace = "user_namespace",
    /// A root of its own, in which only what is allowed has a name.
    MountNamespace = "mount_namespace",
    /// Processes of its own, all of which end with the first.
    ProcessNamespace = "process_namespace",
    /// Message queues and shared memory of its own.
    IpcNamespace = "ipc_namespace",
    /// A host name of its own.
    NameNamespace = "name_namespace",
    /// A network of its own, with nothing in it but what a plan puts there.
    NetworkNamespace = "network_namespace",
    /// Names and folders that are covered, by whatever name they are reached.
    BlockedPaths = "blocked_paths",
    /// Limits of file size, open files and core dumps.
    Rlimits = "rlimits",
    /// A limit of address space, where no cgroup counts memory.
    RlimitMemory = "rlimit_memory",
    /// A limit of processes, where no cgroup counts them and the user is not root.
    RlimitProcesses = "rlimit_processes",
    /// A proxy outside that decides on each connection is the only way out.
    Proxy = "proxy",
    /// No capability is held or can be had.
    Capabilities = "capabilities",
    /// No program gives more rights than its caller has.
    NoNewPrivileges = "no_new_privileges",
    /// Landlock on files: an exact list of what may be read, written and run.
    LandlockFiles = "landlock_files",
    /// Landlock on ports.
    LandlockNetwork = "landlock_network",
    /// Landlock on signals and abstract sockets: none leave the sandbox.
    LandlockScope = "landlock_scope",
    /// System calls that no tool needs are refused.
    Seccomp = "seccomp",
}

use Mechanism as M;

/// What the plan of a network asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Nothing can be reached.
    None,
    /// What the proxy lets through.
    Proxy,
    /// Everything that the machine reaches.
    Open,
}

/// What every confined command has, whatever it asks for.
const BASE: [Mechanism; 15] = [
    M::Environment,
    M::Descriptors,
    M::Session,
    M::UserNamespace,
    M::MountNamespace,
    M::ProcessNamespace,
    M::IpcNamespace,
    M::NameNamespace,
    M::BlockedPaths,
    M::Rlimits,
    M::Capabilities,
    M::NoNewPrivileges,
    M::LandlockFiles,
    M::LandlockScope,
    M::Seccomp,
];

/// The mechanisms that a plan demands, given those that the machine has: of two that limit the
/// same thing the better is taken, and where it has neither, the better is demanded all the same.
pub fn demanded(reach: Reach, memory: bool, can: &BTreeSet<Mechanism>) -> BTreeSet<Mechanism> {
    let mut set = BTreeSet::from(BASE);
    let either = |one, other| if !can.contains(&one) && can.contains(&other) { other } else { one };
    set.insert(either(M::CgroupProcesses, M::RlimitProcesses));
    if memory {
        set.insert(either(M::CgroupMemory, M::RlimitMemory));
    }
    match reach {
        Reach::None => set.extend([M::NetworkNamespace, M::LandlockNetwork]),
        Reach::Proxy => set.extend([M::NetworkNamespace, M::LandlockNetwork, M::Proxy]),
        Reach::Open => {}
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_of_two_limits_is_taken_and_absence_is_no_permission() {
        let check = |can: &[Mechanism], expected: [Mechanism; 2]| {
            let set = demanded(Reach::None, true, &can.iter().copied().collect());
            let limits = [M::CgroupMemory, M::CgroupProcesses, M::RlimitMemory, M::RlimitProcesses];
            let found: Vec<Mechanism> =
                limits.into_iter().filter(|one| set.contains(one)).collect();
            assert_eq!(found, expected);
        };
        check(Mechanism::ALL, [M::CgroupMemory, M::CgroupProcesses]);
        check(&[M::RlimitMemory, M::RlimitProcesses], [M::RlimitMemory, M::RlimitProcesses]);
        check(&[], [M::CgroupMemory, M::CgroupProcesses]);
    }

    #[test]
    fn only_an_open_network_does_without_one_of_its_own() {
        let can = Mechanism::ALL.iter().copied().collect();
        let has = |reach, one| demanded(reach, false, &can).contains(&one);
        for (reach, own, proxy) in
            [(Reach::None, true, false), (Reach::Proxy, true, true), (Reach::Open, false, false)]
        {
            assert_eq!(has(reach, M::NetworkNamespace), own, "{reach:?}");
            assert_eq!(has(reach, M::Proxy), proxy, "{reach:?}");
        }
    }
}
