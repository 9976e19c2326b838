//! The index over one list of tools: postings per term, per thesaurus group and per word pair.

use std::collections::{HashMap, HashSet};

use super::text::{self, Stems};
use super::{Field, ToolDoc, groups};

/// Number of fields.
pub(super) const FIELDS: usize = Field::ALL.len();
/// Position of [`Field::AvoidWhen`], the field that counts negatively.
pub(super) const AVOID: usize = FIELDS - 1;
/// Most bytes of one field that are indexed.
const MAX_FIELD: usize = 64 * 1024;
/// Distinct trigrams over a to z with the marks of begin and end.
const GRAMS: usize = 28 * 28 * 28;

/// The constants of the ranking formula.
///
/// [`Tuning::default`] was found by a search one constant at a time (`examples/choose.rs`) for the
/// best mean of top-1 and reciprocal rank on the `calibration` suite and the prompts that are not
/// frozen of two others, together with top-1 and recall@5 on half of MetaTool, and then rounded;
/// around it the value is flat, so no constant sits on a peak. Nothing is set per tool or suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// Weight of a term in each field, in the order of [`Field::ALL`]; the last is the weight
    /// of the penalty. It is small, as such texts mostly say which other tool to use, in words
    /// the tool itself is asked for in.
    pub field: [f64; 6],
    /// Length normalisation per field, 0 (none) to 1 (full): BM25F's `b_f`.
    pub b: [f64; 6],
    /// Saturation of the weighted term frequency: BM25F's `k1`.
    pub k1: f64,
    /// Share of a word of the request's own language (`find`, `information`).
    pub weak: f64,
    /// Share of particles and words of asking (`off`, `show`).
    pub light: f64,
    /// Share of words inside of values: quotes, paths, addresses, codes, `key=value`.
    pub value: f64,
    /// Share of words the prompt denies; a negative one would count against a tool.
    pub denied: f64,
    /// Weight of a thesaurus group against the words themselves.
    pub group: f64,
    /// What a group loses in a tool that shows the prompt's own word, 0 to 1.
    pub group_own: f64,
    /// Saturation of a group's frequency in a tool.
    pub group_k: f64,
    /// Share of a word that stands after the bar of its group, in tools.
    pub hint_doc: f64,
    /// The same, in prompts.
    pub hint_query: f64,
    /// How fast several prompt words of one group saturate.
    pub group_q: f64,
    /// Weight of two neighbouring prompt words that are neighbours in a tool.
    pub pair: f64,
    /// Weight of a word met through its letters, times their similarity.
    pub fuzzy: f64,
    /// Least similarity (Dice coefficient of trigrams) of two words.
    pub fuzzy_min: f64,
    /// Power of the idf.
    pub idf_power: f64,
    /// Share of its score that a tool loses when none of its required parameters finds a value.
    pub fit_missing: f64,
    /// Share of its score that a tool loses when its parameters take none of the values shown.
    pub fit_unused: f64,
    /// Share of its score that a tool gains when all of its required parameters find values
    /// shown literally.
    pub fit_found: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            field: [1.6, 1.0, 1.4, 0.7, 0.5, 0.15],
            b: [0.4, 0.3, 0.25, 0.75, 0.5, 0.5],
            k1: 2.0,
            weak: 0.6,
            light: 0.3,
            value: 0.15,
            denied: 0.0,
            group: 0.5,
            group_own: 0.8,
            group_k: 2.5,
            hint_doc: 0.0,
            hint_query: 0.65,
            group_q: 8.0,
            pair: 0.65,
            fuzzy: 0.2,
            fuzzy_min: 0.5,
            idf_power: 1.0,
            fit_missing: 0.25,
            fit_unused: 0.3,
            fit_found: 0.35,
        }
    }
}

impl Tuning {
    /// Saturated frequency, below 1, of a word that a tool shows in its name and its summary.
    pub(super) fn full(&self) -> f64 {
        let tf = self.field[0] + self.field[1];
        tf / (self.k1 + tf).max(1e-9)
    }
}

/// How often something occurs in one tool: weighted, length-normalised counts per field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    /// The tool.
    pub(super) tool: u32,
    /// Counts in the order of [`Field::ALL`].
    pub(super) tf: [f32; FIELDS],
}

impl Posting {
    /// Sum of the fields that speak for the tool.
    pub(super) fn positive(&self) -> f64 {
        self.tf[..AVOID].iter().map(|t| f64::from(*t)).sum()
    }

    /// Count in the field that speaks against the tool; 0 where the others hold it too, as "not
    /// for historical weather" is no reason to avoid a weather tool for the word weather.
    pub(super) fn negative(&self) -> f64 {
        if self.positive() > 0.0 { 0.0 } else { f64::from(self.tf[AVOID]) }
    }
}

