//! Credentials: bound to whom they are for, read from where they lie, and seen by nobody.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::command::{check, json};

const VALUE: &str = "tok3n-0f-the-l3dger";

/// A suite with one tool that is careless with its token, and one turn that calls it.
fn suite(root: &Path, credentials: &str, outcome: &str) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "suites/s/suite.yaml",
        &format!(
            "schema: proofmark/suite@1\nname: s\ntools: [tools/]\nprincipal: {{id: ada, scopes: \
             ['ledger:read']}}\nproviders: [scripted]\ncases: [cases.yaml]\n{credentials}\n"
        ),
    );
    write(
        "suites/s/tools/ledger.yaml",
        "schema: proofmark/tool@1\ntoolId: ledger.read\ndescription: {summary: Reads the ledger.}\n\
         intent: {actionTypes: [read]}\nschemas: {inputSchema: {type: object}}\n\
         effects: {reads: ['ledger:**'], writes: []}\n\
         permissions: {requiredScopes: ['ledger:read']}\n\
         credentials: {strategy: user_oauth, requiredSecrets: [TOKEN], tokenAudience: ledger, \
         scopeCheckRequired: true}\nexecution: {simulatedOutput: 'sent ${secret:TOKEN} to the ledger'}\n",
    );
    write(
        "suites/s/cases.yaml",
        &format!(
            "schema: proofmark/cases@1\ncases:\n  - id: one\n    prompt: Read it.\n    script:\n      \
             - reply: {{calls: [{{name: ledger.read, arguments: {{}}}}]}}\n      - reply: {{text: \
             Done.}}\n    expect: {{calls: [{{tool: ledger.read, outcome: {outcome}}}]}}\n"
        ),
    );
}

fn bound(more: &str) -> String {
    format!(
        "credentials: {{TOKEN: {{audience: ledger, scopes: ['ledger:read'], principals: [ada]{more}}}}}"
    )
}

#[test]
fn a_credential_is_used_only_by_whom_for_whom_and_as_long_as_it_is_good() {
    let check = |credentials: &str, outcome: &str| {
        let folder = tempfile::tempdir().unwrap();
        suite(folder.path(), credentials, outcome);
        let report = json(folder.path(), &["run", "s", "--format", "json"]);
        assert_eq!(report["exitCode"], 0, "{credentials}: {report:#}");
    };
    check("credentials: [TOKEN]", "succeeded");
    check(&bound(""), "succeeded");
    check(&bound(", strategy: user_oauth, expiresAt: '2999-01-01T00:00:00Z'"), "succeeded");
    check(&bound(", expiresAt: '2001-01-01T00:00:00Z'"), "denied");
    check(&bound(", strategy: system"), "denied");
    check(&bound("").replace("[ada]", "[bob]"), "denied");
    check(&bound("").replace("audience: ledger", "audience: bank"), "denied");
    check(&bound("").replace("'ledger:read'", "'ledger:write'"), "denied");
    check("credentials: {TOKEN: {}}", "denied");
    check("credentials: {}", "unavailable");
}

#[test]
fn what_is_wrong_with_a_credential_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    suite(folder.path(), "credentials:\n  TOKEN: {env: A, file: b}", "denied");
    check(folder.path(), &["run", "s"], 3, &["suite.yaml:8:", "one place"]);
    suite(folder.path(), "credentials:\n  TOKEN: {expiresAt: tomorrow}", "denied");
    check(folder.path(), &["run", "s"], 3, &["suite.yaml:8:", "`tomorrow` is no moment"]);
}

/// One turn of a chat; what it says and what its journal holds.
fn chat(root: &Path, env: Option<&str>) -> (i32, String, String) {
    let journal = root.join("journal.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    command.current_dir(root).args(["chat", "s", "--case", "one", "--journal", "journal.jsonl"]);
    command.env_remove("LEDGER").envs(env.map(|value| ("LEDGER", value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _closed = child.stdin.take().unwrap().write_all(b"Read it.\n");
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.code().unwrap(), said, fs::read_to_string(journal).unwrap_or_default())
}

#[test]
fn a_real_value_is_read_from_its_place_and_is_in_nothing_that_is_kept_or_said() {
    let file = |root: &Path, mode: u32| {
        let path = root.join("suites/s/token");
        fs::write(&path, format!("{VALUE}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    };
    for (source, env) in [
        (", env: LEDGER", Some(VALUE)),
        (", file: token", None),
        (", command: [cat, suites/s/token]", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        suite(folder.path(), &bound(source), "succeeded");
        file(folder.path(), 0o600);
        let (code, said, journal) = chat(folder.path(), env);
        assert_eq!(code, 0, "{source}: {said}");
        assert!(journal.contains("CredentialBound"), "{source}: {journal}");
        assert!(!journal.contains(VALUE) && !said.contains(VALUE), "{source}");
        // The journal names the value by its hash, so that a law sees a leak in it and in the texts
        // beside it. Without those the law cannot say that there is none.
        let secrets = |expected: &str| {
            let judged = json(folder.path(), &["check", "journal.jsonl", "--format", "json"]);
            let laws = judged["laws"].as_array().unwrap();
            let secrets = laws.iter().find(|law| law["name"] == "no-secrets").unwrap();
            assert_eq!(secrets["verdict"], Value::from(expected), "{secrets}");
        };
        let texts = folder.path().join("journal.texts.jsonl");
        assert!(!fs::read_to_string(&texts).unwrap().contains(VALUE), "{source}");
        secrets("holds");
        fs::remove_file(&texts).unwrap();
        secrets("unknown");
        let leaked = journal.replace("\"Read it.\"", &format!("\"Read it, {VALUE}.\""));
        fs::write(folder.path().join("leaked.jsonl"), leaked).unwrap();
        let judged = json(folder.path(), &["check", "leaked.jsonl", "--format", "json"]);
        let laws = judged["laws"].as_array().unwrap();
        let secrets = laws.iter().find(|law| law["name"] == "no-secrets").unwrap();
        assert_eq!(secrets["verdict"], Value::from("broken"), "{secrets}");
    }
    let folder = tempfile::tempdir().unwrap();
    suite(folder.path(), &bound(", file: token"), "succeeded");
    file(folder.path(), 0o644);
    let (code, said, _) = chat(folder.path(), None);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("credential TOKEN") && said.contains("chmod 600"), "{said}");
    suite(folder.path(), &bound(", env: LEDGER"), "succeeded");
    let (code, said, _) = chat(folder.path(), None);
    assert!(code == 6 && said.contains("variable LEDGER is not set"), "{said}");
}
