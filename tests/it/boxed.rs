//! Command line tools in a whole turn: what they may do under each mode, what is recorded of it,
//! and what is refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark::base::secret::Secret;
use proofmark::journal::Event;
use proofmark::journal::Outcome;
use proofmark::journal::event::call::{ObservedEffects, ToolSandboxPrepared};
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::Hook;
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::launch::Sandbox;
use proofmark::runtime::sandbox::order::Stdin;
use proofmark::runtime::sandbox::{Ground, plan};
use proofmark::runtime::turn::driver::Signal;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::manifest;
use serde_json::{Value, json};

use crate::escape::{descriptor, host};
use crate::faults::scene::{Play, ask, runtime, say};

/// What a call of a command line tool left in the journal.
pub struct Left {
    pub prepared: Option<ToolSandboxPrepared>,
    pub outcome: Outcome,
    pub effects: Option<ObservedEffects>,
    pub command: Option<String>,
    pub transcript: String,
}

/// A tool that may read and write its workspace.
pub fn tool(sections: &str) -> Descriptor {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: tool.try\ndescription: {{summary: Try.}}\n\
         intent: {{actionTypes: [write]}}\n\
         schemas: {{inputSchema: {{type: object, properties: {{path: {{type: string}}, \
         text: {{type: string}}}}}}}}\n\
         effects: {{reads: ['workspace:**'], writes: ['workspace:**']}}\n{sections}"
    );
    manifest::parse("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// One call of a tool with these sections and arguments.
pub fn call(host: &Host, sections: &str, args: Value) -> Left {
    call_with(host, sections, args, &[])
}

/// The same with credentials.
pub fn call_with(
    host: &Host,
    sections: &str,
    args: Value,
    secrets: &[(&'static str, &str)],
) -> Left {
    let files = BTreeMap::from([
        ("own.txt".to_owned(), "what is written here".to_owned()),
        ("key.pem".to_owned(), "a key".to_owned()),
    ]);
    let played = Play {
        host: host.clone(),
        workspace: Workspace::new(files),
        secrets: secrets.iter().map(|(name, value)| (*name, Secret::new(*value))).collect(),
        ..Play::new(
            vec![tool(sections)],
            vec![ask(&[("tool_try", &args.to_string())]), say("done")],
        )
    };
    let played = played.ends();
    let (mut prepared, mut outcome, mut effects, mut command) = (None, None, None, None);
    for entry in played.journal.entries() {
        match &entry.event {
            Event::ToolSandboxPrepared(fact) => prepared = Some(fact.clone()),
            Event::ToolCallStarted(fact) => command.clone_from(&fact.command),
            Event::ToolCallSettled(fact) => outcome = Some(fact.outcome.clone()),
            Event::ToolCallFinished(fact) => effects = fact.effects.clone(),
            _ => {}
        }
    }
    let transcript = format!("{:?}", played.transcript);
    Left { prepared, outcome: outcome.unwrap(), effects, command, transcript }
}

/// The sections of a command in a mode.
pub fn cli(mode: &str, command: &str, more: &str) -> String {
    format!("sandbox: {{mode: {mode}}}\nexecution: {{adapter: cli, command: {command}{more}}}\n")
}

#[test]
fn a_program_reads_its_workspace_and_what_held_it_is_recorded() {
    let Some(host) = host() else { return };
    let left = call(host, &cli("read_only", "[cat, '{path}']", ""), json!({"path": "own.txt"}));
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript);
    assert!(left.transcript.contains("what is written here"), "{}", left.transcript);
    // The template; the arguments stand in the request.
    assert_eq!(left.command.as_deref(), Some("cat {path}"));
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
    // Words of ours in the output are the tool's there.
    check("jsonl", "{}\n[stderr]\n{}", Some("output_parser"));
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
fn a_workspace_below_the_scratch_folder_is_not_written_by_the_right_to_that() {
    let Some(host) = host() else { return };
    let write = "[sh, -c, 'echo x > own.txt; echo x > new; rm key.pem; mkdir deep']";
    let left = call(host, &cli("read_only", write, ""), json!({}));
    let effects = left.effects.unwrap();
    assert_eq!((effects.writes, effects.deletes), (Vec::new(), Vec::new()));
    assert!(matches!(left.outcome, Outcome::Failed { .. }), "{:?}", left.outcome);
}

#[test]
fn a_cancelled_command_is_gone_with_all_that_it_started() {
    let Some(host) = host() else { return };
    let sections = cli("read_only", "[sh, -c, 'setsid sleep 600 & sleep 600']", "");
    let script = vec![ask(&[("tool_try", "{}")])];
    let play = Play { host: host.clone(), ..Play::new(vec![tool(&sections)], script) };
    let mut session = play.open(&|_| -> Arc<dyn Hook> { unreachable!("there are no hooks") });
    let remote = session.remote();
    let begun = Instant::now();
    runtime().block_on(async {
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            remote.send(Signal::Cancel("enough".to_owned()));
        };
        tokio::join!(session.turn("do it".to_owned()), cancel)
    });
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let torn = session.journal().entries().iter().find_map(|entry| match &entry.event {
        Event::TornDown(fact) => fact.how.clone(),
        _ => None,
    });
    assert_eq!(torn.as_deref(), Some("everything in its sandbox was killed"));
}

#[test]
fn a_sandbox_that_is_dropped_ends() {
    let Some(host) = host() else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let plan = plan(&descriptor("{mode: workspace_write}", "[sh]"), Ground::bare(host)).unwrap();
    let words = ["sh", "-c", "setsid sh -c 'sleep 1; echo x > late' & sleep 1; echo x > late"];
    let words = words.map(str::to_owned);
    let ordered = plan.confined.as_ref().unwrap().order(&root, &words, Stdin::Null).unwrap();
    runtime().block_on(async {
        let started = Sandbox::start(host.helper().unwrap(), ordered.order, &[]).await.unwrap();
        drop(started);
        tokio::time::sleep(Duration::from_millis(1_800)).await;
    });
    assert!(!root.join("late").exists());
}

#[test]
fn no_command_runs_without_a_sandbox_unless_a_rule_says_so() {
    let none = cli("none", "[cat, '{path}']", "");
    let check = |rules: &'static str, expected: &str| {
        let script = vec![ask(&[("tool_try", r#"{"path": "own.txt"}"#)]), say("done")];
        let files = BTreeMap::from([("own.txt".to_owned(), "what is written here".to_owned())]);
        let workspace = Workspace::new(files);
        let played = Play { rules, workspace, ..Play::new(vec![tool(&none)], script) }.ends();
        let transcript = format!("{:?}", played.transcript);
        assert!(transcript.contains(expected), "{transcript}");
    };
    check("", "there is no tool `tool_try`");
    let rule = "schema: proofmark/rules@1\nrules:\n  - {id: free, decision: allow, \
         reason: it is ours, when: {tools: [tool.try]}, examples: [{tool: tool.try}]}\n";
    check(rule, "what is written here");
}

#[test]
fn a_connection_that_is_not_declared_is_a_fault() {
    let Some(_) = host() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let names = BTreeMap::from([("own.test".to_owned(), listener.local_addr().unwrap())]);
    let reaching = Host::reaching(env!("CARGO_BIN_EXE_proofmark"), names);
    let sections = "sandbox: {mode: read_only, network: {egressPolicy: allowlist, \
         allowDomains: [own.test]}}\nexecution: {adapter: cli, command: [python3, -c, \
         'import socket; s = socket.create_connection((\"127.0.0.1\", 3128)); \
         s.send(b\"CONNECT own.test:443 HTTP/1.1\\r\\n\\r\\n\"); s.recv(20)']}\n";
    let left = call(&reaching, sections, json!({}));
    let Outcome::Failed { fault } = &left.outcome else { panic!("{:?}", left.outcome) };
    assert_eq!(fault.code, "undeclared_effect", "{}", fault.message);
    assert_eq!(left.effects.unwrap().external_calls, ["own.test:443"]);
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let nothing = Host::default();
    let check = |host: &Host, sandbox: &str, command: &str, expected: &str| {
        let refusal =
            plan(&descriptor(sandbox, command), Ground::bare(host)).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{sandbox}: {refusal}");
    };
    let here = "[ls]";
    check(&nothing, "{mode: read_only}", here, "mode read_only cannot be enforced here: no ");
    check(&nothing, "{mode: container}", here, "mode container needs the name of an image");
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
    let apart = "{mode: read_only, filesystem: {readRoots: [/usr]}}";
    check(host, apart, here, "the folder that it starts in is in none of them; add `workspace`");
    let apart = files("{writeRoots: [workspace/out], readRoots: [/usr]}");
    check(host, &apart, here, "the folder that it starts in");
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

#[test]
fn the_program_confines_the_tools_of_its_suites() {
    if host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "suites/boxed/suite.yaml",
        "schema: proofmark/suite@1\nname: boxed\ntools: [tools/]\ncases: [cases.yaml]\n\
         principal: {id: dev, scopes: [workspace_write]}\nproviders: [scripted]\n",
    );
    write(
        "suites/boxed/tools/read.yaml",
        "schema: proofmark/tool@1\ntoolId: page.read\n\
         description: {summary: Read a page.}\nintent: {actionTypes: [read]}\n\
         schemas: {inputSchema: {type: object, properties: {path: {type: string}}}}\n\
         effects: {reads: ['workspace:**'], writes: []}\nsandbox: {mode: read_only}\n\
         execution: {adapter: cli, command: [cat, --, '{path}']}\n",
    );
    write(
        "suites/boxed/cases.yaml",
        "schema: proofmark/cases@1\ncases:\n  - id: page\n    prompt: Read it.\n    \
         workspace: {a.md: the last page}\n    script:\n      \
         - reply: {calls: [{name: page.read, arguments: {path: a.md}}]}\n      \
         - expect_request: {contains: [the last page]}\n        reply: {text: Done.}\n    \
         expect:\n      calls: [{tool: page.read, outcome: succeeded}]\n",
    );
    crate::command::check(folder.path(), &["run"], 0, &["boxed"]);
}
