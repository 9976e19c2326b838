//! A registry on disk: `registry.jsonl` and `grants.jsonl`, two journals that are only appended
//! to, and `descriptors/<digest>.yaml`, named by their content.
//!
//! A process may die at any byte. A descriptor is written under another name and renamed; a line
//! counts once its line break is there, so what a dying process left behind the last one was
//! never confirmed, is dropped with a note, and is cut off before the next line is written.
//! Whoever writes holds a lock; whoever reads shares one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lifecycle::State;
use super::signature::Keys;
use super::standing::{Book, Holder, Standing};
use crate::base::digest::Digest;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::base::world::Millis;
use crate::journal::{Entry, Event, format};
use crate::tool::descriptor::{Descriptor, Lifecycle, LifecycleStatus};
use crate::tool::id::ToolId;
use crate::tool::{manifest, short};

/// The two logs. Grants stand first: a record that is cut short between them is the stricter one.
pub const LOGS: [&str; 2] = ["grants.jsonl", "registry.jsonl"];
const GRANTS: usize = 0;
const TOOLS: usize = 1;
const DESCRIPTORS: &str = "descriptors";
const LOCK: &str = ".lock";
const KEYS: &str = "keys.yaml";
const EVALS: &str = "evals.jsonl";
/// How files begin that a dying process may leave behind.
const UNFINISHED: &str = ".unfinished-";

/// Why a registry cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
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
}

/// An open registry. Its lock ends with it.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// Where every tool stands.
    pub book: Book,
    /// What was dropped while reading.
    pub notes: Vec<String>,
    /// How many entries there are.
    pub entries: u64,
    /// Whose signatures it knows, by its `keys.yaml`.
    pub keys: Keys,
    logs: [Log; 2],
    /// Held, never read.
    _lock: Option<File>,
}

/// What somebody may call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Callable {
    /// These.
    pub tools: BTreeSet<ToolId>,
    /// Not these: why not, and by whom.
    pub others: BTreeMap<ToolId, (String, Option<String>)>,
    /// When the first grant ends that this rests on.
    pub until: Option<Millis>,
}

/// What golden prompts found of a version, one line of `evals.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Eval {
    /// Which tool.
    pub tool_id: ToolId,
    /// Which version.
    pub tool_version: Digest,
    /// Digest of the judged prompts, as `ToolEnabled` names it.
    pub evidence: Digest,
    /// How many prompts judge it.
    pub judged: u64,
    /// How many of them passed.
    pub passed: u64,
    /// The record of the run.
    pub run: String,
    /// When it was looked at.
    pub at: Millis,
}

impl Callable {
    /// Why each of the others is not callable.
    pub fn held(&self) -> BTreeMap<ToolId, String> {
        self.others.iter().map(|(tool, (why, _))| (tool.clone(), why.clone())).collect()
    }
}

/// One log as it was found.
#[derive(Debug, Clone, Copy, Default)]
struct Log {
    /// The number of its last entry.
    last: u64,
    /// Bytes up to the last line break.
    whole: u64,
    /// Bytes behind it.
    torn: u64,
}

impl Store {
    /// Reads a registry; one that is not there is empty. Waits for whoever writes.
    ///
    /// # Errors
    /// Every line that is no fact, or the first one that cannot follow; or what the system refuses.
    pub fn read(root: &Path) -> Result<Self, StoreError> {
        let path = root.join(LOCK);
        let lock = match File::open(&path) {
            Ok(file) => {
                file.lock_shared().map_err(|error| failed(&path, &error))?;
                Some(file)
            }
            // A copy without its lock, or none at all: nobody writes there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&path, &error)),
        };
        Self::load(root, lock)
    }

