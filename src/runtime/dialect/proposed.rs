//! Stage 0: what a proposer asked for, before anything is believed.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::json;
use crate::base::canon;
use crate::base::digest::Digest;

/// A provider's reply, before the dialect looks at it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Text, when there is any.
    pub text: Option<String>,
    /// Native reasoning, when the provider shows any. No dialect ever takes a call from it.
    pub reasoning: Option<String>,
    /// Native calls; the text protocol has none.
    pub calls: Vec<RawCall>,
    /// Why it stopped, in the provider's word.
    pub finish: Option<String>,
    /// The provider's own explanation of its choice.
    pub explanation: Option<Value>,
}

/// Where in a reply a call stood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// In the provider's own field for calls.
    #[default]
    Native,
    /// In a tagged block of JSON.
    Tagged,
    /// In a fenced block of JSON.
    Fenced,
    /// In an `invoke` element.
    Invoke,
    /// It was the whole reply.
    Bare,
}

impl Origin {
    /// The name as written in journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Tagged => "tagged",
            Self::Fenced => "fenced",
            Self::Invoke => "invoke",
            Self::Bare => "bare",
        }
    }
}

/// A call as a provider spells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawCall {
    /// The provider's id, when it gives one.
    pub id: Option<String>,
    /// The name; empty where it cannot be read.
    pub name: String,
    /// The arguments, as text. Of a flawed block it is the block as it stood, of a flawed native
    /// call what arrived and an ellipsis; neither is JSON.
    pub arguments: String,
    /// Where it stood.
    pub origin: Origin,
    /// What is wrong with the block it stood in, or that the reply ended inside the call; such a
    /// call has no arguments to believe.
    pub flaw: Option<&'static str>,
}

impl RawCall {
    /// A native call.
    pub fn native(
        id: Option<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        let (name, arguments) = (name.into(), arguments.into());
        Self { id, name, arguments, ..Self::default() }
    }

    /// Reads the arguments; those of a flawed block are malformed, whatever they look like.
    pub fn read(&self) -> Arguments {
        match self.flaw {
            Some(why) => Arguments::Malformed { raw: self.arguments.clone(), why: why.to_owned() },
            None => Arguments::read(&self.arguments),
        }
    }
}

/// Argument text as a JSON value: in place where it is JSON. All else is told as a JSON string;
/// a string always stands for argument text.
pub fn argument_value(text: &str) -> String {
    let in_place = text.trim() == text
        && !text.starts_with('"')
        // `null` says that there are none.
        && text != "null"
        && serde_json::from_str::<&RawValue>(text).is_ok();
    if in_place { text.to_owned() } else { Value::from(text).to_string() }
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
    /// Where in the reply it stood.
    pub origin: Origin,
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
    /// Reads the text; never guesses and never repairs.
    pub fn read(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Blank;
        }
        match json::read(text) {
            Ok(value) => Self::Json(value),
            Err(error) => Self::Malformed { raw: text.to_owned(), why: error.to_string() },
        }
    }

    /// What tells them apart: of JSON its canonical digest, as validation takes it; else that of
    /// the text. A text that reads as JSON has the digest of that JSON, wherever it stood.
    pub fn digest(&self) -> Digest {
        let text = match self {
            Self::Json(value) => return canon::content_digest("args", value),
            Self::Blank => "",
            Self::Malformed { raw, .. } => match Self::read(raw) {
                Self::Json(value) => return canon::content_digest("args", &value),
                Self::Blank | Self::Malformed { .. } => raw,
            },
        };
        Digest::of("argument text", text.as_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blank_text_is_blank() {
        let check = |text: &str, expected: &str| {
            let found = match Arguments::read(text) {
                Arguments::Json(value) => value.to_string(),
                Arguments::Blank => "blank".to_owned(),
                Arguments::Malformed { raw, .. } => format!("malformed {raw}"),
            };
            assert_eq!(found, expected, "{text:?}");
        };
        check("", "blank");
        check(" \r\n\t", "blank");
        check("null", "null");
        check("{}", "{}");
        check("\"{\\\"a\\\":1}\"", "\"{\\\"a\\\":1}\"");
        check("{\"a\":1,\"a\":2}", "malformed {\"a\":1,\"a\":2}");
        check("{\"dry_run\": tru", "malformed {\"dry_run\": tru");
    }

    #[test]
    fn only_json_stands_in_place() {
        let check = |text: &str, expected: &str| assert_eq!(argument_value(text), expected);
        check(r#"{"a": 1, "a": 2}"#, r#"{"a": 1, "a": 2}"#);
        check(" {}", "\" {}\"");
        check("\"a\"", r#""\"a\"""#);
        check("{\"a\"", r#""{\"a\"""#);
        check("null", "\"null\"");
        check("", "\"\"");
    }

    #[test]
    fn a_flawed_block_has_no_arguments() {
        let call = RawCall { flaw: Some("cut"), ..RawCall::native(None, "a", "{}") };
        assert!(matches!(call.read(), Arguments::Malformed { why, .. } if why == "cut"));
    }
}
