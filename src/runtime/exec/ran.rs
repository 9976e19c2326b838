//! Stage 5: what an execution left behind.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::digest::Digest;
use crate::base::media;
use crate::base::secret::Secret;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::tool::id::ToolId;

/// A result, or a part of one, that is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// What kind of bytes, as far as is known.
    pub media_type: String,
    /// The bytes, or the first of them.
    pub bytes: Vec<u8>,
    /// How many bytes there were.
    pub total: u64,
}

impl Attachment {
    /// All bytes of a kind.
    pub fn new(media_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        let total = bytes.len() as u64;
        Self { media_type: media_type.into(), bytes, total }
    }
}

/// The raw result of one execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Text output, raw.
    pub output: String,
    /// What it gave beside text, in order.
    pub attachments: Vec<Attachment>,
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
    /// What was there before, where it changed a file.
    pub before: Option<Box<PreImage>>,
    /// What it changed in a file, as a unified diff.
    pub diff: Option<String>,
    /// Whether a service did not take the credential, and so did nothing.
    pub unauthorized: bool,
    /// Values of credentials that were obtained for it.
    pub obtained: Vec<Secret>,
}

/// What a file held before a call changed it, for an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreImage {
    /// The file, as the call named it.
    pub path: String,
    /// Its text; `None` where there was no file.
    pub before: Option<String>,
    /// What the call left there, as an operand's digest; `None` where it left no file.
    pub left: Option<Digest>,
}

impl Ran {
    /// A success.
    pub fn ok(output: impl Into<String>, effects: ObservedEffects) -> Self {
        Self {
            output: output.into(),
            attachments: Vec::new(),
            structured: None,
            fault: None,
            effects,
            command: None,
            activates: Vec::new(),
            before: None,
            diff: None,
            unauthorized: false,
            obtained: Vec::new(),
        }
    }

    /// A success with bytes of any kind: text where they are text, else attached.
    pub fn of_bytes(bytes: Vec<u8>, effects: ObservedEffects) -> Self {
        match media::binary(&bytes, false) {
            None => Self::ok(String::from_utf8_lossy(&bytes), effects),
            Some(media_type) => {
                let attachments = vec![Attachment::new(media_type, bytes)];
                Self { attachments, ..Self::ok("", effects) }
            }
        }
    }

    /// A failure with a stable code.
    pub fn failed(blame: Blame, code: &str, message: impl Into<String>) -> Self {
        Self {
            fault: Some(Fault { blame, code: code.to_owned(), message: message.into() }),
            ..Self::ok("", ObservedEffects { method: "workspace".to_owned(), ..Default::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_attached() {
        let effects = ObservedEffects::default;
        assert_eq!(Ran::of_bytes(b"text".to_vec(), effects()), Ran::ok("text", effects()));
        let ran = Ran::of_bytes(b"\x89PNG\r\n\x1a\n".to_vec(), effects());
        assert_eq!(ran.output, "");
        assert_eq!(ran.attachments, [Attachment::new("image/png", b"\x89PNG\r\n\x1a\n".to_vec())]);
    }
}
