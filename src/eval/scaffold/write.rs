//! Putting a scaffold on disk, all of it or nothing.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::Scaffold;

/// Why a scaffold was not written. Nothing of it is on disk then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaffoldError {
    /// Files that are there already, in order.
    #[error("there already: {}", list(paths))]
    Exists {
        /// Which.
        paths: Vec<PathBuf>,
    },
    /// A path that leads out of the root.
    #[error("`{}` is no path inside the project", path.display())]
    Outside {
        /// Which.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot write `{}`: {reason}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Writes every file under `root` and returns their paths from there, in order. Files that are
/// there already are an error unless `force`, which overwrites them and leaves all others alone.
/// Everything is written under temporary names first and then renamed; when something fails,
/// what was renamed is taken back, and folders that were made are removed again.
///
/// # Errors
/// When a file is there already, or the file system refuses.
pub fn write(scaffold: &Scaffold, root: &Path, force: bool) -> Result<Vec<PathBuf>, ScaffoldError> {
    let paths: Vec<PathBuf> = scaffold.files.keys().cloned().collect();
    let inside =
        |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    if let Some(path) = paths.iter().find(|path| !inside(path)) {
        return Err(ScaffoldError::Outside { path: path.clone() });
    }
    let there = |path: &&PathBuf| root.join(path).symlink_metadata().is_ok();
    let existing: Vec<PathBuf> = paths.iter().filter(there).cloned().collect();
    if !existing.is_empty() && !force {
        return Err(ScaffoldError::Exists { paths: existing });
    }
    let mut undo = Undo::default();
    match attempt(scaffold, root, force, &mut undo) {
        Ok(()) => Ok(paths),
        Err(error) => {
            undo.run();
            Err(error)
        }
    }
}

/// What to take back when something fails.
#[derive(Default)]
struct Undo {
    folders: Vec<PathBuf>,
    /// Files renamed into place, with what they held before.
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Undo {
    /// Best effort: an error while taking back leaves the first error the one that is reported.
    fn run(self) {
        for (path, before) in self.files.into_iter().rev() {
            let _ = match before {
                Some(content) => fs::write(path, content),
                None => fs::remove_file(path),
            };
        }
        for folder in self.folders.into_iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn attempt(
    scaffold: &Scaffold,
    root: &Path,
    force: bool,
    undo: &mut Undo,
) -> Result<(), ScaffoldError> {
    let mut staged: Vec<(TempPath, PathBuf)> = Vec::new();
    for (path, content) in &scaffold.files {
        let target = root.join(path);
        let refuse = |error: io::Error| failed(path, &error);
        if target.is_dir() {
            return Err(refuse(io::ErrorKind::IsADirectory.into()));
        }
        let folder = target.parent().unwrap_or(root);
        make_folders(folder, undo).map_err(refuse)?;
        staged.push((stage(folder, content).map_err(refuse)?, target));
    }
    for ((temporary, target), path) in staged.into_iter().zip(scaffold.files.keys()) {
        let refuse = |error: io::Error| failed(path, &error);
        let before = match fs::read(&target) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refuse(error)),
        };
        let placed =
            if force { temporary.persist(&target) } else { temporary.persist_noclobber(&target) };
        placed.map_err(|error| refuse(error.error))?;
        undo.files.push((target, before));
    }
    Ok(())
}

fn stage(folder: &Path, content: &str) -> io::Result<TempPath> {
    let mut file: NamedTempFile =
        tempfile::Builder::new().prefix(".proofmark-").suffix(".tmp").tempfile_in(folder)?;
    file.write_all(content.as_bytes())?;
    readable(file.as_file())?;
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

/// A temporary file is private; the file it becomes is an ordinary one.
#[cfg(unix)]
fn readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> io::Result<()> {
    Ok(())
}

/// Makes a folder and those above it, one by one, so that each can be taken back.
fn make_folders(folder: &Path, undo: &mut Undo) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folders(parent, undo)?;
    }
    fs::create_dir(folder)?;
    undo.folders.push(folder.to_path_buf());
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> ScaffoldError {
    ScaffoldError::Io { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_renamed_is_taken_back() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("old"), "new").unwrap();
        let mut undo = Undo::default();
        make_folders(&at("a/b"), &mut undo).unwrap();
        fs::write(at("a/b/c"), "x").unwrap();
        undo.files = vec![(at("old"), Some(b"old".to_vec())), (at("a/b/c"), None)];
        undo.run();
        assert_eq!(fs::read_to_string(at("old")).unwrap(), "old");
        assert!(!at("a").exists());
    }
}
