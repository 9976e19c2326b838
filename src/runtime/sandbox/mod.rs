//! Where a call runs. The plan is resolved before the start and refuses what it cannot enforce;
//! it never weakens.
//!
//! File builtins are contained in the workspace folder. A command is confined by the kernel: a
//! helper, which is this program started once more ([`child`]), applies what the plan demands,
//! reports it and only then starts the command. `docs/sandbox.md` says what each mode means.

pub mod adapter;
mod blocked;
mod cgroup;
pub mod child;
pub mod confined;
pub mod egress;
pub mod host;
pub mod launch;
pub mod mechanism;
pub mod order;
pub mod proxy;
mod system;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapter::{Adapter, Builtin};
use confined::Confined;
use host::Host;

use crate::tool::descriptor::{Descriptor, EgressPolicy, SHELL, SandboxMode};

/// What will be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Which adapter runs.
    pub adapter: Adapter,
    /// What the descriptor asks for, by name.
    pub mode: &'static str,
    /// What is enforced: `full` (all of a confinement, by the kernel), `workspace`,
    /// `process_limits`, `delegate` (each of its calls by itself) or `simulated`.
    pub enforcement: &'static str,
    /// How a command is confined; `None` where it is not, or where there is no command.
    pub confined: Option<Arc<Confined>>,
    /// Wall time in milliseconds.
    pub timeout_ms: u64,
    /// Captured output in bytes.
    pub max_output_bytes: u64,
}

impl Plan {
    /// Names of the mechanisms that must be in force before the command starts, sorted.
    pub fn mechanisms(&self) -> Vec<String> {
        let mechanisms = self.confined.iter().flat_map(|confined| &confined.mechanisms);
        let mut names: Vec<String> = mechanisms.map(|one| one.name().to_owned()).collect();
        names.sort();
        names
    }
}

/// Why a plan is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The descriptor names an adapter that does not exist.
    #[error("adapter `{0}` does not exist")]
    Adapter(String),
    /// The mode cannot be enforced for this adapter.
    #[error("sandbox mode {mode} cannot be enforced for {adapter}")]
    Mode {
        /// The mode asked for.
        mode: &'static str,
        /// The adapter.
        adapter: String,
    },
    /// The machine, or what is known of it, lacks parts of the confinement.
    #[error("sandbox mode {mode} cannot be enforced here: no {}", .missing.join(", "))]
    Mechanisms {
        /// The mode asked for.
        mode: &'static str,
        /// What is missing, by name.
        missing: Vec<&'static str>,
    },
    /// A part of the `sandbox` section says what no sandbox can do.
    #[error("sandbox.{0}")]
    Section(String),
    /// The program is not installed.
    #[error("program {0} is not installed")]
    Program(String),
    /// A fixed command without a program.
    #[error("execution.command is empty")]
    NoCommand,
    /// A delegating tool that does not say to whom.
    #[error("there is no `subagent` section")]
    NoAgent,
}

const DEFAULT_OUTPUT: u64 = 1 << 20;
const DELEGATE: &str = "delegate";
/// What runs a command line.
pub const SH: &str = "/bin/sh";

/// Resolves the plan of a descriptor on a machine.
///
/// # Errors
/// What cannot be enforced or is not there.
pub fn plan(descriptor: &Descriptor, host: &Host) -> Result<Plan, Refusal> {
    let name = &descriptor.execution.adapter;
    let adapter = Adapter::parse(name).ok_or_else(|| Refusal::Adapter(name.clone()))?;
    let mode = descriptor.sandbox.mode;
    let mut confined = None;
    let enforcement = match adapter {
        Adapter::Simulated => "simulated",
        Adapter::Builtin(Builtin::Shell) if mode == SandboxMode::None => {
            return Err(Refusal::Mode { mode: mode_name(mode), adapter: name.clone() });
        }
        Adapter::Cli | Adapter::Builtin(Builtin::CommandRun | Builtin::Shell) => {
            let fixed = descriptor.execution.command.first().map(String::as_str);
            let program = if name == SHELL { Some(SH) } else { fixed };
            let program = program.ok_or(Refusal::NoCommand)?;
            confined = command(descriptor, program, host)?.map(Arc::new);
            if confined.is_some() { "full" } else { "process_limits" }
        }
        Adapter::Builtin(Builtin::Delegate) => delegate(descriptor)?,
        Adapter::Builtin(builtin) => {
            let needs_write = builtin.writes();
            match mode {
                SandboxMode::WorkspaceWrite => "workspace",
                SandboxMode::ReadOnly if !needs_write => "workspace",
                _ => return Err(Refusal::Mode { mode: mode_name(mode), adapter: name.clone() }),
            }
        }
    };
    let limits = &descriptor.sandbox.limits;
    let own = limits.timeout_ms.min(descriptor.execution.timeout_ms);
    let agent = descriptor.subagent.as_ref().filter(|_| enforcement == DELEGATE);
    Ok(Plan {
        adapter,
        mode: mode_name(mode),
        enforcement,
        confined,
        // A turn takes longer than a call; its time is stated in the budget.
        timeout_ms: agent.map_or(own, |agent| agent.budget.timeout_ms),
        max_output_bytes: limits.max_output_bytes.unwrap_or(DEFAULT_OUTPUT),
    })
}

/// How a command is confined; `None` where the descriptor asks for nothing.
fn command(
    descriptor: &Descriptor,
    program: &str,
    host: &Host,
) -> Result<Option<Confined>, Refusal> {
    let section = &descriptor.sandbox;
    let refuse = |mode| {
        let adapter = descriptor.execution.adapter.clone();
        Err(Refusal::Mode { mode: mode_name(mode), adapter })
    };
    match section.mode {
        SandboxMode::None => {
            // Nothing is confined: what would confine more must not be believed to hold.
            if section.network.egress_policy == EgressPolicy::Allowlist {
                return refuse(section.mode);
            }
            find_program(program).ok_or_else(|| Refusal::Program(program.to_owned()))?;
            Ok(None)
        }
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite | SandboxMode::NetworkRestricted => {
            confined::resolve(descriptor, program, host).map(Some)
        }
        // No runtime of either kind is driven, and a remote service runs no local command.
        SandboxMode::Container | SandboxMode::Vm | SandboxMode::RemoteApi => refuse(section.mode),
    }
}

/// A delegate touches nothing but by calls that have plans of their own. What would confine more
/// than those do cannot be promised for it.
fn delegate(descriptor: &Descriptor) -> Result<&'static str, Refusal> {
    descriptor.subagent.as_ref().ok_or(Refusal::NoAgent)?;
    match descriptor.sandbox.mode {
        SandboxMode::None | SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite => Ok(DELEGATE),
        mode => {
            let adapter = descriptor.execution.adapter.clone();
            Err(Refusal::Mode { mode: mode_name(mode), adapter })
        }
    }
}

/// Finds a program on `PATH`, or as given when it holds a slash.
pub fn find_program(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| PathBuf::from(program));
    }
    let path = crate::base::world::env_var("PATH")?;
    path.split(':').map(|folder| Path::new(folder).join(program)).find(|file| file.is_file())
}

fn mode_name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::None => "none",
        SandboxMode::ReadOnly => "read_only",
        SandboxMode::WorkspaceWrite => "workspace_write",
        SandboxMode::NetworkRestricted => "network_restricted",
        SandboxMode::Container => "container",
        SandboxMode::Vm => "vm",
        SandboxMode::RemoteApi => "remote_api",
    }
}
