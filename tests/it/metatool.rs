//! The ranker on a public set of tool-selection queries: 20,614 queries over 199 tools, each tool
//! with a name and a description only. A floor against regressions, not a tuned result: the
//! ranker's constants were chosen on half of the queries at most.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use proofmark::runtime::provider::rank::{Index, ToolDoc};

use crate::support;

/// Least share of queries whose tool comes first.
const TOP_1: f64 = 0.43;
/// Least share of queries whose tool is among the first five.
const RECALL_5: f64 = 0.62;
/// Queries in the set.
const QUERIES: usize = 20_614;

fn descriptions(folder: &Path) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for file in ["plugin_des.json", "big_tool_des.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        map.extend(serde_json::from_str::<BTreeMap<String, String>>(&text).unwrap());
    }
    map
}

fn queries(folder: &Path) -> Vec<(String, String)> {
    let bytes = std::fs::read(folder.join("all_clean_data.csv.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.records().map(Result::unwrap);
    rows.map(|row| (row[0].to_string(), row[1].to_string())).collect()
}

#[test]
fn queries_of_metatool_find_their_tools() {
    let Some(data) = support::data() else { return };
    let folder = data.join("metatool");
    let (described, queries) = (descriptions(&folder), queries(&folder));
    assert_eq!(queries.len(), QUERIES);
    let mut names: Vec<&str> = queries.iter().map(|(_, tool)| tool.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let docs: Vec<ToolDoc> = names
        .iter()
        .map(|name| ToolDoc {
            name: (*name).to_string(),
            summary: described[*name].clone(),
            ..ToolDoc::default()
        })
        .collect();
    let index = Index::build(&docs);
    let (mut first, mut among_five) = (0_usize, 0_usize);
    for (query, tool) in &queries {
        let hits = index.rank(query, 5).hits;
        first += usize::from(hits.first().is_some_and(|hit| names[hit.tool] == tool));
        among_five += usize::from(hits.iter().any(|hit| names[hit.tool] == tool));
    }
    let share = |count: usize| count as f64 / queries.len() as f64;
    assert!(share(first) >= TOP_1, "top-1 {}", share(first));
    assert!(share(among_five) >= RECALL_5, "recall at 5 {}", share(among_five));
}
