//! A command line, taken apart and judged; and the same question to a tool that has none.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::policy::{Principal, Rules, decide};
use proofmark::tool::{manifest, shell};
use serde_json::json;

fn must<T, E: std::fmt::Debug>(found: Result<T, E>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("{error:?}"),
    }
}

const RULES: &str = "schema: proofmark/rules@1\nrules:\n  - {id: look, decision: allow, reason: it \
                     looks, when: {tools: ['t.*'], commands: [git status, git log *, head *, ls \
                     *]}, examples: [{tool: t.line, args: {line: ls}}]}\n  - {id: keep, decision: \
                     deny, reason: it removes, when: {commands: [rm *, git push *]}, examples: \
                     [{tool: t.line, args: {line: rm x}}]}\n";

const LINES: [(&str, &str); 4] = [
    ("one command", "git status"),
    ("four parts", "git log --oneline -n 5 2>/dev/null | head -n 3 && ls src > out.txt"),
    ("nested", "for f in a b; do sh -c 'env ls -l' \"$(nice git log -n 1)\"; done"),
    ("not understood", "if [ -f a; then ls )"),
];

fn bench(c: &mut Criterion) {
    let tool = |name: &str, more: &str| {
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: {name}\ndescription: {{summary: Runs.}}\nintent: \
             {{actionTypes: [execute]}}\nschemas: {{inputSchema: {{type: object, properties: \
             {{line: {{type: string}}}}, required: [line]}}}}\neffects: {{reads: \
             ['workspace:**'], writes: []}}\n{more}"
        );
        must(manifest::parse("tool", &text))
    };
    let tools = vec![tool("t.line", "permissions: {shellLine: line}\n"), tool("t.other", "")];
    let registry = must(Registry::new(tools));
    let principal = Principal::new("dev", Default::default());
    let rules = must(Rules::parse("rules", RULES, &registry, &principal));
    let find = |name: &str| registry.iter().find(|tool| tool.id().as_str() == name);
    for (name, line) in LINES {
        c.bench_function(&format!("take apart: {name}"), |b| {
            b.iter(|| black_box(shell::parse(black_box(line))));
        });
    }
    for (name, tool) in [("a command line", "t.line"), ("no command line", "t.other")] {
        let Some(tool) = find(tool) else { panic!("{tool}") };
        let args = json!({"line": LINES[1].1});
        c.bench_function(&format!("decide: {name}"), |b| {
            b.iter(|| black_box(decide(tool, black_box(&args), &principal, &rules)));
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
