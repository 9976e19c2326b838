//! A folder of its own for each trial, made when it is first needed and removed with the trial.
//! Every path stays inside: absolute paths, `..` and links that lead out are refused.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

/// Why a path is refused or a file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path leads out of the workspace.
    #[error("`{0}` is outside the workspace")]
    Outside(String),
    /// The file system said no.
    #[error("`{path}`: {reason}")]
    Io {
        /// The path as given.
        path: String,
        /// A stable code: `not_found`, `is_a_directory`, `io`.
        code: &'static str,
        /// What the system said.
        reason: String,
    },
}

impl WorkspaceError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Outside(_) => "path_outside",
            Self::Io { code, .. } => code,
        }
    }

    fn io(path: &str, error: &io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound => "not_found",
            io::ErrorKind::IsADirectory => "is_a_directory",
            _ => "io",
        };
        Self::Io { path: path.to_owned(), code, reason: error.kind().to_string() }
    }
}

/// A trial's folder, or one that stays.
#[derive(Debug, Default)]
pub struct Workspace {
    files: BTreeMap<String, String>,
    folder: Option<TempDir>,
    stays: Option<PathBuf>,
}

impl Workspace {
    /// A workspace that will hold these files.
    pub fn new(files: BTreeMap<String, String>) -> Self {
        Self { files, ..Self::default() }
    }

    /// The same in a folder that stays when it is let go. One that is there is used as it is; one
    /// that is made holds these files first.
    #[must_use]
    pub fn in_folder(self, folder: PathBuf) -> Self {
        Self { stays: Some(folder), ..self }
    }

    /// The folder; made and filled on first use.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn root(&mut self) -> Result<PathBuf, WorkspaceError> {
        if let Some(folder) = &self.folder {
            return Ok(folder.path().to_path_buf());
        }
        let fail = |error: io::Error| WorkspaceError::io(".", &error);
        if let Some(folder) = &self.stays {
            if !folder.exists() {
                fs::create_dir_all(folder).map_err(fail)?;
                self.fill(folder)?;
            }
            return folder.canonicalize().map_err(fail);
        }
        let folder = tempfile::Builder::new().prefix("proofmark-").tempdir().map_err(fail)?;
        let root = folder.path().canonicalize().map_err(fail)?;
        self.fill(&root)?;
        self.folder = Some(folder);
        Ok(root)
    }

    fn fill(&self, root: &Path) -> Result<(), WorkspaceError> {
        let fail = |error: io::Error| WorkspaceError::io(".", &error);
        for (path, content) in &self.files {
            let file = root.join(clean(path)?);
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent).map_err(fail)?;
            }
            fs::write(&file, content).map_err(fail)?;
        }
        Ok(())
    }

    /// Reads a text file; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// As [`WorkspaceError`] says.
    pub fn read(&mut self, path: &str) -> Result<String, WorkspaceError> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// Reads a file of any kind.
    ///
    /// # Errors
    /// As [`WorkspaceError`] says.
    pub fn bytes(&mut self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        let file = self.inside(path)?;
        fs::read(file).map_err(|error| WorkspaceError::io(path, &error))
    }

    /// Writes a file, and the folders above it.
    ///
    /// # Errors
    /// As [`WorkspaceError`] says.
    pub fn write(&mut self, path: &str, content: &str) -> Result<(), WorkspaceError> {
        let file = self.inside(path)?;
        let fail = |error: io::Error| WorkspaceError::io(path, &error);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(file, content).map_err(fail)
    }

    /// Removes one file.
    ///
    /// # Errors
    /// As [`WorkspaceError`] says.
    pub fn remove(&mut self, path: &str) -> Result<(), WorkspaceError> {
        let file = self.inside(path)?;
        fs::remove_file(file).map_err(|error| WorkspaceError::io(path, &error))
    }

    /// All files below a path, relative to the root, sorted; folders end in `/` and only the
    /// first level is listed unless `deep`.
    ///
    /// # Errors
    /// As [`WorkspaceError`] says.
    pub fn list(&mut self, path: &str, deep: bool) -> Result<Vec<String>, WorkspaceError> {
        let root = self.root()?;
        let start = self.inside(path)?;
        let (mut found, mut open) = (Vec::new(), vec![start]);
        while let Some(folder) = open.pop() {
            let entries =
                fs::read_dir(&folder).map_err(|error| WorkspaceError::io(path, &error))?;
            for entry in entries.flatten() {
                let full = entry.path();
                let shown = full.strip_prefix(&root).unwrap_or(&full).to_string_lossy();
                // Links are shown and never followed.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                match (is_folder, deep) {
                    (true, true) => open.push(full.clone()),
                    (true, false) => found.push(format!("{shown}/")),
                    (false, _) => found.push(shown.into_owned()),
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The real place of a path: inside the root, also through every link on the way.
    fn inside(&mut self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let root = self.root()?;
        let full = root.join(clean(path)?);
        let mut known = full.as_path();
        // The nearest parent that exists decides; what does not exist yet cannot be a link.
        while known.symlink_metadata().is_err() {
            match known.parent() {
                Some(parent) => known = parent,
                None => break,
            }
        }
        let real = known.canonicalize().map_err(|_| WorkspaceError::Outside(path.to_owned()))?;
        if !real.starts_with(&root) {
            return Err(WorkspaceError::Outside(path.to_owned()));
        }
        Ok(full)
    }
}

fn clean(path: &str) -> Result<PathBuf, WorkspaceError> {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(WorkspaceError::Outside(path.to_owned()));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_there_and_the_folder_goes_away() {
        let files = BTreeMap::from([("src/a.txt".to_owned(), "one".to_owned())]);
        let mut workspace = Workspace::new(files);
        assert_eq!(workspace.read("src/a.txt").unwrap(), "one");
        workspace.write("new/b.txt", "two").unwrap();
        assert_eq!(workspace.list("", true).unwrap(), ["new/b.txt", "src/a.txt"]);
        assert_eq!(workspace.list(".", false).unwrap(), ["new/", "src/"]);
        workspace.remove("src/a.txt").unwrap();
        assert_eq!(workspace.read("src/a.txt").unwrap_err().code(), "not_found");
        let root = workspace.root().unwrap();
        drop(workspace);
        assert!(!root.exists());
    }

    #[test]
    fn no_path_leads_out() {
        let mut workspace = Workspace::default();
        let root = workspace.root().unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        for path in ["/etc/passwd", "../x", "a/../../x", "out/passwd", "out", "dangling"] {
            let error = workspace.read(path).unwrap_err();
            assert_eq!(error.code(), "path_outside", "{path}");
            assert!(workspace.write(path, "x").is_err(), "{path}");
        }
    }
}
