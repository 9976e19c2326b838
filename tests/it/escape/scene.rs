//! Where attempts are made: a workspace, a folder outside of it, a program in the sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::launch::Sandbox;
use proofmark::runtime::sandbox::mechanism::{Mechanism, Reach};
use proofmark::runtime::sandbox::order::Stdin;
use proofmark::runtime::sandbox::order::{Caps, Order};
use proofmark::runtime::sandbox::{Ground, plan};
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::manifest;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::support::skip;

/// One attempt. The script is Python; `work`, `out`, `extra` and the modules are there, and it
/// calls `got()` when it got out.
pub struct Attempt {
    /// What is tried.
    pub name: &'static str,
    /// What must stop it; switched off in the second run.
    pub stopped_by: &'static [Mechanism],
    /// What would stop it too; absent in both runs.
    pub without: &'static [Mechanism],
    /// The script.
    pub script: &'static str,
}

/// An attempt about which nothing special is to be said.
pub const BASE: Attempt = Attempt { name: "", stopped_by: &[], without: &[], script: "" };

/// What only root can do, confined or not.
const ROOTS: [&str; 2] = ["a packet socket of the machine", "settings of the kernel"];

/// What only a group of processes stops: without one a limit holds for each process alone, as the
/// page on the sandbox says.
const OF_ALL_TOGETHER: &str = "too much memory in several processes";

/// No mechanism.
pub const NONE: &[Mechanism] = &[];

const PRELUDE: &str = "\
import os, sys, socket, ctypes, time, subprocess, threading, stat, signal, glob
work, out, extra = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
def got():
    print('<GOT>', flush=True)
    os._exit(0)
def call(number, *args):
    args = [ctypes.c_long(one) if isinstance(one, int) else one for one in args]
    answer = libc.syscall(ctypes.c_long(number), *args)
    if answer < 0:
        raise OSError(ctypes.get_errno(), 'call')
    return answer
";

const PYTHON: &str = "/usr/bin/python3";

static HOST: LazyLock<Host> = LazyLock::new(|| Host::with(env!("CARGO_BIN_EXE_proofmark")));

/// What holds for some and not for others: the kernel does not count root's processes, and who is
/// not root may not have groups of processes to manage. Each stands in for the other.
fn is_spared(one: Mechanism) -> bool {
    match rustix::process::geteuid().is_root() {
        true => one == Mechanism::RlimitProcesses,
        false => [Mechanism::CgroupMemory, Mechanism::CgroupProcesses].contains(&one),
    }
}

/// The machine, where it can confine and has what the attempts are written in.
pub fn host() -> Option<&'static Host> {
    let can = HOST.can();
    let absent: Vec<&str> = Mechanism::ALL
        .iter()
        .filter(|one| !can.contains(one) && !is_spared(**one))
        .map(|one| one.name())
        .collect();
    if !absent.is_empty() {
        skip("sandbox", &format!("this machine has no {}", absent.join(", ")));
        return None;
    }
    if !Path::new(PYTHON).is_file() {
        skip("sandbox", "there is no python3");
        return None;
    }
    Some(&HOST)
}

/// Two folders with something in them.
pub struct Scene {
    work: TempDir,
    out: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = || tempfile::Builder::new().prefix("escape-").tempdir().unwrap();
        let scene = Self { work: folder(), out: folder() };
        let (work, out) = (scene.work(), scene.out());
        fs::write(out.join("secret"), "<GOT> the secret").unwrap();
        fs::write(out.join("old"), "old").unwrap();
        fs::write(out.join("tool"), "#!/bin/sh\necho \"<GOT>\"\n").unwrap();
        fs::set_permissions(out.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(out.join("secret"), work.join("link")).unwrap();
        symlink(&out, work.join("folder")).unwrap();
        fs::write(work.join("own"), "own").unwrap();
        // What is blocked, under several names.
        fs::create_dir_all(work.join("keys/deep")).unwrap();
        fs::create_dir_all(work.join("sub")).unwrap();
        for name in ["env.blocked", "keys/key", "keys/deep/key", "sub/a.pem"] {
            fs::write(work.join(name), "<GOT> a key").unwrap();
        }
        symlink("env.blocked", work.join("to-blocked")).unwrap();
        fs::hard_link(work.join("env.blocked"), work.join("sub/hard")).unwrap();
        fs::hard_link(work.join("keys/deep/key"), work.join("sub/deep-hard")).unwrap();
        scene
    }

    pub fn work(&self) -> PathBuf {
        self.work.path().canonicalize().unwrap()
    }

    pub fn out(&self) -> PathBuf {
        self.out.path().canonicalize().unwrap()
    }
}

