//! What is shown where: rules of the lifecycle and the tests that show them, fields of seed B and
//! the places where they live. Both tables stand in `golden/` and are kept true here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proofmark::eval::load::{Listed, load};

/// The parts of the lifecycle, in its order.
const SECTIONS: [&str; 41] = [
    "step 0: intent",
    "step 1: view",
    "step 2: request",
    "step 3: reply",
    "step 4: slots",
    "step 5: preparation",
    "order",
    "step 6: plan",
    "step 7: execution",
    "step 8: settling",
    "step 9: transcript",
    "step 10: control",
    "outcomes",
    "hooks",
    "approval markers",
    "policy",
    "approval",
    "repeated prompts",
    "duplicates",
    "dispatch",
    "cancellation",
    "receipts",
    "results",
    "events",
    "text protocol",
    "availability",
    "MCP",
    "skills",
    "subagents",
    "loop control",
    "registration",
    "CLI sandbox",
    "credentials",
    "HTTP tools",
    "state and context",
    "projection",
    "observed effects",
    "surfaces",
    "undo",
    "resume",
    "proposers",
];

/// What an open row may wait for: later themes, then what is in work.
const DUE: [&str; 9] =
    ["governance", "judging", "models", "delegate", "resume", "state", "suite", "surface", "undo"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// The rows of a table with four columns.
fn table(name: &str, header: [&str; 4]) -> Vec<[String; 4]> {
    let mut reader = csv::Reader::from_path(root().join("golden").join(name)).unwrap();
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), header);
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        <[String; 4]>::try_from(cells).unwrap()
    };
    reader.records().map(row).collect()
}

/// Where the function of a path of modules may stand: `a::b::tests` is in `a/b.rs` or beside it.
fn files(folder: &str, modules: &[&str]) -> Vec<String> {
    let modules = modules.strip_suffix(&["tests"]).unwrap_or(modules);
    let path = format!("{folder}/{}", modules.join("/"));
    [".rs", "_tests.rs", "/mod.rs"].map(|end| format!("{path}{end}")).into()
}

fn is_function(folder: &str, path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let Some((name, modules)) = parts.split_last() else { return false };
    let holds = |file: String| {
        let text = read(file).unwrap_or_default();
        text.contains(&format!(" fn {name}(")) || text.contains(&format!("\nfn {name}("))
    };
    files(folder, modules).into_iter().any(holds)
}

/// What a row may point to.
struct Known {
    cases: BTreeSet<String>,
    faults: BTreeSet<&'static str>,
}

impl Known {
    fn new() -> Self {
        let suite = load(&root().join("suites/lifecycle"), &Listed::new()).unwrap();
        let cases = suite.cases.iter().map(|case| case.id.to_string()).collect();
        Self { cases, faults: crate::faults::ids() }
    }

    fn exists(&self, reference: &str) -> bool {
        let (kind, name) = reference.split_once(':').unwrap_or_default();
        match (kind, name.strip_prefix(':')) {
            ("it", Some(path)) => is_function("tests/it", path),
            ("lib", Some(path)) => is_function("src", path),
            ("tidy", Some(name)) => {
                read("tests/tidy.rs").is_some_and(|text| text.contains(&format!("fn {name}(")))
            }
            ("law", None) => proofmark::law::find(name).is_some(),
            ("case", None) => self.cases.contains(name),
            ("fault", None) => self.faults.contains(name),
            _ => false,
        }
    }
}

