//! Throughput of taking known secrets out of what tools say: prose, JSON, addresses.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use proofmark::base::secret::{Secret, SecretSet};

/// About a MiB.
const SIZE: usize = 1 << 20;

fn texts() -> [(&'static str, String); 4] {
    let fill = |line: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < SIZE {
            text.push_str(&line(number));
            number += 1;
        }
        text
    };
    let prose = |n: usize| format!("{n}: the last page says what was written here, and by whom.\n");
    let rows = |n: usize| format!("{{\"id\":{n},\"text\":\"a \\\"word\\\"\\nand\\tmore\"}},");
    let address = |n: usize| format!("/page/{n}?q=what%20is%20here%3F&from=%2Ftop 97% done\n");
    let base64 = |n: usize| format!("{}\n", format!("{n:x}Zm9vYmFyQUJD+/").repeat(4));
    [
        ("prose", fill(&prose)),
        ("json", format!("[{}0]", fill(&rows))),
        ("addresses", fill(&address)),
        ("base64", fill(&base64)),
    ]
}

fn bench(c: &mut Criterion) {
    let secrets = SecretSet::new((0..3).map(|n| Secret::canary("bench", n)));
    let mut group = c.benchmark_group("redact");
    group.sample_size(20);
    for (name, text) in texts() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("{name} whole"), |b| {
            b.iter(|| black_box(secrets.scrub(&text)).len());
        });
        group.bench_function(format!("{name} in pieces"), |b| {
            b.iter(|| {
                let mut stream = secrets.stream();
                let (mut rest, mut length) = (text.as_str(), 0);
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(rest.floor_char_boundary(8192));
                    length += stream.push(piece).len();
                    rest = after;
                }
                length + stream.finish().len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
