use std::collections::BTreeSet;

use super::*;
use crate::base::digest::Digest;
use crate::journal::event::call::{ArtifactPersisted, ToolCallStarted};
use crate::journal::event::catalog::ServerConsented;
use crate::journal::event::turn::{SessionOpened, TurnFinished, TurnStarted};
use crate::journal::{Blobs, Entry, Event, Journal};

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    (folder, home)
}

/// Facts of one session, each with its artifact's text where it has one.
struct Told {
    journal: Journal,
    session: &'static str,
}

impl Told {
    fn new(session: &'static str) -> Self {
        let mut told = Self { journal: Journal::new(), session };
        told.fact(0, SessionOpened::new("dev".to_owned()));
        told
    }

    fn fact(&mut self, at: Millis, event: impl Into<Event>) {
        let (turn, call, cause) = (None, None, None);
        let session = self.session.into();
        let entry = Entry { seq: 0, session, turn, call, cause, at, event: event.into() };
        self.journal.append(entry);
    }

    fn artifact(&mut self, at: Millis, text: &str) -> Digest {
        let hash = self.journal.put_blob(text.into());
        let id = format!("art_{}", hash.short());
        let fact = ArtifactPersisted::new(id, "diff".to_owned(), hash, text.len() as u64);
        self.fact(at, ArtifactPersisted { event_id: Some(1), ..fact });
        hash
    }

    fn turn(&mut self, at: Millis) {
        self.fact(at, TurnStarted::new("s".to_owned(), "text".to_owned()));
        self.fact(at, TurnFinished::new("answered".to_owned()));
    }

    fn written(&self, home: &Home) {
        let mut record = home.record(self.session).unwrap();
        record.catch_up(&self.journal);
        record.close().unwrap();
    }
}

fn left(home: &Home) -> Vec<String> {
    names(&home.artifacts()).unwrap()
}

#[test]
fn what_was_recorded_is_read_back_with_its_texts_and_its_artifacts_as_files() {
    let (_folder, home) = home();
    let mut told = Told::new("a");
    told.journal.put_blob("a request".into());
    told.journal.put_blob("said and kept".into());
    let hash = told.artifact(5, "--- a\n+++ b\n");
    told.turn(6);
    told.written(&home);
    let mut told_again = Told { journal: told.journal.clone(), ..told };
    let said = told_again.artifact(7, "said and kept");
    let (mut record, _) = home.reopen("a").unwrap();
    record.catch_up(&told_again.journal);
    record.close().unwrap();
    let told = told_again;
    let (id, listed) = home.all_runs().unwrap().remove(0);
    let run = home.run("a").unwrap();
    assert_eq!((id.as_str(), run.torn, run.is_open()), ("a", 0, false));
    assert_eq!((listed.entries.len(), listed.blobs.len()), (run.entries.len(), 0));
    assert_eq!(run.journal().entries(), told.journal.entries());
    let texts = |blobs: &Blobs| blobs.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>();
    assert_eq!(texts(&run.blobs), texts(told.journal.blobs()));
    let mut files = [hash, said].map(|hash| format!("diff_{}.patch", hash.short()));
    files.sort();
    assert_eq!(left(&home), files);
    let beside = fs::read_to_string(beside(&home.run_file("a"))).unwrap();
    assert!(beside.contains("a request") && !beside.contains("+++"), "{beside}");
    let Err(HomeError::Io { reason, .. }) = home.record("a") else { panic!("it was replaced") };
    assert_eq!(reason, "it is there already");
    let first = home.reopen("a").unwrap();
    assert!(matches!(home.reopen("a"), Err(HomeError::InUse(_))), "two write one record");
    drop(first);
    home.reopen("a").unwrap();
}