#[test]
fn every_rule_is_shown_or_waits() {
    let rows = table("lifecycle-coverage.csv", ["section", "rule", "test", "due"]);
    let known = Known::new();
    let (mut seen, mut open) = (BTreeSet::new(), BTreeMap::new());
    let mut wrong = Vec::new();
    for [section, rule, test, due] in &rows {
        if !seen.insert((section, rule)) {
            wrong.push(format!("{section}: {rule}: it stands twice"));
        }
        match (test.as_str(), due.as_str()) {
            ("", "") => wrong.push(format!("{section}: {rule}: nothing shows it")),
            ("", theme) if !DUE.contains(&theme) => {
                wrong.push(format!("{section}: {rule}: nobody knows when `{theme}` is"));
            }
            ("", theme) => *open.entry(theme).or_insert(0) += 1,
            (_, "") => {
                let lost = test.split(' ').filter(|one| !known.exists(one));
                wrong.extend(lost.map(|one| format!("{section}: {rule}: there is no {one}")));
            }
            _ => wrong.push(format!("{section}: {rule}: it is shown and waits")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut sections: Vec<&str> = rows.iter().map(|[section, ..]| section.as_str()).collect();
    sections.dedup();
    assert_eq!(sections, SECTIONS, "each part once, in the order of the lifecycle");
    println!("{} rules, open: {open:?}", rows.len());
    assert!(rows.len() >= 150);
}

#[test]
fn what_is_not_there_is_noticed() {
    let known = Known::new();
    for reference in [
        "",
        "it",
        "it::coverage::no_such_test",
        "it::nowhere::every_rule_is_shown_or_waits",
        "lib::base::bounded::tests::no_such_test",
        "tidy::no_such_test",
        "law:no-such-law",
        "case:no-such-case",
        "fault:B000",
        "story:x",
    ] {
        assert!(!known.exists(reference), "{reference}");
    }
    assert!(known.exists("it::coverage::what_is_not_there_is_noticed"));
}

/// The text between the braces of a struct, an enum or a macro's declaration of one.
fn body<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let head = format!("{name} {{");
    let starts = text.match_indices(&head).map(|(at, _)| at);
    let mut declared = starts.filter(|at| {
        let before = text[..*at].rsplit('\n').next().unwrap_or_default().trim();
        ["", "pub struct", "pub enum"].contains(&before)
    });
    let open = declared.next()? + name.len() + 1;
    let mut depth = 0;
    for (at, byte) in text[open..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[open..open + at]);
        }
    }
    None
}

fn is_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c: char| !part(c)).any(|found| found == word)
}

/// Whether `module::path::Type.field` is there.
fn is_home(home: &str) -> bool {
    let Some((path, field)) = home.rsplit_once('.') else { return false };
    let parts: Vec<&str> = path.split("::").collect();
    let Some((name, modules)) = parts.split_last() else { return false };
    let texts = files("src", modules).into_iter().filter_map(read);
    let mut bodies = texts.filter_map(|text| body(&text, name).map(str::to_owned));
    bodies.any(|body| is_word(&body, field.trim_start_matches("r#")))
}

/// Whether a reader reads the home's field: `record` is whoever reads the journal, else it is a
/// file of ours, with the word by which it reads where that is another.
fn is_reader(reader: &str, home: &str) -> bool {
    let field = home.rsplit('.').next().unwrap_or_default();
    let (file, word) = reader.split_once(':').unwrap_or((reader, field));
    file == "record" || read(format!("src/{file}")).is_some_and(|text| is_word(&text, word))
}

#[test]
fn every_field_of_seed_b_has_a_home() {
    let rows = table("seed-b-fields.csv", ["section", "field", "home", "reader"]);
    let (mut seen, mut open, mut wrong) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for [section, field, home, reader] in &rows {
        if !seen.insert((section, field)) {
            wrong.push(format!("{section} {field}: it stands twice"));
        }
        let due = |cell: &str| cell.strip_prefix("due:").map(|theme| DUE.contains(&theme));
        match (due(home), due(reader)) {
            (Some(true), Some(true)) => *open.entry("homes").or_insert(0) += 1,
            (None, Some(true)) if is_home(home) => *open.entry("readers").or_insert(0) += 1,
            (None, None) if is_home(home) && is_reader(reader, home) => {}
            (None, None) if is_home(home) => {
                wrong.push(format!("{section} {field}: {reader} does not read {home}"));
            }
            (None, _) => wrong.push(format!("{section} {field}: there is no {home}")),
            _ => wrong.push(format!("{section} {field}: nobody knows what it waits for")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    println!("{} fields, open: {open:?}", rows.len());
    let sections: BTreeSet<&str> = rows.iter().map(|[section, ..]| section.as_str()).collect();
    assert_eq!(sections.len(), 8);
    assert!(!is_home("tool::descriptor::Descriptor.nothing") && !is_home("a::B.c"));
    assert!(!is_reader("law/check.rs", "tool::descriptor::Descriptor.tool_id"));
}
