//! Values a prompt shows literally: quotes, addresses, paths, dates, times, numbers.

use std::ops::Range;

use serde_json::Number;

use super::patterns::*;

/// Most bytes of a prompt that are searched for values.
pub(super) const MAX_PROMPT: usize = 64 * 1024;
/// Most values taken from one prompt.
const MAX_SPANS: usize = 256;

/// Longest text between quotation marks, in bytes, that is taken for a value.
const MAX_QUOTE: usize = 4096;

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text between quotation marks.
    Quoted,
    /// A web address.
    Url,
    /// A mail address.
    Email,
    /// A day with a time of day, ISO 8601.
    DateTime,
    /// A day, as `YYYY-MM-DD`.
    Date,
    /// A day whose order of parts is not certain (`03/04/2025`), as it stands.
    LooseDate,
    /// A time of day, as `HH:MM` or `HH:MM:SS`.
    Time,
    /// A file or folder.
    Path,
    /// A code of letters and digits (`ABC-123`, `#42`).
    Id,
    /// A number.
    Number,
}

/// One value found in a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    /// What it looks like.
    pub(super) kind: Kind,
    /// Where it stands, in bytes, quotation marks excluded.
    pub(super) range: Range<usize>,
    /// The value: the text, or for dates and times their normal form.
    pub(super) text: String,
    /// The value as a number, for [`Kind::Number`].
    pub(super) number: Option<Number>,
    /// Whether the number is written as a word.
    pub(super) spelled: bool,
    /// For a quote that is wholly a value of a narrower kind: that value.
    pub(super) inner: Option<Box<Span>>,
}

/// Endings that make a bare `name.ending` a file and not a domain or an abbreviation.
const ENDINGS: &str = " txt md csv tsv json jsonl yaml yml toml xml html htm css pdf doc docx xls \
    xlsx ppt pptx odt rtf png jpg jpeg gif svg webp bmp tiff mp3 mp4 wav avi mov mkv zip tar gz \
    tgz log py rs js ts tsx jsx java c h cpp hpp go rb php sh bat sql ini cfg conf lock ipynb \
    parquet db sqlite env bak tex epub swift kt lua ";

/// Words for small numbers; `one` is left out, as it rarely counts.
const NUMBER_WORDS: [(&str, u32); 27] = [
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("dozen", 12),
];

/// Months by their first three letters.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Every value the prompt shows, in the order of the text. A stretch of text is one value only,
/// of the first kind in the order of [`Kind`] that it fits; a quoted number stays a quote.
pub(super) fn find(prompt: &str) -> Vec<Span> {
    let prompt = &prompt[..prompt.floor_char_boundary(MAX_PROMPT)];
    let mut found = Found { spans: Vec::new(), taken: vec![false; prompt.len()] };
    quotes(prompt, &mut found);
    bare(prompt, &mut found);
    found.spans.sort_by_key(|s| s.range.start);
    found.spans
}

/// The values that need no quotation marks.
fn bare(prompt: &str, found: &mut Found) {
    urls(prompt, found);
    for m in EMAIL.find_iter(prompt) {
        found.add(Kind::Email, m.range(), m.as_str().to_string(), None);
    }
    dates(prompt, found);
    times(prompt, found);
    paths(prompt, found);
    ids(prompt, found);
    numbers(prompt, found);
    number_words(prompt, found);
}

/// The values so far, and which bytes of the prompt they take.
struct Found {
    spans: Vec<Span>,
    taken: Vec<bool>,
}

impl Found {
    fn is_free(&self, range: &Range<usize>) -> bool {
        self.taken.get(range.clone()).is_some_and(|t| t.iter().all(|taken| !taken))
    }

    fn add(&mut self, kind: Kind, range: Range<usize>, text: String, number: Option<Number>) {
        if self.spans.len() < MAX_SPANS && !range.is_empty() && self.is_free(&range) {
            self.taken[range.clone()].fill(true);
            self.spans.push(Span { kind, range, text, number, spelled: false, inner: None });
        }
    }
}

fn urls(prompt: &str, found: &mut Found) {
    for m in URL.find_iter(prompt) {
        let text = m.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?']);
        found.add(Kind::Url, m.start()..m.start() + text.len(), text.to_string(), None);
    }
}

fn quotes(prompt: &str, found: &mut Found) {
    for pattern in [&QUOTED, &SINGLE] {
        for c in pattern.captures_iter(prompt) {
            let Some(inner) = c.iter().skip(1).flatten().next() else { continue };
            let text = inner.as_str().trim();
            if text.is_empty() || text.len() > MAX_QUOTE {
                continue;
            }
            let start = inner.start() + inner.as_str().len() - inner.as_str().trim_start().len();
            let range = start..start + text.len();
            let before = found.spans.len();
            found.add(Kind::Quoted, range, text.to_string(), None);
            if found.spans.len() > before
                && let Some(last) = found.spans.last_mut()
            {
                last.inner = whole(text).map(Box::new);
            }
        }
    }
}

