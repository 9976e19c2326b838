//! What calls left behind, and how long it is kept. An artifact is a file named by its content;
//! which call it came from is what the journals say, so that a file without a call is no artifact.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::record::UNFINISHED;
use super::{Home, HomeError, Run, append, failed, is_before, log, names};
use crate::base::digest::Digest;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::base::world::Millis;
use crate::journal::Event;

const PRUNED: &str = "pruned.jsonl";

/// The name of an artifact's file, from its kind and its content.
pub(super) fn file_name(kind: &str, content: &Digest) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let kind: String = kind.chars().take(32).map(plain).collect();
    let ending = match kind.as_str() {
        "diff" => "patch",
        "log" => "log",
        "binary" => "dataurl",
        _ => "txt",
    };
    format!("{kind}_{}.{ending}", content.short())
}

/// What became of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is there.
    Kept,
    /// Somebody removed it by the rules of retention.
    Pruned {
        /// When.
        at: Millis,
        /// By whom.
        by: String,
    },
    /// It was never kept as a file, or somebody removed that.
    Absent,
}

/// One reference of a call to an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its id.
    pub artifact_id: String,
    /// `tool_output`, `diff`, `pre_image`, `binary`, ...
    pub kind: String,
    /// Hash of its content.
    pub content_hash: Digest,
    /// Its size.
    pub bytes: u64,
    /// The name of its file.
    pub file: String,
    /// The run that names it.
    pub run: String,
    /// The session: the run's, or one of a delegate.
    pub session: Arc<str>,
    /// The call it came from.
    pub tool_call_id: Option<Arc<str>>,
    /// The event it came from.
    pub event_id: Option<u64>,
    /// When it was recorded.
    pub at: Millis,
    /// What became of it.
    pub fate: Fate,
    /// Whether its run may be gone on with, and needs it for that.
    #[serde(skip)]
    held: bool,
}

/// What is kept. What both rules keep stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// What was recorded longer ago than this goes, in milliseconds.
    pub age: Option<Millis>,
    /// The oldest go until all together are no more than so many bytes.
    pub bytes: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Gone {
    file: String,
    content_hash: Digest,
    bytes: u64,
    at: Millis,
    by: String,
}

