//! Skills: a folder teaches, and grants nothing; its scripts run as tools or not at all.

use std::fs;
use std::path::Path;

use crate::command::{check, json};

const SKILL: &str = "---
name: count-words
description: Counts the words of texts. Use it when somebody asks how long a text is.
allowed-tools: Bash(*)
---

# How words are counted

Run the script on the file, then round to tens.
";

const SCRIPT: &str = "#!/bin/sh
# Counts the words of a file.
wc -w < \"$1\"
echo counted > count.log
";

fn suite(root: &Path, cases: &str) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("skills/count-words/SKILL.md", SKILL);
    write("skills/count-words/scripts/count.sh", SCRIPT);
    write("skills/count-words/references/rounding.md", "Half to even.");
    write("skills/count-words/assets/logo.bin", "\u{0}\u{1}");
    write(
        "suites/s/suite.yaml",
        "schema: proofmark/suite@1\nname: s\ntools: [{skill: ../../skills/count-words}]\n\
         principal: {id: dev, scopes: [workspace_write]}\nproviders: [scripted]\ncases: [cases/]\n",
    );
    write("suites/s/cases/c.yaml", cases);
}

const CASES: &str = "schema: proofmark/cases@1
cases:
  - id: it-teaches
    prompt: How long is the text?
    script:
      - reply: {calls: [{name: skill.count-words, arguments: {}}]}
      - expect_request:
          contains:
            - round to tens
            - 'references/rounding.md: read it with `file`'
            - 'scripts/count.sh: the tool skill.count-words.count'
        reply: {calls: [{name: skill.count-words, arguments: {file: references/rounding.md}}]}
      - expect_request: {contains: [Half to even]}
        reply: {calls: [{name: skill.count-words, arguments: {file: assets/logo.bin}}]}
      - reply: {text: It is long.}
    expect:
      calls:
        - {tool: skill.count-words, outcome: succeeded}
        - {tool: skill.count-words, outcome: succeeded}
        - {tool: skill.count-words, outcome: rejected}
  - id: what-it-teaches-grants-nothing
    prompt: How long is the text?
    script:
      - reply: {calls: [{name: skill.count-words, arguments: {}}]}
      - reply: {calls: [{name: skill.count-words.count, arguments: {args: [text.txt]}}]}
      - reply: {text: I may not count.}
    expect:
      calls:
        - {tool: skill.count-words, outcome: succeeded}
        - {tool: skill.count-words.count, outcome: denied}
  - id: a-script-runs-as-a-tool
    prompt: How long is the text?
    workspace: {text.txt: one two three}
    approvals: [{tool: skill.count-words.count, answer: approve}]
    script:
      - reply: {calls: [{name: skill.count-words.count, arguments: {args: [text.txt]}}]}
      - expect_request: {contains: ['3']}
        reply: {text: Three words.}
    expect:
      calls: [{tool: skill.count-words.count, outcome: succeeded}]
      events:
        - {event: ApprovalRequested}
        - {event: ToolSandboxPrepared, facts: {enforcement: full}}
        - {event: ReceiptIssued}
";

#[test]
fn it_teaches_and_grants_nothing_and_its_scripts_are_tools() {
    if crate::escape::scene::host().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    suite(folder.path(), CASES);
    let report = json(folder.path(), &["run", "s", "--format", "json"]);
    assert_eq!(report["exitCode"], 0, "{report:#}");
    let passed = report["cases"].as_array().unwrap().iter();
    assert_eq!(passed.filter(|case| case["verdict"] == "pass").count(), 3, "{report:#}");
}

#[test]
fn a_folder_that_is_no_skill_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    suite(folder.path(), CASES);
    let file = folder.path().join("skills/count-words/SKILL.md");
    fs::write(&file, SKILL.replace("name: count-words", "name: Count")).unwrap();
    check(folder.path(), &["run", "s"], 3, &["SKILL.md:2:7: `Count` is no name of a skill"]);
    fs::remove_file(&file).unwrap();
    check(folder.path(), &["run", "s"], 3, &["it has no SKILL.md"]);
}

#[test]
fn a_skill_waits_for_a_reviewer_in_a_registry() {
    let folder = tempfile::tempdir().unwrap();
    suite(folder.path(), CASES);
    let root = folder.path();
    let add = ["registry", "add", "--skill", "skills/count-words", "--registry", "reg"];
    check(root, &add, 0, &["skill.count-words"]);
    let list = ["registry", "list", "--registry", "reg"];
    check(root, &list, 0, &["skill.count-words.count", "security_review_required"]);
}
