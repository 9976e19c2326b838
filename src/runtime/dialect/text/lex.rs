//! Tags, and how far text that is no valid JSON can still be read as pieces of JSON.

/// One tag.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    /// The name, with its namespace.
    pub(super) name: &'a str,
    /// Names and values as they stand.
    attributes: Vec<(&'a str, &'a str)>,
    /// Whether it closes.
    pub(super) closing: bool,
    /// Length in bytes.
    pub(super) len: usize,
}

impl<'a> Tag<'a> {
    /// The name without its namespace.
    pub(super) fn local(&self) -> &'a str {
        self.name.rsplit(':').next().unwrap_or_default()
    }

    /// An attribute, its entities decoded.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let found = self.attributes.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| super::invoke::decode(value))
    }
}

/// The tag that `text` begins with: `<name>`, `</name>` or `<name key="value">`.
pub(super) fn tag(text: &str) -> Option<Tag<'_>> {
    let rest = text.strip_prefix('<')?;
    let (closing, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
    let (name, mut rest) = name(rest)?;
    let mut attributes = Vec::new();
    loop {
        let next = rest.trim_start();
        if let Some(after) = next.strip_prefix('>') {
            return Some(Tag { name, attributes, closing, len: text.len() - after.len() });
        }
        if closing || next.len() == rest.len() {
            return None;
        }
        let (pair, after) = attribute(next)?;
        attributes.push(pair);
        rest = after;
    }
}

fn name(text: &str) -> Option<(&str, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    let end = text.find(|c: char| !part(c)).unwrap_or(text.len());
    text.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| text.split_at(end))
}

fn attribute(text: &str) -> Option<((&str, &str), &str)> {
    let (key, rest) = name(text)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (value, rest) = rest[1..].split_once(quote)?;
    Some(((key, value), rest))
}

/// Length of the closing tag of that name at the start of `text`.
pub(super) fn closes(text: &str, name: &str) -> Option<usize> {
    tag(text).filter(|tag| tag.closing && tag.name == name).map(|tag| tag.len)
}

/// The first place from `at` on that is no white space.
pub(super) fn skip_space(text: &str, at: usize) -> usize {
    let white = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    text.len() - text[at..].trim_start_matches(white).len()
}

/// Text that should have been JSON.
#[derive(Debug)]
pub(super) struct Broken {
    /// Where the first piece begins that is no piece of JSON, or the end of the text.
    pub(super) stop: usize,
    /// The call's name as far as it can be read, else empty.
    pub(super) name: String,
}

/// Words that stand for values in the JSON of careless writers.
const WORDS: [&str; 9] =
    ["true", "false", "null", "NaN", "Infinity", "-Infinity", "True", "False", "None"];

/// Reads pieces of JSON, in whatever order. Two values side by side, a line break in a string or
/// an unknown word say that quoting went wrong, and reading stops: from there on nobody can say
/// what is data.
pub(super) fn broken(text: &str, from: usize) -> Broken {
    let mut names = Names::default();
    let (mut at, mut depth, mut after_value) = (from, 0_u32, false);
    loop {
        at = skip_space(text, at);
        let Some(byte) = text.as_bytes().get(at) else { break };
        match byte {
            b'{' | b'[' if !after_value || depth == 0 => {
                depth = depth.saturating_add(1);
                names.opened(*byte, depth);
                after_value = false;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                after_value = true;
                at += 1;
            }
            b':' | b',' if depth > 0 => {
                names.colon(*byte == b':');
                after_value = false;
                at += 1;
            }
            _ if after_value || depth == 0 => break,
            b'"' => {
                let Some(end) = string_end(text, at) else { break };
                names.text(&text[at..end], depth);
                after_value = true;
                at = end;
            }
            _ => {
                let Some(end) = word_end(text, at) else { break };
                after_value = true;
                at = end;
            }
        }
    }
    Broken { stop: at, name: names.found.unwrap_or_default() }
}

fn string_end(text: &str, at: usize) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(at + 1);
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(index + 1),
            b'\\' => {
                bytes.next();
            }
            0..0x20 => return None,
            _ => {}
        }
    }
    None
}

fn word_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let word = &rest[..rest.find(|c: char| !part(c)).unwrap_or(rest.len())];
    let known = WORDS.contains(&word) || (!word.is_empty() && word.parse::<f64>().is_ok());
    known.then_some(at + word.len())
}

/// Finds the text under the key `name` of the outermost object.
#[derive(Default)]
struct Names {
    base: Option<u32>,
    key: bool,
    colon: bool,
    found: Option<String>,
}

impl Names {
    fn opened(&mut self, byte: u8, depth: u32) {
        if byte == b'{' && self.base.is_none() {
            self.base = Some(depth);
        }
        self.colon = false;
    }

    fn colon(&mut self, colon: bool) {
        self.colon = colon;
    }

    fn text(&mut self, quoted: &str, depth: u32) {
        if self.base != Some(depth) {
            return;
        }
        let text: String = serde_json::from_str(quoted).unwrap_or_default();
        if self.colon && self.key && self.found.is_none() {
            self.found = Some(text);
            self.key = false;
        } else {
            self.key = !self.colon && text == "name";
        }
    }
}
