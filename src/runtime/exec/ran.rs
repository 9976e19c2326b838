//! Stage 5: what an execution left behind.

use serde_json::Value;

use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::tool::id::ToolId;

/// The raw result of one execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Text output, raw.
    pub output: String,
    /// Structured output, when the tool gives any.
    pub structured: Option<Value>,
    /// What went wrong; the output is kept beside it.
    pub fault: Option<Fault>,
    /// What was seen to be touched.
    pub effects: ObservedEffects,
    /// The command line that ran.
    pub command: Option<String>,
    /// Deferred tools that it found, for the turn to activate.
    pub activates: Vec<ToolId>,
}

impl Ran {
    /// A success.
    pub fn ok(output: impl Into<String>, effects: ObservedEffects) -> Self {
        Self {
            output: output.into(),
            structured: None,
            fault: None,
            effects,
            command: None,
            activates: Vec::new(),
        }
    }

    /// A failure with a stable code.
    pub fn failed(blame: Blame, code: &str, message: impl Into<String>) -> Self {
        Self {
            output: String::new(),
            structured: None,
            fault: Some(Fault { blame, code: code.to_owned(), message: message.into() }),
            effects: ObservedEffects { method: "workspace".to_owned(), ..Default::default() },
            command: None,
            activates: Vec::new(),
        }
    }
}
