//! Time of all laws, and of reading, over journals as the simulator leaves them.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use proofmark::base::choice::Random;
use proofmark::journal::format::{Reader, write_line};
use proofmark::journal::{Blobs, Entry};
use proofmark::law::check::Judge;
use proofmark::law::stream::Stream;
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::driver::key;
use proofmark::sim::explore::{Bench, session_seed};
use proofmark::sim::scene::Scene;

/// How many simulated sessions are judged, one after another.
const SESSIONS: u64 = 300;

fn journals() -> Vec<(Vec<Entry>, Blobs)> {
    let scene = match Scene::new() {
        Ok(scene) => scene,
        Err(error) => panic!("{error}"),
    };
    let (steps, mut journals) = (Steps::REAL, Vec::new());
    let mut bench = Bench::new(&scene, &steps);
    for session in 0..SESSIONS {
        let judged = bench.chance(&mut Random::new(session_seed(1, session)));
        let Some(record) = judged.record else { continue };
        journals.push((record.journal.entries().to_vec(), record.journal.blobs().clone()));
    }
    journals
}

fn bench(c: &mut Criterion) {
    let journals = journals();
    let events: usize = journals.iter().map(|(entries, _)| entries.len()).sum();
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(events as u64));
    for (name, key, texts) in [
        ("laws", None, false),
        ("laws with texts", None, true),
        ("laws with texts and key", Some(key()), true),
    ] {
        let (mut judge, none) = (Judge::new(key), Blobs::default());
        group.bench_function(name, |b| {
            b.iter(|| {
                let judged = journals.iter().map(|(entries, blobs)| {
                    judge.journal(entries, if texts { blobs } else { &none }).len()
                });
                judged.sum::<usize>()
            });
        });
    }
    let mut text = Vec::new();
    for (number, (entries, _)) in journals.iter().enumerate() {
        for entry in entries {
            let session = format!("s{number}").into();
            write_line(&Entry { session, ..entry.clone() }, &mut text);
        }
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    group.bench_function("reading", |b| {
        b.iter(|| {
            let mut reader = Reader::default();
            text.lines().filter_map(|line| reader.line(line).ok()).count()
        });
    });
    group.bench_function("reading and laws", |b| {
        b.iter(|| {
            let (mut reader, mut stream) = (Reader::default(), Stream::new(None));
            let mut last = None;
            for entry in text.lines().filter_map(|line| reader.line(line).ok()) {
                if last.as_ref() != Some(&entry.session)
                    && let Some(last) = last.replace(entry.session.clone())
                {
                    stream.end(&last);
                }
                stream.push(entry);
            }
            stream.finish().findings.len()
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
