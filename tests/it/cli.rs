//! The program as people run it: exit codes, files, texts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{check, json, proofmark};
use crate::support;

const READ: &str = "\
schema: proofmark/tool@1
toolId: shelf.read
description: {summary: Return the text of one book.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {title: {type: string}}, required: [title]}}
effects: {reads: ['database:books'], writes: []}
";

pub const LEND: &str = "\
schema: proofmark/tool@1
toolId: shelf.lend
description: {summary: Lend a novel to a member of the library.}
intent: {actionTypes: [memory_write]}
schemas: {inputSchema: {type: object, properties: {member: {type: string}}}}
effects: {reads: [], writes: ['memory:loans']}
";

const SUITE: &str = "\
schema: proofmark/suite@1
name: shelf
tools: [tools/]
prompts: ../../golden/shelf/prompts.csv
gates:
  - {metric: tool_choice.recall, at_least: 0.5, min_denominator: 2}
  - {metric: unsafe.executed, at_most: 0}
";

const PROMPTS: &str = "\
id,kind,prompt,tools,args,tags,because
g-read,golden,\"show me the text of the book \"\"Emma\"\"\",shelf.read,,,a text is wanted
g-lend,golden,lend the novel to member Ines,shelf.lend,,,a loan
n-sky,no_tool,why is the sky blue,,,,nobody here knows
";

/// A project with one tiny suite.
fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_path_buf();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("suites/shelf/suite.yaml", SUITE);
    write("suites/shelf/tools/read.yaml", READ);
    write("suites/shelf/tools/lend.yaml", LEND);
    write("golden/shelf/prompts.csv", PROMPTS);
    (folder, root)
}

fn latest(root: &Path) -> PathBuf {
    let name = fs::read_to_string(root.join("reports/latest")).unwrap();
    root.join("reports").join(name)
}

