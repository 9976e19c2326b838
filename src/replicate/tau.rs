//! tau-bench: pass^k, the chance that k trials of a task all succeed, without bias: the mean over
//! tasks of C(c, k) / C(n, k), with c of n trials successful (Yao and others 2024).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Replica, Set, Source, read};
use crate::base::problem::Problem;

#[derive(Deserialize)]
struct Trial {
    task_id: u64,
    reward: f64,
}

/// What was published of the airline runs, for k from 1 to 4.
const PUBLISHED: [&str; 4] = ["0.420", "0.273", "0.220", "0.200"];

pub(super) fn run(set: &Set, source: &Source) -> Result<Replica, Problem> {
    let path = source.recorded("tau-bench/gpt-4o-airline.json.gz");
    let mut tasks: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for trial in read::json::<Vec<Trial>>(&path)? {
        let (passed, trials) = tasks.entry(trial.task_id).or_default();
        *passed += u64::from((trial.reward - 1.0).abs() < 1e-6);
        *trials += 1;
    }
    let mut out = Replica::of(set);
    for (k, published) in (1..).zip(PUBLISHED) {
        let all = tasks.values().map(|(passed, trials)| hat(*passed, *trials, k));
        #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
        let mean = all.sum::<f64>() / tasks.len() as f64;
        out.verdict((&format!("pass^{k}"), "airline"), published, &format!("{mean:.3}"));
    }
    Ok(out)
}

/// C(c, k) / C(n, k): the share of all choices of k trials in which every one passed.
fn hat(passed: u64, trials: u64, k: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of trials")]
    let factor = |i: u64| passed.saturating_sub(i) as f64 / (trials - i) as f64;
    if trials < k { f64::NAN } else { (0..k).map(factor).product() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_trials_must_pass() {
        let table =
            [(4, 4, 3, 1.0), (3, 4, 1, 0.75), (3, 4, 2, 0.5), (3, 4, 4, 0.0), (0, 4, 1, 0.0)];
        for (passed, trials, k, expected) in table {
            let found = hat(passed, trials, k);
            assert!((found - expected).abs() < 1e-12, "{passed} of {trials}, {k}: {found}");
        }
        assert!(hat(2, 3, 4).is_nan());
    }
}
