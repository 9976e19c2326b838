//! Command line tools in a whole turn: what they may do under each mode, what is recorded of it,
//! and what is refused.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proofmark::journal::Event;
use proofmark::journal::Outcome;
use proofmark::journal::event::call::{ObservedEffects, ToolSandboxPrepared};
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::plan;
use proofmark::tool::manifest;
use serde_json::{Value, json};

use crate::escape::{descriptor, host};
use crate::faults::scene::{Play, ask, say};

/// What a call of a command line tool left in the journal.
struct Left {
    prepared: Option<ToolSandboxPrepared>,
    outcome: Outcome,
    effects: Option<ObservedEffects>,
    transcript: String,
}

/// One call of a tool with these sections and arguments.
fn call(host: &Host, sections: &str, args: Value) -> Left {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: tool.try\ndescription: {{summary: Try.}}\n\
         intent: {{actionTypes: [write]}}\n\
         schemas: {{inputSchema: {{type: object, properties: {{path: {{type: string}}, \
         text: {{type: string}}}}}}}}\n\
         effects: {{reads: ['workspace:**'], writes: ['workspace:**']}}\n{sections}"
    );
    let tool = manifest::parse("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"));
    let files = BTreeMap::from([
        ("own.txt".to_owned(), "what is written here".to_owned()),
        ("key.pem".to_owned(), "a key".to_owned()),
    ]);
    let played = Play {
        host: host.clone(),
        workspace: Workspace::new(files),
        ..Play::new(vec![tool], vec![ask(&[("tool_try", &args.to_string())]), say("done")])
    };
    let played = played.ends();
    let (mut prepared, mut outcome, mut effects) = (None, None, None);
    for entry in played.journal.entries() {
        match &entry.event {
            Event::ToolSandboxPrepared(fact) => prepared = Some(fact.clone()),
            Event::ToolCallSettled(fact) => outcome = Some(fact.outcome.clone()),
            Event::ToolCallFinished(fact) => effects = fact.effects.clone(),
            _ => {}
        }
    }
    let transcript = format!("{:?}", played.transcript);
    Left { prepared, outcome: outcome.unwrap(), effects, transcript }
}

fn cli(mode: &str, command: &str, more: &str) -> String {
    format!("sandbox: {{mode: {mode}}}\nexecution: {{adapter: cli, command: {command}{more}}}\n")
}

#[test]
fn a_program_reads_its_workspace_and_what_held_it_is_recorded() {
    let Some(host) = host() else { return };
    let left = call(host, &cli("read_only", "[cat, '{path}']", ""), json!({"path": "own.txt"}));
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript);
    assert!(left.transcript.contains("what is written here"), "{}", left.transcript);
    let prepared = left.prepared.unwrap();
    assert_eq!(prepared.mode.as_deref(), Some("read_only"));
    assert_eq!(prepared.enforcement.as_deref(), Some("full"));
    for name in ["landlock_files", "mount_namespace", "network_namespace", "seccomp"] {
        assert!(prepared.mechanisms.iter().any(|one| one == name), "{prepared:?}");
    }
    let effects = left.effects.unwrap();
    assert_eq!(effects.method, "digests");
    assert_eq!(effects.writes, Vec::<String>::new());
}

#[test]
fn modes_differ_in_what_is_written() {
    let Some(host) = host() else { return };
    let check = |mode: &str, path: &str, writes: &[&str], outcome: bool| {
        let left = call(host, &cli(mode, "[touch, '{path}']", ""), json!({"path": path}));
        assert_eq!(
            left.outcome == Outcome::Succeeded,
            outcome,
            "{mode} {path} {}",
            left.transcript
        );
        assert_eq!(left.effects.unwrap().writes, writes, "{mode} {path}");
    };
    check("read_only", "new", &[], false);
    check("workspace_write", "new", &["workspace:new"], true);
    check("network_restricted", "new", &["workspace:new"], true);
    check("workspace_write", "/usr/new", &[], false);
    // Gone afterwards, and so no effect.
    check("read_only", "/tmp/new", &[], true);
}

