//! Rules of the house, as ordinary tests: layers, sizes, banned calls, and pictures that must
//! stay true.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test looks at the tree it tests"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES: usize = 500;
const LINE_COLUMNS: usize = 100;

/// What each layer may import, besides itself.
const LAYERS: [(&str, &[&str]); 12] = [
    ("base", &[]),
    ("tool", &["base"]),
    ("journal", &["base", "tool"]),
    ("lint", &["base", "tool"]),
    ("runtime", &["base", "tool", "journal", "lint"]),
    ("law", &["base", "tool", "journal"]),
    ("sim", &["base", "tool", "journal", "runtime", "law"]),
    ("manager", &["base", "tool", "journal", "runtime", "law"]),
    ("eval", &["base", "tool", "journal", "lint", "runtime", "law"]),
    ("replicate", &["base"]),
    ("report", &["base", "tool", "journal", "lint", "law", "eval"]),
    (
        "cli",
        &[
            "base",
            "tool",
            "journal",
            "lint",
            "runtime",
            "law",
            "sim",
            "eval",
            "replicate",
            "report",
        ],
    ),
];

/// Folders of the runtime in the order of a call's flow; each may import only those before it.
const RUNTIME: [&str; 21] = [
    "error",
    "credential",
    "sandbox",
    "mcp",
    "catalog",
    "policy",
    "view",
    "dialect",
    "provider",
    "guard",
    "exec",
    "evidence",
    "surface",
    "resolved",
    "state",
    "context",
    "turn",
    "resume",
    "undo",
    "session",
    "home",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(below: &str) -> Vec<(PathBuf, String)> {
    let (mut open, mut found) = (vec![root().join(below)], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_path_buf(), text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing below {below}");
    found
}

/// The product part of a file: without its test module at the end. A `#[cfg(test)]` on anything
/// else hides nothing.
fn product(text: &str) -> &str {
    let ends = ["#[cfg(test)]\nmod ", "#[cfg(test)]\n#[path"];
    let last = ends.iter().filter_map(|end| text.rfind(end)).max();
    match last {
        // Only declarations of test modules may follow.
        Some(at) if is_tests(&text[at..]) => &text[..at],
        _ => text,
    }
}

/// Whether a text is nothing but test modules: in place, or by name.
fn is_tests(text: &str) -> bool {
    let rest = text.trim_start_matches("#[cfg(test)]").trim_start();
    let in_place = rest.starts_with("mod tests {") || rest.starts_with("mod properties {");
    let named = rest.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with("#[") || line.starts_with("mod ")
    });
    in_place || named
}

fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.ends_with("_tests.rs") || name == "test_server.rs"
}

fn layer(path: &Path) -> Option<String> {
    let mut parts = path.strip_prefix("src").ok()?.components();
    let first = parts.next()?.as_os_str().to_string_lossy().into_owned();
    LAYERS.iter().any(|(name, _)| *name == first).then_some(first)
}

