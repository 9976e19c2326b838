//! OpenAI chat completions, as many servers speak it: whole, and in deltas whose calls are named
//! by index, by id, by both or by neither.

use super::error::Fault;
use super::fields::{Fields, Pieces, failure, items, text};
use super::fold::{Extent, foreign, told};
use super::parts::{Call, Ending, Parts, What};
use crate::runtime::dialect::Reply;

/// Stop reasons that have another name here.
pub(super) const FINISH: &[(&str, &str)] = &[("function_call", "tool_calls")];

/// A reply while it arrives.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    parts: Parts,
    finish: Option<String>,
    /// Which choice is read: the first one that came.
    choice: Option<u64>,
    /// The call that was added to last.
    last: Option<usize>,
}

/// A piece of a call.
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    /// The beginning of a call, as this piece alone would make it.
    alone: Call,
    arguments: Pieces,
}

impl Chat {
    pub(super) fn new(most: usize) -> Self {
        Self { parts: Parts::new(most), finish: None, choice: None, last: None }
    }

    /// Whether anything says that the reply is at its end.
    pub(super) fn ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether anything of a reply came at all.
    pub(super) fn begun(&self) -> bool {
        self.choice.is_some()
    }

    /// Reads a chunk, or a whole body.
    pub(super) fn read(&mut self, body: &Fields<'_>, extent: Extent) -> Result<(), Fault> {
        let choices = body.list("choices");
        if let Some(said) = failure(body) {
            return Err(Fault::provider(&said));
        }
        if choices.is_empty() && extent == Extent::Whole {
            return Err(foreign(body, "choices"));
        }
        for choice in choices.into_iter().filter_map(Fields::of) {
            let choice = choice.plain()?;
            let index = choice.number("index").unwrap_or_default();
            if *self.choice.get_or_insert(index) == index {
                self.choice(&choice, extent)?;
            }
            if extent == Extent::Whole {
                break;
            }
        }
        match self.begun() || extent == Extent::Piece {
            true => Ok(()),
            false => Err(foreign(body, "choices")),
        }
    }

    fn choice(&mut self, choice: &Fields<'_>, extent: Extent) -> Result<(), Fault> {
        if let Some(said) = failure(choice) {
            return Err(Fault::provider(&said));
        }
        // Some servers answer the request for a stream with one event that holds the whole.
        let one = choice.object("message").filter(|_| {
            extent == Extent::Whole || self.parts.list().is_empty() && choice.get("delta").is_none()
        });
        match (one, choice.object("delta")) {
            (Some(message), _) => self.message(&message.plain()?, Extent::Whole)?,
            (None, Some(delta)) => self.message(&delta.plain()?, Extent::Piece)?,
            (None, None) => {}
        }
        if let Some(finish) = choice.word("finish_reason") {
            if finish == "error" {
                return Err(Fault::provider("it ends the reply with an error and no reason"));
            }
            self.finish = Some(finish);
        }
        Ok(())
    }

    fn message(&mut self, message: &Fields<'_>, extent: Extent) -> Result<(), Fault> {
        // Servers that know both names send the same under both.
        let thought = ["reasoning_content", "reasoning"].into_iter();
        if let Some(thought) = thought.filter_map(|key| message.text(key)).find(|t| !t.is_empty()) {
            self.parts.think(&thought)?;
        }
        if let Some(content) = message.get("content") {
            match text(content) {
                Some(said) => self.parts.say(&said)?,
                None => {
                    for part in items(content).into_iter().filter_map(Fields::of) {
                        self.content(&part.plain()?)?;
                    }
                }
            }
        }
        if let Some(refusal) = message.text("refusal") {
            self.parts.say(&refusal)?;
        }
        let calls = message.list("tool_calls");
        let several = calls.len() > 1;
        let calls = calls.into_iter().filter(|call| call.get() != "null");
        for (position, call) in calls.enumerate() {
            // A list that does not number its calls numbers them by their places.
            let position = several.then_some(position as u64);
            let piece = Piece::of(call, position);
            self.piece(piece, extent)?;
        }
        if let Some(call) = message.get("function_call") {
            self.piece(Piece::of(call, None), extent)?;
        }
        Ok(())
    }

