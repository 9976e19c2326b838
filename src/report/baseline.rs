//! Proposed baselines: written beside the run, never over the committed ones.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ReportError, json as report_json};
use crate::eval::baseline;
use crate::eval::runner::SuiteResult;

/// The file that says where a proposed baseline belongs.
pub const TARGET: &str = "golden-folder";

/// Writes `pending/<suite>/baseline.csv` and `baseline.json` under a run's folder, and where they
/// belong.
///
/// # Errors
/// When a file cannot be written.
pub fn propose(
    folder: &Path,
    suite: &SuiteResult,
    golden: Option<&PathBuf>,
) -> Result<PathBuf, ReportError> {
    let pending = folder.join("pending").join(&*suite.name);
    fs::create_dir_all(&pending).map_err(|error| ReportError::io(&pending, &error))?;
    let write = |name: &str, text: String| {
        let path = pending.join(name);
        fs::write(&path, text).map_err(|error| ReportError::io(&path, &error))
    };
    write("baseline.csv", baseline::write(&suite.rows()))?;
    write("baseline.json", blessed_metrics(suite))?;
    if let Some(golden) = golden {
        write(TARGET, golden.to_string_lossy().into_owned())?;
    }
    Ok(pending)
}

/// The metrics that are blessed together with the rows, and what they were measured on.
fn blessed_metrics(suite: &SuiteResult) -> String {
    let metrics: Vec<Value> = suite.metrics.iter().map(report_json::metric).collect();
    let digests: serde_json::Map<String, Value> =
        suite.digests.iter().map(|(k, v)| ((*k).to_owned(), v.to_string().into())).collect();
    let value = json!({"schema": "proofmark/baseline@1", "suite": &*suite.name,
        "version": env!("CARGO_PKG_VERSION"), "digests": digests, "metrics": metrics});
    pretty(&value)
}

/// Indented JSON with a newline at the end.
pub fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
