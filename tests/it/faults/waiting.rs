//! Reported faults that need what is not there yet.

/// What a fault may wait for.
pub const THEMES: [&str; 6] = ["delegate", "governance", "judging", "models", "resume", "surface"];

/// Ids, each with what it waits for: `delegate` (subagents), `governance` (registry on disk and
/// pins, CLI sandbox and shell parsing, calls to MCP servers, composite tools), `judging` (claims
/// held against calls), `models` (live providers: their own spellings of calls),
/// `resume` (sessions rebuilt from journals), `surface` (event streams for clients).
pub const WAITING: &[(&str, &str)] = &[
    ("B005", "models"),
    ("B017", "judging"),
    ("B046", "resume"),
    ("B062", "resume"),
    ("B065", "governance"),
    ("B066", "governance"),
    ("B067", "governance"),
    ("B071", "governance"),
    ("B072", "governance"),
    ("B074", "governance"),
    ("B076", "governance"),
    ("B077", "governance"),
    ("B078", "governance"),
    ("B084", "delegate"),
    ("B086", "delegate"),
    ("B087", "delegate"),
    ("B089", "delegate"),
    ("B090", "delegate"),
    ("B102", "resume"),
    ("B109", "governance"),
    ("B110", "governance"),
    ("B140", "governance"),
    ("B143", "governance"),
    ("B145", "governance"),
    ("B147", "governance"),
    ("B148", "governance"),
    ("B160", "governance"),
    ("B163", "governance"),
    ("B166", "governance"),
    ("B167", "governance"),
    ("B171", "governance"),
    ("B193", "judging"),
    ("B204", "surface"),
    ("B243", "governance"),
    ("B245", "delegate"),
];
