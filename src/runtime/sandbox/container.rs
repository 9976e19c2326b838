//! Commands in containers, where an engine of theirs works here: `podman`, or `docker` with its
//! daemon. The image must be here already; nothing is fetched. What holds is the engine's word and
//! not the kernel's answer to our helper, so that it is recorded under names of its own.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::blocked::{self, Blocked};
use super::order::{Caps, Visible};
use super::{Refusal, find_program, mode_name};
use crate::base::world::env_var;
use crate::tool::descriptor::{EgressPolicy, Sandbox};

/// Names the engine, with options that it needs here.
const SETTING: &str = "PROOFMARK_CONTAINER";
const ENGINES: [&str; 2] = ["podman", "docker"];
/// How long an engine may take to say whether it works, and whether it has an image.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// Where the workspace is inside.
pub const WORKSPACE: &str = "/workspace";

/// What is asked of the engine for every command.
pub const MECHANISMS: [&str; 8] = [
    "engine_capabilities",
    "engine_ipc",
    "engine_limits",
    "engine_mounts",
    "engine_network",
    "engine_no_new_privileges",
    "engine_processes",
    "engine_read_only",
];

/// The engine of this machine; found once, and asked once for each image.
#[derive(Debug, Default)]
pub struct Engine {
    words: OnceLock<Option<Vec<String>>>,
    images: Mutex<BTreeMap<String, bool>>,
}

impl Engine {
    /// The words that call it; `None` where there is none that works.
    pub fn words(&self) -> Option<&[String]> {
        let found = self.words.get_or_init(|| {
            let given = env_var(SETTING).filter(|given| !given.trim().is_empty());
            let split = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            let named: Vec<Vec<String>> = match given {
                Some(given) => vec![split(&given)],
                None => ENGINES.iter().map(|name| split(name)).collect(),
            };
            named
                .into_iter()
                .find(|words| find_program(&words[0]).is_some() && says(words, &["info"]))
        });
        found.as_deref()
    }

    fn has(&self, image: &str) -> bool {
        let Some(words) = self.words() else { return false };
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = || says(words, &["image", "inspect", image]);
        *images.entry(image.to_owned()).or_insert_with(ask)
    }
}

/// Whether an engine answers, and with a success.
fn says(words: &[String], args: &[&str]) -> bool {
    let Some((program, own)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(own).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let ended = i32::try_from(child.id()).ok().and_then(Pid::from_raw).and_then(|pid| {
        let file = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&PATIENCE)).ok()
    });
    if ended.is_none_or(|ready| ready == 0) {
        let _killed = child.kill();
    }
    child.wait().is_ok_and(|status| status.success())
}

/// How a command runs in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contained {
    engine: Vec<String>,
    image: String,
    network: &'static str,
    caps: Caps,
    write: Vec<String>,
    blocked: Vec<String>,
    cwd: String,
    /// The files of a skill, at their own place.
    package: Option<PathBuf>,
}

/// What is started, and what it holds while it runs.
#[derive(Debug)]
pub struct Started {
    /// The engine's command line.
    pub words: Vec<String>,
    /// What removes it, whatever it does.
    pub removal: Vec<String>,
    /// Names that were taken for it.
    pub blocked: Blocked,
}

/// Resolves what a `sandbox` section asks of a container.
///
/// # Errors
/// What an engine cannot hold, or is not here.
pub(super) fn resolve(
    section: &Sandbox,
    package: Option<PathBuf>,
    engine: &Engine,
) -> Result<Contained, Refusal> {
    let refuse = |why: &str| Err(Refusal::Section(why.to_owned()));
    let Some(image) = section.image.clone() else {
        return refuse("image: mode container needs the name of an image");
    };
    if image.starts_with('-') || image.contains(char::is_whitespace) {
        return refuse("image: it is no name");
    }
    let network = match section.network.egress_policy {
        EgressPolicy::None => "none",
        EgressPolicy::Open => "bridge",
        EgressPolicy::Allowlist => {
            return refuse(
                "network.egressPolicy: a container's names are not looked at; none or open",
            );
        }
    };
    let files = &section.filesystem;
    if files.read_roots.iter().any(|root| root != "workspace") {
        return refuse("filesystem.readRoots: a container shows its image and the workspace alone");
    }
    let below = |root: &String| {
        let rest = root.strip_prefix("workspace")?;
        let rest = rest.strip_prefix('/').or(rest.is_empty().then_some(""))?;
        (!rest.split('/').any(|part| part == "..")).then(|| rest.to_owned())
    };
    let write: Option<Vec<String>> = match files.write_roots.is_empty() {
        true => Some(vec![String::new()]),
        false => files.write_roots.iter().map(below).collect(),
    };
    let Some(write) = write else {
        return refuse("filesystem.writeRoots: a container writes the workspace, or folders of it");
    };
    if files.cwd.starts_with('/') || files.cwd.split('/').any(|part| part == "..") {
        return refuse("filesystem.cwd: it leads out of the workspace");
    }
    let mode = mode_name(section.mode);
    let Some(words) = engine.words() else {
        return Err(Refusal::Mechanisms { mode, missing: vec!["container engine that works"] });
    };
    if !engine.has(&image) {
        return Err(Refusal::Image(image));
    }
    let usual = Caps::default();
    let caps = Caps {
        memory_bytes: section.limits.max_memory_mb.map(|mb| mb.saturating_mul(1 << 20)),
        processes: section.limits.max_processes.unwrap_or(usual.processes),
        ..usual
    };
    Ok(Contained {
        engine: words.to_vec(),
        image,
        network,
        caps,
        write,
        blocked: files.blocked_paths.clone(),
        cwd: files.cwd.clone(),
        package,
    })
}

