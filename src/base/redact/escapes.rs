//! What a text says behind its escapes, and the way back to how it is spelled. A secret inside
//! JSON, inside JSON inside JSON, or in an address, is found in what is said and replaced in what
//! is spelled.

use std::ops::Range;

use memchr::{memchr, memchr2};

/// Escapes inside escapes are followed so deep.
const LAYERS: usize = 6;

/// One escape: its place in the text that is spelled, and in the text that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    spelled: Range<usize>,
    said: Range<usize>,
}

/// A text with its escapes resolved once.
#[derive(Debug, Clone)]
pub(super) struct Unescaped {
    /// What is said. An escape without its end stays as it is spelled.
    pub(super) text: String,
    /// Where in `text` an escape begins that the end of the text cut off.
    pub(super) unfinished: Option<usize>,
    units: Vec<Unit>,
}

enum Escape {
    /// A character, and the bytes that spell it.
    Char(char, usize),
    /// An ordinary backslash, or percent sign.
    Plain,
    Unfinished,
}

/// Resolves the escapes of JSON, and the few more that programs print; `None` where there is
/// nothing to resolve.
pub(super) fn unescape(spelled: &str) -> Option<Unescaped> {
    resolve(spelled, |text| memchr(b'\\', text.as_bytes()))
}

/// Resolves those of addresses too.
fn unescape_all(spelled: &str) -> Option<Unescaped> {
    resolve(spelled, |text| memchr2(b'\\', b'%', text.as_bytes()))
}

/// Resolves each escape that begins where `find` says.
fn resolve(spelled: &str, find: impl Fn(&str) -> Option<usize>) -> Option<Unescaped> {
    let first = find(spelled)?;
    let mut out = Unescaped {
        text: String::with_capacity(spelled.len()),
        unfinished: None,
        units: Vec::new(),
    };
    let (mut copied, mut next) = (0, Some(first));
    while let Some(at) = next {
        out.text.push_str(&spelled[copied..at]);
        let mut end = at + 1;
        match escape(&spelled[at..]) {
            Escape::Char(said, bytes) => {
                end = at + bytes;
                let start = out.text.len();
                out.text.push(said);
                out.units.push(Unit { spelled: at..end, said: start..out.text.len() });
            }
            Escape::Plain => out.text.push_str(&spelled[at..end]),
            Escape::Unfinished => {
                out.unfinished = out.unfinished.or(Some(out.text.len()));
                out.text.push_str(&spelled[at..end]);
            }
        }
        copied = end;
        next = find(&spelled[end..]).map(|found| end + found);
    }
    out.text.push_str(&spelled[copied..]);
    (!out.units.is_empty() || out.unfinished.is_some()).then_some(out)
}

/// Reads one escape; `rest` begins with a backslash or a percent sign.
fn escape(rest: &str) -> Escape {
    let bytes = rest.as_bytes();
    if bytes.first() == Some(&b'%') {
        return octets(bytes).unwrap_or_else(|end| end);
    }
    match bytes.get(1) {
        None => Escape::Unfinished,
        Some(plain @ (b'"' | b'\\' | b'/' | b'\'')) => Escape::Char(char::from(*plain), 2),
        Some(b'b') => Escape::Char('\u{8}', 2),
        Some(b'f') => Escape::Char('\u{c}', 2),
        Some(b'n') => Escape::Char('\n', 2),
        Some(b'r') => Escape::Char('\r', 2),
        Some(b't') => Escape::Char('\t', 2),
        Some(b'x') => number(bytes, 2..4).map_or_else(|end| end, |code| character(code, 4)),
        Some(b'u') => number(bytes, 2..6).map_or_else(|end| end, |code| unicode(bytes, code)),
        Some(_) => Escape::Plain,
    }
}

fn character(code: u32, bytes: usize) -> Escape {
    // Half of a pair stands for no character.
    Escape::Char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), bytes)
}

/// `\u` and four digits, twice where the first is half of a pair.
fn unicode(bytes: &[u8], first: u32) -> Escape {
    let is_high = (0xd800..0xdc00).contains(&first);
    match (is_high, bytes.get(6), bytes.get(7)) {
        (false, _, _) => character(first, 6),
        (true, None, _) | (true, Some(b'\\'), None) => Escape::Unfinished,
        (true, Some(b'\\'), Some(b'u')) => match number(bytes, 8..12) {
            Ok(low @ 0xdc00..0xe000) => {
                character(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00), 12)
            }
            Err(Escape::Unfinished) => Escape::Unfinished,
            _ => character(first, 6),
        },
        (true, _, _) => character(first, 6),
    }
}

