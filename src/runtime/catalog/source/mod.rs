//! Where descriptors come from. Whatever the source, each tool is judged alone: a tool that cannot
//! be read as it stands is repaired or named, and never costs another tool anything.
//!
//! `mcp` reads the tools of an MCP server, `skill` those of a skill's folder, `openai` the lists
//! that programs hand to a model, `snapshot` a saved listing. What they share: `names` (tool ids),
//! `shape` (schemas), `effects` (what a tool may do, guessed with caution), `normalize` (one tool
//! to one descriptor).
//!
//! Every imported descriptor is `untrusted`. A tool of a list is simulated; a tool of a server is
//! called there only where somebody names the server. Its status is `verified`, which makes it
//! callable inside evaluations only. `enabled` needs a person who has read its effects, because
//! those are guesses from hints and names.

mod effects;
pub mod mcp;
mod names;
mod normalize;
pub mod openai;
mod shape;
pub mod skill;
pub mod snapshot;

use std::fmt;

pub use names::ServerName;

use crate::tool::descriptor::Descriptor;
pub use crate::tool::words::words;

/// What became of a list of tools. Every element of the list is in `descriptors`, or is named by a
/// problem that is [`Severity::Lost`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// One descriptor per usable tool, in the order of the list.
    pub descriptors: Vec<Descriptor>,
    /// What was noticed, in the order of the list.
    pub problems: Vec<ImportProblem>,
}

impl Imported {
    /// How many problems have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }
}

/// How much of a tool a problem costs. Mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing; a person should know.
    Noted,
    /// Something was replaced; the tool can be chosen and its arguments judged.
    Repaired,
    /// The tool is kept and can be chosen, but some of what it takes or answers is not judged.
    Unusable,
    /// This element gave no descriptor. Never said of a whole list.
    Lost,
}

impl Severity {
    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noted => "noted",
            Self::Repaired => "repaired",
            Self::Unusable => "unusable",
            Self::Lost => "lost",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something about one tool that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblem {
    /// The tool's id; `tool #3` (from 1) for an element that gave no descriptor.
    pub tool: String,
    /// What it costs.
    pub severity: Severity,
    /// What is wrong and what was done, a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.tool, self.severity, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}
