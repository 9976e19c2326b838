//! MCPMark: of the runs of each model, the mean share of tasks passed with the deviation between
//! runs (of the population), the share passed by any of four runs, and by all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{Replica, Set, Source, read};
use crate::base::problem::Problem;

#[derive(Deserialize)]
struct Task {
    model: String,
    service: String,
    runs: BTreeMap<String, Run>,
}

#[derive(Deserialize)]
struct Run {
    success: Option<bool>,
}

pub(super) fn run(set: &Set, source: &Source) -> Result<Replica, Problem> {
    let tasks: Vec<Task> = read::lines(&source.recorded("mcpmark/results.jsonl.gz"))?;
    let published: Value = read::json(&source.file("mcpmark/summary.json"))?;
    let mut groups: BTreeMap<(&str, &str), Vec<&Task>> = BTreeMap::new();
    for task in &tasks {
        for scope in ["overall", task.service.as_str()] {
            groups.entry((scope, &task.model)).or_default().push(task);
        }
    }
    let mut out = Replica::of(set);
    for ((scope, model), tasks) in groups {
        let Some(told) = published.get(scope).and_then(|of| of.get(model)) else { continue };
        for (name, value) in figures(&tasks) {
            let Some(told) = told.pointer(&format!("/{name}")).and_then(Value::as_f64) else {
                continue;
            };
            let id = format!("{scope} {}", name.replace('/', " "));
            out.verdict((&id, model), &format!("{told:.4}"), &format!("{value:.4}"));
        }
    }
    Ok(out)
}

/// The figures of a model by the place of each in the published summary.
#[expect(clippy::cast_precision_loss, reason = "numbers of tasks and runs")]
fn figures(tasks: &[&Task]) -> Vec<(&'static str, f64)> {
    let names: BTreeSet<&String> = tasks.iter().flat_map(|task| task.runs.keys()).collect();
    let count = tasks.len() as f64;
    let passed =
        |task: &Task, run: &String| task.runs.get(run).is_some_and(|run| run.success == Some(true));
    let share = |fits: &dyn Fn(&Task) -> bool| {
        tasks.iter().filter(|task| fits(task)).count() as f64 / count
    };
    let each: Vec<f64> = names.iter().map(|run| share(&|task| passed(task, run))).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let spread = each.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / each.len() as f64;
    let any = share(&|task| names.iter().any(|run| passed(task, run)));
    let all = share(&|task| names.iter().all(|run| passed(task, run)));
    let once = vec![("pass@1/avg", mean), ("pass@1/std", spread.sqrt())];
    match names.len() {
        4 => [once, vec![("pass@4", any), ("pass^4", all)]].concat(),
        _ => once,
    }
}
