use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::test_server::{Fake, QUICK, is_gone, run};
use super::{Deadlines, Listing, list_tools};

async fn list(body: &str) -> Option<Listing> {
    let (outcome, _) = run(body, &QUICK).await?;
    Some(outcome.unwrap_or_else(|error| panic!("{error}")))
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect()
}

#[tokio::test]
async fn lists_all_pages_in_order() {
    let body = r#"
sys.stderr.write("x" * 5000 + "the end")
welcome(instructions="ask nicely")
first = request()
answer(first, {"tools": [tool("b"), tool("a")], "nextCursor": "2"})
second = request()
tools_ = [tool("cursor", got=[first["params"].get("cursor"), second["params"]["cursor"]])]
answer(second, {"tools": tools_, "nextCursor": "3"})
tools(tool(os.environ["FAKE"]))
read()
"#;
    let Some(listing) = list(body).await else { return };
    assert_eq!(names(&listing), ["b", "a", "cursor", "yes"]);
    assert_eq!(listing.tools[2]["got"], json!([null, "2"]));
    assert_eq!(listing.pages, 3);
    assert_eq!(listing.server_name, "fake");
    assert_eq!(listing.server_version, "1.2");
    assert_eq!(listing.protocol_version, "2025-11-25");
    assert_eq!(listing.instructions.as_deref(), Some("ask nicely"));
    assert_eq!(listing.stderr_tail.len(), 4096);
    assert!(listing.stderr_tail.ends_with("the end"));
    assert_eq!(listing.noise_lines, 0);
}

#[tokio::test]
async fn keeps_malformed_tools_as_sent() {
    let body = r#"
welcome()
answer(request(), {"tools": json.load(open("tools.json"))})
read()
"#;
    let Some(fake) = Fake::new(body) else { return };
    let sent = json!([
        {"name": "fine", "inputSchema": {"type": "object"}},
        {"name": "no schema"},
        {"name": 7, "inputSchema": {}},
        {"name": "null schema", "inputSchema": null},
        {"name": "boolean schema", "inputSchema": true, "outputSchema": false},
        {"name": "subschema", "inputSchema": {"properties": {"x": true}, "items": 3}},
        {"name": "unknown", "inputSchema": {}, "x-vendor": {"deep": [1, {"a": null}]}},
        {"name": "annotations", "annotations": "none", "icons": 1, "_meta": [], "execution": 0},
        "just a string", null, 3.5, [], {},
        {"name": "fine", "inputSchema": {"type": "object"}},
    ]);
    std::fs::write(fake.dir.path().join("tools.json"), sent.to_string()).unwrap();
    let listing = list_tools(&fake.launch, &QUICK).await.unwrap();
    assert_eq!(Value::Array(listing.tools), sent);
}

#[tokio::test]
async fn puts_up_with_noise_and_odd_line_ends() {
    let body = r#"
print("Server v1 listening", flush=True)
print("\u00e9" * 300, flush=True)
send({"level": "info", "msg": "started"})
raw(b"\n\r\n   \n42\n\xff\xfe\n")
first = request()
raw(b"\xef\xbb\xbf" + json.dumps(
    {"jsonrpc": "2.0", "id": first["id"], "result": WELCOME}).encode() + b"\r\n")
second = request()
line = json.dumps({"jsonrpc": "2.0", "id": second["id"], "result": {"tools": [tool("a")]}})
for index in range(0, len(line), 7):
    raw(line[index:index + 7].encode())
    time.sleep(0.002)
"#;
    // The last line has no newline, and the server is gone after it.
    let Some(listing) = list(body).await else { return };
    assert_eq!(names(&listing), ["a"]);
    assert_eq!(listing.noise_lines, 5);
    let long = "é".repeat(200);
    let log = r#"{"level": "info", "msg": "started"}"#;
    assert_eq!(listing.noise, ["Server v1 listening", &long, log, "42", "\u{fffd}\u{fffd}"]);
}

#[tokio::test]
async fn reads_one_very_long_line() {
    let body = r#"
welcome()
tools(tool("big", description="x" * 30_000_000), tool("small"))
read()
"#;
    let Some(listing) = list(body).await else { return };
    assert_eq!(names(&listing), ["big", "small"]);
    assert_eq!(listing.tools[0]["description"].as_str().map(str::len), Some(30_000_000));
}

