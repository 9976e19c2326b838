//! The ranker on a public set of tool-selection queries: 20,614 queries over 199 tools, each tool
//! with a name and a description only. A floor against regressions, not a tuned result: the
//! ranker's constants were chosen on half of the queries at most.

use proofmark::runtime::provider::rank::Index;

use crate::support;

#[path = "../../examples/data/metatool.rs"]
mod set;

/// Least share of queries whose tool comes first.
const TOP_1: f64 = 0.43;
/// Least share of queries whose tool is among the first five.
const RECALL_5: f64 = 0.62;
/// Queries in the set.
const QUERIES: usize = 20_614;

#[test]
fn queries_of_metatool_find_their_tools() {
    let Some(data) = support::data() else { return };
    let folder = data.join("metatool");
    let set = set::load(&folder);
    assert_eq!(set.queries.len(), QUERIES);
    let index = Index::build(&set.docs);
    let (mut first, mut among_five) = (0_usize, 0_usize);
    for (query, tool) in &set.queries {
        let hits = index.rank(query, 5).hits;
        first += usize::from(hits.first().is_some_and(|hit| hit.tool == *tool));
        among_five += usize::from(hits.iter().any(|hit| hit.tool == *tool));
    }
    let share = |count: usize| count as f64 / set.queries.len() as f64;
    assert!(share(first) >= TOP_1, "top-1 {}", share(first));
    assert!(share(among_five) >= RECALL_5, "recall at 5 {}", share(among_five));
}
