//! What one call costs beside its tool's own work, with everything on: hooks, rules, receipts,
//! redaction, artifacts, surfaces. It is the difference between a turn of many calls and a turn of
//! one, divided among the calls; no model, no network, and a tool that answers at once.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::{Measurement, WallTime};
use criterion::{Criterion, criterion_group, criterion_main};
use proofmark::base::secret::Secret;
use proofmark::journal::event::turn::ProviderFault;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::dialect::RawCall;
use proofmark::runtime::dialect::{Payload, Reply};
use proofmark::runtime::evidence::receipt::ReceiptKey;
use proofmark::runtime::exec::Workspace;
use proofmark::runtime::guard::approver::Refusing;
use proofmark::runtime::guard::limits::{LoopLimits, Thresholds};
use proofmark::runtime::guard::{Hook, HookCall, HookSpec, HookVerdict, Hooks, Point};
use proofmark::runtime::policy::{Principal, Rules};
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{call, say};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::surface::{Emission, Sink};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::view::{Availability, Environment};
use proofmark::tool::intent::Intent;
use proofmark::tool::manifest;

/// Calls of the long turn beyond the first.
const MORE: usize = 64;

const RULES: &str = "schema: proofmark/rules@1
rules:
  - id: nothing-secret
    when: {tools: ['*'], args: {path: {equals: secret}}}
    decision: deny
    reason: it is secret
    examples: [{tool: note.read, args: {path: secret}}]
    counterexamples: [{tool: note.read, args: {path: open}}]
";

/// Answers without a look at what it is sent.
struct Ready(std::array::IntoIter<Reply, 2>);

impl Provider for Ready {
    fn name(&self) -> &'static str {
        "ready"
    }

    fn reply<'a>(&'a mut self, _: &'a Payload) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        let said = self.0.next().unwrap_or_default();
        Box::pin(std::future::ready(Ok(said)))
    }
}

struct Passes;

impl Hook for Passes {
    fn run<'a>(&'a self, _: &'a HookCall) -> BoxFuture<'a, HookVerdict> {
        Box::pin(std::future::ready(HookVerdict::Pass))
    }
}

fn must<T, E: std::fmt::Debug>(found: Result<T, E>) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("{error:?}"),
    }
}

/// A tool that answers at once with this many lines, or the builtin that reads a file.
fn registry(execution: &str) -> Arc<Registry> {
    let text = format!(
        "schema: proofmark/tool@1\ntoolId: note.read\ndescription: {{summary: Reads a note.}}\n\
         intent: {{actionTypes: [read]}}\nschemas: {{inputSchema: {{type: object, properties: \
         {{path: {{type: string}}}}, required: [path], additionalProperties: false}}}}\n\
         effects: {{reads: ['workspace:**'], writes: []}}\nsandbox: {{mode: read_only}}\n\
         execution: {{{execution}}}\n"
    );
    Arc::new(must(Registry::new(vec![must(manifest::parse("note.read", &text))])))
}

/// Every result is longer than what is shown of it, and is stored as an artifact; and however many
/// there are, the loop guard looks at them and has nothing to say.
fn knobs() -> Knobs {
    let never = Thresholds { warn: 1_000, block: 1_001, stop: 1_002 };
    let loop_limits = LoopLimits { identical: never, ping_pong: never, no_progress: never };
    Knobs { max_tool_result_chars: 200, loop_limits, ..Knobs::default() }
}

fn resolved(registry: Arc<Registry>) -> Arc<Resolved> {
    let spec = |name: &str, point, observer| HookSpec {
        name: name.to_owned(),
        point,
        priority: 0,
        observer,
        global: true,
    };
    let principal = Principal::new("dev", Default::default());
    let rules = must(Rules::parse("rules", RULES, &registry, &principal));
    let secrets = ["deploy", "ledger", "mail"]
        .map(|name| (name.to_owned(), Secret::new(format!("the password of {name} is long"))));
    Arc::new(Resolved {
        hooks: Hooks::new(vec![
            spec("guard", Point::BeforeCall, false),
            spec("watcher", Point::AfterCall, true),
        ]),
        registry,
        principal,
        rules: Arc::new(rules),
        environment: Environment { evaluation: true, max_tools: 64, ..Environment::default() },
        excluded: Default::default(),
        availability: Arc::new(Availability::default()),
        knobs: knobs(),
        intent: ("rules".to_owned(), Intent::default()),
        broker: Broker::new(secrets.into()),
        receipt_key: Some(ReceiptKey { id: "bench".to_owned(), key: Secret::new("a key") }),
        views: Arc::default(),
    })
}

fn session(resolved: &Arc<Resolved>, calls: usize) -> Session {
    let raw = |n: usize| {
        RawCall::native(Some(format!("p{n}")), "note_read", format!("{{\"path\":\"n{n}.md\"}}"))
    };
    let replies = [call((0..calls).map(raw).collect()), say("Read.")];
    let provider = Box::new(Ready(replies.into_iter()));
    let hooks: BTreeMap<String, Arc<dyn Hook>> = ["guard", "watcher"]
        .map(|name| (name.to_owned(), Arc::new(Passes) as Arc<dyn Hook>))
        .into();
    let sink: Box<dyn Sink> = Box::new(|one: &Emission| _ = std::hint::black_box(one));
    let text = "a line of a note that says little\n".repeat(12);
    let files = (0..=MORE).map(|n| (format!("n{n}.md"), text.clone())).collect();
    let mut workspace = Workspace::new(files);
    must(workspace.root());
    Session::open(Parts {
        hooks,
        workspace,
        sinks: vec![sink],
        ..Parts::new("s1".into(), Arc::clone(resolved), provider, Box::new(Refusing))
    })
}

/// The time of this many turns, without their setting up.
fn turns(resolved: &Arc<Resolved>, calls: usize, times: u64) -> Duration {
    let runtime = must(tokio::runtime::Builder::new_current_thread().enable_all().build());
    let mut spent = Duration::ZERO;
    for _ in 0..times {
        let mut session = session(resolved, calls);
        let start = WallTime.start();
        let end = runtime.block_on(session.turn("Read the notes.".to_owned()));
        spent += WallTime.end(start);
        assert_eq!(end, TurnEnd::FinalText);
    }
    spent
}

fn bench(c: &mut Criterion) {
    // What `file.read` does itself, which is no cost of the runtime.
    let mut workspace = Workspace::new([("n.md".to_owned(), "a line\n".repeat(60))].into());
    c.bench_function("reading a file of the workspace", |b| {
        b.iter(|| must(workspace.read("n.md")));
    });
    let line = "a line of a note that says little ".repeat(12);
    for (name, execution) in [
        ("simulated", format!("adapter: simulated, simulatedOutput: '{line}'")),
        ("file.read", "adapter: 'builtin:file.read'".to_owned()),
    ] {
        let resolved = resolved(registry(&execution));
        c.bench_function(&format!("a turn with one call, {name}"), |b| {
            b.iter_custom(|times| turns(&resolved, 1, times));
        });
        c.bench_function(&format!("one more call, {name}"), |b| {
            b.iter_custom(|times| {
                let many = turns(&resolved, 1 + MORE, times);
                many.saturating_sub(turns(&resolved, 1, times)) / MORE as u32
            });
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
