//! One decision under a thousand rules, each about a tool of its own or about some of its calls.
#![allow(missing_docs)]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::policy::{Principal, Rules, decide};
use proofmark::tool::manifest;
use serde_json::json;

const RULES: usize = 1_000;

fn must<T, E: std::fmt::Debug>(found: Result<T, E>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("{error:?}"),
    }
}

/// As many tools as rules; every tenth rule speaks of all of them, if only of one argument.
fn bench(c: &mut Criterion) {
    let tool = |number: usize| {
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: note.read_{number}\ndescription: {{summary: Reads a \
             note.}}\nintent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object}}}}\n\
             effects: {{reads: ['workspace:**'], writes: []}}\n"
        );
        must(manifest::parse("tool", &text))
    };
    let registry = must(Registry::new((0..RULES).map(tool).collect()));
    for wide in [0, 10, 100] {
        let mut text = "schema: proofmark/rules@1\nrules:\n".to_owned();
        for rule in 0..RULES {
            let tools = match rule < wide {
                true => "note.*".to_owned(),
                false => format!("note.read_{rule}"),
            };
            let written = writeln!(
                text,
                "  - id: r{rule}\n    when: {{tools: ['{tools}'], args: {{path: 'p{rule}'}}}}\n    \
                 decision: deny\n    reason: no\n    examples: [{{tool: note.read_{rule}, args: \
                 {{path: 'p{rule}'}}}}]"
            );
            must(written);
        }
        let principal = Principal::new("dev", Default::default());
        let rules = must(Rules::parse("rules", &text, &registry, &principal));
        let tools: Vec<_> = registry.iter().collect();
        let args = json!({"path": "elsewhere"});
        c.bench_function(
            &format!("decide under {RULES} rules, {wide} of them about every tool"),
            |b| {
                let mut turn = tools.iter().cycle();
                b.iter(|| {
                    let tool = turn.next().map_or(tools[0], |tool| tool);
                    black_box(decide(tool, &args, &principal, &rules))
                });
            },
        );
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