#[tokio::test]
async fn answers_the_server_before_and_after_the_handshake() {
    let body = r#"
first = request()
got = [call("roots/list"), call("ping")]
answer(first, WELCOME)
got += [call("sampling/createMessage", {"messages": 3}), call("elicitation/create"),
        call("made/up"), call("roots/list", {"_meta": 1})]
second = request()
got += [call("ping")]
answer(second, {"tools": got})
read()
"#;
    let Some(listing) = list(body).await else { return };
    let results: Vec<Value> = listing
        .tools
        .iter()
        .map(|reply| {
            reply.get("result").or_else(|| reply["error"].get("code")).cloned().unwrap_or_default()
        })
        .collect();
    let refused = json!(-32601);
    let roots = json!({"roots": []});
    let expected = [&roots, &json!({}), &refused, &refused, &refused, &roots, &json!({})];
    assert_eq!(results.iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn survives_notifications_at_any_time() {
    let body = r#"
notify("notifications/message", {"level": "info", "data": "starting"})
welcome()
notify("notifications/tools/list_changed")
notify("notifications/resources/list_changed", 3)
notify("notifications/cancelled", {"requestId": 0})
notify("window/logMessage", {"type": 3})
send({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "what is initialized"}})
send({"jsonrpc": "2.0", "id": 777, "result": {"tools": [tool("never asked for")]}})
message = request()
notify("notifications/progress", {"progressToken": 0, "progress": 1})
answer(message, {"tools": [tool("a")]})
notify("notifications/tools/list_changed")
answer(message, {"tools": [tool("answered twice")]})
read()
"#;
    let Some(listing) = list(body).await else { return };
    assert_eq!(names(&listing), ["a"]);
}

#[tokio::test]
async fn accepts_unusual_handshakes() {
    for (welcome, version) in [
        (r#"welcome(protocolVersion="2024-11-05")"#, "2024-11-05"),
        (r#"welcome(protocolVersion="2026-07-28")"#, "2026-07-28"),
        (r#"welcome(protocolVersion="someday")"#, "someday"),
        (r#"welcome(capabilities={"tools": {"a": tool("a"), "listChanged": "yes"}})"#, ""),
        (r#"welcome(capabilities={"tools": [tool("a")]})"#, ""),
        (r#"welcome(capabilities={"tools": True}, serverInfo={"name": 3})"#, ""),
        (r#"welcome(capabilities={})"#, ""),
        (r#"welcome(capabilities=None, serverInfo=None, instructions=[1], _meta=0)"#, ""),
        (r#"m = request(); m["id"] = str(m["id"]); answer(m, WELCOME)"#, ""),
        (r#"m = request(); m["id"] = float(m["id"]); answer(m, WELCOME)"#, ""),
        (r#"m = request(); send([{"jsonrpc": "2.0", "id": m["id"], "result": WELCOME}])"#, ""),
        (
            r#"m = request(); send({"jsonrpc": "2.0", "id": m["id"], "error": None,
                                    "result": WELCOME})"#,
            "",
        ),
    ] {
        let body = format!("{welcome}\ntools(tool(\"a\"))\nread()\n");
        let Some(listing) = list(&body).await else { return };
        assert_eq!(names(&listing), ["a"], "{welcome}");
        let version = if version.is_empty() { "2025-11-25" } else { version };
        assert_eq!(listing.protocol_version, version, "{welcome}");
    }
}

#[tokio::test]
async fn a_server_without_tools_lists_none() {
    let refusing = r#"
welcome(capabilities={"prompts": {}})
send({"jsonrpc": "2.0", "id": request()["id"], "error": {"code": -32601, "message": "no"}})
read()
"#;
    let silent = "welcome(capabilities={\"prompts\": {}})\nwhile True: read()\n";
    for body in [refusing, silent] {
        let deadlines = Deadlines { request: Duration::from_millis(300), ..QUICK };
        let Some((outcome, _)) = run(body, &deadlines).await else { return };
        let listing = outcome.unwrap();
        assert_eq!((listing.tools.len(), listing.pages), (0, 0));
        assert_eq!(listing.server_name, "fake");
    }
}

#[tokio::test]
async fn accepts_unusual_ends_of_a_listing() {
    for (body, count) in [
        ("welcome()\ntools(tool('a'), nextCursor=None)\nread()", 1),
        ("welcome()\ntools(tool('a'), nextCursor='')\nread()", 1),
        ("welcome()\nanswer(request(), {'tools': None})\nread()", 0),
        ("welcome()\ntools()\nread()", 0),
        ("welcome()\ntools(nextCursor='x')\ntools(tool('a'))\nread()", 1),
        ("welcome()\ntools(tool('a'), ttlMs=60000, resultType='complete')\nread()", 1),
    ] {
        let Some(listing) = list(body).await else { return };
        assert_eq!(listing.tools.len(), count, "{body}");
    }
}

/// Leaves a grandchild that ignores SIGTERM, in the server's group and holding its streams.
const STUBBORN: &str = r#"
grandchild = subprocess.Popen([sys.executable, "-c",
    "import signal, time, os; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "open('grandchild', 'w').write(str(os.getpid())); time.sleep(600)"])
while not (os.path.exists("grandchild") and os.path.getsize("grandchild")):
    time.sleep(0.01)
"#;

#[tokio::test]
async fn a_grandchild_that_ignores_sigterm_is_killed() {
    let body = format!("{STUBBORN}welcome()\ntools(tool('a'))\nread()\n");
    let Some(fake) = Fake::new(&body) else { return };
    let start = Instant::now();
    let listing = list_tools(&fake.launch, &QUICK).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    fake.assert_gone().await;
    assert!(start.elapsed() >= QUICK.stop, "nobody waited for the grandchild to terminate");
    assert_process_gone(fake.number("grandchild").await);
}

fn assert_process_gone(pid: i32) {
    // Whoever adopted it may not have noticed yet, so look at its state.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
    assert!(matches!(state, None | Some('Z' | 'X')), "process {pid} is in state {state:?}");
}

#[tokio::test]
async fn a_server_that_ends_on_closed_input_is_sent_no_signal() {
    let body = r#"
def told(*_):
    open("told", "w").write("SIGTERM")
signal.signal(signal.SIGTERM, told)
welcome()
tools(tool("a"))
while sys.stdin.readline():
    pass
sys.stderr.write("went in peace")
"#;
    let Some(fake) = Fake::new(body) else { return };
    let patient = Deadlines { stop: Duration::from_secs(20), ..QUICK };
    let listing = list_tools(&fake.launch, &patient).await.unwrap();
    assert_eq!(listing.stderr_tail, "went in peace");
    assert!(!fake.dir.path().join("told").exists());
}

#[tokio::test]
async fn a_server_that_ignores_closed_input_is_asked_to_terminate() {
    let body = r#"
def told(*_):
    sys.stderr.write("told")
    sys.exit(0)
signal.signal(signal.SIGTERM, told)
welcome()
tools(tool("a"))
time.sleep(600)
"#;
    let Some(listing) = list(body).await else { return };
    assert_eq!(listing.stderr_tail, "told");
}

#[tokio::test]
async fn dropping_the_future_kills_the_group() {
    for rest in ["time.sleep(600)", "welcome()\ntime.sleep(600)"] {
        let body = format!("{STUBBORN}open('ready', 'w').write('1')\n{rest}\n");
        let Some(fake) = Fake::new(&body) else { return };
        let wait = async {
            while !fake.dir.path().join("ready").exists() {
                sleep(Duration::from_millis(5)).await;
            }
            sleep(Duration::from_millis(50)).await;
        };
        tokio::select! {
            _ = list_tools(&fake.launch, &QUICK) => panic!("it cannot end"),
            () = wait => {}
        }
        let group = fake.number("pid").await;
        let start = Instant::now();
        while !is_gone(group) && start.elapsed() < Duration::from_secs(5) {
            sleep(Duration::from_millis(5)).await;
        }
        fake.assert_gone().await;
        assert_process_gone(fake.number("grandchild").await);
    }
}
