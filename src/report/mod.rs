//! Telling it. Reports read results and events; they compute nothing and decide nothing.
//!
//! Files of a run: `run.jsonl` as it happens, then `report.json`, `cases.csv`, `metrics.csv`,
//! `summary.md`, `junit.xml` and `timings.json`.

pub mod account;
pub mod baseline;
pub mod csv;
pub mod explain;
pub mod json;
pub mod jsonl;
pub mod junit;
pub mod lint;
pub mod markdown;
pub mod progress;
pub mod show;
pub mod table;
pub mod terminal;

use std::path::PathBuf;

/// Why a report could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write {}: {reason}", path.display())]
pub struct ReportError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub reason: String,
}

impl ReportError {
    /// An error of the file system.
    pub fn io(path: impl Into<PathBuf>, error: &std::io::Error) -> Self {
        Self { path: path.into(), reason: error.to_string() }
    }
}