impl Home {
    /// Every reference of a call to an artifact, oldest first.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn all_artifacts(&self) -> Result<Vec<Artifact>, HomeError> {
        let files: BTreeSet<String> = names(&self.artifacts())?.into_iter().collect();
        let gone = self.gone()?;
        let mut found = Vec::new();
        for (id, run) in self.all_runs()? {
            references((&id, &run), (&files, &gone), &mut found);
        }
        found
            .sort_by(|a: &Artifact, b| (a.at, &a.run, a.event_id).cmp(&(b.at, &b.run, b.event_id)));
        Ok(found)
    }

    fn gone(&self) -> Result<BTreeMap<Digest, (Millis, String)>, HomeError> {
        let path = self.artifacts().join(PRUNED);
        let mut gone = BTreeMap::new();
        let mut problems = Vec::new();
        for (number, line) in jsonl::lines_of(&log(&path)?) {
            match serde_json::from_str::<Gone>(line) {
                Ok(one) => drop(gone.insert(one.content_hash, (one.at, one.by))),
                Err(error) => {
                    let at = Position::new(number, error.column());
                    problems.push(Problem::new(path.display().to_string(), at, error.to_string()));
                }
            }
        }
        if problems.is_empty() { Ok(gone) } else { Err(HomeError::Problems(problems)) }
    }

    /// Removes artifacts by the rules of retention, and says which: each first in the log of what
    /// was pruned, then its file. What a run that did not end may need stays. Without `really`
    /// nothing is removed.
    ///
    /// # Errors
    /// What cannot be read or removed.
    pub fn prune(
        &self,
        retention: Retention,
        (now, by): (Millis, &str),
        really: bool,
    ) -> Result<Vec<Artifact>, HomeError> {
        let all = self.all_artifacts()?;
        let mut newest: BTreeMap<&str, (&Artifact, bool)> = BTreeMap::new();
        for one in all.iter().filter(|one| one.fate == Fate::Kept) {
            let held = newest.get(&*one.file).is_some_and(|(_, held)| *held);
            newest.insert(&one.file, (one, held || one.held));
        }
        let mut kept: Vec<(&Artifact, bool)> = newest.into_values().collect();
        kept.sort_by_key(|(one, _)| (one.at, &one.file));
        let mut bytes: u64 = kept.iter().map(|(one, _)| one.bytes).sum();
        let mut gone = Vec::new();
        for (one, _) in kept.into_iter().filter(|(_, held)| !held) {
            let old = retention.age.is_some_and(|age| is_before(one.at, now, age));
            if !old && retention.bytes.is_none_or(|most| bytes <= most) {
                continue;
            }
            bytes -= one.bytes;
            if really {
                self.remove(one, (now, by))?;
            }
            gone.push(one.clone());
        }
        if really {
            self.sweep(&all)?;
        }
        Ok(gone)
    }

    /// Removes the workspaces of runs that ended longer ago than an age, and of runs that are not
    /// there, and says which. Without `really` nothing is removed.
    ///
    /// # Errors
    /// What cannot be read or removed.
    pub fn prune_sandboxes(
        &self,
        age: Millis,
        now: Millis,
        really: bool,
    ) -> Result<Vec<String>, HomeError> {
        let stays = |run: &Run| {
            let last = run.entries.last().map_or(0, |entry| entry.at);
            run.is_open() || !is_before(last, now, age)
        };
        let runs = self.all_runs()?;
        let kept: BTreeSet<String> =
            runs.iter().filter(|(_, run)| stays(run)).map(|(id, _)| format!("sbx_{id}")).collect();
        let folder = self.root().join("sandboxes");
        let mut gone = names(&folder)?;
        gone.retain(|name| !kept.contains(name));
        for path in gone.iter().filter(|_| really).map(|name| folder.join(name)) {
            fs::remove_dir_all(&path).map_err(|error| failed(&path, &error))?;
        }
        Ok(gone)
    }

    fn remove(&self, one: &Artifact, (at, by): (Millis, &str)) -> Result<(), HomeError> {
        let (file, content_hash, by) = (one.file.clone(), one.content_hash, by.to_owned());
        let gone = Gone { file, content_hash, bytes: one.bytes, at, by };
        // Plain data: writing it to memory cannot fail.
        let line = serde_json::to_string(&gone).unwrap_or_default();
        append(&self.artifacts().join(PRUNED), &line)?;
        self.unlink(&one.file)
    }

    /// Removes what dying processes left: beginnings of files, and files that no journal names.
    fn sweep(&self, all: &[Artifact]) -> Result<(), HomeError> {
        let named: BTreeSet<&str> = all.iter().map(|one| &*one.file).collect();
        for name in names(&self.artifacts())? {
            if name.starts_with(UNFINISHED) || (name != PRUNED && !named.contains(&*name)) {
                self.unlink(&name)?;
            }
        }
        Ok(())
    }

    fn unlink(&self, name: &str) -> Result<(), HomeError> {
        let path = self.artifacts().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    }
}

fn references(
    (id, run): (&str, &Run),
    (files, gone): (&BTreeSet<String>, &BTreeMap<Digest, (Millis, String)>),
    found: &mut Vec<Artifact>,
) {
    let held = run.is_open();
    for entry in &run.entries {
        let Event::ArtifactPersisted(fact) = &entry.event else { continue };
        let file = file_name(&fact.kind, &fact.content_hash);
        let fate = match (files.contains(&file), gone.get(&fact.content_hash)) {
            (true, _) => Fate::Kept,
            (false, Some((at, by))) => Fate::Pruned { at: *at, by: by.clone() },
            (false, None) => Fate::Absent,
        };
        found.push(Artifact {
            artifact_id: fact.artifact_id.clone(),
            kind: fact.kind.clone(),
            content_hash: fact.content_hash,
            bytes: fact.bytes,
            file,
            run: id.to_owned(),
            session: Arc::clone(&entry.session),
            tool_call_id: entry.call.clone(),
            event_id: fact.event_id,
            at: entry.at,
            fate,
            held,
        });
    }
}
