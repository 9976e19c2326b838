//! `proofmark lint` as a person runs it, its rules over real tool lists, and the shipped suites.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proofmark::lint::{Level, Levels, Server, Subject, check, registry};
use serde_json::Value;

use crate::command;
use crate::import::listings;

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: shelf.read
description: {summary: Return the text of one book of the shelf.}
intent: {actionTypes: [read]}
schemas:
  inputSchema:
    type: object
    properties:
      page: {type: integer, default: null, description: Where to begin.}
effects: {reads: ['database:books'], writes: []}
";
const LISTING: &str = r#"{"tools": [
  {"name": "open_ticket", "description": "Open a ticket in the tracker and return its number.",
   "inputSchema": {"type": "object", "properties": {"tags": {"type": "array", "description": "Words."}}},
   "annotations": {"readOnlyHint": false}},
  {"name": "close_ticket", "description": "Close a ticket of the tracker for good, with all answers.",
   "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": false}}
]}"#;

fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("read.yaml"), TOOL).unwrap();
    std::fs::write(folder.path().join("list.json"), LISTING).unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "schema: proofmark/tool@1\ntoolId: 7\n")
        .unwrap();
    folder
}

#[test]
fn a_warning_points_at_its_line_and_fails_only_where_warnings_are_denied() {
    let folder = written();
    let place = "read.yaml:9:7 (shelf.read)";
    let line = "9 |       page: {type: integer, default: null";
    let parts =
        ["warning[null-default]", place, line, "      ^^^^", "1 tool judged: 0 errors, 1 warning"];
    command::check(folder.path(), &["lint", "read.yaml"], 0, &parts);
    command::check(folder.path(), &["lint", "read.yaml", "--deny", "warnings"], 1, &parts);
    let off = ["lint", "read.yaml", "--deny", "warnings", "--rule", "null-default=off"];
    command::check(folder.path(), &off, 0, &["0 warnings"]);
}

#[test]
fn an_error_in_a_listing_fails_and_says_what_it_costs() {
    let folder = written();
    let blast =
        "providers refuse the whole request, so one such tool costs all of them; 2 are offered";
    let parts = ["error[array-without-items]", "list.json:3:61 (open_ticket)", blast];
    command::check(folder.path(), &["lint", "list.json"], 1, &parts);
    command::check(folder.path(), &["lint", "--listing", "list.json"], 1, &parts);
}

#[test]
fn programs_read_findings_and_counts() {
    let folder = written();
    let answer = command::json(folder.path(), &["lint", "list.json", "--format", "json"]);
    assert_eq!(answer["exitCode"], 1);
    assert_eq!(answer["counts"], serde_json::json!({"array-without-items": 1}));
    let finding = answer["findings"][0].as_object().unwrap();
    let keys: Vec<&str> = finding.keys().map(String::as_str).collect();
    let expected: BTreeSet<&str> =
        ["rule", "level", "tool", "file", "line", "column", "message", "fix"].into();
    assert_eq!(keys.into_iter().collect::<BTreeSet<_>>(), expected);
    let log = command::json(folder.path(), &["lint", "list.json", "--format", "sarif"]);
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "array-without-items");
    let index = result["ruleIndex"].as_u64().unwrap();
    let rule = &log["runs"][0]["tool"]["driver"]["rules"][usize::try_from(index).unwrap()];
    assert_eq!(rule["id"], "array-without-items");
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], &region["startColumn"]), (&3.into(), &61.into()));
}

#[test]
fn what_cannot_be_judged_has_its_exit_code() {
    let folder = written();
    let at = folder.path();
    command::check(at, &["lint", "bad.yaml"], 3, &["bad.yaml:"]);
    command::check(at, &["lint", "--listing", "gone.json"], 3, &["there is no such file"]);
    command::check(at, &["lint"], 4, &["there is no suite here"]);
    std::fs::write(at.join("none.json"), "[]").unwrap();
    command::check(at, &["lint", "none.json"], 4, &["not a single tool"]);
    command::check(
        at,
        &["lint", "--rule", "nul-default=off"],
        2,
        &["did you mean `null-default`?"],
    );
    command::check(at, &["lint", "--rule", "null-default=no"], 2, &["NAME=off"]);
    command::check(at, &["lint", "--profile", "gemni"], 2, &["known here: openai-chat"]);
    command::check(at, &["lint", "--explain", "null-default"], 0, &["To mend it:"]);
}

#[test]
fn a_profile_adds_the_facts_of_a_provider() {
    let folder = written();
    let strict = ["lint", "list.json", "--profile", "openai-strict", "--all"];
    command::check(folder.path(), &strict, 1, &["info[not-strict-ready]"]);
}

