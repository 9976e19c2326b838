//! How long one search among deferred tools takes: `search <folder of listings> <MetaTool folder>`.
//! The tools are those of real MCP servers, the queries what people asked other tools.
#![allow(clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout)] // a measuring aid

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark::runtime::catalog::Registry;
use proofmark::runtime::catalog::source::{ServerName, mcp, snapshot};
use proofmark::runtime::exec::search::{SearchIndex, run};
use proofmark::runtime::view::Lease;

fn text(path: &Path) -> String {
    let mut out = String::new();
    let file = std::fs::File::open(path).expect("a file");
    flate2::read::GzDecoder::new(file).read_to_string(&mut out).expect("text");
    out
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut descriptors = Vec::new();
    for entry in std::fs::read_dir(&args[0]).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(server) = name.strip_suffix(".json.gz") else { continue };
        let saved = snapshot::parse(&text(&entry.path())).expect("a listing").snapshot;
        descriptors.extend(mcp::import(&ServerName::sanitized(server), &saved.tools).descriptors);
    }
    let registry = Registry::new(descriptors).expect("tools that compile");
    let start = Instant::now();
    let index = SearchIndex::build(&registry);
    println!("{} tools, indexed in {:?}", registry.len(), start.elapsed());
    let lease = |tool: &Arc<_>| Lease { tool: Arc::clone(tool), name: String::new() };
    let waiting: Vec<Lease> = registry.iter().map(lease).collect();
    let queries = text(&Path::new(&args[1]).join("all_clean_data.csv.gz"));
    let mut times: Vec<Duration> = Vec::new();
    for query in queries.lines().skip(1).step_by(4) {
        let start = Instant::now();
        std::hint::black_box(run(query, 5, &waiting, &index));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 1000];
    println!("{} queries: p50 {:?}, p99 {:?}, p99.9 {:?}", times.len(), at(500), at(990), at(999));
    let start = Instant::now();
    std::hint::black_box(run("select:time.convert_time", 5, &waiting, &index));
    println!("select: {:?}", start.elapsed());
}
