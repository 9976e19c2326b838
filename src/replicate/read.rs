//! Files of outside data: as text, compressed or not, in JSON or JSON Lines.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

use crate::base::jsonl::lines_of;
use crate::base::problem::{Position, Problem};

/// The first bytes of what gzip wrote.
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn problem(path: &Path, at: Position, message: impl Into<String>) -> Problem {
    Problem::new(path.display().to_string(), at, message)
}

/// A file's text; what gzip compressed is unpacked.
pub(super) fn text(path: &Path) -> Result<String, Problem> {
    let whole = Position::default();
    let bytes = fs::read(path).map_err(|error| {
        let help = "`--data` names the folder of outside data";
        problem(path, whole, format!("cannot be read: {}", error.kind())).help(help)
    })?;
    let bytes = if bytes.starts_with(&GZIP) {
        let mut unpacked = Vec::new();
        let read = MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked);
        read.map_err(|error| problem(path, whole, format!("is no whole gzip file: {error}")))?;
        unpacked
    } else {
        bytes
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let valid = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
        problem(path, Position::of_offset(&valid, at), "is no UTF-8 text")
    })
}

/// A file of one JSON value.
pub(super) fn json<T: DeserializeOwned>(path: &Path) -> Result<T, Problem> {
    serde_json::from_str(&text(path)?).map_err(|error| {
        problem(path, Position::new(error.line(), error.column()), format!("{error}"))
    })
}

/// A file of one JSON value on each line.
pub(super) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Problem> {
    each(path, &text(path)?)
}

/// The values on the lines of a text.
pub(super) fn each<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<T>, Problem> {
    let parsed = lines_of(text).map(|(number, line)| {
        serde_json::from_str(line).map_err(|error| {
            problem(path, Position::new(number, error.column()), format!("{error}"))
        })
    });
    parsed.collect()
}

/// The files of a folder whose names end so, in the order of their names.
pub(super) fn files(folder: &Path, ends: &[&str]) -> Result<Vec<PathBuf>, Problem> {
    let entries = fs::read_dir(folder).map_err(|error| {
        let message = format!("cannot be listed: {}", error.kind());
        problem(folder, Position::default(), message)
            .help("`--data` names the folder of outside data")
    })?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.is_file() && ends.iter().any(|end| name.ends_with(end))
    };
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(fits).collect();
    found.sort();
    Ok(found)
}

/// The name of a file up to its first dot behind `prefix`.
pub(super) fn stem<'p>(path: &'p Path, prefix: &str, suffix: &str) -> &'p str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_prefix(prefix).unwrap_or(name);
    name.strip_suffix(suffix).unwrap_or(name)
}
