//! The record of one session on disk: its journal, the texts beside it, and the artifacts that it
//! leaves. What an entry names is there before the entry is, and the entry before anything that
//! follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::artifacts::file_name;
use super::{HomeError, append, appending, failed, log};
use crate::base::digest::Digest;
use crate::journal::event::call::ArtifactPersisted;
use crate::journal::texts::{self, ENDING, Place};
use crate::journal::{Blobs, Entry, Event, Journal, format};
use crate::runtime::evidence::Pending;

/// How the files of unfinished artifacts begin.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// Writes the record of a session. The first failure is kept and ends the writing.
#[derive(Debug)]
pub struct Record {
    journal: (PathBuf, File),
    texts: (PathBuf, File),
    /// Where artifacts become files of their own; they stand among the texts where there is none.
    artifacts: Option<PathBuf>,
    /// Where what servers add is noted.
    news: Option<PathBuf>,
    known: BTreeSet<Digest>,
    /// Texts that are artifacts' files.
    kept: BTreeSet<Digest>,
    /// Of each session, of this one and of its delegates: its last entry, and how many texts stood
    /// beside it then.
    written: BTreeMap<Arc<str>, (u64, usize)>,
    failed: Option<HomeError>,
}

/// What a record holds.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// All entries: of the session and of its delegates.
    pub entries: Vec<Entry>,
    /// The texts that are still there.
    pub blobs: Blobs,
    /// Bytes of a last line that was cut short.
    pub torn: usize,
}

impl Run {
    /// Reads a journal without the texts beside it.
    ///
    /// # Errors
    /// All lines that cannot be read.
    pub fn entries(path: &Path) -> Result<Self, HomeError> {
        let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
        let text = log(path)?;
        let (entries, problems) = format::read(&path.display().to_string(), &text);
        let torn = bytes.len() - text.len();
        match problems.is_empty() {
            true => Ok(Self { entries, torn, ..Self::default() }),
            false => Err(HomeError::Problems(problems)),
        }
    }

    /// Reads a journal with the texts beside it. Bytes behind the last line break are left out.
    ///
    /// # Errors
    /// All lines that cannot be read.
    pub fn read(path: &Path, artifacts: Option<&Path>) -> Result<Self, HomeError> {
        let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
        let text = log(path)?;
        let (entries, mut problems) = format::read(&path.display().to_string(), &text);
        let beside = beside(path);
        // A name is a file of the folder and of no other.
        let mut artifact = |name: &str| {
            let folder = artifacts.filter(|_| !name.contains(['/', '\\']) && !name.contains(".."));
            fs::read_to_string(folder?.join(name)).ok()
        };
        let file = beside.display().to_string();
        let (blobs, mut more) = texts::read(&file, &log(&beside)?, &mut artifact);
        problems.append(&mut more);
        match problems.is_empty() {
            true => Ok(Self { entries, blobs, torn: bytes.len() - text.len() }),
            false => Err(HomeError::Problems(problems)),
        }
    }

    /// The session that was recorded first; its delegates are others.
    pub fn session(&self) -> Option<&Arc<str>> {
        self.entries.first().map(|entry| &entry.session)
    }

    /// The session's own journal, to be gone on with.
    pub fn journal(&self) -> Journal {
        let own = self.entries.iter().filter(|entry| Some(&entry.session) == self.session());
        Journal::from_parts(own.cloned().collect(), self.blobs.clone())
    }

    /// Whether its last turn did not end: it may be gone on with.
    pub fn is_open(&self) -> bool {
        let turns = self.entries.iter().filter(|entry| Some(&entry.session) == self.session());
        turns.fold(false, |open, entry| match entry.event {
            Event::TurnStarted(_) => true,
            Event::TurnFinished(_) => false,
            _ => open,
        })
    }
}

/// The file of the texts beside a journal.
pub fn beside(journal: &Path) -> PathBuf {
    let name = journal.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".jsonl").unwrap_or(&name);
    journal.with_file_name(format!("{stem}{ENDING}"))
}

impl Record {
    /// Begins a record; a file that is there is not replaced.
    ///
    /// # Errors
    /// When it is there, or the system refuses.
    pub fn create(path: &Path, artifacts: Option<PathBuf>) -> Result<Self, HomeError> {
        let made = File::create_new(path).map_err(|error| {
            let there = error.kind() == io::ErrorKind::AlreadyExists;
            let reason = if there { "it is there already".to_owned() } else { error.to_string() };
            HomeError::Io { path: path.to_path_buf(), reason }
        })?;
        drop(made);
        let record = Self::over(path, artifacts)?;
        // That there is a record outlives the power too.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|opened| opened.sync_all());
        synced.map_err(|error| failed(folder, &error))?;
        Ok(record)
    }

    /// Goes on with a record. What a dying process left of a last line is cut off.
    ///
    /// # Errors
    /// What cannot be read; or that another session writes it.
    pub fn reopen(path: &Path, artifacts: Option<PathBuf>) -> Result<(Self, Run), HomeError> {
        let mut record = Self::over(path, artifacts)?;
        let run = Run::read(path, record.artifacts.as_deref())?;
        for (path, file) in [&record.journal, &record.texts] {
            let whole = log(path)?.len();
            file.set_len(whole as u64).map_err(|error| failed(path, &error))?;
        }
        record.known = run.blobs.iter().map(|(name, _)| *name).collect();
        for entry in &run.entries {
            record.written.insert(Arc::clone(&entry.session), (entry.seq, usize::MAX));
        }
        Ok((record, run))
    }

