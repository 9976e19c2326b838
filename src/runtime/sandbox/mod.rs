//! Where a call runs. The plan is resolved before the start and refuses what it cannot enforce;
//! it never weakens.
//!
//! Enforced today: the containment of the file builtins in the workspace folder, and the limits
//! of a fixed command (cleared environment, own process group, time, output). A descriptor that
//! asks a command for more is refused.

pub mod adapter;

use std::path::{Path, PathBuf};

use adapter::{Adapter, Builtin};

use crate::tool::descriptor::{Descriptor, SandboxMode};

/// What will be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Which adapter runs.
    pub adapter: Adapter,
    /// What the descriptor asks for, by name.
    pub mode: &'static str,
    /// What is enforced: `workspace`, `process_limits`, `delegate` (each of its calls by itself) or
    /// `simulated`.
    pub enforcement: &'static str,
    /// Wall time in milliseconds.
    pub timeout_ms: u64,
    /// Captured output in bytes.
    pub max_output_bytes: u64,
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

/// Resolves the plan of a descriptor.
///
/// # Errors
/// What cannot be enforced or is not there.
pub fn plan(descriptor: &Descriptor) -> Result<Plan, Refusal> {
    let name = &descriptor.execution.adapter;
    let adapter = Adapter::parse(name).ok_or_else(|| Refusal::Adapter(name.clone()))?;
    let mode = descriptor.sandbox.mode;
    let enforcement = match adapter {
        Adapter::Simulated => "simulated",
        Adapter::Builtin(Builtin::CommandRun) => {
            if mode != SandboxMode::None {
                return Err(Refusal::Mode { mode: mode_name(mode), adapter: name.clone() });
            }
            let program = descriptor.execution.command.first().ok_or(Refusal::NoCommand)?;
            find_program(program).ok_or_else(|| Refusal::Program(program.clone()))?;
            "process_limits"
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
        // A turn takes longer than a call; its time is stated in the budget.
        timeout_ms: agent.map_or(own, |agent| agent.budget.timeout_ms),
        max_output_bytes: limits.max_output_bytes.unwrap_or(DEFAULT_OUTPUT),
    })
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
