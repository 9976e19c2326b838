//! Which services are reached, and what is said where none is.

use std::net::TcpListener;

use proofmark::journal::Outcome;
use proofmark::journal::outcome::Blame;
use proofmark::runtime::sandbox::host::Host;
use proofmark::runtime::sandbox::{Ground, plan};
use serde_json::json;

use super::scene::{CallLeft, Server, call, named, tool};

/// A tool of this address and these names, without a credential.
fn at(host: &Host, url: &str, allowed: &str) -> CallLeft {
    let tool = tool(&[
        ("http://own.test/v1/items/{id}/x", url),
        ("[own.test]", allowed),
        ("Bearer ${secret:KEY}", "none"),
    ]);
    call(host, tool, json!({"id": 7}))
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused() {
    let server = Server::start();
    let url = format!("http://localhost:{}/{{id}}", server.address.port());
    let allowed = format!("['localhost:{}']", server.address.port());
    let left = at(&named(&[]), &url, &allowed);
    assert_eq!(left.code(), Some((Blame::Environment, "egress")));
    assert!(left.fault().message.contains("leads to a private address"));
    assert_eq!(left.reached(), Vec::<String>::new());
    assert_eq!(server.seen(), []);
    // The same under a policy that lets everything through.
    let open = tool(&[
        ("http://own.test/v1/items/{id}/x", &url),
        ("allowlist, allowDomains: [own.test]", "open"),
        ("Bearer ${secret:KEY}", "none"),
    ]);
    let left = call(&named(&[]), open, json!({"id": 7}));
    assert_eq!(left.code(), Some((Blame::Environment, "egress")));
    assert_eq!(server.seen(), []);
    // And it is reached where whoever runs the tool says that it may be.
    let left = at(&named(&[("localhost", server.address)]), &url, &allowed);
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript());
    let port = server.address.port();
    assert_eq!(server.seen()[0].headers["host"], format!("localhost:{port}"));
    assert_eq!(left.reached(), [format!("localhost:{port}")]);
}

#[test]
fn a_name_with_a_port_of_its_own_stands_for_the_whole_address() {
    let server = Server::start();
    let left = at(&server.host(), "http://own.test:8443/{id}", "['own.test:8443']");
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript());
    assert_eq!(server.seen()[0].headers["host"], "own.test:8443");
    assert_eq!(left.reached(), ["own.test:8443"]);
    let number = named(&[("127.0.0.1", server.address)]);
    let left = at(&number, "http://127.0.0.1:9/{id}", "['127.0.0.1:9']");
    assert_eq!(left.outcome, Outcome::Succeeded, "{}", left.transcript());
}

#[test]
fn a_host_that_an_argument_names_is_judged_before_anything_is_sent() {
    let server = Server::start();
    let host = named(&[("eu.own.test", server.address), ("us.other.test", server.address)]);
    let check = |id: &str, code: Option<(Blame, &str)>| {
        let open = tool(&[
            ("own.test/v1/items/{id}/x", "{id}.test/x"),
            ("[own.test]", "['*.own.test']"),
            ("Bearer ${secret:KEY}", "none"),
        ]);
        let before = server.seen().len();
        let left = call(&host, open, json!({"id": id}));
        assert_eq!(left.code(), code, "{id} {}", left.transcript());
        assert_eq!(server.seen().len() > before, code.is_none(), "{id}");
    };
    check("eu.own", None);
    check("EU.own", None);
    let refused = Some((Blame::Environment, "egress"));
    check("us.other", refused);
    check("own", refused);
    let wrong = Some((Blame::Model, "argument"));
    check("eu.own.test/", wrong);
    check("evil@eu.own", wrong);
    check("eu.own:8080", wrong);
}