/// The one value that a text wholly is, if it is one.
fn whole(text: &str) -> Option<Span> {
    let mut found = Found { spans: Vec::new(), taken: vec![false; text.len()] };
    bare(text, &mut found);
    found.spans.into_iter().find(|s| s.range.len() == text.len())
}

fn dates(prompt: &str, found: &mut Found) {
    for m in DATE_TIME.find_iter(prompt) {
        let text = m.as_str().replacen(' ', "T", 1);
        if text.get(..19).unwrap_or(&text).parse::<jiff::civil::DateTime>().is_ok() {
            found.add(Kind::DateTime, m.range(), text, None);
        }
    }
    for m in DATE.find_iter(prompt) {
        if m.as_str().parse::<jiff::civil::Date>().is_ok() {
            found.add(Kind::Date, m.range(), m.as_str().to_string(), None);
        }
    }
    for m in SLASHED.find_iter(prompt) {
        if !glued(prompt, &m.range()) {
            found.add(Kind::LooseDate, m.range(), m.as_str().to_string(), None);
        }
    }
    for (pattern, order) in [(&DAY_MONTH, [1, 2]), (&MONTH_DAY, [2, 1])] {
        for c in pattern.captures_iter(prompt) {
            let part = |i: usize| c.get(i).map_or("", |m| m.as_str());
            let (day, month, year) = (part(order[0]), month(part(order[1])), part(3));
            let (Some(month), Ok(day), Ok(year)) = (month, day.parse(), year.parse()) else {
                continue;
            };
            if let (Ok(date), Some(all)) = (jiff::civil::Date::new(year, month, day), c.get(0)) {
                found.add(Kind::Date, all.range(), date.to_string(), None);
            }
        }
    }
}

/// The month a word names, 1 to 12, in full or by three letters or more.
fn month(word: &str) -> Option<i8> {
    let word = word.to_ascii_lowercase();
    let is = |m: &&str| m.starts_with(&word) && (word.len() == 3 || word.len() >= m.len().min(4));
    MONTHS.iter().position(|m| word.len() >= 3 && is(m)).map(|i| i as i8 + 1)
}

fn times(prompt: &str, found: &mut Found) {
    for c in TIME.captures_iter(prompt) {
        let (Some(all), half) = (c.get(0), c.get(4)) else { continue };
        if half.is_none() && c.get(2).is_none() {
            continue;
        }
        let part = |i: usize| c.get(i).map_or(Ok(0), |m| m.as_str().parse::<u8>());
        let (Ok(hour), Ok(minute), Ok(second)) = (part(1), part(2), part(3)) else { continue };
        let hour = match half.map(|h| h.as_str().eq_ignore_ascii_case("p")) {
            Some(_) if !(1..=12).contains(&hour) => continue,
            Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
            None => hour,
        };
        if hour > 23 || minute > 59 || second > 59 || glued(prompt, &all.range()) {
            continue;
        }
        let text = match c.get(3) {
            Some(_) => format!("{hour:02}:{minute:02}:{second:02}"),
            None => format!("{hour:02}:{minute:02}"),
        };
        let end = all.start() + all.as_str().trim_end_matches('.').len();
        found.add(Kind::Time, all.start()..end, text, None);
    }
}

/// Whether a piece of text is part of a longer run of digits, dots and colons.
fn glued(prompt: &str, range: &Range<usize>) -> bool {
    let bytes = prompt.as_bytes();
    let before = range.start.checked_sub(1).and_then(|i| bytes.get(i));
    let (after, next) = (bytes.get(range.end), bytes.get(range.end + 1));
    before.is_some_and(|b| matches!(b, b':' | b'.' | b',' | b'-' | b'/'))
        || after.is_some_and(|b| matches!(b, b':' | b'/' | b'-'))
            && next.is_some_and(u8::is_ascii_digit)
}

fn paths(prompt: &str, found: &mut Found) {
    for m in PATH.find_iter(prompt) {
        let text = m.as_str().trim_end_matches(['.', '@', '-']);
        let before = prompt[..m.start()].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '<')) {
            continue;
        }
        let name = text.rsplit(['/', '\\']).next().unwrap_or("");
        let ending = name.rsplit_once('.').map_or("", |(_, e)| e).to_ascii_lowercase();
        let file = !ending.is_empty() && ENDINGS.contains(&format!(" {ending} "));
        let rooted = text.starts_with(['/', '~', '.']) || text.get(1..3) == Some(":\\");
        let deep = text.matches('/').count() >= 2 && text.chars().any(char::is_alphabetic);
        let fraction = text.split('/').all(|p| p.bytes().all(|b| b.is_ascii_digit()));
        if file || ((rooted || deep) && text.len() > 1 && !fraction) {
            found.add(Kind::Path, m.start()..m.start() + text.len(), text.to_string(), None);
        }
    }
}

