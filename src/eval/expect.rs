//! Two-way, one-to-one matching of expected and actual calls by optimal assignment: a missing and
//! an unexpected call both count, and nothing is matched twice.

use pathfinding::kuhn_munkres::kuhn_munkres;
use pathfinding::matrix::Matrix;
use serde_json::Value;

use super::calls::CallFacts;
use super::case::{ExpectedCall, Mode};
use crate::runtime::catalog::Registry;
use crate::tool::id::ToolId;
use crate::tool::matcher::{Matcher, equal};

/// One matched pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Index into the expected calls.
    pub expected: usize,
    /// Index into the actual calls.
    pub actual: usize,
    /// Whether all matchers hold; `None` when arguments are not compared.
    pub args_ok: Option<bool>,
}

/// The best assignment between one expected set and the actual calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matching {
    /// Matched pairs, by expected index.
    pub pairs: Vec<Pair>,
    /// Expected calls that were not made.
    pub missing: Vec<usize>,
    /// Calls that were not expected.
    pub unexpected: Vec<usize>,
    /// Length of the longest run of pairs whose replies follow the expected order.
    pub in_order: usize,
}

// A name match is worth more than any arguments, and arguments more than position.
const NAME: i64 = 1_000_000;
const ARGS: i64 = 10_000;
const FIELD: i64 = 5_000;

/// Matches one expected set. Deterministic, and the score does not depend on the order of either
/// list.
pub fn matching(expected: &[ExpectedCall], actual: &[CallFacts], registry: &Registry) -> Matching {
    let size = expected.len().max(actual.len());
    if size == 0 {
        return Matching::default();
    }
    let weight = |row: usize, column: usize| -> i64 {
        let (Some(want), Some(got)) = (expected.get(row), actual.get(column)) else { return 0 };
        if want.tool != got.tool {
            return 0;
        }
        let (held, all) = fields(want, got, registry);
        let args = if held == all { ARGS } else { FIELD * i64::from(held) / i64::from(all.max(1)) };
        // Among equals, pairs on the diagonal keep the order of replies.
        NAME + args + i64::from(row.abs_diff(column) == 0)
    };
    let weights = Matrix::from_fn(size, size, |(row, column)| weight(row, column));
    let (_, assigned) = kuhn_munkres(&weights);
    let mut out = Matching::default();
    let mut taken = vec![false; actual.len()];
    for (row, column) in assigned.into_iter().enumerate().take(expected.len()) {
        if weight(row, column) >= NAME {
            let args_ok = expected[row].args.as_ref().map(|_| {
                let (held, all) = fields(&expected[row], &actual[column], registry);
                held == all
            });
            out.pairs.push(Pair { expected: row, actual: column, args_ok });
            taken[column] = true;
        } else {
            out.missing.push(row);
        }
    }
    out.unexpected = (0..actual.len()).filter(|index| !taken[*index]).collect();
    let replies: Vec<u32> = out.pairs.iter().map(|pair| actual[pair.actual].reply).collect();
    out.in_order = longest_run(&replies);
    out
}

/// The longest subsequence that never goes back.
fn longest_run(replies: &[u32]) -> usize {
    let mut best: Vec<usize> = Vec::new();
    for (index, reply) in replies.iter().enumerate() {
        let before = (0..index).filter(|i| replies[*i] <= *reply).map(|i| best[i]).max();
        best.push(before.unwrap_or(0) + 1);
    }
    best.into_iter().max().unwrap_or(0)
}

/// How many compared fields hold, of how many.
///
/// An argument without a matcher is compared too: a required parameter must only pass its schema,
/// an optional one must be left out or equal its schema's default.
fn fields(want: &ExpectedCall, got: &CallFacts, registry: &Registry) -> (u32, u32) {
    let Some(matchers) = &want.args else { return (0, 0) };
    let empty = Value::Object(serde_json::Map::new());
    let given = match (&got.args, got.valid) {
        (Some(args), _) => args,
        (None, Some(true)) => &empty,
        // Malformed arguments fit nothing.
        (None, _) => return (0, u32::try_from(matchers.len().max(1)).unwrap_or(u32::MAX)),
    };
    let schema = ToolId::parse(&want.tool).and_then(|id| registry.get(&id));
    let schema = schema.map(|tool| &tool.descriptor.schemas.input_schema);
    let default = |name: &str| schema?.get("properties")?.get(name)?.get("default");
    let (mut held, mut all) = (0, 0);
    let mut count = |fits: bool| {
        all += 1;
        held += u32::from(fits);
    };
    for (name, matcher) in matchers {
        let value = given.get(name).or_else(|| default(name));
        // `absent` speaks of what was given, not of what the schema fills in.
        let value = if matches!(matcher, Matcher::Absent) { given.get(name) } else { value };
        count(matcher.fits(value));
    }
    let required = schema.and_then(|s| s.get("required")).and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|list| list.iter().any(|one| one.as_str() == Some(name)));
    for (name, value) in given.as_object().into_iter().flatten() {
        if !matchers.contains_key(name) && !is_required(name) {
            count(default(name).is_some_and(|default| equal(default, value)));
        }
    }
    (held, all)
}

/// Whether a matching satisfies a mode.
pub fn satisfies(
    mode: Mode,
    matching: &Matching,
    expected: &[ExpectedCall],
    actual: &[CallFacts],
) -> bool {
    let args = matching.pairs.iter().all(|pair| pair.args_ok != Some(false));
    let outcomes = matching.pairs.iter().all(|pair| {
        let want = expected[pair.expected].outcome.as_deref();
        want.is_none() || want == actual[pair.actual].outcome
    });
    let complete = matching.missing.is_empty();
    let alone = matching.unexpected.is_empty();
    let ordered = matching.in_order == matching.pairs.len();
    let first = matching.pairs.iter().all(|pair| pair.actual < expected.len());
    let calls = match mode {
        Mode::Exactly => complete && alone && ordered,
        Mode::InOrder => complete && ordered,
        Mode::AnyOrder => complete && alone,
        Mode::AtLeast => complete,
        Mode::AtMost => alone,
        Mode::Prefix => complete && ordered && first,
    };
    calls && args && outcomes
}
