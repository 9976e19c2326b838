//! What a server is asked, and what becomes of its answer.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use proofmark::journal::Outcome;
use proofmark::journal::outcome::Blame;
use proofmark::runtime::guard::Hook;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::scene::{KEY, Server, at, call, left, play, tool};
use crate::faults::scene::{Play, Played, ask, runtime, say};

const BODY: &str = "h: {}, b: {}, c: {}}";

#[test]
fn a_request_is_what_the_descriptor_says() {
    let server = Server::start();
    let check = |changes: &[(&str, &str)], args: Value, expected: &str, body: &str| {
        let left = call(&server.host(), tool(changes), args);
        assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript());
        let seen = server.seen().pop().unwrap();
        let line = format!("{} {}", seen.method, seen.target);
        assert_eq!((line.as_str(), seen.body.as_str()), (expected, body));
        assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
        assert_eq!(seen.headers["host"], "own.test");
        assert_eq!(left.reached(), ["own.test:80"]);
        assert_eq!(left.effects.as_ref().unwrap().method, "http");
        seen.headers
    };
    let headers = check(&[], json!({"id": 7}), "GET /v1/items/7/x", "");
    assert_eq!(headers.get("x-note"), None);
    let args = json!({"id": "a/../b", "q": ["x y", "&z=1"], "h": "é; b"});
    let refused = call(&server.host(), tool(&[]), args);
    assert_eq!(refused.code(), Some((Blame::Model, "argument")));
    let args = json!({"id": "a b/c?d#e", "q": ["x y", "&z=1"], "h": "é; b"});
    let line = "GET /v1/items/a%20b%2Fc%3Fd%23e/x?q=x%20y&q=%26z%3D1";
    let headers = check(&[], args, line, "");
    assert_eq!(headers["x-note"], "a é; b");
    let post = |body: &'static str| [("method: GET", body), ("h: {}}", BODY)];
    let args = json!({"id": 7, "b": {"x": [1]}, "c": "y"});
    let json_of = post("method: POST\n    body: {format: json, of: [b, c]}");
    let headers = check(&json_of, args.clone(), "POST /v1/items/7/x", r#"{"b":{"x":[1]},"c":"y"}"#);
    assert_eq!(headers["content-type"], "application/json");
    let whole = post("method: PUT\n    body: {format: json}");
    check(&whole, args, "PUT /v1/items/7/x", r#"{"b":{"x":[1]},"c":"y"}"#);
    let form = post("method: PATCH\n    body: {format: form}");
    let args = json!({"id": 7, "b": ["1", "&"], "c": "é"});
    let headers = check(&form, args, "PATCH /v1/items/7/x", "b=1&b=%26&c=%C3%A9");
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    check(&[("GET", "DELETE")], json!({"id": 7}), "DELETE /v1/items/7/x", "");
}

#[test]
fn an_argument_that_makes_no_request_starts_none_and_is_the_models_fault() {
    let server = Server::start();
    for args in [
        json!({"id": ".."}),
        json!({"id": "%2e%2e"}),
        json!({"id": "../../admin"}),
        json!({"id": ""}),
        json!({"id": ["a"]}),
        json!({"id": 7, "q": {"a": 1}}),
        json!({"id": 7, "h": "x\r\nEvil: y"}),
    ] {
        let left = call(&server.host(), tool(&[]), args.clone());
        assert_eq!(left.code(), Some((Blame::Model, "argument")), "{args}");
        assert_eq!(left.reached(), Vec::<String>::new());
    }
    assert_eq!(server.seen(), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Whatever the arguments say, the server sees the template's segments, one host, and no
    /// header that the descriptor does not name.
    #[test]
    fn no_argument_reaches_another_place(
        id in prop_oneof![any::<String>(), "[./%\\\\a2eEfFcC5?#@:\r\n]{0,10}"],
        q in any::<String>(),
        h in any::<String>(),
    ) {
        let server = SERVER.get_or_init(Server::start);
        let before = server.seen().len();
        let left = call(&server.host(), tool(&[]), json!({"id": id, "q": q, "h": h}));
        let seen = server.seen();
        if left.code() == Some((Blame::Model, "argument")) {
            prop_assert_eq!(seen.len(), before);
            return Ok(());
        }
        prop_assert_eq!(seen.len(), before + 1);
        let last = seen.last().unwrap();
        let (path, query) = last.target.split_once('?').unwrap();
        let segments: Vec<&str> = path.split('/').collect();
        prop_assert_eq!(segments.len(), 5);
        prop_assert_eq!((segments[1], segments[2], segments[4]), ("v1", "items", "x"));
        prop_assert!(query.starts_with("q=") && !query.contains('&'));
        let names: Vec<&str> = last.headers.keys().map(String::as_str).collect();
        let expected = ["accept", "authorization", "host", "user-agent", "x-note"];
        prop_assert_eq!(names, expected);
        prop_assert_eq!(&last.headers["host"], "own.test");
    }
}

static SERVER: std::sync::OnceLock<Server> = std::sync::OnceLock::new();

#[test]
fn answers_are_read_as_they_are_said_to_be() {
    let server = Server::start();
    let check = |path: &str, parser: &str, code: Option<(Blame, &str)>, shown: &str| {
        let parser = format!("adapter: http\n  parser: {parser}");
        let tool = tool(&[("/v1/items/{id}/x", path), ("adapter: http", &parser)]);
        let left = call(&server.host(), tool, json!({"id": 7}));
        assert_eq!(left.code(), code, "{path} {}", left.transcript());
        assert!(left.transcript().contains(shown), "{path}: {}", left.transcript());
    };
    check("/echo/{id}", "json", None, "target");
    check("/echo/{id}", "text", None, "target");
    check("/lines/{id}", "jsonl", None, "[2]");
    check("/lines/{id}", "json", Some((Blame::Tool, "output_parser")), "[2]");
    check("/none/{id}", "json", None, "(no output)");
    check("/binary/{id}", "text", None, "8 bytes of image/x-own are kept as artifact");
}

/// What a service says that its body is, an output schema is held against.
#[test]
fn a_body_that_says_it_is_json_is_held_against_the_schema() {
    let server = Server::start();
    let check = |path: &str, code: Option<(Blame, &str)>| {
        let schema = "required: [id]}, outputSchema: {type: object, required: [nothing]}}";
        let changes = [("/v1/items/{id}/x", path), ("required: [id]}}", schema)];
        let left = call(&server.host(), tool(&changes), json!({"id": 7}));
        assert_eq!(left.code(), code, "{path} {}", left.transcript());
    };
    check("/echo/{id}", Some((Blame::Tool, "output_schema")));
    check("/lines/{id}", None);
}

#[test]
fn a_status_that_is_no_success_is_a_failure_with_its_body() {
    let server = Server::start();
    let check = |status: u16, changes: &[(&str, &str)], code: Option<(Blame, &str)>| {
        let path = ("/v1/items/{id}/x", "/status/{id}");
        let left = call(&server.host(), tool(&[&[path], changes].concat()), json!({"id": status}));
        assert_eq!(left.code(), code, "{status}");
        assert!(left.transcript().contains(&format!("said {status}")), "{}", left.transcript());
        assert_eq!(left.reached(), ["own.test:80"]);
        left
    };
    check(201, &[], None);
    check(404, &[], Some((Blame::Tool, "http_404")));
    check(429, &[], Some((Blame::Tool, "http_429")));
    check(500, &[], Some((Blame::Server, "http_500")));
    let named = [("method: GET", "method: GET\n    success: [404]")];
    check(404, &named, None);
    check(200, &named, Some((Blame::Tool, "http_200")));
    for status in [401, 403] {
        let left = check(status, &[], Some((Blame::Operator, "reauthorize")));
        let message = &left.fault().message;
        assert!(message.contains("must be authorized again"), "{message}");
        assert!(!message.contains("KEY"), "{message}");
    }
}

#[test]
fn an_attempt_is_made_again_under_the_same_key() {
    let server = Server::start();
    let check = |on: &str, outcome: bool, attempts: usize| {
        let retry = format!(
            "adapter: http\n  retryPolicy: {{maxRetries: 3, retryOn: [{on}], backoffMs: 1}}"
        );
        let tool = tool(&[
            ("/v1/items/{id}/x", "/flaky/{id}"),
            ("method: GET", "method: POST\n    idempotencyHeader: Idempotency-Key"),
            ("adapter: http\n", &format!("{retry}\n")),
        ]);
        let before = server.seen().len();
        let left = call(&server.host(), tool, json!({"id": 7}));
        assert_eq!(left.outcome == Outcome::Succeeded, outcome, "{}", left.transcript());
        let seen = server.seen().split_off(before);
        let keys: Vec<&str> = seen.iter().map(|s| s.headers["idempotency-key"].as_str()).collect();
        assert_eq!(keys.len(), attempts);
        let recorded: Vec<_> = left.starts.iter().map(|s| s.idempotency_key.as_deref()).collect();
        assert_eq!(recorded, keys.iter().map(|key| Some(*key)).collect::<Vec<_>>());
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    };
    check("http_500", false, 1);
    check("http_503", true, 2);
}

#[test]
fn the_record_holds_the_request_without_its_secret() {
    let server = Server::start();
    let args = json!({"id": "a b", "q": "z"});
    let left = call(&server.host(), tool(&[]), args.clone());
    let line = |left: &super::scene::CallLeft| left.starts[0].command.clone().unwrap();
    assert_eq!(line(&left), "GET http://own.test/v1/items/a%20b/x?q=z");
    let prepared = left.prepared.unwrap();
    assert_eq!(prepared.mode.as_deref(), Some("remote_api"));
    assert_eq!(prepared.enforcement.as_deref(), Some("egress"));
    assert_eq!(
        prepared.mechanisms,
        ["egress_addresses", "egress_names", "no_environment_proxy", "no_redirects"]
    );
    let quiet = [("execution:", "observability: {logArgs: false}\nexecution:")];
    let left = call(&server.host(), tool(&quiet), args);
    assert_eq!(line(&left), "GET http://own.test/v1/items/{id}/x");
}

#[test]
fn calls_share_a_connection() {
    let server = Server::start();
    let calls: Vec<Value> = (0..20).map(|id| json!({"id": id})).collect();
    let (tool, host) = (at("/v1/items/{id}"), server.host());
    let knobs = proofmark::runtime::resolved::Knobs { iteration_cap: 30, ..Default::default() };
    let left = left(Play { knobs, ..play(&host, tool, &calls) }.ends());
    assert_eq!(left.starts.len(), 20);
    assert_eq!((server.seen().len(), server.connections()), (20, 1));
}

/// A server may close what it kept open; a request that was never sent there is sent anew.
#[test]
fn a_connection_that_was_closed_meanwhile_is_no_fault() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = super::scene::named(&[("own.test", listener.local_addr().unwrap())]);
    let server = std::thread::spawn(move || {
        for stream in listener.incoming().take(3) {
            let (mut stream, mut read) = (stream.unwrap(), [0; 4096]);
            let _head = stream.read(&mut read).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
    });
    let mut play = play(&host, tool(&[("method: GET", "method: POST")]), &[]);
    let args = json!({"id": 7}).to_string();
    play.script = (0..3).flat_map(|_| [ask(&[("item_call", &args)]), say("done")]).collect();
    let mut session = play.open(&|_| -> Arc<dyn Hook> { unreachable!("there are no hooks") });
    runtime().block_on(async {
        for _ in 0..3 {
            session.turn("do it".to_owned()).await;
            // Nobody looks at the connection meanwhile.
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    server.join().unwrap();
    let (journal, transcript) = session.close();
    let left = left(Played { ends: Vec::new(), journal, transcript });
    assert_eq!((left.starts.len(), &left.outcome), (3, &Outcome::Succeeded));
    assert_eq!(left.transcript().matches("ok").count(), 3, "{}", left.transcript());
}