/// A character whose bytes are a percent sign and two digits each (RFC 3986, section 2.1).
fn octets(bytes: &[u8]) -> Result<Escape, Escape> {
    let mut said = [0; 4];
    let mut octet = |at: usize| -> Result<u8, Escape> {
        let byte = number(bytes, at * 3 + 1..at * 3 + 3)?;
        said[at] = u8::try_from(byte).map_err(|_| Escape::Plain)?;
        Ok(said[at])
    };
    let length = match octet(0)? {
        0..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Err(Escape::Plain),
    };
    for at in 1..length {
        match bytes.get(at * 3) {
            None => return Err(Escape::Unfinished),
            Some(b'%') => octet(at)?,
            Some(_) => return Err(Escape::Plain),
        };
    }
    let text = std::str::from_utf8(&said[..length]).map_err(|_| Escape::Plain)?;
    Ok(text.chars().next().map_or(Escape::Plain, |said| Escape::Char(said, length * 3)))
}

fn number(bytes: &[u8], digits: Range<usize>) -> Result<u32, Escape> {
    let mut code = 0;
    for at in digits {
        let digit = bytes.get(at).ok_or(Escape::Unfinished)?;
        code = code * 16 + char::from(*digit).to_digit(16).ok_or(Escape::Plain)?;
    }
    Ok(code)
}

impl Unescaped {
    /// The smallest spelled range that says this one.
    pub(super) fn spelled(&self, said: &Range<usize>) -> Range<usize> {
        let before = self.units.partition_point(|unit| unit.said.start <= said.start);
        let start = match self.units[..before].last() {
            Some(unit) if said.start < unit.said.end => unit.spelled.start,
            Some(unit) => unit.spelled.end + (said.start - unit.said.end),
            None => said.start,
        };
        let before = self.units.partition_point(|unit| unit.said.start < said.end);
        let end = match self.units[..before].last() {
            Some(unit) if said.end <= unit.said.end => unit.spelled.end,
            Some(unit) => unit.spelled.end + (said.end - unit.said.end),
            None => said.end,
        };
        start..end.max(start)
    }

    /// Widens a spelled range so that it begins and ends between escapes.
    pub(super) fn whole_units(&self, spelled: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.unit_around(spelled.start), self.unit_around(spelled.end));
        let start = start.map_or(spelled.start, |unit| unit.spelled.start);
        start..end.map_or(spelled.end, |unit| unit.spelled.end)
    }

    /// The escape that a spelled position is inside of.
    fn unit_around(&self, at: usize) -> Option<&Unit> {
        let before = self.units.partition_point(|unit| unit.spelled.start < at);
        self.units[..before].last().filter(|unit| at < unit.spelled.end)
    }

    /// Where a spelled position is said; where it is inside an escape, that escape's beginning.
    fn said(&self, at: usize) -> Result<usize, usize> {
        let before = self.units.partition_point(|unit| unit.spelled.start < at);
        match self.units[..before].last() {
            Some(unit) if at < unit.spelled.end => Err(unit.spelled.start),
            Some(unit) => Ok(unit.said.end + (at - unit.spelled.end)),
            None => Ok(at),
        }
    }
}

/// What a text says at every depth of escaping.
#[derive(Debug, Default)]
pub(super) struct Views {
    layers: Vec<Unescaped>,
}

impl Views {
    /// All that there is to be read behind the escapes of a text; nothing where it has none.
    pub(super) fn of(text: &str) -> Self {
        let mut layers: Vec<Unescaped> = Vec::new();
        while layers.len() < LAYERS {
            let Some(layer) = unescape_all(layers.last().map_or(text, |layer| &layer.text)) else {
                break;
            };
            let last = layer.units.is_empty();
            layers.push(layer);
            if last {
                break;
            }
        }
        Self { layers }
    }

