//! How a provider spells it: a view and a transcript become one payload; a reply becomes proposed
//! calls. A call is only ever taken from where the active dialect allows it.

pub mod anthropic;
pub mod describe;
pub mod openai;
pub mod payload;
pub mod proposed;
pub mod text;
pub mod transcript;

pub use describe::Rendering;
pub use payload::{Payload, ToolList};
pub use proposed::{Arguments, Proposed, RawCall, Reply};
pub use transcript::{Message, Transcript};

use super::view::View;

/// The supported spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI chat completions.
    OpenAiChat,
    /// Anthropic messages.
    AnthropicMessages,
    /// Tagged JSON inside plain text.
    Text,
}

impl Dialect {
    /// The name as written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::AnthropicMessages => "anthropic_messages",
            Self::Text => "text",
        }
    }

    /// All of them.
    pub const ALL: [Self; 3] = [Self::OpenAiChat, Self::AnthropicMessages, Self::Text];

    /// Renders the tools of a view, once per view; requests share the text.
    pub fn tools(self, view: &View, rendering: Rendering) -> ToolList {
        let text = match self {
            Self::OpenAiChat => openai::tools(view, rendering),
            Self::AnthropicMessages => anthropic::tools(view, rendering),
            Self::Text => text::tools(view, rendering),
        };
        ToolList::new(text)
    }

    /// Renders one request.
    pub fn request(self, tools: &ToolList, transcript: &Transcript) -> Payload {
        let messages = match self {
            Self::OpenAiChat => openai::messages(transcript),
            Self::AnthropicMessages => anthropic::messages(transcript),
            Self::Text => text::messages(transcript),
        };
        Payload::new(self, tools, messages)
    }

    /// Spells a reply as a model under this dialect would: the text protocol has no native calls.
    pub fn spell(self, reply: Reply) -> Reply {
        match self {
            Self::OpenAiChat | Self::AnthropicMessages => reply,
            Self::Text if reply.calls.is_empty() => reply,
            Self::Text => {
                let text = Some(text::spell(reply.text.as_deref(), &reply.calls));
                Reply { text, calls: Vec::new(), ..reply }
            }
        }
    }

    /// Takes the calls out of a reply, in model order, and what is left as text.
    pub fn parse(self, reply: Reply) -> (Option<String>, Vec<RawCall>) {
        match self {
            Self::OpenAiChat | Self::AnthropicMessages => (reply.text, reply.calls),
            Self::Text => text::parse(reply.text.as_deref().unwrap_or_default()),
        }
    }
}
