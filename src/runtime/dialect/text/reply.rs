//! A reply under the text protocol: one walk from its start to its end, past everything that is
//! no call because of where it stands.
//!
//! A block counts at the start of a line, and behind a block that counted. It counts neither in
//! reasoning nor in results, code, or quoted lines.

use super::block::{Block, Blocks, bare};
use super::lex::tag;
use super::prose::{Fence, Spans, begins_line, is_quote, line, next_line};
use super::rules::TextRules;
use crate::runtime::dialect::proposed::{Origin, RawCall};

/// Tags around reasoning.
const THOUGHT: [&str; 2] = ["think", "thinking"];
/// Tags around what tools said.
const RESULT: [&str; 4] = ["tool_result", "tool_results", "tool_response", "function_results"];
/// Deeper than this, a line is code.
const INDENT: usize = 3;

/// Takes the calls out of a reply, in model order, and leaves the rest as text.
pub fn parse(text: &str, rules: TextRules) -> (Option<String>, Vec<RawCall>) {
    if rules.primary().is_none() {
        return (kept(text), Vec::new());
    }
    if rules.allow(Origin::Bare)
        && let Some(call) = bare(text)
    {
        return (None, vec![call]);
    }
    let mut walk = Walk {
        text,
        rules,
        blocks: Blocks::new(text, rules),
        code: Spans::of(text),
        at: 0,
        paragraph: 0,
        thought: false,
        rest: String::new(),
        calls: Vec::new(),
    };
    while walk.at < text.len() {
        walk.line();
    }
    (kept(&walk.rest), walk.calls)
}

fn kept(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

struct Walk<'a> {
    text: &'a str,
    rules: TextRules,
    blocks: Blocks<'a>,
    code: Spans,
    at: usize,
    /// Where the present paragraph began.
    paragraph: usize,
    /// Whether reasoning was seen.
    thought: bool,
    rest: String,
    calls: Vec<RawCall>,
}

impl Walk<'_> {
    /// Goes from the start of a line to the start of another one.
    fn line(&mut self) {
        let line = line(self.text, self.at);
        let next = next_line(self.text, self.at);
        if let Some(fence) = Fence::open(line) {
            if self.rules.fenced && fence.is_protocol() {
                let block = self.blocks.fenced(self.at, next, &fence);
                self.take(block);
                self.end_of_line();
            } else {
                self.keep(fence.end(self.text, next));
            }
            self.paragraph = self.at;
        } else if is_quote(line) || line.trim().is_empty() {
            self.keep(next);
            self.paragraph = next;
        } else {
            let indent = &line[..blanks(line)];
            self.parts(indent.len() <= INDENT && !indent.contains('\t'));
        }
    }

    /// Blocks, regions and prose, up to the end of a line.
    fn parts(&mut self, mut open: bool) {
        loop {
            while open {
                let begin = self.at + blanks(&self.text[self.at..]);
                let Some(block) = self.blocks.at(begin) else { break };
                if self.code.cover(self.paragraph, begin, block.end) {
                    self.keep(block.end);
                    open = false;
                } else {
                    self.take(block);
                    if self.end_of_line() {
                        return;
                    }
                }
            }
            if !self.prose() {
                return;
            }
            open = true;
        }
    }

    /// Keeps text up to the end of the line, or up to the end of a region that begins in it.
    fn prose(&mut self) -> bool {
        let end = next_line(self.text, self.at);
        let mut from = self.at;
        while let Some(found) = self.text[from..end].find('<') {
            let at = from + found;
            if let Some(stop) = self.region(at) {
                self.keep(stop);
                self.paragraph = stop;
                return true;
            }
            from = at + 1;
        }
        self.keep(end);
        false
    }

    /// The end of the reasoning or the result that begins at `at`. What is never closed ends
    /// with the reply.
    fn region(&mut self, at: usize) -> Option<usize> {
        let tag = tag(&self.text[at..])?;
        let (inside, thought) = (at + tag.len, THOUGHT.contains(&tag.local()));
        if !thought && !RESULT.contains(&tag.local()) {
            return None;
        }
        if self.code.cover(self.paragraph, at, inside) {
            return None;
        }
        match (thought, tag.closing) {
            (true, false) => {
                self.thought = true;
                Some(self.thought_end(tag.name, inside))
            }
            // It was opened by the prompt: all that came before was reasoning.
            (true, true) if !self.thought => {
                self.thought = true;
                self.calls.clear();
                self.text[..at].clone_into(&mut self.rest);
                self.at = at;
                Some(inside)
            }
            (false, false) => {
                let first = begins_line(self.text, at);
                let close = self.blocks.close(tag.name, inside);
                let close = close.map(|close| close + tag.name.len() + "</>".len());
                close.or_else(|| first.then_some(self.text.len()))
            }
            _ => None,
        }
    }

    /// Behind the closing tag of reasoning; one in backticks is only spoken of.
    fn thought_end(&self, name: &str, inside: usize) -> usize {
        let close = format!("</{name}>");
        let mut closes = self.text[inside..].match_indices(&close).map(|(at, _)| inside + at);
        let spoken = |at: usize| {
            let (before, after) = (&self.text[..at], &self.text[at + close.len()..]);
            before.ends_with('`') && after.starts_with('`')
        };
        let real = closes.find(|at| !spoken(*at));
        real.map_or(self.text.len(), |at| at + close.len())
    }

    fn keep(&mut self, end: usize) {
        self.rest.push_str(&self.text[self.at..end]);
        self.at = end;
    }

    fn take(&mut self, block: Block) {
        self.calls.extend(block.calls);
        self.at = block.end;
        self.paragraph = block.end;
    }

    /// Drops a line that has nothing left on it; a line that had text before keeps its break.
    fn end_of_line(&mut self) -> bool {
        let line = line(self.text, self.at);
        if !line.trim().is_empty() {
            return false;
        }
        if !self.rest.is_empty() && !self.rest.ends_with('\n') {
            self.rest.push('\n');
        }
        self.at = next_line(self.text, self.at);
        true
    }
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}
