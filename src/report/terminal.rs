//! What a person sees at the end of a run.

use std::fmt::Write;

use super::json::{CHOOSER_NOTE, rerun};
use super::table::{self, Look};
use crate::eval::baseline::{Change, Difference};
use crate::eval::gate::{Gate, GateVerdict};
use crate::eval::grade::Verdict;
use crate::eval::outcome::{RunResult, suite_verdict};
use crate::eval::runner::SuiteResult;

const SHOWN: usize = 12;

/// The whole summary; `details` adds the table of tools.
pub fn summary(run: &RunResult, details: bool) -> String {
    let mut out = String::new();
    for suite in &run.suites {
        suite_text(&mut out, suite, details);
    }
    for one in &run.not_run {
        let _ = writeln!(out, "suite {} was not run: {}", one.suite, one.reason);
    }
    for stale in &run.stale {
        let _ = writeln!(out, "stale: {stale}");
    }
    for suite in &run.suites {
        verdict_line(&mut out, suite, run.proposing);
    }
    if run.suites.iter().any(|s| s.cases.iter().any(|c| &*c.provider == "chooser")) {
        let _ = writeln!(out, "note: {CHOOSER_NOTE}");
    }
    out
}

fn suite_text(out: &mut String, suite: &SuiteResult, details: bool) {
    if suite.cases.is_empty() {
        return;
    }
    let passed = suite.cases.iter().filter(|case| case.verdict == Verdict::Pass).count();
    let _ = writeln!(
        out,
        "\n== {}: {} cases, {} as expected ==\n",
        suite.name,
        suite.cases.len(),
        passed
    );
    let mut part = |title: &str, text: Option<String>| {
        if let Some(text) = text.filter(|_| details) {
            let _ = writeln!(out, "{title}\n{text}\n");
        }
    };
    part("Metrics", Some(table::suite_metrics(suite, Look::Terminal)));
    part("Tuned and frozen prompts apart", table::splits(suite, Look::Terminal));
    part("Tools", table::tools(suite, Look::Terminal));
    part("Most frequent confusions", table::confusions(suite, SHOWN, Look::Terminal));
    part("Laws", Some(table::laws(suite, Look::Terminal)));
    withheld(out, suite);
    coverage(out, suite);
    differences(out, suite);
    failures(out, suite);
}

/// Tools that no request shows, by the filter that keeps them out: a prompt for one cannot pass.
fn withheld(out: &mut String, suite: &SuiteResult) {
    let (tools, all) = &suite.withheld;
    let mut filters: Vec<&str> = tools.iter().map(|tool| tool.filter.as_str()).collect();
    filters.sort_unstable();
    filters.dedup();
    for filter in filters {
        let of: Vec<_> = tools.iter().filter(|tool| tool.filter == filter).collect();
        let names: Vec<&str> = of.iter().take(5).map(|tool| tool.tool_id.as_str()).collect();
        let more = if of.len() > names.len() { ", ..." } else { "" };
        let _ = writeln!(
            out,
            "{} of {all} tools are withheld by {filter}: {}{more} ({})",
            of.len(),
            names.join(", "),
            of[0].reason
        );
    }
}

fn coverage(out: &mut String, suite: &SuiteResult) {
    let coverage = &suite.coverage;
    if coverage.golden + coverage.stubs == 0 {
        return;
    }
    if coverage.stubs > 0 {
        let _ = writeln!(
            out,
            "{} prompts are placeholders of a scaffold and count as no evidence",
            coverage.stubs
        );
    }
    if !coverage.thin.is_empty() {
        let names: Vec<String> =
            coverage.thin.iter().map(|(tool, count)| format!("{tool} ({count})")).collect();
        let _ = writeln!(
            out,
            "{} tools have fewer than {} golden prompts of their own: {}\n",
            names.len(),
            crate::eval::coverage::GOLDEN_PER_TOOL,
            names.join(", ")
        );
    }
}

