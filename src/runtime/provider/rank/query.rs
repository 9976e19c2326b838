//! From a prompt to scores: the prompt becomes a list of probes into the index, and a tool's
//! score is the sum over probes of `weight * saturated frequency`, less the same in the field
//! that says when to avoid the tool.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::index::{AVOID, Index, Posting};
use super::marks::{self, Mark};
use super::spans::{self, Span};
use super::text;
use super::{Field, Hit, Ranking, Term};

/// Most bytes of a prompt that are read.
const MAX_QUERY: usize = 32 * 1024;
/// Most distinct content terms of a prompt that are ranked by.
const MAX_TERMS: usize = 96;
/// Most terms one misspelt word may stand for.
const MAX_FUZZY: usize = 3;

/// One thing looked up for a prompt.
struct Probe<'a> {
    /// What [`Term::term`] shows.
    label: String,
    /// Where it occurs.
    list: Cow<'a, [Posting]>,
    /// Weight, idf included.
    weight: f64,
    /// Saturation.
    k: f64,
    /// Position of the content term this probe stands for, if any, and the share of it that
    /// counts as matched.
    covers: Option<(usize, f64)>,
}

/// One content term of a prompt.
struct Content {
    word: String,
    stem: String,
    /// Term of the index, if the tools know the word.
    term: Option<u32>,
    /// Share of the full weight, for words of the request's own language.
    share: f64,
}

/// A prompt, made ready.
pub(super) struct Plan<'a> {
    probes: Vec<Probe<'a>>,
    /// Weight of each content term, idf included.
    contents: Vec<f64>,
}

impl Index {
    /// Ranks the tools for a prompt and answers the best `top`.
    ///
    /// BM25F over the words of the prompt; on top, with less weight each: thesaurus groups,
    /// neighbouring words, and similar letters for words no tool knows. (Lending words from the
    /// best tools of a first pass, RM3, was tried and ranked worse on such short texts.)
    pub fn rank(&self, query: &str, top: usize) -> Ranking {
        self.rank_by(&self.plan(query, &spans::find(query)), top)
    }

    /// As [`Self::rank`], of some of the tools alone, by their places. What a word is worth still
    /// depends on all of them.
    pub fn rank_among(&self, query: &str, top: usize, among: &dyn Fn(usize) -> bool) -> Ranking {
        self.rank_some(&self.plan(query, &spans::find(query)), top, among)
    }

    /// What each query word adds to a tool's score, field by field; the weights sum to it.
    /// Sorted by term and field. Nothing for a tool that is not in the list.
    pub fn explain(&self, query: &str, tool: usize) -> Vec<Term> {
        self.plan(query, &spans::find(query)).explain(tool)
    }

    /// Ranks the tools by a prompt made ready.
    pub(super) fn rank_by(&self, plan: &Plan<'_>, top: usize) -> Ranking {
        self.rank_some(plan, top, &|_| true)
    }

    fn rank_some(&self, plan: &Plan<'_>, top: usize, among: &dyn Fn(usize) -> bool) -> Ranking {
        let mut scores = vec![0.0; self.tools];
        for probe in &plan.probes {
            probe.add(&mut scores);
        }
        let mut hits: Vec<Hit> = scores
            .iter()
            .enumerate()
            .filter(|(tool, s)| **s > 0.0 && among(*tool))
            .map(|(tool, score)| Hit { tool, score: *score })
            .collect();
        let keep = top.max(2);
        if hits.len() > keep {
            hits.select_nth_unstable_by(keep - 1, Hit::best_first);
            hits.truncate(keep);
        }
        hits.sort_unstable_by(Hit::best_first);
        let second = hits.get(1).map_or(0.0, |h| h.score);
        let coverage = hits.first().map_or(0.0, |h| plan.coverage(h.tool));
        hits.truncate(top);
        Ranking {
            hits,
            query_terms: plan.contents.len(),
            coverage,
            ideal: plan.contents.iter().sum::<f64>() * self.tuning.full(),
            second,
            unit: self.idf(1) * self.tuning.full(),
            arguments: 1.0,
        }
    }

