//! The confinement of a command: what its descriptor asks for, in the words of the helper.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::blocked::{self, Blocked};
use super::egress::Egress;
use super::host::Host;
use super::mechanism::{Mechanism, Reach, demanded};
use super::order::{Caps, Handed, Order, PROXY_PORT, Stdin, Visible};
use super::{Refusal, mode_name, system};
use crate::base::world::env_var;
use crate::tool::descriptor::{EgressPolicy, Sandbox, SandboxMode};

/// A resolved confinement; only the workspace is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confined {
    /// The helper that applies it.
    pub helper: PathBuf,
    /// What must be in force before the command starts.
    pub mechanisms: BTreeSet<Mechanism>,
    /// The program.
    pub program: PathBuf,
    /// What may be reached.
    pub reach: Reach,
    /// What the proxy lets through, where there is one.
    pub egress: Egress,
    /// Limits.
    pub caps: Caps,
    /// Roots that may be read.
    pub read: Vec<Root>,
    /// Roots that may be written.
    pub write: Vec<Root>,
    /// Entries of `blockedPaths`.
    pub blocked: Vec<String>,
    /// Where it starts, below the workspace.
    pub cwd: String,
    /// Variables that it inherits.
    pub inherited: Vec<String>,
    /// Folders in which it finds programs before those of the system.
    pub path: Vec<PathBuf>,
}

/// A folder that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// A folder of the workspace; empty for all of it.
    Workspace(String),
    /// A folder of the machine.
    Machine(PathBuf),
}

/// An order with what must live as long as the command does.
#[derive(Debug)]
pub struct Ordered {
    /// The order.
    pub order: Order,
    /// Names that were taken for it.
    pub blocked: Blocked,
}

/// Parts of the machine that are no folders to read from.
const NO_ROOTS: [&str; 4] = ["/", "/proc", "/sys", "/dev"];

/// Resolves what a `sandbox` section asks for.
pub(super) fn resolve(section: &Sandbox, program: &str, host: &Host) -> Result<Confined, Refusal> {
    let mode = section.mode;
    let reach = reach(section)?;
    let caps = caps(section);
    let can = host.can();
    let mechanisms = demanded(reach, caps.memory_bytes.is_some(), &can);
    let missing = mechanisms.difference(&can).map(|one| one.name()).collect::<Vec<_>>();
    let Some(helper) = host.helper().filter(|_| missing.is_empty()) else {
        return Err(Refusal::Mechanisms { mode: mode_name(mode), missing });
    };
    let files = &section.filesystem;
    let read = files.read_roots.iter().map(|root| readable(root)).collect::<Result<Vec<_>, _>>()?;
    let write = match (mode, files.write_roots.is_empty()) {
        (SandboxMode::ReadOnly, true) => Vec::new(),
        (SandboxMode::ReadOnly, false) => {
            let why = "filesystem.writeRoots: mode read_only writes nothing".to_owned();
            return Err(Refusal::Section(why));
        }
        (_, true) => vec![Root::Workspace(String::new())],
        (_, false) => {
            files.write_roots.iter().map(|root| in_workspace(root)).collect::<Result<_, _>>()?
        }
    };
    let found = system::find(program);
    let program = found.ok_or_else(|| Refusal::Program(program.to_owned()))?;
    let seen =
        system::folders().any(|folder| program.starts_with(folder)) || read_by(&read, &program);
    if !seen {
        let shown = program.display();
        let why = format!("filesystem.readRoots: program {shown} is in none of them");
        return Err(Refusal::Section(why));
    }
    let cwd = inner(&files.cwd).ok_or_else(|| {
        Refusal::Section(format!("filesystem.cwd: `{}` leads out of the workspace", files.cwd))
    })?;
    let holds =
        |root: &Root| matches!(root, Root::Workspace(at) if Path::new(&cwd).starts_with(at));
    if !read.iter().chain(&write).any(holds) {
        let why = "filesystem.readRoots: the folder that it starts in is in none of them; add \
                   `workspace`";
        return Err(Refusal::Section(why.to_owned()));
    }
    let network = &section.network;
    Ok(Confined {
        helper: helper.to_owned(),
        mechanisms,
        program,
        reach,
        egress: Egress::of(network, host.fixtures()),
        caps,
        read,
        write,
        blocked: files.blocked_paths.clone(),
        cwd,
        inherited: section.environment.inherited_env.clone(),
        path: Vec::new(),
    })
}

