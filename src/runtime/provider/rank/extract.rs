//! A tool's arguments out of a prompt, by the JSON Schema of its parameters.
//!
//! Values are found by their looks ([`super::spans`]), then dealt to parameters: each pair of a
//! parameter and a value it may take is rated by how near the value stands to the words of the
//! parameter's name and description, and the best pairs are taken first. Nothing is invented: an
//! argument is text of the prompt, a member of the parameter's own enum whose words stand in the
//! prompt, or a boolean the prompt states.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};

use super::params::{Need, Param, params};
use super::phrase;
use super::spans::{self, Span};
use super::text::{self, Stems};

/// Most words of a prompt that are looked at around values.
const MAX_WORDS: usize = 8192;
/// How far, in words, a word of a parameter reaches.
const REACH: usize = 6;

/// Most required parameters that are kept.
const MAX_REQUIRED: usize = 256;

/// Least nearness, see [`State::affinity`], of a value for a parameter that is not required.
const NEAR: f64 = 0.5;
/// Least fit of a value that no word of the parameter stands near.
const SURE: f64 = 0.25;

/// The arguments found in a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extracted {
    /// Parameter to value; only what was found.
    pub arguments: Map<String, Value>,
    /// Where each argument came from, as bytes of the prompt, in the order of the prompt; an
    /// array has one entry for each of its items.
    pub spans: Vec<(String, Range<usize>)>,
    /// Required parameters without a value, in the order of the schema's `required`.
    pub missing_required: Vec<String>,
}

/// One word of a prompt.
pub(super) struct Word {
    pub(super) range: Range<usize>,
    pub(super) lower: String,
    pub(super) stem: String,
}

/// Fills a tool's arguments with the values a prompt shows.
///
/// `schema` is a JSON Schema object with `properties` and `required`; anything else gives no
/// arguments. Only the first 64 KiB of the prompt are read. Dates are taken as ISO 8601 or as
/// day, month name and year; `tomorrow` and the like are not resolved.
pub fn extract(prompt: &str, schema: &Value) -> Extracted {
    Reading::new(prompt).fill(&Asked::of(schema))
}

/// What a schema asks for, read once for many prompts.
pub(super) struct Asked {
    params: Vec<Param>,
    /// Names listed as required, also those without a schema.
    pub(super) required: Vec<String>,
}

impl Asked {
    pub(super) fn of(schema: &Value) -> Asked {
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut names: Vec<String> = Vec::new();
        for name in required.filter_map(Value::as_str).take(MAX_REQUIRED) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        }
        Asked { params: params(schema), required: names }
    }
}

/// A prompt, read once for many schemas.
pub(super) struct Reading<'a> {
    prompt: &'a str,
    words: Vec<Word>,
    pub(super) spans: Vec<Span>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(prompt: &'a str) -> Reading<'a> {
        let prompt = &prompt[..prompt.floor_char_boundary(spans::MAX_PROMPT)];
        Reading { prompt, words: words(prompt, text::stems()), spans: spans::find(prompt) }
    }

    /// Fills the parameters that are asked for.
    pub(super) fn fill(&self, asked: &Asked) -> Extracted {
        let mut state = State {
            prompt: self.prompt,
            words: &self.words,
            spans: &self.spans,
            used: vec![false; self.spans.len()],
            out: BTreeMap::new(),
        };
        let params = &asked.params;
        state.fill_stated(params);
        state.deal(params);
        state.fill_rest(params);
        state.fill_phrases(params);
        state.finish(&asked.required)
    }
}

/// The words of a prompt with their places.
fn words(prompt: &str, stems: &Stems) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let mut start = None;
    for (i, c) in prompt.char_indices().chain([(prompt.len(), ' ')]) {
        match (c.is_alphanumeric() || c == '\'', start) {
            (true, None) => start = Some(i),
            (false, Some(s)) => {
                let lower = prompt[s..i].trim_matches('\'').to_lowercase();
                let stem = stems.stem(&lower);
                out.push(Word { range: s..i, lower, stem });
                start = None;
            }
            _ => {}
        }
        if out.len() == MAX_WORDS {
            break;
        }
    }
    out
}

/// A found argument: its value and the places it came from.
type Filled = (Value, Vec<Range<usize>>);

struct State<'a> {
    prompt: &'a str,
    words: &'a [Word],
    spans: &'a [Span],
    used: Vec<bool>,
    out: BTreeMap<String, Filled>,
}

