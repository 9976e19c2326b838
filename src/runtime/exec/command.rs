//! A fixed command: program and arguments stand in the descriptor, never in model text. It runs
//! in the workspace with a cleared environment and its own process group, which is gone when the
//! call ends. Its output is scrubbed before it is cut, and attached where it is no text.

use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

use super::ran::{Attachment, Ran};
use super::ready::Ready;
use super::workspace::Workspace;
use super::{Ended, lock};
use crate::base::bounded::BoundedBytes;
use crate::base::secret::SecretSet;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::credential::Broker;
use crate::runtime::sandbox::{Plan, find_program};

/// Runs the descriptor's command to its end, or until `stop` says that it must go. What the broker
/// holds is not in what it leaves behind.
pub async fn run(
    ready: &Ready,
    workspace: &Mutex<Workspace>,
    broker: &Broker,
    stop: &Notify,
) -> Ended {
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
                ran = finish(child, ready.plan(), broker.secrets()) => ran,
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

async fn finish(mut child: Child, plan: &Plan, secrets: &SecretSet) -> Ran {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let deadline = Duration::from_millis(plan.timeout_ms);
    // What was captured outlives the work, so that it is kept when time is up.
    let mut kept_out = BoundedBytes::new(plan.max_output_bytes, secrets);
    let mut kept_err = kept_out.clone();
    let work = async {
        tokio::join!(capture(out, &mut kept_out), capture(err, &mut kept_err));
        child.wait().await
    };
    let waited = tokio::time::timeout(deadline, work).await;
    let effects = ObservedEffects { method: "unknown".to_owned(), ..ObservedEffects::default() };
    let mut attachments = Vec::new();
    let (out, err) = (said(&kept_out, &mut attachments), said(&kept_err, &mut attachments));
    let output = if err.is_empty() { out } else { format!("{out}\n[stderr]\n{err}") };
    let Ok(status) = waited else {
        // The whole group is killed and its leader reaped before the call is over.
        drop(Group(child.id()));
        let reaped = child.wait().await;
        let end = reaped.map_or_else(|error| error.to_string(), |status| status.to_string());
        let message = format!("no end after {} ms; {end}", plan.timeout_ms);
        let ran = Ran::failed(Blame::Tool, "timeout", message);
        return Ran { effects, output, attachments, ..ran };
    };
    let fault = match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(("exit_status", status.to_string())),
        Err(error) => Some(("wait", error.to_string())),
    };
    let fault =
        fault.map(|(code, message)| Fault { blame: Blame::Tool, code: code.to_owned(), message });
    Ran { fault, attachments, ..Ran::ok(output, effects) }
}

/// What a stream said; bytes that are no text are attached.
fn said(kept: &BoundedBytes<'_>, attachments: &mut Vec<Attachment>) -> String {
    let Some(media_type) = kept.media_type() else { return kept.text() };
    let total = kept.total();
    attachments.push(Attachment { total, ..Attachment::new(media_type, kept.bytes()) });
    String::new()
}

/// Reads to the end, so that a chatty program never waits for a reader.
async fn capture(stream: Option<impl AsyncRead + Unpin>, kept: &mut BoundedBytes<'_>) {
    let Some(mut stream) = stream else { return };
    let mut chunk = vec![0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        kept.extend(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Secret;
    use crate::runtime::sandbox::adapter::{Adapter, Builtin};

    /// Runs a shell script to its end, or to the end of the time.
    fn shell(script: &str, (timeout_ms, limit): (u64, u64), secrets: &SecretSet) -> Ran {
        let plan = Plan {
            adapter: Adapter::Builtin(Builtin::CommandRun),
            mode: "none",
            enforcement: "process_limits",
            timeout_ms,
            max_output_bytes: limit,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut wanted = Command::new("/bin/sh");
            wanted.args(["-c", script]).process_group(0);
            wanted.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
            finish(wanted.spawn().unwrap(), &plan, secrets).await
        })
    }

    #[test]
    fn what_was_said_before_the_time_was_up_is_kept() {
        let secrets = SecretSet::default();
        // A busy machine may need more than the first of these to start a shell at all.
        let found = [100, 1_000, 10_000].into_iter().find_map(|timeout_ms| {
            let ran = shell("echo half-way; exec sleep 600", (timeout_ms, 4), &secrets);
            assert_eq!(ran.fault.as_ref().map(|fault| fault.code.as_str()), Some("timeout"));
            (!ran.output.is_empty()).then_some(ran.output)
        });
        let said = "half\n[… 9 bytes in all; only the first 4 are kept …]\n";
        assert_eq!(found.as_deref(), Some(said));
    }

    #[test]
    fn a_secret_at_the_limit_is_scrubbed_in_both_streams() {
        let secret = Secret::canary("command", 1);
        let secrets = SecretSet::new([secret.clone()]);
        let canary = secret.expose();
        for at in [0, 40, 57, 60, 63, 64] {
            let script = format!("printf '%{at}s{canary}%3000s' '' ''; echo {canary} >&2; exit 3");
            let ran = shell(&script, (10_000, 64), &secrets);
            assert!(!ran.output.contains("pmk"), "{at}: {}", ran.output);
            assert!(ran.output.contains("[redacted]"), "{at}: {}", ran.output);
            assert_eq!(ran.fault.map(|fault| fault.code).as_deref(), Some("exit_status"));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_attached_and_masked() {
        let secrets = SecretSet::new([Secret::new("hunter22")]);
        let script = "printf '\\377\\330\\377 hunter22 more'; echo seen >&2";
        let ran = shell(script, (10_000, 14), &secrets);
        assert_eq!(ran.output, "\n[stderr]\nseen\n");
        let attached = Attachment {
            media_type: "image/jpeg".to_owned(),
            bytes: b"\xff\xd8\xff ******** m".to_vec(),
            total: 17,
        };
        assert_eq!(ran.attachments, [attached]);
    }
}
