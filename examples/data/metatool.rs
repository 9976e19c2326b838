//! Reads the MetaTool set: 20,614 queries over 199 tools, each with a name and a description only.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use proofmark::runtime::provider::rank::ToolDoc;

/// The set.
pub(crate) struct MetaTool {
    /// The tools, by name.
    pub(crate) docs: Vec<ToolDoc>,
    /// Queries, each with the index of its labelled tool.
    pub(crate) queries: Vec<(String, usize)>,
}

/// A file of text, unpacked when it is compressed.
pub(crate) fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("readable");
    let mut text = String::new();
    match path.extension().is_some_and(|end| end == "gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text),
        false => (&bytes[..]).read_to_string(&mut text),
    }
    .expect("UTF-8");
    text
}

/// Reads the folder of the set.
pub(crate) fn load(folder: &Path) -> MetaTool {
    let mut summaries = BTreeMap::new();
    for file in ["plugin_des.json", "big_tool_des.json"] {
        let map: BTreeMap<String, String> =
            serde_json::from_str(&text(&folder.join(file))).expect("a JSON map");
        summaries.extend(map);
    }
    let table = text(&folder.join("all_clean_data.csv.gz"));
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let pairs: Vec<(String, String)> = reader
        .records()
        .map(|row| row.expect("a CSV row"))
        .map(|row| (row[0].to_string(), row[1].to_string()))
        .collect();
    let mut names: Vec<String> = pairs.iter().map(|(_, tool)| tool.clone()).collect();
    names.sort();
    names.dedup();
    let doc = |name: &String| ToolDoc {
        name: name.clone(),
        summary: summaries[name].clone(),
        ..ToolDoc::default()
    };
    let docs = names.iter().map(doc).collect();
    let row = |(query, tool)| (query, names.binary_search(&tool).expect("listed"));
    let queries = pairs.into_iter().map(row).collect();
    MetaTool { docs, queries }
}
