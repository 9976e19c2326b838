//! Anthropic messages: blocks, whole or as a start, deltas and a stop.

use super::error::Fault;
use super::fields::{Fields, failure};
use super::fold::{foreign, told};
use super::parts::{Call, Ending, Parts, What};
use crate::runtime::dialect::Reply;

/// Stop reasons that have another name here.
pub(super) const FINISH: &[(&str, &str)] =
    &[("end_turn", "stop"), ("tool_use", "tool_calls"), ("max_tokens", "length")];

/// A reply while it arrives.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    parts: Parts,
    finish: Option<String>,
    begun: bool,
    /// Whether the last event came.
    pub(super) stopped: bool,
}

impl Messages {
    pub(super) fn new(most: usize) -> Self {
        Self { parts: Parts::new(most), finish: None, begun: false, stopped: false }
    }

    /// Whether anything says that the reply is at its end.
    pub(super) fn ended(&self) -> bool {
        self.stopped || self.finish.is_some()
    }

    /// Whether anything of a reply came at all.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// Reads an event whose name stands inside it or beside it.
    pub(super) fn event(&mut self, name: &str, event: &Fields<'_>) -> Result<(), Fault> {
        let kind = event.word("type").unwrap_or_else(|| name.to_owned());
        if kind == "error" || failure(event).is_some() {
            let said = failure(event).or_else(|| super::fields::explained(event));
            return Err(Fault::provider(said.as_deref().unwrap_or("it does not say why")));
        }
        match kind.as_str() {
            "message_start" => self.begun = true,
            "message" => self.read(event)?,
            "content_block_start" => {
                self.begun = true;
                let block = event.object("content_block").unwrap_or_default();
                self.start(event.number("index"), &block)?;
            }
            "content_block_delta" => {
                self.begun = true;
                let delta = event.object("delta").unwrap_or_default().plain()?;
                self.delta(event.number("index"), &delta)?;
            }
            "content_block_stop" => {
                if let Some(part) = self.at(event.number("index")).and_then(|at| self.parts.get(at))
                {
                    part.stopped = true;
                }
            }
            "message_delta" => {
                self.begun = true;
                let delta = event.object("delta").unwrap_or_default();
                self.finish = delta.word("stop_reason").or(self.finish.take());
            }
            "message_stop" => self.stopped = true,
            _ => {}
        }
        Ok(())
    }

    /// Reads a whole body.
    pub(super) fn read(&mut self, body: &Fields<'_>) -> Result<(), Fault> {
        if let Some(said) = failure(body) {
            return Err(Fault::provider(&said));
        }
        if body.get("content").is_none() {
            return Err(foreign(body, "content"));
        }
        self.begun = true;
        for block in body.list("content") {
            let block = Fields::of(block).unwrap_or_default();
            let at = self.start(None, &block)?;
            if let Some(part) = self.parts.get(at) {
                part.stopped = true;
            }
        }
        // Content that is text, as requests may spell it.
        if let Some(text) = body.text("content") {
            self.parts.say(&text)?;
        }
        self.finish = body.word("stop_reason");
        self.stopped = true;
        Ok(())
    }

    fn start(&mut self, index: Option<u64>, block: &Fields<'_>) -> Result<usize, Fault> {
        // A limit may stop a block and cut it all the same; only what comes next tells.
        self.parts.seal(|_, stopped| stopped);
        let what = match block.word("type").unwrap_or_default().as_str() {
            "text" => What::Text(block.text("text").unwrap_or_default()),
            "thinking" => What::Thought(block.text("thinking").unwrap_or_default()),
            "tool_use" => {
                let call = Call::begin(block.word("id"), block, "input");
                What::Call(Box::new(call.until_pieces()))
            }
            _ => What::Other,
        };
        self.parts.add(index, None, what)
    }

    fn delta(&mut self, index: Option<u64>, delta: &Fields<'_>) -> Result<(), Fault> {
        let json = delta.text("partial_json").filter(|json| !json.is_empty());
        let Some(at) = self.at(index) else {
            return match (json, delta.text("text")) {
                // Arguments of a block that never began are kept; nobody knows whose they are.
                (Some(json), _) => {
                    let mut call = Call::default();
                    call.push(&json);
                    self.parts.add(index, None, What::Call(Box::new(call))).map(|_| ())
                }
                (None, Some(text)) => self.parts.add(index, None, What::Text(text)).map(|_| ()),
                (None, None) => Ok(()),
            };
        };
        match self.parts.get(at).map(|part| &mut part.what) {
            Some(What::Text(text)) => {
                delta.text("text").iter().for_each(|piece| text.push(piece));
            }
            Some(What::Thought(text)) => {
                delta.text("thinking").iter().for_each(|piece| text.push(piece));
            }
            Some(What::Call(call)) if !call.sealed => {
                json.iter().for_each(|piece| call.push(piece));
            }
            Some(What::Call(_)) => {
                if let Some(json) = json {
                    let mut call = Call::default();
                    call.push(&json);
                    self.parts.add(None, None, What::Call(Box::new(call)))?;
                }
            }
            Some(What::Other) | None => {}
        }
        Ok(())
    }

    /// The block of that index, the later one where two bear it; without an index, the last.
    fn at(&self, index: Option<u64>) -> Option<usize> {
        let list = self.parts.list();
        match index {
            Some(_) => list.iter().rposition(|part| part.index == index),
            None => list.len().checked_sub(1),
        }
    }

    pub(super) fn reply(self, early: bool) -> Reply {
        let finish = self.finish.map(|word| told(&word, FINISH));
        let ending = if early { Ending::Early } else { Ending::of(finish.as_deref()) };
        self.parts.reply(finish, ending)
    }
}