#[test]
fn input_and_parsers() {
    let Some(host) = host() else { return };
    let check = |parser: &str, text: &str, code: Option<&str>| {
        let more = format!(", stdin: text, parser: {parser}");
        let left = call(host, &cli("read_only", "[cat]", &more), json!({"text": text}));
        match (&left.outcome, code) {
            (Outcome::Succeeded, None) => {}
            (Outcome::Failed { fault }, Some(code)) => assert_eq!(fault.code, code),
            (other, _) => panic!("{parser} {text}: {other:?}"),
        }
    };
    check("text", "no JSON", None);
    check("json", r#"{"a": [1]}"#, None);
    check("json", "no JSON", Some("output_parser"));
    check("json", "{} {}", Some("output_parser"));
    check("jsonl", "{}\n\n[1]\n", None);
    check("jsonl", "{}\nno", Some("output_parser"));
}

#[test]
fn an_argument_that_would_be_an_option_starts_nothing() {
    let Some(host) = host() else { return };
    let left = call(host, &cli("workspace_write", "[touch, '{path}']", ""), json!({"path": "-a"}));
    let Outcome::Failed { fault } = &left.outcome else { panic!("{:?}", left.outcome) };
    assert_eq!(fault.code, "argument");
}

#[test]
fn time_and_output_end() {
    let Some(host) = host() else { return };
    let limited = |limits: &str, script: &str| {
        format!(
            "sandbox: {{mode: read_only, limits: {limits}}}\n\
             execution: {{adapter: cli, command: [sh, -c, '{script}']}}\n"
        )
    };
    let begun = Instant::now();
    let sleeping = limited("{timeoutMs: 400}", "echo half; sleep 60 & setsid sleep 60");
    let left = call(host, &sleeping, json!({}));
    let Outcome::Failed { fault } = &left.outcome else { panic!("{:?}", left.outcome) };
    assert_eq!(fault.code, "timeout");
    assert!(fault.message.contains("was killed"), "{}", fault.message);
    assert!(left.transcript.contains("half"), "{}", left.transcript);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let flood = limited("{timeoutMs: 20000, maxOutputBytes: 1000}", "yes | head -c 20000000");
    let left = call(host, &flood, json!({}));
    assert_eq!(left.outcome, Outcome::Succeeded);
    assert!(left.transcript.contains("20000000 bytes in all"), "{}", left.transcript);
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let nothing = Host::default();
    let check = |host: &Host, sandbox: &str, command: &str, expected: &str| {
        let refusal = plan(&descriptor(sandbox, command), host).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{sandbox}: {refusal}");
    };
    let here = "[ls]";
    check(&nothing, "{mode: read_only}", here, "mode read_only cannot be enforced here: no ");
    check(&nothing, "{mode: container}", here, "mode container cannot be enforced");
    check(&nothing, "{mode: vm}", here, "mode vm cannot be enforced");
    check(&nothing, "{mode: none, network: {egressPolicy: allowlist}}", here, "mode none cannot");
    let broken = Host::with("/bin/false");
    check(&broken, "{mode: workspace_write}", here, "mode workspace_write cannot be enforced here");
    let Some(host) = host() else { return };
    let files = |files: &str| format!("{{mode: workspace_write, filesystem: {files}}}");
    check(host, &files("{readRoots: [/]}"), here, "`/` is no folder to read from");
    check(host, &files("{readRoots: [/no/such]}"), here, "`/no/such` is not there");
    check(host, &files("{writeRoots: [/usr]}"), here, "root `/usr` is not known");
    check(host, &files("{writeRoots: [workspace/../x]}"), here, "is not known");
    check(host, &files("{cwd: ../x}"), here, "leads out of the workspace");
    check(host, "{mode: read_only, filesystem: {writeRoots: [workspace]}}", here, "writes nothing");
    check(
        host,
        "{mode: network_restricted, network: {egressPolicy: open}}",
        here,
        "no open network",
    );
    check(host, "{mode: read_only}", "[no-such-program]", "no-such-program is not installed");
    let own = env!("CARGO_BIN_EXE_proofmark");
    check(host, "{mode: read_only}", &format!("['{own}']"), "is in none of them");
}
