//! Intervals against values found in another way: by searching for the proportion at which the
//! test that the interval inverts just rejects.

use super::*;

/// Where `below` turns from true to false between `lo` and `hi`.
fn search(mut lo: f64, mut hi: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(lo, hi);
        if below(middle) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    f64::midpoint(lo, hi)
}

/// The ends at which the score test at 95 % just rejects.
fn score_ends(num: u64, den: u64) -> (f64, f64) {
    let (n, seen) = (den as f64, num as f64 / den as f64);
    // 1.96 to the precision of published tables of the normal distribution.
    let rejects = |p: f64| (seen - p).abs() > 1.959_964 * (p * (1.0 - p) / n).sqrt();
    (search(0.0, seen, rejects), search(seen, 1.0, |p| !rejects(p)))
}

/// The probability of at most `num` of `den`, term by term.
fn at_most(num: u64, den: u64, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(i32::try_from(den).unwrap());
    let mut sum = term;
    for k in 0..num {
        term *= (den - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        sum += term;
    }
    sum
}

#[test]
fn wilson_inverts_the_score_test() {
    for den in [1_u64, 2, 3, 5, 10, 17, 20, 50, 100, 300, 1_000, 20_614] {
        for num in [1, den / 3, den / 2, den.saturating_sub(1)] {
            if num == 0 || num >= den {
                continue;
            }
            let (found, expected) = (wilson(num, den), score_ends(num, den));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
            assert!(near(found.0, expected.0), "{num}/{den}: {found:?} {expected:?}");
            assert!(near(found.1, expected.1), "{num}/{den}: {found:?} {expected:?}");
            let mirrored = wilson(den - num, den);
            assert!(near(found.0, 1.0 - mirrored.1) && near(found.1, 1.0 - mirrored.0));
            let seen = num as f64 / den as f64;
            assert!(found.0 < seen && seen < found.1);
        }
    }
}

#[test]
fn published_wilson_intervals() {
    // Newcombe 1998, table I: the score method without continuity correction.
    for (num, den, lo, hi) in
        [(81, 263, 0.255_3, 0.366_2), (15, 148, 0.062_4, 0.160_5), (1, 29, 0.006_1, 0.171_8)]
    {
        let found = wilson(num, den);
        assert!(
            (found.0 - lo).abs() < 6e-5 && (found.1 - hi).abs() < 6e-5,
            "{num}/{den} {found:?}"
        );
    }
}

#[test]
fn one_sided_bounds_invert_the_binomial_tail() {
    for den in [1_u64, 2, 5, 20, 59, 300, 3_000] {
        let cases = |num| vec![(num, 1_u64); usize::try_from(den).unwrap()];
        let draws = Resamples::new(cases(0).len());
        let none = interval(&cases(0), &draws).unwrap();
        let bound = search(0.0, 1.0, |p| at_most(0, den, p) > 0.05);
        assert!((none.hi - bound).abs() < 1e-9 && none.lo == 0.0, "0/{den}: {none:?} {bound}");
        let all = interval(&cases(1), &draws).unwrap();
        assert!((all.lo - (1.0 - bound)).abs() < 1e-9 && all.hi == 1.0, "{den}/{den}: {all:?}");
        assert_eq!((none.method, all.method), ("one_sided", "one_sided"));
    }
    // The rule of three, and the sample for a bound of 1 %.
    let bound = |den: usize| interval(&vec![(0, 1); den], &Resamples::new(0)).unwrap().hi;
    assert!((bound(3_000) * 3_000.0 - 3.0).abs() < 0.01);
    assert!(bound(299) < 0.01 && bound(298) > 0.01);
}

#[test]
fn more_evidence_never_widens() {
    let width = |(lo, hi): (f64, f64)| hi - lo;
    for times in 1..50 {
        assert!(
            width(wilson(3 * (times + 1), 4 * (times + 1))) < width(wilson(3 * times, 4 * times))
        );
    }
}

#[test]
fn the_bootstrap_is_deterministic_and_near_the_normal_approximation() {
    let clusters: Vec<(u64, u64)> = (0..200).map(|i| (5 * (i % 3), 10)).collect();
    let first = interval(&clusters, &Resamples::new(200)).unwrap();
    assert_eq!(interval(&clusters, &Resamples::new(200)), Some(first));
    // Drawn before and shared: other metrics in between change nothing.
    let shared = Resamples::new(200);
    let other: Vec<(u64, u64)> = clusters.iter().map(|(n, d)| (d - n, *d)).collect();
    let between = interval(&other, &shared).unwrap();
    assert_eq!(interval(&clusters, &shared), Some(first));
    assert!(between.lo > 0.0 && between.method == "cluster_bootstrap");

    let mean = clusters.iter().map(|(n, _)| *n as f64 / 10.0).sum::<f64>() / 200.0;
    let square = |(n, _): &(u64, u64)| (*n as f64 / 10.0 - mean).powi(2);
    let sd = (clusters.iter().map(square).sum::<f64>() / 200.0).sqrt();
    let half = 1.96 * sd / 200.0_f64.sqrt();
    assert!((first.lo - (mean - half)).abs() < 0.15 * half, "{first:?} {mean} {half}");
    assert!((first.hi - (mean + half)).abs() < 0.15 * half, "{first:?} {mean} {half}");
}

#[test]
fn cases_that_count_nothing_change_nothing() {
    let some = [(3, 4), (1, 4), (4, 4), (0, 4)];
    let padded: Vec<(u64, u64)> = some.iter().copied().chain([(0, 0); 3]).collect();
    let (plain, found) = (
        interval(&some, &Resamples::new(4)).unwrap(),
        interval(&padded, &Resamples::new(7)).unwrap(),
    );
    // Other draws, so the ends are near and not equal.
    assert!((plain.lo - found.lo).abs() < 0.15 && (plain.hi - found.hi).abs() < 0.15);
    let nothing = [(0, 9), (0, 9), (0, 0)];
    let bound = interval(&nothing, &Resamples::new(3)).unwrap().hi;
    assert!((bound - (1.0 - 0.05_f64.sqrt())).abs() < 1e-12, "two cases, however many trials");
}
