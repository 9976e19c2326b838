//! A lexical, field-weighted ranker of tools, and typed arguments out of a prompt.
//!
//! [`Index`] holds what a list of tools says about itself and ranks the tools for a prompt by
//! BM25F (Robertson, Zaragoza and Taylor, CIKM 2004; Zaragoza et al., TREC 2004): term
//! frequencies are length-normalised per field, weighted, summed, and saturated once. Words of
//! one matter meet through a small thesaurus, misspelt ones through their letters. Everything
//! is counted from the tool texts; nothing is learnt from prompts, and every score can be
//! explained term by term. [`extract()`] fills a tool's arguments from values the prompt shows.
//!
//! All results depend on the inputs alone: no clock, no chance, no order of hash tables.

mod extract;
mod groups;
mod index;
mod marks;
mod params;
mod patterns;
mod phrase;
mod pick;
mod query;
mod spans;
mod text;

pub use extract::{Extracted, extract};
pub use index::{Index, Tuning};
pub use pick::{Pick, Picker};

/// What one advertised tool shows, split into the fields the ranker weighs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolDoc {
    /// The tool's name, as advertised (`get_weather`, `airQualityForecast`).
    pub name: String,
    /// The description, or its first part.
    pub summary: String,
    /// When to use it.
    pub use_when: String,
    /// When not to use it; words that match here count against the tool.
    pub avoid_when: String,
    /// Example prompts or calls.
    pub examples: String,
    /// Parameter names, their descriptions and enum values.
    pub parameters: String,
}

/// A field of [`ToolDoc`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// [`ToolDoc::name`]
    Name,
    /// [`ToolDoc::summary`]
    Summary,
    /// [`ToolDoc::use_when`]
    UseWhen,
    /// [`ToolDoc::examples`]
    Examples,
    /// [`ToolDoc::parameters`]
    Parameters,
    /// [`ToolDoc::avoid_when`]
    AvoidWhen,
}

impl Field {
    /// Every field, in the order the index keeps them; the last one counts negatively.
    pub const ALL: [Field; 6] = [
        Field::Name,
        Field::Summary,
        Field::UseWhen,
        Field::Examples,
        Field::Parameters,
        Field::AvoidWhen,
    ];

    /// The text of this field.
    pub(crate) fn of(self, doc: &ToolDoc) -> &str {
        match self {
            Field::Name => &doc.name,
            Field::Summary => &doc.summary,
            Field::UseWhen => &doc.use_when,
            Field::Examples => &doc.examples,
            Field::Parameters => &doc.parameters,
            Field::AvoidWhen => &doc.avoid_when,
        }
    }
}

/// One ranked tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Index into the list given to [`Index::build`].
    pub tool: usize,
    /// Its score; no unit, comparable within one ranking only.
    pub score: f64,
}

impl Hit {
    /// The better score first; equal scores by index.
    fn best_first(a: &Hit, b: &Hit) -> std::cmp::Ordering {
        b.score.total_cmp(&a.score).then(a.tool.cmp(&b.tool))
    }
}

/// The tools that match a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// Best first; equal scores by index. Tools without a positive score are left out.
    pub hits: Vec<Hit>,
    /// Distinct content terms of the query.
    pub query_terms: usize,
    /// Share, 0 to 1, of the query's content terms that the best hit matches, weighted by idf;
    /// a term the hit meets only through the thesaurus or its letters counts in part.
    pub coverage: f64,
    /// The score of a tool that would match every content term to saturation.
    pub ideal: f64,
    /// The score of the second tool, also where `hits` was cut to one; 0 when there is none.
    pub second: f64,
    /// What one rare word adds to the score of the one tool that shows it in name and summary.
    pub unit: f64,
    /// Share, 0 to 1, of the best hit's required parameters that the prompt has a value for; 1
    /// where parameters are not known.
    pub arguments: f64,
}

/// One contribution to a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The query word, a pair of words, or `~word` for a group of the thesaurus reached from
    /// that word.
    pub term: String,
    /// The field it matched.
    pub field: Field,
    /// Share of the score; negative for [`Field::AvoidWhen`].
    pub weight: f64,
}

/// How sure one may be that the best hit fits, and out of what.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Confidence {
    /// 0 to 1; rises with each of the parts below. 0 when nothing matched.
    pub value: f64,
    /// [`Ranking::coverage`].
    pub coverage: f64,
    /// The best score over [`Ranking::ideal`], 0 to 1.
    pub strength: f64,
    /// How much evidence there is at all: `s / (1 + s)` for a best score of `s` times
    /// [`Ranking::unit`].
    pub evidence: f64,
    /// `(first - second) / first`, 0 to 1.
    pub margin: f64,
    /// [`Ranking::arguments`].
    pub arguments: f64,
}

/// Exponents of coverage, strength, evidence, margin and arguments in [`Confidence`]; they sum to
/// 1, so the value is a weighted geometric mean. Chosen on a grid for the area under the ROC curve
/// between golden prompts ranked right and negative prompts of the `calibration` suite; among the
/// many equally good ones, the one whose best threshold has the widest interval. Evidence and
/// arguments tell most: a request that no tool serves shows little evidence, and one that has to
/// be asked back leaves parameters open.
const CONFIDENCE: [f64; 5] = [0.1, 0.05, 0.35, 0.1, 0.4];

/// What each part counts at least: two tools that do the same thing, or a parameter without a
/// value, are no reason for a value of 0.
const FLOOR: [f64; 5] = [0.0, 0.0, 0.0, 0.1, 0.1];

impl Confidence {
    /// The confidence of a ranking's best hit.
    pub fn of(ranking: &Ranking) -> Confidence {
        let first = ranking.hits.first().map_or(0.0, |h| h.score);
        if first <= 0.0 || ranking.ideal <= 0.0 {
            return Confidence::default();
        }
        let coverage = ranking.coverage.clamp(0.0, 1.0);
        let strength = (first / ranking.ideal).clamp(0.0, 1.0);
        let evidence = first / (first + ranking.unit.max(f64::MIN_POSITIVE));
        let margin = ((first - ranking.second) / first).clamp(0.0, 1.0);
        let arguments = ranking.arguments.clamp(0.0, 1.0);
        let parts = [coverage, strength, evidence, margin, arguments];
        let value = parts
            .iter()
            .zip(CONFIDENCE)
            .zip(FLOOR)
            .map(|((part, power), floor)| (floor + (1.0 - floor) * part).powf(power));
        Confidence { value: value.product(), coverage, strength, evidence, margin, arguments }
    }
}

/// How sure one may be that the best hit fits, 0 to 1; a threshold on it decides abstention.
///
/// The weighted geometric mean of the coverage of the query's content terms, of the score
/// relative to a perfect match, of the evidence in it at all, and of the margin to the second
/// tool, and of the required parameters that have a value; see [`Confidence`].
pub fn confidence(ranking: &Ranking) -> f64 {
    Confidence::of(ranking).value
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
