//! A command in a container: started by an engine, and removed by it whatever the command does.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Notify;

use super::super::{Ended, seen};
use super::Given;
use super::bare;
use super::captured::{Captured, End};
use crate::base::secret::SecretSet;
use crate::base::world::unguessable;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;
use crate::runtime::sandbox::Plan;
use crate::runtime::sandbox::container::Contained;

/// How long an engine may take to remove a container.
const REMOVAL: Duration = Duration::from_secs(20);
/// How often it is asked, and how long between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(300);
/// How an engine says that it failed itself, and that there is nothing to start.
const OWN: [(&str, &str); 3] =
    [("exit status: 125", "sandbox"), ("exit status: 126", "spawn"), ("exit status: 127", "spawn")];

/// Runs a command to its end, or until `stop` says that it must go. What it touched is seen in the
/// workspace.
pub(super) async fn run<'a>(
    contained: &Contained,
    given: Given<'_>,
    with: (&Plan, &'a SecretSet),
    stop: &Notify,
) -> Result<(Captured<'a>, ObservedEffects), Ended> {
    let refused = |why: String| super::failed(Blame::Environment, "sandbox", why);
    if !given.handed.files.is_empty() {
        return Err(refused("a file of its own needs a sandbox of the kernel".to_owned()));
    }
    let name = unguessable().map_err(refused)?;
    let name = format!("proofmark-{}", &name[..16]);
    let handed = given.handed.env.keys().map(String::as_str);
    let started = contained.start(&name, (given.root, given.words), handed);
    let started =
        started.map_err(|error| refused(format!("the container cannot be made: {error}")))?;
    let before = seen::snapshot(given.root);
    let Some((program, args)) = started.words.split_first() else {
        return Err(refused("there is no engine".to_owned()));
    };
    let mut wanted = Command::new(program);
    wanted.args(args).envs(&given.handed.env);
    let ended = bare::spawned(wanted, given.stdin, with, stop).await;
    let removed = match &ended {
        Ok(captured) if !matches!(captured.end, End::TimedOut(_)) => true,
        // Its client is gone; the container is not.
        _ => remove(&started.removal).await,
    };
    drop(started.blocked);
    let mut captured = match ended {
        Ok(captured) => captured,
        Err(Ended::TornDown(_)) if removed => {
            return Err(Ended::TornDown("its container was removed"));
        }
        Err(Ended::TornDown(_)) => return Err(Ended::TornDown("its container hangs")),
        Err(other) => return Err(other),
    };
    if let End::Failed(_, why) = &captured.end
        && let Some((_, code)) = OWN.iter().find(|(said, _)| why == said)
    {
        captured.end = End::Failed(code, format!("the container engine: {why}"));
    }
    if matches!(captured.end, End::TimedOut(_)) {
        let left = if removed { "its container was removed" } else { "its container hangs" };
        captured.end = End::TimedOut(left.to_owned());
    }
    Ok((captured, seen::changes(before, given.root)))
}

/// Removes a container and everything in it. One whose client was killed may not be there yet, and
/// come after all.
async fn remove(words: &[String]) -> bool {
    for _ in 0..TRIES {
        if said(words).await {
            return true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

/// Whether an engine did what it was told.
async fn said(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(args).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = tokio::time::timeout(REMOVAL, command.status()).await;
    matches!(ended, Ok(Ok(status)) if status.success())
}
