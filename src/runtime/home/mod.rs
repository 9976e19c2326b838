//! An agent's home: one folder in which everything that outlives a session is kept (seed B section
//! 16).
//!
//! ```text
//! tools/         the registry: registry.jsonl, grants.jsonl, evals.jsonl, descriptors/
//! tool-runs/     run_ID.jsonl, the journal of a session, and run_ID.texts.jsonl beside it
//! artifacts/     KIND_DIGEST.EXT, whatever calls left; pruned.jsonl
//! sandboxes/     sbx_ID/, the workspace of a session
//! credentials/   bindings.jsonl
//! skills/        NAME/SKILL.md, scripts and references
//! mcp/           servers.json, discovered_tools.jsonl, consents.jsonl
//! ```
//!
//! Files that are replaced are written under another name and renamed; logs are only appended to,
//! and what a dying process left of a last line is dropped. A session shares the home's lock;
//! whoever removes something holds it alone.

mod artifacts;
mod consents;
mod follow;
mod record;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use artifacts::{Artifact, Fate, Retention};
pub use consents::Given;
pub use follow::{Follower, lost};
pub use record::{Record, Run, beside};

use crate::base::problem::Problem;
use crate::base::world::Millis;
use crate::journal::{Entry, format};

/// The registry's folder in a home.
pub const TOOLS: &str = "tools";
/// The folder of what calls left, in a home.
pub const ARTIFACTS: &str = "artifacts";
/// The folders of a home.
const FOLDERS: [&str; 7] =
    [TOOLS, "tool-runs", ARTIFACTS, "sandboxes", "credentials", "skills", "mcp"];
const LOCK: &str = ".lock";

/// Why a home cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// Files that hold what they should not.
    #[error("{} problems", .0.len())]
    Problems(Vec<Problem>),
    /// The system refused.
    #[error("{}: {reason}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// Sessions run in it.
    #[error("{}: a session writes there; end it first", .0.display())]
    InUse(PathBuf),
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NoRun(String),
}

/// An open home. Its lock ends with it.
#[derive(Debug)]
pub struct Home {
    root: PathBuf,
    /// Held, never read.
    _lock: File,
}

