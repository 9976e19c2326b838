//! Reported faults that need what is not there yet.

/// What a fault may wait for.
pub const THEMES: [&str; 2] = ["judging", "models"];

/// Ids, each with what it waits for: `judging` (claims held against calls), `models` (live
/// providers: their own spellings of calls).
pub const WAITING: &[(&str, &str)] =
    &[("B005", "models"), ("B017", "judging"), ("B193", "judging")];
