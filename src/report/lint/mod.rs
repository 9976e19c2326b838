//! What a linter found, told to a person, to a program, and to whatever reads SARIF.

mod sarif;
mod terminal;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use sarif::sarif;
pub use terminal::{Shown, explain, terminal};

use super::json::envelope;
use crate::base::problem::Position;
use crate::lint::{Finding, Level};

/// A finding with the place that it has in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// What was found.
    pub finding: Finding,
    /// The tool, as people call it.
    pub tool: String,
    /// How many tools are offered together with it, itself included.
    pub together: usize,
    /// The file as the user named it.
    pub file: String,
    /// Where in the file.
    pub at: Position,
    /// A piece of the line, and where in it the place begins and ends, in characters.
    pub excerpt: Option<Excerpt>,
}

/// A piece of a source line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, without line breaks.
    pub text: String,
    /// How many characters stand before the place.
    pub before: usize,
    /// How many characters it has; at least one.
    pub length: usize,
}

/// How many findings have this level.
pub fn count(found: &[Located], level: Level) -> usize {
    found.iter().filter(|one| one.finding.level == level).count()
}

/// How many findings each rule has, by name.
pub fn counts(found: &[Located]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for one in found {
        *counts.entry(one.finding.rule.name).or_default() += 1;
    }
    counts
}

/// The answer for programs.
pub fn json(found: &[Located], exit: u8) -> Value {
    let verdict = if exit == 0 { "pass" } else { "fail" };
    let mut answer: Map<String, Value> = envelope(None, verdict, exit);
    let findings = found.iter().map(|one| {
        json!({
            "rule": one.finding.rule.name,
            "level": one.finding.level.name(),
            "tool": one.tool,
            "file": one.file,
            "line": one.at.line,
            "column": one.at.column,
            "message": one.finding.message,
            "fix": one.finding.help,
        })
    });
    answer.insert("findings".to_owned(), findings.collect());
    answer.insert("counts".to_owned(), json!(counts(found)));
    Value::Object(answer)
}
