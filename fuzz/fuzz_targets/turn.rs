//! Any list of choices: a simulated session ends without a panic and without a violation.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::explore::{Bench, replay};
use proofmark::sim::scene::Scene;

static SCENE: LazyLock<Scene> = LazyLock::new(|| Scene::new().unwrap());

fuzz_target!(|choices: Vec<u8>| {
    let steps = Steps::REAL;
    let mut bench = Bench::new(&SCENE, &steps);
    let judged = replay(&mut bench, choices.into_iter().map(usize::from).collect());
    assert!(judged.found.is_empty(), "{:#?}", judged.found);
});