    /// Opens a registry for writing and makes it where it is not there. Waits for its lock.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn write(root: &Path) -> Result<Self, StoreError> {
        let folder = root.join(DESCRIPTORS);
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        let path = root.join(LOCK);
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|error| failed(&path, &error))?;
        lock.lock().map_err(|error| failed(&path, &error))?;
        sweep(&folder).map_err(|error| failed(&folder, &error))?;
        Self::load(root, Some(lock))
    }

    fn load(root: &Path, lock: Option<File>) -> Result<Self, StoreError> {
        let mut store = Self {
            root: root.to_path_buf(),
            book: Book::default(),
            notes: Vec::new(),
            entries: 0,
            keys: Keys::default(),
            logs: Default::default(),
            _lock: lock,
        };
        let mut problems = Vec::new();
        store.load_keys(&mut problems)?;
        for log in [TOOLS, GRANTS] {
            store.load_log(log, &mut problems)?;
        }
        problems.sort();
        if problems.is_empty() { Ok(store) } else { Err(StoreError::Problems(problems)) }
    }

    /// Whose signatures count is written by people.
    fn load_keys(&mut self, problems: &mut Vec<Problem>) -> Result<(), StoreError> {
        let path = self.root.join(KEYS);
        match fs::read_to_string(&path) {
            Ok(text) => match Keys::parse(&path.display().to_string(), &text) {
                Ok(keys) => self.keys = keys,
                Err(mut wrong) => problems.append(&mut wrong),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&path, &error)),
        }
        Ok(())
    }

    fn load_log(&mut self, log: usize, problems: &mut Vec<Problem>) -> Result<(), StoreError> {
        let path = self.root.join(LOGS[log]);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(&path, &error)),
        };
        let file = path.display().to_string();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = bytes.len() - whole;
        if torn > 0 {
            let note = "bytes of a last line that was cut short; nothing before it is lost";
            self.notes.push(format!("{file}: dropped {torn} {note}"));
        }
        let (whole_bytes, torn) = (&bytes[..whole], torn as u64);
        self.logs[log] = Log { last: 0, whole: whole as u64, torn };
        let text = match str::from_utf8(whole_bytes) {
            Ok(text) => text,
            Err(error) => {
                let text = String::from_utf8_lossy(whole_bytes);
                let at = Position::of_offset(&text, error.valid_up_to());
                problems.push(Problem::new(file, at, "not UTF-8").help(RESTORE));
                return Ok(());
            }
        };
        let mut reader = format::Reader::default();
        for (number, line) in jsonl::lines_of(text) {
            match reader.line(line) {
                // Behind damage only the form of lines can be judged: whatever does not fit there
                // may fit what was lost.
                Ok(_) if !problems.is_empty() => {}
                Ok(entry) => {
                    if let Err(message) = self.follow(log, &entry) {
                        let problem = Problem::new(&file, Position::new(number, 1), message);
                        problems.push(problem.help(RESTORE));
                    }
                }
                Err(bad) => problems.push(bad.in_line(&file, number).help(RESTORE)),
            }
        }
        Ok(())
    }

    /// One entry of a log, after those before it.
    fn follow(&mut self, log: usize, entry: &Entry) -> Result<(), String> {
        let expected = self.logs[log].last + 1;
        self.logs[log].last = entry.seq;
        self.entries += 1;
        if entry.seq != expected {
            return Err(format!("entry {} stands where {expected} is due", entry.seq));
        }
        if log_of(&entry.event) != log {
            return Err(format!("`{}` belongs to another file", entry.event.name()));
        }
        self.book.take(entry.at, &entry.event).map_err(|bad| bad.to_string())
    }

    /// Writes facts down, all of them in order, and takes them. They are on disk when this is
    /// done; a process that dies before leaves a beginning of them.
    ///
    /// # Errors
    /// When the system refuses, or a fact cannot follow: then none is written.
    pub fn append(&mut self, at: Millis, facts: &[Event]) -> Result<(), StoreError> {
        let mut lines = [Vec::new(), Vec::new()];
        // Judged on a copy first: a fact that cannot follow keeps all of them from being written.
        let mut book = self.book.excerpt(facts);
        let mut last = self.logs.map(|log| log.last);
        for event in facts {
            let log = log_of(event);
            last[log] += 1;
            book.take(at, event).map_err(|bad| {
                let path = self.root.join(LOGS[log]);
                StoreError::Io { path, reason: format!("not written: {bad}") }
            })?;
            let session = LOGS[log].trim_end_matches(".jsonl").into();
            let (turn, call, cause, event) = (None, None, None, event.clone());
            let entry = Entry { seq: last[log], session, turn, call, cause, at, event };
            format::write_line(&entry, &mut lines[log]);
        }
        // What a fact names must outlast the power before the fact does.
        Self::settle(&self.root.join(DESCRIPTORS))?;
        for (log, lines) in lines.iter().enumerate().filter(|(_, lines)| !lines.is_empty()) {
            let path = self.root.join(LOGS[log]);
            self.append_lines(log, &path, lines).map_err(|error| failed(&path, &error))?;
            self.logs[log].last = last[log];
        }
        Self::settle(&self.root)?;
        self.entries += facts.len() as u64;
        self.book.put(book);
        Ok(())
    }

    /// Names that were made or changed in a folder are on disk.
    fn settle(folder: &Path) -> Result<(), StoreError> {
        let synced = File::open(folder).and_then(|opened| opened.sync_all());
        synced.map_err(|error| failed(folder, &error))
    }

    fn append_lines(&mut self, log: usize, path: &Path, lines: &[u8]) -> io::Result<()> {
        let found = &mut self.logs[log];
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if found.torn > 0 {
            file.set_len(found.whole)?;
            found.torn = 0;
        }
        file.write_all(lines)?;
        file.sync_data()?;
        found.whole += lines.len() as u64;
        Ok(())
    }

    /// Keeps a descriptor under the digest of its content.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep(&self, descriptor: &Descriptor) -> Result<(), StoreError> {
        let path = self.path_of(&descriptor.content_digest());
        let text = short::write(descriptor);
        // One that was damaged is written anew.
        if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            return Ok(());
        }
        let write = || -> io::Result<()> {
            let folder = self.root.join(DESCRIPTORS);
            let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_data()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|error| failed(&path, &error))
    }

    /// Keeps what golden prompts found of a version before a tool is enabled on it: its digest is
    /// what the fact names.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep_eval(&self, eval: &Eval) -> Result<(), StoreError> {
        let path = self.root.join(EVALS);
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            let found = fs::read(&path)?;
            let whole = found.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            file.set_len(whole as u64)?;
            let mut line = serde_json::to_vec(eval)?;
            line.push(b'\n');
            file.write_all(&line)?;
            file.sync_data()
        };
        write().map_err(|error| failed(&path, &error))
    }

    /// The descriptor of a version.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is not what its name says.
    pub fn descriptor(&self, version: &Digest) -> Result<Descriptor, StoreError> {
        let path = self.path_of(version);
        let file = path.display().to_string();
        let lost = |message: &str| {
            let problem = Problem::new(&file, Position::default(), message);
            StoreError::Problems(vec![problem.help(RESTORE)])
        };
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => lost("there is no such file"),
            io::ErrorKind::InvalidData => lost("not UTF-8"),
            _ => failed(&path, &error),
        })?;
        let descriptor = manifest::parse(&file, &text).map_err(StoreError::Problems)?;
        if descriptor.content_digest() != *version {
            return Err(lost("its content is not the one that its name says"));
        }
        Ok(descriptor)
    }

    /// Every tool that is enabled in a scope, or in any, its lifecycle filled in from the record.
    ///
    /// # Errors
    /// All descriptors that cannot be read.
    pub fn enabled(&self, scope: Option<&str>) -> Result<Vec<Descriptor>, StoreError> {
        let (mut descriptors, mut problems) = (Vec::new(), Vec::new());
        for (_, standing) in self.book.iter() {
            let enabled = match scope {
                Some(scope) => standing.scopes.contains_key(scope),
                None => !standing.scopes.is_empty(),
            };
            let Some(version) = standing.version.filter(|_| enabled) else { continue };
            match self.descriptor(&version) {
                Ok(found) => descriptors.push(described(found, standing)),
                Err(StoreError::Problems(mut new)) => problems.append(&mut new),
                Err(error @ StoreError::Io { .. }) => return Err(error),
            }
        }
        if problems.is_empty() { Ok(descriptors) } else { Err(StoreError::Problems(problems)) }
    }

    /// What somebody may call now: what is enabled in their scope, and granted to them or runs by
    /// itself.
    ///
    /// # Errors
    /// All descriptors that cannot be read.
    pub fn callable(&self, holder: &Holder, now: Millis) -> Result<Callable, StoreError> {
        let mut callable = Callable::default();
        let enabled = self.enabled(Some(&holder.scope))?;
        let by_id: BTreeMap<&ToolId, &Descriptor> =
            enabled.iter().map(|tool| (&tool.tool_id, tool)).collect();
        for (id, standing) in self.book.iter() {
            let Some(asks) = by_id.get(id).map(|tool| holder.asks(tool, now)) else {
                let why = format!("the registry has it as {}", standing.state().name());
                callable.others.insert(id.clone(), (why, standing.by.clone()));
                continue;
            };
            if standing.state_for(&asks) == State::Callable {
                callable.tools.insert(id.clone());
                callable.until = callable.until.into_iter().chain(standing.until(&asks)).min();
            } else {
                callable.others.insert(id.clone(), standing.why_not(&asks));
            }
        }
        Ok(callable)
    }

    /// The files of all tools that are enabled in some scope.
    pub fn files(&self) -> Vec<PathBuf> {
        let enabled = self.book.iter().filter(|(_, standing)| !standing.scopes.is_empty());
        enabled.filter_map(|(_, one)| one.version.map(|version| self.path_of(&version))).collect()
    }

    fn path_of(&self, version: &Digest) -> PathBuf {
        self.root.join(DESCRIPTORS).join(format!("{}.yaml", version.hex()))
    }
}

