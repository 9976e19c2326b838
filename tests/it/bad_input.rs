//! Whatever is wrong with a file is said with its place and what to do, all of it at once, and
//! nothing panics.

use std::fs;
use std::path::Path;

use proofmark::base::problem::Problem;
use proofmark::eval::load::{Listed, Suite, load};
use proofmark::eval::{baseline, prompts};
use proofmark::journal::format;
use proofmark::runtime::catalog::Registry;
use proptest::prelude::*;
use tempfile::TempDir;

const SUITE: &str = "\
schema: proofmark/suite@1
name: small
tools: [tools/]
rules: rules.yaml
prompts: prompts.csv
cases: [cases/]
look_alikes: look-alikes.csv
gates:
  - {metric: unsafe.executed, at_most: 0}
";
const TOOL: &str = "\
schema: proofmark/tool@1
toolId: file.read
description: {summary: Return the text of one file.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {path: {type: string}}, required: [path]}}
effects: {reads: ['workspace:**'], writes: []}
";
const RULES: &str = "\
schema: proofmark/rules@1
rules:
  - id: no-secrets
    when: {args: {path: {contains: secret}}}
    decision: deny
    reason: secrets stay closed
    examples:
      - {tool: file.read, args: {path: secret.txt}}
";
const PROMPTS: &str = "\
id,kind,prompt,tools,args,tags,because
g-1,golden,Show a.txt,file.read,\"{\"\"path\"\":\"\"a.txt\"\"}\",,
n-1,no_tool,Hello,,,,
";
const CASE: &str = "\
schema: proofmark/case@1
id: reads
prompt: Read it
script: script.txt
expect:
  calls: [{tool: file.read, args: {path: a.txt}, outcome: succeeded}]
";
const SCRIPT: &str = "\
schema: proofmark/script@1
steps:
  - reply: {calls: [{name: file.read, arguments: {path: a.txt}}]}
  - reply: {text: Done.}
";

const FILES: [(&str, &str); 7] = [
    ("suite.yaml", SUITE),
    ("tools/file.read.yaml", TOOL),
    ("rules.yaml", RULES),
    ("prompts.csv", PROMPTS),
    ("look-alikes.csv", "a,b,why\nfile.read,file.read,the same\n"),
    ("cases/reads.yaml", CASE),
    ("cases/script.txt", SCRIPT),
];

/// A suite in which some files are replaced, or added.
fn suite(changes: &[(&str, &[u8])]) -> (TempDir, Result<Suite, Vec<Problem>>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    FILES.iter().for_each(|(name, text)| write(name, text.as_bytes()));
    changes.iter().for_each(|(name, bytes)| write(name, bytes));
    let loaded = load(folder.path(), &Listed::new());
    (folder, loaded)
}

fn lines(folder: &Path, problems: &[Problem]) -> Vec<String> {
    let prefix = format!("{}/", folder.display());
    problems.iter().map(|problem| problem.to_string().replace(&prefix, "")).collect()
}

/// What was changed in the small suite, and all problems that were found: a table that is
/// reviewed as text.
#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    /// Replaces `old` by `new` in one file.
    fn replace(&mut self, file: &str, old: &str, new: &str) {
        let (_, text) = FILES.iter().find(|(name, _)| *name == file).unwrap();
        assert!(text.contains(old), "{file} has no {old:?}");
        let change = format!("{old:?} -> {new:?}");
        self.row(file, text.replacen(old, new, 1).as_bytes(), &change);
    }

    /// Puts these bytes in the place of one file, or adds it.
    fn file(&mut self, file: &str, bytes: &[u8]) {
        self.row(file, bytes, &format!("= \"{}\"", bytes.escape_ascii()));
    }

    fn row(&mut self, file: &str, bytes: &[u8], change: &str) {
        let (folder, loaded) = suite(&[(file, bytes)]);
        let problems = loaded.map(|_| ()).expect_err(change);
        self.push(&format!("{file}: {change}"), &lines(folder.path(), &problems));
    }

    fn push(&mut self, change: &str, problems: &[String]) {
        assert!(!problems.is_empty(), "{change}");
        self.text += change;
        problems.iter().for_each(|problem| self.text += &format!("\n    {problem}"));
        self.text += "\n";
    }

    fn compare(self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("bad_{name}"), self.text));
    }
}

