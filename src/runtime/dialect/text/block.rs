//! Blocks of the protocol: wrappers of JSON, fenced JSON, and the bare object. A block whose JSON
//! is broken, or that is not closed, is a call with malformed arguments, so that it is never lost
//! and never executed.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::invoke::invoke;
use super::lex::{Tag, broken, closes, skip_space, tag};
use super::prose::{Fence, begins_line};
use super::rules::TextRules;
use crate::runtime::dialect::proposed::{Origin, RawCall};

const UNCLOSED: &str = "the block is not closed";
const NO_JSON: &str = "the block is no JSON";
const NO_CALL: &str = "the block is no object with `name` and `arguments`";
const TWICE: &str = "a key of the block stands twice";

/// The calls of one block, and where it ends.
#[derive(Debug)]
pub(super) struct Block {
    /// The first place after it.
    pub(super) end: usize,
    /// Its calls, in their order.
    pub(super) calls: Vec<RawCall>,
}

/// Reads the blocks of one reply.
pub(super) struct Blocks<'a> {
    text: &'a str,
    rules: TextRules,
    /// Closing tags that were looked for and are nowhere further on.
    absent: BTreeSet<String>,
}

/// What was read of a block so far.
struct Items<'a> {
    /// What opens it, as it stands: it keeps the arguments of a flawed call from being JSON.
    opening: &'a str,
    origin: Origin,
    calls: Vec<RawCall>,
    /// Which calls stand in this block itself, and as what.
    own: Vec<(usize, &'a str)>,
}

impl<'a> Items<'a> {
    fn new(opening: &'a str, origin: Origin) -> Self {
        Self { opening, origin, calls: Vec::new(), own: Vec::new() }
    }

    /// Adds the calls of one JSON value: an object, or a list of objects.
    fn value(&mut self, source: &'a str) {
        let list: Option<Vec<&RawValue>> =
            source.starts_with('[').then(|| serde_json::from_str(source).ok()).flatten();
        match list {
            Some(list) => list.into_iter().for_each(|item| self.object(item.get())),
            None => self.object(source),
        }
    }

    fn object(&mut self, source: &'a str) {
        let mut call = fields(source).map_or_else(|_| flawed("", NO_CALL), Fields::call);
        call.origin = self.origin;
        if call.flaw.is_some() {
            call.arguments = format!("{}{source}", self.opening);
        }
        self.own.push((self.calls.len(), source));
        self.calls.push(call);
    }

    fn flawed(&mut self, name: &str, flaw: &'static str, source: &str) {
        let arguments = format!("{}{source}", self.opening);
        let origin = self.origin;
        self.calls.push(RawCall { arguments, origin, ..flawed(name, flaw) });
    }

    /// Nothing that stands in an unclosed block itself is believed.
    fn unclosed(&mut self) {
        for (index, source) in std::mem::take(&mut self.own) {
            let call = &mut self.calls[index];
            call.flaw = Some(UNCLOSED);
            call.arguments = format!("{}{source}", self.opening);
        }
    }

    fn end(self, end: usize) -> Block {
        Block { end, calls: self.calls }
    }
}

impl<'a> Blocks<'a> {
    pub(super) fn new(text: &'a str, rules: TextRules) -> Self {
        Self { text, rules, absent: BTreeSet::new() }
    }

    /// The block that begins exactly at `at`.
    pub(super) fn at(&mut self, at: usize) -> Option<Block> {
        let open = tag(&self.text[at..]).filter(|tag| !tag.closing)?;
        match open.local() {
            "tool_call" | "tool_calls" if self.rules.tagged => {
                self.wrapper(at, &open, Origin::Tagged)
            }
            "function_calls" if self.rules.invoke => self.wrapper(at, &open, Origin::Invoke),
            "invoke" if self.rules.invoke => invoke(self.text, at, &open),
            _ => None,
        }
    }

    /// The first closing tag of that name from `at` on.
    pub(super) fn close(&mut self, name: &str, at: usize) -> Option<usize> {
        if self.absent.contains(name) {
            return None;
        }
        let found = self.text[at..].find(&format!("</{name}>")).map(|found| at + found);
        if found.is_none() {
            self.absent.insert(name.to_owned());
        }
        found
    }

    /// A wrapper around invoke elements, and, where it is a tagged block, around JSON values,
    /// lists of them, and singular blocks.
    fn wrapper(&mut self, at: usize, open: &Tag<'a>, origin: Origin) -> Option<Block> {
        let text = self.text;
        let body = at + open.len;
        let mut items = Items::new(&text[at..body], origin);
        let mut end = body;
        loop {
            let here = skip_space(text, end);
            let rest = &text[here..];
            if let Some(len) = closes(rest, open.name) {
                if items.calls.is_empty() && open.local() == "tool_call" {
                    items.flawed("", NO_CALL, "");
                }
                return (!items.calls.is_empty()).then(|| items.end(here + len));
            }
            match rest.bytes().next() {
                Some(b'{' | b'[') if origin == Origin::Tagged => match value(rest) {
                    Some(source) => {
                        items.value(source);
                        end = here + source.len();
                    }
                    None => return Some(self.broken(here, open.name, items)),
                },
                Some(b'<') => match self.inside(here, open) {
                    Some(block) => {
                        items.calls.extend(block.calls);
                        end = block.end;
                    }
                    None => return self.stray(here, end, open, items),
                },
                _ => return self.stray(here, end, open, items),
            }
        }
    }

