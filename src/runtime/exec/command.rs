//! A fixed command: program and arguments stand in the descriptor, never in model text. It runs
//! in the workspace with a cleared environment and its own process group, which is gone when the
//! call ends.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::ran::Ran;
use super::ready::Ready;
use super::workspace::Workspace;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::sandbox::find_program;

/// Runs the descriptor's command.
pub async fn run(ready: &Ready, workspace: &mut Workspace) -> Ran {
    let call = ready.permitted().validated();
    let command = call.resolved().tool().descriptor.execution.command.clone();
    let Some((program, args)) = command.split_first() else {
        return Ran::failed(Blame::Tool, "no_command", "execution.command is empty");
    };
    let root = match workspace.root() {
        Ok(root) => root,
        Err(error) => return Ran::failed(Blame::Environment, error.code(), error.to_string()),
    };
    let Some(file) = find_program(program) else {
        let message = format!("program {program} is not installed");
        return Ran::failed(Blame::Environment, "no_program", message);
    };
    let mut wanted = Command::new(file);
    wanted.args(args).current_dir(&root).env_clear().env("PATH", "/usr/bin:/bin");
    wanted.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wanted.process_group(0).kill_on_drop(true);
    let ran = match wanted.spawn() {
        Ok(child) => {
            // Dropping the guard kills whatever is left of the group, also when the call is
            // torn down while it waits.
            let group = Group(child.id());
            let ran = finish(child, ready).await;
            drop(group);
            ran
        }
        Err(error) => Ran::failed(Blame::Environment, "spawn", error.to_string()),
    };
    Ran { command: Some(command.join(" ")), ..ran }
}

/// A process group that does not outlive this value.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // An error means that nobody is left.
            let _gone = kill_process_group(id, Signal::KILL);
        }
    }
}

async fn finish(mut child: Child, ready: &Ready) -> Ran {
    let limit = ready.plan().max_output_bytes;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let deadline = Duration::from_millis(ready.plan().timeout_ms);
    let work = async {
        let (out, err) = tokio::join!(capture(out, limit), capture(err, limit));
        (child.wait().await, out, err)
    };
    let waited = tokio::time::timeout(deadline, work).await;
    let effects = ObservedEffects { method: "unknown".to_owned(), ..ObservedEffects::default() };
    let Ok((status, out, err)) = waited else {
        // The whole group is killed and its leader reaped before the call is over.
        drop(Group(child.id()));
        let reaped = child.wait().await;
        let end = reaped.map_or_else(|error| error.to_string(), |status| status.to_string());
        let message = format!("no end after {} ms; {end}", ready.plan().timeout_ms);
        return Ran { effects, ..Ran::failed(Blame::Tool, "timeout", message) };
    };
    let output = if err.is_empty() { out } else { format!("{out}\n[stderr]\n{err}") };
    let fault = match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(("exit_status", status.to_string())),
        Err(error) => Some(("wait", error.to_string())),
    };
    let fault =
        fault.map(|(code, message)| Fault { blame: Blame::Tool, code: code.to_owned(), message });
    Ran { fault, ..Ran::ok(output, effects) }
}

/// Reads to the end and keeps the first `limit` bytes; what is not UTF-8 is replaced.
async fn capture(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let (mut kept, mut chunk) = (Vec::new(), vec![0; 8192]);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        let room = limit.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&chunk[..room]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
