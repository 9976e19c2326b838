//! Where a call runs. The plan is resolved before the start and refuses what it cannot enforce;
//! it never weakens.
//!
//! File builtins are contained in the workspace folder. A command is confined by the kernel: a
//! helper, which is this program started once more ([`child`]), applies what the plan demands,
//! reports it and only then starts the command. `docs/sandbox.md` says what each mode means. A
//! request of an HTTP tool is made by this process, by names and addresses that were judged
//! ([`web`]).

pub mod adapter;
pub mod blocked;
mod cgroup;
pub mod child;
pub mod confined;
pub mod container;
pub mod egress;
pub mod host;
pub mod launch;
pub mod mechanism;
pub mod needs;
pub mod order;
pub mod package;
pub mod proxy;
mod system;
pub mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapter::{Adapter, Builtin, Served};
use confined::Confined;
use container::Contained;
use host::Host;
use package::{Package, Packages};
use web::Web;

use crate::tool::descriptor::{Descriptor, EgressPolicy, SHELL, Sandbox, SandboxMode, SourceType};

/// What will be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Which adapter runs.
    pub adapter: Adapter,
    /// What the descriptor asks for, by name.
    pub mode: &'static str,
    /// What is enforced: `full` (all of a confinement, by the kernel), `container` (by an engine),
    /// `workspace`, `process_limits`, `egress` (which service is reached), `delegate` (each of its
    /// calls by itself), `server` (what confines the server it is called at) or `simulated`.
    pub enforcement: &'static str,
    /// The files that come with the tool.
    pub package: Option<Arc<Package>>,
    /// How a command is confined; `None` where it is not, or where there is no command.
    pub confined: Option<Arc<Confined>>,
    /// How a command runs in a container; `None` where it does not.
    pub contained: Option<Arc<Contained>>,
    /// How a service is reached; `None` where none is.
    pub web: Option<Arc<Web>>,
    /// Wall time in milliseconds.
    pub timeout_ms: u64,
    /// Captured output in bytes.
    pub max_output_bytes: u64,
}

impl Plan {
    /// Names of the mechanisms that must be in force before the start, sorted.
    pub fn mechanisms(&self) -> Vec<String> {
        let mechanisms = self.confined.iter().flat_map(|confined| &confined.mechanisms);
        let mut names: Vec<String> = mechanisms.map(|one| one.name().to_owned()).collect();
        let of_requests = self.web.iter().flat_map(|_| web::MECHANISMS);
        names.extend(of_requests.map(str::to_owned));
        let of_engines = self.contained.iter().flat_map(|_| container::MECHANISMS);
        names.extend(of_engines.map(str::to_owned));
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
    /// The image of a container is not here.
    #[error("image {0} is not here; nothing is fetched, so pull or build it first")]
    Image(String),
    /// A part of the `sandbox` section says what no sandbox can do.
    #[error("sandbox.{0}")]
    Section(String),
    /// The program is not installed.
    #[error("program {0} is not installed")]
    Program(String),
    /// A tool of a server that is not known.
    #[error("MCP server `{0}` is not known here")]
    Server(String),
    /// A tool of a skill that is not here.
    #[error("`{0}` is not here")]
    Package(String),
    /// A tool of a skill whose files are others than those it was registered with.
    #[error("the files of `{0}` are others than those it was registered with")]
    Changed(String),
    /// A fixed command without a program.
    #[error("execution.command is empty")]
    NoCommand,
    /// An HTTP tool without a request to make.
    #[error("execution.http is no operation")]
    NoOperation,
    /// An HTTP tool that says it calls nobody.
    #[error("effects.externalCalls: it calls a service, and declares no external call")]
    Undeclared,
    /// A delegating tool that does not say to whom.
    #[error("there is no `subagent` section")]
    NoAgent,
}

const DEFAULT_OUTPUT: u64 = 1 << 20;
const DELEGATE: &str = "delegate";
/// What runs a command line.
pub const SH: &str = "/bin/sh";

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The machine.
    pub host: &'a Host,
    /// How the tools of the descriptor's MCP server are called.
    pub served: Served<'a>,
    /// The files that come with tools.
    pub packages: &'a Packages,
}

impl<'a> Ground<'a> {
    /// A machine without servers and without files that come with tools.
    pub fn bare(host: &'a Host) -> Self {
        static NONE: Packages = Packages::new_empty();
        Self { host, served: Served::Not, packages: &NONE }
    }
}

