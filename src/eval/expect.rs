//! Two-way, one-to-one matching of expected and actual calls by optimal assignment: a missing and
//! an unexpected call both count, and nothing is matched twice.

use std::ops::Range;
use std::sync::Arc;

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

/// Matches one expected set: most names, then fewest failing arguments, then most compared ones,
/// then most fitting fields. Among equals the order of replies is kept where that is possible, then
/// most outcomes fit, else the earliest calls are taken. The counts do not depend on the order of
/// either list.
pub fn matching(expected: &[ExpectedCall], actual: &[CallFacts], registry: &Registry) -> Matching {
    let fit = Fit::new(expected, actual, registry);
    let (total, mut pairs) = fit.assign(0..expected.len(), 0..actual.len());
    let mut in_order = longest_run(&fit.replies(&pairs));
    if in_order < pairs.len()
        && let Some((weight, ordered)) = fit.in_order()
        && weight / fit.unit == total / fit.unit
    {
        (in_order, pairs) = (ordered.len(), ordered);
    }
    let mut taken = (vec![false; expected.len()], vec![false; actual.len()]);
    let pair = |&(row, column): &(usize, usize)| {
        (taken.0[row], taken.1[fit.columns[column]]) = (true, true);
        let full = fit.cells[row][column] % fit.name >= fit.full;
        let args_ok = expected[row].args.as_ref().map(|_| full);
        Pair { expected: row, actual: fit.columns[column], args_ok }
    };
    let pairs = pairs.iter().map(pair).collect();
    let missing = (0..expected.len()).filter(|row| !taken.0[*row]).collect();
    let unexpected = (0..actual.len()).filter(|column| !taken.1[*column]).collect();
    Matching { pairs, missing, unexpected, in_order }
}

/// How well every expected call fits every actual one. A better fit in one respect outweighs
/// everything in the respects after it, over all pairs together.
struct Fit {
    /// By expected call and canonical column; 0 where the tools differ.
    cells: Vec<Vec<i128>>,
    /// The actual calls by reply and, within one, by content: parallel calls have no order.
    columns: Vec<usize>,
    /// The reply of each canonical column.
    reply: Vec<u32>,
    /// Weight of a name, of arguments that all hold, and of the smallest part of a field.
    name: i128,
    full: i128,
    unit: i128,
}

type Assigned = (i128, Vec<(usize, usize)>);

/// Parts that the fields of one call are divided into.
const PARTS: i128 = 5_040;
/// Most steps that are spent on finding an order among equals.
const ORDER_STEPS: usize = 20_000;

impl Fit {
    fn new(expected: &[ExpectedCall], actual: &[CallFacts], registry: &Registry) -> Self {
        let size = expected.len().max(actual.len()) as i128;
        let end = size * size + 1;
        let unit = end * (size + 1);
        let compared = unit * (PARTS * size + 1);
        let full = compared * (size + 1);
        let name = full * (size + 1);
        let mut columns: Vec<usize> = (0..actual.len()).collect();
        if actual.len() > 1 {
            columns.sort_by_cached_key(|index| {
                let call = &actual[*index];
                let args = call.args.as_ref().map(Value::to_string);
                (call.reply, Arc::clone(&call.tool), args, call.outcome)
            });
        }
        let cell = |want: &ExpectedCall, (column, index): (usize, &usize)| {
            let got = &actual[*index];
            if want.tool != got.tool {
                return 0;
            }
            let (held, all) = fields(want, got, registry);
            let args = if held < all {
                PARTS * i128::from(held) / i128::from(all) * unit
            } else {
                let counted = if want.args.is_some() { compared } else { 0 };
                PARTS * unit + counted + full
            };
            let fits = want.outcome.as_deref().is_none_or(|wanted| Some(wanted) == got.outcome);
            name + args + if fits { end } else { 0 } + size - column as i128
        };
        let row = |want| columns.iter().enumerate().map(|column| cell(want, column)).collect();
        let cells = expected.iter().map(row).collect();
        let reply = columns.iter().map(|index| actual[*index].reply).collect();
        Self { cells, columns, reply, name, full, unit }
    }

    fn replies(&self, pairs: &[(usize, usize)]) -> Vec<u32> {
        pairs.iter().map(|(_, column)| self.reply[*column]).collect()
    }

    /// The best assignment between some expected calls and some canonical columns.
    fn assign(&self, rows: Range<usize>, columns: Range<usize>) -> Assigned {
        let size = rows.len().max(columns.len());
        if size == 0 {
            return (0, Vec::new());
        }
        let weight = |(row, column): (usize, usize)| {
            let inside = row < rows.len() && column < columns.len();
            if inside { self.cells[rows.start + row][columns.start + column] } else { 0 }
        };
        let (total, assigned) = kuhn_munkres(&Matrix::from_fn(size, size, weight));
        let pairs = assigned.into_iter().enumerate().filter(|pair| weight(*pair) > 0);
        (total, pairs.map(|(r, c)| (rows.start + r, columns.start + c)).collect())
    }

    /// The best assignment that never goes back to an earlier reply: each reply takes the next
    /// few expected calls. `None` where finding it would take too long.
    fn in_order(&self) -> Option<Assigned> {
        let rows = self.cells.len();
        let groups: Vec<Range<usize>> = self
            .reply
            .chunk_by(|a, b| a == b)
            .scan(0, |start, group| {
                let range = *start..*start + group.len();
                *start = range.end;
                Some(range)
            })
            .collect();
        if groups.len() * rows * rows > ORDER_STEPS {
            return None;
        }
        let mut best: Vec<Assigned> = vec![(0, Vec::new()); rows + 1];
        for group in groups {
            let mut next = best.clone();
            for (from, (before, taken)) in best.iter().enumerate() {
                for (to, place) in next.iter_mut().enumerate().skip(from + 1) {
                    let (weight, pairs) = self.assign(from..to, group.clone());
                    if before + weight > place.0 {
                        let taken = taken.iter().copied();
                        *place = (before + weight, taken.chain(pairs).collect());
                    }
                }
            }
            best = next;
        }
        best.pop()
    }
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
        (Some(args), _) if args.is_object() => args,
        (None, Some(true)) => &empty,
        // Malformed arguments fit nothing.
        (Some(_) | None, _) => {
            return (0, u32::try_from(matchers.len().max(1)).unwrap_or(u32::MAX));
        }
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
    // Calls of one reply have no order, so an unexpected one beside the last is no earlier one.
    let reply = |index: &usize| actual[*index].reply;
    let last = matching.pairs.iter().map(|pair| reply(&pair.actual)).max();
    let first = matching.unexpected.iter().all(|index| last.is_none_or(|l| l <= reply(index)));
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

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
