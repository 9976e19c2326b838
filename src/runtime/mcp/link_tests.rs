use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::test_server::{Fake, QUICK};
use super::{Allows, Link, McpError, Patience, Transport};

const PATIENT: Patience =
    Patience { idle: Duration::from_secs(10), total: Duration::from_secs(30) };

/// Connects to a fake server, after a listing or without one.
async fn open(fake: &Fake, allows: Allows) -> Link {
    let transport = Transport::Stdio(fake.launch.clone());
    Link::open(&transport, allows, &QUICK).await.unwrap()
}

fn args(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value}") };
    map
}

/// One call of a server that does `body` after the handshake.
async fn call(body: &str, patience: Patience) -> Option<Result<Map<String, Value>, McpError>> {
    let fake = Fake::new(&format!("welcome()\n{body}"))?;
    let link = open(&fake, Allows::default()).await;
    let answer = link.call("tool", args(json!({"a": 1})), patience, &Notify::new()).await;
    link.close().await;
    fake.assert_gone().await;
    Some(answer)
}

#[tokio::test]
async fn a_result_comes_back_as_it_was_sent() {
    let body = r#"
r = request()
p = r["params"]
answer(r, {"content": [{"type": "hologram", "got": [p["name"], p["arguments"]]}], "x": [1, None]})
read()
"#;
    let Some(answer) = call(body, PATIENT).await else { return };
    let expected =
        json!({"content": [{"type": "hologram", "got": ["tool", {"a": 1}]}], "x": [1, null]});
    assert_eq!(Value::Object(answer.unwrap()), expected);
}

#[tokio::test]
async fn answers_that_are_none_are_errors() {
    let check = async |body: &str, expected: &str| {
        let Some(answer) = call(body, PATIENT).await else { return };
        let error = answer.unwrap_err().to_string();
        assert!(error.contains(expected), "{body}: {error}");
    };
    let refuse = "r = request()\nsend({'jsonrpc': '2.0', 'id': r['id'], 'error': {'code': -32602, 'message': 'no such tool'}})\nread()";
    check(refuse, "server refused tools/call: no such tool (code -32602)").await;
    check(
        "request()\nsys.stderr.write('boom')\nsys.exit(3)",
        "with exit code 3; stderr ends: boom",
    )
    .await;
    check("r = request()\nanswer(r, [1])\nread()", "tools/call got no object").await;
    check("request()\nos.close(1)\ntime.sleep(600)", "closed its output").await;
}

#[tokio::test]
async fn an_answer_to_another_request_is_nobodys() {
    let body = r#"
r = request()
send({"jsonrpc": "2.0", "id": 41, "result": {"content": []}})
read()
time.sleep(600)
"#;
    let short = Patience { idle: Duration::from_millis(300), ..PATIENT };
    let Some(answer) = call(body, short).await else { return };
    let error = answer.unwrap_err();
    assert!(matches!(error, McpError::Timeout { .. }), "{error}");
    assert!(error.to_string().contains("a message answers nothing that was asked"), "{error}");
}

/// What the server was told, in the order in which it was told.
const TELL: &str = r#"
import select
def told():
    while select.select([sys.stdin], [], [], 5)[0]:
        line = sys.stdin.readline()
        if not line:
            break
        m = json.loads(line)
        if m.get("method") == "notifications/cancelled":
            open("told", "w").write(json.dumps(m["params"]["requestId"]))
            break
