//! `run.jsonl`: the record of a run, written as it happens. Texts that journals name by digest
//! stand once each, as lines of their own before their first use.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::ReportError;
use crate::base::digest::Digest;
use crate::eval::grade::Grade;
use crate::eval::outcome::RunResult;
use crate::eval::trial::{TrialPlan, TrialRecord};
use crate::journal::format::write_line;

/// The writer.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: BufWriter<File>,
    known: HashSet<Digest>,
    trials: u64,
    buffer: Vec<u8>,
}

impl RunLog {
    /// Opens the file and writes the first line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: PathBuf, suites: &[String]) -> Result<Self, ReportError> {
        let file = File::create(&path).map_err(|error| ReportError::io(&path, &error))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        let mut log = Self { path, file, known: HashSet::new(), trials: 0, buffer: Vec::new() };
        log.value(&json!({"event": "runStarted", "v": 1,
            "version": env!("CARGO_PKG_VERSION"), "suites": suites}))?;
        Ok(log)
    }

    fn value(&mut self, value: &Value) -> Result<(), ReportError> {
        writeln!(self.file, "{value}").map_err(|error| ReportError::io(&self.path, &error))
    }

    /// Writes one trial: new texts, then the trial with its journal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn trial(
        &mut self,
        suite: &str,
        plan: &TrialPlan,
        record: &TrialRecord,
        grade: &Grade,
    ) -> Result<(), ReportError> {
        self.buffer.clear();
        self.trials += 1;
        for (name, text) in record.journal.blobs().iter() {
            if self.known.insert(*name) {
                let text = serde_json::to_string(&**text).unwrap_or_default();
                let line =
                    format!("{{\"event\":\"blob\",\"digest\":\"{name}\",\"text\":{text}}}\n");
                self.buffer.extend_from_slice(line.as_bytes());
            }
        }
        let expects = plan.case.expect.alternatives.iter().any(|calls| !calls.is_empty());
        let head = json!({
            "suite": suite, "case": &*plan.case.id, "provider": &*plan.provider,
            "trial": plan.number, "id": &*record.id, "verdict": grade.verdict.name(),
            "golden": expects && !plan.case.is_stub(),
            "proposed": grade.proposed, "missing": grade.missing,
            "complaints": grade.complaints, "finalText": record.final_text,
        })
        .to_string();
        self.buffer.extend_from_slice(b"{\"event\":\"trialFinished\",");
        self.buffer.extend_from_slice(&head.as_bytes()[1..head.len() - 1]);
        self.buffer.extend_from_slice(b",\"journal\":[");
        for (index, entry) in record.journal.entries().iter().enumerate() {
            if index > 0 {
                self.buffer.push(b',');
            }
            write_line(entry, &mut self.buffer);
            self.buffer.pop();
        }
        self.buffer.extend_from_slice(b"]}\n");
        self.file.write_all(&self.buffer).map_err(|error| ReportError::io(&self.path, &error))
    }

    /// Writes the last line and closes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, run: &RunResult, exit: u8) -> Result<(), ReportError> {
        let verdict = run.verdict().name();
        self.value(&json!({"event": "runFinished", "verdict": verdict, "exitCode": exit,
            "trials": self.trials}))?;
        self.file.flush().map_err(|error| ReportError::io(&self.path, &error))
    }
}
