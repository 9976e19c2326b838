//! `report.json`: the whole result, byte-reproducible. Times live in `timings.json`.

use serde_json::{Map, Value, json};

use crate::eval::baseline::{Comparison, Difference};
use crate::eval::metric::Metric;
use crate::eval::metric::counts::Counts;
use crate::eval::outcome::{RunResult, suite_verdict};
use crate::eval::runner::{CaseResult, SuiteResult};

/// The report's format.
pub const SCHEMA: &str = "proofmark/report@1";

/// What a chooser's figures mean; every report says so.
pub const CHOOSER_NOTE: &str = "the chooser is a deterministic lexical ranker: its figures \
    measure how separable the advertised texts are, not how a given model behaves";

/// The envelope that every `--format json` answer shares.
pub fn envelope(suite: Option<&str>, verdict: &str, exit: u8) -> Map<String, Value> {
    let value = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "suite": suite,
        "verdict": verdict,
        "exitCode": exit,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The report of a run. Scope and cases name their suite where there are several.
pub fn report(run: &RunResult, exit: u8) -> Value {
    let several = run.suites.len() > 1;
    let name = match run.suites.as_slice() {
        [one] => Some(&*one.name),
        _ => None,
    };
    let mut out = envelope(name, run.verdict().name(), exit);
    let mut counts = Counts::default();
    for suite in &run.suites {
        counts.merge(&suite.counts);
    }
    let flat = |each: &dyn Fn(&SuiteResult) -> Vec<Value>| {
        Value::Array(
            run.suites
                .iter()
                .flat_map(|suite| {
                    let mut values = each(suite);
                    if several {
                        values.iter_mut().for_each(|value| value["suite"] = (*suite.name).into());
                    }
                    values
                })
                .collect(),
        )
    };
    let metrics = flat(&|suite| suite.metrics.iter().map(metric).collect());
    let gates = flat(&|suite| {
        let gate = |g: &crate::eval::gate::Gate| {
            json!({"gate": g.gate, "verdict": g.verdict.name(), "why": g.why,
                "reportOnly": g.report_only})
        };
        suite.gates.iter().map(gate).collect()
    });
    out.insert("metrics".into(), metrics);
    out.insert("gates".into(), gates);
    out.insert("cases".into(), flat(&|suite| suite.cases.iter().map(|c| case(suite, c)).collect()));
    out.insert("confusion".into(), confusion(&counts));
    out.insert("laws".into(), laws(&counts));
    out.insert("suites".into(), run.suites.iter().map(|s| summary(s, run.proposing)).collect());
    let not_run = run
        .not_run
        .iter()
        .map(|one| json!({"suite": &*one.suite, "reason": one.reason, "required": one.required}));
    out.insert("notRun".into(), not_run.collect());
    out.insert("stale".into(), run.stale.clone().into());
    let digests = run.suites.iter().map(|suite| {
        let digests: Map<String, Value> =
            suite.digests.iter().map(|(k, v)| ((*k).to_owned(), v.to_string().into())).collect();
        (suite.name.to_string(), Value::Object(digests))
    });
    out.insert("digests".into(), Value::Object(digests.collect()));
    out.insert("note".into(), CHOOSER_NOTE.into());
    Value::Object(out)
}

/// One metric.
pub fn metric(metric: &Metric) -> Value {
    let scope: Map<String, Value> =
        metric.scope.iter().map(|(k, v)| ((*k).to_owned(), (**v).into())).collect();
    // A count is written as a whole number; only macro averages have a fractional numerator.
    let num =
        if metric.method == "macro" { json!(round(metric.num)) } else { json!(metric.num as u64) };
    json!({
        "name": metric.name,
        "scope": scope,
        "num": num,
        "den": metric.den,
        "value": metric.value().map(round),
        "lo": metric.interval.map(|i| round(i.lo)),
        "hi": metric.interval.map(|i| round(i.hi)),
        "method": metric.method,
    })
}

/// Ten decimals: far beyond what the counts carry, and the same text everywhere.
fn round(value: f64) -> f64 {
    (value * 1e10).round() / 1e10
}

/// The command that runs one case again.
pub fn rerun(suite: &SuiteResult, case: &CaseResult) -> String {
    format!("proofmark run {} --case {}", suite.name, case.case.id)
}

fn case(suite: &SuiteResult, case: &CaseResult) -> Value {
    let split = if case.case.frozen { "frozen" } else { "tuned" };
    json!({
        "id": &*case.case.id,
        "kind": case.case.kind.name(),
        "provider": &*case.provider,
        "verdict": case.verdict.name(),
        "trials": case.trials.0,
        "passed": case.trials.1,
        "split": split,
        "tags": case.case.tags,
        "proposed": names(&case.row.proposed),
        "missing": names(&case.row.missing),
        "unexpected": names(&case.row.unexpected),
        "argsOk": case.row.args_ok,
        "approvals": case.row.approvals,
        "lawsBroken": names(&case.row.laws_broken),
        "evidence": case.row.evidence.to_string(),
        "complaints": case.complaints,
        "origin": case.case.origin,
        "rerun": rerun(suite, case),
    })
}

fn names(joined: &str) -> Vec<&str> {
    joined.split(';').filter(|name| !name.is_empty()).collect()
}

fn confusion(counts: &Counts) -> Value {
    let mut rows: Vec<&str> = counts.confusion.keys().map(|(row, _)| &**row).collect();
    let mut columns: Vec<&str> = counts.confusion.keys().map(|(_, column)| &**column).collect();
    for names in [&mut rows, &mut columns] {
        names.retain(|name| *name != "none" && *name != "phantom");
        names.sort_unstable();
        names.dedup();
        names.push("none");
    }
    columns.push("phantom");
    let cell = |row: &str, column: &str| -> u64 {
        counts.confusion.get(&(row.into(), column.into())).copied().unwrap_or(0)
    };
    let cells: Vec<Vec<u64>> =
        rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
    json!({"rows": rows, "columns": columns, "counts": cells})
}

fn laws(counts: &Counts) -> Value {
    let law = |law: &crate::law::law::Law| {
        let counted = counts.laws.get(law.name).copied().unwrap_or_default();
        let verdict = if counted.broken > 0 {
            "broken"
        } else if counted.exercised > 0 {
            "holds"
        } else if counted.unknown > 0 {
            "unknown"
        } else {
            "not_exercised"
        };
        json!({"name": law.name, "source": law.source, "title": law.title, "verdict": verdict,
            "exercised": counted.exercised, "broken": counted.broken, "unknown": counted.unknown})
    };
    crate::law::registry::all().iter().map(law).collect()
}

fn summary(suite: &SuiteResult, proposing: bool) -> Value {
    let coverage = &suite.coverage;
    let thin: Vec<Value> = coverage
        .thin
        .iter()
        .map(|(tool, count)| json!({"tool": &**tool, "goldenPrompts": count}))
        .collect();
    json!({
        "suite": &*suite.name,
        "verdict": suite_verdict(suite, proposing).name(),
        "cases": suite.cases.len(),
        "complete": suite.complete,
        "coverage": {"golden": coverage.golden, "negatives": coverage.negatives,
            "stubs": coverage.stubs, "toolsWithoutEnoughPrompts": thin},
        "baseline": suite.comparison.as_ref().map(comparison),
        "confusion": confusion(&suite.counts),
        "withheld": suite.withheld.0.iter().map(|tool| json!({"tool": tool.tool_id.as_str(),
            "filter": tool.filter, "reason": tool.reason})).collect::<Vec<_>>(),
        "laws": laws(&suite.counts),
    })
}

fn comparison(found: &Comparison) -> Value {
    json!({
        "differences": found.differences.iter().map(difference).collect::<Vec<_>>(),
        "remeasured": found.remeasured,
        "same": found.same,
    })
}

fn difference(found: &Difference) -> Value {
    let side = |row: Option<&crate::eval::baseline::Row>| {
        row.map(|row| {
            json!({"verdict": row.verdict, "proposed": names(&row.proposed), "argsOk": row.args_ok,
                "approvals": row.approvals, "lawsBroken": names(&row.laws_broken)})
        })
    };
    json!({"case": found.case_id, "provider": found.provider, "change": found.change.name(),
        "before": side(found.before.as_ref()), "after": side(found.after.as_ref())})
}
