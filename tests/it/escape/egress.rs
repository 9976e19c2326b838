//! The proxy of an allowlisted network: what it refuses is reached under another policy.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use proofmark::journal::Event;
use proofmark::journal::event::call::ToolCallFinished;
use proofmark::runtime::sandbox::host::Host;

use super::host;
use crate::faults::scene::{Play, ask, say};
use crate::tools::tool;

/// A server on the loopback device that gives the same answer to everything.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut buffer = [0; 4096];
            let _read = stream.read(&mut buffer);
            let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nGOT");
        }
    });
    address
}

/// What a script says under a network policy, and how its call ended.
fn run(network: &str, fixtures: &[(&str, SocketAddr)], script: &str) -> (String, ToolCallFinished) {
    let fixtures: BTreeMap<String, SocketAddr> =
        fixtures.iter().map(|(name, address)| ((*name).to_owned(), *address)).collect();
    let script = format!("import urllib.request, http.client, os, socket\n{script}");
    let mut net = tool(
        "net.try",
        "L3",
        &format!(
            "sandbox: {{mode: network_restricted, network: {network}}}\nexecution: {{adapter: 'builtin:command.run'}}\n"
        ),
    );
    net.execution.command = ["python3", "-c", &script].map(str::to_owned).to_vec();
    let host = Host::reaching(env!("CARGO_BIN_EXE_proofmark"), fixtures);
    let played =
        Play { host, ..Play::new(vec![net], vec![ask(&[("net_try", "{}")]), say("done")]) };
    let played = played.ends();
    let finished = played.journal.entries().iter().find_map(|entry| match &entry.event {
        Event::ToolCallFinished(fact) => Some(fact.clone()),
        _ => None,
    });
    (format!("{:?}", played.transcript), finished.expect("it ran"))
}

#[test]
fn the_proxy_lets_through_what_is_allowed_and_nothing_else() {
    if host().is_none() {
        return;
    }
    let there = server();
    let get = |address: &str| format!("print(urllib.request.urlopen('http://{address}/').read())");
    let tunnel = |target: &str| {
        format!(
            "c = http.client.HTTPConnection('127.0.0.1', 3128)\n\
             c.set_tunnel('{target}', 443); c.request('GET', '/'); print(c.getresponse().read())"
        )
    };
    let local = format!("localhost:{}", there.port());
    let number = format!("127.0.0.1:{}", there.port());
    let only = |name: &str| format!("{{egressPolicy: allowlist, allowDomains: ['{name}']}}");
    let denying = "{egressPolicy: allowlist, allowDomains: ['*.test'], denyDomains: [bad.test]}";
    let fixed = [("fixture.test", there), ("other.test", there), ("bad.test", there)];
    let own = [("localhost", there)];
    let by_number = [("127.0.0.1", there)];
    type Policy<'a> = (String, &'a [(&'a str, SocketAddr)]);
    let attempts: [(&str, String, Policy<'_>, Policy<'_>); 8] = [
        (
            "another name",
            get("other.test"),
            (only("fixture.test"), &fixed),
            (only("other.test"), &fixed),
        ),
        (
            "another port",
            get("fixture.test:8081"),
            (only("fixture.test"), &fixed),
            (only("fixture.test:8081"), &fixed),
        ),
        (
            "a name that is denied",
            get("bad.test"),
            (denying.into(), &fixed),
            (only("*.test"), &fixed),
        ),
        ("this machine by name", get(&local), (only(&local), &[]), (only(&local), &own)),
        ("this machine by number", get(&number), (only(&number), &[]), (only(&number), &by_number)),
        (
            "a tunnel to another name",
            tunnel("other.test"),
            (only("fixture.test"), &fixed),
            (only("other.test"), &fixed),
        ),
        (
            "a tunnel to this machine",
            format!("{}\n", tunnel("localhost").replace("443", &there.port().to_string())),
            (only(&local), &[]),
            (only(&local), &own),
        ),
        (
            "a name that ends like an allowed one",
            get("evilfixture.test"),
            (only("fixture.test"), &[("evilfixture.test", there)]),
            (only("evilfixture.test"), &[("evilfixture.test", there)]),
        ),
    ];
    // Plain sockets of the script speak HTTP; a tunnel here carries it without encryption.
    for (name, script, (kept, kept_names), (free, free_names)) in attempts {
        let (said, finished) = run(&kept, kept_names, &script);
        assert!(!said.contains("GOT"), "{name}: it got out: {said}");
        let effects = finished.effects.unwrap();
        assert_eq!(effects.external_calls, Vec::<String>::new(), "{name}");
        let (said, finished) = run(&free, free_names, &script);
        assert!(said.contains("GOT"), "{name}: it does not get out anyway: {said}");
        assert_eq!(finished.effects.unwrap().external_calls.len(), 1, "{name}");
    }
}
