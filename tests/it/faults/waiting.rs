//! Reported faults that need what is not there yet.

/// What a fault may wait for.
pub const THEMES: [&str; 4] = ["delegate", "governance", "judging", "models"];

/// Ids, each with what it waits for: `delegate` (what a delegate may have that the request of its
/// caller did not show; here it never has), `governance` (registry on disk and
/// pins, calls to MCP servers), `judging` (claims
/// held against calls), `models` (live providers: their own spellings of calls).
pub const WAITING: &[(&str, &str)] = &[
    ("B005", "models"),
    ("B017", "judging"),
    ("B086", "delegate"),
    ("B145", "governance"),
    ("B147", "governance"),
    ("B148", "governance"),
    ("B193", "judging"),
];