    /// The text itself and all views of it, each with its depth and the place of an escape that
    /// the end cut off.
    pub(super) fn each<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, &'a str, Option<usize>)> {
        let behind = |(depth, layer): (usize, &'a Unescaped)| {
            (depth + 1, layer.text.as_str(), layer.unfinished)
        };
        std::iter::once((0, text, None)).chain(self.layers.iter().enumerate().map(behind))
    }

    /// Where what is said at a depth is spelled.
    pub(super) fn spelled(&self, depth: usize, said: Range<usize>) -> Range<usize> {
        self.layers[..depth].iter().rev().fold(said, |range, layer| layer.spelled(&range))
    }

    /// The last position not after `at` that is inside no escape of any depth.
    pub(super) fn between(&self, mut at: usize) -> usize {
        'again: loop {
            let mut said = at;
            for (depth, layer) in self.layers.iter().enumerate() {
                match layer.said(said) {
                    Ok(deeper) => said = deeper,
                    Err(start) => {
                        at = self.spelled(depth, start..start).start;
                        continue 'again;
                    }
                }
            }
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(spelled: &str) -> String {
        unescape(spelled).map_or_else(|| spelled.to_owned(), |layer| layer.text)
    }

    #[test]
    fn escapes_are_read_as_json_reads_them() {
        assert_eq!(said(r#"\u0070\/\"\\\n\t"#), "p/\"\\\n\t");
        assert_eq!(said(r"\ud83d\ude00 \ud83d \ude00"), "😀 \u{fffd} \u{fffd}");
        assert_eq!(said(r"\x41 C:\dir \q"), r"A C:\dir \q");
        assert!(unescape("plain").is_none());
        for cut in [r"a\", r"a\u", r"a\u004", r"a\ud83d", r"a\ud83d\", r"a\ud83d\ude0", r"a\x4"] {
            let layer = unescape(cut).unwrap();
            assert_eq!((layer.unfinished, layer.text.as_str()), (Some(1), cut));
        }
    }

    #[test]
    fn addresses_are_read_as_servers_read_them() {
        let said = |spelled: &str| {
            unescape_all(spelled).map_or_else(|| spelled.to_owned(), |layer| layer.text)
        };
        assert_eq!(said("%70%2F%2f%c3%A9%F0%9f%98%80 100% %zz"), "p//é😀 100% %zz");
        assert_eq!(said("%ff%c3 %c3x%e2%82%70"), "%ff%c3 %c3x%e2%82p");
        assert_eq!(said(r"a%\u0041"), "a%A");
        assert!(unescape("%70").is_none());
        for cut in ["a%", "a%7", "a%c3", "a%c3%", "a%f0%9f%9", "a%C3\\"] {
            let found = unescape_all(cut).and_then(|layer| layer.unfinished);
            assert!(found.is_some(), "{cut}");
        }
        let views = Views::of("x%2570y");
        assert_eq!(views.each("x%2570y").map(|(_, text, _)| text).last(), Some("xpy"));
        assert_eq!(views.spelled(2, 1..2), 1..6);
    }

    #[test]
    fn ranges_find_their_way_back() {
        let text = r"a\u0070b\/c";
        let layer = unescape(text).unwrap();
        assert_eq!(layer.text, "apb/c");
        assert_eq!(layer.spelled(&(1..2)), 1..7);
        assert_eq!(layer.spelled(&(0..3)), 0..8);
        assert_eq!(layer.spelled(&(2..5)), 7..11);
        assert_eq!(layer.whole_units(&(3..9)), 1..10);
        let views = Views::of(r"x\\u0070y");
        assert_eq!(views.each(r"x\\u0070y").map(|(_, text, _)| text).last(), Some("xpy"));
        assert_eq!(views.spelled(2, 1..2), 1..8);
        assert_eq!((views.between(1), views.between(3), views.between(8)), (1, 1, 8));
    }

    proptest! {
        #[test]
        fn what_json_escapes_is_said_again(text in any::<String>()) {
            let spelled = serde_json::Value::from(text.as_str()).to_string();
            prop_assert_eq!(said(&spelled[1..spelled.len() - 1]), text);
        }

        #[test]
        fn every_position_between_escapes_stays(spelled in r#"([a\\"u0-9]|\\u006[0-9]){0,20}"#) {
            let views = Views::of(&spelled);
            for at in 0..=spelled.len() {
                let kept = views.between(at);
                prop_assert!(kept <= at && views.between(kept) == kept);
            }
        }
    }
}
