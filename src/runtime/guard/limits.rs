//! When calls that go in circles are warned about, blocked, and end the turn.

/// After how many calls a pattern is warned about, blocked, and ends the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Warned about from here on.
    pub warn: usize,
    /// The next one of it is blocked.
    pub block: usize,
    /// The turn ends.
    pub stop: usize,
}

/// The loop guard's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// The same call with the same result, counted over the turn, whatever stands between.
    pub identical: Thresholds,
    /// Two calls in turn, each with its same result, counted in calls.
    pub ping_pong: Thresholds,
    /// One tool with different arguments and the same result.
    pub no_progress: Thresholds,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self {
            identical: Thresholds { warn: 3, block: 4, stop: 6 },
            ping_pong: Thresholds { warn: 6, block: 8, stop: 10 },
            no_progress: Thresholds { warn: 6, block: 8, stop: 10 },
        }
    }
}
