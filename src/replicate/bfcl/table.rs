//! The published table: eleven of its columns follow from the counts of twelve files of questions.
//! Seven of them are judged here; of the five that were executed only their share is published.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::{Replica, Source, percent, read};
use crate::base::problem::{Position, Problem};

/// Right answers and questions by model and category.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<(String, String), (u32, u32)>);

impl Counts {
    pub(super) fn add(&mut self, model: &str, category: &str, right: bool) {
        let (sum, all) = self.0.entry((model.to_owned(), category.to_owned())).or_default();
        *sum += u32::from(right);
        *all += 1;
    }
}

#[derive(Deserialize)]
struct Models {
    display_name: BTreeMap<String, String>,
}

/// A published header: the model, the category, the share, right answers, questions.
type Header = (String, String, f64, u32, u32);

/// Columns of executed questions, with how many there are.
const EXECUTED: [(&str, &str, u32); 5] = [
    ("Python Simple Function Exec", "executable_simple", 100),
    ("REST Simple Function Exec", "rest", 70),
    ("Multiple Functions Exec", "executable_multiple_function", 50),
    ("Parallel Functions Exec", "executable_parallel_function", 50),
    ("Parallel Multiple Exec", "executable_parallel_multiple_function", 40),
];

/// Columns of one category each.
const PLAIN: [(&str, &str); 7] = [
    ("Python Simple Function AST", "simple"),
    ("Java Simple Function AST", "java"),
    ("JavaScript Simple Function AST", "javascript"),
    ("Multiple Functions AST", "multiple_function"),
    ("Parallel Functions AST", "parallel_function"),
    ("Parallel Multiple AST", "parallel_multiple_function"),
    ("Relevance Detection", "relevance"),
];

/// Compares every cell of every model that the table names.
pub(super) fn compare(out: &mut Replica, source: &Source, counts: &Counts) -> Result<(), Problem> {
    let file = |name: &str| source.file(&format!("bfcl/{name}"));
    let names: Models = read::json(&file("models_2024-08-11.json"))?;
    let headers: Vec<Header> = read::json(&file("published_headers_2024-08-11.json"))?;
    let path = file("leaderboard_2024-08-14.csv");
    let text = read::text(&path)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let wrong = |error: csv::Error| {
        let line = error.position().map_or(0, |at| usize::try_from(at.line()).unwrap_or(0));
        Problem::new(path.display().to_string(), Position::new(line, 0), error.to_string())
    };
    let mut rows: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.map_err(wrong)?;
        rows.insert(row.get("Model").cloned().unwrap_or_default(), row);
    }
    let mut models: BTreeMap<&str, BTreeMap<&str, (u32, u32)>> = BTreeMap::new();
    for (model, category, _, right, all) in &headers {
        let ours = counts.0.get(&(model.clone(), category.clone()));
        // What was judged here stands for itself where all of it was.
        let counted = ours.filter(|(_, judged)| judged == all).copied().unwrap_or((*right, *all));
        models.entry(model).or_default().insert(category, counted);
    }
    for (model, mut of) in models {
        let Some(row) = names.display_name.get(model).and_then(|name| rows.get(name)) else {
            continue;
        };
        for (column, category, all) in EXECUTED {
            let share = row.get(column).and_then(|cell| cell.trim_end_matches('%').parse().ok());
            of.insert(category, (right(share.unwrap_or(0.0), all), all));
        }
        for (column, ours) in cells(&of) {
            let told = row.get(column).map(String::as_str).unwrap_or_default();
            out.cell((column, model), told, &format!("{}%", percent(ours, 2)));
        }
    }
    Ok(())
}

/// The whole number of right answers behind a share in percent.
fn right(share: f64, all: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let right = (share / 100.0 * f64::from(all)).round() as u32;
    right
}

/// The cells of one model.
fn cells(of: &BTreeMap<&str, (u32, u32)>) -> Vec<(&'static str, f64)> {
    let weighted = |names: &[&str]| {
        let known = names.iter().filter_map(|name| of.get(name));
        let (right, all) = known.fold((0, 0), |(right, all), (r, a)| (right + r, all + a));
        f64::from(right) / f64::from(all)
    };
    let one = |name: &str| weighted(&[name]);
    let mean =
        |simple: f64, others: [&str; 3]| (simple + others.map(one).iter().sum::<f64>()) / 4.0;
    let simple = weighted(&["simple", "java", "javascript"]);
    let executed = weighted(&["executable_simple", "rest"]);
    let all: Vec<&str> = of.keys().copied().collect();
    let mut cells: Vec<_> = PLAIN.iter().map(|(column, name)| (*column, one(name))).collect();
    cells.extend([
        ("Simple Function AST", simple),
        (
            "AST Summary",
            mean(simple, ["multiple_function", "parallel_function", "parallel_multiple_function"]),
        ),
        (
            "Exec Summary",
            mean(
                executed,
                [
                    "executable_multiple_function",
                    "executable_parallel_function",
                    "executable_parallel_multiple_function",
                ],
            ),
        ),
        ("Overall Acc", weighted(&all)),
    ]);
    cells
}