    /// Reads a prompt into probes.
    pub(super) fn plan(&self, query: &str, spans: &[Span]) -> Plan<'_> {
        let query = &query[..query.floor_char_boundary(MAX_QUERY)];
        let contents = self.contents(query, spans);
        let mut probes = Vec::new();
        let unknown = self.idf(0);
        let mut weights = Vec::with_capacity(contents.len());
        for (i, content) in contents.iter().enumerate() {
            let Some(term) = content.term else {
                weights.push(unknown * content.share.max(0.0));
                self.similar(i, content, &mut probes);
                continue;
            };
            let list = &self.postings[term as usize];
            let weight = self.idf(list.len()) * content.share;
            weights.push(weight.max(0.0));
            probes.push(Probe {
                label: content.word.clone(),
                list: list.into(),
                weight,
                k: self.tuning.k1,
                covers: Some((i, 1.0)),
            });
        }
        self.add_groups(&contents, &mut probes);
        self.add_pairs_of(&contents, &mut probes);
        Plan { probes, contents: weights }
    }

    /// The distinct content terms of a prompt, in the order of the prompt, each with the share
    /// of its weightiest place.
    fn contents(&self, query: &str, spans: &[Span]) -> Vec<Content> {
        let mut out: Vec<Content> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (range, mark) in marks::stretches(query, spans) {
            let share = match mark {
                Mark::Plain => 1.0,
                Mark::Value => self.tuning.value,
                Mark::Denied => self.tuning.denied,
            };
            for word in self.query_words(&query[range]) {
                if self.stems.is_stop(&word) {
                    continue;
                }
                let stem = self.stems.stem(&word);
                let weight = if self.stems.is_light(&stem) {
                    self.tuning.light
                } else if self.stems.is_weak(&stem) {
                    self.tuning.weak
                } else {
                    1.0
                };
                let share = share * weight;
                if let Some(at) = seen.get(&stem) {
                    out[*at].share = out[*at].share.max(share);
                } else if out.len() < MAX_TERMS && share != 0.0 {
                    let term = self.terms.get(&stem).copied();
                    seen.insert(stem.clone(), out.len());
                    out.push(Content { word, stem, term, share });
                }
            }
        }
        out
    }

    /// The words of a stretch of a prompt; run-together ones apart as well.
    fn query_words(&self, text: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for token in text::tokens(text) {
            if token.parts.is_empty() || self.words.contains_key(&token.word) {
                if !self.words.contains_key(&token.word) {
                    let pieces = text::split_known(&token.word, &|w| self.words.contains_key(w));
                    words.extend(pieces);
                }
                words.push(token.word);
            } else {
                words.extend(token.parts);
            }
        }
        words
    }

    /// Probes for the terms whose letters resemble a word no tool knows.
    fn similar<'a>(&'a self, i: usize, content: &Content, probes: &mut Vec<Probe<'a>>) {
        let grams = text::trigrams(&content.stem);
        if grams.is_empty() {
            return;
        }
        let mut shared = vec![0_u16; self.names.len()];
        for gram in &grams {
            for term in &self.grams[*gram] {
                shared[*term as usize] += 1;
            }
        }
        let mut near: Vec<(f64, usize)> = shared
            .iter()
            .enumerate()
            .filter(|(_, both)| **both > 0)
            .map(|(term, both)| {
                let sum = grams.len() + usize::from(self.gram_count[term]);
                (2.0 * f64::from(*both) / sum as f64, term)
            })
            .filter(|(likeness, _)| *likeness >= self.tuning.fuzzy_min)
            .collect();
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (likeness, term) in near.into_iter().take(MAX_FUZZY) {
            let list = &self.postings[term];
            let share = self.tuning.fuzzy * likeness;
            probes.push(Probe {
                label: content.word.clone(),
                list: list.into(),
                weight: self.idf(list.len()) * content.share * share,
                k: self.tuning.k1,
                covers: Some((i, share.min(1.0))),
            });
        }
    }

    /// Probes for the thesaurus groups that the prompt's words belong to.
    fn add_groups<'a>(&'a self, contents: &[Content], probes: &mut Vec<Probe<'a>>) {
        // group: (sum of the shares of its words, its words)
        let mut groups: BTreeMap<u16, (f64, Vec<usize>)> = BTreeMap::new();
        for (i, content) in contents.iter().enumerate() {
            for (group, core) in self.thesaurus.get(&content.stem).into_iter().flatten() {
                let share = if *core { 1.0 } else { self.tuning.hint_query };
                let entry = groups.entry(*group).or_default();
                entry.0 += share * content.share;
                entry.1.push(i);
            }
        }
        let q = self.tuning.group_q;
        for (group, (sum, words)) in groups {
            let list = &self.group_postings[usize::from(group)];
            let amount = sum * (1.0 + q) / (sum.abs() + q);
            let first = words[0];
            let weight = self.tuning.group * self.idf(list.len()) * amount;
            probes.push(Probe {
                label: format!("~{}", contents[first].word),
                list: self.without_words(list, contents, &words),
                weight,
                k: self.tuning.group_k,
                covers: Some((first, 0.5)),
            });
        }
    }

    /// The postings of a group, weaker where a tool shows one of the prompt's own words: what is
    /// said twice counts once and a bit.
    fn without_words<'a>(
        &'a self,
        list: &'a [Posting],
        contents: &[Content],
        words: &[usize],
    ) -> Cow<'a, [Posting]> {
        let keep = (1.0 - self.tuning.group_own) as f32;
        let terms: Vec<u32> = words.iter().filter_map(|i| contents[*i].term).collect();
        if keep >= 1.0 || terms.is_empty() {
            return list.into();
        }
        let mut list = list.to_vec();
        for term in terms {
            let mut at = 0;
            for own in &self.postings[term as usize] {
                at += list[at..].partition_point(|p| p.tool < own.tool);
                if let Some(posting) = list.get_mut(at).filter(|p| p.tool == own.tool)
                    && own.positive() > 0.0
                {
                    posting.tf = posting.tf.map(|t| t * keep);
                }
            }
        }
        list.into()
    }

    /// Probes for neighbouring words of the prompt, apart and run together.
    fn add_pairs_of<'a>(&'a self, contents: &[Content], probes: &mut Vec<Probe<'a>>) {
        for pair in contents.windows(2) {
            if let (Some(a), Some(b)) = (pair[0].term, pair[1].term)
                && let list = self.neighbours(a, b)
                && !list.is_empty()
            {
                probes.push(Probe {
                    label: format!("{} {}", pair[0].word, pair[1].word),
                    weight: self.tuning.pair * self.idf(list.len()),
                    list: list.into(),
                    k: self.tuning.k1,
                    covers: None,
                });
            }
            let joined = format!("{}{}", pair[0].word, pair[1].word);
            if let Some(term) = self.words.get(&joined) {
                let list = &self.postings[*term as usize];
                probes.push(Probe {
                    label: format!("{} {}", pair[0].word, pair[1].word),
                    list: list.into(),
                    weight: self.idf(list.len()),
                    k: self.tuning.k1,
                    covers: None,
                });
            }
        }
    }
}

