//! The program as a test runs it: in a folder, with arguments; its exit code, its texts, its JSON.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs it; what a machine requires of tests is not required of it.
pub fn proofmark(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder).args(args).env_remove("PROOFMARK_REQUIRE");
    command.output().unwrap()
}

/// Runs it and holds its exit code and its text against what is expected. Returns the text.
pub fn check(folder: &Path, args: &[&str], code: i32, parts: &[&str]) -> String {
    let output = proofmark(folder, args);
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{text}");
    for part in parts {
        assert!(text.contains(part), "{args:?}: no {part:?} in\n{text}");
    }
    text
}

/// Runs it and reads its answer.
pub fn json(folder: &Path, args: &[&str]) -> Value {
    let output = proofmark(folder, args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{args:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}
