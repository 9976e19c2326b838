//! `proofmark tools`: the registry of a suite, the view of a case, or a registry on disk, with the
//! reason of every tool that is shown or withheld.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::offered::Offered;
use super::output::Output;
use super::{Format, interruptible, offered, registry, runtime, suites};
use crate::base::problem::nearest;
use crate::eval::case::Case;
use crate::eval::fixture::{self, Shared, SuiteShared};
use crate::eval::load::Suite;
use crate::report::json::envelope;
use crate::report::table::{Look, draw};
use crate::runtime::policy::{Principal, may_expose};
use crate::runtime::view::Blocks;
use crate::runtime::view::View;
use crate::runtime::view::activation::ActivatedSet;
use crate::runtime::view::compile::MAY_EXPOSE;
use crate::tool::id::ToolId;

/// Arguments of `tools`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark tools coding-agent\n  \
    proofmark tools lifecycle --case intent-keeps-writers-away\n  \
    proofmark tools mcp-reference --offered\n  \
    proofmark tools --registry .proofmark")]
pub struct ToolsArgs {
    /// Suites; all default suites when left out
    suites: Vec<String>,
    /// The view of the first request of this case (or `suite/case`), not that of the suite
    #[arg(long)]
    case: Option<String>,
    /// A registry on disk instead, as `registry list` shows it
    #[arg(long, conflicts_with_all = ["suites", "case"])]
    registry: Option<PathBuf>,
    /// What the MCP servers of the suites offer beside tools: resources and prompts, all untrusted
    #[arg(long, conflicts_with_all = ["case", "registry"])]
    offered: bool,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Lists tools.
///
/// # Errors
/// When a suite is invalid, there is no such case, or a registry cannot be read.
pub fn tools(args: &ToolsArgs, output: &mut Output) -> Result<Exit, CliError> {
    if let Some(folder) = &args.registry {
        return registry::list(folder, args.format, output);
    }
    let (mut names, mut case) = (args.suites.clone(), args.case.as_deref());
    if let Some((suite, id)) = case.and_then(|case| case.split_once('/')) {
        (names, case) = (vec![suite.to_owned()], Some(id));
    }
    let found = interruptible(&runtime()?, suites::find(&names, &[]))??;
    if found.suites.is_empty() {
        return Err(found.nothing());
    }
    if args.offered {
        let offered = interruptible(&runtime()?, offered::ask(&found.suites))??;
        return Ok(told(&offered, args.format, output));
    }
    let mut all = Vec::new();
    for (suite, case) in chosen(&found.suites, case)? {
        let rows = rows(suite, case);
        let of = case.map(|case| format!(", case {}", case.id)).unwrap_or_default();
        match args.format {
            Format::Human => {
                let header =
                    ["tool", "version", "level", "source", "status", "decision", "golden", "why"];
                let table = draw(&header, rows.iter().map(Row::cells).collect(), Look::Terminal);
                output.text(&format!("== {}{of} ==\n{table}\n", suite.name));
            }
            Format::Json => all.extend(rows.iter().map(|row| row.json(suite, case))),
        }
    }
    if args.format == Format::Json {
        let mut answer = envelope(None, "pass", 0);
        answer.insert("tools".into(), Value::Array(all));
        output.json(&Value::Object(answer));
    }
    Ok(Exit::Pass)
}

fn told(offered: &Offered, format: Format, output: &mut Output) -> Exit {
    match format {
        Format::Human => output.text(&offered.text()),
        Format::Json => {
            let mut answer = envelope(None, "pass", 0);
            if let Value::Object(own) = offered.json() {
                answer.extend(own);
            }
            output.json(&Value::Object(answer));
        }
    }
    Exit::Pass
}

type Chosen<'a> = (&'a Suite, Option<&'a Case>);

/// Every suite as it is, or the one that has the case.
fn chosen<'a>(all: &'a [Suite], case: Option<&str>) -> Result<Vec<Chosen<'a>>, CliError> {
    let Some(id) = case else {
        return Ok(all.iter().map(|suite| (suite, None)).collect());
    };
    let cases = || all.iter().flat_map(|suite| suite.cases.iter().map(move |one| (suite, &**one)));
    if let Some((suite, case)) = cases().find(|(_, case)| &*case.id == id) {
        return Ok(vec![(suite, Some(case))]);
    }
    let near = nearest(id, cases().map(|(_, case)| &*case.id));
    let help = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    Err(CliError::Usage(format!("no case `{id}`{help}")))
}

