//! `proofmark chat`: a person types, is asked, and the journal is on disk.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::command::json;

const MAIL: &str = "Tell Bob that lunch is ready.";

/// The program in the setting of a case that asks, with its journal in this file.
fn start(approvals: &str, journal: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
    let case = ["chat", "lifecycle", "--case", "level-asks-and-yes", "--approvals", approvals];
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(case).arg("--journal").arg(journal);
    command.env("USER", "ann").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn facts(journal: &Path) -> Vec<Value> {
    let text = fs::read_to_string(journal).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(facts: &'a [Value], kind: &str) -> Vec<&'a Value> {
    facts.iter().filter(|fact| fact["type"] == kind).collect()
}

/// What becomes of the call, and by whose word, when these lines are typed.
fn check(approvals: &str, typed: &str, outcome: &str, fact: &str) {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    let mut child = start(approvals, &journal);
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{typed:?}: {told}");
    let facts = facts(&journal);
    let settled = of(&facts, "ToolCallSettled");
    assert_eq!(settled[0]["outcome"]["kind"], outcome, "{typed:?}: {settled:?}\n{told}");
    assert_eq!(of(&facts, fact).len(), 1, "{typed:?}: no {fact} in {facts:?}");
    let path = journal.to_str().unwrap();
    let judged = json(Path::new(env!("CARGO_MANIFEST_DIR")), &["check", path, "--format", "json"]);
    let laws = judged["laws"].as_array().unwrap();
    let verdict = |name: &str| laws.iter().find(|law| law["name"] == name).unwrap();
    assert_eq!(verdict("validated-before-policy")["verdict"], "holds");
    assert!(laws.iter().all(|law| law["verdict"] != "broken"), "{judged}");
}

#[test]
fn the_command_line_takes_yes_no_and_always_and_its_end_is_a_no() {
    check("terminal", &format!("{MAIL}\nyes\n"), "succeeded", "ApprovalGranted");
    check("terminal", &format!("{MAIL}\nmaybe\ny\n/quit\n"), "succeeded", "ApprovalGranted");
    check("terminal", &format!("{MAIL}\nalways\n"), "succeeded", "GrantIssued");
    check("terminal", &format!("{MAIL}\nno, he knows\n"), "denied", "ApprovalDenied");
    check("terminal", &format!("{MAIL}\n"), "denied", "ApprovalDenied");
    check("none", &format!("{MAIL}\n"), "denied", "ApprovalUnreachable");
}

#[test]
fn a_tool_that_is_blocked_is_gone_for_the_rest_of_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    let mut child = start("terminal", &journal);
    let typed =
        format!("/block mail.snd\n/block mail.send it spams\n/block mail.send\n/tools\n{MAIL}\n");
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "no tool `mail.snd`; did you mean `mail.send`?\n",
        "mail.send is blocked\n",
        "mail.send is blocked already\n",
        "mail.send is withheld by blocked: blocked while the session ran\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let facts = facts(&journal);
    let [blocked] = of(&facts, "ToolBlocked")[..] else { panic!("{facts:?}") };
    let (reason, by) = (&blocked["reason"], &blocked["by"]);
    assert_eq!((reason, by), (&"blocked: it spams".into(), &"ann".into()));
    assert!(of(&facts, "ToolCallStarted").is_empty(), "{facts:?}");
}

/// One exchange with the back-channel.
fn ask(address: &str, token: &str, request: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {token}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

#[test]
fn a_person_elsewhere_answers_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    let mut child = start("http", &journal);
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = stderr.next().unwrap().unwrap();
    let address = address.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let token = stderr.next().unwrap().unwrap();
    let token = token.strip_prefix("Authorization: ").unwrap().to_owned();
    let mut keys = child.stdin.take().unwrap();
    keys.write_all(format!("{MAIL}\n").as_bytes()).unwrap();
    let question = loop {
        let found = ask(&address, &token, "GET /approvals", "");
        if let Some(question) = found["pending"].get(0) {
            break question.clone();
        }
    };
    assert_eq!(question["tool"], "mail.send");
    // What the person saw is on disk before they answer.
    assert_eq!(of(&facts(&journal), "ApprovalRequested").len(), 1);
    let id = question["approvalId"].as_str().unwrap();
    let answer = r#"{"verdict":"yes","decider":"bea"}"#;
    let accepted = ask(&address, &token, &format!("POST /approvals/{id}"), answer);
    assert_eq!(accepted["accepted"], *id);
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "Told.\n");
    // Whoever is killed leaves every fact behind.
    child.kill().unwrap();
    child.wait().unwrap();
    let facts = facts(&journal);
    let granted = of(&facts, "ApprovalGranted");
    assert_eq!(
        (&granted[0]["decider"], &granted[0]["channel"]),
        (&"bea".into(), &"back_channel".into())
    );
    assert_eq!(of(&facts, "TurnFinished").len(), 1);
}

#[test]
fn a_journal_that_is_there_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.jsonl");
    fs::write(&journal, "kept").unwrap();
    let output = start("none", &journal).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is there already"));
    assert_eq!(fs::read_to_string(&journal).unwrap(), "kept");
}

#[test]
fn a_call_of_the_session_is_explained_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start("terminal", &folder.path().join("journal.jsonl"));
    let typed = format!("/tool-call\n{MAIL}\nyes\n/tool-call\n/tool-call #1\n/tool-call call_99\n");
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.starts_with("there is no call\n"), "{told}");
    let answer = "\nDid anybody approve it? (approval_given)\n";
    let (_, after) = told.split_once(answer).unwrap_or_else(|| panic!("{told}"));
    assert!(after.contains("ann said yes (channel terminal"), "{told}");
    assert_eq!(told.matches(answer).count(), 2, "the last one and the first one: {told}");
    assert!(told.contains("there is no such call"), "{told}");
}