/// Resolves the plan of a descriptor on a machine.
///
/// # Errors
/// What cannot be enforced or is not there.
pub fn plan(descriptor: &Descriptor, ground: Ground<'_>) -> Result<Plan, Refusal> {
    let Ground { host, served, packages } = ground;
    let name = &descriptor.execution.adapter;
    let mut adapter = Adapter::parse(name).ok_or_else(|| Refusal::Adapter(name.clone()))?;
    if adapter == Adapter::Mcp && served == Served::Simulated {
        adapter = Adapter::Simulated;
    }
    let mode = descriptor.sandbox.mode;
    let (mut confined, mut contained, mut package, mut web) = (None, None, None, None);
    let enforcement = match adapter {
        Adapter::Simulated => "simulated",
        Adapter::Mcp => {
            confined = mcp(descriptor, served, host)?.map(Arc::new);
            if confined.is_some() { "full" } else { "server" }
        }
        Adapter::Builtin(Builtin::Shell) if mode == SandboxMode::None => {
            return Err(Refusal::Mode { mode: mode_name(mode), adapter: name.clone() });
        }
        Adapter::Cli | Adapter::Builtin(Builtin::CommandRun | Builtin::Shell) => {
            let fixed = descriptor.execution.command.first().map(String::as_str);
            let program = if name == SHELL { Some(SH) } else { fixed };
            let program = program.ok_or(Refusal::NoCommand)?;
            package = packaged(descriptor, packages)?;
            match command(descriptor, (program, package.as_deref()), host)? {
                Held::Kernel(found) => {
                    confined = Some(Arc::from(found));
                    "full"
                }
                Held::Engine(found) => {
                    contained = Some(Arc::from(found));
                    "container"
                }
                Held::Not => "process_limits",
            }
        }
        Adapter::Http => {
            web = Some(Arc::new(web::resolve(descriptor, host)?));
            "egress"
        }
        Adapter::Builtin(Builtin::Delegate) => delegate(descriptor)?,
        Adapter::Builtin(Builtin::Skill) => {
            let missing = || Refusal::Package(descriptor.source.source_id.clone());
            package = Some(packaged(descriptor, packages)?.ok_or_else(missing)?);
            "workspace"
        }
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
        package,
        confined,
        contained,
        web,
        // A turn takes longer than a call; its time is stated in the budget.
        timeout_ms: agent.map_or(own, |agent| agent.budget.timeout_ms),
        max_output_bytes: limits.max_output_bytes.unwrap_or(DEFAULT_OUTPUT),
    })
}

/// The files that come with a tool of a skill, if they are those that it was registered with.
fn packaged(descriptor: &Descriptor, packages: &Packages) -> Result<Option<Arc<Package>>, Refusal> {
    if descriptor.source.r#type != SourceType::Skill {
        return Ok(None);
    }
    let id = &descriptor.source.source_id;
    let package = packages.get(id).ok_or_else(|| Refusal::Package(id.clone()))?;
    let registered = descriptor.provenance.foreign.get(package::DIGEST);
    match registered == Some(&serde_json::json!(package.digest)) {
        true => Ok(Some(Arc::clone(package))),
        false => Err(Refusal::Changed(id.clone())),
    }
}

/// A word of a command; one that is a file which comes with the tool as the file's path.
pub fn placed(word: &str, folder: Option<&Path>) -> String {
    let file = word.strip_prefix(package::PLACE).zip(folder);
    file.map_or_else(|| word.to_owned(), |(file, folder)| folder.join(file).display().to_string())
}

/// Who holds a command; nobody where the descriptor asks for nothing.
enum Held {
    Kernel(Box<Confined>),
    Engine(Box<Contained>),
    Not,
}

/// How a command is held.
fn command(
    descriptor: &Descriptor,
    (program, package): (&str, Option<&Package>),
    host: &Host,
) -> Result<Held, Refusal> {
    let folder = package.map(Package::folder).transpose();
    let folder =
        folder.map_err(|error| Refusal::Section(format!("files of the skill: {error}")))?;
    let program = &placed(program, folder.as_deref());
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
            Ok(Held::Not)
        }
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite | SandboxMode::NetworkRestricted => {
            let mut section = section.clone();
            let roots = folder.iter().map(|folder| folder.display().to_string());
            section.filesystem.read_roots.extend(roots);
            Ok(Held::Kernel(Box::new(confined::resolve(&section, program, host)?)))
        }
        SandboxMode::Container => {
            let contained = container::resolve(section, folder, host.engine())?;
            Ok(Held::Engine(Box::new(contained)))
        }
        // No virtual machine is driven, and a remote service runs no local command.
        SandboxMode::Vm | SandboxMode::RemoteApi => refuse(section.mode),
    }
}

/// How a server that is started is confined: as its section says, and so that it can read what it
/// is installed in; `None` where the section asks for nothing.
///
/// # Errors
/// What cannot be enforced or is not there.
pub fn for_server(
    section: &Sandbox,
    program: &str,
    host: &Host,
) -> Result<Option<Confined>, Refusal> {
    match section.mode {
        SandboxMode::None => Ok(None),
        SandboxMode::Container | SandboxMode::Vm | SandboxMode::RemoteApi => {
            let adapter = "an MCP server that is started".to_owned();
            Err(Refusal::Mode { mode: mode_name(section.mode), adapter })
        }
        SandboxMode::ReadOnly | SandboxMode::WorkspaceWrite | SandboxMode::NetworkRestricted => {
            let found = find_program(program);
            let found = found.ok_or_else(|| Refusal::Program(program.to_owned()))?;
            let found = needs::place(&found).display().to_string();
            let mut section = section.clone();
            let needs = needs::folders(&found);
            section
                .filesystem
                .read_roots
                .extend(needs.iter().map(|path| path.display().to_string()));
            let confined = confined::resolve(&section, &found, host)?;
            let path = needs.iter().map(|folder| folder.join("bin")).filter(|bin| bin.is_dir());
            Ok(Some(Confined { path: path.collect(), ..confined }))
        }
    }
}

/// What confines a tool of a server is where the server runs: what its descriptor would have
/// confined beyond that cannot be promised for it.
fn mcp(
    descriptor: &Descriptor,
    served: Served<'_>,
    host: &Host,
) -> Result<Option<Confined>, Refusal> {
    let Served::Live(started) = served else {
        return Err(Refusal::Server(descriptor.source.server_id.clone().unwrap_or_default()));
    };
    match descriptor.sandbox.mode {
        SandboxMode::None | SandboxMode::RemoteApi => {
            started.map_or(Ok(None), |(section, program)| for_server(section, program, host))
        }

        mode => {
            let adapter = descriptor.execution.adapter.clone();
            Err(Refusal::Mode { mode: mode_name(mode), adapter })
        }
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
