//! One reader for the whole and for its pieces, whatever the dialect.

use serde_json::value::RawValue;

use super::chat::{self, Chat};
use super::error::{Fault, Trouble, WireError, shown};
use super::fields::{Fields, explained, failure};
use super::gemini::{self, Gemini};
use super::messages::{self, Messages};
use super::responses::{self, Responses};
use crate::runtime::dialect::{Dialect, Reply};

/// Whether what is read should be a reply in itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Piece,
}

/// A reply while it arrives.
#[derive(Debug, Clone)]
pub(super) enum Fold {
    Chat(Chat),
    Responses(Responses),
    Messages(Messages),
    Gemini(Gemini),
}

impl Fold {
    /// The text protocol stands in the messages of chat completions.
    pub(super) fn new(dialect: Dialect, most: usize) -> Self {
        match dialect {
            Dialect::OpenAiChat | Dialect::Text => Self::Chat(Chat::new(most)),
            Dialect::OpenAiResponses => Self::Responses(Responses::new(most)),
            Dialect::AnthropicMessages => Self::Messages(Messages::new(most)),
            Dialect::Gemini => Self::Gemini(Gemini::new(most)),
        }
    }

    /// Reads one event of a stream.
    pub(super) fn event(&mut self, name: &str, data: &str) -> Result<(), Fault> {
        let source: &RawValue = serde_json::from_str(data).map_err(|_| {
            let message = format!("an event of the stream is no JSON: {}", shown(data));
            Fault::new(Trouble::Unreadable, message)
        })?;
        let Some(event) = Fields::of(source) else {
            let message = format!("an event of the stream is no object: {}", shown(data));
            return Err(Fault::new(Trouble::Foreign, message));
        };
        let event = event.plain()?;
        if name == "error" {
            let said = failure(&event).filter(|_| event.get("error").is_some());
            let said = said.or_else(|| explained(&event));
            return Err(Fault::provider(said.as_deref().unwrap_or(data)));
        }
        match self {
            Self::Chat(chat) => chat.read(&event, Extent::Piece),
            Self::Responses(responses) => responses.event(name, &event),
            Self::Messages(messages) => messages.event(name, &event),
            Self::Gemini(gemini) => gemini.read(&event, Extent::Piece),
        }
    }

    /// Reads a whole body.
    pub(super) fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let unreadable = |message: String| Fault::new(Trouble::Unreadable, message);
        let text = std::str::from_utf8(bytes).map_err(|error| match error.error_len() {
            None => Fault::new(Trouble::Cut, "the body ends inside a character"),
            Some(_) => unreadable("the body is no UTF-8".to_owned()),
        })?;
        let text = text.trim_start_matches('\u{FEFF}').trim();
        if text.is_empty() {
            return Err(unreadable("the body is empty".to_owned()));
        }
        if text.starts_with('<') {
            return Err(unreadable(format!("the body is a page and no JSON: {}", shown(text))));
        }
        if let (Self::Gemini(gemini), Some(rest)) = (&mut *self, text.strip_prefix('[')) {
            return row(gemini, rest);
        }
        let source: &RawValue = serde_json::from_str(text).map_err(|error| broken(&error, text))?;
        let Some(body) = Fields::of(source) else {
            let message = format!("the body is JSON and no object: {}", shown(text));
            return Err(Fault::new(Trouble::Foreign, message));
        };
        let body = body.plain()?;
        match self {
            Self::Chat(chat) => chat.read(&body, Extent::Whole),
            Self::Responses(responses) => responses.read(&body, None),
            Self::Messages(messages) => messages.read(&body),
            Self::Gemini(gemini) => gemini.read(&body, Extent::Whole),
        }
    }

    /// Whether what came says that it is at its end.
    pub(super) fn ended(&self) -> bool {
        match self {
            Self::Chat(chat) => chat.ended(),
            Self::Responses(responses) => responses.ended(),
            Self::Messages(messages) => messages.ended(),
            Self::Gemini(gemini) => gemini.ended(),
        }
    }

    /// Whether nothing more can belong to the reply.
    pub(super) fn over(&self) -> bool {
        match self {
            Self::Responses(responses) => responses.ended(),
            Self::Messages(messages) => messages.stopped,
            // What counts the tokens comes after the end.
            Self::Chat(_) | Self::Gemini(_) => false,
        }
    }

    /// Whether anything of a reply came.
    pub(super) fn begun(&self) -> bool {
        match self {
            Self::Chat(chat) => chat.begun(),
            Self::Responses(responses) => responses.begun(),
            Self::Messages(messages) => messages.begun(),
            Self::Gemini(gemini) => gemini.begun(),
        }
    }

    /// The reply, or the fault with what arrived.
    pub(super) fn close(self, fault: Option<Fault>) -> Result<Reply, WireError> {
        let early = fault.is_some();
        let reply = match self {
            Self::Chat(chat) => chat.reply(early),
            Self::Responses(responses) => responses.reply(early),
            Self::Messages(messages) => messages.reply(early),
            Self::Gemini(gemini) => gemini.reply(early),
        };
        match fault {
            Some(fault) => Err(fault.keeping(reply)),
            None => Ok(reply),
        }
    }
}