    fn over(path: &Path, artifacts: Option<PathBuf>) -> Result<Self, HomeError> {
        let open = |path: PathBuf| appending(&path).map(|file| (path, file));
        let journal = open(path.to_path_buf())?;
        // Two sessions that write one record would write two records into it.
        journal.1.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => HomeError::InUse(path.to_path_buf()),
            fs::TryLockError::Error(error) => failed(path, &error),
        })?;
        Ok(Self {
            journal,
            texts: open(beside(path))?,
            artifacts,
            news: None,
            known: BTreeSet::new(),
            kept: BTreeSet::new(),
            written: BTreeMap::new(),
            failed: None,
        })
    }

    /// The same, where what servers add while the session runs is noted in a file.
    #[must_use]
    pub(super) fn with_news(self, path: PathBuf) -> Self {
        Self { news: Some(path), ..self }
    }

    /// Why nothing is written any more; `None` as long as everything is.
    pub fn failure(&self) -> Option<&HomeError> {
        self.failed.as_ref()
    }

    /// Writes what a journal holds beyond what was written of it, which it returns. Nothing is
    /// written after a failure.
    pub fn catch_up<'j>(&mut self, journal: &'j Journal) -> &'j [Entry] {
        let entries = journal.entries();
        let last = entries.first().and_then(|first| self.written.get(&first.session));
        let last = last.map_or(0, |(last, _)| *last);
        let new = &entries[entries.partition_point(|entry| entry.seq <= last)..];
        if self.failed.is_none() {
            self.failed = self.all(new, journal.blobs()).err();
        }
        new
    }

    fn all(&mut self, new: &[Entry], blobs: &Blobs) -> Result<(), HomeError> {
        for entry in new {
            if let Event::ArtifactPersisted(fact) = &entry.event {
                self.artifact(fact, blobs)?;
            }
        }
        new.iter().try_for_each(|entry| self.put(entry, blobs))
    }

    fn put(&mut self, entry: &Entry, blobs: &Blobs) -> Result<(), HomeError> {
        let stood = self.written.get(&entry.session).map_or(usize::MAX, |(_, texts)| *texts);
        if blobs.len() != stood {
            self.texts(blobs)?;
        }
        let mut line = Vec::new();
        format::write_line(entry, &mut line);
        if let Some(news) = self.news.as_ref().filter(|_| is_news(entry)) {
            append(news, String::from_utf8_lossy(&line).trim_end())?;
        }
        write(&mut self.journal, &line)?;
        self.written.insert(Arc::clone(&entry.session), (entry.seq, blobs.len()));
        // What may have an effect outlives the power, and so does what came of it.
        let weighty =
            ["ToolCallStarted", "ToolCallSettled", "TurnFinished"].contains(&entry.event.name());
        match weighty {
            true => sync(&self.texts).and_then(|()| sync(&self.journal)),
            false => Ok(()),
        }
    }

    /// Writes the texts that are new; those that calls left become files.
    fn texts(&mut self, blobs: &Blobs) -> Result<(), HomeError> {
        let new: Vec<(&Digest, &Arc<str>)> =
            blobs.iter().filter(|(name, _)| !self.known.contains(name)).collect();
        // What is to be recorded of a call that ended names what it left.
        for pending in new.iter().filter_map(|(_, text)| pending(text)) {
            for fact in &pending.artifacts {
                self.artifact(fact, blobs)?;
            }
        }
        let mut lines = Vec::new();
        for (name, text) in new {
            if self.known.insert(*name) {
                texts::write_line(*name, Place::Here(text), &mut lines);
            }
        }
        write(&mut self.texts, &lines)
    }

    /// An artifact becomes a file before the first entry that rests on it.
    fn artifact(&mut self, fact: &ArtifactPersisted, blobs: &Blobs) -> Result<(), HomeError> {
        let (Some(folder), Some(text)) = (&self.artifacts, blobs.get(&fact.content_hash)) else {
            return Ok(());
        };
        // One whose text stands among the others already becomes a file all the same.
        if !self.kept.insert(fact.content_hash) {
            return Ok(());
        }
        let name = file_name(&fact.kind, &fact.content_hash);
        keep(folder, &name, text)?;
        if self.known.insert(fact.content_hash) {
            let mut line = Vec::new();
            texts::write_line(fact.content_hash, Place::Artifact(&name), &mut line);
            write(&mut self.texts, &line)?;
        }
        Ok(())
    }

    /// Ends the record.
    ///
    /// # Errors
    /// The first failure since it began.
    pub fn close(self) -> Result<(), HomeError> {
        self.failed.map_or(Ok(()), Err)
    }
}

/// What is still to be recorded of a call that ended, where a text is that.
fn pending(text: &str) -> Option<Pending> {
    let begins = text.starts_with("{\"validated\":");
    begins.then(|| serde_json::from_str(text).ok()).flatten()
}

/// A tool that a server added while a session ran.
fn is_news(entry: &Entry) -> bool {
    matches!(&entry.event, Event::ToolDiscovered(fact) if fact.source.as_deref() == Some("mcp"))
}

fn write((path, file): &mut (PathBuf, File), bytes: &[u8]) -> Result<(), HomeError> {
    file.write_all(bytes).map_err(|error| failed(path, &error))
}

fn sync((path, file): &(PathBuf, File)) -> Result<(), HomeError> {
    file.sync_data().map_err(|error| failed(path, &error))
}

/// Writes an artifact under another name and renames it. One that is there is the same one.
fn keep(folder: &Path, name: &str, text: &str) -> Result<(), HomeError> {
    let path = folder.join(name);
    let write = || -> io::Result<()> {
        if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            return Ok(());
        }
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_data()?;
        file.persist(&path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| failed(&path, &error))
}