fn edit(root: &Path, path: &str, from: &str, to: &str) {
    let path = root.join(path);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{path:?} lacks {from:?}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

#[test]
fn an_edited_description_flips_prompts_and_fails() {
    let (_folder, root) = project();
    check(&root, &["run"], 0, &["shelf: 3 cases, 3 as expected", "no baseline is committed"]);
    check(&root, &["accept"], 0, &["golden/shelf/baseline.csv"]);
    check(&root, &["run"], 0, &["baseline: 3 cases the same"]);

    let lend = "suites/shelf/tools/lend.yaml";
    edit(&root, lend, "Lend a novel to a member of the library.", "Do it.");
    edit(&root, "suites/shelf/tools/read.yaml", "one book", "one novel or book of a member");
    let text = check(&root, &["run"], 1, &["baseline: 1 worse", "g-lend"]);
    assert!(text.contains("worse  g-lend: pass (shelf.lend) -> fail"), "{text}");
    let report = json(&root, &["run", "--format", "json"]);
    assert_eq!((&report["verdict"], &report["exitCode"]), (&"fail".into(), &1.into()));
    let shown = ["show", "g-lend"];
    check(&root, &shown, 0, &["expected  shelf.lend", "ranking", "* ", "novel", "verdict   fail"]);

    // Looking is allowed without failing; blessing is a separate act.
    check(&root, &["run", "--baseline", "propose"], 0, &["baseline: 1 worse"]);
    check(&root, &["accept", "shelf"], 0, &[]);
    check(&root, &["run"], 0, &["baseline: 3 cases the same"]);

    // An improvement needs blessing as well.
    edit(&root, lend, "Do it.", "Lend a novel to a member of the library.");
    edit(&root, "suites/shelf/tools/read.yaml", "one novel or book of a member", "one book");
    check(&root, &["run"], 1, &["1 better"]);
}

#[test]
fn an_edit_without_effect_is_measured_again_and_passes() {
    let (_folder, root) = project();
    check(&root, &["run"], 0, &[]);
    check(&root, &["accept"], 0, &[]);
    edit(&root, "suites/shelf/tools/lend.yaml", "of the library.", "of the library!");
    check(&root, &["run"], 0, &["0 cases the same, 3 measured again and unchanged"]);
}

#[test]
fn reports_are_complete_and_byte_reproducible() {
    let (_folder, root) = project();
    check(&root, &["run"], 0, &[]);
    let first = latest(&root);
    check(&root, &["run"], 0, &[]);
    let second = latest(&root);
    assert_ne!(first, second);
    let files = ["report.json", "cases.csv", "metrics.csv", "summary.md", "junit.xml"];
    for file in files {
        let (a, b) = (fs::read(first.join(file)).unwrap(), fs::read(second.join(file)).unwrap());
        assert_eq!(a, b, "{file} differs between two equal runs");
    }
    for file in ["run.jsonl", "timings.json", "pending/shelf/baseline.csv"] {
        assert!(first.join(file).is_file(), "{file}");
    }
    let printed = proofmark(&root, &["run", "--format", "json"]).stdout;
    let printed: Value = serde_json::from_slice(&printed).unwrap();
    let report: Value =
        serde_json::from_slice(&fs::read(first.join("report.json")).unwrap()).unwrap();
    assert_eq!(printed, report);
    for key in ["metrics", "confusion", "gates", "cases", "laws", "notRun", "digests"] {
        assert!(report.get(key).is_some(), "report.json lacks {key}");
    }
}

#[test]
fn every_exit_code_has_its_reason() {
    let (_folder, root) = project();
    let empty = tempfile::tempdir().unwrap();
    check(&root, &["--help"], 0, &["Exit codes:", "130  interrupted"]);
    check(&root, &["run", "--no-such-flag"], 2, &["--no-such-flag"]);
    check(&root, &["run", "shelv"], 2, &["no suite `shelv`", "did you mean `shelf`?"]);
    check(&root, &["run", "--provider", "choser"], 2, &["no provider `choser`"]);
    check(&root, &["show", "g-reed"], 2, &["did you mean `g-read`?"]);
    check(empty.path(), &["run"], 4, &["there is no suite here"]);
    check(&root, &["run", "--case", "zzz*"], 4, &["no case was selected"]);
    check(&root, &["run", "--case", "g-read"], 5, &["inconclusive"]);
    check(&root, &["init", "--mcp", "false"], 6, &["false"]);
    check(&root, &["init", "--mcp", "proofmark-no-such-program"], 6, &[]);
    check(&root, &["init", "--mcp", "a | b"], 2, &["|"]);
    check(empty.path(), &["accept"], 2, &["there is no run yet"]);
    let suite = "suites/shelf/suite.yaml";
    edit(&root, suite, "tools: [tools/]", "tools: [tools/]\nrequires: [proofmark-no-such-program]");
    check(&root, &["run"], 4, &["was not run: needs proofmark-no-such-program"]);
    check(&root, &["run", "--require", "shelf"], 6, &["was not run"]);
    edit(&root, suite, "requires: [proofmark-no-such-program]", "gate: []");
    let text = check(&root, &["run"], 3, &["suite.yaml:4:1: unknown key `gate`"]);
    assert!(text.contains("did you mean `gates`?"), "{text}");
}

#[test]
fn all_problems_of_all_files_are_reported_together() {
    let (_folder, root) = project();
    edit(&root, "suites/shelf/tools/read.yaml", "actionTypes: [read]", "actionTypes: [raed]");
    edit(&root, "golden/shelf/prompts.csv", "n-sky,no_tool", "n-sky,notool");
    edit(&root, "suites/shelf/suite.yaml", "unsafe.executed", "unsafe.execute");
    let parts = [
        "read.yaml:4:24: \"raed\" is not one of",
        "did you mean `read`?",
        "suite.yaml:7:",
        "did you mean `unsafe.executed`?",
    ];
    check(&root, &["run"], 3, &parts);
    assert!(!root.join("reports").exists(), "nothing is written");
    let answer = json(&root, &["run", "--format", "json"]);
    assert_eq!((&answer["exitCode"], &answer["verdict"]), (&3.into(), &"inconclusive".into()));
    let problems = answer["problems"].as_array().unwrap();
    assert!(problems.len() >= 3 && problems.iter().all(|problem| problem["line"].is_u64()));
}

#[test]
fn a_tool_list_becomes_a_suite_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let list = r#"[{"type": "function", "function": {"name": "ring", "description": "Ring a bell.",
        "parameters": {"type": "object", "properties": {"times": {"type": "integer"}}}}}]"#;
    fs::write(root.join("bells.json"), list).unwrap();
    check(root, &["init", "--openai", "bells.json"], 0, &["1 tools", "suites/bells"]);
    check(root, &["init", "--openai", "bells.json"], 2, &["there already"]);
    // What was written by hand stays.
    let prompts = root.join("golden/bells/prompts.csv");
    let own = fs::read_to_string(&prompts).unwrap() + "g-ring,golden,ring the bell,ring,,,x\n";
    fs::write(&prompts, &own).unwrap();
    let kept = ["kept golden/bells/prompts.csv", "kept suites/bells/suite.yaml"];
    check(root, &["init", "--openai", "bells.json", "--force"], 0, &kept);
    assert_eq!(fs::read_to_string(&prompts).unwrap(), own);
    check(root, &["init", "--openai", "bells.json", "--name", "../x"], 2, &["--name ../x"]);
    check(root, &["run"], 0, &["placeholders", "fewer than 4 golden prompts", "(1)"]);
    check(root, &["tools", "bells"], 0, &[" ring "]);
    check(root, &["init"], 2, &["--mcp"]);
    check(root, &["init", "--openai", "none.json"], 3, &["there is no such file"]);
}

