//! The settings of a suite that name something: providers, metrics, laws.

use super::metric;
use super::suite::{GateEntry, SuiteFile};
use crate::base::document::Document;
use crate::base::problem::Problem;

/// Checks everything that is named in a suite's settings.
pub(super) fn check(document: &Document, file: &SuiteFile, problems: &mut Vec<Problem>) {
    for (index, provider) in file.providers.iter().enumerate() {
        let at = format!("/providers/{index}");
        problems.extend(provider_problem(document, &at, provider));
    }
    for (index, gate) in file.gates.iter().enumerate() {
        let at = format!("/gates/{index}");
        if !metric::NAMES.contains(&gate.metric.as_str()) {
            let message = format!("no metric `{}`", gate.metric);
            let problem = document.problem(&format!("{at}/metric"), message);
            let names = metric::NAMES.iter().copied();
            problems.push(problem.suggest(&gate.metric, names));
        }
        if gate.at_least.is_none() && gate.at_most.is_none() {
            let problem = document.problem(&at, "a gate needs at_least or at_most");
            problems.push(problem);
        }
        check_gate_scope((document, &at), gate, problems);
    }
    for (index, law) in file.exercises.iter().enumerate() {
        if crate::law::registry::find(law).is_none() {
            let problem =
                document.problem(&format!("/exercises/{index}"), format!("no law `{law}`"));
            let names = crate::law::registry::all().iter().map(|law| law.name);
            problems.push(problem.suggest(law, names));
        }
    }
}

/// A gate on a scope that no metric has could never fail.
fn check_gate_scope(
    (document, at): (&Document, &str),
    gate: &GateEntry,
    problems: &mut Vec<Problem>,
) {
    if gate.at_least.zip(gate.at_most).is_some_and(|(least, most)| least > most) {
        problems.push(document.problem(at, "at_least is above at_most"));
    }
    let share = !gate.metric.starts_with("cost.");
    if share && [gate.at_least, gate.at_most].into_iter().flatten().any(|limit| limit > 1.0) {
        let problem = document.problem(at, format!("{} is a share of at most 1", gate.metric));
        problems.push(problem.help("write 0.6 for 60 %"));
    }
    if let Some(per) = &gate.per {
        let problem = match per.as_str() {
            "tool" if metric::PER_TOOL.contains(&gate.metric.as_str()) => None,
            "tool" => Some(format!("{} is not counted per tool", gate.metric)),
            _ => Some(format!("`{per}` is not known; write `tool`")),
        };
        let place = |message| document.problem(&format!("{at}/per"), message);
        problems.extend(problem.map(place));
    }
    for (key, value) in &gate.scope {
        let known: &[&str] = match key.as_str() {
            "split" if metric::PER_SPLIT.contains(&gate.metric.as_str()) => &["tuned", "frozen"],
            "average" if metric::PER_TOOL.contains(&gate.metric.as_str()) => &["macro"],
            "provider" => &PROVIDERS,
            _ => &[],
        };
        if !known.contains(&value.as_str()) {
            let message = format!("{} has no scope `{key}: {value}`", gate.metric);
            let problem = document.problem(&format!("{at}/scope/{key}"), message);
            problems.push(problem.suggest(value, known.iter().copied()));
        }
    }
}

/// The providers that exist.
pub const PROVIDERS: [&str; 2] = ["chooser", "scripted"];

pub(super) fn provider_problem(document: &Document, at: &str, provider: &str) -> Option<Problem> {
    if PROVIDERS.contains(&provider) {
        return None;
    }
    let problem = document.problem(at, format!("no provider `{provider}`"));
    Some(problem.suggest(provider, PROVIDERS))
}