#[test]
fn a_suite_says_its_own_levels() {
    let folder = tempfile::tempdir().unwrap();
    let suite = folder.path().join("suites/shelf");
    std::fs::create_dir_all(suite.join("tools")).unwrap();
    std::fs::write(suite.join("tools/read.yaml"), TOOL).unwrap();
    let file = |lint: &str| {
        let text = format!(
            "schema: proofmark/suite@1\nname: shelf\ntools: [tools/]\ngates:\n  - {{metric: \
             laws.broken, at_most: 0}}\n{lint}"
        );
        std::fs::write(suite.join("suite.yaml"), text).unwrap();
    };
    let args = ["lint", "shelf", "--deny", "warnings"];
    file("");
    command::check(folder.path(), &args, 1, &["suites/shelf/tools/read.yaml:9:7"]);
    file("lint: {levels: {null-default: off}}\n");
    command::check(folder.path(), &args, 0, &["0 warnings"]);
    let back = ["lint", "shelf", "--deny", "warnings", "--rule", "null-default=warning"];
    command::check(folder.path(), &back, 1, &["1 warning"]);
    file("lint: {levels: {nul-default: off}}\n");
    command::check(folder.path(), &args, 3, &["suite.yaml:", "did you mean `null-default`?"]);
    file("lint: {levels: {null-default: no}}\n");
    command::check(folder.path(), &args, 3, &["suite.yaml:"]);
}

#[test]
fn the_shipped_suites_are_clean() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suites = ["office", "coding-agent", "calibration", "lifecycle", "bench-scripted"];
    let mut args = vec!["lint", "--deny", "warnings"];
    args.extend(suites);
    command::check(root, &args, 0, &["0 errors, 0 warnings"]);
}

/// What was counted of a rule elsewhere, on 78 servers of which these 56 are a part: tools and
/// servers. No rule may find more here than there, where both mean the same.
const ELSEWHERE: [(&str, usize, usize); 30] = [
    ("root-not-object", 9, 1),
    ("framework-argument", 3, 1),
    ("phantom-tool", 39, 16),
    ("array-without-items", 1, 1),
    ("declared-dialect", 152, 78),
    ("gemini-format", 61, 14),
    ("gemini-const", 63, 12),
    ("gemini-exclusive-bound", 52, 12),
    ("gemini-type-list", 127, 13),
    ("gemini-numeric-enum", 5, 2),
    ("strict-format", 35, 10),
    ("null-default", 148, 4),
    ("required-with-default", 12, 3),
    ("untyped-property", 16, 7),
    ("free-form-object", 156, 20),
    ("json-in-string", 28, 9),
    ("prose-enum", 89, 11),
    ("free-text-operation", 89, 10),
    ("mixed-effects", 28, 10),
    ("no-hints", 529, 34),
    ("unhinted-destruction", 18, 8),
    ("undocumented-parameter", 367, 28),
    ("cut-description", 54, 17),
    ("many-parameters", 49, 17),
    ("deep-nesting", 41, 7),
    ("wrapper-parameter", 42, 5),
    ("optional-wrapper", 5, 2),
    ("secret-argument", 36, 13),
    ("model-confirms", 136, 6),
    ("unknown-field", 433, 2),
];

#[test]
fn real_lists_give_the_counts_that_are_kept() {
    let Some(listings) = listings() else { return };
    let server = |(name, text): (&String, &String)| {
        let value: Value = serde_json::from_str(text).unwrap();
        let tools = value["tools"].as_array().unwrap().iter().map(Subject::of_element).collect();
        let name = name.split('@').next().unwrap();
        let name = name.rsplit("__").next().unwrap().to_owned();
        Server { name, tools }
    };
    let servers: Vec<Server> = listings.iter().map(server).collect();
    assert_eq!(servers.iter().map(|one| one.tools.len()).sum::<usize>(), 2_114);
    let mut levels = Levels::default();
    for rule in registry::rules() {
        levels.set(rule.name, rule.level.max(Level::Info)).unwrap();
    }
    let mut seen: BTreeMap<&str, (BTreeSet<(usize, usize)>, BTreeSet<usize>)> = BTreeMap::new();
    for one in check(&servers, &levels) {
        let (tools, servers) = seen.entry(one.rule.name).or_default();
        tools.insert((one.server, one.tool));
        servers.insert(one.server);
    }
    let counted = |name: &str| seen.get(name).map_or((0, 0), |(t, s)| (t.len(), s.len()));
    for (name, tools, servers) in ELSEWHERE {
        let (found, at) = counted(name);
        assert!(
            found <= tools && at <= servers,
            "{name}: {found} / {at}, elsewhere {tools} / {servers}"
        );
    }
    let line = |rule: &proofmark::lint::Rule| {
        let (tools, servers) = counted(rule.name);
        format!("{},{tools},{servers}\n", rule.name)
    };
    let table: String = registry::rules().map(line).collect();
    let table = format!("rule,tools,servers\n{table}");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/lint-counts.csv");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), table, "the counts are now:\n{table}");
}

#[test]
fn every_rule_stands_in_the_table_of_the_docs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/lint.md")).unwrap();
    let rows: Vec<(String, String)> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            (cells[1].trim_matches('`').to_owned(), cells[2].to_owned())
        })
        .collect();
    let rules: Vec<(String, String)> = registry::rules()
        .map(|rule| (rule.name.to_owned(), rule.level.name().to_owned()))
        .collect();
    assert_eq!(rows, rules);
}
