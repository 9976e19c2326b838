//! LiveMCPBench: how far each judge agrees with people, and how many tasks each says are solved.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{Replica, Set, Source, percent, read};
use crate::base::problem::{Position, Problem};

#[derive(Deserialize)]
struct Labelled {
    task_id: String,
    task_success: String,
}

#[derive(Deserialize)]
struct Judged {
    task_id: String,
    reward: Value,
}

/// What was published of one judge.
#[derive(Deserialize)]
struct Row {
    #[serde(rename = "Model")]
    model: String,
    human_agreement: f64,
    success_rate: f64,
}

pub(super) fn run(set: &Set, source: &Source) -> Result<Replica, Problem> {
    let folder = source.file("livemcpbench");
    let path = source.recorded("livemcpbench/trajectories_claude-sonnet-4.json.gz");
    let labels: BTreeMap<String, bool> = read::json::<Vec<Labelled>>(&path)?
        .into_iter()
        .map(|one| (one.task_id, one.task_success == "success"))
        .collect();
    let mut out = Replica::of(set);
    for row in table(&folder)? {
        let (agreement, success) = if row.model == "human" {
            (1.0, share(labels.values().copied()))
        } else {
            let judged: Vec<Judged> =
                read::json(&folder.join(format!("judge_{}.json", row.model)))?;
            let said = |one: &Judged| {
                matches!(&one.reward, Value::String(text) if text == "1") || one.reward == 1
            };
            let agrees =
                |one: &Judged| labels.get(&one.task_id).is_some_and(|label| *label == said(one));
            (share(judged.iter().map(agrees)), share(judged.iter().map(said)))
        };
        let shown = |value: f64| format!("{value:.2}");
        let mut compare = |what: &str, published: f64, ours: f64| {
            out.verdict((what, &row.model), &shown(published), &percent(ours, 2));
        };
        compare("success_rate", row.success_rate, success);
        if row.model != "human" {
            compare("human_agreement", row.human_agreement, agreement);
        }
    }
    Ok(out)
}

/// The published table of agreement, whichever model's runs it is about.
fn table(folder: &Path) -> Result<Vec<Row>, Problem> {
    let mut rows = Vec::new();
    for path in read::files(folder, &[".csv"])? {
        if !read::stem(&path, "", "").starts_with("evaluator_output_human_agreement") {
            continue;
        }
        let text = read::text(&path)?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for row in reader.deserialize() {
            rows.push(row.map_err(|error| {
                let line = error.position().map_or(0, |at| usize::try_from(at.line()).unwrap_or(0));
                Problem::new(path.display().to_string(), Position::new(line, 0), error.to_string())
            })?);
        }
    }
    Ok(rows)
}

fn share(all: impl ExactSizeIterator<Item = bool>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of tasks")]
    let count = all.len() as f64;
    all.map(|one| f64::from(u8::from(one))).sum::<f64>() / count
}
