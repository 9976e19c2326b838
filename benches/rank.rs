//! Time of building an index, ranking by it and filling arguments.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use proofmark::runtime::provider::rank::{Index, Picker, ToolDoc, extract};
use serde_json::json;

fn bench(c: &mut Criterion) {
    let matters = ["weather", "currency", "music", "travel", "file", "email", "calendar", "chart"];
    let verbs = ["get", "list", "create", "delete", "search", "update", "export"];
    let docs: Vec<ToolDoc> = (0..2000)
        .map(|i| {
            let (matter, verb) = (matters[i % 8], verbs[i % 7]);
            ToolDoc {
                name: format!("{verb}_{matter}_{i}"),
                summary: format!("{verb} the {matter} records of user group {i}. ").repeat(6),
                parameters: format!("{matter}_id the {matter} to {verb}, limit, page ").repeat(4),
                ..ToolDoc::default()
            }
        })
        .collect();
    let index = Index::build(&docs);
    c.bench_function("build 2000", |b| b.iter(|| Index::build(&docs)));
    let prompt = "please find me the wether forcast and the musik playlists for my trip to Rome";
    c.bench_function("rank", |b| b.iter(|| index.rank(prompt, 5)));
    let schema = json!({
        "properties": {
            "city": { "type": "string" }, "start_date": { "type": "string", "format": "date" },
            "end_date": { "type": "string", "format": "date" }, "guests": { "type": "integer" },
            "unit": { "enum": ["celsius", "fahrenheit"] }, "email": { "type": "string" },
        },
        "required": ["city", "start_date", "end_date"],
    });
    let schemas = docs.iter().map(|_| schema.clone()).collect();
    let picker = Picker::build(&docs, schemas);
    let prompt = "email the weather records in Rome from 2025-01-02 on to \"bob@example.com\"";
    c.bench_function("whole answer of 2000", |b| b.iter(|| picker.pick(prompt, 5)));
    let prompt = "a room in Rome from 2025-01-02 to 2025-01-09 for two guests, in celsius, a@b.io";
    c.bench_function("extract", |b| b.iter(|| extract(prompt, &schema)));
}

criterion_group!(benches, bench);
criterion_main!(benches);
