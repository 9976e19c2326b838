//! What one request shows, compiled over a large registry: two thousand tools of every level, with
//! rules about some of them.
#![allow(missing_docs)]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::policy::{Principal, Rules};
use proofmark::runtime::view::compile::MAY_EXPOSE;
use proofmark::runtime::view::{Availability, Environment, ViewRequest, compile};
use proofmark::tool::intent::Intent;
use proofmark::tool::manifest;

const TOOLS: usize = 2_114;

fn must<T, E: std::fmt::Debug>(found: Result<T, E>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("{error:?}"),
    }
}

fn registry() -> Registry {
    let kinds = [
        ("read", "reads: ['workspace:**'], writes: []"),
        ("search", "reads: ['api:x'], writes: [], externalCalls: true"),
        ("write", "reads: [], writes: ['workspace:**']"),
        ("external_send", "reads: [], writes: ['api:x'], externalCalls: true"),
        ("delete", "reads: [], writes: [], deletes: ['api:x']"),
    ];
    let tool = |number: usize| {
        let (action, effects) = kinds[number % kinds.len()];
        let text = format!(
            "schema: proofmark/tool@1\ntoolId: server_{}.{action}_{number}\ndescription: {{summary: \
             Does the {number}th thing.}}\nintent: {{actionTypes: [{action}]}}\nschemas: \
             {{inputSchema: {{type: object}}}}\neffects: {{{effects}}}\n",
            number % 56
        );
        must(manifest::parse("tool", &text))
    };
    must(Registry::new((0..TOOLS).map(tool).collect()))
}

fn bench(c: &mut Criterion) {
    let registry = registry();
    let mut text = "schema: proofmark/rules@1\nrules:\n".to_owned();
    for server in 0..20 {
        let first = registry
            .iter()
            .find(|tool| tool.id().as_str().starts_with(&format!("server_{server}.")));
        let Some(first) = first else { continue };
        let rule = format!(
            "  - id: r{server}\n    when: {{tools: ['server_{server}.*']}}\n    decision: ask\n    \
             reason: it is watched\n    examples: [{{tool: {}}}]\n",
            first.id()
        );
        must(text.write_str(&rule));
    }
    let scopes = ["workspace_write", "external_read"].map(str::to_owned).into();
    let principal = Principal::new("dev", scopes);
    let rules = must(Rules::parse("rules", &text, &registry, &principal));
    let (availability, intent) = (Availability::default(), Intent::default());
    for max_tools in [128, TOOLS] {
        let environment = Environment { evaluation: true, max_tools, ..Environment::default() };
        c.bench_function(&format!("view of {TOOLS} tools, {max_tools} shown"), |b| {
            b.iter(|| {
                black_box(compile(&ViewRequest {
                    registry: &registry,
                    principal: &principal,
                    rules: &rules,
                    intent: &intent,
                    environment: &environment,
                    blocks: &Default::default(),
                    excluded: &Default::default(),
                    availability: &availability,
                    matched: &availability.matched(""),
                    activated: &Default::default(),
                    failures: &Default::default(),
                    may_expose: MAY_EXPOSE,
                }))
            });
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