fn fine(file: &str, old: &str, new: &str) {
    let (_, text) = FILES.iter().find(|(name, _)| *name == file).unwrap();
    assert!(text.contains(old), "{file} has no {old:?}");
    let (_folder, loaded) = suite(&[(file, text.replace(old, new).as_bytes())]);
    assert!(loaded.is_ok(), "{loaded:?}");
}

#[test]
fn the_small_suite_itself_is_right() {
    let (_folder, loaded) = suite(&[]);
    let suite = loaded.unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!((suite.cases.len(), suite.registry.len(), suite.rules.len()), (3, 1, 1));
}

#[test]
fn manifests() {
    let mut table = Table::default();
    let file = "tools/file.read.yaml";
    table.replace(file, "toolId: file.read", "toolId: file read");
    table.replace(file, "description:", "descripton:");
    table.replace(file, "[read]", "[raed]");
    table.replace(file, "proofmark/tool@1", "proofmark/tool@2");
    table.replace(file, "schema: proofmark/tool@1\n", "");
    table.replace(file, "writes: []", "writes: ['workspace']");
    table.replace(file, "effects:", "effects: [");
    table.replace(file, "toolId:", "toolId: a\ntoolId:");
    table.replace(file, "{type: string}", "{type: strin}");
    table.replace(file, "effects:", "execution: {adapter: 'builtin:file.raed'}\neffects:");
    table.file(file, b"");
    table.file(file, b"- a\n");
    table.file(file, b"toolId: \xff\n");
    table.file("tools/second.yaml", TOOL.as_bytes());
    table.compare("manifests");
}

#[test]
fn suites() {
    let mut table = Table::default();
    let file = "suite.yaml";
    table.replace(file, "rules: rules.yaml", "ruls: rules.yaml");
    table.replace(file, "rules: rules.yaml", "rules: rule.yaml");
    table.replace(file, "prompts: prompts.csv", "prompts: prompt.csv");
    table.replace(file, "look_alikes: look-alikes.csv", "look_alikes: alikes.csv");
    table.replace(file, "tools: [tools/]", "tools: []");
    table.replace(file, "tools: [tools/]", "tools: [tols/]");
    table.replace(file, "tools: [tools/]", "tools: [tools/, {snapshot: a.json}]");
    table.replace(file, "cases: [cases/]", "cases: [case/]");
    table.replace(file, "cases: [cases/]", "cases: [cases/]\nproviders: [choser]");
    table.replace(file, "cases: [cases/]", "cases: [cases/]\ntrials: 0");
    table.replace(file, "cases: [cases/]", "cases: [cases/]\nexcluded_tools: [file.raed]");
    table.replace(file, "cases: [cases/]", "cases: [cases/]\nexercises: [no-secret]");
    table.replace(file, "unsafe.executed", "unsafe.exekuted");
    table.replace(file, ", at_most: 0", "");
    table.replace(file, ", at_most: 0", ", at_most: much, per: tools");
    table.replace(file, "name: small", "name: [small");
    table.file(file, b"\xfe\xff");
    table.file(file, b"");
    table.compare("suites");
}

#[test]
fn rules() {
    let mut table = Table::default();
    let file = "rules.yaml";
    table.replace(file, "decision: deny", "decision: denie");
    table.replace(file, "tool: file.read", "tool: file.raed");
    table.replace(file, "path: secret.txt", "path: plain.txt");
    table.replace(file, "{contains: secret}", "{contain: secret}");
    table.replace(file, "{args: {path: {contains: secret}}}", "{tools: ['[']}");
    table.replace(file, "    examples:\n      - {tool: file.read, args: {path: secret.txt}}\n", "");
    table.replace(
        file,
        "    examples:",
        "    counterexamples: [{tool: file.read, args: {path: a secret}}]\n    examples:",
    );
    let twice = RULES.to_owned() + RULES.split_once("rules:\n").unwrap().1;
    table.file(file, twice.as_bytes());
    table.file(file, b"rules: \xc3\x28\n");
    table.compare("rules");
}