impl Home {
    /// Opens a home for a session beside others, and makes what is not there of it; nobody but its
    /// owner can look into a folder that is made.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn open(root: &Path) -> Result<Self, HomeError> {
        let lock = Self::lock(root)?;
        lock.lock_shared().map_err(|error| failed(&root.join(LOCK), &error))?;
        Ok(Self { root: root.to_path_buf(), _lock: lock })
    }

    /// Opens a home alone, to remove something.
    ///
    /// # Errors
    /// That a session runs in it, or what the system refuses.
    pub fn alone(root: &Path) -> Result<Self, HomeError> {
        let lock = Self::lock(root)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_path_buf(), _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(HomeError::InUse(root.to_path_buf())),
            Err(fs::TryLockError::Error(error)) => Err(failed(&root.join(LOCK), &error)),
        }
    }

    fn lock(root: &Path) -> Result<File, HomeError> {
        let mut make = DirBuilder::new();
        make.recursive(true).mode(0o700);
        for folder in FOLDERS.map(|name| root.join(name)) {
            make.create(&folder).map_err(|error| failed(&folder, &error))?;
        }
        let path = root.join(LOCK);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        opened.map_err(|error| failed(&path, &error))
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The registry's folder.
    pub fn tools(&self) -> PathBuf {
        self.root.join(TOOLS)
    }

    /// The folder that a session's workspace has.
    pub fn sandbox(&self, session: &str) -> PathBuf {
        self.root.join("sandboxes").join(format!("sbx_{session}"))
    }

    fn runs(&self) -> PathBuf {
        self.root.join("tool-runs")
    }

    fn artifacts(&self) -> PathBuf {
        self.root.join(ARTIFACTS)
    }

    fn mcp(&self, name: &str) -> PathBuf {
        self.root.join("mcp").join(name)
    }

    /// Begins the record of a session.
    ///
    /// # Errors
    /// When there is one of that name, or the system refuses.
    pub fn record(&self, session: &str) -> Result<Record, HomeError> {
        let record = Record::create(&self.run_file(session), Some(self.artifacts()))?;
        Ok(record.with_news(self.mcp(NEWS)))
    }

    /// Goes on with the record of a session that ended, or whose process died.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn reopen(&self, session: &str) -> Result<(Record, Run), HomeError> {
        let path = self.run_file(session);
        if !path.is_file() {
            return Err(HomeError::NoRun(session.to_owned()));
        }
        let (record, run) = Record::reopen(&path, Some(self.artifacts()))?;
        Ok((record.with_news(self.mcp(NEWS)), run))
    }

    /// A run with its texts.
    ///
    /// # Errors
    /// That there is none, or what cannot be read.
    pub fn run(&self, session: &str) -> Result<Run, HomeError> {
        let path = self.run_file(session);
        match path.is_file() {
            true => Run::read(&path, Some(&self.artifacts())),
            false => Err(HomeError::NoRun(session.to_owned())),
        }
    }

    /// All runs, by id, without their texts.
    ///
    /// # Errors
    /// All that cannot be read.
    pub fn all_runs(&self) -> Result<Vec<(String, Run)>, HomeError> {
        let (mut runs, mut problems) = (Vec::new(), Vec::new());
        for id in names(&self.runs())?.iter().filter_map(|name| run_id(name)) {
            match Run::entries(&self.run_file(id)) {
                Ok(run) => runs.push((id.to_owned(), run)),
                Err(HomeError::Problems(mut new)) => problems.append(&mut new),
                Err(error) => return Err(error),
            }
        }
        if problems.is_empty() { Ok(runs) } else { Err(HomeError::Problems(problems)) }
    }

    fn run_file(&self, session: &str) -> PathBuf {
        self.runs().join(format!("run_{session}.jsonl"))
    }

    /// What servers added while sessions ran; nobody registered it.
    ///
    /// # Errors
    /// All lines that cannot be read.
    pub fn news(&self) -> Result<Vec<Entry>, HomeError> {
        let path = self.mcp(NEWS);
        let (entries, problems) = format::read(&path.display().to_string(), &log(&path)?);
        if problems.is_empty() { Ok(entries) } else { Err(HomeError::Problems(problems)) }
    }
}

/// What servers added while sessions ran.
const NEWS: &str = "discovered_tools.jsonl";

/// The id in the name of a run's file.
fn run_id(name: &str) -> Option<&str> {
    let id = name.strip_prefix("run_")?.strip_suffix(".jsonl")?;
    (!id.contains('.')).then_some(id)
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, HomeError> {
    let fail = |error: io::Error| failed(folder, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        names.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn failed(path: &Path, error: &io::Error) -> HomeError {
    HomeError::Io { path: path.to_path_buf(), reason: error.to_string() }
}

/// Opens a file to append to, readable by nobody else where it is made.
fn appending(path: &Path) -> Result<File, HomeError> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    file.map_err(|error| failed(path, &error))
}

/// Appends one line, which is on disk when this is done. What a dying process left of a last line
/// is cut off before.
fn append(path: &Path, line: &str) -> Result<(), HomeError> {
    let fail = |error: io::Error| failed(path, &error);
    let mut file = appending(path)?;
    file.lock().map_err(fail)?;
    let text = fs::read(path).map_err(fail)?;
    file.set_len(whole(&text) as u64).map_err(fail)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(fail)?;
    file.sync_data().map_err(fail)
}

/// The bytes up to the last line break.
fn whole(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// The text of a log up to its last line break; nothing where it is not there.
fn log(path: &Path) -> Result<String, HomeError> {
    let mut bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(path, &error)),
    };
    bytes.truncate(whole(&bytes));
    let not_text = || vec![Problem::new(path.display().to_string(), Default::default(), NOT_TEXT)];
    String::from_utf8(bytes).map_err(|_| HomeError::Problems(not_text()))
}

const NOT_TEXT: &str = "not UTF-8";

/// Whether a moment lies further back than a time.
fn is_before(at: Millis, now: Millis, age: Millis) -> bool {
    now.saturating_sub(at) > age
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
