//! What a command changed, seen in the workspace before and after it. What it read cannot be seen,
//! and the method says so: `digests` speaks of what was written, removed and reached, alone.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::base::digest::{Digest, Hasher};
use crate::journal::event::call::ObservedEffects;

/// Files by their name in the workspace.
pub type Snapshot = BTreeMap<String, Stamp>;

/// What a file is told apart by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stamp {
    /// Its content, or where a link leads.
    Content(Digest),
    /// For long files: number, size, and when it last changed, which nobody can set back.
    Numbers([i64; 4]),
}

/// Files that are longer are not read.
const LONG: u64 = 4 << 20;
/// A workspace with more files is not looked at.
const MOST: usize = 100_000;

/// The files of a workspace; `None` where they cannot be had or are too many.
pub fn snapshot(root: &Path) -> Option<Snapshot> {
    read(root).ok().flatten()
}

fn read(root: &Path) -> io::Result<Option<Snapshot>> {
    let (mut found, mut open) = (Snapshot::new(), vec![root.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let kind = path.symlink_metadata()?;
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let stamp = stamp(&path, &kind)?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            found.insert(name, stamp);
            if found.len() > MOST {
                return Ok(None);
            }
        }
    }
    Ok(Some(found))
}

fn stamp(path: &Path, kind: &fs::Metadata) -> io::Result<Stamp> {
    let hashed = |kind: &str, bytes: &[u8]| {
        Stamp::Content(Hasher::new("seen").field(kind.as_bytes()).field(bytes).finish())
    };
    if kind.is_symlink() {
        return Ok(hashed("link", fs::read_link(path)?.as_os_str().as_encoded_bytes()));
    }
    if kind.is_file() && kind.len() <= LONG {
        return Ok(hashed("file", &fs::read(path)?));
    }
    let number = kind.ino().cast_signed();
    let size = kind.size().cast_signed();
    Ok(Stamp::Numbers([number, size, kind.ctime(), kind.ctime_nsec()]))
}

/// What is different from before.
pub fn changes(before: Option<Snapshot>, root: &Path) -> ObservedEffects {
    let (Some(before), Some(after)) = (before, snapshot(root)) else {
        return ObservedEffects { method: "unknown".to_owned(), ..ObservedEffects::default() };
    };
    let shown = |name: &String| format!("workspace:{name}");
    let written = after.iter().filter(|(name, stamp)| before.get(*name) != Some(stamp));
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    ObservedEffects {
        method: "digests".to_owned(),
        writes: written.map(|(name, _)| shown(name)).collect(),
        deletes: gone.map(shown).collect(),
        ..ObservedEffects::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_seen_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        fs::create_dir(root.join("deep")).unwrap();
        for name in ["same", "changed", "gone", "deep/rewritten"] {
            write(name, name);
        }
        std::os::unix::fs::symlink("same", root.join("link")).unwrap();
        let before = snapshot(root);
        write("changed", "Changed");
        write("deep/new", "");
        write("deep/rewritten", "deep/rewritten");
        fs::remove_file(root.join("gone")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        std::os::unix::fs::symlink("changed", root.join("link")).unwrap();
        let seen = changes(before, root);
        assert_eq!(seen.method, "digests");
        assert_eq!(seen.writes, ["workspace:changed", "workspace:deep/new", "workspace:link"]);
        assert_eq!(seen.deletes, ["workspace:gone"]);
        assert_eq!(changes(None, root).method, "unknown");
    }
}
