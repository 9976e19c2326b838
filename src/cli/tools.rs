//! `proofmark tools`: the registry and the view of a suite.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::{Format, interruptible, runtime, suites};
use crate::eval::load::Suite;
use crate::report::json::envelope;
use crate::report::table::{Look, draw};

/// Arguments of `tools`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  proofmark tools coding-agent")]
pub struct ToolsArgs {
    /// Suites; all default suites when left out
    suites: Vec<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Lists tools.
///
/// # Errors
/// When a suite is invalid.
pub fn tools(args: &ToolsArgs, output: &mut Output) -> Result<Exit, CliError> {
    let found = interruptible(&runtime()?, suites::find(&args.suites, &[]))??;
    if found.suites.is_empty() {
        return Err(found.nothing());
    }
    let mut all = Vec::new();
    for suite in &found.suites {
        let view = suite.view();
        let prompts = prompts(suite);
        let count = |id: &str| prompts.get(id).copied().unwrap_or(0);
        let shown = view.exposed.iter().map(|tool| {
            let id = tool.tool_id.as_str();
            (
                id.to_owned(),
                tool.level.to_string(),
                tool.decision.clone(),
                count(id),
                tool.reason.clone(),
            )
        });
        let held = view.withheld.iter().map(|tool| {
            let id = tool.tool_id.as_str();
            let level = suite.registry.get(&tool.tool_id).map(|tool| tool.level.to_string());
            let decision = format!("withheld ({})", tool.filter);
            (id.to_owned(), level.unwrap_or_default(), decision, count(id), tool.reason.clone())
        });
        let rows: Vec<_> = shown.chain(held).collect();
        match args.format {
            Format::Human => {
                let rows = rows.into_iter().map(|(id, level, decision, prompts, reason)| {
                    vec![id, level, decision, prompts.to_string(), reason]
                });
                let header = ["tool", "level", "decision", "golden", "why"];
                let table = draw(&header, rows.collect(), Look::Terminal);
                output.text(&format!("== {} ==\n{table}\n", suite.name));
            }
            Format::Json => all.extend(rows.into_iter().map(|(id, level, decision, n, reason)| {
                json!({"suite": &*suite.name, "tool": id, "level": level, "decision": decision,
                    "goldenPrompts": n, "reason": reason})
            })),
        }
    }
    if args.format == Format::Json {
        let mut answer = envelope(None, "pass", 0);
        answer.insert("tools".into(), Value::Array(all));
        output.json(&Value::Object(answer));
    }
    Ok(Exit::Pass)
}

/// How many golden prompts expect each tool, by id.
pub(super) fn prompts(suite: &Suite) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for case in suite.cases.iter().filter(|case| !case.is_stub()) {
        for call in case.expect.alternatives.iter().flatten() {
            *count.entry(call.tool.to_string()).or_default() += 1;
        }
    }
    count
}
