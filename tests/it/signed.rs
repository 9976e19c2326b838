//! Definitions under signatures: made with a key of one's own, and judged by a registry that knows
//! some keys and not others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const TOOL: &str = "schema: proofmark/tool@1\ntoolId: shelf.lend\ndescription: {summary: Lend a \
    novel.}\nintent: {actionTypes: [memory_write]}\nschemas: {inputSchema: {type: object}}\n\
    effects: {reads: [], writes: ['memory:loans']}\n";

/// What the program said to both streams, and its exit code.
fn registry(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let ended = command.current_dir(folder).arg("registry").args(args).output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    (String::from_utf8(said).unwrap(), ended.status.code())
}

/// A key of Ann's, what `keys.yaml` says of it, and a definition that it signs.
fn signed(folder: &Path, trust: &str, claims: &str) {
    let (line, code) =
        registry(folder, &["keygen", "ann", "--owner", "Ann Lee", "--out", "ann.key"]);
    assert_eq!(code, Some(0), "{line}");
    assert_eq!(fs::metadata(folder.join("ann.key")).unwrap().permissions().mode() & 0o777, 0o600);
    let keys = format!("schema: proofmark/keys@1\nkeys:\n{line}").replace("workspace", trust);
    fs::create_dir_all(folder.join(".proofmark")).unwrap();
    fs::write(folder.join(".proofmark/keys.yaml"), keys).unwrap();
    let plain = format!("{TOOL}provenance:\n  trustLevel: {claims}\n");
    fs::write(folder.join("t.yaml"), &plain).unwrap();
    let (said, code) = registry(folder, &["sign", "t.yaml", "--key", "ann.key", "--id", "ann"]);
    assert_eq!(code, Some(0), "{said}");
    let lines = said.split_once("provenance:\n").unwrap().1;
    fs::write(folder.join("t.yaml"), format!("{plain}{lines}")).unwrap();
}

/// Where the tool stands after it was added, or why it was not.
fn check(folder: &Path, expected: &str, code: i32) {
    let (said, found) = registry(folder, &["add", "t.yaml"]);
    assert!(said.contains(expected), "{said}");
    assert_eq!(found, Some(code), "{said}");
}

#[test]
fn a_signature_of_a_known_key_counts() {
    let folder = tempfile::tempdir().unwrap();
    signed(folder.path(), "workspace", "workspace");
    check(folder.path(), "verified", 0);
    let log = fs::read_to_string(folder.path().join(".proofmark/registry.jsonl")).unwrap();
    assert!(log.contains(r#""signedBy":"ann""#), "{log}");
    // A private key is never written over.
    let (said, code) =
        registry(folder.path(), &["keygen", "ann", "--owner", "Ann", "--out", "ann.key"]);
    assert!(said.contains("ann.key is there already") && code == Some(2), "{said}");
}

#[test]
fn what_was_changed_after_it_was_signed_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    signed(folder.path(), "workspace", "workspace");
    let path = folder.path().join("t.yaml");
    let text = fs::read_to_string(&path).unwrap().replace("novel", "book");
    let hash = text.lines().position(|line| line.contains("manifestHash")).unwrap();
    let without: Vec<&str> =
        text.lines().enumerate().filter(|(at, _)| *at != hash).map(|(_, line)| line).collect();
    fs::write(&path, &text).unwrap();
    check(folder.path(), "states the manifest hash", 1);
    fs::write(&path, without.join("\n")).unwrap();
    check(folder.path(), "the signature of `ann` is not that of this content", 1);
}

/// It was added, waits for somebody who looks at it, and `show` says why.
fn waits(folder: &Path, why: &str) {
    check(folder, "1 security_review_required", 0);
    let (said, _) = registry(folder, &["show", "shelf.lend"]);
    assert!(said.contains(why), "{said}");
}

#[test]
fn strangers_and_claims_wait_for_a_review() {
    let folder = tempfile::tempdir().unwrap();
    signed(folder.path(), "third_party", "first_party");
    waits(folder.path(), "it claims more trust than key `ann` of Ann Lee has");
    let folder = tempfile::tempdir().unwrap();
    signed(folder.path(), "workspace", "workspace");
    let keys = folder.path().join(".proofmark/keys.yaml");
    fs::write(&keys, "schema: proofmark/keys@1\n").unwrap();
    waits(folder.path(), "nobody here knows the key `ann` that signed it");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".proofmark")).unwrap();
    fs::write(
        folder.path().join(".proofmark/keys.yaml"),
        "schema: proofmark/keys@1\nrequire: true\n",
    )
    .unwrap();
    fs::write(folder.path().join("t.yaml"), TOOL).unwrap();
    waits(folder.path(), "nobody signed it");
    let broken =
        "schema: proofmark/keys@1\nkeys:\n  - {id: a, owner: A, publicKey: x, trust: all}\n";
    fs::write(folder.path().join(".proofmark/keys.yaml"), broken).unwrap();
    check(folder.path(), "keys.yaml:3:", 3);
}
