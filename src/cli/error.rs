//! The only place where errors become text.

use std::fmt;

use serde_json::{Value, json};

use super::exit::Exit;
use crate::base::problem::Problem;
use crate::report::ReportError;
use crate::report::json::envelope;

/// Why a command could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CliError {
    /// Input files are invalid; all problems of all of them.
    Inputs(Vec<Problem>),
    /// The command line asks for something that is not there.
    Usage(String),
    /// A server or the environment failed.
    Environment(String),
    /// Nothing was selected.
    NothingSelected(String),
    /// Interrupted from the keyboard.
    Interrupted,
}

impl CliError {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Inputs(_) => Exit::Inputs,
            Self::Usage(_) => Exit::Usage,
            Self::Environment(_) => Exit::Environment,
            Self::NothingSelected(_) => Exit::NothingSelected,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

impl CliError {
    /// The same for programs: the envelope of every answer, with what went wrong.
    pub fn to_json(&self) -> Value {
        let mut answer = envelope(None, "inconclusive", self.exit().code());
        answer.insert("error".into(), self.to_string().into());
        if let Self::Inputs(problems) = self {
            let problems = problems.iter().map(|problem| {
                json!({"file": problem.file, "line": problem.at.line, "column": problem.at.column,
                    "message": problem.message, "help": problem.help})
            });
            answer.insert("problems".into(), problems.collect());
        }
        Value::Object(answer)
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inputs(problems) => {
                for problem in problems {
                    writeln!(f, "error: {problem}")?;
                }
                let plural = if problems.len() == 1 { "" } else { "s" };
                write!(f, "{} problem{plural}; nothing was run", problems.len())
            }
            Self::Usage(message) | Self::Environment(message) | Self::NothingSelected(message) => {
                write!(f, "error: {message}")
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<Vec<Problem>> for CliError {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Inputs(problems)
    }
}

impl From<ReportError> for CliError {
    fn from(error: ReportError) -> Self {
        Self::Environment(error.to_string())
    }
}
