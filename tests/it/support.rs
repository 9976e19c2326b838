//! Where the tests find what is not in the repository.

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
    let shown = folder.display();
    let required = setting("PROOFMARK_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == "data"), "no test data at {shown}");
    println!("skipped: no test data at {shown}; set PROOFMARK_DATA");
    None
}

fn setting(name: &str) -> Option<String> {
    proofmark::base::world::env_var(name).filter(|value| !value.is_empty())
}
