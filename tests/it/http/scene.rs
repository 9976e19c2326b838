//! A server that keeps what it saw, a tool that calls it, and one call of that tool.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use proofmark::base::media::unbase64;
use proofmark::base::secret::Secret;
use proofmark::journal::event::call::{ObservedEffects, ToolCallStarted, ToolSandboxPrepared};
use proofmark::journal::outcome::{Blame, Fault};
use proofmark::journal::{Event, Journal, Outcome};
use proofmark::runtime::sandbox::host::Host;
use proofmark::tool::descriptor::Descriptor;
use proofmark::tool::manifest;
use serde_json::{Value, json};

use crate::faults::scene::{Play, Played, ask, say};

/// What a server was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub method: String,
    /// Path and query, as they came.
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    pub from: SocketAddr,
}

/// A server on its own thread, for the rest of the test.
pub struct Server {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    refused: AtomicU32,
    left: Arc<AtomicBool>,
}

impl Server {
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&shared));
        std::thread::spawn(move || {
            crate::faults::scene::runtime().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let service = router.into_make_service_with_connect_info::<SocketAddr>();
                axum::serve(listener, service).await.unwrap();
            });
        });
        Self { address, shared }
    }

    /// Everything it was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.seen().iter().map(|seen| seen.from).collect::<BTreeSet<_>>().len()
    }

    /// Whether a body that never ends was left by whoever read it, soon.
    pub fn was_left(&self) -> bool {
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            self.shared.left.load(Ordering::SeqCst)
        })
    }

    /// The machine on which this server is called `own.test`.
    pub fn host(&self) -> Host {
        named(&[("own.test", self.address)])
    }
}

/// A machine with names of its own, and without a helper: no command is run here.
pub fn named(names: &[(&str, SocketAddr)]) -> Host {
    let names = names.iter().map(|(name, address)| ((*name).to_owned(), *address));
    Host::default().and_reaching(names.collect())
}

/// Says when it is dropped.
struct Left(Arc<AtomicBool>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Some bytes, and then nothing, or the same again and again.
fn endless(left: Left, bytes: &'static [u8], again: bool) -> impl Stream<Item = BodyPiece> {
    let first = stream::once(async move { Ok(Bytes::from_static(bytes)) });
    let rest = stream::unfold(left, move |left| async move {
        if !again {
            std::future::pending::<()>().await;
        }
        Some((Ok(Bytes::from_static(bytes)), left))
    });
    first.chain(rest)
}

type BodyPiece = Result<Bytes, std::io::Error>;

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    (method, uri): (Method, Uri),
    headers: HeaderMap,
    body: String,
) -> Response {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let target = uri.path_and_query().unwrap().to_string();
    let seen = Seen { method: method.to_string(), target, headers, body, from };
    let echo = json!({"method": seen.method, "target": seen.target, "body": seen.body});
    let auth = seen.headers.get("authorization").cloned().unwrap_or_default();
    shared.seen.lock().unwrap().push(seen);
    let left = Left(Arc::clone(&shared.left));
    let path: Vec<&str> = uri.path().trim_start_matches('/').split('/').collect();
    match path.as_slice() {
        ["status", code] => {
            let code = StatusCode::from_bytes(code.as_bytes()).unwrap();
            (code, format!("said {code}, {auth}")).into_response()
        }
        ["flaky", _] if shared.refused.fetch_add(1, Ordering::SeqCst) < 2 => {
            (StatusCode::SERVICE_UNAVAILABLE, "not yet").into_response()
        }
        ["redirect", to] => {
            let to = to.replace("%2F", "/").replace("%3A", ":");
            (StatusCode::FOUND, [(header::LOCATION, to)], "moved").into_response()
        }
        ["binary", _] => {
            let kind = [(header::CONTENT_TYPE, "image/x-own; charset=none")];
            (kind, b"\x00\xff\x01bytes".as_slice()).into_response()
        }
        ["token", wanted] => match auth == format!("Bearer value-number-{wanted}") {
            true => format!("welcome, {auth}").into_response(),
            false => (StatusCode::UNAUTHORIZED, format!("no {auth}")).into_response(),
        },
        ["lines", _] => "{\"a\": 1}\n\n[2]\n".into_response(),
        ["none", _] => StatusCode::NO_CONTENT.into_response(),
        ["hang", _] => std::future::pending().await,
        ["half", _] => Body::from_stream(endless(left, b"the first half", false)).into_response(),
        ["flood", _] => Body::from_stream(endless(left, &[b'x'; 4096], true)).into_response(),
        ["secret", how] => super::secrets::told(&auth, how),
        _ => axum::Json(echo).into_response(),
    }
}

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: item.call
description: {summary: Call the store.}
intent: {actionTypes: [search]}
schemas: {inputSchema: {type: object, properties: {id: {}, q: {}, h: {}}, required: [id]}}
effects: {reads: ['api:items'], writes: [], externalCalls: true, idempotent: true}
credentials: {strategy: service_account, requiredSecrets: [KEY]}
sandbox:
  mode: remote_api
  network: {egressPolicy: allowlist, allowDomains: [own.test]}
  limits: {timeoutMs: 20000, maxOutputBytes: 2000}
