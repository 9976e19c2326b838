//! Time of whole trials: a scripted call through the runtime, its laws, its grade.
#![allow(missing_docs)]

use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use proofmark::eval::fixture::{Shared, SuiteShared, receipt_key};
use proofmark::eval::grade::grade;
use proofmark::eval::load::{Listed, Suite, load};
use proofmark::eval::trial::{self, TrialPlan};
use proofmark::law::check::Judge;

fn suite(name: &str) -> Suite {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites").join(name);
    match load(&folder, &Listed::new()) {
        Ok(suite) => suite,
        Err(problems) => panic!("{problems:#?}"),
    }
}

fn bench(c: &mut Criterion) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("{error}"),
    };
    for (name, provider) in [("bench-scripted", "scripted"), ("coding-agent", "chooser")] {
        let suite = suite(name);
        let (run, shared) = (Shared::default(), SuiteShared::new(&suite));
        let plan = TrialPlan { case: suite.cases[0].clone(), provider: provider.into(), number: 0 };
        c.bench_function(&format!("trial {name}"), |b| {
            b.iter(|| runtime.block_on(trial::run(&suite, &plan, (&run, &shared))));
        });
        let record = runtime.block_on(trial::run(&suite, &plan, (&run, &shared)));
        let key = receipt_key(&record.seed.hex());
        c.bench_function(&format!("laws and grade {name}"), |b| {
            b.iter_batched(
                || Judge::new(Some(key.clone())),
                |mut judge| {
                    let findings = judge.journal(record.journal.entries(), record.journal.blobs());
                    grade(&suite, &plan.case, &record, &findings)
                },
                BatchSize::SmallInput,
            );
        });
    }
    c.bench_function("load coding-agent", |b| b.iter(|| suite("coding-agent")));
}

criterion_group!(benches, bench);
criterion_main!(benches);
