//! MCP servers for whole sessions: a Python one over stdio, and one over HTTP in this process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode, header};
use proofmark::runtime::catalog::source::{ServerName, mcp};
use proofmark::runtime::mcp::{Address, Allows, Deadlines, Launch, McpServer, Servers, Transport};
use proofmark::tool::descriptor::{Descriptor, Sandbox, SandboxMode};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What every Python server can do. It notes what it was told, a line each.
const PRELUDE: &str = r#"
import json, os, sys, time
def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
def note(text):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(text + "\n")
def answer(m, result):
    send({"jsonrpc": "2.0", "id": m["id"], "result": result})
def notify(method, **params):
    send({"jsonrpc": "2.0", "method": method, "params": params})
def text(*texts, **more):
    return {"content": [{"type": "text", "text": t} for t in texts], **more}
WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
           "serverInfo": {"name": "fake", "version": "1"}}
TOOLS = json.loads(os.environ["TOOLS"])
def serve(call, listed=lambda m: answer(m, {"tools": TOOLS})):
    note("started")
    for line in sys.stdin:
        m = json.loads(line)
        method = m.get("method")
        if method == "initialize":
            answer(m, WELCOME)
        elif method == "tools/list":
            note("listed")
            listed(m)
        elif method == "tools/call":
            note("called " + m["params"]["name"])
            call(m)
        elif method == "notifications/cancelled":
            note("cancelled")
"#;

/// A server, its tools, and what it noted.
pub struct Served {
    _dir: Option<TempDir>,
    pub server: McpServer,
    pub tools: Vec<Descriptor>,
    notes: Notes,
}

enum Notes {
    File(PathBuf),
    Here(Arc<Mutex<Vec<String>>>),
}

impl Served {
    /// What the server noted so far.
    pub fn notes(&self) -> Vec<String> {
        match &self.notes {
            Notes::File(path) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                text.lines().map(str::to_owned).collect()
            }
            Notes::Here(notes) => notes.lock().unwrap().clone(),
        }
    }

    /// How often it noted this.
    pub fn count(&self, note: &str) -> usize {
        self.notes().iter().filter(|one| *one == note).count()
    }

    /// The servers of a session that has this one alone.
    pub fn servers(&self) -> Servers {
        Servers::new([self.server.clone()])
    }

    /// Its tools, as they are registered, with this time for a call.
    pub fn tools(&self, timeout_ms: u64) -> Vec<Descriptor> {
        let limited = |tool: &Descriptor| {
            let mut tool = tool.clone();
            tool.execution.timeout_ms = timeout_ms;
            tool
        };
        self.tools.iter().map(limited).collect()
    }
}

/// Tools that only read, each with a schema of no arguments.
pub fn reading(names: &[&str]) -> Value {
    let tool = |name: &&str| {
        json!({"name": name, "description": "Reads it.", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "openWorldHint": false}})
    };
    names.iter().map(tool).collect()
}

fn served(transport: Transport, tools: &Value) -> (McpServer, Vec<Descriptor>) {
    let server = McpServer {
        id: "srv".to_owned(),
        transport,
        allows: Allows::default(),
        sandbox: Sandbox { mode: SandboxMode::None, ..Sandbox::default() },
        deadlines: Deadlines { stop: Duration::from_millis(600), ..Deadlines::default() },
        consented_by: Some("the test".to_owned()),
        offers_new: false,
        secrets: Vec::new(),
    };
    let imported = mcp::import(&ServerName::sanitized("srv"), tools.as_array().unwrap());
    (server, imported.descriptors)
}

/// A server that does `body`, most often `serve(...)`; `None` where there is no Python.
pub fn python(tools: &Value, body: &str) -> Option<Served> {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        crate::support::skip("mcp", "python3 is not installed");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("server.py");
    std::fs::write(&script, format!("{PRELUDE}{body}")).unwrap();
    let notes = dir.path().join("notes");
    let launch = Launch {
        program: "python3".into(),
        args: vec![script.display().to_string()],
        env: vec![
            ("NOTES".into(), notes.display().to_string()),
            ("TOOLS".into(), tools.to_string()),
        ],
        cwd: Some(dir.path().to_owned()),
    };
    let (server, tools) = served(Transport::Stdio(launch), tools);
    Some(Served { _dir: Some(dir), server, tools, notes: Notes::File(notes) })
}

/// What an HTTP server does with a request: its method, its session and its message; and how often
/// it got such a method before.
pub type Answer = dyn Fn(&Asked) -> Response<Body> + Send + Sync;

/// One request to an HTTP server.
pub struct Asked {
    /// The method of the message, or of HTTP where there is no message.
    pub method: String,
    pub authorization: Option<String>,
    pub message: Value,
    /// How often this method was asked for before.
    pub before: usize,
}

impl Asked {
    /// An answer to it, as JSON.
    pub fn json(&self, result: &Value) -> Response<Body> {
        let body = json!({"jsonrpc": "2.0", "id": self.message["id"], "result": result});
        let built = Response::builder().header(header::CONTENT_TYPE, "application/json");
        built.header("mcp-session-id", "one").body(Body::from(body.to_string())).unwrap()
    }

    /// Events, as they are written here.
    pub fn events(&self, text: impl Into<Body>) -> Response<Body> {
        let built = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
        built.body(text.into()).unwrap()
    }

    /// No more than a status.
    pub fn status(&self, status: u16) -> Response<Body> {
        let status = StatusCode::from_u16(status).unwrap();
        Response::builder().status(status).body(Body::empty()).unwrap()
    }
}

/// A server over HTTP whose calls are answered by `call`; the handshake and the listing are as they
/// should be.
pub fn http(tools: &Value, call: Arc<Answer>) -> Served {
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let shared = Shared { tools: tools.clone(), notes: Arc::clone(&notes), call };
    let (send, port) = std::sync::mpsc::channel();
    // It ends with the process: a test is a process that ends.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            send.send(listener.local_addr().unwrap().port()).unwrap();
            let router = axum::Router::new().fallback(handle).with_state(shared);
            axum::serve(listener, router).await.unwrap();
        });
    });
    let url = format!("http://127.0.0.1:{}/mcp", port.recv().unwrap());
    let (server, tools) = served(Transport::Http(Address { url, headers: Vec::new() }), tools);
    Served { _dir: None, server, tools, notes: Notes::Here(notes) }
}

#[derive(Clone)]
struct Shared {
    tools: Value,
    notes: Arc<Mutex<Vec<String>>>,
    call: Arc<Answer>,
}

async fn handle(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let named = |name: &str| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let (session, authorization) = (named("mcp-session-id"), named("authorization"));
    let http = parts.method.to_string();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().map_or(http, str::to_owned);
    let before = {
        let mut notes = shared.notes.lock().unwrap();
        let before = notes.iter().filter(|one| **one == method).count();
        notes.push(method.clone());
        before
    };
    let asked = Asked { method, authorization, message, before };
    match asked.method.as_str() {
        "initialize" => asked.json(&json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "web", "version": "1"},
        })),
        "tools/list" => asked.json(&json!({"tools": shared.tools})),
        "GET" => asked.status(405),
        "DELETE" => asked.status(200),
        method if method.starts_with("notifications/") => asked.status(202),
        _ if session.is_none() => asked.status(400),
        _ => (shared.call)(&asked),
    }
}