fn reach(section: &Sandbox) -> Result<Reach, Refusal> {
    Ok(match (section.network.egress_policy, section.mode) {
        (EgressPolicy::None, _) => Reach::None,
        (EgressPolicy::Allowlist, _) => Reach::Proxy,
        (EgressPolicy::Open, SandboxMode::NetworkRestricted) => {
            let why = "network.egressPolicy: mode network_restricted leaves no open network";
            return Err(Refusal::Section(why.to_owned()));
        }
        (EgressPolicy::Open, _) => Reach::Open,
    })
}

fn caps(section: &Sandbox) -> Caps {
    let usual = Caps::default();
    Caps {
        memory_bytes: section.limits.max_memory_mb.map(|mb| mb.saturating_mul(1 << 20)),
        processes: section.limits.max_processes.unwrap_or(usual.processes),
        ..usual
    }
}

fn readable(root: &str) -> Result<Root, Refusal> {
    if !root.starts_with('/') {
        return in_workspace(root);
    }
    let refuse = |why: &str| Refusal::Section(format!("filesystem.readRoots: `{root}` {why}"));
    let real = Path::new(root).canonicalize().map_err(|_| refuse("is not there"))?;
    if NO_ROOTS.iter().any(|no| Path::new(no) == real) {
        return Err(refuse("is no folder to read from"));
    }
    Ok(Root::Machine(real))
}

fn in_workspace(root: &str) -> Result<Root, Refusal> {
    let refuse = || Refusal::Section(format!("filesystem: root `{root}` is not known"));
    let rest = root.strip_prefix("workspace").ok_or_else(refuse)?;
    let below = rest.strip_prefix('/').or(rest.is_empty().then_some("")).ok_or_else(refuse)?;
    Ok(Root::Workspace(inner(below).ok_or_else(refuse)?))
}

/// A path below the workspace, or none.
fn inner(path: &str) -> Option<String> {
    let plain = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    plain.then(|| path.to_owned())
}

fn read_by(roots: &[Root], program: &Path) -> bool {
    roots.iter().any(|root| matches!(root, Root::Machine(path) if program.starts_with(path)))
}

impl Confined {
    /// The order for one command in a workspace. The command's first word is replaced by the
    /// program as it was found.
    ///
    /// # Errors
    /// When a path cannot be resolved, or leads out of the workspace.
    pub fn order(&self, workspace: &Path, command: &[String], stdin: Stdin) -> io::Result<Ordered> {
        let place = |root: &Root| -> io::Result<PathBuf> {
            let Root::Workspace(below) = root else {
                let Root::Machine(path) = root else { return Err(io::ErrorKind::NotFound.into()) };
                return Ok(path.clone());
            };
            let real = workspace.join(below).canonicalize()?;
            match real.starts_with(workspace) {
                true => Ok(real),
                false => Err(io::Error::other(format!("`{below}` leads out of the workspace"))),
            }
        };
        let places = |roots: &[Root]| roots.iter().map(place).collect::<io::Result<Vec<_>>>();
        let mut visible =
            Visible { read: places(&self.read)?, write: places(&self.write)?, blocked: Vec::new() };
        let blocked = blocked::find(&self.blocked, workspace, &visible)?;
        visible.blocked.clone_from(&blocked.paths);
        let program = self.program.display().to_string();
        let words = std::iter::once(program).chain(command.iter().skip(1).cloned());
        let order = Order {
            mechanisms: self.mechanisms.clone(),
            command: words.collect(),
            env: self.env(),
            handed: Handed::default(),
            cwd: place(&Root::Workspace(self.cwd.clone()))?,
            stdin,
            visible,
            reach: self.reach,
            limits: self.caps,
            cgroups: Vec::new(),
        };
        Ok(Ordered { order, blocked })
    }

    fn env(&self) -> BTreeMap<String, String> {
        let path = self.path.iter().map(|folder| folder.display().to_string());
        let path: Vec<String> = path.chain([system::PATH.to_owned()]).collect();
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut env = BTreeMap::from([
            own("PATH", &path.join(":")),
            own("HOME", "/tmp"),
            own("TMPDIR", "/tmp"),
            own("LANG", "C.UTF-8"),
        ]);
        let inherited = self.inherited.iter();
        env.extend(inherited.filter_map(|name| Some((name.clone(), env_var(name)?))));
        if self.reach == Reach::Proxy {
            let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
            for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
                env.insert(name.to_owned(), proxy.clone());
            }
        }
        env
    }
}
