//! Every nondeterministic decision as a number that can be recorded, replayed and enumerated.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Decides.
pub trait Choices {
    /// A number below `n`. With fewer than two there is nothing to decide, and nothing is recorded.
    fn pick(&mut self, n: usize) -> usize;

    /// What was chosen so far.
    fn path(&self) -> Vec<usize>;

    /// Whether something happens that happens once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.pick(n) == n.saturating_sub(1) && n > 1
    }
}

/// Random choices of a seed, recorded.
#[derive(Debug, Clone)]
pub struct Random {
    rng: ChaCha8Rng,
    made: Vec<usize>,
}

impl Random {
    /// The choices of a seed: the same seed makes the same choices everywhere.
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), made: Vec::new() }
    }

    /// What was chosen so far.
    pub fn made(&self) -> &[usize] {
        &self.made
    }
}

impl Choices for Random {
    fn pick(&mut self, n: usize) -> usize {
        if n < 2 {
            return 0;
        }
        // Multiply-shift over 32 bits: the bias of one in four thousand million is of no matter.
        let drawn = u64::from(self.rng.next_u32()) * n as u64;
        let picked = usize::try_from(drawn >> 32).unwrap_or(0);
        self.made.push(picked);
        picked
    }

    fn path(&self) -> Vec<usize> {
        self.made.clone()
    }
}

/// Choices from a list; beyond its end, and where a number is too large, the first possibility.
#[derive(Debug, Clone)]
pub struct Replay {
    list: Vec<usize>,
    next: usize,
    made: Vec<usize>,
}

impl Replay {
    /// Plays a list.
    pub fn new(list: Vec<usize>) -> Self {
        Self { list, next: 0, made: Vec::new() }
    }

    /// What was chosen so far.
    pub fn made(&self) -> &[usize] {
        &self.made
    }
}

impl Choices for Replay {
    fn pick(&mut self, n: usize) -> usize {
        if n < 2 {
            return 0;
        }
        let said = self.list.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        let picked = if said < n { said } else { 0 };
        self.made.push(picked);
        picked
    }

    fn path(&self) -> Vec<usize> {
        self.made.clone()
    }
}

/// Every possible list of choices, one after another, like the digits of an odometer.
#[derive(Debug, Clone, Default)]
pub struct Odometer {
    digits: Vec<(usize, usize)>,
    next: usize,
}

impl Odometer {
    /// At the first list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns to the next list; `false` when all were seen. Choices that the last run did not reach
    /// are forgotten.
    pub fn advance(&mut self) -> bool {
        self.digits.truncate(self.next);
        self.next = 0;
        while let Some((digit, n)) = self.digits.pop() {
            if digit + 1 < n {
                self.digits.push((digit + 1, n));
                return true;
            }
        }
        false
    }

    /// What was chosen so far.
    pub fn made(&self) -> Vec<usize> {
        self.digits.iter().take(self.next).map(|(digit, _)| *digit).collect()
    }
}

impl Choices for Odometer {
    fn pick(&mut self, n: usize) -> usize {
        if n < 2 {
            return 0;
        }
        if self.next == self.digits.len() {
            self.digits.push((0, n));
        }
        let picked = self.digits.get(self.next).map_or(0, |(digit, _)| *digit);
        self.next += 1;
        picked
    }

    fn path(&self) -> Vec<usize> {
        self.made()
    }
}

/// A list of choices as one word, and back.
pub fn to_text(list: &[usize]) -> String {
    let end = list.iter().rposition(|one| *one != 0).map_or(0, |last| last + 1);
    let words: Vec<String> = list[..end].iter().map(ToString::to_string).collect();
    words.join(".")
}

/// Reads what [`to_text`] wrote; `None` when it is something else.
pub fn from_text(text: &str) -> Option<Vec<usize>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split('.').map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_odometer_sees_every_list_once() {
        let (mut odometer, mut seen) = (Odometer::new(), Vec::new());
        loop {
            // The number of choices depends on the choices.
            let first = odometer.pick(3);
            let second = if first == 1 { odometer.pick(2) } else { 9 };
            seen.push((first, second));
            if !odometer.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 9), (1, 0), (1, 1), (2, 9)]);
    }

    proptest! {
        #[test]
        fn random_choices_replay(seed: u64, sizes in prop::collection::vec(1_usize..9, 0..40)) {
            let mut random = Random::new(seed);
            let first: Vec<usize> = sizes.iter().map(|n| random.pick(*n)).collect();
            let text = to_text(random.made());
            let mut replay = Replay::new(from_text(&text).unwrap_or_default());
            let again: Vec<usize> = sizes.iter().map(|n| replay.pick(*n)).collect();
            prop_assert_eq!(&first, &again);
            prop_assert!(first.iter().zip(&sizes).all(|(one, n)| one < n));
        }
    }
}
