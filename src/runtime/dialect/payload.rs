//! One rendered request.

use std::sync::Arc;

use super::text::TextRules;
use super::{Dialect, Reply};
use crate::base::digest::{Digest, Hasher};
use crate::journal::Blobs;

/// The rendered tools of a view, shared by all its requests.
#[derive(Debug, Clone)]
pub struct ToolList {
    /// The text: a JSON array, or instructions for the text protocol.
    pub text: Arc<str>,
    /// Its blob name.
    pub digest: Digest,
    /// Which text protocols it was written for.
    pub rules: TextRules,
}

impl ToolList {
    /// Names a text, under the default rules.
    pub fn new(text: String) -> Self {
        Self::under(TextRules::default(), text)
    }

    /// Names a text that was written for these rules.
    pub fn under(rules: TextRules, text: String) -> Self {
        let text: Arc<str> = text.into();
        Self { digest: Blobs::name(&text), text, rules }
    }
}

/// What goes to a provider. It holds no descriptor: a provider sees what a model would see.
#[derive(Debug, Clone)]
pub struct Payload {
    /// How it is spelled.
    pub dialect: Dialect,
    /// The tools.
    pub tools: ToolList,
    /// The messages, a JSON array.
    pub messages: Arc<str>,
    /// Blob name of the messages.
    pub messages_digest: Digest,
    /// Digest of the whole.
    pub digest: Digest,
}

impl Payload {
    /// Puts a request together.
    pub fn new(dialect: Dialect, tools: &ToolList, messages: String) -> Self {
        let messages: Arc<str> = messages.into();
        let messages_digest = Blobs::name(&messages);
        let digest = Hasher::new("payload")
            .field(dialect.name().as_bytes())
            .field(tools.digest.as_bytes())
            .field(messages_digest.as_bytes())
            .finish();
        Self { dialect, tools: tools.clone(), messages, messages_digest, digest }
    }

    /// Spells a reply as a model that read this request would.
    ///
    /// # Errors
    /// As [`Dialect::spell`].
    pub fn spell(&self, reply: Reply) -> Result<Reply, String> {
        self.dialect.spell(reply, self.tools.rules)
    }

    /// Estimated tokens: one for every four bytes.
    pub fn tokens(&self) -> u64 {
        estimate(self.tools.text.len() + self.messages.len())
    }

    /// Estimated tokens of the tool list alone.
    pub fn view_tokens(&self) -> u64 {
        estimate(self.tools.text.len())
    }
}

/// One token for every four bytes, rounded up.
pub fn estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
