//! What a call would do, found without doing it: shown to whoever confirms the call, and found a
//! second time just before it starts (seed B section 12, L5: dry run and second verification).
//!
//! A file tool says what it would change. A program is run with its dry-run argument in a sandbox
//! in which it can write nothing and reach nobody, so that one that does not keep its word does no
//! harm; a simulated tool has no effect anyway. What a service or a server would do cannot be
//! confined, and is not rehearsed.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Around, Ended, builtin, command, lock};
use crate::runtime::catalog::Registered;
use crate::runtime::sandbox::adapter::{Adapter, Builtin};
use crate::runtime::sandbox::{self, Plan};
use crate::runtime::view::Environment;
use crate::tool::descriptor::{Credentials, Descriptor, EgressPolicy, SandboxMode};

/// A rehearsal to be made.
#[derive(Debug)]
pub struct Rehearsal {
    tool: Arc<Registered>,
    args: Value,
    means: Means,
}

#[derive(Debug)]
enum Means {
    /// What a file tool would change.
    Diff(Builtin),
    /// Nothing happens: what would be done is said.
    Simulated,
    /// The program with its dry-run argument, confined so that it can change nothing.
    Program(Box<(Descriptor, Plan)>),
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsed {
    /// In words, or as a unified diff: the whole of it.
    pub text: String,
    /// Lines that it would add or remove, where that is known.
    pub lines: Option<u32>,
}

impl Rehearsal {
    /// The rehearsal of a call; `None` where it cannot be rehearsed.
    pub fn of(tool: &Arc<Registered>, args: &Value, environment: &Environment) -> Option<Self> {
        let adapter = Adapter::parse(&tool.descriptor.execution.adapter)?;
        let mut args = args.clone();
        let means = match adapter {
            Adapter::Builtin(
                which @ (Builtin::FileWrite | Builtin::FilePatch | Builtin::FileDelete),
            ) => Means::Diff(which),
            Adapter::Simulated | Adapter::Cli => {
                let name = tool.descriptor.dry_run_argument()?;
                args.as_object_mut()?.insert(name.to_owned(), json!(true));
                match adapter {
                    Adapter::Simulated => Means::Simulated,
                    // What is in an image is not what this machine would run.
                    _ if tool.descriptor.sandbox.mode == SandboxMode::Container => return None,
                    _ => {
                        let confined = harmless(&tool.descriptor);
                        let plan = sandbox::plan(&confined, environment.ground(&confined)).ok()?;
                        // Only what the kernel holds is held.
                        plan.confined.as_ref()?;
                        Means::Program(Box::new((confined, plan)))
                    }
                }
            }
            Adapter::Builtin(_) | Adapter::Mcp | Adapter::Http => return None,
        };
        Some(Self { tool: Arc::clone(tool), args, means })
    }
}

impl Rehearsal {
    /// What is said of a call that nothing can be found out about but its arguments.
    pub fn words(&self) -> String {
        format!("would run {} with {}", self.tool.id(), self.args)
    }
}

/// The same tool without anything that it could change or reach.
fn harmless(descriptor: &Descriptor) -> Descriptor {
    let mut confined = descriptor.clone();
    confined.sandbox.mode = SandboxMode::ReadOnly;
    confined.sandbox.filesystem.write_roots.clear();
    confined.sandbox.network.egress_policy = EgressPolicy::None;
    confined.sandbox.network.allow_domains.clear();
    confined.credentials = Credentials::default();
    confined.execution.secret_env.clear();
    confined.execution.secret_files.clear();
    confined
}

/// Makes a rehearsal, or leaves it when `stop` says so.
pub async fn rehearse(rehearsal: &Rehearsal, around: Around<'_>, stop: &Notify) -> Rehearsed {
    let Rehearsal { args, means, .. } = rehearsal;
    let said = match means {
        Means::Diff(which) => builtin::rehearse(*which, args, &mut lock(around.workspace)),
        Means::Simulated => Ok(rehearsal.words()),
        Means::Program(how) => {
            let (descriptor, plan) = &**how;
            let given = (descriptor, plan, args);
            match command::execute(given, around.workspace, around.broker, stop).await {
                Ended::Ran(ran) => match ran.fault {
                    None => Ok(ran.output),
                    Some(fault) => {
                        Err(format!("{}: {}\n{}", fault.code, fault.message, ran.output))
                    }
                },
                Ended::TornDown(why) => Err(why.to_owned()),
            }
        }
    };
    let lines = match (means, &said) {
        (Means::Diff(_), Ok(diff)) => Some(changed(diff)),
        _ => None,
    };
    let text = said.unwrap_or_else(|why| format!("the rehearsal failed: {why}"));
    Rehearsed { text, lines }
}

/// Lines that a unified diff adds or removes.
fn changed(diff: &str) -> u32 {
    // The first two lines name the files.
    let lines = diff.lines().skip(2).filter(|line| line.starts_with(['+', '-']));
    u32::try_from(lines.count()).unwrap_or(u32::MAX)
}