/// An index over one list of tools; built once, never changed.
pub struct Index {
    pub(super) tuning: Tuning,
    pub(super) stems: &'static Stems,
    pub(super) tools: usize,
    /// Word in lower case to term.
    pub(super) words: HashMap<String, u32>,
    /// Stem to term.
    pub(super) terms: HashMap<String, u32>,
    /// Stem of each term.
    pub(super) names: Vec<String>,
    /// Tools of each term, in ascending order.
    pub(super) postings: Vec<Vec<Posting>>,
    /// Tools of each thesaurus group.
    pub(super) group_postings: Vec<Vec<Posting>>,
    /// Stem to its groups: group, whether the word stands before the bar.
    pub(super) thesaurus: HashMap<String, Vec<(u16, bool)>>,
    /// Every two neighbouring terms of every tool, grouped by the first, in order of tools.
    pairs: Vec<Pair>,
    /// Where the pairs of each first term begin; one more entry than terms.
    pair_start: Vec<u32>,
    /// Trigram to the terms that hold it.
    pub(super) grams: Vec<Vec<u32>>,
    /// Number of trigrams of each term; 0 where it is not compared by letters.
    pub(super) gram_count: Vec<u16>,
}

/// A term that follows another at once, in one field of one tool.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    second: u32,
    tool: u32,
    field: u8,
}

/// Calls with every first term and what follows it, in the order of the tools.
fn each_pair(contents: &[Fields], mut call: impl FnMut(u32, Pair)) {
    for (tool, fields) in contents.iter().enumerate() {
        for (field, terms) in fields[..AVOID].iter().enumerate() {
            for two in terms.windows(2) {
                let pair = Pair { second: two[1], tool: tool as u32, field: field as u8 };
                call(two[0], pair);
            }
        }
    }
}

/// The terms of one tool per field, in the order of the text.
type Fields = [Vec<u32>; FIELDS];

impl Index {
    /// Builds the index with the standard constants.
    pub fn build(docs: &[ToolDoc]) -> Index {
        Index::build_with(docs, Tuning::default())
    }

    /// Builds the index with constants of one's own.
    pub fn build_with(docs: &[ToolDoc], tuning: Tuning) -> Index {
        let stems = text::stems();
        let thesaurus = thesaurus(stems);
        let mut index = Index {
            tuning,
            stems,
            tools: docs.len(),
            words: HashMap::new(),
            terms: HashMap::new(),
            names: Vec::new(),
            postings: Vec::new(),
            group_postings: vec![Vec::new(); groups::GROUPS.len()],
            thesaurus,
            pairs: Vec::new(),
            pair_start: Vec::new(),
            grams: vec![Vec::new(); GRAMS],
            gram_count: Vec::new(),
        };
        let contents = index.read(docs);
        index.count(&contents);
        index.add_pairs(&contents);
        index.add_grams();
        index
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.tools
    }

    /// Whether there is no tool at all.
    pub fn is_empty(&self) -> bool {
        self.tools == 0
    }

    /// Splits every field into terms; names come last, as they are split by the words of all
    /// other fields.
    fn read(&mut self, docs: &[ToolDoc]) -> Vec<Fields> {
        let mut contents: Vec<Fields> = Vec::with_capacity(docs.len());
        for doc in docs {
            let mut fields = Fields::default();
            for (f, field) in Field::ALL.into_iter().enumerate().skip(1) {
                text::each_token(head(field.of(doc)), |word, parts| {
                    self.push(word, &mut fields[f]);
                    for part in parts {
                        self.push(part, &mut fields[f]);
                    }
                });
            }
            contents.push(fields);
        }
        let known: HashSet<String> = self.words.keys().cloned().collect();
        let general: HashSet<&str> =
            groups::GROUPS.iter().flat_map(|g| g.split_whitespace()).collect();
        let is_known = |w: &str| known.contains(w) || general.contains(w);
        for (doc, fields) in docs.iter().zip(&mut contents) {
            for token in text::tokens(head(&doc.name)) {
                let plain = token.parts.is_empty();
                self.push(&token.word, &mut fields[0]);
                let parts = if plain { vec![token.word] } else { token.parts };
                for part in &parts {
                    if !plain {
                        self.push(part, &mut fields[0]);
                    }
                    if !is_known(part) {
                        for piece in text::split_known(part, &is_known) {
                            self.push(&piece, &mut fields[0]);
                        }
                    }
                }
            }
        }
        contents
    }

    /// Adds a word to a field, unless it carries no subject.
    fn push(&mut self, word: &str, field: &mut Vec<u32>) {
        if let Some(term) = self.words.get(word) {
            field.push(*term);
        } else if !self.stems.is_stop(word) {
            let stem = self.stems.stem(word);
            let next = self.names.len() as u32;
            let term = *self.terms.entry(stem).or_insert_with_key(|stem| {
                self.names.push(stem.clone());
                next
            });
            self.words.insert(word.to_string(), term);
            field.push(term);
        }
    }

