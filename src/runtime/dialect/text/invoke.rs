//! Invoke elements: values are raw text, so a value ends at the first closing tag of its own.

use serde_json::Value;

use super::block::Block;
use super::lex::{Tag, closes, skip_space, tag};
use crate::runtime::dialect::json;
use crate::runtime::dialect::proposed::{Origin, RawCall};

const UNCLOSED: &str = "the invoke element is not closed";
const STRAY: &str = "there is text between the parameters; quote < and & inside values";
const UNNAMED: &str = "the invoke element or a parameter has no name";
const NO_JSON: &str = "a parameter of type json is no JSON";

/// The element that begins at `at` with the tag `open`; `None` when it is only spoken of.
pub(super) fn invoke(text: &str, at: usize, open: &Tag<'_>) -> Option<Block> {
    let body = skip_space(text, at + open.len);
    let mut parameters = Parameters::default();
    let mut here = body;
    let (end, stray) = loop {
        if let Some(len) = closes(&text[here..], open.name) {
            break (here + len, None);
        }
        let next = tag(&text[here..]).filter(|tag| !tag.closing && tag.local() == "parameter");
        let Some(next) = next else { break stray(text, here, here == body, open)? };
        let start = here + next.len;
        let close = format!("</{}>", next.name);
        let Some(len) = text[start..].find(&close) else { break (text.len(), Some(UNCLOSED)) };
        parameters.push(&next, &text[start..start + len]);
        here = skip_space(text, start + len + close.len());
    };
    let name = open.attribute("name");
    let flaw = stray.or(parameters.flaw).or(name.is_none().then_some(UNNAMED));
    let arguments = match flaw {
        Some(_) => text[at..end].to_owned(),
        None => format!("{{{}}}", parameters.fields.join(",")),
    };
    let (name, origin) = (name.unwrap_or_default(), Origin::Invoke);
    let call = RawCall { id: open.attribute("id"), name, arguments, origin, flaw };
    Some(Block { end, calls: vec![call] })
}

/// Where an element ends that goes on with neither a parameter nor its closing tag. After a
/// parameter nobody can say what is data, so it takes the whole rest.
fn stray(
    text: &str,
    here: usize,
    empty: bool,
    open: &Tag<'_>,
) -> Option<(usize, Option<&'static str>)> {
    let rest = &text[here..];
    if rest.is_empty() {
        return Some((text.len(), Some(UNCLOSED)));
    }
    if !empty || rest.starts_with('<') {
        return Some((text.len(), Some(STRAY)));
    }
    let close = format!("</{}>", open.name);
    let end = rest.find(&close).filter(|end| !rest[..*end].contains("<invoke"))?;
    Some((here + end + close.len(), Some(STRAY)))
}

/// Parameters as the fields of a JSON object, as they stand: one that comes twice stays twice.
#[derive(Default)]
struct Parameters {
    fields: Vec<String>,
    flaw: Option<&'static str>,
}

impl Parameters {
    fn push(&mut self, tag: &Tag<'_>, raw: &str) {
        let Some(name) = tag.attribute("name") else {
            self.flaw = Some(UNNAMED);
            return;
        };
        let value = decode(raw);
        let value = match tag.attribute("type").as_deref() {
            Some("json") if json::read(&value).is_ok() => value.trim().to_owned(),
            Some("json") => {
                self.flaw = Some(NO_JSON);
                return;
            }
            _ => Value::from(value).to_string(),
        };
        self.fields.push(format!("{}:{value}", Value::from(name)));
    }
}

/// Bytes of the longest entity.
const LONGEST: usize = 12;

/// Text with its entities decoded; what is no entity stays.
pub(super) fn decode(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST).position(|byte| byte == b';');
        let named = end.and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (c, len) = named.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    let number = match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => name.strip_prefix('#')?,
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) if digits(hex) => u32::from_str_radix(hex, 16).ok()?,
        None if digits(number) => number.parse().ok()?,
        _ => return None,
    };
    char::from_u32(code)
}
