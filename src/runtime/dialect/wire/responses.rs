//! OpenAI responses: items, whole or in events; the last event holds the whole once more.

use super::error::{Fault, Trouble};
use super::fields::{Fields, Pieces, explained, failure};
use super::fold::{foreign, told};
use super::parts::{Call, Ending, Parts, What};
use crate::runtime::dialect::Reply;

/// Stop reasons that have another name here.
pub(super) const FINISH: &[(&str, &str)] =
    &[("completed", "stop"), ("max_output_tokens", "length")];

/// A reply while it arrives.
#[derive(Debug, Clone)]
pub(super) struct Responses {
    parts: Parts,
    most: usize,
    finish: Option<String>,
    begun: bool,
}

impl Responses {
    pub(super) fn new(most: usize) -> Self {
        Self { parts: Parts::new(most), most, finish: None, begun: false }
    }

    /// Whether anything says that the reply is at its end.
    pub(super) fn ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether anything of a reply came at all.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// Reads an event whose name stands inside it or beside it.
    pub(super) fn event(&mut self, name: &str, event: &Fields<'_>) -> Result<(), Fault> {
        let kind = event.word("type").unwrap_or_else(|| name.to_owned());
        let (index, key) = (event.number("output_index"), event.word("item_id"));
        let place = (index, key.as_deref());
        match kind.as_str() {
            "error" => {
                let said = failure(event).filter(|_| event.get("error").is_some());
                let said = said.or_else(|| explained(event));
                return Err(Fault::provider(said.as_deref().unwrap_or("it does not say why")));
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                let body = event.object("response").unwrap_or_default().plain()?;
                return self.read(&body, kind.strip_prefix("response."));
            }
            "response.output_item.added" => {
                let item = event.object("item").unwrap_or_default();
                self.item(index, &item, false)?;
            }
            "response.output_item.done" => {
                let item = event.object("item").unwrap_or_default();
                self.done(index, &item)?;
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.arguments(place, event.text("delta"), false)?;
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                let whole = event.argument("arguments").or_else(|| event.argument("input"));
                self.arguments(place, whole, true)?;
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.say(place, event.text("delta"), What::Text)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.say(place, event.text("delta"), What::Thought)?;
            }
            _ if event.get("error").is_some() && failure(event).is_some() => {
                return Err(Fault::provider(&failure(event).unwrap_or_default()));
            }
            _ => {}
        }
        self.begun |= kind.starts_with("response.");
        Ok(())
    }

    /// Reads a whole body; `kind` is the status that the event around it tells.
    pub(super) fn read(&mut self, body: &Fields<'_>, kind: Option<&str>) -> Result<(), Fault> {
        let told = kind.filter(|kind| *kind != "done").map(str::to_owned);
        let status = told.or(body.word("status"));
        let status = status.as_deref().unwrap_or("completed");
        let items = body.list("output");
        if kind.is_none() && body.get("output").is_none() {
            return Err(match failure(body) {
                Some(said) => Fault::provider(&said),
                None => foreign(body, "output"),
            });
        }
        if !items.is_empty() {
            // It is the truth, whatever was told before.
            self.parts = Parts::new(self.most);
            for item in items {
                self.item(None, &Fields::of(item).unwrap_or_default(), true)?;
            }
        }
        self.begun = true;
        if let Some(said) = failure(body) {
            return Err(Fault::provider(&said));
        }
        self.finish = match status {
            "completed" => Some(status.to_owned()),
            "incomplete" => {
                let why = body.object("incomplete_details");
                Some(why.and_then(|why| why.word("reason")).unwrap_or_else(|| status.to_owned()))
            }
            "failed" | "cancelled" => {
                return Err(Fault::provider(&format!("the response is {status}")));
            }
            other => {
                let message = format!("the response is `{other}`, and not at its end");
                return Err(Fault::new(Trouble::Cut, message));
            }
        };
        Ok(())
    }

    fn item(&mut self, index: Option<u64>, item: &Fields<'_>, done: bool) -> Result<usize, Fault> {
        let mut what = what(item);
        let status = item.word("status");
        if let What::Call(call) = &mut what {
            if status.as_deref() == Some("incomplete") {
                call.cut();
            }
            call.sealed = done && status.as_deref() != Some("incomplete");
        }
        self.parts.add(index, item.word("id"), what)
    }

