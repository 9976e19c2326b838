//! MCPEval: predicted calls against gold, position by position. Parameters count where the names at
//! a position are equal; order is the longest common subsequence of names.

use serde::Deserialize;
use serde_json::Value;

use super::python::{Py, Type};
use super::{Replica, Set, Source, read};
use crate::base::problem::Problem;

#[derive(Deserialize)]
struct File {
    task_results: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    task_id: String,
    ground_truth_calls: Vec<Call>,
    prediction_calls: Vec<Call>,
    evaluation: Value,
}

#[derive(Deserialize)]
struct Call {
    tool_name: String,
    #[serde(default)]
    tool_parameters: Option<Py>,
}

/// Weights of names, parameters and order in the sum.
const WEIGHTS: [f64; 3] = [0.4, 0.4, 0.2];

pub(super) fn run(set: &Set, source: &Source) -> Result<Replica, Problem> {
    let files = match &source.replay {
        Some(path) => vec![path.clone()],
        None => {
            let mut files = read::files(&source.file("mcpeval"), &[".json"])?;
            files.retain(|path| !read::stem(path, "", "").ends_with("_summary.json"));
            files
        }
    };
    let mut out = Replica::of(set);
    for path in files {
        let model = read::stem(&path, "", ".json").to_owned();
        for task in read::json::<File>(&path)?.task_results {
            for (mode, strict) in [("strict", true), ("flexible", false)] {
                for (name, ours) in scores(&task, strict) {
                    let told = task.evaluation.pointer(&format!("/{mode}/{name}"));
                    let Some(told) = told.and_then(Value::as_f64) else { continue };
                    let id = format!("{} {mode} {name}", task.task_id);
                    // Equal sums of floating point may differ in their last digits.
                    let shown = |value: f64| format!("{value:.9}");
                    out.verdict((&id, &model), &shown(told), &shown(ours));
                }
            }
        }
    }
    Ok(out)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of calls")]
fn scores(task: &Task, strict: bool) -> [(&'static str, f64); 4] {
    let (gold, made) = (&task.ground_truth_calls, &task.prediction_calls);
    let named: Vec<(&Call, &Call)> =
        gold.iter().zip(made).filter(|(one, two)| one.tool_name == two.tool_name).collect();
    let of_gold =
        |count: usize| if gold.is_empty() { 1.0 } else { count as f64 / gold.len() as f64 };
    let sum: f64 = named.iter().map(|(one, two)| parameters(one, two, strict)).sum();
    let names = of_gold(named.len());
    let parameters = if named.is_empty() { 0.0 } else { sum / named.len() as f64 };
    let order = of_gold(common(gold, made));
    let overall =
        [names, parameters, order].iter().zip(WEIGHTS).map(|(score, weight)| score * weight).sum();
    [
        ("tool_name_score", names),
        ("param_match_score", parameters),
        ("order_score", order),
        ("overall_score", overall),
    ]
}

/// How far the parameters of one call fit: wholly or not at all, or each by itself, with half a
/// point for one that is there and wrong.
fn parameters(gold: &Call, made: &Call, strict: bool) -> f64 {
    let pairs = gold.tool_parameters.as_ref().and_then(Py::pairs).unwrap_or_default();
    let given = |key: &Py| made.tool_parameters.as_ref()?.get(key.as_str()?);
    if pairs.is_empty() {
        return 1.0;
    }
    if strict {
        let same = |(key, value): &(Py, Py)| given(key).is_some_and(|other| exact(value, other));
        return f64::from(u8::from(pairs.iter().all(same)));
    }
    let points = pairs.iter().map(|(key, value)| match given(key) {
        Some(other) if near(value, other) => 1.0,
        Some(_) => 0.5,
        None => 0.0,
    });
    #[expect(clippy::cast_precision_loss, reason = "a number of parameters")]
    let count = pairs.len() as f64;
    points.sum::<f64>() / count
}

fn trimmed(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Two numbers, neither a boolean.
fn numbers(one: &Py, two: &Py) -> Option<(f64, f64)> {
    let is_number = |value: &Py| matches!(value.kind(), Type::Int | Type::Float);
    (is_number(one) && is_number(two)).then(|| Some((one.number()?, two.number()?)))?
}

fn exact(one: &Py, two: &Py) -> bool {
    match (one, two) {
        (Py::Str(one), Py::Str(two)) => trimmed(one) == trimmed(two),
        _ => match numbers(one, two) {
            Some((one, two)) => (one - two).abs() < 1e-6,
            None => one == two,
        },
    }
}

/// One text within the other, or numbers within a fifth.
fn near(one: &Py, two: &Py) -> bool {
    match (one, two) {
        (Py::Str(one), Py::Str(two)) => {
            let (one, two) = (trimmed(one), trimmed(two));
            one.contains(&two) || two.contains(&one)
        }
        _ => match numbers(one, two) {
            Some((one, two)) => one == two || (one - two).abs() <= 0.2 * one.abs().max(two.abs()),
            None => one == two,
        },
    }
}

/// The length of the longest common subsequence of names.
fn common(one: &[Call], two: &[Call]) -> usize {
    let mut row = vec![0; two.len() + 1];
    for call in one {
        let mut corner = 0;
        for (at, other) in two.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] =
                if call.tool_name == other.tool_name { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(gold: Value, made: Value, expected: [[f64; 4]; 2]) {
        let task = json!({"task_id": "t", "ground_truth_calls": gold, "prediction_calls": made,
            "evaluation": {}});
        let task: Task = serde_json::from_value(task).unwrap();
        for (strict, expected) in [true, false].into_iter().zip(expected) {
            let found = scores(&task, strict).map(|(_, score)| score);
            let near = found.iter().zip(expected).all(|(one, two)| (one - two).abs() < 1e-9);
            assert!(near, "strict {strict}: {found:?}");
        }
    }

    fn call(name: &str, parameters: Value) -> Value {
        json!({"tool_name": name, "tool_parameters": parameters})
    }

    #[test]
    fn names_parameters_and_order() {
        let (go, wait) = (call("go", json!({"to": "Kyoto", "by": 10})), call("wait", json!({})));
        check(json!([go, wait]), json!([go, wait]), [[1.0; 4], [1.0; 4]]);
        check(json!([go]), json!([]), [[0.0; 4], [0.0; 4]]);
        // Behind one that is too many nothing is at its position any more.
        let shifted = [0.0, 0.0, 1.0, 0.2];
        check(json!([go, wait]), json!([wait, go, wait]), [shifted, shifted]);
        let near = call("go", json!({"to": " kyoto station", "by": 12}));
        check(json!([go]), json!([near]), [[1.0, 0.0, 1.0, 0.6], [1.0; 4]]);
        let half = call("go", json!({"to": "Osaka"}));
        check(json!([go]), json!([half]), [[1.0, 0.0, 1.0, 0.6], [1.0, 0.25, 1.0, 0.7]]);
    }
}
