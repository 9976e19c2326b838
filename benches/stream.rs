//! Throughput of putting streams together, in large pieces and byte by byte.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use proofmark::runtime::dialect::{Assembler, Dialect, RawCall, Reply, WireLimits};
use serde_json::json;

fn bench(c: &mut Criterion) {
    let text = "Reading the files first, then the tests. ".repeat(50);
    let arguments = json!({"path": "src/main.rs", "text": "let x = \"é\";\n".repeat(4000)});
    let call = RawCall::native(Some("call_a".to_owned()), "file_write", arguments.to_string());
    let finish = Some("tool_calls".to_owned());
    let reply = Reply { text: Some(text), calls: vec![call], finish, ..Reply::default() };
    let mut group = c.benchmark_group("stream");
    for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Text) {
        // A token is about four characters.
        let stream = dialect.stream(&reply, 4);
        group.throughput(Throughput::Bytes(stream.len() as u64));
        for size in [stream.len(), 1400, 1] {
            let name = if size == stream.len() { "whole".to_owned() } else { size.to_string() };
            group.bench_function(format!("{} {name}", dialect.name()), |b| {
                b.iter(|| {
                    let mut assembler = Assembler::new(dialect, WireLimits::default());
                    stream.as_bytes().chunks(size).for_each(|piece| assembler.push(piece));
                    assembler.finish()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
