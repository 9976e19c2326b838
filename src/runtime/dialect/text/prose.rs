//! What markdown quotes: code fences, code spans, quoted lines.

use std::collections::BTreeMap;

/// The line that begins at `at`, without its break.
pub(super) fn line(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let line = rest.split('\n').next().unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// Where the line after the one at `at` begins, or the end of the text.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

/// Whether only blanks stand between the start of its line and `at`.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// Whether a line is quoted.
pub(super) fn is_quote(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// The line that opens a code block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fence<'a> {
    mark: char,
    run: usize,
    indent: usize,
    listed: bool,
    info: &'a str,
}

impl<'a> Fence<'a> {
    /// Reads an opening line, also as the first of a list item.
    pub(super) fn open(line: &'a str) -> Option<Self> {
        let (mut rest, mut listed) = (line.trim_start(), false);
        while let Some(item) = list_item(rest) {
            (rest, listed) = (item, true);
        }
        let indent = line.len() - rest.len();
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let run = rest.len() - info.len();
        let info = info.trim();
        let fence = run >= 3 && !(mark == '`' && info.contains('`'));
        fence.then_some(Self { mark, run, indent, listed, info })
    }

    /// Whether the block is one of the protocol.
    pub(super) fn is_protocol(&self) -> bool {
        self.mark == '`'
            && self.indent <= 3
            && !self.listed
            && matches!(self.info, "tool_call" | "tool_calls")
    }

    /// Length of the closing fence that `text` begins with.
    pub(super) fn closing(&self, text: &str) -> Option<usize> {
        let line = line(text, 0);
        let rest = line.trim_start_matches(self.mark);
        let run = line.len() - rest.len();
        (run >= self.run && rest.trim().is_empty()).then_some(run)
    }

    /// The first place after the block whose content goes on at `at`: behind its closing line, or
    /// the end of the text.
    pub(super) fn end(&self, text: &str, mut at: usize) -> usize {
        while at < text.len() {
            let line = line(text, at);
            at = next_line(text, at);
            let rest = line.trim_start();
            if line.len() - rest.len() <= self.indent + 3 && self.closing(rest).is_some() {
                return at;
            }
        }
        text.len()
    }
}

fn list_item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+'])
    };
    let item = marked?;
    item.starts_with([' ', '\t']).then(|| item.trim_start())
}

/// A run of backticks.
#[derive(Debug)]
struct Run {
    at: usize,
    /// The next run of the same length in its paragraph.
    next: Option<usize>,
    /// Where the last run of the same length in its paragraph begins.
    last: usize,
}

/// The code spans of a text, asked for from its start to its end.
#[derive(Debug)]
pub(super) struct Spans {
    runs: Vec<Run>,
    cursor: usize,
}

impl Spans {
    /// Finds all runs of backticks, and which of them may belong together.
    pub(super) fn of(text: &str) -> Self {
        let mut runs = Vec::new();
        let mut paragraph: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let line = line(text, at);
            if line.trim().is_empty() || is_quote(line) || Fence::open(line).is_some() {
                pair(&mut paragraph, &mut runs);
            } else {
                backticks(line, at, &mut paragraph);
            }
            at = next_line(text, at);
        }
        pair(&mut paragraph, &mut runs);
        Self { runs, cursor: 0 }
    }

    /// Whether a code span that begins between `paragraph` and `start` reaches over `start` and
    /// may end behind `end`. The places must not go back from one question to the next.
    pub(super) fn cover(&mut self, paragraph: usize, start: usize, end: usize) -> bool {
        while let Some(run) = self.runs.get(self.cursor).filter(|run| run.at < start) {
            let next = run.next.filter(|_| run.at >= paragraph);
            match next.and_then(|next| Some((next, self.runs.get(next)?))) {
                Some((next, closing)) if closing.at < start => self.cursor = next + 1,
                Some(_) => return run.last >= end,
                None => self.cursor += 1,
            }
        }
        false
    }
}

/// Adds where each run of backticks in a line begins, and its length.
fn backticks(line: &str, at: usize, found: &mut Vec<(usize, usize)>) {
    let mut rest = line;
    while let Some(tick) = rest.find('`') {
        let after = rest[tick..].trim_start_matches('`');
        let begin = at + line.len() - rest.len() + tick;
        found.push((begin, rest.len() - tick - after.len()));
        rest = after;
    }
}

/// Closes a paragraph: links its runs by length.
fn pair(paragraph: &mut Vec<(usize, usize)>, runs: &mut Vec<Run>) {
    let first = runs.len();
    let mut known: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (index, (at, len)) in paragraph.drain(..).enumerate().rev() {
        let next = known.get(&len).map(|(next, _)| *next);
        let last = known.get(&len).map_or(at, |(_, last)| *last);
        known.insert(len, (first + index, last));
        runs.push(Run { at, next, last });
    }
    runs[first..].reverse();
}

/// The text with the backticks of every fence of the protocol as entities.
pub(super) fn without_protocol_fences(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("```") {
        let after = rest[at..].trim_start_matches('`');
        let run = rest.len() - at - after.len();
        let blank = |c: char| c.is_whitespace() && c != '\n';
        let info = after.trim_start_matches(blank).strip_prefix("tool_call");
        let end = info.map(|more| more.strip_prefix('s').unwrap_or(more).trim_start_matches(blank));
        let forged = end.is_some_and(|end| end.is_empty() || end.starts_with('\n'));
        out.push_str(&rest[..at]);
        out.push_str(&if forged { "&#96;" } else { "`" }.repeat(run));
        rest = after;
    }
    out.push_str(rest);
    out
}