#[test]
fn journals_from_anywhere_are_judged() {
    let (_folder, root) = project();
    check(&root, &["run"], 0, &[]);
    let run = latest(&root).join("run.jsonl");
    let run = run.to_str().unwrap();
    check(&root, &["check", run], 0, &["holds          one-result-per-call"]);
    let answer = json(&root, &["check", run, "--format", "json"]);
    assert_eq!(answer["verdict"], "pass");

    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/journals/seed-b.jsonl");
    let text = proofmark(&root, &["check", seed.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&text.stdout).starts_with("7 events"), "{text:?}");

    let lines = fs::read_to_string(&seed).unwrap();
    let denied = lines.replace("\"decision\":\"allow\"", "\"decision\":\"deny\"");
    assert_ne!(lines, denied);
    fs::write(root.join("denied.jsonl"), denied).unwrap();
    check(&root, &["check", "denied.jsonl"], 1, &["BROKEN         denied-never-runs"]);
    fs::write(root.join("bad.jsonl"), "{\"type\":\"ToolCallStart\"}\nnot json\n").unwrap();
    let parts = ["bad.jsonl:1:1: unknown event", "did you mean `ToolCallStarted`?", "bad.jsonl:2:"];
    check(&root, &["check", "bad.jsonl"], 3, &parts);
    check(&root, &["check", "absent.jsonl"], 3, &["there is no such file"]);
}

#[test]
fn every_journal_line_of_a_run_fits_the_published_schema() {
    let (_folder, root) = project();
    check(&root, &["run"], 0, &[]);
    let schema = json(&root, &["schema", "journal"]);
    let compiled = proofmark::tool::schema::CompiledSchema::compile(&schema).unwrap();
    let text = fs::read_to_string(latest(&root).join("run.jsonl")).unwrap();
    let mut lines = 0;
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        for event in record["journal"].as_array().into_iter().flatten() {
            assert_eq!(compiled.errors(event), [], "{event}");
            lines += 1;
        }
    }
    assert!(lines > 30, "{lines} lines");
    for name in ["tool", "suite", "case", "cases", "script", "rules"] {
        let schema = json(&root, &["schema", name]);
        assert!(proofmark::tool::schema::CompiledSchema::compile(&schema).is_ok(), "{name}");
    }
}