#[test]
fn prompts_in_csv() {
    let mut table = Table::default();
    let file = "prompts.csv";
    table.replace(file, "id,kind", "id,kin");
    table.replace(file, "n-1,no_tool,Hello,,,,", "n-1,no_tool,Hello");
    table.replace(file, "n-1,no_tool,Hello,,,,", "n-1,no_tool,Hello, there,,,,");
    table.replace(file, "golden", "golde");
    table.replace(file, ",file.read,", ",file.raed,");
    table.replace(file, ",file.read,", ",,");
    table.replace(file, ",file.read,", ",file.read|,");
    table.replace(file, "\"{\"\"path\"\":\"\"a.txt\"\"}\"", "\"{\"\"path\"\":}\"");
    table.replace(file, "\"{\"\"path\"\":\"\"a.txt\"\"}\"", "[]");
    table.replace(file, "\"\"a.txt\"\"", "{\"\"equal\"\":1}");
    table.replace(file, "\"\"a.txt\"\"", "{\"\"near\"\":1}");
    table.replace(file, "\"\"path\"\"", "\"\"pth\"\"");
    table.replace(file, "n-1", "g-1");
    table.replace(file, "n-1", "n 1");
    table.replace(file, "Hello", " ");
    table.replace(file, "Hello,,", "Hello,file.read,");
    table.replace(file, "n-1,no_tool,Hello,,,,", "\"n-1,no_tool,Hello,,,,");
    table.file(file, b"id,kind,prompt,tools,args,tags,because\nn,no_tool,caf\xe9,,,,\n");
    table.file(file, b"");
    let bom = format!("\u{feff}{PROMPTS}");
    fine(file, PROMPTS, &bom);
    fine(file, "\n", "\r\n");
    table.file("look-alikes.csv", b"a,b,why\nfile.read,file.raed,x\n");
    table.file("look-alikes.csv", b"a,b,why\nfile.read\n");
    table.file("look-alikes.csv", b"a,b,why\n\xff,b,c\n");
    table.compare("prompts");
}

#[test]
fn cases_and_scripts() {
    let mut table = Table::default();
    let file = "cases/reads.yaml";
    table.replace(file, "prompt: Read it", "promt: Read it");
    table.replace(file, "prompt: Read it\n", "");
    table.replace(file, "id: reads", "id: g-1");
    table.replace(file, "id: reads", "id: ''");
    table.replace(file, "script.txt", "scrip.txt");
    table.replace(file, "path: a.txt", "pat: a.txt");
    table.replace(file, "path: a.txt", "path: {regex: '('}");
    table.replace(file, "succeeded", "succeded");
    table.replace(file, "expect:", "provider: choser\nexpect:");
    table.replace(file, "expect:", "excluded_tools: [file.raed]\nexpect:");
    table.replace(file, "expect:", "expect:\n  none: golden");
    table.replace(file, "expect:", "expect:\n  any_of: [[]]");
    table.replace(file, "expect:", "expect:\n  mode: exact");
    table.replace(file, "{tool: file.read", "{tool: file.raed");
    table.file(file, b"schema: proofmark/cases@1\ncases:\n  - {id: a}\n  - {id: b, promt: x}\n");
    table.replace(
        file,
        "expect:",
        "expect:\n  never: {executed: [file.raed, destructive, file_read]}",
    );
    table.replace(file, "expect:", "expect:\n  approval: {must: [writing]}");
    table.replace(
        file,
        "{tool: file.read, args: {path: a.txt}, outcome: succeeded}",
        "{tool: zzz}",
    );
    fine(
        file,
        "{tool: file.read, args: {path: a.txt}, outcome: succeeded}",
        "{tool: zzz, outcome: unavailable}",
    );
    fine(file, "{tool: file.read", "{tool: file_read");
    table.file(file, b"\x80");
    let script = "cases/script.txt";
    table.replace(script, "reply: {text: Done.}", "reply: {txt: Done.}");
    table.replace(script, "reply: {text: Done.}", "expect_request: {contains: [a]}");
    table.replace(script, "reply: {text: Done.}", "fault: {blame: harness, message: x}");
    table.replace(
        script,
        "arguments: {path: a.txt}",
        "arguments: {path: a.txt}, raw_arguments: '{'",
    );
    table.replace(script, "steps:", "steps: 3");
    table.file(script, b"schema: proofmark/script@1\nsteps: [\xff]\n");
    table.compare("cases");
}

#[test]
fn all_problems_of_all_files_come_together() {
    let changes: [(&str, &[u8]); 4] = [
        ("prompts.csv", b"id,kind,prompt,tools,args,tags,because\nx,gold,,,,,\n"),
        ("rules.yaml", b"schema: proofmark/rules@1\nrules: 1\n"),
        ("cases/script.txt", b"steps: []\n"),
        ("look-alikes.csv", b"a,b,why\nnope,nope,x\n"),
    ];
    let (folder, loaded) = suite(&changes);
    let found = lines(folder.path(), &loaded.unwrap_err());
    let files: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert!(files.is_sorted(), "{found:#?}");
    for file in ["cases/script.txt", "look-alikes.csv", "prompts.csv", "rules.yaml"] {
        assert!(files.contains(&file), "{found:#?}");
    }
}