execution:
  adapter: http
  http:
    method: GET
    url: http://own.test/v1/items/{id}/x
    query: {q: '{q}'}
    headers: {Authorization: 'Bearer ${secret:KEY}', X-Note: 'a {h}'}
";

/// The tool with some of its text replaced.
pub fn tool(changes: &[(&str, &str)]) -> Descriptor {
    let mut text = TOOL.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    manifest::parse("t.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The tool that calls another path of the server.
pub fn at(path: &str) -> Descriptor {
    tool(&[("/v1/items/{id}/x", path)])
}

/// What the credential is.
pub const KEY: &str = "tok/en+with =odd&chars%7";

/// What a call left in the journal.
pub struct CallLeft {
    pub prepared: Option<ToolSandboxPrepared>,
    pub starts: Vec<ToolCallStarted>,
    pub outcome: Outcome,
    pub effects: Option<ObservedEffects>,
    pub played: Played,
}

impl CallLeft {
    #[track_caller]
    pub fn fault(&self) -> &Fault {
        match &self.outcome {
            Outcome::Failed { fault } => fault,
            other => panic!("{other:?} {}", self.transcript()),
        }
    }

    /// The fault's blame and code, or nothing.
    pub fn code(&self) -> Option<(Blame, &str)> {
        match &self.outcome {
            Outcome::Failed { fault } => Some((fault.blame, fault.code.as_str())),
            _ => None,
        }
    }

    pub fn transcript(&self) -> String {
        format!("{:?}", self.played.transcript)
    }

    pub fn reached(&self) -> Vec<String> {
        self.effects.clone().unwrap().external_calls
    }
}

/// Everything that is kept of a session, as one text.
pub fn record(played: &Played) -> String {
    let Played { journal, transcript, .. } = played;
    let mut text = format!("{:?}\n{transcript:?}\n", journal.entries());
    for (_, blob) in journal.blobs().iter() {
        let bytes = blob.split_once(";base64,").and_then(|(_, data)| unbase64(data));
        text.push_str(&format!(
            "{blob}\n{}\n",
            String::from_utf8_lossy(&bytes.unwrap_or_default())
        ));
    }
    text
}

/// A session in which the tool is called with each of these.
pub fn play(host: &Host, tool: Descriptor, calls: &[Value]) -> Play {
    let ask_for = |args: &Value| ask(&[("item_call", &args.to_string())]);
    let script = calls.iter().map(ask_for).chain([say("done")]).collect();
    let secrets = vec![("KEY", Secret::new(KEY))];
    Play { host: host.clone(), secrets, ..Play::new(vec![tool], script) }
}

/// One call in one turn, lawful.
pub fn call(host: &Host, tool: Descriptor, args: Value) -> CallLeft {
    left(play(host, tool, &[args]).ends())
}

/// What the last call of a session left.
pub fn left(played: Played) -> CallLeft {
    let (mut prepared, mut outcome, mut effects) = (None, None, None);
    let starts = starts(&played.journal);
    for entry in played.journal.entries() {
        match &entry.event {
            Event::ToolSandboxPrepared(fact) => prepared = Some(fact.clone()),
            Event::ToolCallSettled(fact) => outcome = Some(fact.outcome.clone()),
            Event::ToolCallFinished(fact) => effects = fact.effects.clone(),
            _ => {}
        }
    }
    CallLeft { prepared, starts, outcome: outcome.unwrap(), effects, played }
}

fn starts(journal: &Journal) -> Vec<ToolCallStarted> {
    let start = |event: &Event| match event {
        Event::ToolCallStarted(fact) => Some(fact.clone()),
        _ => None,
    };
    journal.entries().iter().filter_map(|entry| start(&entry.event)).collect()
}