/// Following would send the call where no descriptor says and nobody approved.
#[test]
fn a_redirect_is_said_and_not_followed() {
    let (server, other) = (Server::start(), Server::start());
    let host = named(&[("own.test", server.address), ("other.test", other.address)]);
    let check = |to: &str, shown: &str| {
        let tool = tool(&[("/v1/items/{id}/x", "/redirect/{id}")]);
        let left = call(&host, tool, json!({"id": to}));
        assert_eq!(left.code(), Some((Blame::Server, "redirect")), "{to}");
        assert!(left.fault().message.contains(shown), "{}", left.fault().message);
        assert_eq!(left.reached(), ["own.test:80"]);
    };
    let private = format!("http://{}/latest/meta-data", other.address);
    check(&private, &other.address.to_string());
    check("http://other.test/x", "http://other.test");
    check("https://own.test/x", "https://own.test");
    check("/echo/x", "http://own.test");
    assert_eq!((server.seen().len(), other.seen().len()), (4, 0));
}

#[test]
fn a_service_that_does_not_answer_was_not_reached() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let left = call(&named(&[("own.test", closed)]), tool(&[]), json!({"id": 7}));
    assert_eq!(left.code(), Some((Blame::Server, "no_connection")));
    assert_eq!(left.fault().message, "no connection to own.test:80");
    assert_eq!(left.reached(), Vec::<String>::new());
    assert_eq!(left.effects.unwrap().method, "http");
}

#[test]
fn a_service_that_does_not_encrypt_gets_no_request() {
    let server = Server::start();
    let left = call(&server.host(), tool(&[("http://", "https://")]), json!({"id": 7}));
    assert_eq!(left.code(), Some((Blame::Server, "tls")), "{}", left.transcript());
    assert!(left.fault().message.starts_with("no encrypted connection to own.test:443: "));
    assert_eq!(left.reached(), ["own.test:443"]);
    assert_eq!(server.seen(), []);
}

#[test]
fn a_name_that_nobody_has_is_said() {
    let left = at(&named(&[]), "http://no-such.invalid/{id}", "[no-such.invalid]");
    assert_eq!(left.code(), Some((Blame::Environment, "egress")));
    assert!(left.fault().message.contains("the name is not known"), "{}", left.fault().message);
}

#[test]
fn what_cannot_be_held_is_refused_before_it_starts() {
    let server = Server::start();
    let check = |changes: &[(&str, &str)], expected: &str| {
        let found = plan(&tool(changes), Ground::bare(&server.host())).map(|_| ());
        let found = found.map_or_else(|refusal| refusal.to_string(), |()| String::new());
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
    };
    check(&[], "");
    check(&[("remote_api", "none")], "sandbox mode none cannot be enforced for http");
    check(&[("remote_api", "network_restricted")], "mode network_restricted cannot be enforced");
    check(&[("egressPolicy: allowlist, ", "")], "a service is reached, and nothing may be");
    check(&[("[own.test]", "[]")], "own.test:80 is not reached, the name is not allowed");
    check(&[("[own.test]", "[own.test], denyDomains: [own.test]")], "the name is denied");
    check(&[("timeoutMs", "maxMemoryMb: 9, timeoutMs")], "limits.maxMemoryMb: nobody limits");
    check(&[("externalCalls: true, ", "")], "it calls a service, and declares no external call");
    check(&[("own.test", "other.test")], "other.test would be sent a credential in the open");
    let number = [("own.test", "10.0.0.1"), ("Bearer ${secret:KEY}", "none")];
    check(&number, "10.0.0.1:80 is not reached, the address is a private one");
    let other = [("own.test", "other.test"), ("Bearer ${secret:KEY}", "none")];
    check(&other, "");
}

/// A tool whose plan is refused is not shown, and a call of it is no call.
#[test]
fn a_tool_that_may_not_reach_its_service_is_not_there() {
    let server = Server::start();
    let left = call(&server.host(), tool(&[("[own.test]", "[a.test]")]), json!({"id": 7}));
    assert!(matches!(left.outcome, Outcome::Unavailable { .. }), "{:?}", left.outcome);
    assert_eq!(server.seen(), []);
}
