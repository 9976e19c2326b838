use std::collections::BTreeSet;

use super::super::desk::{self, Basis, Candidate};
use super::*;
use crate::tool::id::ToolId;

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: shelf.lend
description: {summary: Lend a novel.}
intent: {actionTypes: [memory_write]}
schemas: {inputSchema: {type: object}}
effects: {reads: [], writes: ['memory:loans']}
";

fn candidate(text: &str) -> Candidate {
    let descriptor = manifest::parse("t.yaml", text).unwrap();
    Candidate { descriptor, manifest: Digest::of("m", text.as_bytes()), unusable: None }
}

fn add(root: &Path, text: &str) -> usize {
    let mut store = Store::write(root).unwrap();
    let candidate = candidate(text);
    store.keep(&candidate.descriptor).unwrap();
    let facts = desk::add(&store.book, &candidate, &store.keys).unwrap();
    store.append(5, &facts).unwrap();
    facts.len()
}

/// A registry with a tool that is enabled, granted, and in its second version.
fn filled(root: &Path) -> Book {
    add(root, TOOL);
    let id = ToolId::sanitized("shelf.lend");
    let basis = Basis::Golden { evidence: Digest::of("golden", b"w"), judged: 4, passed: 4 };
    let mut store = Store::write(root).unwrap();
    let facts = desk::enable(&store.book, &id, "live", &basis).unwrap();
    store.append(6, &facts).unwrap();
    let facts = desk::grant(&store.book, &candidate(TOOL).descriptor, ("Ada", None), "live", None);
    store.append(7, &facts.unwrap()).unwrap();
    drop(store);
    add(root, &TOOL.replace("novel", "book"));
    let mut store = Store::write(root).unwrap();
    let facts = desk::enable(&store.book, &id, "live", &basis).unwrap();
    store.append(8, &facts).unwrap();
    store.book
}

#[test]
fn what_was_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Store::read(folder.path()).unwrap().book.is_empty(), "one that is not there");
    let written = filled(folder.path());
    let read = Store::read(folder.path()).unwrap();
    assert_eq!((&read.book, read.entries), (&written, 13));
    assert_eq!(read.notes, Vec::<String>::new());
    let enabled = read.enabled(Some("live")).unwrap();
    let [tool] = enabled.as_slice() else { panic!("{enabled:?}") };
    assert_eq!(tool.description.summary, "Lend a book.");
    assert_eq!(tool.lifecycle.status, LifecycleStatus::Enabled);
    assert_eq!(tool.lifecycle.registered_at.as_deref(), Some("1970-01-01T00:00:00.005Z"));
    assert_eq!(read.enabled(Some("evaluation")).unwrap(), []);
}

/// A process may be killed at any byte of either log: what stands before it is read, what it was
/// about to do can be done again, and then everything is as if nothing had happened.
#[test]
fn a_log_cut_at_any_byte_keeps_every_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    let whole = filled(folder.path());
    let mut cuts = 0;
    for log in LOGS {
        let path = folder.path().join(log);
        let bytes = fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
            let found = Store::read(folder.path());
            // Without the tools nobody knows what was granted.
            if log == LOGS[TOOLS] && lines == 0 {
                assert!(matches!(found, Err(StoreError::Problems(_))), "{log} {cut}");
                continue;
            }
            let found = found.unwrap_or_else(|error| panic!("{log} cut at {cut}: {error:?}"));
            let other = if log == LOGS[GRANTS] { 11 } else { 2 };
            assert_eq!(found.entries, lines + other, "{log} cut at {cut}");
            let clean = cut == 0 || bytes[cut - 1] == b'\n';
            assert_eq!(found.notes.len(), usize::from(!clean), "{log} cut at {cut}");
            cuts += 1;
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert!(cuts > 1000, "{cuts}");
    // The last thing that was done is done again over its own remains.
    let path = folder.path().join(LOGS[TOOLS]);
    let bytes = fs::read(&path).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in (last..bytes.len()).filter(|cut| is_telling(&bytes, *cut)) {
        fs::write(&path, &bytes[..cut]).unwrap();
        let mut store = Store::write(folder.path()).unwrap();
        let id = ToolId::sanitized("shelf.lend");
        let basis = Basis::Golden { evidence: Digest::of("golden", b"w"), judged: 4, passed: 4 };
        let facts = desk::enable(&store.book, &id, "live", &basis).unwrap();
        store.append(8, &facts).unwrap();
        assert_eq!((&store.book, fs::read(&path).unwrap()), (&whole, bytes.clone()), "{cut}");
    }
}