const RESTORE: &str = "restore the file from a copy, or register the tool again";

/// A descriptor with the lifecycle that the record gives it.
pub fn described(descriptor: Descriptor, standing: &Standing) -> Descriptor {
    let status = match standing.state() {
        State::Discovered
        | State::Parsed
        | State::Normalized
        | State::InvalidSchema
        | State::PermissionLintFailed
        | State::SandboxLintFailed
        | State::SecurityReviewRequired => LifecycleStatus::Discovered,
        State::Verified => LifecycleStatus::Verified,
        State::Enabled | State::Granted | State::Callable => LifecycleStatus::Enabled,
        State::HealthCheckFailed => LifecycleStatus::Disabled,
        State::Blocked => LifecycleStatus::Blocked,
        State::Deprecated => LifecycleStatus::Deprecated,
    };
    let lifecycle = Lifecycle {
        status,
        registered_at: time(standing.registered_at),
        updated_at: time(standing.updated_at),
        owner: descriptor.lifecycle.owner.clone(),
    };
    Descriptor { lifecycle, ..descriptor }
}

/// A time as RFC 3339 has it; `None` where it is beyond that.
fn time(at: Millis) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
    Some(at.to_string())
}

fn log_of(event: &Event) -> usize {
    match event {
        Event::GrantIssued(_) | Event::GrantRevoked(_) => GRANTS,
        _ => TOOLS,
    }
}

/// Removes what dying processes left behind.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io { path: path.to_path_buf(), reason: error.to_string() }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
