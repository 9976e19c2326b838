//! Programs as tools. A fixed command stands in the descriptor word by word; a command line tool
//! has a template that validated arguments fill. Neither goes through a shell, and runs in a
//! sandbox, in a container, or with a process group alone where its descriptor says `mode: none`. A
//! shell is given its line as policy judged it, and is confined always.

mod bare;
mod boxed;
mod captured;
mod contained;

use std::path::Path;
use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::Notify;

use super::parsed::parsed;
use super::ran::{Attachment, Ran};
use super::ready::Ready;
use super::workspace::Workspace;
use super::{Ended, lock};
use crate::base::bounded::BoundedBytes;
use crate::base::secret::Secret;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::credential::Broker;
use crate::runtime::sandbox::adapter::{Adapter, Builtin};
use crate::runtime::sandbox::order::{HANDED, Handed};
use crate::runtime::sandbox::package::Package;
use crate::runtime::sandbox::{Plan, SH, placed};
use crate::tool::descriptor::Descriptor;
use crate::tool::sections::Execution;
use crate::tool::template::{Template, text};
use captured::{Captured, End};

/// Runs the descriptor's command to its end, or until `stop` says that it must go. What the broker
/// holds is not in what it leaves behind.
pub async fn run(
    ready: &Ready,
    workspace: &Mutex<Workspace>,
    broker: &Broker,
    stop: &Notify,
) -> Ended {
    let descriptor = &ready.permitted().validated().resolved().tool().descriptor;
    execute((descriptor, ready.plan(), ready.args()), workspace, broker, stop).await
}

/// Runs a descriptor's command as a plan says, with these arguments.
pub(super) async fn execute(
    (descriptor, plan, args): (&Descriptor, &Plan, &Value),
    workspace: &Mutex<Workspace>,
    broker: &Broker,
    stop: &Notify,
) -> Ended {
    let words = match words(descriptor, plan, args) {
        Ok(words) => words,
        Err(fault) => return fault,
    };
    let root = match lock(workspace).root() {
        Ok(root) => root,
        Err(error) => return failed(Blame::Environment, error.code(), error.to_string()),
    };
    let execution = &descriptor.execution;
    let handed = match handed(execution, broker) {
        Ok(handed) => handed,
        Err(message) => return failed(Blame::Operator, "credential", message),
    };
    let with = (plan, broker.secrets());
    let stdin = execution.stdin.as_ref().and_then(|name| args.get(name)).map(text);
    let stdin = stdin.as_ref().map(String::as_bytes);
    let given = Given { words: &words, stdin, root: &root, handed };
    let ended = match (&plan.confined, &plan.contained) {
        (Some(confined), _) => boxed::run(confined, given, with, stop).await,
        (None, Some(contained)) => contained::run(contained, given, with, stop).await,
        (None, None) => bare::run(given, with, stop).await.map(|captured| (captured, unseen())),
    };
    match ended {
        Ok((captured, effects)) => {
            let (out, ran) = said(captured, plan);
            let ran = parsed(ran, &out, execution.parser);
            let command = Some(words.join(" "));
            Ended::Ran(Box::new(Ran { command, effects, ..ran }))
        }
        Err(Ended::Ran(ran)) => {
            Ended::Ran(Box::new(Ran { command: Some(words.join(" ")), ..*ran }))
        }
        Err(torn) => torn,
    }
}

/// A command line, what it reads, the folder it starts in, and the secrets that it is handed.
struct Given<'a> {
    words: &'a [String],
    stdin: Option<&'a [u8]>,
    root: &'a Path,
    handed: Handed,
}

/// The secrets that a program finds in its environment and in files of its own.
fn handed(execution: &Execution, broker: &Broker) -> Result<Handed, String> {
    let value = |secret: &String| {
        let value = broker.secret(secret).map(Secret::expose);
        let value = value.filter(|value| !value.contains('\0')).map(str::to_owned);
        value.ok_or_else(|| format!("credential {secret} is not held, or fits in no variable"))
    };
    let mut handed = Handed::default();
    for (variable, secret) in &execution.secret_env {
        handed.env.insert(variable.clone(), value(secret)?);
    }
    for (variable, secret) in &execution.secret_files {
        handed.files.insert(variable.clone(), value(secret)?);
        handed.env.insert(variable.clone(), format!("{HANDED}/{variable}"));
    }
    Ok(handed)
}

/// The command line: fixed, or the template with this call's arguments, or a shell with its line.
fn words(descriptor: &Descriptor, plan: &Plan, args: &Value) -> Result<Vec<String>, Ended> {
    let execution = &descriptor.execution;
    if plan.adapter == Adapter::Builtin(Builtin::Shell) {
        let line = descriptor.shell_line().and_then(|name| args.get(name)).and_then(Value::as_str);
        let Some(line) = line else {
            let message = "there is no command line".to_owned();
            return Err(failed(Blame::Model, "argument", message));
        };
        // A line that begins with `-` is no option.
        return Ok([SH, "-c", "--", line].map(str::to_owned).to_vec());
    }
    if execution.command.is_empty() {
        let message = "execution.command is empty".to_owned();
        return Err(failed(Blame::Tool, "no_command", message));
    }
    let folder = plan.package.as_deref().map(Package::folder).transpose();
    let folder =
        folder.map_err(|error| failed(Blame::Environment, "no_package", error.to_string()))?;
    let command: Vec<String> =
        execution.command.iter().map(|word| placed(word, folder.as_deref())).collect();
    if plan.adapter != Adapter::Cli {
        return Ok(command);
    }
    let template = Template::parse(&command)
        .map_err(|error| failed(Blame::Tool, "no_command", error.to_string()))?;
    template.fill(args).map_err(|error| failed(Blame::Model, "argument", error.to_string()))
}

fn failed(blame: Blame, code: &str, message: String) -> Ended {
    Ended::Ran(Box::new(Ran { effects: unseen(), ..Ran::failed(blame, code, message) }))
}

/// Nothing looked at what it touched.
fn unseen() -> ObservedEffects {
    ObservedEffects { method: "unknown".to_owned(), ..ObservedEffects::default() }
}

/// What the output stream said; and both streams as one text, and the fault where there is one.
fn said(captured: Captured<'_>, plan: &Plan) -> (String, Ran) {
    let mut attachments = Vec::new();
    let (out, err) =
        (stream(&captured.out, &mut attachments), stream(&captured.err, &mut attachments));
    let output = if err.is_empty() { out.clone() } else { format!("{out}\n[stderr]\n{err}") };
    let fault = match captured.end {
        End::Success => None,
        End::Failed(code, message) => Some((code, message)),
        End::TimedOut(how) => {
            Some(("timeout", format!("no end after {} ms; {how}", plan.timeout_ms)))
        }
    };
    let fault =
        fault.map(|(code, message)| Fault { blame: Blame::Tool, code: code.to_owned(), message });
    (out, Ran { fault, attachments, ..Ran::ok(output, unseen()) })
}

/// What a stream said; bytes that are no text are attached.
fn stream(kept: &BoundedBytes<'_>, attachments: &mut Vec<Attachment>) -> String {
    let Some(media_type) = kept.media_type() else { return kept.text() };
    let total = kept.total();
    attachments.push(Attachment { total, ..Attachment::new(media_type, kept.bytes()) });
    String::new()
}
