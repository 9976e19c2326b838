//! `show CASE`: the view the model saw, the ranking with the terms that decided it, and what was
//! expected.

use std::fmt::Write;

use serde_json::Value;

use crate::eval::case::Case;
use crate::eval::grade::Grade;
use crate::eval::trial::TrialRecord;
use crate::journal::Event;
use crate::law::account::account;

/// One trial of a case, for people.
pub fn show(case: &Case, record: &TrialRecord, grade: &Grade) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "case      {} ({}, {})", case.id, case.kind.name(), case.origin);
    for message in &case.messages {
        let _ = writeln!(out, "prompt    {message}");
    }
    let expected: Vec<String> = case.expect.alternatives.iter().map(|set| set_text(set)).collect();
    let _ = writeln!(out, "expected  {}", expected.join("  or  "));
    let proposed: Vec<&str> = grade.proposed.iter().map(|name| &**name).collect();
    let proposed = if proposed.is_empty() { "no call".to_owned() } else { proposed.join(", ") };
    let _ = writeln!(out, "proposed  {proposed}");
    let _ = writeln!(out, "verdict   {}", grade.verdict.name());
    for complaint in &grade.complaints {
        let _ = writeln!(out, "          {complaint}");
    }
    views(&mut out, case, record);
    rankings(&mut out, case, record);
    calls(&mut out, record);
    out
}

fn set_text(set: &[crate::eval::case::ExpectedCall]) -> String {
    if set.is_empty() {
        return "no call".to_owned();
    }
    set.iter().map(|call| call.tool.to_string()).collect::<Vec<_>>().join(" and ")
}

fn is_expected(case: &Case, tool: &str) -> bool {
    case.expect.alternatives.iter().flatten().any(|call| &*call.tool == tool)
}

fn views(out: &mut String, case: &Case, record: &TrialRecord) {
    let view = record.journal.entries().iter().find_map(|entry| match &entry.event {
        Event::ViewCompiled(view) => Some(view),
        _ => None,
    });
    let Some(view) = view else { return };
    let _ =
        writeln!(out, "\nview ({} shown, {} withheld)", view.exposed.len(), view.withheld.len());
    for tool in view.exposed.iter() {
        let star = if is_expected(case, tool.tool_id.as_str()) { '*' } else { ' ' };
        let _ = writeln!(
            out,
            " {star} {:<28} {} {:<10} {}",
            tool.tool_id.as_str(),
            tool.level,
            tool.decision,
            tool.reason
        );
    }
    for tool in view.withheld.iter() {
        let star = if is_expected(case, tool.tool_id.as_str()) { '*' } else { '-' };
        let _ =
            writeln!(out, " {star} {:<28} {}: {}", tool.tool_id.as_str(), tool.filter, tool.reason);
    }
}

fn rankings(out: &mut String, case: &Case, record: &TrialRecord) {
    let mut names = std::collections::BTreeMap::new();
    for entry in record.journal.entries() {
        match &entry.event {
            Event::ViewCompiled(view) => {
                names =
                    view.exposed.iter().map(|t| (t.name.as_str(), t.tool_id.as_str())).collect();
            }
            Event::ModelReplied(reply) => {
                let Some(explanation) = &reply.explanation else { continue };
                let number =
                    |key: &str| explanation.get(key).and_then(Value::as_f64).unwrap_or(0.0);
                let (confidence, threshold) = (number("confidence"), number("threshold"));
                let sign = if confidence >= threshold { "calls" } else { "abstains" };
                let _ = writeln!(
                    out,
                    "\nranking (confidence {confidence:.3} against threshold {threshold:.2}: {sign})"
                );
                let candidates = explanation.get("candidates").and_then(Value::as_array);
                for candidate in candidates.into_iter().flatten() {
                    candidate_text(out, case, candidate, &names);
                }
            }
            _ => {}
        }
    }
}

fn candidate_text(
    out: &mut String,
    case: &Case,
    candidate: &Value,
    names: &std::collections::BTreeMap<&str, &str>,
) {
    let advertised = candidate.get("name").and_then(Value::as_str).unwrap_or_default();
    let tool = names.get(advertised).copied().unwrap_or(advertised);
    let star = if is_expected(case, tool) { '*' } else { ' ' };
    let score = candidate.get("score").and_then(Value::as_f64).unwrap_or(0.0);
    let _ = writeln!(out, " {star} {score:>8.3}  {tool}");
    let mut terms: Vec<(f64, String)> = candidate
        .get("terms")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|term| {
            let text = |key: &str| term.get(key).and_then(Value::as_str).unwrap_or_default();
            let weight = term.get("weight").and_then(Value::as_f64).unwrap_or(0.0);
            (weight, format!("{} {:+.3} ({})", text("term"), weight, text("field")))
        })
        .collect();
    terms.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()).then_with(|| a.1.cmp(&b.1)));
    let shown: Vec<String> = terms.into_iter().take(8).map(|(_, text)| text).collect();
    let _ = writeln!(out, "             {}", shown.join(", "));
}

fn calls(out: &mut String, record: &TrialRecord) {
    for entry in record.journal.entries() {
        let Some(call) = &entry.call else { continue };
        let text = match &entry.event {
            Event::ToolCallRequested(facts) => {
                let args = facts.args.as_ref().map(Value::to_string);
                let args = args.or_else(|| facts.raw_args.clone()).unwrap_or_default();
                format!("requested {} {args}", facts.tool_id)
            }
            Event::ToolArgsValidated(facts) => {
                let errors: Vec<&str> = facts.errors.iter().map(|e| e.message.as_str()).collect();
                format!("arguments {} {}", facts.status, errors.join("; "))
            }
            Event::ToolPolicyChecked(facts) => {
                format!("policy {}: {}", facts.decision, facts.reason)
            }
            Event::ApprovalRequested(facts) => format!("approval asked: {}", facts.summary),
            Event::ToolCallSettled(facts) => {
                format!("settled {}: {}", facts.outcome.name(), ended(record, call))
            }
            event => event.name().to_owned(),
        };
        let _ = writeln!(
            out,
            "{}{call}: {}",
            if text.starts_with("requested") { "\n" } else { "" },
            text.trim_end()
        );
    }
}

/// The first answer of the call's account.
fn ended(record: &TrialRecord, call: &str) -> String {
    let account = account(record.journal.entries(), call);
    let ended = account.and_then(|account| account.answers.into_iter().next());
    ended.map(|answer| answer.text).unwrap_or_default()
}
