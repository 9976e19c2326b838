//! Where the tests find what is not in the repository.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of outside data: `PROOFMARK_DATA`, else `../shared/data` beside the package. `None`,
/// with a printed line, when it is absent and `PROOFMARK_REQUIRE` does not name `data`.
pub fn data() -> Option<PathBuf> {
    let folder = setting("PROOFMARK_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    skip("data", &format!("no test data at {}; set PROOFMARK_DATA", folder.display()));
    None
}

/// The folder of reported faults: `cases` beside the folder of outside data. `None`, with a printed
/// line, as [`data`] has it.
pub fn cases() -> Option<PathBuf> {
    let folder = data()?.join("../cases");
    if folder.is_dir() {
        return Some(folder);
    }
    skip("data", &format!("no reported faults at {}", folder.display()));
    None
}

/// Says aloud that a test is skipped; fails where `PROOFMARK_REQUIRE` names what is absent.
pub fn skip(what: &str, why: &str) {
    let required = setting("PROOFMARK_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == what), "{what} is required: {why}");
    // Straight to the stream: what is printed by macros is captured where a test passes.
    let _closed = writeln!(std::io::stderr(), "skipped: {why}");
}

fn setting(name: &str) -> Option<String> {
    proofmark::base::world::env_var(name).filter(|value| !value.is_empty())
}
