//! What policy decides: one row of `tests/data/policy-matrix.csv` per question.

use std::path::Path;
use std::sync::Arc;

use proofmark::runtime::catalog::Registry;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::guard::Hooks;
use proofmark::runtime::policy::{Principal, Rules, decide, may_expose};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::view::Environment;
use proofmark::runtime::view::compile::MAY_EXPOSE;
use proofmark::tool::id::ToolId;
use proofmark::tool::intent::Intent;
use serde_json::{Value, json};

use crate::tools::{dev, sections, tool};

/// Rules as `DECISION[@CONDITION=VALUE]`, separated by `;`. Each rule must have an example, so
/// the first call that it matches is taken.
fn rules(text: &str, registry: &Registry, principal: &Principal) -> Rules {
    let mut entries = Vec::new();
    for (index, rule) in text.split(';').filter(|rule| !rule.is_empty()).enumerate() {
        let (decision, when) = rule.split_once('@').unwrap_or((rule, ""));
        let when = match when.split_once('=') {
            None => json!({}),
            Some((condition, value)) => match condition.strip_prefix("arg.") {
                Some(name) => json!({"args": {name: value}}),
                None => json!({condition: [value]}),
            },
        };
        let entry = |example: Value| {
            json!({"id": format!("r{}", index + 1), "decision": decision, "when": when,
                "reason": "said so", "examples": [example]})
        };
        let paths = ["plain", "secret"].map(|path| json!({"path": path}));
        let people = [
            json!({}),
            json!({"principal": "eve"}),
            json!({"tenant": "acme"}),
            json!({"scopes": ["s1", "s9"]}),
        ];
        let examples = registry.iter().flat_map(|tool| {
            let id = tool.id().to_string();
            let people = &people;
            paths.iter().flat_map(move |args| {
                let id = id.clone();
                people.iter().map(move |who| {
                    let mut example = who.clone();
                    (example["tool"], example["args"]) = (json!(id), args.clone());
                    example
                })
            })
        });
        let works = |entry: &Value| parse(std::slice::from_ref(entry), registry, principal).is_ok();
        entries.push(examples.map(entry).find(works).unwrap_or_else(|| panic!("{rule}")));
    }
    parse(&entries, registry, principal).unwrap_or_else(|why| panic!("{why}"))
}

fn parse(entries: &[Value], registry: &Registry, principal: &Principal) -> Result<Rules, String> {
    let text = json!({"schema": "proofmark/rules@1", "rules": entries}).to_string();
    Rules::parse("rules", &text, registry, principal).map_err(|found| format!("{found:?}"))
}

#[test]
fn every_row_of_the_matrix() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/policy-matrix.csv");
    let mut reader = csv::Reader::from_path(path).unwrap();
    let (mut rows, mut wrong) = (0, Vec::new());
    for record in reader.records() {
        let record = record.unwrap();
        let [name, words, rule, scopes, args, decision, expose, why] =
            <[&str; 8]>::try_from(record.iter().collect::<Vec<_>>()).unwrap();
        let (level, more) = words.split_once(' ').unwrap_or((words, ""));
        let mut all = vec![tool("t.x", level, &sections(more))];
        all.extend(["L0", "L1", "L2", "L3", "L4", "L5"].map(|l| tool(&format!("k.{l}"), l, "")));
        let deploy = "intent: {actionTypes: [deploy]}\n";
        all.push(tool("k.deploy", "L5", deploy));
        let registry = Registry::new(all).unwrap();
        let principal = dev(scopes);
        let rules = rules(rule, &registry, &principal);
        let tool = registry.get(&ToolId::parse("t.x").unwrap()).unwrap();
        let args: Value =
            if args.is_empty() { json!({}) } else { serde_json::from_str(args).unwrap() };
        let decided = decide(tool, &args, &principal, &rules);
        let shown = may_expose(tool, &principal, &rules);
        let found = (decided.decision.name(), shown.decision.name(), decided.reason());
        if found != (decision, expose, why.to_owned()) {
            wrong.push(format!("{name}: {found:?}, not {:?}", (decision, expose, why)));
        }
        let named = decided.reasons.iter().filter(|reason| reason.starts_with("rule ")).count();
        assert_eq!(decided.rules.len(), named, "{name}");
        rows += 1;
    }
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 150, "{rows} rows");
}

/// Sessions of one suite share compiled views, whoever acts in them.
#[test]
fn a_view_is_shared_by_none_that_policy_tells_apart() {
    let registry = Arc::new(Registry::new(vec![tool("t.x", "L0", "")]).unwrap());
    let people = ["s1 @acme", "s1 @other", "s1", "s2"].map(dev);
    let entry = json!({"id": "acme", "decision": "deny", "when": {"tenants": ["acme"]},
        "reason": "said so", "examples": [{"tool": "t.x", "tenant": "acme"}]});
    let scoped = json!({"id": "scoped", "decision": "deny", "when": {"scopes": ["s2"]},
        "reason": "said so", "examples": [{"tool": "t.x", "scopes": ["s2"]}]});
    let rules = Arc::new(parse(&[entry, scoped], &registry, &people[2]).unwrap());
    let views = Arc::default();
    let shown = people.map(|principal| {
        let resolved = Resolved {
            hooks: Hooks::default(),
            registry: Arc::clone(&registry),
            principal,
            rules: Arc::clone(&rules),
            environment: Environment { evaluation: true, max_tools: 9, ..Environment::default() },
            excluded: Default::default(),
            availability: Arc::default(),
            knobs: Knobs::default(),
            intent: ("rules".to_owned(), Intent::default()),
            broker: Broker::default(),
            receipt_key: None,
            views: Arc::clone(&views),
        };
        let new = (Default::default(), Default::default(), Default::default());
        let view = resolved.view((&new.0, &new.1, &new.2), "", MAY_EXPOSE);
        view.view.exposed.len()
    });
    assert_eq!(shown, [0, 1, 1, 0]);
}
