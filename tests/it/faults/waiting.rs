//! Reported faults that need what is not there yet.

/// What a fault may wait for.
pub const THEMES: [&str; 3] = ["delegate", "judging", "models"];

/// Ids, each with what it waits for: `delegate` (what a delegate may have that the request of its
/// caller did not show; here it never has), `judging` (claims held against calls), `models` (live
/// providers: their own spellings of calls).
pub const WAITING: &[(&str, &str)] =
    &[("B005", "models"), ("B017", "judging"), ("B086", "delegate"), ("B193", "judging")];