#[test]
fn imports_go_one_way() {
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src") {
        let Some(own) = layer(&path) else { continue };
        let allowed = LAYERS.iter().find(|(name, _)| *name == own).unwrap().1;
        for (index, line) in product(&text).lines().enumerate() {
            for (at, _) in line.match_indices("crate::") {
                let rest = &line[at + "crate::".len()..];
                let named: String =
                    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let known = LAYERS.iter().any(|(name, _)| *name == named);
                if known && named != own && !allowed.contains(&named.as_str()) {
                    wrong.push(format!("{}:{}: {own} imports {named}", path.display(), index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_runtime_flows_one_way() {
    let place = |name: &str| RUNTIME.iter().position(|known| *known == name);
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src/runtime") {
        let rest = path.strip_prefix("src/runtime").unwrap();
        let first = rest.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let Some(own) = place(first.trim_end_matches(".rs")) else { continue };
        for (index, line) in product(&text).lines().enumerate() {
            let Some(at) = line.find("crate::runtime::") else { continue };
            let named = line[at + "crate::runtime::".len()..]
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .next()
                .unwrap_or_default();
            if place(named).is_some_and(|other| other > own) {
                wrong.push(format!("{}:{}: imports {named}", path.display(), index + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_and_lines_stay_small() {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for (path, text) in rust_files(folder) {
            let lines = product(&text).lines().count();
            if lines > FILE_LINES {
                wrong.push(format!("{}: {lines} lines", path.display()));
            }
            for (index, line) in text.lines().enumerate() {
                let columns = line.chars().count();
                // A long literal cannot be broken; everything else can.
                if columns > LINE_COLUMNS && !line.contains('"') {
                    wrong.push(format!("{}:{}: {columns} columns", path.display(), index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Calls that only the named doors may make, and what to use instead.
const DOORS: [(&str, &[&str], &str); 7] = [
    ("std::process::exit", &[], "return an exit code"),
    ("println!", &[], "write through cli::output"),
    ("std::thread::", &[], "the machine has no threads"),
    ("SystemTime::now", &["src/base/world.rs"], "base::world"),
    ("Instant::now", &["src/base/world.rs"], "base::world"),
    ("env::var(", &["src/base/world.rs"], "base::world::env_var"),
    ("Command::new", &PROCESSES, "exec, sandbox, mcp, credential"),
];

/// What starts a process.
const PROCESSES: [&str; 8] = [
    "src/runtime/credential/source.rs",
    "src/runtime/exec/command/bare.rs",
    "src/runtime/exec/command/contained.rs",
    "src/runtime/mcp/connect.rs",
    "src/runtime/sandbox/container.rs",
    "src/runtime/sandbox/launch.rs",
    "src/runtime/sandbox/child/outer.rs",
    "src/runtime/sandbox/child/inner.rs",
];

#[test]
fn ambient_access_goes_through_doors() {
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src") {
        if is_test_file(&path) {
            continue;
        }
        for (index, line) in product(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (call, doors, instead) in DOORS {
                if code.contains(call) && !doors.iter().any(|door| Path::new(door) == path) {
                    let place = format!("{}:{}", path.display(), index + 1);
                    wrong.push(format!("{place}: {call}; use {instead}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn file_access_stays_at_the_edges() {
    // `group` looks at /proc to see whether a process group is gone; the sandbox makes folders
    // for limits, covers what is blocked, builds a root, writes out the files of a skill and looks
    // for what interprets a script.
    let edges = [
        "src/base/group.rs",
        "src/runtime/exec/seen.rs",
        "src/runtime/exec/workspace.rs",
        "src/runtime/sandbox/blocked.rs",
        "src/runtime/sandbox/cgroup.rs",
        "src/runtime/sandbox/child/inner.rs",
        "src/runtime/sandbox/child/outer.rs",
        "src/runtime/sandbox/child/room.rs",
        "src/runtime/sandbox/needs.rs",
        "src/runtime/sandbox/package.rs",
        "src/runtime/catalog/store.rs",
        "src/runtime/home/artifacts.rs",
        "src/runtime/home/follow.rs",
        "src/runtime/home/mod.rs",
        "src/runtime/home/record.rs",
        "src/eval/read.rs",
        "src/replicate/read.rs",
        "src/eval/scaffold/write.rs",
    ];
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src") {
        let allowed = path.starts_with("src/cli")
            || path.starts_with("src/report")
            || edges.iter().any(|edge| Path::new(edge) == path)
            || is_test_file(&path);
        let uses = product(&text).lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            code.contains("std::fs") || code.contains("fs::read") || code.contains("fs::write")
        });
        if uses && !allowed {
            wrong.push(path.display().to_string());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_leftovers() {
    let marks = ["todo!", "unimplemented!", "#[ignore", "FIXME", "XXX", "dbg!"];
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for (path, text) in rust_files(folder) {
            if path == Path::new("tests/tidy.rs") {
                continue;
            }
            let found = marks.iter().filter(|mark| text.contains(**mark));
            wrong.extend(found.map(|mark| format!("{}: {mark}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_folder_of_the_map_exists_and_none_is_missing() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut real = BTreeSet::new();
    for (path, _) in rust_files("src") {
        let folder = path.parent().unwrap().strip_prefix("src").unwrap();
        if folder.components().count() > 0 {
            real.insert(format!("{}/", folder.display()));
        }
    }
    let missing: Vec<&String> =
        real.iter().filter(|folder| !map.contains(&format!("`{folder}`"))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not name {missing:?}");
    let named: Vec<&str> = map
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.ends_with('/') && LAYERS.iter().any(|(l, _)| word.starts_with(l)))
        .collect();
    let gone: Vec<&&str> = named.iter().filter(|folder| !real.contains(**folder)).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names folders that are not there: {gone:?}");
}

#[test]
fn the_readme_repeats_the_exit_codes() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for line in proofmark::cli::exit::HELP.lines().skip(1) {
        let (code, reason) = line.trim().split_once(' ').unwrap();
        let row = format!("| {code} | {} |", reason.trim());
        assert!(readme.contains(&row), "README lacks `{row}`");
    }
}

#[test]
fn every_event_is_written_and_read_as_documented() {
    let document = fs::read_to_string(root().join("docs/events.md")).unwrap();
    let rows: Vec<Vec<String>> = document
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect())
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(names, proofmark::journal::Event::NAMES, "docs/events.md and the enum differ");
    let count = |folders: &[&str], name: &str, marks: &[&str]| -> usize {
        let files = folders.iter().flat_map(|folder| rust_files(folder));
        files
            .filter(|(path, _)| !is_test_file(path) && !path.ends_with("dsl_words.rs"))
            .map(|(_, text)| {
                let text = product(&text);
                marks
                    .iter()
                    .map(|mark| text.matches(&mark.replace('@', name)).count())
                    .sum::<usize>()
            })
            .sum()
    };
    let mut wrong = Vec::new();
    for row in &rows {
        let name = row[0].trim_matches('`');
        let written = count(&["src/runtime"], name, &["@ {"]) > 0;
        let reads = ["Event::@(", "each::<@>", "first::<@>", "last::<@>", "Seen<'a, @>"];
        let read = count(&["src/law", "src/eval", "src/report"], name, &reads) > 0;
        let word = |yes: bool| if yes { "yes" } else { "" };
        if row[1] != word(written) || row[2] != word(read) {
            wrong.push(format!("| `{name}` | {} | {} |", word(written), word(read)));
        }
    }
    assert!(wrong.is_empty(), "docs/events.md should say:\n{}", wrong.join("\n"));
}

#[test]
fn every_metric_is_defined_in_words() {
    let document = fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let defined: Vec<&str> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| line.split('`').next())
        .collect();
    assert_eq!(defined, proofmark::eval::metric::NAMES);
}

#[test]
fn no_golden_without_its_suite() {
    for entry in fs::read_dir(root().join("golden")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let table = name.ends_with(".csv");
        if table || ["journals", "payloads", "views"].contains(&name.as_str()) {
            continue;
        }
        let suite = root().join("suites").join(&name).join("suite.yaml");
        assert!(suite.is_file(), "golden/{name} belongs to no suite");
    }
}