#[test]
fn journals() {
    let mut table = Table::default();
    for line in [
        "[]",
        "{\"type\":\"ToolCallStarted\"",
        "{\"type\":3}",
        "{\"type\":\"Nonsense\"}",
        "{\"type\":\"ToolCallStarted\",\"attempt\":\"x\"}",
        "{\"type\":\"ToolCallStarted\",\"atempt\":1}",
        "{\"v\":7,\"type\":\"ToolCallStarted\"}",
        "{\"seq\":1.5,\"type\":\"ToolCallStarted\"}",
        "{\"call\":1,\"type\":\"ToolCallStarted\"}",
        "\u{0}",
    ] {
        let text = format!("\n{line}\n{{\"type\":\"ToolCallStarted\",\"call\":\"c\"}}\n");
        let (entries, problems) = format::read("j.jsonl", &text);
        let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
        table.push(&line.escape_debug().to_string(), &found);
        assert_eq!(entries.len(), 1, "the lines after it are still read: {line}");
    }
    table.compare("journals");
}

#[test]
fn depth_and_aliases_are_bounded() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let alias = format!("*a{}, ", level - 1).repeat(8);
        bomb += &format!("a{level}: &a{level} [{alias}]\n");
    }
    for text in [deep("[", "]"), deep("{a: ", "}"), deep("- ", ""), deep("[", ""), bomb] {
        for (file, _) in FILES.iter().filter(|(name, _)| !name.ends_with(".csv")) {
            let (_folder, loaded) = suite(&[(file, text.as_bytes())]);
            let problems = loaded.expect_err(file);
            assert!(problems.iter().all(|problem| problem.message.len() < 500), "{file}");
            assert!(problems[0].file.ends_with(file), "{problems:?}");
        }
    }
    let json = format!("{{\"type\":\"ToolCallRequested\",\"args\":{}}}", deep("[", "]"));
    let (entries, problems) = format::read("j", &json);
    assert_eq!((entries.len(), problems.len()), (0, 1));
    let row =
        format!("id,kind,prompt,tools,args,tags,because\nx,golden,y,z,\"{}\",,\n", deep("[", "]"));
    assert!(prompts::parse("p", &row, "s", &Registry::default()).is_err());
}

/// Bytes that resemble a file: parts of it, cut, repeated and with noise between.
fn mangled(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let cut = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let noise = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6),
        "[\\[\\]{}:,'\"|>&*!%@#\n\t -]{0,6}".prop_map(String::into_bytes),
        Just("\u{feff}é\u{0}".to_owned().into_bytes()),
    ];
    prop::collection::vec((cut, noise), 0..5).prop_map(move |parts| {
        let mut out = Vec::new();
        for ((from, to), noise) in parts {
            let (from, to) = (from.index(text.len() + 1), to.index(text.len() + 1));
            out.extend_from_slice(&text.as_bytes()[from.min(to)..from.max(to)]);
            out.extend(noise);
        }
        out
    })
}

fn any_bytes(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => mangled(text), 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

fn few() -> ProptestConfig {
    ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn no_bytes_in_any_file_make_loading_panic(
        (file, bytes) in (0..FILES.len())
            .prop_flat_map(|at| (Just(FILES[at].0), any_bytes(FILES[at].1))),
    ) {
        let (folder, loaded) = suite(&[(file, &bytes)]);
        if let Err(problems) = loaded {
            prop_assert!(!problems.is_empty());
            for line in lines(folder.path(), &problems) {
                let named = FILES.iter().any(|(name, _)| line.starts_with(name));
                prop_assert!(named, "{}", line);
            }
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(
        journal in any_bytes(include_str!("../../golden/journals/seed-b.jsonl")),
        rows in any_bytes(PROMPTS),
    ) {
        let (journal, rows) = (String::from_utf8_lossy(&journal), String::from_utf8_lossy(&rows));
        let (entries, problems) = format::read("j", &journal);
        let lines = journal.lines().filter(|line| !line.trim().is_empty()).count();
        prop_assert!(entries.len() <= lines && (lines == 0 || entries.len() + problems.len() > 0));
        let _rows = baseline::read("b", &rows);
        let parsed = prompts::parse("p", &rows, "s", &Registry::default());
        prop_assert!(parsed.map_or_else(|problems| !problems.is_empty(), |_| true));
    }
}