#[test]
fn wherever_a_process_died_what_was_whole_is_there_and_is_gone_on_with() {
    let (_folder, home) = home();
    let mut told = Told::new("a");
    told.fact(1, TurnStarted::new("s".to_owned(), "text".to_owned()));
    told.journal.put_blob("one".into());
    told.artifact(2, "two");
    told.written(&home);
    let (journal, texts) = (home.run_file("a"), beside(&home.run_file("a")));
    let (lines, words) = (fs::read(&journal).unwrap(), fs::read(&texts).unwrap());
    for cut in 0..=lines.len() {
        fs::write(&journal, &lines[..cut]).unwrap();
        // The texts stand before the entries: of what was cut there they may be torn too.
        fs::write(&texts, &words[..words.len() - usize::from(cut < lines.len())]).unwrap();
        let (mut record, run) = home.reopen("a").unwrap();
        let whole = lines[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(run.entries, told.journal.entries()[..whole], "cut at {cut}");
        record.catch_up(&told.journal);
        record.close().unwrap();
        let again = Run::read(&journal, Some(&home.artifacts())).unwrap();
        assert_eq!(again.entries, told.journal.entries(), "cut at {cut}");
        assert_eq!(again.blobs.len(), told.journal.blobs().len(), "cut at {cut}");
    }
}

#[test]
fn a_delegate_is_recorded_beside_its_parent() {
    let (_folder, home) = home();
    let (mut parent, mut child) = (Told::new("a"), Told::new("a/call_1"));
    parent.journal.put_blob("parent".into());
    child.journal.put_blob("child".into());
    child.turn(2);
    let mut record = home.record("a").unwrap();
    record.catch_up(&parent.journal);
    record.catch_up(&child.journal);
    parent.journal.put_blob("parent again".into());
    parent.turn(3);
    record.catch_up(&parent.journal);
    record.catch_up(&child.journal);
    record.close().unwrap();
    let run = home.run("a").unwrap();
    assert_eq!(run.journal().entries(), parent.journal.entries());
    assert_eq!((run.entries.len(), run.blobs.len()), (6, 3));
}

/// Ages of two artifacts and the sizes of what is kept, in the order in which they were recorded.
fn pruned(retention: Retention, really: bool) -> (usize, Vec<String>) {
    let (_folder, home) = home();
    let mut told = Told::new("a");
    told.artifact(1_000, "old");
    told.artifact(9_000, "young");
    told.turn(9_000);
    told.written(&home);
    let gone = home.prune(retention, (10_000, "ann"), really).unwrap();
    let fates = home.all_artifacts().unwrap().into_iter().map(|one| match one.fate {
        Fate::Kept => "kept".to_owned(),
        Fate::Pruned { at, by } => format!("pruned at {at} by {by}"),
        Fate::Absent => "absent".to_owned(),
    });
    (gone.len(), fates.collect())
}

#[test]
fn retention_is_by_age_and_by_size_and_says_who_removed_what() {
    let check = |age, bytes, expected: [&str; 2]| {
        let (_, fates) = pruned(Retention { age, bytes }, true);
        assert_eq!(fates, expected, "{age:?} {bytes:?}");
    };
    let gone = "pruned at 10000 by ann";
    check(None, None, ["kept", "kept"]);
    check(Some(9_000), None, ["kept", "kept"]);
    check(Some(8_999), None, [gone, "kept"]);
    check(Some(0), None, [gone, gone]);
    check(None, Some(8), ["kept", "kept"]);
    check(None, Some(7), [gone, "kept"]);
    check(None, Some(0), [gone, gone]);
    let (would, fates) = pruned(Retention { age: Some(0), bytes: None }, false);
    assert_eq!((would, fates), (2, vec!["kept".to_owned(), "kept".to_owned()]));
}

#[test]
fn what_an_open_run_needs_stays_and_what_nobody_names_goes() {
    let (_folder, home) = home();
    let (mut open, mut done) = (Told::new("open"), Told::new("done"));
    open.fact(1, TurnStarted::new("s".to_owned(), "text".to_owned()));
    let hash = open.artifact(1, "shared");
    done.artifact(1, "shared");
    done.artifact(1, "own");
    done.turn(1);
    open.written(&home);
    done.written(&home);
    for name in ["tool_output_000000000000.txt", ".unfinished-x"] {
        fs::write(home.artifacts().join(name), "of a dead process").unwrap();
    }
    let all = Retention { age: Some(0), bytes: Some(0) };
    let gone = home.prune(all, (10, "ann"), true).unwrap();
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!(left(&home), [format!("diff_{}.patch", hash.short()), "pruned.jsonl".to_owned()]);
}

#[test]
fn nothing_is_removed_beside_a_session() {
    let (folder, home) = home();
    let beside = Home::open(folder.path()).unwrap();
    assert_eq!(Home::alone(folder.path()).unwrap_err(), HomeError::InUse(folder.path().into()));
    drop((home, beside));
    Home::alone(folder.path()).unwrap();
}

#[test]
fn a_consent_holds_until_it_is_withdrawn_whatever_a_dying_process_left() {
    let (_folder, home) = home();
    let fact = |server: &str| ServerConsented {
        by: Some("ann".to_owned()),
        ..ServerConsented::new(server.to_owned(), Digest::of("x", b""), "dev".to_owned())
    };
    home.consented(&fact("files"), 1).unwrap();
    home.consented(&fact("mail"), 2).unwrap();
    let path = home.mcp("consents.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"at\":3,\"serverId\":\"fi");
    fs::write(&path, text).unwrap();
    let servers = || {
        let given = home.consents().unwrap().into_iter();
        given.map(|one| format!("{} by {}", one.consent.server, one.by)).collect::<Vec<_>>()
    };
    assert_eq!(servers(), ["files by ann", "mail by ann"]);
    assert_eq!(home.withdraw("files", "bea", 4).unwrap(), 1);
    assert_eq!(home.withdraw("files", "bea", 5).unwrap(), 0);
    assert_eq!(servers(), ["mail by ann"]);
    fs::write(&path, "{}\n").unwrap();
    let Err(HomeError::Problems(problems)) = home.consents() else { panic!("it was read") };
    assert!(problems[0].to_string().contains("consents.jsonl:1:"), "{problems:?}");
}

#[test]
fn after_a_failure_nothing_is_written_and_it_is_told() {
    let (_folder, home) = home();
    let mut record = home.record("a").unwrap();
    fs::remove_dir_all(home.artifacts()).unwrap();
    let mut told = Told::new("a");
    told.artifact(1, "text");
    told.fact(2, ToolCallStarted::new());
    record.catch_up(&told.journal);
    assert!(record.failure().is_some());
    let Err(HomeError::Io { path, .. }) = record.close() else { panic!("nothing failed") };
    assert!(path.starts_with(home.root().join("artifacts")), "{path:?}");
    let run = Run::read(&home.run_file("a"), None).unwrap();
    assert_eq!(run.entries, []);
}
