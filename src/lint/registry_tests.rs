//! Every rule flags its bad examples and none of its good ones; a rule flags no other's example of
//! its own level.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::lint::check::{Levels, check};
use crate::lint::rule::{Judge, Level, Scope};
use crate::lint::subject::{Server, Subject};
use crate::tool::manifest;

/// The ordinary tool that examples change.
fn ordinary() -> Value {
    json!({
        "name": "open_ticket",
        "description": "Open a ticket in the tracker and return its number.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "What it is about, in one line."}
            },
            "required": ["title"]
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": false}
    })
}

const READ: &str = "\
schema: proofmark/tool@1
toolId: shelf.read
description: {summary: Return the text of one book of the shelf.}
intent: {actionTypes: [read]}
schemas:
  inputSchema: {type: object, properties: {title: {type: string, description: On its back.}}}
effects: {reads: ['database:books'], writes: []}
";
const RUN: &str = "\
schema: proofmark/tool@1
toolId: shelf.sort
description: {summary: Bring the books of the shelf into order.}
intent: {actionTypes: [execute]}
schemas: {inputSchema: {type: object}}
effects: {reads: [], writes: ['workspace:**'], externalCalls: true}
execution: {adapter: 'builtin:command.run', command: [sort]}
sandbox:
  mode: workspace_write
  filesystem: {blockedPaths: [.git]}
  network: {egressPolicy: allowlist, allowDomains: [example.org]}
  limits: {maxMemoryMb: 64, maxOutputBytes: 1000}
";

/// What an example of a descriptor replaces, by how it begins.
const REPLACED: [(&str, &str); 9] = [
    ("[write]", "[read]"),
    ("writes:", "writes: []"),
    ("[example.org]", "[example.org]"),
    ("[.git]", "[.git]"),
    ("blockedPaths:", "blockedPaths: [.git]"),
    ("limits:", "limits: {maxMemoryMb: 64, maxOutputBytes: 1000}"),
    ("mode:", "mode: workspace_write"),
    ("simulated", "'builtin:command.run', command: [sort]}\nsandbox:\n  mode: workspace_write"),
    ("[]", "[example.org]"),
];

fn contract(example: &str) -> Server {
    let (mut text, changes) = match example.strip_prefix("run:") {
        Some(changes) => (RUN.to_owned(), changes),
        None => (READ.to_owned(), example),
    };
    for change in changes.split('|') {
        let from = REPLACED.iter().find(|(start, _)| change.starts_with(start));
        let from = from.unwrap_or_else(|| panic!("{change}")).1;
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, change, 1);
    }
    let descriptor = manifest::parse("t.yaml", &text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    Server { name: "here".to_owned(), tools: vec![Subject::of_descriptor(&descriptor)] }
}

/// Examples that are too long to write down.
fn made(example: &str) -> Option<Server> {
    let (kind, count) = example.strip_prefix('+')?.split_once(':')?;
    let count: usize = count.parse().unwrap();
    let mut tool = ordinary();
    let many = match kind {
        "description" => {
            let words = (0..).map(|n| format!("word{n} ")).scan(0, |length, word| {
                *length += word.len();
                (*length < count).then_some(word)
            });
            tool["description"] = words.collect::<String>().trim_end().into();
            1
        }
        "enum" | "servers" => {
            let values: Vec<String> = (0..count / 12).map(|n| format!("value{n:05}")).collect();
            tool["inputSchema"]["properties"]["title"]["enum"] = json!(values);
            1
        }
        _ => count,
    };
    let tools = (0..many).map(|n| {
        let mut tool = tool.clone();
        if many > 1 {
            tool["name"] = format!("tool{n}x").into();
            tool["description"] =
                format!("Opens door{n} with key{n} of house{n} in street{n}.").into();
        }
        Subject::of_element(&tool)
    });
    Some(Server { name: "here".to_owned(), tools: tools.collect() })
}

fn servers(example: &str, own: bool) -> Vec<Server> {
    if let Some(server) = made(example) {
        return vec![server];
    }
    if own {
        return vec![contract(example)];
    }
    let change: Value = serde_json::from_str(example).unwrap_or_else(|e| panic!("{example}: {e}"));
    let tool = |change: &Value| {
        let mut tool = ordinary();
        for (key, value) in change.as_object().unwrap() {
            tool[key] = value.clone();
        }
        Subject::of_element(&tool)
    };
    let server = |(number, changes): (usize, &Value)| {
        let tools = match changes {
            Value::Array(changes) => changes.iter().map(tool).collect(),
            change => vec![tool(change)],
        };
        Server { name: format!("here{number}"), tools }
    };
    match &change {
        Value::Array(many) if many.iter().all(Value::is_array) => {
            many.iter().enumerate().map(server).collect()
        }
        one => vec![server((0, one))],
    }
}

/// The rules of the level that find something when all rules of that level are on.
fn found(example: &str, rule: &Rule) -> BTreeSet<&'static str> {
    let own = authority::RULES.iter().any(|one| one.name == rule.name);
    let mut levels = Levels::default();
    rule.profiles.iter().for_each(|profile| levels.profile(*profile));
    if rule.level == Level::Off {
        levels.set(rule.name, Level::Error).unwrap();
    }
    let level = levels.of(rule);
    let findings = check(&servers(example, own), &levels);
    findings.iter().filter(|one| levels.of(one.rule) == level).map(|one| one.rule.name).collect()
}

#[test]
fn each_rule_flags_its_bad_examples_and_no_good_one() {
    let mut wrong = Vec::new();
    for rule in rules().filter(|rule| !matches!(rule.judge, Judge::Elsewhere(_))) {
        assert!(!rule.good.is_empty() && !rule.bad.is_empty(), "{}: no examples", rule.name);
        for example in rule.bad {
            let found = found(example, rule);
            if found != BTreeSet::from([rule.name]) {
                wrong.push(format!("{}: {found:?} in {example}", rule.name));
            }
        }
        for example in rule.good {
            let found = found(example, rule);
            if !found.is_empty() {
                wrong.push(format!("{}: {found:?} in the good {example}", rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_have_names_of_their_own_and_say_why() {
    let mut names = BTreeSet::new();
    for rule in rules() {
        assert!(names.insert(rule.name), "{} twice", rule.name);
        let kebab = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(rule.name.chars().all(kebab), "{}", rule.name);
        assert!(rule.reason.ends_with('.') && !rule.reason.contains("  "), "{}", rule.name);
        assert!(!rule.fix.is_empty() && !rule.fix.ends_with('.'), "{}", rule.name);
    }
}

#[test]
fn the_ordinary_tool_is_clean_at_every_level() {
    let mut levels = Levels::default();
    for rule in rules().filter(|rule| rule.profiles.is_empty()) {
        levels.set(rule.name, Level::Error).unwrap();
    }
    let found = check(&servers("{}", false), &levels);
    assert_eq!(found, []);
    let scopes: Vec<Scope> = rules().map(Rule::scope).collect();
    assert!([Scope::Tool, Scope::Server, Scope::Several].iter().all(|one| scopes.contains(one)));
}