"#;

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server_and_the_link_goes_on() {
    let body = format!(
        "{TELL}\nr = request()\ntold()\nanswer(r, {{'content': ['late']}})\nr = request()\n\
         answer(r, {{'content': ['second']}})\nread()"
    );
    let Some(fake) = Fake::new(&format!("welcome()\n{body}")) else { return };
    let link = open(&fake, Allows::default()).await;
    let short = Patience { idle: Duration::from_millis(300), ..PATIENT };
    let start = Instant::now();
    let error = link.call("tool", Map::new(), short, &Notify::new()).await.unwrap_err();
    assert!(matches!(error, McpError::Timeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(!link.is_dead());
    // The late answer is not taken for that of the next call.
    let second = link.call("tool", Map::new(), PATIENT, &Notify::new()).await.unwrap();
    assert_eq!(second["content"], json!(["second"]));
    assert!(fake.number("told").await > 0);
    link.close().await;
    fake.assert_gone().await;
}

#[tokio::test]
async fn a_stopped_call_ends_at_once_and_its_server_is_told() {
    let body = format!("welcome()\n{TELL}\nrequest()\nopen('got', 'w').write('1')\ntold()\nread()");
    let Some(fake) = Fake::new(&body) else { return };
    let link = open(&fake, Allows::default()).await;
    let stop = Arc::new(Notify::new());
    let stopping = async {
        fake.number("got").await;
        stop.notify_one();
    };
    let start = Instant::now();
    let patience = Patience { idle: Duration::from_secs(600), total: Duration::from_secs(600) };
    let (answer, ()) = tokio::join!(link.call("tool", Map::new(), patience, &stop), stopping);
    assert_eq!(answer, Err(McpError::Stopped));
    assert!(start.elapsed() < Duration::from_secs(10), "it waited for the server");
    assert!(fake.number("told").await > 0);
    link.close().await;
    fake.assert_gone().await;
}

const WORKING: &str = r#"
def work(steps, each, value):
    r = request()
    token = r["params"]["_meta"]["progressToken"]
    for step in range(steps):
        time.sleep(each)
        params = {"progressToken": token, "progress": value(step), "message": "x"}
        notify("notifications/progress", params)
    answer(r, {"content": []})
"#;

#[tokio::test]
async fn progress_that_grows_keeps_a_call_alive_up_to_its_whole_time() {
    let check = async |steps: &str, patience: Patience, lives: bool| {
        let Some(answer) = call(&format!("{WORKING}\nwork({steps})\nread()"), patience).await
        else {
            return;
        };
        assert_eq!(answer.is_ok(), lives, "{steps}: {answer:?}");
    };
    let idle = |ms| Patience { idle: Duration::from_millis(ms), ..PATIENT };
    check("6, 0.4, lambda n: n + 1", idle(1_000), true).await;
    // The same again is no progress, and nothing is none either.
    check("6, 0.4, lambda n: 7", idle(1_000), false).await;
    check("0, 0.4, lambda n: n", idle(1_000), true).await;
    let whole = Patience { idle: Duration::from_secs(5), total: Duration::from_millis(900) };
    check("40, 0.1, lambda n: n + 1", whole, false).await;
}

#[tokio::test]
async fn a_changed_list_is_counted() {
    let body = r#"
welcome()
tools(tool("a"))
notify("notifications/tools/list_changed")
notify("notifications/tools/list_changed")
tools(tool("a"), tool("b"))
read()
"#;
    let Some(fake) = Fake::new(body) else { return };
    let link = open(&fake, Allows::default()).await;
    assert_eq!(link.tools(QUICK.request).await.unwrap().len(), 1);
    let start = Instant::now();
    while link.changes() < 2 && start.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(link.changes(), 2);
    assert_eq!(link.tools(QUICK.request).await.unwrap().len(), 2);
    link.close().await;
}

#[tokio::test]
async fn a_server_may_ask_only_for_what_is_allowed() {
    let body = r#"
first = request()
can = first["params"]["capabilities"]
answer(first, WELCOME)
r = request()
form = {"properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}}
form = call("elicitation/create", {"message": "?", "requestedSchema": form})
sample = call("sampling/createMessage", {"messages": []})
answer(r, {"content": [can, form.get("result"), form.get("error"), sample.get("error")]})
read()
"#;
    let none = json!({"code": -32601, "message": "method not found"});
    for (allows, can, form, error) in [
        (Allows::default(), json!({}), Value::Null, none.clone()),
        (
            Allows { elicitation: true },
            json!({"elicitation": {"form": {}}}),
            json!({"action": "accept", "content": {"a": "x"}}),
            Value::Null,
        ),
    ] {
        let Some(fake) = Fake::new(body) else { return };
        let link = open(&fake, allows).await;
        let answer = link.call("tool", Map::new(), PATIENT, &Notify::new()).await.unwrap();
        assert_eq!(answer["content"], json!([can, form, error, none]), "{allows:?}");
        link.close().await;
    }
}

#[tokio::test]
async fn calls_may_run_at_once_and_each_gets_its_own_answer() {
    let body = r#"
welcome()
both = [request(), request()]
for r in reversed(both):
    answer(r, {"content": [r["params"]["arguments"]["n"]]})
read()
"#;
    let Some(fake) = Fake::new(body) else { return };
    let link = open(&fake, Allows::default()).await;
    let stop = Notify::new();
    let one = link.call("tool", args(json!({"n": 1})), PATIENT, &stop);
    let two = link.call("tool", args(json!({"n": 2})), PATIENT, &stop);
    let (one, two) = tokio::join!(one, two);
    assert_eq!(one.unwrap()["content"], json!([1]));
    assert_eq!(two.unwrap()["content"], json!([2]));
    link.close().await;
}