impl Contained {
    /// The engine's command line for one command in a workspace. `handed` are the names of
    /// variables that the engine finds in its own environment; no value is on a command line.
    ///
    /// # Errors
    /// When a path cannot be resolved, or cannot be named to an engine.
    pub fn start<'n>(
        &self,
        name: &str,
        (workspace, command): (&Path, &[String]),
        handed: impl Iterator<Item = &'n str>,
    ) -> io::Result<Started> {
        let places = self.write.iter().map(|below| workspace.join(below).canonicalize());
        let write = places.collect::<io::Result<Vec<PathBuf>>>()?;
        if write.iter().any(|place| !place.starts_with(workspace)) {
            return Err(io::Error::other("a root leads out of the workspace"));
        }
        let visible =
            Visible { read: vec![workspace.to_owned()], write: write.clone(), blocked: Vec::new() };
        let blocked = blocked::find(&self.blocked, workspace, &visible)?;
        let mut words = self.engine.clone();
        let mut say = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        say(&["run", "--rm", "--interactive", "--pull=never", "--read-only", "--cap-drop=ALL"]);
        say(&["--security-opt=no-new-privileges", "--ipc=none", "--log-driver=none"]);
        // Whoever removes it does not ask it first.
        say(&["--stop-signal=KILL", "--stop-timeout=1"]);
        say(&["--hostname=box", "--env=HOME=/tmp", "--name", name]);
        say(&[&format!("--network={}", self.network)]);
        let Caps { processes, open_files, file_bytes, scratch_bytes, memory_bytes } = &self.caps;
        say(&[&format!("--pids-limit={processes}")]);
        say(&[&format!("--ulimit=nproc={processes}:{processes}")]);
        say(&[&format!("--ulimit=nofile={open_files}:{open_files}")]);
        say(&[&format!("--ulimit=fsize={file_bytes}:{file_bytes}"), "--ulimit=core=0:0"]);
        say(&[&format!("--tmpfs=/tmp:rw,size={scratch_bytes}")]);
        if let Some(bytes) = memory_bytes {
            say(&[&format!("--memory={bytes}")]);
        }
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        say(&[&format!("--user={}:{}", user.as_raw(), group.as_raw())]);
        if !user.is_root() && self.engine[0].ends_with("podman") {
            say(&["--userns=keep-id"]);
        }
        let whole = write.iter().any(|place| place == workspace);
        say(&["--mount", &bind(workspace, Path::new(WORKSPACE), whole)?]);
        for place in write.iter().filter(|place| *place != workspace) {
            say(&["--mount", &bind(place, &inside(place, workspace), true)?]);
        }
        if let Some(folder) = &self.package {
            say(&["--mount", &bind(folder, folder, false)?]);
        }
        for path in blocked.paths.iter().filter(|path| path.starts_with(workspace)) {
            let at = inside(path, workspace);
            match path.is_dir() {
                true => say(&[&format!("--tmpfs={}:ro,size=4096", at.display())]),
                false => say(&["--mount", &bind(Path::new("/dev/null"), &at, false)?]),
            }
        }
        for variable in handed {
            say(&["--env", variable]);
        }
        let cwd = Path::new(WORKSPACE).join(&self.cwd);
        say(&["--workdir", &cwd.display().to_string(), &self.image]);
        words.extend(command.iter().cloned());
        let removal = ["rm", "--force", name].map(str::to_owned);
        let removal = self.engine.iter().cloned().chain(removal).collect();
        Ok(Started { words, removal, blocked })
    }
}

fn inside(path: &Path, workspace: &Path) -> PathBuf {
    Path::new(WORKSPACE).join(path.strip_prefix(workspace).unwrap_or(path))
}

/// A mount as engines read it; they have no way to spell a comma.
fn bind(from: &Path, to: &Path, writable: bool) -> io::Result<String> {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    if [&from, &to].iter().any(|path| path.contains([',', '"', '\n'])) {
        return Err(io::Error::other(format!("`{from}` cannot be named to an engine")));
    }
    let end = if writable { "" } else { ",readonly" };
    Ok(format!("type=bind,source={from},target={to}{end}"))
}
