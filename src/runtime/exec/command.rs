//! A fixed command: program and arguments stand in the descriptor, never in model text. It runs
//! in the workspace with a cleared environment and its own process group, which is gone when the
//! call ends.

use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

use super::ran::Ran;
use super::ready::Ready;
use super::workspace::Workspace;
use super::{Ended, lock};
use crate::base::bounded::BoundedBytes;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::sandbox::{Plan, find_program};

/// Runs the descriptor's command to its end, or until `stop` says that it must go.
pub async fn run(ready: &Ready, workspace: &Mutex<Workspace>, stop: &Notify) -> Ended {
    let call = ready.permitted().validated();
    let command = call.resolved().tool().descriptor.execution.command.clone();
    let Some((program, args)) = command.split_first() else {
        return failed(Blame::Tool, "no_command", "execution.command is empty".to_owned());
    };
    let root = match lock(workspace).root() {
        Ok(root) => root,
        Err(error) => return failed(Blame::Environment, error.code(), error.to_string()),
    };
    let Some(file) = find_program(program) else {
        let message = format!("program {program} is not installed");
        return failed(Blame::Environment, "no_program", message);
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
            let ran = tokio::select! {
                biased;
                ran = finish(child, ready.plan()) => ran,
                () = stop.notified() => {
                    group.end().await;
                    return Ended::TornDown("its process group was killed");
                }
            };
            drop(group);
            ran
        }
        Err(error) => Ran::failed(Blame::Environment, "spawn", error.to_string()),
    };
    Ended::Ran(Box::new(Ran { command: Some(command.join(" ")), ..ran }))
}

fn failed(blame: Blame, code: &str, message: String) -> Ended {
    Ended::Ran(Box::new(Ran::failed(blame, code, message)))
}

/// A process group that does not outlive this value.
struct Group(Option<u32>);

impl Group {
    fn id(&self) -> Option<Pid> {
        self.0.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }

    /// Kills the group and waits until nobody of it is left.
    async fn end(&self) {
        let Some(id) = self.id() else { return };
        let mut pause = Duration::from_millis(1);
        // A process that cannot be killed within these pauses (about two seconds) hangs in the
        // kernel; the call is over all the same.
        for _ in 0..11 {
            if kill_process_group(id, Signal::KILL).is_err() {
                return;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.id() {
            // An error means that nobody is left.
            let _gone = kill_process_group(id, Signal::KILL);
        }
    }
}

async fn finish(mut child: Child, plan: &Plan) -> Ran {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let deadline = Duration::from_millis(plan.timeout_ms);
    // What was captured outlives the work, so that it is kept when time is up.
    let mut kept_out = BoundedBytes::new(plan.max_output_bytes);
    let mut kept_err = kept_out.clone();
    let work = async {
        tokio::join!(capture(out, &mut kept_out), capture(err, &mut kept_err));
        child.wait().await
    };
    let waited = tokio::time::timeout(deadline, work).await;
    let effects = ObservedEffects { method: "unknown".to_owned(), ..ObservedEffects::default() };
    let (out, err) = (kept_out.text(), kept_err.text());
    let output = if err.is_empty() { out } else { format!("{out}\n[stderr]\n{err}") };
    let Ok(status) = waited else {
        // The whole group is killed and its leader reaped before the call is over.
        drop(Group(child.id()));
        let reaped = child.wait().await;
        let end = reaped.map_or_else(|error| error.to_string(), |status| status.to_string());
        let message = format!("no end after {} ms; {end}", plan.timeout_ms);
        return Ran { effects, output, ..Ran::failed(Blame::Tool, "timeout", message) };
    };
    let fault = match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(("exit_status", status.to_string())),
        Err(error) => Some(("wait", error.to_string())),
    };
    let fault =
        fault.map(|(code, message)| Fault { blame: Blame::Tool, code: code.to_owned(), message });
    Ran { fault, ..Ran::ok(output, effects) }
}

/// Reads to the end, so that a chatty program never waits for a reader.
async fn capture(stream: Option<impl AsyncRead + Unpin>, kept: &mut BoundedBytes) {
    let Some(mut stream) = stream else { return };
    let mut chunk = vec![0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        kept.extend(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::sandbox::adapter::{Adapter, Builtin};

    #[test]
    fn what_was_said_before_the_time_was_up_is_kept() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // A busy machine may need more than the first of these to start a shell at all.
        let found = [100, 1_000, 10_000].into_iter().find_map(|timeout_ms| {
            let plan = Plan {
                adapter: Adapter::Builtin(Builtin::CommandRun),
                mode: "none",
                enforcement: "process_limits",
                timeout_ms,
                max_output_bytes: 4,
            };
            let ran = runtime.block_on(async {
                let mut wanted = Command::new("/bin/sh");
                wanted.args(["-c", "echo half-way; exec sleep 600"]).process_group(0);
                wanted.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
                finish(wanted.spawn().unwrap(), &plan).await
            });
            assert_eq!(ran.fault.as_ref().map(|fault| fault.code.as_str()), Some("timeout"));
            (!ran.output.is_empty()).then_some(ran.output)
        });
        let said = "half\n[… 9 bytes in all; only the first 4 are kept …]\n";
        assert_eq!(found.as_deref(), Some(said));
    }
}
