//! The chooser's threshold is what the `calibration` suite says it is: the one that maximises
//! Youden's J (sensitivity + specificity - 1; Youden, Cancer 3, 1950): here the share of golden
//! prompts answered with a right tool, plus the share of negative prompts answered without a call,
//! less one. No other suite's prompts enter.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proofmark::eval::case::Kind;
use proofmark::eval::load::{Suite, load};
use proofmark::runtime::catalog::alias::aliases;
use proofmark::runtime::dialect::Payload;
use proofmark::runtime::provider::chooser::{Chooser, IndexCache, THRESHOLD};

/// Least J of the threshold, below what was measured when it was set (0.43).
const LEAST_J: f64 = 0.35;

/// One prompt: whether a tool is wanted, whether the best tool is one, and its confidence.
struct Answer {
    golden: bool,
    right: bool,
    confidence: f64,
}

fn payload(suite: &Suite) -> Payload {
    let view = suite.view();
    assert_eq!(view.leases.len(), suite.registry.len(), "every tool is offered");
    let tools = suite.knobs.dialect.tools(&view, suite.knobs.rendering, suite.knobs.text);
    Payload::new(suite.knobs.dialect, &tools, "[]".to_owned())
}

fn answers() -> Vec<Answer> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/calibration");
    let suite = load(&folder, &BTreeMap::new()).unwrap();
    let payload = payload(&suite);
    let ids: Vec<_> = suite.registry.iter().map(|tool| tool.id().clone()).collect();
    let advertised: BTreeMap<String, String> =
        aliases(ids.iter()).into_iter().map(|(id, name)| (id.as_str().to_owned(), name)).collect();
    let chooser = Chooser::new(Arc::new(IndexCache::default()));
    suite
        .cases
        .iter()
        .map(|case| {
            let choice = chooser.choose(&payload, &case.messages[0]).unwrap();
            let best = choice.best.map(|(name, _)| name).unwrap_or_default();
            let wanted = case.expect.alternatives.iter().flatten();
            Answer {
                golden: case.kind == Kind::Golden,
                right: wanted.map(|call| &advertised[&*call.tool]).any(|name| *name == best),
                confidence: choice.confidence,
            }
        })
        .collect()
}

/// J with every confidence from `threshold` on answered by a call.
fn youden(answers: &[Answer], threshold: f64) -> f64 {
    let share = |golden: bool, counts: &dyn Fn(&Answer) -> bool| {
        let all: Vec<&Answer> = answers.iter().filter(|a| a.golden == golden).collect();
        all.iter().filter(|a| counts(a)).count() as f64 / all.len() as f64
    };
    share(true, &|a| a.right && a.confidence >= threshold)
        + share(false, &|a| a.confidence < threshold)
        - 1.0
}

/// The widest run of thresholds that all reach the largest J: above its start, up to its end.
fn best_interval(answers: &[Answer]) -> (f64, f64, f64) {
    let mut cuts: Vec<f64> = answers.iter().map(|a| a.confidence).chain([0.0, 1.0]).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let steps: Vec<(f64, f64, f64)> =
        cuts.windows(2).map(|two| (youden(answers, two[1]), two[0], two[1])).collect();
    let most = steps.iter().map(|step| step.0).fold(-1.0, f64::max);
    steps
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|run| run[0].0 == most)
        .map(|run| (most, run[0].1, run[run.len() - 1].2))
        .max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))
        .unwrap()
}

#[test]
fn the_threshold_is_the_best_one_of_the_calibration_suite() {
    let answers = answers();
    assert!(answers.iter().filter(|a| a.golden).count() >= 100, "golden prompts");
    assert!(answers.iter().filter(|a| !a.golden).count() >= 100, "negative prompts");
    let (most, low, high) = best_interval(&answers);
    println!("J {most:.3} for thresholds above {low:.5} up to {high:.5}");
    let within = low < THRESHOLD && THRESHOLD <= high;
    assert!(within, "THRESHOLD is {THRESHOLD}; J {most:.3} lies above {low:.5} up to {high:.5}");
    assert!((youden(&answers, THRESHOLD) - most).abs() < 1e-9);
    assert!(most >= LEAST_J, "J {most:.3}");
}