impl State<'_> {
    /// Fills what the prompt states in words: booleans, and enum members, nearest first, each
    /// place in the prompt for one parameter only.
    fn fill_stated(&mut self, params: &[Param]) {
        let mut pairs: Vec<(f64, usize, Value, Range<usize>)> = Vec::new();
        for (p, param) in params.iter().enumerate() {
            match &param.need {
                Need::Boolean => {
                    let found = phrase::boolean(self.words, param);
                    self.give(param, found.into_iter().collect());
                }
                Need::Enum(members) => {
                    let hits = phrase::members(self.words, self.prompt, members);
                    if param.array {
                        self.give(param, hits);
                        continue;
                    }
                    for (value, range) in hits {
                        pairs.push((self.affinity(param, &range), p, value, range));
                    }
                }
                Need::Text(None, _) if !param.array => {
                    for (value, range) in phrase::members(self.words, self.prompt, &param.shown) {
                        pairs.push((self.affinity(param, &range), p, value, range));
                    }
                }
                _ => {}
            }
        }
        pairs.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.3.start.cmp(&b.3.start))
        });
        let mut taken: Vec<Range<usize>> = Vec::new();
        for (_, p, value, range) in pairs {
            let free = taken.iter().all(|t| !overlap(t, &range));
            if free && !self.out.contains_key(&params[p].name) {
                taken.push(range.clone());
                self.give(&params[p], vec![(value, range)]);
            }
        }
    }

    /// Stores values for a parameter and marks the spans they overlap as used.
    fn give(&mut self, param: &Param, found: Vec<(Value, Range<usize>)>) {
        if found.is_empty() || self.out.contains_key(&param.name) {
            return;
        }
        for (span, used) in self.spans.iter().zip(&mut self.used) {
            if found.iter().any(|(_, r)| r.start < span.range.end && span.range.start < r.end) {
                *used = true;
            }
        }
        let (mut values, ranges): (Vec<Value>, Vec<Range<usize>>) = found.into_iter().unzip();
        let value = if param.array { Value::Array(values) } else { values.swap_remove(0) };
        self.out.insert(param.name.clone(), (value, ranges));
    }

    /// Deals values to parameters, nearest pairs first.
    fn deal(&mut self, params: &[Param]) {
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (p, param) in params.iter().enumerate() {
            for (s, span) in self.spans.iter().enumerate() {
                let fit = param.fit(span);
                let near = self.affinity(param, &span.range) * param.lead();
                let least = if param.required { 0.0 } else { NEAR };
                if fit > 0.0 && near > least {
                    pairs.push((near + fit, p, s));
                }
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, p, s) in pairs {
            self.take(&params[p], s);
        }
    }

    /// Gives a value to a parameter, if both are free; an array takes its whole list.
    fn take(&mut self, param: &Param, s: usize) {
        if self.used[s] || self.out.contains_key(&param.name) {
            return;
        }
        let range = if param.array { self.list_around(param, s) } else { s..s + 1 };
        let found: Vec<(Value, Range<usize>)> = self.spans[range]
            .iter()
            .filter_map(|span| Some((param.value(span)?, span.range.clone())))
            .collect();
        self.give(param, found);
    }

    /// The run of neighbouring free values around one that only `,`, `and` and the like part.
    fn list_around(&self, param: &Param, s: usize) -> Range<usize> {
        let joins = |a: usize, b: usize| {
            let (left, right) = (&self.spans[a], &self.spans[b]);
            let gap = self.prompt.get(left.range.end..right.range.start).unwrap_or("x");
            let plain = gap.len() <= 12
                && gap
                    .split(|c: char| !c.is_alphabetic())
                    .all(|w| matches!(w, "" | "and" | "or" | "plus"));
            plain && param.fit(left) > 0.0 && param.fit(right) > 0.0
        };
        let (mut start, mut end) = (s, s + 1);
        while start > 0 && !self.used[start - 1] && joins(start - 1, start) {
            start -= 1;
        }
        while end < self.spans.len() && !self.used[end] && joins(end - 1, end) {
            end += 1;
        }
        start..end
    }

    /// Gives what is left in the order of the text: to required parameters every value that
    /// fits, to others only the sole value of a kind that names itself (an address, a date) or the
    /// sole number where they alone take numbers.
    fn fill_rest(&mut self, params: &[Param]) {
        for required in [true, false] {
            let least = if required { f64::MIN_POSITIVE } else { SURE };
            for param in params.iter().filter(|p| p.required == required) {
                let free: Vec<usize> = (0..self.spans.len())
                    .filter(|s| !self.used[*s] && param.fit(&self.spans[*s]) >= least)
                    .collect();
                let best = free.iter().copied().max_by(|a, b| {
                    let fit = |s: &usize| param.fit(&self.spans[*s]);
                    fit(a).total_cmp(&fit(b)).then(b.cmp(a))
                });
                let sole = match free[..] {
                    [s] if param.takes_numbers() => {
                        let rivals = params.iter().filter(|p| p.takes_numbers()).count();
                        rivals == 1 && !self.spans[s].spelled
                    }
                    [_] => param.names_itself(),
                    _ => false,
                };
                if let Some(s) = best.filter(|_| required || sole) {
                    self.take(param, s);
                }
            }
        }
    }

    /// Gives required free strings the best phrases after prepositions, best pairs first.
    fn fill_phrases(&mut self, params: &[Param]) {
        let phrases = phrase::after_prepositions(self.prompt, self.words);
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (p, param) in params.iter().enumerate() {
            if !(param.required && param.takes_phrases()) || self.out.contains_key(&param.name) {
                continue;
            }
            for (i, phrase) in phrases.iter().enumerate() {
                let text = self.prompt.get(phrase.range.clone()).unwrap_or("");
                if param.allows(text) {
                    let cue = if param.cues.contains(&phrase.preposition) { 2.0 } else { 0.0 };
                    let near = self.affinity(param, &phrase.range);
                    pairs.push((cue + near + 0.1 * phrase.weight as f64, p, i));
                }
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, p, i) in pairs {
            let range = phrases[i].range.clone();
            if self.taken().iter().all(|t| !overlap(t, &range)) {
                let text = self.prompt.get(range.clone()).unwrap_or("").to_string();
                self.give(&params[p], vec![(Value::String(text), range)]);
            }
        }
    }

    /// The places that arguments came from so far.
    fn taken(&self) -> Vec<Range<usize>> {
        self.out.values().flat_map(|(_, ranges)| ranges.iter().cloned()).collect()
    }

    /// How near the words of a parameter stand to a place in the prompt; 0 when none is within
    /// reach. A word before the value counts a little more than one behind it, and half when
    /// another value lies between.
    fn affinity(&self, param: &Param, range: &Range<usize>) -> f64 {
        let first = self.words.partition_point(|w| w.range.end <= range.start);
        let behind = self.words.partition_point(|w| w.range.start < range.end);
        let mut sum = 0.0;
        let mut seen: Vec<&str> = Vec::new();
        let before = (1..=REACH.min(first)).map(|d| (first - d, d, 1.0));
        let after = (1..=REACH).map(|d| (behind + d - 1, d, 0.8));
        let mut near: Vec<(usize, usize, f64)> =
            before.chain(after.filter(|(i, ..)| *i < self.words.len())).collect();
        near.sort_by_key(|(i, d, _)| (*d, *i));
        for (i, distance, side) in near {
            let word = &self.words[i];
            let cue = distance == 1 && i < first && param.cues.contains(&word.lower.as_str());
            let weight = param.words.get(&word.stem).copied().unwrap_or(0.0);
            let weight = if cue { weight.max(1.5) } else { weight };
            if weight == 0.0 || seen.contains(&word.stem.as_str()) {
                continue;
            }
            seen.push(&word.stem);
            let gap = word.range.end.min(range.end)..range.start.max(word.range.start);
            let parted = self.spans.iter().any(|s| {
                gap.start <= s.range.start && s.range.end <= gap.end && !overlap(range, &s.range)
            });
            sum += weight * side / distance as f64 * if parted { 0.5 } else { 1.0 };
        }
        sum
    }

    /// The result, with what is missing.
    fn finish(self, required: &[String]) -> Extracted {
        let mut out = Extracted::default();
        for (name, (value, ranges)) in self.out {
            out.spans.extend(ranges.into_iter().map(|r| (name.clone(), r)));
            out.arguments.insert(name, value);
        }
        out.spans.sort_by(|a, b| (a.1.start, a.1.end, &a.0).cmp(&(b.1.start, b.1.end, &b.0)));
        let missing = required.iter().filter(|name| !out.arguments.contains_key(*name));
        out.missing_required = missing.cloned().collect();
        out
    }
}

/// Whether two ranges overlap.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