    /// The end of an item, which tells it once more.
    fn done(&mut self, index: Option<u64>, item: &Fields<'_>) -> Result<(), Fault> {
        let (id, mut whole) = (item.word("id"), what(item));
        let Some(at) = self.at((index, id.as_deref()), &whole) else {
            return self.item(index, item, true).map(|_| ());
        };
        let Some(part) = self.parts.get(at) else { return Ok(()) };
        if let (What::Call(before), What::Call(call)) = (&mut part.what, &mut whole) {
            // Some servers leave out at the end what they told before.
            if call.is_blank() {
                call.replace(before.take_arguments());
            }
            if call.name.is_empty() {
                call.name = std::mem::take(&mut before.name);
            }
            call.id = call.id.take().or(before.id.take());
            call.inherit(before);
            let cut = item.word("status").as_deref() == Some("incomplete");
            if cut {
                call.cut();
            }
            call.sealed = !cut;
        }
        let empty = matches!(&whole, What::Text(text) | What::Thought(text) if text.is_empty());
        if !empty {
            part.what = whole;
        }
        part.stopped = true;
        Ok(())
    }

    fn arguments(
        &mut self,
        place: (Option<u64>, Option<&str>),
        piece: Option<Pieces>,
        whole: bool,
    ) -> Result<(), Fault> {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return Ok(()) };
        let kind = What::Call(Box::default());
        let found = self.at(place, &kind).and_then(|at| self.parts.call(at));
        match found.filter(|call| !call.sealed) {
            Some(call) if whole => call.replace(piece),
            Some(call) => call.push(&piece),
            // Of a call that never began: kept, and nobody knows whose they are.
            None => {
                let mut call = Call::default();
                call.push(&piece);
                let key = place.1.map(str::to_owned);
                self.parts.add(place.0, key, What::Call(Box::new(call)))?;
            }
        }
        Ok(())
    }

    fn say(
        &mut self,
        place: (Option<u64>, Option<&str>),
        piece: Option<Pieces>,
        kind: fn(Pieces) -> What,
    ) -> Result<(), Fault> {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return Ok(()) };
        let found = self.at(place, &kind(Pieces::default()));
        match found.and_then(|at| self.parts.get(at)).map(|part| &mut part.what) {
            Some(What::Text(text) | What::Thought(text)) => text.push(&piece),
            _ => {
                let key = place.1.map(str::to_owned);
                self.parts.add(place.0, key, kind(piece))?;
            }
        }
        Ok(())
    }

    /// The item that an event speaks of: by its number, else by its name, else the last of its
    /// kind. Some servers name an item differently with every event.
    fn at(&self, (index, key): (Option<u64>, Option<&str>), kind: &What) -> Option<usize> {
        let kind = std::mem::discriminant(kind);
        let list = self.parts.list();
        let like = |part: &super::parts::Part| std::mem::discriminant(&part.what) == kind;
        let numbered = || list.iter().rposition(|part| part.index == index && like(part));
        let named = || list.iter().rposition(|part| part.key.as_deref() == key && like(part));
        match (index, key) {
            (None, None) => list.iter().rposition(like),
            (Some(_), None) => numbered(),
            (None, Some(_)) => named(),
            (Some(_), Some(_)) => numbered().or_else(named),
        }
    }

    pub(super) fn reply(self, early: bool) -> Reply {
        let finish = self.finish.map(|word| told(&word, FINISH));
        let ending = if early { Ending::Early } else { Ending::of(finish.as_deref()) };
        self.parts.reply(finish, ending)
    }
}

fn what(item: &Fields<'_>) -> What {
    let joined = |lists: [&str; 2], keys: [&str; 2]| {
        let mut all = Pieces::default();
        let parts = lists.into_iter().flat_map(|list| item.list(list)).filter_map(Fields::of);
        parts.filter_map(|part| keys.into_iter().find_map(|key| part.text(key))).for_each(
            |piece| {
                all.push(&piece);
            },
        );
        all
    };
    match item.word("type").unwrap_or_default().as_str() {
        "message" => What::Text(joined(["content", ""], ["text", "refusal"])),
        "reasoning" => What::Thought(joined(["summary", "content"], ["text", "summary_text"])),
        "function_call" => {
            let call = Call::begin(item.word("call_id"), item, "arguments");
            What::Call(Box::new(call.until_pieces()))
        }
        "custom_tool_call" => {
            let call = Call::begin(item.word("call_id"), item, "input");
            What::Call(Box::new(call.until_pieces()))
        }
        _ => What::Other,
    }
}
