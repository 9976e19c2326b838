//! Stage 0: what a proposer asked for, before anything is believed.

use std::sync::Arc;

use serde_json::Value;

/// A provider's reply, before the dialect looks at it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Text, when there is any.
    pub text: Option<String>,
    /// Native calls; the text protocol has none.
    pub calls: Vec<RawCall>,
    /// Why it stopped, in the provider's word.
    pub finish: Option<String>,
    /// The provider's own explanation of its choice.
    pub explanation: Option<Value>,
}

/// A call as a provider spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    /// The provider's id, when it gives one.
    pub id: Option<String>,
    /// The name.
    pub name: String,
    /// The arguments, as text.
    pub arguments: String,
}

/// A proposed call with its id pinned.
#[derive(Debug, PartialEq)]
pub struct Proposed {
    /// The call's id in this session; the provider's when it is usable.
    pub call: Arc<str>,
    /// The provider's id.
    pub provider_id: Option<String>,
    /// The name as spelled.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Position in the reply, from 0.
    pub index: u32,
}

/// What the argument text turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// JSON.
    Json(Value),
    /// Nothing but white space.
    Blank,
    /// Not JSON: the text as it came and what the parser said.
    Malformed {
        /// The text.
        raw: String,
        /// The parser's complaint.
        why: String,
    },
}

impl Arguments {
    /// Reads the text; never guesses.
    pub fn read(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Blank;
        }
        match serde_json::from_str(text) {
            Ok(value) => Self::Json(value),
            Err(error) => Self::Malformed { raw: text.to_owned(), why: error.to_string() },
        }
    }

    /// Scrubs the texts inside JSON once more: escapes can hide a secret from the raw text.
    #[must_use]
    pub fn scrubbed(self, redact: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Json(mut value) => {
                scrub(&mut value, redact);
                Self::Json(value)
            }
            Self::Blank | Self::Malformed { .. } => self,
        }
    }
}

/// Scrubs every text inside a value.
pub fn scrub(value: &mut Value, redact: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, redact)),
        Value::Object(map) => map.values_mut().for_each(|value| scrub(value, redact)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
