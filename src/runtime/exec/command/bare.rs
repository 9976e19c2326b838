//! A command that nothing confines: a cleared environment and its own process group, which is
//! gone when the call ends.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Notify;

use super::super::Ended;
use super::Given;
use super::captured::{Captured, End, kept};
use crate::base::group;
use crate::base::secret::SecretSet;
use crate::journal::outcome::Blame;
use crate::runtime::sandbox::{Plan, find_program};

/// Runs a command in a folder to its end, or until `stop` says that it must go.
pub(super) async fn run<'a>(
    given: Given<'_>,
    (plan, secrets): (&Plan, &'a SecretSet),
    stop: &Notify,
) -> Result<Captured<'a>, Ended> {
    let failed = |code, message| Err(super::failed(Blame::Environment, code, message));
    let Some((program, args)) = given.words.split_first() else {
        return failed("no_program", "there is no program".to_owned());
    };
    if !given.handed.files.is_empty() {
        return failed("sandbox", "a file of its own needs a sandbox".to_owned());
    }
    let Some(file) = find_program(program) else {
        return failed("no_program", format!("program {program} is not installed"));
    };
    let mut wanted = Command::new(file);
    wanted.args(args).current_dir(given.root).env_clear().env("PATH", "/usr/bin:/bin");
    wanted.envs(&given.handed.env);
    spawned(wanted, given.stdin, (plan, secrets), stop).await
}

/// Starts what is wanted in a process group of its own, and has it run to its end, or until `stop`
/// says that it must go.
pub(super) async fn spawned<'a>(
    mut wanted: Command,
    input: Option<&[u8]>,
    (plan, secrets): (&Plan, &'a SecretSet),
    stop: &Notify,
) -> Result<Captured<'a>, Ended> {
    let stdin = input.map_or_else(Stdio::null, |_| Stdio::piped());
    wanted.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    wanted.process_group(0).kill_on_drop(true);
    let child = match wanted.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Err(super::failed(Blame::Environment, "spawn", error.to_string()));
        }
    };
    // Dropping the guard kills whatever is left of the group, also when the call is torn down
    // while it waits.
    let group = Group(child.id());
    tokio::select! {
        biased;
        captured = finish(child, input, (plan, secrets)) => Ok(captured),
        () = stop.notified() => {
            group.end().await;
            Err(Ended::TornDown("its process group was killed"))
        }
    }
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
            // Whoever adopts orphans may take its time to notice that they ended.
            if group::is_gone(id) {
                return;
            }
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

async fn finish<'a>(
    mut child: Child,
    stdin: Option<&[u8]>,
    (plan, secrets): (&Plan, &'a SecretSet),
) -> Captured<'a> {
    let (out, err, into) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
    let mut captured = Captured::new(plan.max_output_bytes, secrets);
    let deadline = Duration::from_millis(plan.timeout_ms);
    let work = async {
        let (read, said) = (fed(into, stdin), kept(out, &mut captured.out));
        tokio::join!(read, said, kept(err, &mut captured.err));
        child.wait().await
    };
    captured.end = match tokio::time::timeout(deadline, work).await {
        Ok(Ok(status)) if status.success() => End::Success,
        Ok(Ok(status)) => End::Failed("exit_status", status.to_string()),
        Ok(Err(error)) => End::Failed("wait", error.to_string()),
        Err(_) => {
            // The whole group is killed and its leader reaped before the call is over.
            drop(Group(child.id()));
            let reaped = child.wait().await;
            End::TimedOut(reaped.map_or_else(|error| error.to_string(), |end| end.to_string()))
        }
    };
    captured
}

/// Writes what a program is to read, and lets go: it may end without having read it.
async fn fed(into: Option<ChildStdin>, bytes: Option<&[u8]>) {
    if let Some((mut into, bytes)) = into.zip(bytes) {
        let _unread = into.write_all(bytes).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ran::{Attachment, Ran};
    use super::super::said;
    use super::*;
    use crate::base::secret::Secret;
    use crate::runtime::sandbox::adapter::{Adapter, Builtin};

    /// Runs a shell script to its end, or to the end of the time.
    fn shell(script: &str, limits: (u64, u64), secrets: &SecretSet) -> Ran {
        fed_shell(script, b"", limits, secrets)
    }

    fn fed_shell(
        script: &str,
        stdin: &[u8],
        (timeout_ms, limit): (u64, u64),
        secrets: &SecretSet,
    ) -> Ran {
        let plan = Plan {
            adapter: Adapter::Builtin(Builtin::CommandRun),
            mode: "none",
            enforcement: "process_limits",
            package: None,
            confined: None,
            contained: None,
            web: None,
            timeout_ms,
            max_output_bytes: limit,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut wanted = Command::new("/bin/sh");
            wanted.args(["-c", script]).process_group(0);
            wanted.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = wanted.kill_on_drop(true).spawn().unwrap();
            said(finish(child, Some(stdin), (&plan, secrets)).await, &plan).1
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
        let said = "half\n[… at least 9 bytes in all; only the first 4 are kept …]\n";
        assert_eq!(found.as_deref(), Some(said));
    }

    #[test]
    fn half_a_secret_is_not_shown_when_the_time_is_up() {
        let secrets = SecretSet::new([Secret::new("hunter22hunter22")]);
        for script in ["printf 'abc hunter22h'", "echo abc; printf hunter22h >&2"] {
            let script = format!("{script}; exec sleep 600");
            let found = [100, 1_000, 10_000].into_iter().find_map(|timeout_ms| {
                let ran = shell(&script, (timeout_ms, 64), &secrets);
                (!ran.output.is_empty()).then_some(ran.output)
            });
            let said = found.unwrap();
            assert!(said.contains("abc") && !said.contains("hunter"), "{said}");
        }
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
    fn what_it_is_to_read_is_written_whole_and_needs_no_reader() {
        let secrets = SecretSet::default();
        // More than a pipe holds, both ways.
        let long = "line\n".repeat(100_000);
        let ran = fed_shell("cat", long.as_bytes(), (10_000, 1 << 20), &secrets);
        assert!(ran.fault.is_none() && ran.output == long, "{:?}", ran.fault);
        let ran = fed_shell("echo done", long.as_bytes(), (10_000, 64), &secrets);
        assert_eq!((ran.output.as_str(), ran.fault), ("done\n", None));
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