    fn content(&mut self, part: &Fields<'_>) -> Result<(), Fault> {
        let inner = part.list("thinking").into_iter().filter_map(Fields::of);
        for thought in inner.filter_map(|inner| inner.text("text")).chain(part.text("thinking")) {
            self.parts.think(&thought)?;
        }
        let said = part.text("text").or_else(|| part.text("refusal"));
        said.map_or(Ok(()), |said| self.parts.say(&said))
    }

    fn piece(&mut self, piece: Piece, extent: Extent) -> Result<(), Fault> {
        let known = match extent {
            Extent::Whole => None,
            Extent::Piece => self.place(&piece),
        };
        let at = match known {
            Some(at) => at,
            None => {
                // Whatever is at its end when the next call begins stays as it is.
                self.parts.seal(|call, _| call.is_closed());
                let what = What::Call(Box::new(piece.alone));
                let at = self.parts.add(piece.index, None, what)?;
                self.last = Some(at);
                return Ok(());
            }
        };
        self.last = Some(at);
        if let Some(call) = self.parts.call(at).filter(|call| !call.sealed) {
            call.id = call.id.take().or(piece.id);
            // A name comes in pieces, or whole with every piece.
            if call.name != piece.alone.name {
                call.name.push(&piece.alone.name);
            }
            call.push(&piece.arguments);
            call.inherit(&piece.alone);
        }
        Ok(())
    }

    /// The call that a piece belongs to; `None` where it begins another one.
    fn place(&self, piece: &Piece) -> Option<usize> {
        let at_index = match piece.index {
            Some(index) => {
                self.parts.calls().rfind(|(_, part, _)| part.index == Some(index)).map(|one| one.0)
            }
            None => self.last,
        };
        let call = |at: usize| self.parts.calls().find(|one| one.0 == at).map(|one| one.2);
        let named = !piece.alone.name.is_empty();
        let found = match &piece.id {
            None => at_index,
            Some(id) => {
                let same = self.parts.calls().rfind(|one| one.2.id.as_ref() == Some(id));
                match same.map(|one| one.0) {
                    // Two calls may bear one id: the second begins at an index of its own.
                    Some(_) if named && piece.index.is_some() && at_index.is_none() => None,
                    Some(at) => Some(at),
                    // An id may come late, to a call that has none.
                    None => at_index.filter(|at| {
                        call(*at).is_some_and(|call| {
                            let same = call.name == piece.alone.name && call.is_blank();
                            call.id.is_none() && (!named || call.name.is_empty() || same)
                        })
                    }),
                }
            }
        };
        found.filter(|at| {
            call(*at).is_some_and(|call| {
                let blank = piece.arguments.is_blank();
                let another = named && call.is_closed();
                let another = another && (!blank || call.name != piece.alone.name);
                !another && (blank || !call.sealed)
            })
        })
    }

    pub(super) fn reply(self, early: bool) -> Reply {
        let finish = self.finish.map(|word| told(&word, FINISH));
        let ending = if early { Ending::Early } else { Ending::of(finish.as_deref()) };
        self.parts.reply(finish, ending)
    }
}

impl Piece {
    fn of(source: &serde_json::value::RawValue, position: Option<u64>) -> Self {
        let Some(entry) = Fields::of(source) else {
            let arguments = Pieces::from(source.get());
            let mut alone = Call::default();
            alone.push(&arguments);
            return Self { index: position, id: None, alone, arguments };
        };
        let (inner, arguments) = match (entry.object("function"), entry.object("custom")) {
            (Some(function), _) => (Some(function), "arguments"),
            (None, Some(custom)) => (Some(custom), "input"),
            // Some servers leave the inner object out.
            (None, None) => (None, "arguments"),
        };
        let fields = inner.as_ref().unwrap_or(&entry);
        let id = entry.word("id").or_else(|| fields.word("id"));
        let mut alone = Call::begin(id.clone(), fields, arguments);
        alone.doubt(&entry);
        let index = entry.number("index").or(position);
        Self { index, id, alone, arguments: fields.argument(arguments).unwrap_or_default() }
    }
}