    /// Counts terms and groups per tool into postings.
    fn count(&mut self, contents: &[Fields]) {
        let average = averages(contents);
        self.postings = vec![Vec::new(); self.names.len()];
        let by_term: Vec<&[(u16, bool)]> = self
            .names
            .iter()
            .map(|n| self.thesaurus.get(n).map_or(&[][..], Vec::as_slice))
            .collect();
        let mut in_group = vec![[0.0_f32; FIELDS]; groups::GROUPS.len()];
        for (tool, fields) in contents.iter().enumerate() {
            let unit = units(&self.tuning, fields, &average);
            let mut all: Vec<(u32, usize)> = Vec::new();
            for (f, terms) in fields.iter().enumerate() {
                all.extend(terms.iter().map(|t| (*t, f)));
            }
            all.sort_unstable();
            let mut touched: Vec<u16> = Vec::new();
            for run in all.chunk_by(|a, b| a.0 == b.0) {
                let term = run[0].0;
                let mut tf = [0.0_f32; FIELDS];
                for (_, f) in run {
                    tf[*f] += unit[*f];
                }
                for (group, core) in by_term[term as usize] {
                    let share = if *core { 1.0 } else { self.tuning.hint_doc as f32 };
                    if share <= 0.0 {
                        continue;
                    }
                    let sums = &mut in_group[*group as usize];
                    if sums.iter().all(|s| *s == 0.0) {
                        touched.push(*group);
                    }
                    for (sum, t) in sums.iter_mut().zip(&tf) {
                        *sum += share * t;
                    }
                }
                self.postings[term as usize].push(Posting { tool: tool as u32, tf });
            }
            for group in touched {
                let tf = std::mem::take(&mut in_group[group as usize]);
                self.group_postings[group as usize].push(Posting { tool: tool as u32, tf });
            }
        }
    }

    /// Indexes neighbouring terms of every field that speaks for a tool, by a counting sort.
    fn add_pairs(&mut self, contents: &[Fields]) {
        let mut start = vec![0_u32; self.names.len() + 2];
        each_pair(contents, |first, _| start[first as usize + 2] += 1);
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let total = start.last().map_or(0, |n| *n as usize);
        self.pairs = vec![Pair::default(); total];
        each_pair(contents, |first, pair| {
            let next = &mut start[first as usize + 1];
            self.pairs[*next as usize] = pair;
            *next += 1;
        });
        start.pop();
        self.pair_start = start;
    }

    /// The tools in which one term follows the other at once.
    pub(super) fn neighbours(&self, first: u32, second: u32) -> Vec<Posting> {
        let at = |i: usize| self.pair_start.get(i).map_or(0, |n| *n as usize);
        let mut list: Vec<Posting> = Vec::new();
        for pair in &self.pairs[at(first as usize)..at(first as usize + 1)] {
            if pair.second != second {
                continue;
            }
            if list.last().is_none_or(|p| p.tool != pair.tool) {
                list.push(Posting { tool: pair.tool, tf: [0.0; FIELDS] });
            }
            if let Some(last) = list.last_mut() {
                let field = usize::from(pair.field);
                last.tf[field] += self.tuning.field[field] as f32;
            }
        }
        list
    }

    /// Indexes the trigrams of every term that is a plain word.
    fn add_grams(&mut self) {
        for (term, name) in self.names.iter().enumerate() {
            let grams = text::trigrams(name);
            self.gram_count.push(grams.len() as u16);
            for gram in grams {
                self.grams[gram].push(term as u32);
            }
        }
    }

    /// Inverse document frequency of something that `df` tools hold (Robertson and Sparck
    /// Jones, in the form that is never negative), to the power set by the tuning.
    pub(super) fn idf(&self, df: usize) -> f64 {
        let (n, df) = (self.tools as f64, df as f64);
        (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln().powf(self.tuning.idf_power)
    }
}

/// The first [`MAX_FIELD`] bytes of a text.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_FIELD)]
}

/// Mean length of each field over the tools that fill it, in terms; 1 where none does.
fn averages(contents: &[Fields]) -> [f64; FIELDS] {
    std::array::from_fn(|f| {
        let filled = contents.iter().filter(|c| !c[f].is_empty()).count();
        let total: usize = contents.iter().map(|c| c[f].len()).sum();
        if filled == 0 { 1.0 } else { total as f64 / filled as f64 }
    })
}

/// What one occurrence counts in each field of a tool: weight over length normalisation.
fn units(tuning: &Tuning, fields: &Fields, average: &[f64; FIELDS]) -> [f32; FIELDS] {
    std::array::from_fn(|f| {
        let length = fields[f].len() as f64 / average[f];
        let norm = (1.0 - tuning.b[f]) + tuning.b[f] * length;
        (tuning.field[f] / norm.max(1e-6)) as f32
    })
}

/// Stem to groups, from the thesaurus.
fn thesaurus(stems: &Stems) -> HashMap<String, Vec<(u16, bool)>> {
    let mut map: HashMap<String, Vec<(u16, bool)>> = HashMap::new();
    for (g, line) in groups::GROUPS.iter().enumerate() {
        let (core, hints) = line.split_once('|').unwrap_or((line, ""));
        for (words, is_core) in [(core, true), (hints, false)] {
            for word in words.split_whitespace() {
                let list = map.entry(stems.stem(word)).or_default();
                if list.last().is_none_or(|(last, _)| *last != g as u16) {
                    list.push((g as u16, is_core));
                }
            }
        }
    }
    map
}