/// Gemini's other way to stream: a list of bodies, read one by one, so that what came before a
/// break is kept.
fn row(gemini: &mut Gemini, mut rest: &str) -> Result<(), Fault> {
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(behind) = rest.strip_prefix(']') {
            let behind = behind.trim();
            if !behind.is_empty() {
                let message = format!("there is something behind the body: {}", shown(behind));
                return Err(Fault::new(Trouble::Unreadable, message));
            }
            return match gemini.ended() {
                true => Ok(()),
                false => Err(Fault::new(Trouble::Cut, UNFINISHED)),
            };
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let body = match values.next() {
            Some(Ok(source)) => Fields::of(source).unwrap_or_default().plain()?,
            Some(Err(error)) => return Err(broken(&error, rest)),
            None => return Err(Fault::new(Trouble::Cut, UNFINISHED)),
        };
        rest = &rest[values.byte_offset()..];
        gemini.read(&body, Extent::Piece)?;
    }
}

/// What is wrong with a stream that only breaks off.
pub(super) const UNFINISHED: &str = "the stream ended before it said that the reply is at its end";

fn broken(error: &serde_json::Error, text: &str) -> Fault {
    match error.is_eof() {
        true => Fault::new(Trouble::Cut, "the body ends inside its JSON"),
        false => {
            let message = format!("the body is no JSON ({error}): {}", shown(text));
            Fault::new(Trouble::Unreadable, message)
        }
    }
}

/// JSON that is no reply.
pub(super) fn foreign(body: &Fields<'_>, member: &str) -> Fault {
    let said = explained(body).map(|said| format!("; it says: {}", shown(&said)));
    let message = format!("the body is no reply: it has no `{member}`{}", said.unwrap_or_default());
    Fault::new(Trouble::Foreign, message)
}

/// A stop reason as a journal tells it: by one word in all dialects where there is one.
pub(super) fn told(word: &str, names: &[(&str, &str)]) -> String {
    let name = names.iter().find(|(wire, _)| *wire == word);
    name.map_or(word, |(_, name)| name).to_owned()
}

/// A stop reason as a dialect spells it.
pub(super) fn spelled(dialect: Dialect, finish: &str) -> String {
    let names = match dialect {
        // `function_call` is understood and not spoken.
        Dialect::OpenAiChat | Dialect::Text => &chat::FINISH[..0],
        Dialect::OpenAiResponses => responses::FINISH,
        Dialect::AnthropicMessages => messages::FINISH,
        Dialect::Gemini => gemini::FINISH,
    };
    let name = names.iter().find(|(_, name)| *name == finish);
    name.map_or(finish, |(wire, _)| wire).to_owned()
}
