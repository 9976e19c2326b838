//! A registry that several processes use, some of which die: nothing that was confirmed is lost.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proofmark::base::digest::Digest;
use proofmark::journal::Event;
use proofmark::runtime::catalog::desk::{self, Basis, Candidate};
use proofmark::runtime::catalog::lifecycle::State;
use proofmark::runtime::catalog::store::Store;
use proofmark::tool::id::ToolId;
use proofmark::tool::manifest;

use crate::command::proofmark;
use crate::import::listings;

fn text(id: &str, number: usize) -> String {
    format!(
        "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Version {number}.}}\n\
         intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
         effects: {{reads: [], writes: []}}\n"
    )
}

fn spawn(folder: &Path, file: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder).args(["registry", "add", file]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A writer is killed again and again, at another moment each time. What was confirmed before
/// stays, the registry can always be read, and the next writer goes on.
#[test]
fn a_killed_writer_loses_nothing_that_was_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("t.yaml"), text("a.b", 0)).unwrap();
    let begun = Instant::now();
    assert!(spawn(root, "t.yaml").wait().unwrap().success());
    let whole = begun.elapsed();
    let (mut entries, mut killed) = (4, 0);
    for number in 1..=40_u32 {
        fs::write(root.join("t.yaml"), text("a.b", number as usize)).unwrap();
        let mut child = spawn(root, "t.yaml");
        std::thread::sleep(whole * number / 36);
        let dead = child.kill().is_ok() && !child.wait().unwrap().success();
        killed += usize::from(dead);
        let store = Store::read(&root.join(".proofmark")).unwrap();
        assert!(store.entries >= entries, "{number}: {} of {entries}", store.entries);
        assert!(dead || store.entries >= entries + 4, "{number}: it said that it had written");
        entries = store.entries;
    }
    println!("{killed} of 40 killed, {entries} entries");
    assert!(killed > 0, "no writer was killed before it ended");
    assert!(spawn(root, "t.yaml").wait().unwrap().success());
    let store = Store::read(&root.join(".proofmark")).unwrap();
    let standing = store.book.get(&ToolId::parse("a.b").unwrap()).unwrap();
    assert_eq!(standing.state(), State::Verified);
    assert!(store.descriptor(&standing.version.unwrap()).is_ok());
}

#[test]
fn writers_at_once_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let file = |number: usize| format!("t{number}.yaml");
    for number in 0..12 {
        fs::write(root.join(file(number)), text(&format!("a.t{number}"), 0)).unwrap();
    }
    let children: Vec<Child> = (0..12).map(|number| spawn(root, &file(number))).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::read(&root.join(".proofmark")).unwrap();
    assert_eq!((store.book.len(), store.entries, store.notes.len()), (12, 48, 0));
}

/// Every tool of every saved listing is registered, and every one in some state.
#[test]
fn real_listings_are_registered_whole() {
    let Some(listings) = listings() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let begun = Instant::now();
    let mut said = Vec::new();
    for (name, text) in &listings {
        // One namespace each, as the file is named.
        let name = name.split('@').next().unwrap_or(name);
        let file = format!("{name}.json");
        fs::write(root.join(&file), text).unwrap();
        let output = proofmark(root, &["registry", "add", "--listing", &file, "--name", name]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        said.push(text);
    }
    let took = begun.elapsed();
    let store = Store::read(&root.join(".proofmark")).unwrap();
    let mut states = std::collections::BTreeMap::new();
    for (_, one) in store.book.iter() {
        *states.entry(one.state().name()).or_insert(0) += 1;
    }
    println!("{} tools of {} listings in {took:?}: {states:?}", store.book.len(), said.len());
    assert_eq!(store.book.len(), 2_114);
    for (id, one) in store.book.iter() {
        let waits =
            [State::SecurityReviewRequired, State::InvalidSchema, State::PermissionLintFailed];
        assert!(
            waits.contains(&one.state()),
            "{id}: nobody has looked at it, and it is {}",
            one.state()
        );
        if let Some(version) = one.version {
            let found =
                store.descriptor(&version).unwrap_or_else(|error| panic!("{id}: {error:?}"));
            assert_eq!(found.tool_id, *id);
        }
    }
    assert!(took < Duration::from_secs(120), "{took:?}");
}

#[test]
fn ten_thousand_facts_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::write(folder.path()).unwrap();
    let basis = Basis::Golden { evidence: Digest::of("golden", b"w"), judged: 4, passed: 4 };
    for round in 0..4 {
        let tools = (0..500).map(|number| text(&format!("a.t{number}"), round));
        let candidates: Vec<Candidate> = tools
            .map(|text| Candidate {
                descriptor: manifest::parse("t.yaml", &text).unwrap(),
                manifest: Digest::of("manifest", text.as_bytes()),
                unusable: None,
            })
            .collect();
        let added = candidates.iter().flat_map(|one| desk::add(&store.book, one).unwrap());
        let added: Vec<Event> = added.collect();
        store.append(round as u64, &added).unwrap();
        let ids = candidates.iter().map(|one| &one.descriptor.tool_id);
        let enabled = ids.flat_map(|id| desk::enable(&store.book, id, "live", &basis).unwrap());
        let enabled: Vec<Event> = enabled.collect();
        store.append(round as u64, &enabled).unwrap();
    }
    // Whoever reads waits for whoever writes.
    let written = store.book.clone();
    drop(store);
    let begun = Instant::now();
    let read = Store::read(folder.path()).unwrap();
    let took = begun.elapsed();
    assert_eq!(read.book, written);
    println!("{} facts read in {took:?}", read.entries);
    assert!(read.entries >= 10_000 && read.book.len() == 500, "{}", read.entries);
}
