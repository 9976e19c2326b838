//! A registry that several processes use, some of which die: nothing that was confirmed is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use proofmark::base::digest::Digest;
use proofmark::journal::Event;
use proofmark::journal::event::catalog::*;
use proofmark::runtime::catalog::desk;
use proofmark::runtime::catalog::lifecycle::State;
use proofmark::runtime::catalog::source::{ServerName, mcp, snapshot};
use proofmark::runtime::catalog::store::Store;
use proofmark::tool::id::ToolId;

use crate::import::listings;

fn text(id: &str, number: usize) -> String {
    format!(
        "schema: proofmark/tool@1\ntoolId: {id}\ndescription: {{summary: Version {number}.}}\n\
         intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
         effects: {{reads: [], writes: []}}\n"
    )
}

fn spawn(folder: &Path, files: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(folder).args(["registry", "add"]).args(files);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Writers are killed at once, when their first descriptor stands, and when their facts begin to.
/// What was confirmed before stays, the registry can always be read, and the next writer goes on.
#[test]
fn a_killed_writer_loses_nothing_that_was_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let files: Vec<String> = (0..4).map(|tool| format!("t{tool}.yaml")).collect();
    let define = |number: usize| {
        for (tool, file) in files.iter().enumerate() {
            fs::write(root.join(file), text(&format!("a.t{tool}"), number)).unwrap();
        }
    };
    define(0);
    assert!(spawn(root, &files).wait().unwrap().success());
    let registry = root.join(".proofmark");
    let kept = || fs::read_dir(registry.join("descriptors")).unwrap().count();
    let recorded = || fs::metadata(registry.join("registry.jsonl")).unwrap().len();
    let (mut entries, mut killed) = (16, [0; 3]);
    for number in 1..=6 {
        define(number);
        let (moment, descriptors, bytes) = (number % 3, kept(), recorded());
        let mut child = spawn(root, &files);
        let due = || match moment {
            0 => true,
            1 => kept() > descriptors,
            _ => recorded() > bytes,
        };
        while !due() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        let dead = !child.wait().unwrap().success();
        killed[moment] += usize::from(dead);
        let store = Store::read(&registry).unwrap();
        assert!(store.entries >= entries, "{number}: {} of {entries}", store.entries);
        assert!(dead || store.entries >= entries + 16, "{number}: it said that it had written");
        entries = store.entries;
    }
    println!("killed {killed:?} of 2 each, {entries} entries");
    assert!(killed[0] + killed[1] > 0, "every writer was done before it was killed");
    assert!(entries > 16, "no writer came as far as its facts");
    assert!(spawn(root, &files).wait().unwrap().success());
    let store = Store::read(&registry).unwrap();
    for (id, standing) in store.book.iter() {
        assert_eq!(standing.state(), State::Verified, "{id}");
        assert!(store.descriptor(&standing.version.unwrap()).is_ok(), "{id}");
    }
}

#[test]
fn writers_at_once_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let file = |number: usize| format!("t{number}.yaml");
    for number in 0..6 {
        fs::write(root.join(file(number)), text(&format!("a.t{number}"), 0)).unwrap();
    }
    let children: Vec<Child> = (0..6).map(|number| spawn(root, &[file(number)])).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::read(&root.join(".proofmark")).unwrap();
    assert_eq!((store.book.len(), store.entries, store.notes.len()), (6, 24, 0));
}

/// Every tool of every saved listing is registered, none lost and none trusted. In a debug build,
/// where compiling a schema is slow, it is the first tool of each listing.
#[test]
fn real_listings_are_registered_whole() {
    let Some(listings) = listings() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (most, expected) =
        if cfg!(debug_assertions) { (1, listings.len()) } else { (usize::MAX, 2_114) };
    let mut candidates = Vec::new();
    for (name, text) in &listings {
        let server = ServerName::sanitized(name.split('@').next().unwrap());
        let mut tools = snapshot::parse(text).unwrap().snapshot.tools;
        tools.truncate(most);
        candidates.extend(desk::candidates(&mcp::import(&server, &tools)));
    }
    assert_eq!(candidates.len(), expected);
    let begun = Instant::now();
    let mut store = Store::write(folder.path()).unwrap();
    let mut facts = Vec::new();
    for candidate in &candidates {
        store.keep(&candidate.descriptor).unwrap();
        facts.extend(desk::add(&store.book, candidate, &store.keys).unwrap());
    }
    store.append(1, &facts).unwrap();
    drop(store);
    let took = begun.elapsed();
    let store = Store::read(folder.path()).unwrap();
    let mut states = BTreeMap::new();
    for (id, one) in store.book.iter() {
        *states.entry(one.state()).or_insert(0) += 1;
        if let Some(version) = one.version {
            assert_eq!(store.descriptor(&version).unwrap().tool_id, *id);
        }
    }
    println!("{expected} tools of {} listings in {took:?}: {states:?}", listings.len());
    assert_eq!(store.book.len(), expected);
    let waits = [State::SecurityReviewRequired, State::InvalidSchema, State::PermissionLintFailed];
    let trusted: Vec<&State> = states.keys().filter(|state| !waits.contains(state)).collect();
    assert!(trusted.is_empty(), "nobody has looked at them: {trusted:?}");
}

/// One version of a tool on its way to being enabled, after the one before it was withdrawn.
fn enabled(id: &ToolId, round: u64) -> Vec<Event> {
    let (tool_id, scope) = (|| id.clone(), "live".to_owned());
    let version = Digest::of("version", &round.to_le_bytes());
    let withdrawn = ToolDisabled { tool_id: tool_id(), scope: scope.clone(), by: None };
    let mut facts: Vec<Event> = (round > 0).then(|| withdrawn.into()).into_iter().collect();
    facts.extend([
        ToolDiscovered { tool_id: tool_id(), source: None }.into(),
        ToolParsed { tool_id: tool_id(), manifest_hash: None, signed_by: None }.into(),
        ToolNormalized { tool_id: tool_id(), tool_version: version, source: None }.into(),
        ToolVerified {
            tool_id: tool_id(),
            tool_version: version,
            effects_declared: true,
            scope: None,
        }
        .into(),
        ToolEnabled {
            tool_id: tool_id(),
            tool_version: version,
            scope,
            evidence: Some(version),
            because: None,
        }
        .into(),
    ]);
    facts
}

#[test]
fn ten_thousand_facts_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::write(folder.path()).unwrap();
    let ids: Vec<ToolId> =
        (0..500).map(|number| ToolId::sanitized(&format!("a.t{number}"))).collect();
    for round in 0..4 {
        let facts: Vec<Event> = ids.iter().flat_map(|id| enabled(id, round)).collect();
        store.append(round, &facts).unwrap();
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