fn differences(out: &mut String, suite: &SuiteResult) {
    let Some(found) = &suite.comparison else {
        let _ = writeln!(out, "no baseline is committed; `proofmark accept` blesses this run\n");
        return;
    };
    let count = |change: Change| found.differences.iter().filter(|d| d.change == change).count();
    if found.differences.is_empty() {
        let _ = writeln!(
            out,
            "baseline: {} cases the same, {} measured again and unchanged\n",
            found.same, found.remeasured
        );
        return;
    }
    let _ = writeln!(
        out,
        "baseline: {} worse, {} better, {} moved, {} new, {} gone; {} unchanged",
        count(Change::Worse),
        count(Change::Better),
        count(Change::Moved),
        count(Change::New),
        count(Change::Gone),
        found.same + found.remeasured
    );
    for difference in found.differences.iter().take(SHOWN) {
        let _ = writeln!(out, "  {}", difference_line(difference));
    }
    if found.differences.len() > SHOWN {
        let _ = writeln!(out, "  and {} more", found.differences.len() - SHOWN);
    }
    let next = if suite.complete {
        "bless all of them with `proofmark accept`"
    } else {
        "this run was filtered; only a whole one can be blessed"
    };
    let _ = writeln!(out, "  look at one with `proofmark show CASE`; {next}\n");
}

/// One difference in one line.
pub fn difference_line(found: &Difference) -> String {
    let side = |row: Option<&crate::eval::baseline::Row>| match row {
        Some(row) if row.proposed.is_empty() => format!("{} (no call)", row.verdict),
        Some(row) => format!("{} ({})", row.verdict, row.proposed),
        None => "absent".to_owned(),
    };
    format!(
        "{:<6} {}: {} -> {}",
        found.change.name(),
        found.case_id,
        side(found.before.as_ref()),
        side(found.after.as_ref())
    )
}

/// Without a baseline every miss is news; with one only what scripts and laws say is.
fn failures(out: &mut String, suite: &SuiteResult) {
    let telling = |case: &&crate::eval::runner::CaseResult| {
        let exact = &*case.provider == "scripted" || !case.row.laws_broken.is_empty();
        let news = suite.comparison.is_none() && !case.case.is_stub();
        case.verdict != Verdict::Pass && (news || exact)
    };
    let failed: Vec<_> = suite.cases.iter().filter(telling).collect();
    for case in failed.iter().take(SHOWN) {
        let complaints = case.complaints.join("; ");
        let _ = writeln!(out, "{} {}: {complaints}", case.verdict.name(), case.case.id);
    }
    if failed.len() > SHOWN {
        let _ = writeln!(out, "and {} more; cases.csv has all", failed.len() - SHOWN);
    }
    if let Some(case) = failed.first() {
        let _ = writeln!(out, "  look at one: proofmark show {}", case.case.id);
        let _ = writeln!(out, "  run it again: {}\n", rerun(suite, case));
    }
}

fn verdict_line(out: &mut String, suite: &SuiteResult, proposing: bool) {
    let verdict = suite_verdict(suite, proposing);
    let count = |wanted: GateVerdict| {
        suite.gates.iter().filter(|gate| gate.verdict == wanted && !gate.report_only).count()
    };
    let _ = writeln!(
        out,
        "{:<14} {}: gates {} pass, {} fail, {} undecided{}",
        verdict.name(),
        suite.name,
        count(GateVerdict::Pass),
        count(GateVerdict::Fail),
        count(GateVerdict::Inconclusive),
        match suite.comparison.as_ref().map_or(0, |found| found.differences.len()) {
            0 => String::new(),
            many => format!("; {many} cases differ from the baseline"),
        }
    );
    let open = |report_only: bool, verdict: GateVerdict| {
        let wanted = move |gate: &&Gate| gate.report_only == report_only && gate.verdict == verdict;
        suite.gates.iter().filter(wanted)
    };
    for verdict in [GateVerdict::Fail, GateVerdict::Inconclusive] {
        lines(out, open(false, verdict), SHOWN);
    }
    lines(out, open(true, GateVerdict::Fail), 3);
    let quiet = open(true, GateVerdict::Inconclusive).count();
    if quiet > 0 {
        let _ = writeln!(out, "  {quiet} report-only gates are undecided");
    }
}

fn lines<'a>(out: &mut String, gates: impl Iterator<Item = &'a Gate>, most: usize) {
    let gates: Vec<&Gate> = gates.collect();
    for gate in gates.iter().take(most) {
        let only = if gate.report_only { " (report only)" } else { "" };
        let _ = writeln!(out, "  {}{only}: {}: {}", gate.verdict.name(), gate.gate, gate.why);
    }
    if gates.len() > most {
        let _ = writeln!(out, "  and {} more", gates.len() - most);
    }
}
