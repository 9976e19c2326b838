//! Real servers: the reference servers of the protocol, called for real, over pipes and over HTTP,
//! in sandboxes and without.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proofmark::base::secret::SecretSet;
use proofmark::runtime::mcp::{
    Allows, Deadlines, Kind, Link, McpError, McpServer, Patience, list_by, parse_server,
};
use proofmark::tool::descriptor::Sandbox;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::command::json;
use crate::support;

fn servers() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let servers = root.join("suites/mcp-reference/.servers");
    if servers.join("installed").exists() {
        return Some(servers);
    }
    support::skip("mcp", "suites/mcp-reference/install-servers.sh was not run");
    None
}

/// The server that has everything, over HTTP; it ends with the value.
struct Everything {
    child: Child,
    url: String,
}

impl Drop for Everything {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn everything(servers: &Path) -> Everything {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let program = servers.join("npm/node_modules/.bin/mcp-server-everything");
    let mut command = Command::new(program);
    command.arg("streamableHttp").env("PORT", port.to_string());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never listened");
        std::thread::sleep(Duration::from_millis(20));
    }
    Everything { child, url: format!("http://127.0.0.1:{port}/mcp") }
}

const PATIENT: Patience =
    Patience { idle: Duration::from_secs(20), total: Duration::from_secs(60) };

fn args(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn a_real_server_over_http_lists_and_answers_as_it_does_over_pipes() {
    let Some(servers) = servers() else { return };
    let over_http = everything(&servers);
    let web = parse_server(&over_http.url).unwrap();
    let program = servers.join("npm/node_modules/.bin/mcp-server-everything");
    let pipes = parse_server(&format!("'{}'", program.display())).unwrap();
    let deadlines = Deadlines::default();
    let listed = list_by(&web, Allows::default(), &deadlines).await.unwrap();
    assert_eq!(listed.tools, list_by(&pipes, Allows::default(), &deadlines).await.unwrap().tools);
    assert!(listed.tools.len() > 10);
    let (one, other) = (
        Link::open(&web, Allows { elicitation: true }, &deadlines).await.unwrap(),
        Link::open(&pipes, Allows { elicitation: true }, &deadlines).await.unwrap(),
    );
    one.tools(deadlines.request).await.unwrap();
    let stop = Notify::new();
    for (tool, given) in [
        ("echo", json!({"message": "hello"})),
        ("echo", json!({})),
        ("get-sum", json!({"a": 2, "b": 40})),
        ("get-tiny-image", json!({})),
        ("get-structured-content", json!({"location": "Chicago"})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        ("trigger-elicitation-request", json!({})),
        ("no-such-tool", json!({})),
    ] {
        let text = |answer: Result<Map<String, Value>, McpError>| {
            answer.map(Value::Object).map_err(|error| error.to_string())
        };
        let web = text(one.call(tool, args(given.clone()), PATIENT, &stop).await);
        let pipe = text(other.call(tool, args(given.clone()), PATIENT, &stop).await);
        assert_eq!(web, pipe, "{tool} {given}");
    }
    // It works for two seconds and says so; a deadline of one second is not passed.
    let short = Patience { idle: Duration::from_millis(1_000), ..PATIENT };
    for link in [&one, &other] {
        let long = args(json!({"duration": 2, "steps": 8}));
        let answer = link.call("trigger-long-running-operation", long, short, &stop).await;
        assert!(answer.is_ok(), "{answer:?}");
        let still = args(json!({"duration": 4, "steps": 1}));
        let error = link.call("trigger-long-running-operation", still, short, &stop).await;
        assert!(error.unwrap_err().to_string().contains("no answer to tools/call"));
        let after = link.call("get-sum", args(json!({"a": 1, "b": 1})), PATIENT, &stop).await;
        assert!(after.is_ok(), "the link goes on: {after:?}");
    }
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn resources_and_prompts_of_a_real_server_are_candidates_that_nobody_trusts() {
    let Some(servers) = servers() else { return };
    let program = servers.join("npm/node_modules/.bin/mcp-server-everything");
    let transport = parse_server(&format!("'{}'", program.display())).unwrap();
    let deadlines = Deadlines::default();
    let server = McpServer {
        id: "everything".to_owned(),
        transport,
        allows: Allows::default(),
        sandbox: Sandbox::default(),
        deadlines,
        consented_by: None,
        offers_new: false,
        secrets: Vec::new(),
    };
    let link = Link::open(&server.transport, server.allows, &deadlines).await.unwrap();
    let secrets = SecretSet::default();
    let found = link.candidates(&server, &secrets).await.unwrap();
    for kind in [Kind::Resource, Kind::Template, Kind::Prompt] {
        assert!(found.list.iter().any(|one| one.kind == kind), "{kind:?}: {found:?}");
    }
    assert!(found.list.iter().all(|one| one.server_identity == server.identity()));
    assert_eq!(found.left_out, 0);
    let first = found.list.iter().find(|one| one.kind == Kind::Resource).unwrap();
    let address = first.address.as_deref().unwrap();
    let read = link.read(address, (&server, &secrets, 2_000)).await.unwrap();
    assert!(read.text.starts_with("[untrusted ") && read.text.contains(address), "{}", read.text);
    assert!(link.read("file:///no/such", (&server, &secrets, 9)).await.is_err());
    // The link goes on after a refusal, and tools are listed as before.
    assert!(link.tools(deadlines.request).await.unwrap().len() > 10);
    link.close().await;
}

#[test]
fn six_servers_are_called_in_whole_turns() {
    if servers().is_none() {
        return;
    }
    let reports = tempfile::tempdir().unwrap();
    let args = ["run", "mcp-live", "--format", "json", "--reports"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = json(root, &[&args[..], &[reports.path().to_str().unwrap()]].concat());
    assert_eq!(report["exitCode"], 0, "{}", report["gates"]);
    assert!(report["cases"].as_array().unwrap().len() >= 10);
}
