//! Gates: thresholds on metrics, with a minimum denominator.

use std::sync::Arc;

use super::metric::Metric;
use super::suite::GateEntry;

/// How a gate is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateVerdict {
    /// Within the threshold.
    Pass,
    /// Too little was counted to decide.
    Inconclusive,
    /// Beyond the threshold.
    Fail,
}

impl GateVerdict {
    /// The name as written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }
}

/// A judged gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The gate in words, such as `tool_choice.recall{tool=file.read} >= 0.8`.
    pub gate: String,
    /// The verdict.
    pub verdict: GateVerdict,
    /// What was measured.
    pub why: String,
    /// Whether it has no effect on the suite's verdict.
    pub report_only: bool,
}

/// Judges every gate of a suite. A gate `per: tool` is judged for each tool of `tools`.
pub fn judge(entries: &[GateEntry], metrics: &[Metric], tools: &[Arc<str>]) -> Vec<Gate> {
    let mut gates = Vec::new();
    for entry in entries {
        match entry.per.as_deref() {
            Some("tool") => {
                for tool in tools {
                    gates.extend(one(entry, metrics, Some(tool)));
                }
            }
            _ => gates.extend(one(entry, metrics, None)),
        }
    }
    gates
}

/// One threshold; a suite with several providers is judged for each of them.
fn one(entry: &GateEntry, metrics: &[Metric], tool: Option<&Arc<str>>) -> Vec<Gate> {
    let wanted = |metric: &&Metric| {
        metric.name == entry.metric
            && metric.scope.get("tool") == tool
            && entry.scope.iter().all(|(key, value)| {
                metric.scope.get(key.as_str()).is_some_and(|found| **found == **value)
            })
            && metric
                .scope
                .keys()
                .all(|key| matches!(*key, "tool" | "provider") || entry.scope.contains_key(*key))
    };
    let found: Vec<&Metric> = metrics.iter().filter(wanted).collect();
    if found.is_empty() {
        let scope = tool.map(|tool| format!("{{tool={tool}}}")).unwrap_or_default();
        return vec![Gate {
            gate: words(entry, &scope),
            verdict: GateVerdict::Inconclusive,
            why: "nothing was counted".to_owned(),
            report_only: entry.report_only,
        }];
    }
    found.into_iter().map(|metric| verdict(entry, metric)).collect()
}

fn words(entry: &GateEntry, scope: &str) -> String {
    let limits =
        [entry.at_least.map(|x| format!(">= {x}")), entry.at_most.map(|x| format!("<= {x}"))];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    format!("{}{scope} {}", entry.metric, limits.join(" and "))
}

fn verdict(entry: &GateEntry, metric: &Metric) -> Gate {
    let scope: Vec<String> =
        metric.scope.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let scope = if scope.is_empty() { String::new() } else { format!("{{{}}}", scope.join(",")) };
    let measured = match metric.value() {
        Some(value) => format!("{} of {} = {value:.4}", metric.num, metric.den),
        None => "nothing was counted".to_owned(),
    };
    // A hard zero of counts holds where nothing could be counted: nothing was seen.
    let hard_zero = entry.at_most == Some(0.0) && entry.min_denominator == 0;
    let (verdict, why) = if metric.den < entry.min_denominator {
        let need = entry.min_denominator;
        (GateVerdict::Inconclusive, format!("{measured}; at least {need} must be counted"))
    } else {
        match metric.value() {
            None if hard_zero => (GateVerdict::Pass, measured),
            None => (GateVerdict::Inconclusive, measured),
            Some(value) => {
                let low = entry.at_least.is_some_and(|least| value < least);
                let high = entry.at_most.is_some_and(|most| value > most);
                (if low || high { GateVerdict::Fail } else { GateVerdict::Pass }, measured)
            }
        }
    };
    Gate { gate: words(entry, &scope), verdict, why, report_only: entry.report_only }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        yaml_gate: (&str, Option<f64>, Option<f64>, u64),
        counted: (u64, u64),
        expected: GateVerdict,
    ) {
        let (metric, at_least, at_most, min_denominator) = yaml_gate;
        let entry = GateEntry {
            metric: metric.into(),
            per: None,
            scope: Default::default(),
            at_least,
            at_most,
            min_denominator,
            report_only: false,
        };
        let measured = Metric {
            name: "tool_choice.recall",
            scope: Default::default(),
            num: counted.0 as f64,
            den: counted.1,
            interval: None,
            method: "wilson",
        };
        let gates = judge(&[entry], &[measured], &[]);
        assert_eq!(gates.len(), 1);
        assert_eq!(gates[0].verdict, expected, "{gates:?}");
    }

    #[test]
    fn pass_fail_undecided() {
        let recall = "tool_choice.recall";
        check((recall, Some(0.8), None, 4), (4, 5), GateVerdict::Pass);
        check((recall, Some(0.8), None, 4), (3, 5), GateVerdict::Fail);
        check((recall, Some(0.8), None, 10), (5, 5), GateVerdict::Inconclusive);
        check((recall, None, Some(0.0), 0), (0, 0), GateVerdict::Pass);
        check((recall, None, Some(0.0), 0), (1, 9), GateVerdict::Fail);
        check((recall, Some(0.1), None, 0), (0, 0), GateVerdict::Inconclusive);
        check(("tool_choice.f1", Some(0.1), None, 0), (1, 1), GateVerdict::Inconclusive);
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod properties;
