//! Gemini generateContent: a body, or a row of bodies each of which adds parts. A call is always
//! whole.

use super::error::{Fault, Trouble};
use super::fields::{Fields, failure};
use super::fold::{Extent, foreign, told};
use super::parts::{Call, Ending, Parts, What};
use crate::runtime::dialect::Reply;

/// Stop reasons that have another name here.
pub(super) const FINISH: &[(&str, &str)] = &[("STOP", "stop"), ("MAX_TOKENS", "length")];

/// Stop reasons that tell of a call which nobody could read.
const LOST: [&str; 3] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_TOOL_CALL"];

/// A reply while it arrives.
#[derive(Debug, Clone)]
pub(super) struct Gemini {
    parts: Parts,
    finish: Option<String>,
    begun: bool,
}

impl Gemini {
    pub(super) fn new(most: usize) -> Self {
        Self { parts: Parts::new(most), finish: None, begun: false }
    }

    /// Whether anything says that the reply is at its end.
    pub(super) fn ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether anything of a reply came at all.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// Reads one body.
    pub(super) fn read(&mut self, body: &Fields<'_>, extent: Extent) -> Result<(), Fault> {
        if let Some(said) = failure(body) {
            return Err(Fault::provider(&said));
        }
        let candidates = body.list("candidates");
        let Some(candidate) = candidates.into_iter().find_map(Fields::of) else {
            let feedback = body.object("promptFeedback");
            if let Some(why) = feedback.and_then(|feedback| feedback.word("blockReason")) {
                return Err(Fault::provider(&format!("the prompt was blocked: {why}")));
            }
            return match extent {
                Extent::Piece => Ok(()),
                Extent::Whole => Err(foreign(body, "candidates")),
            };
        };
        self.begun = true;
        let candidate = candidate.plain()?;
        let content = candidate.object("content").unwrap_or_default().plain()?;
        for part in content.list("parts") {
            self.part(&Fields::of(part).unwrap_or_default().plain()?)?;
        }
        let either = |key, other| candidate.word(key).or_else(|| candidate.word(other));
        if let Some(finish) = either("finishReason", "finish_reason") {
            if LOST.contains(&finish.as_str()) {
                let said = either("finishMessage", "finish_message").unwrap_or_default();
                let message = format!("the model wrote a call that is none: {finish} {said}");
                return Err(Fault::new(Trouble::Model, super::error::shown(&message)));
            }
            self.finish = Some(finish);
        }
        Ok(())
    }

    fn part(&mut self, part: &Fields<'_>) -> Result<(), Fault> {
        if let Some(text) = part.text("text") {
            match part.is_true("thought") {
                true => self.parts.think(&text)?,
                false => self.parts.say(&text)?,
            }
        }
        let called = part.object("functionCall").or_else(|| part.object("function_call"));
        let Some(called) = called else { return Ok(()) };
        let piecewise = called.is_true("willContinue") || called.get("partialArgs").is_some();
        let named = called.word("name").is_some();
        if piecewise && !named {
            // What follows belongs to a call that is refused already.
            return Ok(());
        }
        let mut call = Call::begin(called.word("id"), &called, "args");
        call.sealed = true;
        if piecewise {
            call.refuse();
        }
        self.parts.add(None, None, What::Call(Box::new(call))).map(|_| ())
    }

    pub(super) fn reply(self, early: bool) -> Reply {
        let finish = self.finish.map(|word| told(&word, FINISH));
        let ending = if early { Ending::Early } else { Ending::of(finish.as_deref()) };
        self.parts.reply(finish, ending)
    }
}
