//! Patterns leave ordinary text alone: the project's own, and, where there is any, other people's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark::base::secret::SecretSet;

use crate::support;

/// Every file below a folder, but nothing hidden: what was installed there is other people's.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = entry.path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The text of a file, unpacked; `None` where it is none.
fn text(path: &Path) -> Option<String> {
    if path.extension().is_some_and(|end| end == "gz") {
        let unpacked = Command::new("gzip").arg("-dc").arg(path).output().ok()?;
        return String::from_utf8(unpacked.stdout).ok();
    }
    fs::read_to_string(path).ok()
}

/// Marks by their number, and what was replaced first.
fn marks(text: &str) -> BTreeMap<String, usize> {
    let scrubbed = SecretSet::default().scrub(text).into_owned();
    let mut marks = BTreeMap::new();
    for rest in scrubbed.split("[redacted:").skip(1) {
        let name = rest.split(']').next().unwrap_or_default();
        *marks.entry(name.to_owned()).or_default() += 1;
    }
    marks
}

#[test]
fn no_pattern_fires_on_the_projects_own_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut read = 0;
    for folder in ["suites", "golden", "docs", "mock-providers"] {
        for path in files(&root.join(folder)) {
            let Some(text) = text(&path) else { continue };
            read += text.len();
            for (at, line) in text.lines().enumerate() {
                assert!(marks(line).is_empty(), "{}:{}: {line}", path.display(), at + 1);
            }
            assert_eq!(SecretSet::default().scrub(&text), text, "{}", path.display());
        }
    }
    println!("{read} bytes of ordinary text");
    assert!(read > 100_000);
}

/// So many bytes of a file of other people's are read.
const READ: usize = 1 << 20;

/// Listings of tools are prose and schemas about secrets, without any.
#[test]
fn patterns_hardly_fire_on_other_peoples_text() {
    let Some(data) = support::data() else { return };
    let (mut bytes, mut all) = (0, BTreeMap::new());
    for path in files(&data) {
        let Some(text) = text(&path) else { continue };
        let head = &text[..text.floor_char_boundary(READ)];
        bytes += head.len();
        let found = marks(head);
        if !found.is_empty() {
            println!("{}: {found:?}", path.strip_prefix(&data).unwrap().display());
        }
        let listing = path.parent().is_some_and(|folder| folder.ends_with("mcp-tools"));
        assert!(!listing || found.values().sum::<usize>() <= 4, "{}: {found:?}", path.display());
        for (name, count) in found {
            *all.entry(name).or_insert(0) += count;
        }
    }
    println!("{all:?} in {bytes} bytes");
}
