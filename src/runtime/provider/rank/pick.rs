//! From a prompt to the one tool and its arguments: the ranking of [`Index`], in which the best
//! few tools are weighed again by whether their parameters fit the values the prompt shows.

use std::sync::OnceLock;

use serde_json::Value;

use super::extract::{Asked, Reading};
use super::query::Plan;
use super::spans::{Kind, Span};
use super::{Confidence, Extracted, Field, Hit, Index, Ranking, Term, ToolDoc, Tuning};

/// How many of the best tools are weighed again.
const CANDIDATES: usize = 8;

/// Label of the term that arguments add to an explanation.
const ARGUMENTS: &str = "(arguments fit)";

/// An index together with the tools' parameters.
pub struct Picker {
    index: Index,
    schemas: Vec<Value>,
    /// Parameters by tool, read when a prompt first needs them.
    asked: Vec<OnceLock<Asked>>,
}

/// What came of one prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// The tools, best first, arguments weighed in.
    pub ranking: Ranking,
    /// How sure one may be of the best.
    pub confidence: Confidence,
    /// The best tool's arguments.
    pub extracted: Extracted,
    /// What makes up the score of each hit; the weights of one hit sum to its score.
    pub terms: Vec<Vec<Term>>,
}

impl Picker {
    /// Indexes tools; `schemas` are the JSON Schemas of their parameters, in the same order.
    pub fn build(docs: &[ToolDoc], schemas: Vec<Value>) -> Picker {
        Picker::build_with(docs, schemas, Tuning::default())
    }

    /// The same with constants of one's own.
    pub fn build_with(docs: &[ToolDoc], mut schemas: Vec<Value>, tuning: Tuning) -> Picker {
        schemas.resize(docs.len(), Value::Null);
        let asked = schemas.iter().map(|_| OnceLock::new()).collect();
        Picker { index: Index::build_with(docs, tuning), schemas, asked }
    }

    /// Ranks the tools for a prompt, the best `top` explained, and fills the best one's arguments.
    pub fn pick(&self, prompt: &str, top: usize) -> Pick {
        let reading = Reading::new(prompt);
        let plan = self.index.plan(prompt, &reading.spans);
        let mut ranking = self.index.rank_by(&plan, top.max(CANDIDATES));
        let mut weighed: Vec<(Hit, f64, Extracted)> = Vec::new();
        for hit in &ranking.hits {
            let (factor, extracted) = self.fit(&reading, hit.tool);
            weighed.push((Hit { score: hit.score * factor, ..*hit }, factor, extracted));
        }
        weighed.sort_by(|a, b| Hit::best_first(&a.0, &b.0));
        ranking.hits = weighed.iter().map(|w| w.0).collect();
        ranking.second = ranking.hits.get(1).map_or(0.0, |h| h.score);
        ranking.coverage = ranking.hits.first().map_or(0.0, |h| plan.coverage(h.tool));
        weighed.truncate(top);
        ranking.hits.truncate(top);
        let terms = weighed.iter().map(|w| explain(&plan, &w.0, w.1)).collect();
        let extracted = weighed.into_iter().next().map(|w| w.2).unwrap_or_default();
        if let Some(hit) = ranking.hits.first() {
            ranking.arguments = found(&extracted, self.asked(hit.tool));
        }
        Pick { confidence: Confidence::of(&ranking), ranking, extracted, terms }
    }

    fn asked(&self, tool: usize) -> &Asked {
        self.asked[tool].get_or_init(|| Asked::of(&self.schemas[tool]))
    }

    /// How well the prompt's values suit a tool's parameters, as a factor, and the arguments.
    fn fit(&self, reading: &Reading<'_>, tool: usize) -> (f64, Extracted) {
        let asked = self.asked(tool);
        let extracted = reading.fill(asked);
        let tuning = &self.index.tuning;
        let missing = 1.0 - found(&extracted, asked);
        let values: Vec<&Span> = reading.spans.iter().filter(|s| is_typed(s)).collect();
        let taken = |span: &&&Span| {
            extracted
                .spans
                .iter()
                .any(|(_, r)| r.start < span.range.end && span.range.start < r.end)
        };
        let used = values.iter().filter(taken).count() as f64;
        let total = values.len() as f64;
        let unused = if total > 0.0 { (total - used) / total } else { 0.0 };
        let literal = literals(&extracted, asked, &reading.spans);
        let factor = (1.0 - tuning.fit_missing * missing)
            * (1.0 - tuning.fit_unused * unused)
            * (1.0 + tuning.fit_found * literal);
        (factor, extracted)
    }
}

/// Share of the required parameters that have a value; 1 where none is required.
fn found(extracted: &Extracted, asked: &Asked) -> f64 {
    let required = asked.required.len() as f64;
    if required > 0.0 { 1.0 - extracted.missing_required.len() as f64 / required } else { 1.0 }
}

/// Share of the required parameters that took a literal value; 0 where none is required.
fn literals(extracted: &Extracted, asked: &Asked, spans: &[Span]) -> f64 {
    let required = asked.required.len() as f64;
    let literal = |name: &String| {
        extracted.spans.iter().any(|(n, r)| {
            n == name && spans.iter().any(|s| r.start < s.range.end && s.range.start < r.end)
        })
    };
    let count = asked.required.iter().filter(|name| literal(name)).count() as f64;
    if required > 0.0 { count / required } else { 0.0 }
}

/// Whether a value is surely meant for a parameter; bare numbers and codes often are not.
fn is_typed(span: &Span) -> bool {
    !span.spelled && !matches!(span.kind, Kind::LooseDate)
}

/// The terms of one hit, with what its arguments changed.
fn explain(plan: &Plan<'_>, hit: &Hit, factor: f64) -> Vec<Term> {
    let mut terms = plan.explain(hit.tool);
    let change = hit.score * (factor - 1.0) / factor;
    if change != 0.0 && change.is_finite() {
        let term = Term { term: ARGUMENTS.to_string(), field: Field::Parameters, weight: change };
        let key = |t: &Term| (t.term.clone(), t.field);
        let at = terms.partition_point(|t| key(t) < key(&term));
        terms.insert(at, term);
    }
    terms
}

#[cfg(test)]
#[path = "pick_tests.rs"]
mod tests;