#[test]
fn the_bench_suite_counts_what_was_put_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let reports = tempfile::tempdir().unwrap();
    let args = ["run", "suites/bench-scripted", "--trials", "2", "--format", "json", "--reports"];
    let report = json(root, &[&args[..], &[reports.path().to_str().unwrap()]].concat());
    assert_eq!(report["exitCode"], 0);
    let counted = |name: &str| {
        let metrics = report["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|m| {
            m["name"] == name && m["scope"].as_object().is_some_and(serde_json::Map::is_empty)
        });
        let metric = metric.unwrap();
        (metric["num"].as_u64().unwrap(), metric["den"].as_u64().unwrap())
    };
    assert_eq!(counted("cases.passed"), (180, 200));
    assert_eq!(counted("tool_choice.recall"), (188, 200), "5 wrong tools and one missing call");
    assert_eq!(counted("tool_choice.precision"), (188, 200), "5 wrong tools and one extra call");
    assert_eq!(counted("arguments.accurate"), (182, 188), "3 wrong arguments");
    assert_eq!(counted("laws.broken").0, 0);
    assert_eq!(report["cases"].as_array().unwrap().len(), 100);
    assert_eq!(report["cases"][0]["trials"], 2);
}

#[test]
fn the_shipped_suites_pass_against_their_baselines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let reports = tempfile::tempdir().unwrap();
    let args = ["run", "--format", "json", "--reports", reports.path().to_str().unwrap()];
    let report = json(root, &args);
    assert_eq!(report["exitCode"], 0, "{}", report["gates"]);
    let suites = report["suites"].as_array().unwrap();
    let names: Vec<&str> = suites.iter().filter_map(|suite| suite["suite"].as_str()).collect();
    assert_eq!(names, ["coding-agent", "lifecycle", "office"]);
    for suite in suites {
        let baseline = &suite["baseline"];
        assert_eq!(baseline["differences"], Value::Array(Vec::new()), "{}", suite["suite"]);
        assert!(baseline["same"].as_u64().unwrap() > 100, "{}", suite["suite"]);
    }
    // A run that only looked at laws would say nothing about tool choice.
    for suite in ["coding-agent", "office"] {
        let deciding = report["gates"].as_array().unwrap().iter().filter(|gate| {
            let name = gate["gate"].as_str().unwrap();
            let selection = name.starts_with("tool_choice") || name.starts_with("abstention");
            gate["suite"] == suite && gate["reportOnly"] == false && selection
        });
        assert!(deciding.count() >= 5, "{suite}");
    }
    for law in report["laws"].as_array().unwrap() {
        let idle = crate::lifecycle::NOT_EXERCISED.iter().any(|(name, _)| law["name"] == *name);
        let expected = if idle { "not_exercised" } else { "holds" };
        assert_eq!(law["verdict"], expected, "{law}");
    }
}

#[test]
fn real_servers_are_listed_pinned_and_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join("suites/mcp-reference/.servers/installed").exists() {
        support::skip("mcp", "suites/mcp-reference/install-servers.sh was not run");
        return;
    }
    let reports = tempfile::tempdir().unwrap();
    let args = ["run", "mcp-reference", "--format", "json", "--reports"];
    let report = json(root, &[&args[..], &[reports.path().to_str().unwrap()]].concat());
    assert_eq!(report["stale"], Value::Array(Vec::new()), "the listings are the pinned ones");
    assert!(report["cases"].as_array().unwrap().len() > 150);
    assert_eq!(report["exitCode"], 0, "{}", report["gates"]);
}

#[test]
fn a_request_to_terminate_takes_the_server_along() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // A server that never answers, with a child; both write their ids.
    let script = "echo $$ > parent; sleep 300 & echo $! > child; wait";
    fs::write(root.join("mute.sh"), script).unwrap();
    let mut init = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .current_dir(root)
        .args(["init", "--mcp", "sh mute.sh"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let id = |name: &str| {
        let text = fs::read_to_string(root.join(name)).unwrap_or_default();
        text.trim().parse::<i32>().ok()
    };
    let wait = |ready: &dyn Fn() -> bool| {
        for _ in 0..500 {
            if ready() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("not within ten seconds");
    };
    wait(&|| id("child").is_some());
    let terminate = Command::new("kill").args(["-TERM", &init.id().to_string()]).status().unwrap();
    assert!(terminate.success());
    assert_eq!(init.wait().unwrap().code(), Some(130));
    let alive = |name: &str| {
        let state = fs::read_to_string(format!("/proc/{}/stat", id(name).unwrap()));
        state.is_ok_and(|stat| !stat.contains(") Z "))
    };
    wait(&|| !alive("parent") && !alive("child"));
}
