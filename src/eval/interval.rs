//! Uncertainty of a counted ratio, clustered by case: trials of one case are not independent.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A 95 % interval and how it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// `wilson`, `one_sided` (nothing, or everything, was seen), `cluster_bootstrap`,
    /// `wilson_cases` (few cases that count more than once).
    pub method: &'static str,
}

/// The two-sided 95 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Below this many cases there is no bootstrap.
const FEW: usize = 10;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 1_000;

/// Resampled case indices, drawn once for a run and shared by all its metrics.
#[derive(Debug)]
pub struct Resamples {
    cases: usize,
    draws: Vec<u32>,
}

impl Resamples {
    /// Draws from a fixed seed: the same number of cases gives the same resamples.
    pub fn new(cases: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(0x70_6d_6b);
        let top = u32::try_from(cases).unwrap_or(u32::MAX);
        let draws = if cases == 0 {
            Vec::new()
        } else {
            (0..RESAMPLES * cases).map(|_| random.random_range(0..top)).collect()
        };
        Self { cases, draws }
    }
}

/// The interval of a ratio from its counts per case, in the order of cases. `None` when nothing
/// was counted.
///
/// Wilson's score interval (Wilson 1927) where each case counts once at most; a percentile
/// bootstrap over cases (Davison and Hinkley 1997, section 2.4) where a case counts more, by
/// several trials, several calls, or both terms of F1: what one case counts is not independent.
/// When nothing, or everything, was seen, the exact one-sided 95 % bound over cases (0 of 300
/// gives 0.0099). Below ten cases, where a bootstrap has too little to draw from, Wilson's interval
/// on as many units as there are cases.
pub fn interval(clusters: &[(u64, u64)], draws: &Resamples) -> Option<Interval> {
    let (num, den) = clusters.iter().fold((0, 0), |(n, d), (x, y)| (n + x, d + y));
    let units = clusters.iter().filter(|(_, d)| *d > 0).count();
    if units == 0 {
        return None;
    }
    if num == 0 || num == den {
        let bound = 1.0 - 0.05_f64.powf(1.0 / units as f64);
        let (lo, hi) = if num == 0 { (0.0, bound) } else { (1.0 - bound, 1.0) };
        return Some(Interval { lo, hi, method: "one_sided" });
    }
    if clusters.iter().all(|(_, d)| *d <= 1) || draws.cases != clusters.len() {
        let (lo, hi) = wilson(num, den);
        return Some(Interval { lo, hi, method: "wilson" });
    }
    // Few cases resample to few distinct values: Wilson on as many units as there are cases.
    if units < FEW {
        let (lo, hi) = wilson_of(num as f64 / den as f64, units as f64);
        return Some(Interval { lo, hi, method: "wilson_cases" });
    }
    let mut values: Vec<f64> = draws
        .draws
        .chunks_exact(draws.cases)
        .filter_map(|sample| {
            let (num, den) = sample.iter().fold((0, 0), |(n, d), index| {
                let (x, y) = clusters[*index as usize];
                (n + x, d + y)
            });
            (den > 0).then(|| num as f64 / den as f64)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get((share * (values.len() - 1) as f64).round() as usize).copied();
    let (lo, hi) = (at(0.025)?, at(0.975)?);
    Some(Interval { lo, hi, method: "cluster_bootstrap" })
}

/// Wilson's score interval at 95 %.
pub fn wilson(num: u64, den: u64) -> (f64, f64) {
    wilson_of(num as f64 / den as f64, den as f64)
}

/// Wilson's score interval of a share `p` over `n` independent units.
fn wilson_of(p: f64, n: f64) -> (f64, f64) {
    let z2 = Z * Z;
    let centre = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    (((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many cases that count once each.
    fn once(num: usize, den: usize) -> Vec<(u64, u64)> {
        (0..den).map(|i| (u64::from(i < num), 1)).collect()
    }

    fn check(clusters: &[(u64, u64)], expected: Option<(f64, f64, &str)>) {
        let found = interval(clusters, &Resamples::new(clusters.len()));
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some((lo, hi, method))) => {
                assert_eq!(found.method, method);
                assert!((found.lo - lo).abs() < 1e-4 && (found.hi - hi).abs() < 1e-4, "{found:?}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn known_values() {
        // 17 of 20: statsmodels' proportion_confint(17, 20, method="wilson").
        check(&once(17, 20), Some((0.639_6, 0.947_6, "wilson")));
        check(&once(0, 300), Some((0.0, 0.009_94, "one_sided")));
        check(&once(20, 20), Some((0.860_9, 1.0, "one_sided")));
        check(&[(0, 0)], None);
        check(&[], None);
        check(&[(0, 50), (0, 50)], Some((0.0, 0.776_4, "one_sided")));
        let (lo, hi) = wilson_of(0.75, 1.0);
        check(&[(3, 4)], Some((lo, hi, "wilson_cases")));
    }

    #[test]
    fn what_a_case_counts_more_than_once_does_not_narrow_the_interval() {
        let single: Vec<(u64, u64)> = (0..40).map(|i| (u64::from(i % 4 != 0), 1)).collect();
        let often: Vec<(u64, u64)> = single.iter().map(|(n, d)| (n * 50, d * 50)).collect();
        let draws = Resamples::new(40);
        let one = interval(&single, &draws).unwrap();
        let many = interval(&often, &draws).unwrap();
        assert_eq!((one.method, many.method), ("wilson", "cluster_bootstrap"));
        assert!((many.hi - many.lo) > 0.8 * (one.hi - one.lo), "{one:?} {many:?}");
        assert_eq!(interval(&often, &Resamples::new(40)), Some(many), "same seed, same ends");
    }
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod properties;
