//! Journals that are kept because something once went wrong in them: each breaks one law, and says
//! so by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark::journal::format;
use proofmark::sim::kept::only_breach;
use proofmark::sim::mutant::steps;

/// The longest file that is kept, in bytes.
const LONGEST: u64 = 30_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/journals/regressions")
}

/// The index: file, law, cause.
fn index(folder: &Path) -> BTreeMap<String, (String, String)> {
    let mut reader = csv::Reader::from_path(folder.join("index.csv")).unwrap();
    assert_eq!(reader.headers().unwrap(), &["file", "law", "cause"][..]);
    let rows = reader.deserialize::<(String, String, String)>();
    rows.map(Result::unwrap).map(|(file, law, cause)| (file, (law, cause))).collect()
}

fn proofmark(args: &[&str]) -> (i32, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_proofmark")).args(args).output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn every_kept_journal_breaks_its_law_and_no_other() {
    let folder = folder();
    let index = index(&folder);
    for (file, (law, said)) in &index {
        let path = folder.join(file);
        assert!(fs::metadata(&path).unwrap().len() <= LONGEST, "{file} is long");
        let (entries, problems) = format::read(file, &fs::read_to_string(&path).unwrap());
        assert_eq!(problems, [], "{file}");
        let breach = only_breach(&entries).unwrap_or_else(|| panic!("{file}: not one law"));
        assert_eq!((breach.law, &breach.message), (law.as_str(), said), "{file}");
        // And so says the command, which reads it line by line.
        let (code, text) = proofmark(&["check", path.to_str().unwrap()]);
        let broken: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("BROKEN         ")).collect();
        assert_eq!((code, broken), (1, vec![law.as_str()]), "{file}: {text}");
        assert!(text.contains(said), "{file}: {text}");
    }
    let here = fs::read_dir(&folder).unwrap().map(|one| one.unwrap().file_name());
    let here: BTreeSet<String> = here.map(|name| name.into_string().unwrap()).collect();
    let named: BTreeSet<String> = index.keys().cloned().chain(["index.csv".to_owned()]).collect();
    assert_eq!(here, named, "each journal has its row");
}

#[test]
fn every_mistake_that_a_law_notices_has_its_journal() {
    let index = index(&folder());
    for one in steps::all() {
        let law = index.get(&format!("{}.jsonl", one.name)).map(|(law, _)| law.as_str());
        match law {
            Some(law) => assert!(one.by.contains(&law), "{}: kept for {law}", one.name),
            None => assert!(!one.is_in_journals(), "{}: no journal is kept", one.name),
        }
    }
}

#[test]
fn what_the_simulator_finds_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let into = kept.to_str().unwrap();
    // The same one again takes the place of the first, and leaves the others alone.
    let before = "file,law,cause\nreceipts-for-failures.jsonl,old,old\nno.jsonl,other,\"a, b\"\n";
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("index.csv"), before).unwrap();
    let (code, text) = proofmark(&["sim", "--mutant", "receipts-for-failures", "--keep", into]);
    let said = "receipts-for-failures: receipt-only-on-success (";
    assert!(code == 0 && text.starts_with(said), "{code} {text}");
    let rows = index(&kept);
    let laws: Vec<(&str, &str)> = rows.iter().map(|(file, (law, _))| (&**file, &**law)).collect();
    let fresh = ("receipts-for-failures.jsonl", "receipt-only-on-success");
    assert_eq!(laws, [("no.jsonl", "other"), fresh]);
    assert_eq!(rows["no.jsonl"].1, "a, b");
    let path = kept.join(fresh.0);
    assert!(fs::metadata(&path).unwrap().len() <= LONGEST);
    let (code, text) = proofmark(&["check", path.to_str().unwrap()]);
    assert!(code == 1 && text.contains(&rows[fresh.0].1), "{code} {text}");

    let check = |args: &[&str], expected: i32, said: &str| {
        let (code, text) = proofmark(args);
        assert!(code == expected && text.contains(said), "{args:?}: {code} {text}");
    };
    let near = "no such mistake; did you mean `no-cap`?";
    check(&["sim", "--mutant", "no-cup"], 2, near);
    check(&["sim", "--replay", "", "--keep", into], 2, "--keep needs --cause NAME");
    check(&["sim", "--replay", "", "--keep", into, "--cause", "../up"], 2, "--keep needs --cause");
    // A session without a fault leaves nothing.
    check(&["sim", "--replay", "", "--keep", into, "--cause", "calm"], 0, "no violation");
    assert!(!kept.join("calm.jsonl").exists());
}
