//! A walk through everything that the first version must have (seed B, section 16), by a person at
//! a real terminal: tools shown and withheld, arguments checked, a question answered, a command in
//! the sandbox, a server called, a skill read, a large result kept, each call accounted for, and
//! the journal on disk.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::json;

const SUITE: &str = "schema: proofmark/suite@1
name: walk
tools:
  - tools/
  - {skill: skills/round-up}
  - mcp: {server: desk, command: [python3, server.py], calls: live, sandbox: {mode: none}}
principal: {id: ann, scopes: [workspace_write, external_read]}
providers: [scripted]
cases: [cases.yaml]
knobs: {max_tool_result_chars: 400}
";

const TOOLS: [(&str, &str); 4] = [
    (
        "count.yaml",
        "schema: proofmark/tool@1
toolId: lines.count
description: {summary: Count the lines of a file.}
intent: {actionTypes: [read]}
schemas:
  inputSchema:
    type: object
    properties: {file: {type: string}}
    required: [file]
    additionalProperties: false
effects: {reads: ['workspace:**'], writes: []}
execution: {adapter: cli, command: [wc, -l, --, '{file}']}
",
    ),
    (
        "send.yaml",
        "schema: proofmark/tool@1
toolId: mail.send
description: {summary: Send a mail.}
intent: {actionTypes: [external_send]}
schemas: {inputSchema: {type: object, properties: {to: {type: string}}, required: [to]}}
effects:
  reads: []
  writes: ['api:mail']
  externalCalls: true
  sendsUserData: true
  mutatesState: true
",
    ),
    (
        "read.yaml",
        "schema: proofmark/tool@1
toolId: file.read
description: {summary: Read a file.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {path: {type: string}}, required: [path]}}
effects: {reads: ['workspace:**'], writes: []}
execution: {adapter: 'builtin:file.read'}
",
    ),
    (
        "safe.yaml",
        "schema: proofmark/tool@1
toolId: safe.open
description: {summary: Open the safe.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object}}
effects: {reads: ['memory:safe'], writes: []}
permissions: {blockedPrincipals: [ann]}
",
    ),
];

const SKILL: &str = "---
name: round-up
description: Rounds numbers up. Use it when somebody wants a round number.
---

Round up to tens.
";

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    say = lambda result: (sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}) + "\n"), sys.stdout.flush())
    if m.get("method") == "initialize":
        say({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}})
    elif m.get("method") == "tools/list":
        say({"tools": [{"name": "ask", "description": "Ask the desk.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True, "openWorldHint": False}}]})
    elif m.get("method") == "tools/call":
        say({"content": [{"type": "text", "text": "the desk is open"}]})
"#;

const CASES: &str = "schema: proofmark/cases@1
cases:
  - id: day
    prompt: Do the day's work.
    workspace: {long.txt: \"LONG\"}
    script:
      - reply: {calls: [{name: lines.count, arguments: {lines: 3}}]}
      - reply: {calls: [{name: lines.count, arguments: {file: long.txt}}]}
      - reply: {calls: [{name: desk.ask, arguments: {}}]}
      - reply: {calls: [{name: skill.round-up, arguments: {}}]}
      - reply: {calls: [{name: file.read, arguments: {path: long.txt}}]}
      - reply: {calls: [{name: safe.open, arguments: {}}]}
      - reply: {calls: [{name: mail.send, arguments: {to: bob@example.org}}]}
      - reply: {text: The day is done.}
";

/// Talks to the program at a terminal: waits for a text, then types a line.
const TERMINAL: &str = r#"
import os, pty, select, sys, time
program, exchanges = sys.argv[1], [e.split("=>") for e in sys.argv[2:]]
pid, fd = pty.fork()
if pid == 0:
    os.execv(program, [program, "chat", "walk", "--case", "day", "--journal", "day.jsonl"])
seen = ""
def until(text):
    global seen
    end = time.time() + 60
    while text not in seen:
        if time.time() > end or not select.select([fd], [], [], 1)[0] and time.time() > end:
            sys.exit("never came: %r in %r" % (text, seen))
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536).decode(errors="replace")
            except OSError:
                sys.exit("it ended before %r: %r" % (text, seen))
for wait, line in exchanges:
    if wait:
        until(wait)
        seen = seen.split(wait, 1)[1]
    os.write(fd, (line + "\n").encode())
rest = seen
try:
    while True:
        part = os.read(fd, 65536)
        if not part:
            break
        rest += part.decode(errors="replace")
except OSError:
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.write(rest)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

fn lay_out(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("suites/walk/suite.yaml", SUITE);
    TOOLS.iter().for_each(|(name, text)| write(&format!("suites/walk/tools/{name}"), text));
    write("suites/walk/skills/round-up/SKILL.md", SKILL);
    write("suites/walk/server.py", SERVER);
    let long: String = (0..200).map(|n| format!("line {n}\\n")).collect();
    write("suites/walk/cases.yaml", &CASES.replace("LONG", &long));
    write("terminal.py", TERMINAL);
}

#[test]
fn a_day_at_the_terminal() {
    if crate::escape::scene::host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    lay_out(root);
    let exchanges = [
        "=>/tools",
        "safe.open=>Do the day's work.",
        "mail.send=>yes",
        "The day is done.=>/tool-call #7",
        "mail.send=>/quit",
    ];
    let mut command = Command::new("python3");
    command.current_dir(root).arg("terminal.py").arg(env!("CARGO_BIN_EXE_proofmark"));
    let output = command.args(exchanges).env("USER", "ann").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = fs::read_to_string(root.join("day.jsonl")).unwrap();
    let facts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| facts.iter().filter(|fact| fact["type"] == kind).count();
    let ends: Vec<&str> = facts
        .iter()
        .filter(|fact| fact["type"] == "ToolCallSettled")
        .map(|fact| fact["outcome"]["kind"].as_str().unwrap())
        .collect();
    let expected = [
        "rejected",
        "succeeded",
        "succeeded",
        "succeeded",
        "succeeded",
        "unavailable",
        "succeeded",
    ];
    assert_eq!(ends, expected, "{said}\n{text}");
    let counts = ["ViewCompiled", "ToolPolicyChecked", "ToolCallStarted", "ReceiptIssued"].map(of);
    assert_eq!(counts, [8, 5, 5, 5], "{text}");
    assert_eq!((of("ServerConsented"), of("ApprovalGranted")), (1, 1));
    assert!(of("ArtifactPersisted") >= 1, "the long result is kept beside the transcript");
    let boxed = facts.iter().find(|fact| fact["type"] == "ToolSandboxPrepared").unwrap();
    assert_eq!(boxed["enforcement"], "full", "{boxed}");
    let judged = json(root, &["check", "day.jsonl", "--format", "json"]);
    let broken = judged["laws"].as_array().unwrap().iter();
    let broken: Vec<&Value> = broken.filter(|law| law["verdict"] == "broken").collect();
    assert!(broken.is_empty(), "{broken:?}");
}