fn ids(prompt: &str, found: &mut Found) {
    for m in VERSION.find_iter(prompt) {
        found.add(Kind::Id, m.range(), m.as_str().to_string(), None);
    }
    for m in ID.find_iter(prompt) {
        let text = m.as_str();
        let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let hash = text.starts_with('#');
        if !hash && text.parse::<f64>().is_ok() {
            continue;
        }
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit()).len() == letters
            && letters <= 4
            && digits <= 4
            && text.starts_with(|c: char| c.is_ascii_digit());
        let bordered = !prompt[..m.start()].ends_with(|c: char| c.is_alphanumeric() || c == '.');
        if hash || (letters > 0 && digits > 0 && !unit && bordered) {
            found.add(Kind::Id, m.range(), text.trim_start_matches('#').to_string(), None);
        }
    }
}

fn numbers(prompt: &str, found: &mut Found) {
    for m in NUMBER.find_iter(prompt) {
        let (mut start, text) = (m.start(), m.as_str());
        let before = prompt[..start].chars().next_back();
        let signed = text.starts_with(['-', '+']);
        let dotted = rest_is_digit(&prompt[m.end()..]) || is_decimal_tail(&prompt[..start]);
        if dotted {
            continue;
        }
        let joined = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
        if before == Some('^') {
            continue;
        }
        if joined && !signed {
            continue;
        }
        let digits = if joined { &text[1..] } else { text };
        start = m.end() - digits.len();
        let rest = &prompt[m.end()..];
        let suffix: String = rest.chars().take(6).take_while(|c| c.is_alphanumeric()).collect();
        let odd = matches!(suffix.as_str(), "k" | "K") || suffix.chars().any(char::is_numeric);
        if suffix.len() > 5 || odd || rest.starts_with(['_']) {
            continue;
        }
        let (scale, longer) = magnitude(rest);
        let plain = digits.replace(',', "");
        if let Some(number) = scaled(plain.trim_start_matches('+'), scale) {
            let range = start..m.end() + longer;
            found.add(Kind::Number, range, number.to_string(), Some(number));
        }
    }
}

/// Whether a dot and a digit follow, as in a version or an address.
fn rest_is_digit(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether the text ends in a digit and a dot, or in a digit where a decimal follows.
fn is_decimal_tail(text: &str) -> bool {
    let head = text.strip_suffix('.').unwrap_or("");
    head.ends_with(|c: char| c.is_ascii_digit())
}

/// The factor of a word like `million` that follows, and the bytes up to its end.
fn magnitude(rest: &str) -> (f64, usize) {
    let word: String = match rest.strip_prefix(' ') {
        Some(rest) => rest.chars().take(9).take_while(char::is_ascii_alphabetic).collect(),
        None => return (1.0, 0),
    };
    let factor = match word.to_ascii_lowercase().as_str() {
        "hundred" => 1e2,
        "thousand" => 1e3,
        "million" => 1e6,
        "billion" => 1e9,
        "trillion" => 1e12,
        _ => return (1.0, 0),
    };
    (factor, 1 + word.len())
}

/// A JSON number of a decimal text times a factor; whole numbers come out as integers.
fn scaled(text: &str, factor: f64) -> Option<Number> {
    if factor == 1.0
        && let Ok(whole) = text.parse::<i64>()
    {
        return Some(whole.into());
    }
    if text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) && text.len() > 15 {
        return None; // it would lose digits
    }
    let value = text.parse::<f64>().ok()? * factor;
    if factor > 1.0 && value.fract() == 0.0 && value.abs() < 9e15 {
        return Some((value as i64).into());
    }
    Number::from_f64(value)
}

fn number_words(prompt: &str, found: &mut Found) {
    for m in WORD.find_iter(prompt) {
        let word = m.as_str().to_ascii_lowercase();
        let Some((_, value)) = NUMBER_WORDS.iter().find(|(w, _)| *w == word) else { continue };
        let (scale, longer) = magnitude(&prompt[m.end()..]);
        let near = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '.');
        let alone = !prompt[..m.start()].ends_with(near)
            && !prompt[m.end()..].starts_with(|c| near(c) && c != '.');
        if let (true, Some(number)) = (alone, scaled(&value.to_string(), scale)) {
            let range = m.start()..m.end() + longer;
            let before = found.spans.len();
            found.add(Kind::Number, range, number.to_string(), Some(number));
            for span in &mut found.spans[before..] {
                span.spelled = true;
            }
        }
    }
}
