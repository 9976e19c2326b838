//! How a provider spells it: a view and a transcript become one payload; a reply becomes proposed
//! calls. A call is only ever taken from where the active dialect allows it.

pub mod anthropic;
pub mod describe;
pub mod gemini;
pub mod json;
pub mod openai;
pub mod payload;
pub mod proposed;
pub mod responses;
pub mod text;
pub mod transcript;
pub mod wire;

pub use describe::Rendering;
pub use payload::{Payload, ToolList};
pub use proposed::{Arguments, Origin, Proposed, RawCall, Reply};
pub use text::TextRules;
pub use transcript::{Message, Transcript};
pub use wire::{Assembler, Trouble, WireError, WireLimits};

use super::view::View;

/// The supported spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI chat completions.
    OpenAiChat,
    /// OpenAI responses.
    OpenAiResponses,
    /// Anthropic messages.
    AnthropicMessages,
    /// Gemini generateContent.
    Gemini,
    /// Calls inside plain text.
    Text,
}

impl Dialect {
    /// The name as written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::AnthropicMessages => "anthropic_messages",
            Self::Gemini => "gemini",
            Self::Text => "text",
        }
    }

    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AnthropicMessages,
        Self::Gemini,
        Self::Text,
    ];

    /// Renders the tools of a view, once per view; requests share the text. The rules count for
    /// the text protocol alone.
    pub fn tools(self, view: &View, rendering: Rendering, rules: TextRules) -> ToolList {
        let text = match self {
            Self::OpenAiChat => openai::tools(view, rendering),
            Self::OpenAiResponses => responses::tools(view, rendering),
            Self::AnthropicMessages => anthropic::tools(view, rendering),
            Self::Gemini => gemini::tools(view, rendering),
            Self::Text => text::tools(view, rendering, rules),
        };
        ToolList::under(rules, text)
    }

    /// Renders one request.
    pub fn request(self, tools: &ToolList, transcript: &Transcript) -> Payload {
        let messages = match self {
            Self::OpenAiChat => openai::messages(transcript),
            Self::OpenAiResponses => responses::messages(transcript),
            Self::AnthropicMessages => anthropic::messages(transcript),
            Self::Gemini => gemini::messages(transcript),
            Self::Text => text::messages(transcript, tools.rules),
        };
        Payload::new(self, tools, messages)
    }

    /// Spells a reply as a model under this dialect would: the text protocol has no native calls,
    /// and Gemini's calls have no ids.
    ///
    /// # Errors
    /// When no active text protocol can spell the calls.
    pub fn spell(self, mut reply: Reply, rules: TextRules) -> Result<Reply, String> {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::AnthropicMessages => Ok(reply),
            Self::Gemini => {
                reply.calls.iter_mut().for_each(|call| call.id = None);
                Ok(reply)
            }
            Self::Text if reply.calls.is_empty() => Ok(reply),
            Self::Text => {
                let text = text::spell(reply.text.as_deref(), &reply.calls, rules);
                let why = "no active text protocol can spell the reply's calls";
                Ok(Reply { text: Some(text.ok_or(why)?), calls: Vec::new(), ..reply })
            }
        }
    }

    /// Takes the calls out of a reply, in model order, and what is left as text. Reasoning is
    /// never looked at; native dialects never look at text, and the text protocol never at
    /// native calls.
    pub fn parse(self, reply: &Reply, rules: TextRules) -> (Option<String>, Vec<RawCall>) {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::AnthropicMessages | Self::Gemini => {
                (reply.text.clone(), reply.calls.clone())
            }
            Self::Text => text::parse(reply.text.as_deref().unwrap_or_default(), rules),
        }
    }
}