/// Where writing again is tried, which waits for the disk each time: at both sides of every line
/// break and at every sixteenth byte. Reading is tried at every byte.
fn is_telling(bytes: &[u8], cut: usize) -> bool {
    let around = &bytes[cut.saturating_sub(1)..=cut];
    cut.is_multiple_of(16) || around.contains(&b'\n')
}

/// Registering is several lines: wherever it was cut off, registering again completes it.
#[test]
fn a_registration_cut_off_in_the_middle_is_completed_by_another() {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), TOOL);
    let path = folder.path().join(LOGS[TOOLS]);
    let bytes = fs::read(&path).unwrap();
    for cut in (0..bytes.len()).filter(|cut| is_telling(&bytes, *cut)) {
        fs::write(&path, &bytes[..cut]).unwrap();
        assert_eq!(add(folder.path(), TOOL), 4, "{cut}");
        let store = Store::read(folder.path()).unwrap();
        let id = ToolId::sanitized("shelf.lend");
        assert_eq!(store.book.get(&id).unwrap().state(), State::Verified, "{cut}");
        // Whoever writes waits for whoever reads.
        drop(store);
        assert_eq!(add(folder.path(), TOOL), 0, "{cut}");
    }
}

#[test]
fn damage_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let path = folder.path().join(LOGS[TOOLS]);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        lines.join("\n") + "\n"
    };
    let without = |at: usize| {
        let kept = lines.iter().enumerate().filter(|(index, _)| *index != at);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let foreign = "{\"v\":1,\"seq\":3,\"session\":\"registry\",\"type\":\"TornDown\"}";
    let other = lines[0].replace("\"seq\":1,", "\"seq\":3,");
    for (text, expected) in [
        (with(2, "{oops"), "registry.jsonl:3:2: not JSON: "),
        (without(2), "registry.jsonl:3:1: entry 4 stands where 3 is due; restore the file"),
        (with(2, foreign), "`TornDown` is no fact of a registry"),
        (with(3, &other), "registry.jsonl:4:1: entry 3 stands where 4 is due"),
        (with(3, lines[4]), "registry.jsonl:4:1: entry 5 stands where 4 is due"),
    ] {
        fs::write(&path, &text).unwrap();
        let Err(StoreError::Problems(problems)) = Store::read(folder.path()) else {
            panic!("{expected}: nothing was noticed")
        };
        let [told] = problems.as_slice() else { panic!("{expected}: {problems:#?}") };
        assert!(told.to_string().contains(expected), "{expected}: {told}");
    }
    fs::write(&path, b"{\"type\":\"\xff\"}\n").unwrap();
    let Err(StoreError::Problems(problems)) = Store::read(folder.path()) else { panic!() };
    assert!(problems[0].to_string().contains("registry.jsonl:1:10: not UTF-8"), "{problems:?}");
}

/// Facts that are in order one by one, and out of order together, are refused whole.
#[test]
fn a_fact_that_cannot_follow_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), TOOL);
    let before = fs::read(folder.path().join(LOGS[TOOLS])).unwrap();
    let mut store = Store::write(folder.path()).unwrap();
    let id = ToolId::sanitized("shelf.lend");
    let twice: Vec<Event> =
        (0..2).flat_map(|_| desk::block(&store.book, &id, "unwanted", None).unwrap()).collect();
    assert!(store.append(9, &twice).is_err());
    assert_eq!(fs::read(folder.path().join(LOGS[TOOLS])).unwrap(), before);
}

#[test]
fn a_descriptor_is_what_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), TOOL);
    let version = candidate(TOOL).descriptor.content_digest();
    let path = folder.path().join(DESCRIPTORS).join(format!("{}.yaml", version.hex()));
    let told = |store: &Store| match store.descriptor(&version) {
        Err(StoreError::Problems(problems)) => problems[0].to_string(),
        other => panic!("{other:?}"),
    };
    let store = Store::read(folder.path()).unwrap();
    assert!(store.descriptor(&version).is_ok());
    fs::write(&path, TOOL.replace("novel", "book")).unwrap();
    assert!(told(&store).contains("its content is not the one that its name says"));
    fs::write(&path, "toolId: [").unwrap();
    assert!(told(&store).contains(".yaml:1:"), "{}", told(&store));
    fs::remove_file(&path).unwrap();
    assert!(told(&store).contains("there is no such file; restore the file"));
    drop(store);
    add(folder.path(), TOOL);
    assert!(Store::read(folder.path()).unwrap().descriptor(&version).is_ok(), "written anew");
}

#[test]
fn what_a_dying_process_left_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), TOOL);
    let left = folder.path().join(DESCRIPTORS).join(format!("{UNFINISHED}x"));
    fs::write(&left, "schema").unwrap();
    drop(Store::write(folder.path()).unwrap());
    let names: BTreeSet<String> = fs::read_dir(folder.path().join(DESCRIPTORS))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
