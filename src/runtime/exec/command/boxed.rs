//! A command in a sandbox: confined by the kernel, with its proxy where it has one, and with what
//! was seen of it.

use std::time::Duration;

use tokio::sync::Notify;

use super::super::{Ended, seen};
use super::Given;
use super::captured::{Captured, End, kept};
use crate::base::secret::SecretSet;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;
use crate::runtime::sandbox::Plan;
use crate::runtime::sandbox::confined::Confined;
use crate::runtime::sandbox::launch::{LaunchError, Sandbox};
use crate::runtime::sandbox::order::{Report, Stdin};
use crate::runtime::sandbox::proxy::{EgressLog, serve};

/// Runs a command to its end, or until `stop` says that it must go. What it touched is seen in the
/// workspace and in the proxy's log; what it read is not.
pub(super) async fn run<'a>(
    confined: &Confined,
    given: Given<'_>,
    (plan, secrets): (&Plan, &'a SecretSet),
    stop: &Notify,
) -> Result<(Captured<'a>, ObservedEffects), Ended> {
    let refused = |why: String| super::failed(Blame::Environment, "sandbox", why);
    let Given { words, stdin, root, handed } = given;
    let before = seen::snapshot(root);
    let input = stdin.map_or(Stdin::Null, |bytes| Stdin::Bytes(bytes.len() as u64));
    let mut ordered = confined
        .order(root, words, input)
        .map_err(|error| refused(format!("the sandbox cannot be made: {error}")))?;
    ordered.order.handed = handed;
    let start = Sandbox::start(&confined.helper, ordered.order, stdin.unwrap_or_default());
    let mut sandbox = tokio::select! {
        biased;
        () = stop.notified() => return Err(Ended::TornDown("it had not been started")),
        started = start => started.map_err(|error| match error {
            LaunchError::Step { step, reason } if step == "start" => {
                super::failed(Blame::Environment, "spawn", reason)
            }
            other => refused(format!("nothing was started: {other}")),
        })?,
    };
    let log = EgressLog::default();
    let mut captured = Captured::new(plan.max_output_bytes, secrets);
    let ended = tokio::select! {
        biased;
        ended = finish(&mut sandbox, &mut captured, (confined, &log)) => Some(ended),
        () = tokio::time::sleep(Duration::from_millis(plan.timeout_ms)) => None,
        () = stop.notified() => {
            sandbox.end().await;
            return Err(Ended::TornDown("everything in its sandbox was killed"));
        }
    };
    let gone = sandbox.end().await;
    drop(ordered.blocked);
    captured.end = ended.unwrap_or_else(|| {
        let left = if gone { "everything in its sandbox was killed" } else { "it hangs" };
        End::TimedOut(left.to_owned())
    });
    let reached = log.decisions().into_iter().filter(|one| one.refused.is_none());
    let external_calls = reached.map(|one| one.target).collect();
    let effects = seen::changes(before, root);
    Ok((captured, ObservedEffects { external_calls, ..effects }))
}

async fn finish(
    sandbox: &mut Sandbox,
    captured: &mut Captured<'_>,
    (confined, log): (&Confined, &EgressLog),
) -> End {
    let (out, err) = (sandbox.child().stdout.take(), sandbox.child().stderr.take());
    let listener = sandbox.listener();
    let work = async {
        tokio::join!(kept(out, &mut captured.out), kept(err, &mut captured.err));
        sandbox.report().await
    };
    let proxy = async {
        if let Some(listener) = &listener {
            serve(listener, &confined.egress, log).await;
        }
        // Without a proxy, or with a broken one, the command goes on by itself.
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = work => report,
        () = proxy => return End::Failed("sandbox", "the proxy ended".to_owned()),
    };
    match report {
        Ok(Report::Ended { code: Some(0), .. }) => End::Success,
        Ok(Report::Ended { code: Some(code), .. }) => {
            End::Failed("exit_status", format!("exit status: {code}"))
        }
        Ok(Report::Ended { signal: Some(signal), .. }) => {
            End::Failed("exit_status", format!("signal: {signal}"))
        }
        Ok(Report::Failed { step, reason }) if step == "start" => End::Failed("spawn", reason),
        Ok(other) => End::Failed("sandbox", format!("{other:?}")),
        // The helper itself was ended, which the kernel does when memory is used up.
        Err(_) => End::Failed("killed", "everything in its sandbox was ended".to_owned()),
    }
}