    fn inside(&mut self, at: usize, outer: &Tag<'_>) -> Option<Block> {
        let open = tag(&self.text[at..]).filter(|tag| !tag.closing)?;
        match open.local() {
            "invoke" if self.rules.invoke => invoke(self.text, at, &open),
            "tool_call" if outer.local() == "tool_calls" => self.wrapper(at, &open, Origin::Tagged),
            _ => None,
        }
    }

    /// JSON that cannot be read, in a wrapper of that name. Where its pieces lead up to a closing
    /// tag or to another block, it ends there; else nobody can say what is data, and it takes the
    /// whole rest.
    fn broken(&mut self, here: usize, name: &str, mut items: Items<'_>) -> Block {
        let text = self.text;
        let broken = broken(text, here);
        let at_stop = &text[broken.stop..];
        let closed = closes(at_stop, name).map(|len| broken.stop + len);
        let other = tag(at_stop).is_some_and(|tag| match tag.local() {
            "tool_call" | "tool_calls" | "function_calls" | "invoke" => {
                tag.closing || begins_line(text, broken.stop)
            }
            _ => false,
        });
        let end = closed.unwrap_or(if other { broken.stop } else { text.len() });
        if closed.is_none() {
            items.unclosed();
        }
        items.flawed(&broken.name, NO_JSON, &text[here..end]);
        items.end(end)
    }

    /// A wrapper that goes on with what is neither JSON nor its closing tag. With nothing read
    /// it is a call only if it is closed or cut off; else it is only spoken of.
    fn stray(
        &mut self,
        here: usize,
        end: usize,
        open: &Tag<'_>,
        mut items: Items<'_>,
    ) -> Option<Block> {
        if !items.calls.is_empty() {
            items.unclosed();
            return Some(items.end(end));
        }
        let text = self.text;
        let end = if here == text.len() {
            here
        } else {
            let close = self.close(open.name, here)?;
            if text[here..close].contains(items.opening) {
                return None;
            }
            close + closes(&text[close..], open.name)?
        };
        let body = &text[here..end];
        let object = body.find('{').map(|at| broken(body, at).name).unwrap_or_default();
        let flaw = if body.is_empty() { UNCLOSED } else { NO_JSON };
        items.flawed(&object, flaw, body);
        Some(items.end(end))
    }

    /// The fenced block whose opening line begins at `at` and whose content begins at `body`.
    /// It is a block by its info string, whatever it holds.
    pub(super) fn fenced(&self, at: usize, body: usize, fence: &Fence<'_>) -> Block {
        let text = self.text;
        let mut items = Items::new(&text[at..body], Origin::Fenced);
        let mut end = body;
        loop {
            let here = skip_space(text, end);
            let rest = &text[here..];
            if let Some(len) = fence.closing(rest) {
                if items.calls.is_empty() {
                    items.flawed("", NO_CALL, "");
                }
                return items.end(here + len);
            }
            if rest.starts_with(['{', '[']) {
                if let Some(source) = value(rest) {
                    items.value(source);
                    end = here + source.len();
                    continue;
                }
                let broken = broken(text, here);
                let closed = fence.closing(&text[broken.stop..]).map(|len| broken.stop + len);
                if closed.is_none() {
                    items.unclosed();
                }
                let end = closed.unwrap_or(text.len());
                items.flawed(&broken.name, NO_JSON, &text[here..end]);
                return items.end(end);
            }
            let end = fence.end(text, here);
            items.unclosed();
            if items.calls.is_empty() {
                items.flawed("", NO_JSON, &text[here..end]);
            }
            return items.end(end);
        }
    }
}

/// The call that is the whole text: an object with a name and an object of arguments.
pub(super) fn bare(text: &str) -> Option<RawCall> {
    let text = text.trim();
    let fields = fields(text).ok().filter(|_| text.starts_with('{'))?;
    let object = fields.arguments.is_some_and(|source| source.get().starts_with('{'));
    let call = (object && !fields.other).then(|| fields.call())?;
    call.flaw.is_none().then_some(RawCall { origin: Origin::Bare, ..call })
}

fn flawed(name: &str, flaw: &'static str) -> RawCall {
    RawCall { flaw: Some(flaw), ..RawCall::native(None, name, "") }
}

/// The JSON value that `text` begins with, as it stands.
fn value(text: &str) -> Option<&str> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    values.next()?.ok().map(RawValue::get)
}

fn fields(source: &str) -> Result<Fields<'_>, serde_json::Error> {
    serde_json::from_str(source)
}

/// What a block's object holds, as it stands.
#[derive(Default)]
struct Fields<'a> {
    id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    other: bool,
    twice: bool,
}

impl Fields<'_> {
    /// Arguments that are missing are blank, unless another key may hold them.
    fn call(self) -> RawCall {
        let text = |source: &RawValue| serde_json::from_str::<String>(source.get()).ok();
        let name = self.name.and_then(text);
        let lost = self.arguments.is_none() && self.other;
        let flaw = match &name {
            _ if self.twice => Some(TWICE),
            Some(_) if !lost => None,
            _ => Some(NO_CALL),
        };
        // A string stands for argument text.
        let arguments =
            self.arguments.map(|source| text(source).unwrap_or_else(|| source.get().to_owned()));
        let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
        RawCall { flaw, ..RawCall::native(self.id.and_then(text), name, arguments) }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<String>()? {
            let field = match key.as_str() {
                "id" => &mut fields.id,
                "name" => &mut fields.name,
                "arguments" => &mut fields.arguments,
                _ => {
                    fields.other = true;
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            fields.twice |= field.is_some();
            // Read as it stands: `null` is a value too.
            *field = Some(map.next_value::<&RawValue>()?);
        }
        Ok(fields)
    }
}