/// One tool of a registry, and what a view makes of it.
struct Row {
    tool: ToolId,
    version: String,
    level: String,
    source: String,
    status: String,
    /// What policy says of showing it, or the filter that keeps it out.
    decision: Result<String, String>,
    /// Whether it only waits for a search.
    deferred: bool,
    /// Rules that vote before there are arguments.
    rules: Vec<String>,
    golden: usize,
    why: String,
}

impl Row {
    fn decided(&self) -> String {
        match &self.decision {
            Ok(decision) => decision.clone(),
            Err(filter) => format!("withheld ({filter})"),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.tool.to_string(),
            self.version.chars().take(SHORT).collect(),
            self.level.clone(),
            self.source.clone(),
            self.status.clone(),
            self.decided(),
            self.golden.to_string(),
            self.why.clone(),
        ]
    }

    fn json(&self, suite: &Suite, case: Option<&Case>) -> Value {
        json!({"suite": &*suite.name, "case": case.map(|case| &*case.id), "tool": self.tool,
            "version": self.version, "level": self.level, "source": self.source,
            "status": self.status, "decision": self.decided(), "exposed": self.decision.is_ok(),
            "filter": self.decision.as_ref().err(), "deferred": self.deferred,
            "rules": self.rules, "goldenPrompts": self.golden, "reason": self.why})
    }
}

/// Characters of a version that a person is shown.
const SHORT: usize = 12;

/// What is shown first, best rank first; then what is withheld.
fn rows(suite: &Suite, case: Option<&Case>) -> Vec<Row> {
    let (view, principal) = view(suite, case);
    let prompts = prompts(suite);
    let row = |id: &ToolId, decision: Result<String, String>, why: &str| {
        let tool = suite.registry.get(id);
        let of = |read: &dyn Fn(&crate::runtime::catalog::Registered) -> String| {
            tool.map(|tool| read(tool)).unwrap_or_default()
        };
        let rules = tool.map(|tool| may_expose(tool, &principal, &suite.rules).rules);
        Row {
            version: of(&|tool| tool.version.hex()),
            level: of(&|tool| tool.level.to_string()),
            source: of(&|tool| word(&tool.descriptor.source.r#type)),
            status: of(&|tool| word(&tool.descriptor.lifecycle.status)),
            deferred: view.waiting.iter().any(|lease| lease.tool.id() == id),
            rules: rules.unwrap_or_default(),
            golden: prompts.get(id.as_str()).copied().unwrap_or(0),
            why: why.to_owned(),
            tool: id.clone(),
            decision,
        }
    };
    let shown = view.exposed.iter();
    let shown = shown.map(|tool| row(&tool.tool_id, Ok(tool.decision.clone()), &tool.reason));
    let held = view.withheld.iter();
    let held = held.map(|tool| row(&tool.tool_id, Err(tool.filter.clone()), &tool.reason));
    shown.chain(held).collect()
}

/// The view of a suite, or of the first request of one of its cases, and for whom.
fn view(suite: &Suite, case: Option<&Case>) -> (View, Principal) {
    let Some(case) = case else { return (suite.view(), suite.principal.clone()) };
    let seed = fixture::seed(&suite.name, &case.id, "", 0);
    let shared = (&Shared::default(), &SuiteShared::new(suite));
    let (parts, _) = fixture::build(suite, case, "chooser", ("tools".into(), seed), shared);
    let message = case.messages.first().map(String::as_str).unwrap_or_default();
    let none = (&BTreeMap::new(), &ActivatedSet::default(), &Blocks::default());
    let compiled = parts.resolved.view(none, message, MAY_EXPOSE);
    (compiled.view.clone(), parts.resolved.principal.clone())
}

/// A closed word as files spell it.
fn word<T: Serialize>(value: &T) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
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
