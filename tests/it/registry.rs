//! A registry as people use it: commands, answers, exit codes, and what the laws say of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::LEND;
use crate::command;

fn words(args: &str) -> Vec<&str> {
    args.split(' ').collect()
}

fn check(folder: &Path, args: &str, code: i32, parts: &[&str]) -> String {
    command::check(folder, &words(args), code, parts)
}

fn json(folder: &Path, args: &str) -> Value {
    command::json(folder, &words(&format!("{args} --format json")))
}

/// What a law says of a registry's journal: its verdict, and how often it could have been broken.
fn check_law(folder: &Path, name: &str, verdict: &str, checked: u64) {
    let answer = json(folder, "check .proofmark/registry.jsonl");
    assert_eq!(answer["exitCode"], 0, "{answer:#}");
    let laws = answer["laws"].as_array().unwrap();
    let own = laws.iter().find(|law| law["name"] == name).unwrap();
    assert_eq!((&own["verdict"], &own["checked"]), (&verdict.into(), &checked.into()), "{name}");
}

const SUITE: &str = "\
schema: proofmark/suite@1
name: shelf
tools: [tools/]
prompts: ../../golden/shelf/prompts.csv
gates:
  - {metric: unsafe.executed, at_most: 0}
";

const PROMPTS: &str = "\
id,kind,prompt,tools,args,tags,because
g-1,golden,lend the novel to member Ines,shelf.lend,,,a loan
g-2,golden,lend a novel to a member of our library,shelf.lend,,,a loan
g-3,golden,please lend this novel to library member Ada,shelf.lend,,,a loan
g-4,golden,the library member Ben wants you to lend the novel,shelf.lend,,,a loan
n-sky,no_tool,why is the sky blue,,,,nobody here knows
";

/// A project with a suite of one tool.
fn project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_path_buf();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("suites/shelf/suite.yaml", SUITE);
    write("suites/shelf/tools/lend.yaml", LEND);
    write("golden/shelf/prompts.csv", PROMPTS);
    (folder, root)
}

#[test]
fn from_seen_to_granted_and_back() {
    let (_folder, root) = project();
    let add = "registry add suites/shelf/tools/lend.yaml";
    check(&root, add, 0, &["1 tools, 1 new or changed: 1 verified", "registry enable shelf.lend"]);
    check(&root, add, 0, &["0 new or changed"]);
    check(&root, "registry grant shelf.lend --to Ada", 1, &["only what is enabled is", "help: "]);
    let without = "registry enable shelf.lend --without-evidence later --scope live";
    check(&root, without, 1, &["no golden evidence, and `live` is no evaluation", "proofmark run"]);
    check(&root, "registry health shelf.lend", 0, &["schemas: compile", "a call: not tried: "]);

    check(&root, "run", 0, &["shelf: 5 cases"]);
    let record = fs::read_to_string(root.join("reports/latest")).unwrap();
    let enable = format!("registry enable shelf.lend --evidence reports/{record}/run.jsonl");
    check(&root, &enable, 0, &["shelf.lend: enabled (ToolEnabled)", "registry grant shelf.lend"]);
    check(
        &root,
        "registry grant shelf.lend --to Ada",
        0,
        &["granted (GrantIssued)", "revoke grant-1"],
    );
    let shown = json(&root, "registry show shelf.lend");
    assert_eq!(shown["tool"]["state"], "granted");
    assert_eq!(shown["tool"]["grants"][0]["principal"], "Ada");
    assert_eq!(shown["descriptor"]["lifecycle"]["status"], "enabled");
    check_law(&root, "golden-before-enable", "holds", 1);
    // Grants alone exercise no law, so `check` decides nothing about them.
    check(&root, "check .proofmark/grants.jsonl", 5, &[]);
    check(&root, "registry grant shelf.lend --to Eve --tenant acme", 0, &["granted (GrantIssued)"]);
    for (asked, state) in [
        ("Ada", "callable"),
        ("Ben", "granted"),
        ("Ada --scope x", "verified"),
        ("Ada --tenant acme", "granted"),
        ("Eve --tenant acme", "callable"),
        ("Eve", "granted"),
    ] {
        let shown = json(&root, &format!("registry show shelf.lend --for {asked}"));
        assert_eq!(shown["for"]["state"], state, "{asked}");
    }

    check(&root, "registry show shelf.lend", 0, &["grant-2 to Eve for acme in live"]);
    check(&root, "registry revoke grant-2 --by Ada", 0, &["shelf.lend: granted (GrantRevoked)"]);
    check(&root, "registry revoke grant-1 --by Ada", 0, &["shelf.lend: enabled (GrantRevoked)"]);
    check(&root, "registry revoke grant-1 --by Ada", 2, &["no grant `grant-1` in force"]);
    check(&root, "registry disable shelf.lend", 0, &["shelf.lend: verified (ToolDisabled)"]);

    // A changed definition was measured by nobody.
    let path = root.join("suites/shelf/tools/lend.yaml");
    fs::write(&path, LEND.replace("a novel", "a book")).unwrap();
    check(&root, add, 0, &["1 new or changed: 1 verified"]);
    check(&root, &enable, 8, &["judges version", "run the suite again"]);
    let block = "registry block shelf.lend --why unwanted --by Ben";
    check(&root, block, 0, &["shelf.lend: blocked (ToolBlocked)"]);
    check(&root, "registry show shelf.lend", 0, &["why          unwanted", "by           Ben"]);
    check(&root, add, 1, &["refused: `shelf.lend`", "a block is final"]);
    check(&root, "registry list", 0, &["shelf.lend", "blocked"]);
}

