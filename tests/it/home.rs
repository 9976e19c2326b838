//! An agent's home on disk, as people use it: from nothing to an agent that acts, over sessions,
//! beside others who change its registry, and whatever becomes of its process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use proofmark::runtime::home::Home;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{check, json};

const NOTE: &str = "schema: proofmark/tool@1
toolId: note.write
description: {summary: Write a note into the notebook.}
intent: {actionTypes: [write]}
schemas:
  inputSchema:
    type: object
    properties: {path: {type: string}, content: {type: string}}
effects: {reads: [], writes: ['workspace:**']}
sandbox: {mode: workspace_write}
execution: {adapter: 'builtin:file.write'}
";

const PAGE: &str = "schema: proofmark/tool@1
toolId: page.read
description: {summary: Read a page of the almanac aloud.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {path: {type: string}}}}
effects: {reads: ['workspace:**'], writes: []}
execution: {adapter: 'builtin:file.read'}
";

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    say = lambda result: (sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}) + "\n"), sys.stdout.flush())
    if m.get("method") == "initialize":
        say({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}})
    elif m.get("method") == "tools/list":
        say({"tools": [{"name": "ask", "description": "Question the porter at the desk.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True, "openWorldHint": False}}]})
    elif m.get("method") == "tools/call":
        say({"content": [{"type": "text", "text": "the desk is open"}]})
"#;

const MEASURE: &str = "schema: proofmark/suite@1
name: measure
tools: [{registry: ../home/tools}]
prompts: prompts.csv
";

const AGENT: &str = "schema: proofmark/suite@1
name: agent
tools: [{home: .}]
principal: {id: dev, scopes: [workspace_write, external_read]}
providers: [scripted]
cases: [cases.yaml]
knobs: {max_tool_result_chars: 200}
";

const CASES: &str = "schema: proofmark/cases@1
cases:
  - id: day
    prompt: Do the day's work.
    workspace: {long.txt: \"LONG\"}
    script:
      - reply: {calls: [{name: note.write, arguments: {path: a.txt, content: one}}]}
      - reply: {calls: [{name: page.read, arguments: {path: long.txt}}]}
      - reply: {calls: [{name: desk.ask, arguments: {}}]}
      - reply: {text: The day is done.}
  - id: twice
    prompt: Write twice.
    script:
      - reply: {calls: [{name: note.write, arguments: {path: a.txt, content: one}}]}
      - reply: {text: Written.}
      - reply: {calls: [{name: note.write, arguments: {path: a.txt, content: two}}]}
      - reply: {text: Not written.}
";

/// A home whose agent has a tool that was granted, one that runs by itself, and one of a server.
struct Scene {
    _folder: TempDir,
    root: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("tools/note.yaml", NOTE);
        write("tools/page.yaml", PAGE);
        write("server.py", SERVER);
        write("measure/suite.yaml", MEASURE);
        let mut prompts = "id,kind,prompt,tools,args,tags,because\n".to_owned();
        for (tool, words) in [
            ("note.write", "write a note into the notebook"),
            ("page.read", "read a page of the almanac aloud"),
            ("desk.ask", "question the porter at the desk"),
        ] {
            for (n, who) in ["", "for Ines ", "for Ada ", "for Ben "].iter().enumerate() {
                prompts += &format!("{tool}-{n},golden,{who}{words},{tool},,,\n");
            }
        }
        write("measure/prompts.csv", &prompts);
        let long = (0..200).map(|n| format!("line {n} ")).collect::<String>();
        write("home/cases.yaml", &CASES.replace("LONG", &long));
        write("home/suite.yaml", AGENT);
        let server = root.join("server.py").display().to_string();
        let servers = format!(
            "{{\"mcpServers\": {{\"desk\": {{\"command\": \"python3\", \"args\": [\"{server}\"], \
             \"type\": \"stdio\", \"sandbox\": {{\"mode\": \"none\"}}}}}}}}"
        );
        write("home/mcp/servers.json", &servers);
        Self { _folder: folder, root }
    }

    fn check(&self, args: &str, code: i32, parts: &[&str]) -> String {
        check(&self.root, &args.split(' ').collect::<Vec<_>>(), code, parts)
    }

    fn json(&self, args: &str) -> Value {
        json(&self.root, &format!("{args} --format json").split(' ').collect::<Vec<_>>())
    }

    fn registry(&self, args: &str, code: i32, parts: &[&str]) {
        self.check(&format!("registry --registry home/tools {args}"), code, parts);
    }

    /// With everything registered, measured, enabled and granted.
    fn furnished() -> Self {
        let scene = Self::new();
        scene.check(
            "home --home home init",
            0,
            &["written: rules.yaml, credentials/bindings.jsonl"],
        );
        let server = format!("python3 {}", scene.root.join("server.py").display());
        let add =
            ["registry", "--registry", "home/tools", "add", "--mcp", &server, "--name", "desk"];
        check(&scene.root, &add, 0, &["security_review_required"]);
        scene.registry("add tools/note.yaml tools/page.yaml", 0, &["2 verified"]);
        scene.registry("review desk.ask --by Ada", 0, &["verified"]);
        for tool in TOOLS {
            scene.registry(&format!("enable {tool} --without-evidence measuring"), 0, &["enabled"]);
        }
        scene.check("run measure", 0, &["12 cases"]);
        let run = fs::read_to_string(scene.root.join("reports/latest")).unwrap();
        for tool in TOOLS {
            let enable = format!("enable {tool} --evidence reports/{run}/run.jsonl --scope live");
            scene.registry(&enable, 0, &["enabled"]);
        }
        scene.registry("grant note.write --to dev", 0, &["grant-1"]);
        scene.registry("grant desk.ask --to dev", 0, &["grant-2"]);
        scene
    }

    fn chat(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.current_dir(&self.root).args(["chat", "--home", "home"]).args(args.split(' '));
        command.env("USER", "ann").env_remove("PROOFMARK_REQUIRE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What is said when these lines are typed, to the end.
    fn talk(&self, args: &str, typed: &str) -> String {
        let mut child = self.chat(args).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!(status.code(), Some(0), "{text}");
        text
    }

    fn runs(&self) -> Vec<(String, Vec<Value>)> {
        let home = Home::open(&self.root.join("home")).unwrap();
        let mut runs = home.all_runs().unwrap();
        runs.sort_by_key(|(_, run)| run.entries[0].at);
        let facts = |run: proofmark::runtime::home::Run| {
            run.entries.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect()
        };
        runs.into_iter().map(|(id, run)| (id, facts(run))).collect()
    }

    /// No law is broken by what is on disk.
    fn lawful(&self, run: &str) {
        let judged = self.json(&format!("check home/tool-runs/run_{run}.jsonl"));
        let laws = judged["laws"].as_array().unwrap_or_else(|| panic!("{judged}"));
        let broken: Vec<&Value> = laws.iter().filter(|law| law["verdict"] == "broken").collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }
}

const TOOLS: [&str; 3] = ["desk.ask", "note.write", "page.read"];

fn of<'f>(facts: &'f [Value], kind: &str) -> Vec<&'f Value> {
    facts.iter().filter(|fact| fact["type"] == kind).collect()
}

fn outcomes(facts: &[Value]) -> Vec<&str> {
    of(facts, "ToolCallSettled")
        .iter()
        .map(|one| one["outcome"]["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn an_agent_acts_in_its_home_and_everything_of_it_is_on_disk() {
    let scene = Scene::furnished();
    let evals = fs::read_to_string(scene.root.join("home/tools/evals.jsonl")).unwrap();
    assert_eq!(evals.lines().count(), 3, "{evals}");
    // The first use of the server is asked about; the second session remembers the answer.
    let said = scene.talk("--case day", "Do the day's work.\nyes\n");
    assert!(said.contains("The day is done.") && said.contains("--resume "), "{said}");
    let said = scene.talk("--case day", "Do the day's work.\n");
    assert!(said.contains("The day is done."), "{said}");
    let runs = scene.runs();
    assert_eq!(runs.len(), 2);
    for (run, facts) in &runs {
        assert_eq!(outcomes(facts), ["succeeded"; 3], "{facts:#?}");
        let by = of(facts, "ServerConsented");
        assert_eq!((by.len(), &by[0]["by"]), (1, &"ann".into()));
        let id = run.as_str();
        let note = scene.root.join(format!("home/sandboxes/sbx_{id}/a.txt"));
        assert_eq!(fs::read_to_string(note).unwrap(), "one");
        scene.lawful(run);
    }
    assert_eq!(of(&runs[0].1, "ApprovalRequested").len(), 1);
    assert_eq!(of(&runs[1].1, "ApprovalRequested").len(), 0);

    // Each artifact is a file and names its call and its event.
    let kept = scene.json("home --home home artifacts");
    let outputs: Vec<&Value> = kept["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|a| a["kind"] == "tool_output")
        .collect();
    assert_eq!(outputs.len(), 2, "{kept:#}");
    for one in outputs {
        assert!(one["toolCallId"].is_string() && one["eventId"].is_u64(), "{one}");
        let file = scene.root.join("home/artifacts").join(one["file"].as_str().unwrap());
        assert!(fs::read_to_string(file).unwrap().contains("line 199"));
    }
    let shown = ["3 tools", "desk: ann agreed for dev", "skills (0)"];
    scene.check("home --home home show", 0, &shown[1..]);

    // Whoever withdraws it has the next session asked again, and no is no.
    scene.check("home --home home withdraw desk --by bea", 0, &["asked again"]);
    scene.check("home --home home withdraw desk --by bea", 2, &["nobody agreed to the server"]);
    scene.talk("--case day", "Do the day's work.\nno\n");
    let (run, facts) = scene.runs().pop().unwrap();
    assert_eq!(outcomes(&facts), ["succeeded", "succeeded", "denied"]);
    scene.lawful(&run);

    // What is kept no longer is gone, is said to be gone, and the journals hold without it.
    scene.check("home --home home prune --older-than 30d --by ann", 0, &["gone: 0 artifacts"]);
    scene.check("home --home home prune --older-than 0s --by ann --dry-run", 0, &["would go: "]);
    scene.check("home --home home prune --older-than 0s --by ann", 0, &["3 workspaces"]);
    let kept = scene.json("home --home home artifacts");
    for one in kept["artifacts"].as_array().unwrap() {
        assert_eq!(one["fate"]["pruned"]["by"], "ann", "{one}");
    }
    scene.runs().iter().for_each(|(run, _)| scene.lawful(run));
}

#[test]
fn what_the_registry_takes_back_while_a_session_runs_is_gone_at_its_next_step() {
    for (taken, why) in [
        ("revoke grant-1 --by bea", "no grant in `live` lets dev call it"),
        ("disable note.write --by bea", "the registry has it as verified"),
        ("block note.write --why spam --by bea", "the registry has it as blocked"),
        ("deprecate note.write --by bea", "the registry has it as deprecated"),
    ] {
        let scene = Scene::furnished();
        let mut child = scene.chat("--case twice").spawn().unwrap();
        let mut keys = child.stdin.take().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        say(&mut keys, "Write once.");
        assert_eq!(said.next().unwrap().unwrap(), "Written.");
        scene.registry(taken, 0, &["note.write"]);
        std::thread::sleep(Duration::from_millis(1_500));
        say(&mut keys, "Write again.");
        assert_eq!(said.next().unwrap().unwrap(), "Not written.");
        drop(keys);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let (run, facts) = scene.runs().pop().unwrap();
        assert_eq!(outcomes(&facts), ["succeeded", "unavailable"], "{taken}");
        let blocked = of(&facts, "ToolBlocked");
        let reason = blocked[0]["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{taken}: {reason}");
        scene.lawful(&run);
    }
}

fn say(keys: &mut ChildStdin, line: &str) {
    keys.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The lines of all journals so far.
fn lines(runs: &Path) -> usize {
    let found = fs::read_dir(runs).into_iter().flatten().flatten();
    let journals = found.filter(|one| {
        let name = one.file_name().to_string_lossy().into_owned();
        name.starts_with("run_") && !name.contains(".texts")
    });
    journals.map(|one| fs::read_to_string(one.path()).unwrap_or_default().lines().count()).sum()
}

#[test]
fn a_session_that_is_killed_anywhere_is_gone_on_with_and_has_lost_nothing() {
    let scene = Scene::furnished();
    let runs = scene.root.join("home/tool-runs");
    // How many lines a whole session has: it is killed at each of some of them.
    scene.talk("--case day", "Do the day's work.\nyes\n");
    let whole = lines(&runs);
    let mut open = 0;
    for at in (1..whole).step_by(3) {
        let before = lines(&runs);
        let mut child = scene.chat("--case day").spawn().unwrap();
        let mut keys = child.stdin.take().unwrap();
        say(&mut keys, "Do the day's work.");
        killed_at(&mut child, || lines(&runs) >= before + at);
        let (run, facts) = scene.runs().pop().unwrap();
        let was_open = of(&facts, "TurnStarted").len() > of(&facts, "TurnFinished").len();
        open += usize::from(was_open);
        let said = scene.talk(&format!("--case day --resume run_{run}"), "");
        let (_, after) = scene.runs().into_iter().find(|(id, _)| *id == run).unwrap();
        assert_eq!(after[..facts.len()], facts, "killed at {at}: {said}");
        assert_eq!(of(&after, "TurnStarted").len(), of(&after, "TurnFinished").len(), "{said}");
        let asked = of(&after, "ToolCallRequested").len();
        assert_eq!(outcomes(&after).len(), asked, "killed at {at}: {after:#?}");
        scene.lawful(&run);
    }
    assert!(open > 3, "only {open} of the sessions were killed within a turn");
    scene.check("home --home home show", 0, &["runs ("]);
    let nobody = scene.json("home --home home artifacts");
    let absent = |one: &&Value| one["fate"] == "absent";
    let lost: Vec<&Value> = nobody["artifacts"].as_array().unwrap().iter().filter(absent).collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

/// Kills a process as soon as something holds, or when it has ended.
fn killed_at(child: &mut Child, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() && begun.elapsed() < Duration::from_secs(20) {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn nobody_acts_whose_record_cannot_be_written() {
    let scene = Scene::furnished();
    // A home in which no artifact can be kept: the first call that leaves one ends the session.
    let kept = scene.root.join("home/artifacts");
    fs::create_dir_all(&kept).unwrap();
    let mut child = scene.chat("--case day --approvals none").spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    while lines(&scene.root.join("home/tool-runs")) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::remove_dir(&kept).unwrap();
    say(&mut keys, "Do the day's work.");
    // It ends by itself, although there is more to be said.
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{told}");
    assert!(told.contains("home/artifacts"), "{told}");
    drop(keys);
    fs::create_dir_all(&kept).unwrap();
    let (_, facts) = scene.runs().pop().unwrap();
    assert!(of(&facts, "ToolCallStarted").len() < 3, "{facts:#?}");
}

#[test]
fn mistakes_in_a_home_say_where_they_are() {
    let scene = Scene::new();
    let root = scene.root.join("home");
    scene.check("home --home nowhere show", 2, &["no home; make one"]);
    scene.check("home --home home init", 0, &[]);
    scene.check("chat --home home", 3, &["suite.yaml:3:8", "--registry HOME/tools add"]);
    scene.check("chat --home home --resume x", 3, &["not a single tool"]);
    scene.check("home --home home prune --by ann", 2, &["--older-than"]);
    scene.check("home --home home prune --older-than soon --by ann", 2, &["30d or 12h"]);
    for (file, text, expected) in [
        (
            "mcp/servers.json",
            "{\"mcpServers\": {\"a\": {\"comand\": \"x\"}}}",
            "did you mean `command`",
        ),
        ("mcp/servers.json", "{\"mcpServers\": {\"a\": {}}}", "name the server by"),
        ("credentials/bindings.jsonl", "{\"env\": \"X\"}\n", "bindings.jsonl:1:"),
        (
            "credentials/bindings.jsonl",
            "{\"name\": \"T\", \"env\": \"X\", \"file\": \"y\"}\n",
            "one place",
        ),
        ("mcp/consents.jsonl", "{\"at\": 1}\n", "consents.jsonl:1:"),
        ("tool-runs/run_x.jsonl", "{\n", "run_x.jsonl:1:"),
        ("artifacts/pruned.jsonl", "{}\n", "pruned.jsonl:1:"),
        ("skills/odd/README", "no skill", "it has no SKILL.md"),
    ] {
        let path = root.join(file);
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        scene.check("home --home home show", 3, &[expected]);
        match before {
            Some(before) => fs::write(&path, before).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        if file.starts_with("skills") {
            fs::remove_dir(path.parent().unwrap()).unwrap();
        }
    }
    scene.check("home --home home show", 0, &["tools (0)"]);
}
