//! The dry run of a tool, as far as it goes without calling it. It says of each thing whether it
//! was tried, so that nobody takes a check that was not made for one that passed.

use crate::cli::suites;
use crate::runtime::catalog::Registered;
use crate::runtime::sandbox::adapter::{Adapter, Builtin, Served};
use crate::runtime::sandbox::{self, Ground};
use crate::tool::descriptor::Descriptor;

/// One thing that may be tried.
pub(super) struct Tried {
    /// What.
    pub(super) what: &'static str,
    /// What was found; `None` where it was not tried.
    pub(super) found: Option<Result<String, String>>,
    /// Why it was not tried.
    pub(super) left_out: &'static str,
}

/// Everything that may be tried, in order.
pub(super) fn try_out(descriptor: &Descriptor) -> Vec<Tried> {
    let done = |what, found| Tried { what, found: Some(found), left_out: "" };
    let left = |what, left_out| Tried { what, found: None, left_out };
    let compiled = Registered::new(descriptor.clone())
        .map(|tool| format!("compile; level {}", tool.level))
        .map_err(|error| error.to_string());
    let plan = sandbox::plan(
        descriptor,
        Ground { served: Served::Simulated, ..Ground::bare(&suites::host()) },
    )
    .map(|plan| format!("mode {}, enforced: {}", plan.mode, plan.enforcement))
    .map_err(|refusal| refusal.to_string());
    let call = match Adapter::parse(&descriptor.execution.adapter) {
        Some(Adapter::Mcp) => "its server is not asked",
        Some(Adapter::Simulated) => "its calls are simulated",
        Some(Adapter::Http) => "a dry run would call its service, which nobody asked for",
        Some(Adapter::Cli | Adapter::Builtin(Builtin::CommandRun | Builtin::Shell)) => {
            "a dry run would start its program, which nobody asked for"
        }
        Some(Adapter::Builtin(_)) | None => "no call is made without a session",
    };
    vec![done("schemas", compiled), done("sandbox", plan), left("a call", call)]
}
