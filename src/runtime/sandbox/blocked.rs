//! Blocked paths, found under every name they have: through links, through `..`, by another hard
//! link, by a pattern; and names that do not exist yet, which are taken so that nobody makes them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::order::Visible;
use super::system;
use crate::base::world::env_var;

/// Files that are looked at for other names of what is blocked; more are refused.
const MOST: usize = 200_000;

/// What is to be covered. Names that were taken for it are given back with this value.
#[derive(Debug, Default)]
pub struct Blocked {
    /// Real paths, none below another.
    pub paths: Vec<PathBuf>,
    taken: Vec<PathBuf>,
}

impl Drop for Blocked {
    fn drop(&mut self) {
        for path in &self.taken {
            // Nobody could write it; what is not empty is not the file that was made.
            if path.metadata().is_ok_and(|found| found.len() == 0) {
                let _gone = fs::remove_file(path);
            }
        }
    }
}

/// Finds what entries of `blockedPaths` mean among what is visible. An entry is a path, relative
/// to the workspace, or to the home of who runs this behind `~/`; or a pattern of paths in the
/// workspace.
///
/// # Errors
/// What the system said, or that there are too many files to look at.
pub(super) fn find(entries: &[String], workspace: &Path, visible: &Visible) -> io::Result<Blocked> {
    let mut blocked = Blocked::default();
    if entries.is_empty() {
        return Ok(blocked);
    }
    let roots: Vec<&PathBuf> = visible.read.iter().chain(&visible.write).collect();
    let files = walk(&roots)?;
    let mut found = BTreeSet::new();
    for entry in entries {
        if entry.contains(['*', '?', '[']) {
            let glob = GlobBuilder::new(entry).literal_separator(true).build();
            let glob = glob.map_err(io::Error::other)?.compile_matcher();
            let named = files.iter().filter(|path| {
                path.strip_prefix(workspace).is_ok_and(|below| glob.is_match(below))
            });
            for path in named {
                found.extend(path.canonicalize().ok());
            }
            continue;
        }
        let path = match entry.strip_prefix("~/").zip(env_var("HOME")) {
            Some((below, home)) => Path::new(&home).join(below),
            None => workspace.join(entry),
        };
        match path.canonicalize() {
            Ok(real) => {
                found.insert(real);
            }
            Err(_) => blocked.take(&path, visible)?,
        }
    }
    found.extend(blocked.taken.iter().cloned());
    found.extend(other_names(&found, &files)?);
    // What no root shows has no name inside anyway.
    let shown = |path: &PathBuf| {
        let system = system::folders().any(|folder| path.starts_with(folder));
        system || roots.iter().any(|root| path.starts_with(root))
    };
    let below = |path: &PathBuf| found.iter().any(|other| other != path && path.starts_with(other));
    blocked.paths = found.iter().filter(|path| shown(path) && !below(path)).cloned().collect();
    Ok(blocked)
}

impl Blocked {
    /// Takes the first missing name on the way to a path, where it could be made.
    fn take(&mut self, path: &Path, visible: &Visible) -> io::Result<()> {
        let mut missing = path;
        while let Some(parent) = missing.parent() {
            if let Ok(real) = parent.canonicalize() {
                let Some(name) = missing.file_name() else { return Ok(()) };
                let place = real.join(name);
                let writable = visible.write.iter().any(|root| place.starts_with(root));
                // A link that leads nowhere cannot be covered, and what it might lead to later
                // neither.
                if place.symlink_metadata().is_ok() {
                    let shown = path.display();
                    return Err(io::Error::other(format!("blocked path {shown} leads nowhere")));
                }
                if writable {
                    fs::File::create_new(&place)?;
                    self.taken.push(place);
                }
                return Ok(());
            }
            missing = parent;
        }
        Ok(())
    }
}

/// Every file and folder below some roots; links are listed and not followed.
fn walk(roots: &[&PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut open: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        if !folder.symlink_metadata()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
            found.push(entry.path());
            if found.len() > MOST {
                return Err(io::Error::other("too many files to block some of them"));
            }
        }
    }
    Ok(found)
}

/// Hard links to what is blocked, or to a file in a folder that is.
fn other_names(found: &BTreeSet<PathBuf>, files: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut linked = BTreeSet::new();
    let inside = walk(&found.iter().collect::<Vec<_>>())?;
    for path in found.iter().chain(&inside) {
        let kind = path.symlink_metadata()?;
        if kind.is_file() && kind.nlink() > 1 {
            linked.insert((kind.dev(), kind.ino()));
        }
    }
    let mut names = Vec::new();
    for path in files.iter().filter(|_| !linked.is_empty()) {
        let kind = path.symlink_metadata()?;
        if linked.contains(&(kind.dev(), kind.ino())) {
            names.push(path.clone());
        }
    }
    Ok(names)
}
