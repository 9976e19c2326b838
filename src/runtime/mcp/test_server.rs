//! Fake servers for the tests: short Python scripts around a common beginning.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Pid;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{Deadlines, Launch, Listing, McpError, list_tools};

/// What every fake server can use. It notes its process id, which is that of its group.
const PRELUDE: &str = r#"
import json, os, signal, subprocess, sys, time
open("pid", "w").write(str(os.getpid()))
WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
           "serverInfo": {"name": "fake", "version": "1.2"}}
def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
def send(message):
    raw(json.dumps(message).encode() + b"\n")
def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)
waiting = []
def request():
    while True:
        message = waiting.pop(0) if waiting else read()
        if "method" in message and "id" in message:
            return message
def answer(message, result):
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})
def call(method, params=None):
    send({"jsonrpc": "2.0", "id": "s-" + method, "method": method, "params": params})
    while True:
        message = read()
        if message.get("id") == "s-" + method:
            return message
        waiting.append(message)
def notify(method, params=None):
    send({"jsonrpc": "2.0", "method": method, "params": params})
def welcome(**more):
    answer(request(), {**WELCOME, **more})
def tools(*items, **more):
    answer(request(), {"tools": list(items), **more})
def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}
"#;

/// Deadlines of the tests: generous to a loaded machine while starting, short where a test waits.
pub(super) const QUICK: Deadlines = Deadlines {
    start: Duration::from_secs(20),
    request: Duration::from_secs(10),
    stop: Duration::from_millis(900),
};

/// A fake server and the folder it runs in.
pub(super) struct Fake {
    pub dir: TempDir,
    pub launch: Launch,
}

impl Fake {
    /// A server that runs `body`; `None`, and a line that says so, where there is no Python.
    pub(super) fn new(body: &str) -> Option<Self> {
        if Command::new("python3").arg("--version").output().is_err() {
            use std::io::Write;
            let _closed = writeln!(std::io::stderr(), "skipped: python3 is not installed");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("server.py");
        std::fs::write(&script, format!("{PRELUDE}{body}")).unwrap();
        let launch = Launch {
            program: "python3".into(),
            args: vec![script.display().to_string()],
            env: vec![("FAKE".into(), "yes".into())],
            cwd: Some(dir.path().to_owned()),
        };
        Some(Self { dir, launch })
    }

    /// The number in a file the server wrote, once it is there.
    pub(super) async fn number(&self, file: &str) -> i32 {
        number(&self.dir.path().join(file)).await
    }

    /// Asserts that nobody of the server's group is left.
    pub(super) async fn assert_gone(&self) {
        assert!(is_gone(self.number("pid").await), "the server's group is still there");
    }
}

async fn number(path: &Path) -> i32 {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Ok(number) = text.trim().parse() {
            return number;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{} never came", path.display());
        sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process group has no members that run.
pub(super) fn is_gone(group: i32) -> bool {
    crate::base::group::is_gone(Pid::from_raw(group).unwrap())
}

/// Lists a fake server, checks that it left nobody behind, and says how long all of it took.
pub(super) async fn run(
    body: &str,
    deadlines: &Deadlines,
) -> Option<(Result<Listing, McpError>, Duration)> {
    let fake = Fake::new(body)?;
    let start = Instant::now();
    let outcome = list_tools(&fake.launch, deadlines).await;
    let took = start.elapsed();
    fake.assert_gone().await;
    Some((outcome, took))
}
