//! Files and paths as people name them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::problem::{Position, Problem};

/// Reads a text file.
///
/// # Errors
/// A problem that names the file and what the system said.
pub fn read(path: &Path) -> Result<String, Problem> {
    let fail = |message: String| Problem::new(shown(path), Position::default(), message);
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => fail("there is no such file".to_owned()),
        kind => fail(format!("cannot be read: {kind}")),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let at = Position::of_offset(&text, valid);
        Problem::new(shown(path), at, "not UTF-8").help("save the file as UTF-8")
    })
}

/// A path as it is shown to people.
pub fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

/// The files with one of these endings below a path (or the path itself), sorted.
pub(super) fn files_below(path: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, std::io::Error> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path, endings)?);
        } else if path.extension().is_some_and(|e| endings.iter().any(|known| e == *known)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The folders in a folder, sorted; none where it cannot be read. Hidden ones are left out.
pub(super) fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let hidden = |path: &PathBuf| {
        path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'))
    };
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !hidden(path)).collect();
    folders.sort();
    folders
}

/// The bytes of every file below a folder, by its path there. Hidden files are left out, and links
/// are not followed: what a folder is made of stands in it.
pub(super) fn folder_bytes(
    folder: &Path,
    (most_files, most_bytes): (usize, u64),
) -> Result<BTreeMap<String, Vec<u8>>, std::io::Error> {
    let (mut files, mut size) = (BTreeMap::new(), 0);
    let mut left = vec![(folder.to_path_buf(), String::new())];
    while let Some((folder, below)) = left.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (kind, path) = (entry.file_type()?, format!("{below}{name}"));
            if name.starts_with('.') || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                left.push((entry.path(), format!("{path}/")));
                continue;
            }
            size += entry.metadata()?.len();
            if size > most_bytes || files.len() >= most_files {
                let why = format!("more than {most_files} files, or {most_bytes} bytes");
                return Err(std::io::Error::other(why));
            }
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// A path without `.` and without `x/..`, for people.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