impl Probe<'_> {
    /// Adds this probe's share to every tool it finds.
    fn add(&self, scores: &mut [f64]) {
        for posting in self.list.iter() {
            let positive = posting.positive();
            let negative = posting.negative();
            let sum = positive / (self.k + positive) - negative / (self.k + negative);
            scores[posting.tool as usize] += self.weight * sum;
        }
    }
}

impl Plan<'_> {
    /// What each probe adds to a tool's score, field by field.
    pub(super) fn explain(&self, tool: usize) -> Vec<Term> {
        let mut sums: BTreeMap<(String, Field), f64> = BTreeMap::new();
        for probe in &self.probes {
            let Ok(number) = u32::try_from(tool) else { break };
            let Some(posting) = find(&probe.list, number) else { continue };
            let total = posting.positive();
            for (f, field) in Field::ALL.into_iter().enumerate() {
                let against = f == AVOID;
                let tf = if against { posting.negative() } else { f64::from(posting.tf[f]) };
                if tf == 0.0 {
                    continue;
                }
                let part = if against {
                    -probe.weight * tf / (probe.k + tf)
                } else {
                    probe.weight * tf / (probe.k + total)
                };
                *sums.entry((probe.label.clone(), field)).or_default() += part;
            }
        }
        sums.into_iter().map(|((term, field), weight)| Term { term, field, weight }).collect()
    }

    /// Share of the content terms, by weight, that one tool matches.
    pub(super) fn coverage(&self, tool: usize) -> f64 {
        let mut matched = vec![0.0_f64; self.contents.len()];
        for probe in &self.probes {
            if let Some((i, share)) = probe.covers
                && find(&probe.list, tool as u32).is_some_and(|p| p.positive() > 0.0)
            {
                matched[i] = matched[i].max(share);
            }
        }
        let total: f64 = self.contents.iter().sum();
        let sum: f64 = self.contents.iter().zip(&matched).map(|(w, m)| w * m).sum();
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

/// The posting of one tool in a list sorted by tool.
fn find(list: &[Posting], tool: u32) -> Option<&Posting> {
    list.binary_search_by_key(&tool, |p| p.tool).ok().map(|i| &list[i])
}
