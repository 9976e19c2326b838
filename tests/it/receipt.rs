//! Receipts of a session are verified under the key it left in a store; altered, moved, repeated
//! and foreign ones are told apart.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark::base::bounded::bound;
use proofmark::eval::fixture::{receipt_key, seed};
use serde_json::{Value, json};

use crate::command::json;

/// A session with one receipted call: its journal, and the key store.
fn session(folder: &Path) -> (PathBuf, PathBuf) {
    let (journal, keys) = (folder.join("session.jsonl"), folder.join("keys"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["chat", "lifecycle", "--case", "level-asks-and-yes", "--journal"]).arg(&journal);
    command.arg("--receipts").arg(&keys);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Tell Bob that lunch is ready.\nyes\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (journal, keys)
}

/// Each receipt's proof, and the exit code.
fn verify(journal: &Path, keys: &Path, more: &[&str]) -> (Vec<String>, i64) {
    let (journal, keys) = (journal.to_str().unwrap(), keys.to_str().unwrap());
    let args = ["receipt", "verify", journal, "--keys", keys, "--format", "json"];
    let answer = json(Path::new(env!("CARGO_MANIFEST_DIR")), &[&args[..], more].concat());
    let all = answer["receipts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let proofs = all.iter().map(|one| one["proof"].as_str().unwrap().to_owned()).collect();
    (proofs, answer["exitCode"].as_i64().unwrap())
}

/// The journal with its receipt changed so, in another file.
fn altered(journal: &Path, change: impl Fn(&mut Value)) -> PathBuf {
    let text = fs::read_to_string(journal).unwrap();
    let lines = text.lines().map(|line| {
        let mut fact: Value = serde_json::from_str(line).unwrap();
        if fact["type"] == "ReceiptIssued" {
            change(&mut fact);
        }
        fact.to_string()
    });
    let path = journal.with_file_name("altered.jsonl");
    fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
    path
}

#[test]
fn a_receipt_is_verified_under_the_key_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, keys) = session(folder.path());
    let check = |journal: &Path, proof: &str, exit: i64| {
        assert_eq!(verify(journal, &keys, &[]), (vec![proof.to_owned()], exit), "{proof}");
    };
    check(&journal, "valid", 0);
    assert_eq!(verify(&journal, &keys, &["--call", "no_such_call"]), (vec![], 4));
    let other = json!(format!("sha256:{}", "0".repeat(64)));
    for field in ["argsDigest", "resultDigest", "toolVersion"] {
        check(&altered(&journal, |fact| fact[field] = other.clone()), "invalid", 1);
    }
    check(&altered(&journal, |fact| fact["toolId"] = json!("door.unlock")), "invalid", 1);
    check(&altered(&journal, |fact| fact["session"] = json!("another")), "invalid", 1);
    check(&altered(&journal, |fact| fact["turn"] = json!("t9")), "invalid", 1);
    check(&altered(&journal, |fact| fact["call"] = json!("call_9")), "invalid", 1);
    check(&altered(&journal, |fact| fact["keyId"] = json!("chat-0")), "no_key", 5);
    // An id names no file outside the store.
    check(&altered(&journal, |fact| fact["keyId"] = json!("../keys/x")), "no_key", 5);

    let text = fs::read_to_string(&journal).unwrap();
    let receipt = text.lines().find(|line| line.contains(r#""ReceiptIssued""#)).unwrap();
    let mut again: Value = serde_json::from_str(receipt).unwrap();
    again["seq"] = json!(9_999);
    let twice = folder.path().join("twice.jsonl");
    fs::write(&twice, format!("{text}{again}\n")).unwrap();
    assert_eq!(verify(&twice, &keys, &[]), (vec!["valid".into(), "repeated".into()], 1));
}

#[test]
fn a_key_is_for_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, keys) = session(folder.path());
    let key = fs::read_dir(&keys).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&keys), mode(&key)), (0o700, 0o600));
    let value = fs::read_to_string(&key).unwrap();
    assert!(!fs::read_to_string(&journal).unwrap().contains(value.trim()));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.args(["receipt", "verify"]).arg(&journal).arg("--keys").arg(&keys);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("others may read or write it (mode 644); `chmod 600` it"), "{said}");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_receipt_names_the_artifact_that_holds_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let reports = folder.path().join("reports");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = ["run", "lifecycle", "--case", "oversize-output-is-cut", "--reports"];
    let run = json(root, &[&wanted[..], &[reports.to_str().unwrap(), "--format", "json"]].concat());
    assert_eq!(run["verdict"], "pass", "{}", bound(&run.to_string(), 2_000).text);
    let latest = fs::read_to_string(reports.join("latest")).unwrap();
    let record = reports.join(latest.trim()).join("run.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    let trial = text.lines().find(|line| line.contains(r#""trialFinished""#)).unwrap();
    let trial: Value = serde_json::from_str(trial).unwrap();
    let seed = seed("lifecycle", "oversize-output-is-cut", "scripted", 0).hex();
    let keys = folder.path().join("keys");
    fs::create_dir(&keys).unwrap();
    let path = keys.join("trial.key");
    fs::write(&path, receipt_key(&seed).expose()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let args = ["receipt", "verify", record.to_str().unwrap(), "--keys", keys.to_str().unwrap()];
    let answer = json(root, &[&args[..], &["--format", "json"]].concat());
    let receipt = &answer["receipts"][0];
    assert_eq!(receipt["proof"], "valid", "{answer}");
    let kept = trial["journal"].as_array().unwrap().iter();
    let kept = kept.clone().find(|fact| fact["type"] == "ArtifactPersisted").unwrap();
    assert_eq!(receipt["artifactId"], kept["artifactId"]);
}