/// A descriptor with a sandbox section.
pub fn descriptor(sandbox: &str, command: &str) -> Descriptor {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: escape.try\ndescription: {{summary: Try.}}\n\
         intent: {{actionTypes: [execute]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
         effects: {{reads: [], writes: []}}\nsandbox: {sandbox}\n\
         execution: {{adapter: 'builtin:command.run', command: {command}}}\n"
    );
    manifest::parse("t.yaml", &text).unwrap()
}

const BLOCKED: &str = "env.blocked, keys, '**/*.pem', .hooks/new, missing.env, /usr/bin/env";

/// The section of an attempt. Where nothing is blocked, no name is taken either.
fn section(without: &[Mechanism]) -> String {
    let blocked = if without.contains(&Mechanism::BlockedPaths) { "" } else { BLOCKED };
    format!(
        "{{mode: workspace_write, limits: {{maxMemoryMb: 256, maxProcesses: 48}}, \
         filesystem: {{blockedPaths: [{blocked}]}}}}"
    )
}

/// Makes the attempts of a table and says which of them went wrong, all at once. `extra` is a
/// third word for the script.
#[track_caller]
pub fn check(host: &Host, extra: &str, attempts: &[Attempt]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut wrong = Vec::new();
    for attempt in attempts {
        let together = host.can().contains(&Mechanism::CgroupMemory);
        if attempt.name == OF_ALL_TOGETHER && !together {
            skip("cgroups", "memory is limited for each process alone: there are no groups");
            continue;
        }
        let mut without = attempt.without.to_vec();
        let kept = runtime.block_on(run(host, extra, attempt, &without));
        if kept.contains("<GOT>") {
            wrong.push(format!("{}: it got out\n{kept}", attempt.name));
        }
        without.extend(attempt.stopped_by);
        without.extend(in_its_place(&without));
        if ROOTS.contains(&attempt.name) && !rustix::process::geteuid().is_root() {
            // Who is not root cannot do it anyway: that it does not get out is all there is to see.
            continue;
        }
        let free = runtime.block_on(run(host, extra, attempt, &without));
        if !free.contains("<GOT>") {
            let name = attempt.name;
            wrong.push(format!("{name}: it does not get out anyway\n{free}\nwith all: {kept}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What else is switched off with some mechanisms where it would do their work, or cannot be had
/// without them: who is not root has namespaces by way of one of users.
fn in_its_place(without: &[Mechanism]) -> Vec<Mechanism> {
    if rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let mut more = Vec::new();
    if without.contains(&Mechanism::CgroupProcesses) {
        // Each thread reserves memory too.
        more.extend([Mechanism::RlimitProcesses, Mechanism::RlimitMemory]);
    }
    if without.contains(&Mechanism::CgroupMemory) {
        more.push(Mechanism::RlimitMemory);
    }
    if without.contains(&Mechanism::UserNamespace) {
        more.extend([
            Mechanism::MountNamespace,
            Mechanism::ProcessNamespace,
            Mechanism::IpcNamespace,
            Mechanism::NameNamespace,
            Mechanism::NetworkNamespace,
            Mechanism::BlockedPaths,
        ]);
    }
    more
}

async fn run(host: &Host, extra: &str, attempt: &Attempt, without: &[Mechanism]) -> String {
    let scene = Scene::new();
    let plan =
        plan(&descriptor(&section(without), &format!("['{PYTHON}']")), Ground::bare(host)).unwrap();
    let script = format!("{PRELUDE}{}\n", attempt.script);
    let (work, out) = (scene.work().display().to_string(), scene.out().display().to_string());
    let words = [PYTHON, "-c", &script, &work, &out, extra].map(str::to_owned);
    let ordered = plan.confined.unwrap().order(&scene.work(), &words, Stdin::Null).unwrap();
    let limits = Caps { file_bytes: 1 << 20, open_files: 64, ..ordered.order.limits };
    let mut order = Order { limits, ..ordered.order };
    // Without its network an attempt is judged as under a plan that has none.
    order.reach = Reach::None;
    let off: BTreeSet<Mechanism> = without.iter().copied().collect();
    order.mechanisms.retain(|one| !off.contains(one));
    let said = said(host, order).await;
    drop(ordered.blocked);
    // What a process that was left behind does, it does now.
    if attempt.script.contains("late") {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        if scene.work().join("late").exists() {
            return format!("{said}<GOT> late");
        }
    }
    said
}

/// Everything a program says in a sandbox, and how it ended.
pub async fn said(host: &Host, order: Order) -> String {
    let mut sandbox = match Sandbox::start(host.helper().unwrap(), order, &[]).await {
        Ok(sandbox) => sandbox,
        Err(error) => return format!("not started: {error}"),
    };
    let mut out = sandbox.child().stdout.take().unwrap();
    let mut err = sandbox.child().stderr.take().unwrap();
    let (mut text, mut errors) = (Vec::new(), Vec::new());
    let work = async {
        let (_, _) = tokio::join!(out.read_to_end(&mut text), err.read_to_end(&mut errors));
        format!("{:?}", sandbox.report().await)
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), work).await;
    assert!(sandbox.end().await, "the sandbox does not end");
    let text = [text, errors].concat();
    format!("{}\n{}", String::from_utf8_lossy(&text), ended.unwrap_or_else(|_| "no end".to_owned()))
}
