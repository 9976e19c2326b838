//! `summary.md`: what got worse and what to run again, for a pull request.

use std::fmt::Write;

use super::json::CHOOSER_NOTE;
use super::table::{self, Look};
use super::terminal::difference_line;
use crate::eval::gate::GateVerdict;
use crate::eval::outcome::{RunResult, suite_verdict};

const SHOWN: usize = 30;

/// The document.
pub fn summary(run: &RunResult) -> String {
    let mut out = format!("# proofmark: {}\n\n", run.verdict().name());
    for suite in &run.suites {
        let verdict = suite_verdict(suite, run.proposing).name();
        let _ = writeln!(out, "## {} — {verdict}\n", suite.name);
        for gate in suite.gates.iter().filter(|gate| gate.verdict != GateVerdict::Pass) {
            let only = if gate.report_only { " (report only)" } else { "" };
            let _ =
                writeln!(out, "- **{}**{only} `{}`: {}", gate.verdict.name(), gate.gate, gate.why);
        }
        if let Some(found) = suite.comparison.as_ref().filter(|f| !f.differences.is_empty()) {
            let _ = writeln!(out, "\n### Differences from the baseline\n\n```text");
            for difference in found.differences.iter().take(SHOWN) {
                let _ = writeln!(out, "{}", difference_line(difference));
            }
            if found.differences.len() > SHOWN {
                let _ = writeln!(out, "and {} more", found.differences.len() - SHOWN);
            }
            let _ = writeln!(
                out,
                "```\n\nRun again: `proofmark run {}`; look at one: `proofmark show CASE`.",
                suite.name
            );
        }
        let _ = writeln!(out, "\n{}\n", table::suite_metrics(suite, Look::Markdown));
        if let Some(text) = table::splits(suite, Look::Markdown) {
            let _ = writeln!(out, "{text}\n");
        }
        let fold = |title: &str, text: String| {
            format!("<details><summary>{title}</summary>\n\n{text}\n\n</details>\n")
        };
        if let Some(text) = table::tools(suite, Look::Markdown) {
            let _ = writeln!(out, "{}", fold("Tools", text));
        }
        let _ = writeln!(out, "{}", fold("Laws", table::laws(suite, Look::Markdown)));
    }
    for one in &run.not_run {
        let _ = writeln!(out, "Suite {} was not run: {}.\n", one.suite, one.reason);
    }
    for stale in &run.stale {
        let _ = writeln!(out, "Stale: {stale}.\n");
    }
    let _ = writeln!(out, "{CHOOSER_NOTE}");
    out
}
