//! Tables for the terminal and for Markdown.

use tabled::builder::Builder;
use tabled::settings::{Alignment, Modify, Style, object::Columns};

use crate::eval::metric::Metric;
use crate::eval::runner::SuiteResult;

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Lines of plain text.
    Terminal,
    /// A Markdown table.
    Markdown,
}

/// Draws rows under a header; the first column is left-aligned, the others right.
pub fn draw(header: &[&str], rows: Vec<Vec<String>>, look: Look) -> String {
    let mut builder = Builder::default();
    builder.push_record(header.iter().map(ToString::to_string));
    for row in rows {
        builder.push_record(row);
    }
    let mut table = builder.build();
    match look {
        Look::Terminal => table.with(Style::blank()),
        Look::Markdown => table.with(Style::markdown()),
    };
    if header.len() > 1 {
        table.with(Modify::new(Columns::new(1..)).with(Alignment::right()));
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A value with its interval: `0.85 [0.64, 0.95]`, or `n/a`.
pub fn value(metric: &Metric) -> String {
    match (metric.value(), metric.interval) {
        (Some(value), Some(interval)) => {
            format!("{value:.3} [{:.3}, {:.3}]", interval.lo, interval.hi)
        }
        (Some(value), None) => format!("{value:.3}"),
        (None, _) => "n/a".to_owned(),
    }
}

/// Whole-suite metrics: name, counts, value.
pub fn suite_metrics(suite: &SuiteResult, look: Look) -> String {
    let plain = |metric: &&Metric| {
        !metric.scope.contains_key("tool")
            && !metric.scope.contains_key("split")
            && !metric.scope.contains_key("law")
            && (metric.den > 0 || metric.name.starts_with("unsafe"))
    };
    let rows = suite.metrics.iter().filter(plain).map(|metric| {
        let scope: Vec<String> = metric.scope.values().map(ToString::to_string).collect();
        let name = if scope.is_empty() {
            metric.name.to_owned()
        } else {
            format!("{} ({})", metric.name, scope.join(", "))
        };
        let num = if metric.method == "macro" {
            format!("{:.2}", metric.num)
        } else {
            metric.num.to_string()
        };
        vec![name, format!("{num}/{}", metric.den), value(metric)]
    });
    draw(&["metric", "count", "value [95 %]"], rows.collect(), look)
}

/// Tuned and frozen prompts side by side.
pub fn splits(suite: &SuiteResult, look: Look) -> Option<String> {
    let of = |split: &str, name: &str| {
        suite.metrics.iter().find(|metric| {
            metric.name == name && metric.scope.get("split").is_some_and(|s| **s == *split)
        })
    };
    let mut rows = Vec::new();
    for metric in &suite.metrics {
        let first = metric.scope.get("split").is_some_and(|split| &**split == "tuned");
        if !first || rows.iter().any(|row: &Vec<String>| row[0] == metric.name) {
            continue;
        }
        let (Some(tuned), Some(frozen)) = (of("tuned", metric.name), of("frozen", metric.name))
        else {
            continue;
        };
        if tuned.den > 0 && frozen.den > 0 {
            let shown = |m: &Metric| format!("{}/{}  {}", m.num, m.den, value(m));
            rows.push(vec![metric.name.to_owned(), shown(tuned), shown(frozen)]);
        }
    }
    (!rows.is_empty()).then(|| draw(&["metric", "tuned", "frozen"], rows, look))
}

/// Precision, recall and F1 of each tool.
pub fn tools(suite: &SuiteResult, look: Look) -> Option<String> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for metric in &suite.metrics {
        let Some(tool) = metric.scope.get("tool") else { continue };
        if metric.name != "tool_choice.precision" {
            continue;
        }
        let of = |name: &str| {
            let wanted = |m: &&Metric| m.name == name && m.scope.get("tool") == Some(tool);
            suite.metrics.iter().find(wanted)
        };
        let cell = |name: &str| {
            of(name).map_or_else(String::new, |m| match m.value() {
                Some(value) => format!("{value:.2} ({}/{})", m.num, m.den),
                None => "n/a".to_owned(),
            })
        };
        let f1 = of("tool_choice.f1").and_then(Metric::value);
        rows.push(vec![
            tool.to_string(),
            cell("tool_choice.precision"),
            cell("tool_choice.recall"),
            f1.map_or_else(|| "n/a".to_owned(), |f1| format!("{f1:.2}")),
            suite.counts.tools.get(tool).map_or(0, |counts| counts.false_calls).to_string(),
        ]);
    }
    (!rows.is_empty())
        .then(|| draw(&["tool", "precision", "recall", "F1", "negatives"], rows, look))
}

/// The cells off the diagonal, most frequent first.
pub fn confusions(suite: &SuiteResult, most: usize, look: Look) -> Option<String> {
    let mut cells: Vec<(u64, &str, &str)> = suite
        .counts
        .confusion
        .iter()
        .filter(|((row, column), _)| row != column)
        .map(|((row, column), count)| (*count, &**row, &**column))
        .collect();
    cells.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let rows: Vec<Vec<String>> = cells
        .iter()
        .take(most)
        .map(|(count, row, column)| vec![(*row).into(), (*column).into(), count.to_string()])
        .collect();
    (!rows.is_empty()).then(|| draw(&["expected", "called", "times"], rows, look))
}

/// Every law with its counts.
pub fn laws(suite: &SuiteResult, look: Look) -> String {
    let of_law = |metric: &&Metric| metric.scope.contains_key("law");
    let rows = suite.metrics.iter().filter(of_law).map(|metric| {
        let scope: Vec<String> = metric.scope.values().map(ToString::to_string).collect();
        let law = metric.scope.get("law").map_or("", |law| &**law);
        let unknown = suite.counts.laws.get(law).map_or(0, |counts| counts.unknown);
        vec![
            scope.join(", "),
            format!("{}/{}", metric.num, metric.den),
            metric.interval.map_or_else(
                || "not exercised".to_owned(),
                |interval| format!("<= {:.4}", interval.hi),
            ),
            if unknown > 0 { unknown.to_string() } else { String::new() },
        ]
    });
    draw(&["law", "broken/exercised", "bound 95 %", "unknown"], rows.collect(), look)
}