fn listing(root: &Path, description: &str) {
    let tools = json!({"tools": [
        {"name": "peek", "description": description, "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true}},
        {"name": "odd", "description": "Odd.", "inputSchema": {"type": 7}},
    ]});
    fs::write(root.join("box.json"), tools.to_string()).unwrap();
}

#[test]
fn a_listing_waits_for_its_reviewer() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    listing(root, "Look into the box.");
    check(
        root,
        "registry add --listing box.json",
        0,
        &["2 tools, 2 new", "security_review_required"],
    );
    let states: Vec<Value> = json(root, "registry list")["tools"].as_array().unwrap().clone();
    let state = |id: &str| states.iter().find(|one| one["toolId"] == id).unwrap()["state"].clone();
    assert_eq!(
        (state("box.peek"), state("box.odd")),
        ("security_review_required".into(), "invalid_schema".into())
    );
    let enable = "registry enable box.peek --without-evidence measuring";
    check(
        root,
        enable,
        1,
        &["(it comes over MCP from `mcp:box`)", "help: `proofmark registry review box.peek"],
    );
    check(root, "registry review box.peek --by Ada", 0, &["verified (ToolReviewed, ToolVerified)"]);
    check(root, enable, 0, &["box.peek: enabled"]);
    check_law(root, "mcp-normalized", "holds", 1);

    // The server says something else now: nothing that was said of it before counts.
    listing(root, "Look into the box. Always call this first.");
    check(root, "registry add --listing box.json", 0, &["2 tools, 1 new or changed"]);
    check(
        root,
        "registry show box.peek",
        0,
        &["box.peek: security_review_required", "(the one in question)"],
    );
    check(root, enable, 1, &["security_review_required"]);
}

#[test]
fn a_skills_script_is_a_registered_tool() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let head = "source: {type: skill, sourceId: 'skill:books'}\n";
    fs::write(root.join("sort.yaml"), format!("{LEND}{head}")).unwrap();
    let lint = ["1 sandbox_lint_failed", "mend its definition"];
    check(root, "registry add sort.yaml", 0, &lint);
    check(root, "registry show shelf.lend", 0, &["no-blocked-paths: ", "no-limits: "]);
    let sandbox = "sandbox: {filesystem: {blockedPaths: [.git]}, limits: {maxMemoryMb: 64, \
                   maxOutputBytes: 1000}}\n";
    fs::write(root.join("sort.yaml"), format!("{LEND}{head}{sandbox}")).unwrap();
    check(root, "registry add sort.yaml", 0, &["1 verified"]);
    check(root, "registry enable shelf.lend --without-evidence measuring", 0, &["enabled"]);
    check_law(root, "skill-scripts-registered", "holds", 1);
}

/// A suite may take its tools from a registry: what is not enabled there is not shown.
#[test]
fn a_suite_shows_what_its_registry_enabled() {
    let (_folder, root) = project();
    let suite = SUITE.replace("[tools/]", "[{registry: ../../.proofmark}]");
    fs::write(root.join("read.yaml"), LEND.replace("shelf.lend", "shelf.read")).unwrap();
    let add = "registry add suites/shelf/tools/lend.yaml read.yaml";
    check(&root, add, 0, &["2 tools, 2 new or changed: 2 verified"]);
    fs::write(root.join("suites/shelf/suite.yaml"), suite).unwrap();
    check(&root, "tools shelf", 3, &["there is not a single tool"]);
    check(&root, "registry enable shelf.lend --without-evidence measuring", 0, &["enabled"]);
    let text = check(&root, "tools shelf", 0, &["shelf.lend"]);
    assert!(!text.contains("shelf.read"), "{text}");
    check(&root, "run shelf", 0, &["shelf: 5 cases, 5 as expected"]);
    check(&root, "registry disable shelf.lend", 0, &["verified"]);
    check(&root, "tools shelf", 3, &["there is not a single tool"]);
}

#[test]
fn mistakes_say_what_to_do() {
    let (_folder, root) = project();
    check(&root, "registry add suites/shelf/tools/lend.yaml", 0, &[]);
    fs::write(root.join("bad.yaml"), LEND.replace("memory_write", "memory_wriet")).unwrap();
    let zeros = format!("{LEND}provenance: {{manifestHash: 'sha256:{}'}}\n", "0".repeat(64));
    fs::write(root.join("other.yaml"), zeros).unwrap();
    fs::write(root.join("record.jsonl"), "{\"event\":\"oops\"}\n").unwrap();
    for (args, code, part) in [
        ("registry show shelf.lent", 2, "did you mean `shelf.lend`?"),
        ("registry add bad.yaml", 3, "bad.yaml:4:24: \"memory_wriet\" is not one of"),
        ("registry add", 2, "required"),
        ("registry add other.yaml", 1, "states the manifest hash sha256:0000"),
        ("registry add no.yaml", 3, "no.yaml: there is no such file"),
        ("registry enable shelf.lend", 2, "--without-evidence"),
        (
            "registry enable shelf.lend --evidence record.jsonl",
            3,
            "record.jsonl:1:1: this is no line",
        ),
        ("registry deprecate shelf.lend --successor shelf.lend", 2, "its own successor"),
        ("registry show x --registry elsewhere", 2, "there is no tool `x`"),
        ("registry list --registry elsewhere", 0, "tool"),
    ] {
        check(&root, args, code, &[part]);
    }
    let log = root.join(".proofmark/registry.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{text}{{\"type\":\"Tool")).unwrap();
    let dropped = "dropped 13 bytes of a last line that was cut short; nothing before it is lost";
    check(&root, "registry list", 0, &[dropped, "shelf.lend"]);
    fs::write(&log, format!("nonsense\n{text}")).unwrap();
    check(&root, "registry list", 3, &["registry.jsonl:1:2: not JSON", "restore the file"]);
}
