//! Files that come with tools, as they were when the tools were registered: a skill's folder. What
//! runs later is written out from here, so that nobody can put something else in its place.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::base::digest::{Digest, Hasher};

/// How a word of a command begins that is a file of the package.
pub const PLACE: &str = "skill:";
/// Where the digest of the files stands in the tools' `provenance.foreign`.
pub const DIGEST: &str = "packageDigest";

/// The files of one package.
#[derive(Debug)]
pub struct Package {
    /// Which one, as the tools' `source.sourceId` names it.
    pub id: String,
    /// Digest of all names and contents.
    pub digest: Digest,
    files: BTreeMap<String, Vec<u8>>,
    folder: Mutex<Option<TempDir>>,
}

impl PartialEq for Package {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.digest == other.digest
    }
}

impl Eq for Package {}

impl Package {
    /// A package of these files, by their paths below its folder.
    pub fn new(id: impl Into<String>, files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut hasher = Hasher::new("package");
        for (path, bytes) in &files {
            hasher = hasher.field(path.as_bytes()).field(bytes);
        }
        Self { id: id.into(), digest: hasher.finish(), files, folder: Mutex::default() }
    }

    /// The paths of its files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// A folder with its files, written when it is first asked for. It is gone with the package.
    ///
    /// # Errors
    /// What the system said.
    pub fn folder(&self) -> io::Result<PathBuf> {
        let mut held = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*held {
            return folder.path().canonicalize();
        }
        let folder = tempfile::Builder::new().prefix("package-").tempdir()?;
        for (path, bytes) in &self.files {
            let file = folder.path().join(inner(path)?);
            if let Some(above) = file.parent() {
                std::fs::create_dir_all(above)?;
            }
            std::fs::write(&file, bytes)?;
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o555))?;
        }
        let place = folder.path().canonicalize()?;
        *held = Some(folder);
        Ok(place)
    }
}

/// A path that leads nowhere but down.
fn inner(path: &str) -> io::Result<&Path> {
    let parts = Path::new(path).components();
    let down = parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)));
    match down && !path.is_empty() {
        true => Ok(Path::new(path)),
        false => Err(io::Error::other(format!("`{path}` leads out of its package"))),
    }
}

/// Packages by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packages(BTreeMap<String, Arc<Package>>);

impl Packages {
    /// These; of two with the same id the last counts.
    pub fn new(packages: impl IntoIterator<Item = Package>) -> Self {
        Self(packages.into_iter().map(|one| (one.id.clone(), Arc::new(one))).collect())
    }

    /// None.
    pub const fn new_empty() -> Self {
        Self(BTreeMap::new())
    }

    /// The package of this id.
    pub fn get(&self, id: &str) -> Option<&Arc<Package>> {
        self.0.get(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(files: &[(&str, &str)]) -> Package {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Package::new("skill:a", files.collect())
    }

    #[test]
    fn files_are_written_out_as_they_were() {
        let one = package(&[("SKILL.md", "a"), ("scripts/x.sh", "echo")]);
        let folder = one.folder().unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("scripts/x.sh")).unwrap(), "echo");
        assert_eq!(one.folder().unwrap(), folder, "written once");
        drop(one);
        assert!(!folder.exists());
    }

    #[test]
    fn no_file_leads_out() {
        for path in ["../x", "/etc/x", "a/../../x", ""] {
            assert!(package(&[(path, "x")]).folder().is_err(), "{path}");
        }
    }

    #[test]
    fn every_name_and_content_counts() {
        let base = package(&[("a", "1"), ("b", "2")]);
        for other in [
            package(&[("a", "1"), ("b", "3")]),
            package(&[("a", "1"), ("c", "2")]),
            package(&[("a", "1b2")]),
        ] {
            assert_ne!(other.digest, base.digest);
        }
    }
}
