//! How long a call of an HTTP tool takes over loopback, beside a simulated one and beside the
//! request alone: `cargo run --release --example http`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example measures and prints"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::ConnectInfo;
use proofmark::base::secret::Secret;
use proofmark::journal::event::turn::ProviderFault;
use proofmark::runtime::BoxFuture;
use proofmark::runtime::catalog::Registry;
use proofmark::runtime::credential::Broker;
use proofmark::runtime::dialect::{Payload, RawCall, Reply};
use proofmark::runtime::guard::Hooks;
use proofmark::runtime::guard::approver::Refusing;
use proofmark::runtime::guard::limits::{LoopLimits, Thresholds};
use proofmark::runtime::policy::{Principal, Rules};
use proofmark::runtime::provider::Provider;
use proofmark::runtime::provider::scripted::{call, say};
use proofmark::runtime::resolved::{Knobs, Resolved};
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::session::{Parts, Session};
use proofmark::runtime::turn::TurnEnd;
use proofmark::runtime::view::{Availability, Environment};
use proofmark::tool::intent::Intent;
use proofmark::tool::manifest;

/// Calls of one turn, and turns.
const CALLS: usize = 200;
const TURNS: usize = 20;

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: store.item
description: {summary: Return one item of the store.}
intent: {actionTypes: [search]}
schemas: {inputSchema: {type: object, properties: {id: {type: integer}}, required: [id]}}
effects: {reads: ['api:items'], writes: [], externalCalls: true}
credentials: {strategy: service_account, requiredSecrets: [KEY]}
sandbox: {mode: remote_api, network: {egressPolicy: allowlist, allowDomains: [store.test]}}
execution:
  adapter: http
  parser: json
  http:
    method: GET
    url: http://store.test/items/{id}
    headers: {Authorization: 'Bearer ${secret:KEY}'}
";
const SIMULATED: &str = "execution: {adapter: simulated, simulatedOutput: {name: a lamp}}\n";

/// Answers without a look at what it is sent.
struct Says(std::array::IntoIter<Reply, 2>);

impl Provider for Says {
    fn name(&self) -> &'static str {
        "says"
    }

    fn reply<'a>(&'a mut self, _: &'a Payload) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        Box::pin(std::future::ready(Ok(self.0.next().unwrap())))
    }
}

type Peers = Arc<Mutex<BTreeSet<SocketAddr>>>;

/// A server on its own thread, and who connected to it.
fn server() -> (SocketAddr, Peers) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let peers = Peers::default();
    let known = Arc::clone(&peers);
    let answer = move |ConnectInfo(peer): ConnectInfo<SocketAddr>| {
        known.lock().unwrap().insert(peer);
        std::future::ready(axum::Json(serde_json::json!({"name": "a lamp"})))
    };
    let router = axum::Router::new().fallback(answer);
    std::thread::spawn(move || {
        runtime().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let service = router.into_make_service_with_connect_info::<SocketAddr>();
            axum::serve(listener, service).await.unwrap();
        });
    });
    (address, peers)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn resolved(tool: &str, host: Host) -> Arc<Resolved> {
    let tool = manifest::parse("item.yaml", tool).unwrap();
    let never = Thresholds { warn: 10_000, block: 10_001, stop: 10_002 };
    Arc::new(Resolved {
        hooks: Hooks::new(Vec::new()),
        registry: Arc::new(Registry::new(vec![tool]).unwrap()),
        principal: Principal::new("dev", ["external_read".to_owned()].into()),
        rules: Arc::new(Rules::default()),
        environment: Environment { evaluation: true, max_tools: 8, host, ..Environment::default() },
        excluded: BTreeSet::new(),
        availability: Arc::new(Availability::default()),
        knobs: Knobs {
            loop_limits: LoopLimits { identical: never, ping_pong: never, no_progress: never },
            ..Knobs::default()
        },
        intent: ("rules".to_owned(), Intent::default()),
        broker: Broker::new([("KEY".to_owned(), Secret::new("a key of the store"))].into()),
        receipt_key: None,
        views: Arc::default(),
    })
}

/// One turn with this many calls, without its setting up.
async fn turn(resolved: &Arc<Resolved>, calls: usize) -> Duration {
    let raw =
        |n: usize| RawCall::native(Some(format!("p{n}")), "store_item", format!("{{\"id\": {n}}}"));
    let replies = [call((0..calls).map(raw).collect()), say("Done.")];
    let provider = Box::new(Says(replies.into_iter()));
    let parts = Parts::new("s1".into(), Arc::clone(resolved), provider, Box::new(Refusing));
    let mut session = Session::open(parts);
    let begun = Instant::now();
    let end = session.turn("Which items are there?".to_owned()).await;
    let spent = begun.elapsed();
    assert_eq!(end, TurnEnd::FinalText);
    let text = format!("{:?}", session.transcript());
    assert_eq!(text.matches("lamp").count(), calls, "{text}");
    spent
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let (address, peers) = server();
    let connections = || std::mem::take(&mut *peers.lock().unwrap()).len();
    let names = || BTreeMap::from([("store.test".to_owned(), address)]);
    let host = || Host::default().and_reaching(names());
    let sections = TOOL.find("credentials:").unwrap();
    let simulated = resolved(&format!("{}{SIMULATED}", &TOOL[..sections]), host());
    let own = host();
    let http = resolved(TOOL, own.clone());
    let open = TOOL.replace("Bearer ${secret:KEY}", "none");
    let open = resolved(&open, own);
    runtime().block_on(async {
        let begun = Instant::now();
        turn(&http, 1).await;
        println!("the first call, with its client: {:.0} µs", micros(begun.elapsed()));
        let (mut of_none, mut of_http, mut of_open) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            // Side by side, so that whatever else the machine does falls on all of them.
            for (kind, all) in
                [(&simulated, &mut of_none), (&http, &mut of_http), (&open, &mut of_open)]
            {
                all.push(micros(turn(kind, CALLS).await) / CALLS as f64);
            }
        }
        println!("a simulated call: {:.1} µs", median(of_none));
        println!("an HTTP call with a credential: {:.1} µs", median(of_http));
        println!("an HTTP call without one: {:.1} µs", median(of_open));
        println!("connections for {} calls: {}", 2 * TURNS * CALLS + 1, connections());
        let mut alone = Vec::new();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        for _ in 0..TURNS {
            let begun = Instant::now();
            for n in 0..CALLS {
                let sent = client.get(format!("http://{address}/items/{n}")).send().await;
                assert!(!sent.unwrap().bytes().await.unwrap().is_empty());
            }
            alone.push(micros(begun.elapsed()) / CALLS as f64);
        }
        println!("the request alone: {:.1} µs", median(alone));
        connections();
        let mut fresh = Vec::new();
        for _ in 0..TURNS {
            let resolved = resolved(TOOL, host());
            fresh.push(micros(turn(&resolved, 1).await));
        }
        println!("a turn with one call and a client of its own: {:.0} µs", median(fresh));
        println!("connections for {TURNS} such turns: {}", connections());
        let known = resolved(TOOL, host());
        turn(&known, 1).await;
        let mut again = Vec::new();
        for _ in 0..TURNS {
            again.push(micros(turn(&known, 1).await));
        }
        println!("the same with the client of the machine: {:.0} µs", median(again));
    });
}

fn micros(spent: Duration) -> f64 {
    spent.as_secs_f64() * 1e6
}
