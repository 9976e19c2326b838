//! `proofmark show CASE`.

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::run::check_provider;
use super::{Format, interruptible, runtime, suites};
use crate::eval::fixture::{Shared, SuiteShared, receipt_key};
use crate::eval::grade::{Verdict, grade};
use crate::eval::load::Suite;
use crate::eval::trial::{self, TrialPlan};
use crate::law::check::Judge;
use crate::report::json::envelope;
use crate::report::show as text;

/// Arguments of `show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  proofmark show g-file-read-1\n  \
    proofmark show office/g-mail-send-2 --format json")]
pub struct ShowArgs {
    /// The case's id, or `suite/id`
    case: String,
    /// Who proposes, when not the case's own provider
    #[arg(long)]
    provider: Option<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// Runs one case once and shows what happened.
///
/// # Errors
/// When there is no such case.
pub fn show(args: &ShowArgs, output: &mut Output) -> Result<Exit, CliError> {
    check_provider(args.provider.as_ref())?;
    let runtime = runtime()?;
    let (names, id) = match args.case.split_once('/') {
        Some((suite, id)) => (vec![suite.to_owned()], id),
        None => (Vec::new(), args.case.as_str()),
    };
    let found = interruptible(&runtime, suites::find(&names, &[]))??;
    let mut suite = find(&found.suites, id);
    let mut rest = suites::Found::default();
    if suite.is_none() && names.is_empty() {
        // A case of a suite that a bare run leaves out.
        rest = interruptible(&runtime, suites::find(&all_names()?, &[]))??;
        suite = find(&rest.suites, id);
    }
    let Some((suite, case)) = suite else {
        if found.suites.is_empty() && rest.suites.is_empty() {
            return Err(found.nothing());
        }
        let all = found.suites.iter().chain(&rest.suites);
        let known = all.flat_map(|suite| suite.cases.iter().map(|case| &*case.id));
        let near = crate::base::problem::nearest(id, known);
        let help = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        return Err(CliError::Usage(format!("no case `{id}`{help}")));
    };
    let provider = args.provider.clone().or_else(|| case.provider.clone()).unwrap_or_else(|| {
        if case.script.is_some() { "scripted".into() } else { suite.file.providers[0].clone() }
    });
    let plan = TrialPlan { case: case.clone(), provider: provider.into(), number: 0 };
    let shared = (&Shared::default(), &SuiteShared::new(suite));
    let record = interruptible(&runtime, trial::run_guarded(suite, &plan, shared))?;
    let mut judge = Judge::new(Some(receipt_key(&record.seed.hex())));
    let findings = judge.journal(record.journal.entries(), record.journal.blobs());
    let graded = grade(suite, &case, &record, &findings);
    match args.format {
        Format::Human => output.text(&text::show(&case, &record, &graded)),
        Format::Json => {
            let verdict = match graded.verdict {
                Verdict::Pass => "pass",
                Verdict::Fail => "fail",
                Verdict::HarnessFault | Verdict::InfrastructureFault => "inconclusive",
            };
            let mut answer = envelope(Some(&suite.name), verdict, 0);
            let journal: Vec<Value> = record
                .journal
                .entries()
                .iter()
                .filter_map(|entry| serde_json::to_value(entry).ok())
                .collect();
            answer.insert("case".into(), json!(&*case.id));
            answer.insert("complaints".into(), json!(graded.complaints));
            answer.insert("journal".into(), Value::Array(journal));
            output.json(&Value::Object(answer));
        }
    }
    Ok(Exit::Pass)
}

fn find<'a>(
    suites: &'a [Suite],
    id: &str,
) -> Option<(&'a Suite, std::sync::Arc<crate::eval::case::Case>)> {
    suites.iter().find_map(|suite| {
        let case = suite.cases.iter().find(|case| &*case.id == id)?;
        Some((suite, case.clone()))
    })
}

fn all_names() -> Result<Vec<String>, CliError> {
    let folders = suites::folders(&[])?;
    Ok(folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect())
}
