//! The messages the model sees. A provider would accept it at all times: every call has exactly
//! one result, right after its assistant message and in its order.

use std::sync::Arc;

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From the user.
    User {
        /// The text.
        text: Arc<str>,
    },
    /// From the model.
    Assistant {
        /// The text, possibly empty.
        text: Arc<str>,
        /// The calls, in model order.
        calls: Vec<AssistantCall>,
    },
    /// The result of one call.
    Tool {
        /// The call.
        call: Arc<str>,
        /// What the model is shown.
        text: Arc<str>,
        /// Whether it is anything but a success.
        is_error: bool,
    },
}

/// A call inside an assistant message.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantCall {
    /// Its id.
    pub call: Arc<str>,
    /// The name as spelled.
    pub name: String,
    /// The arguments as text: JSON where they were JSON, else as they came.
    pub arguments: String,
}

/// All messages so far.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    messages: Vec<Message>,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Appends one message.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// The text of the last assistant message that made no call.
    pub fn final_text(&self) -> Option<&str> {
        match self.messages.last() {
            Some(Message::Assistant { text, calls }) if calls.is_empty() => Some(text),
            _ => None,
        }
    }
}
