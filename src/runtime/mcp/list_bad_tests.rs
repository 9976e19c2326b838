use std::path::PathBuf;
use std::time::Duration;

use super::test_server::{QUICK, run};
use super::{Deadlines, Launch, MAX_PAGES, MAX_TOOLS, McpError, Phase, list_tools};

/// What a test may take on top of the deadlines on a loaded machine, starting Python included.
const SLACK: Duration = Duration::from_secs(2);

async fn fail(body: &str, deadlines: &Deadlines) -> Option<(McpError, Duration)> {
    let (outcome, took) = run(body, deadlines).await?;
    let error = outcome.map(|listing| listing.tools.len()).expect_err(body);
    Some((error, took))
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let launch = Launch { program: "no-such-server-at-all".into(), ..Launch::default() };
    let error = list_tools(&launch, &QUICK).await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot start `no-such-server-at-all`: No such file"), "{text}");
    let launch = Launch { program: "true".into(), cwd: Some(PathBuf::from("/no/such")), ..launch };
    let error = list_tools(&launch, &QUICK).await.unwrap_err();
    let reason = "working folder /no/such does not exist".to_owned();
    assert_eq!(error, McpError::Spawn { program: "true".into(), reason });
    for launch in [
        Launch { args: vec!["a\0b".into()], cwd: None, ..launch.clone() },
        Launch { env: vec![("A".into(), "a\0b".into())], cwd: None, ..launch.clone() },
        Launch { program: String::new(), cwd: None, ..launch.clone() },
    ] {
        let error = list_tools(&launch, &QUICK).await.unwrap_err();
        assert!(matches!(error, McpError::Spawn { .. }), "{error}");
    }
}

#[tokio::test]
async fn hanging_at_start_times_out() {
    let after = Duration::from_millis(1500);
    let deadlines = Deadlines { start: after, ..QUICK };
    let body = "sys.stderr.write('waiting for a licence')\nsys.stderr.flush()\ntime.sleep(600)\n";
    let Some((error, took)) = fail(body, &deadlines).await else { return };
    let stderr = "waiting for a licence".to_owned();
    assert_eq!(error, McpError::Timeout { phase: Phase::Start, after, hint: None, stderr });
    assert!(took < after + QUICK.stop + SLACK, "{took:?}");
}

#[tokio::test]
async fn hanging_at_a_page_times_out() {
    let after = Duration::from_millis(300);
    let deadlines = Deadlines { request: after, ..QUICK };
    for (body, page) in [
        ("welcome()\nwhile True: read()\n", 1),
        ("welcome()\ntools(tool('a'), nextCursor='x')\nwhile True: read()\n", 2),
    ] {
        let Some((error, took)) = fail(body, &deadlines).await else { return };
        let (phase, stderr) = (Phase::Page(page), String::new());
        assert_eq!(error, McpError::Timeout { phase, after, hint: None, stderr });
        assert!(took < after + QUICK.stop + SLACK, "{took:?}");
    }
}

#[tokio::test]
async fn a_server_that_dies_is_reported_with_its_last_words() {
    for (body, phase, status) in [
        ("sys.exit('no API key')", Phase::Start, "exit code 1"),
        ("request(); sys.stderr.write('no API key'); sys.exit(3)", Phase::Start, "exit code 3"),
        ("request(); raw(b'{\"jsonrpc\":'); sys.exit('no API key')", Phase::Start, "exit code 1"),
        ("welcome(); request(); sys.exit('no API key')", Phase::Page(1), "exit code 1"),
        (
            "welcome(); tools(nextCursor='x'); request(); sys.stderr.write('no API key')
sys.stderr.flush(); os.kill(os.getpid(), signal.SIGKILL)",
            Phase::Page(2),
            "signal 9",
        ),
        // Not the server itself but its child holds the streams open.
        ("subprocess.Popen(['sleep', '600']); sys.exit('no API key')", Phase::Start, "exit code 1"),
    ] {
        let Some((error, took)) = fail(body, &QUICK).await else { return };
        let McpError::Exited { phase: got, status: ended, stderr } = error else {
            panic!("{body}: {error}")
        };
        assert_eq!((got, ended.as_str(), stderr.trim()), (phase, status, "no API key"), "{body}");
        assert!(took < QUICK.stop + SLACK, "{body}: {took:?}");
    }
}

#[tokio::test]
async fn a_shell_script_that_dies_is_reported() {
    let args = vec!["-c".to_owned(), "echo hello; echo 'not found' >&2; exit 127".to_owned()];
    let launch = Launch { program: "sh".into(), args, ..Launch::default() };
    let error = list_tools(&launch, &QUICK).await.unwrap_err();
    let text = "server ended during initialize with exit code 127; stderr ends: not found";
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn closing_the_output_is_not_waited_for() {
    let body = "request()\nos.close(1)\ntime.sleep(600)\n";
    let Some((error, took)) = fail(body, &QUICK).await else { return };
    assert!(matches!(&error, McpError::Protocol { reason, .. } if reason.contains("closed")));
    assert!(took < QUICK.stop + SLACK, "{took:?}");
}

#[tokio::test]
async fn endless_garbage_times_out() {
    let after = Duration::from_millis(1500);
    let deadlines = Deadlines { start: after, ..QUICK };
    let body = "while True: raw(b'garbage\\n' * 100)\n";
    let Some((error, took)) = fail(body, &deadlines).await else { return };
    let McpError::Timeout { phase: Phase::Start, hint: Some(hint), .. } = error else {
        panic!("{error}")
    };
    assert!(hint.ends_with("lines on stdout were no JSON-RPC, the first: garbage"), "{hint}");
    assert!(took < after + QUICK.stop + SLACK, "{took:?}");
}

#[tokio::test]
async fn an_endless_line_is_cut_off() {
    let body = "while True: raw(b'x' * 1000000)\n";
    let Some((error, _)) = fail(body, &QUICK).await else { return };
    let McpError::Protocol { reason, .. } = error else { panic!("{error}") };
    assert_eq!(reason, "a line on stdout is longer than 67108864 bytes");
}

#[tokio::test]
async fn invalid_answers_fail_at_once() {
    let start = "m = request(); i = m['id']\n";
    let page = "welcome(); m = request(); i = m['id']\n";
    for (before, body, reason) in [
        (start, r#"send({"id": i, "result": WELCOME})"#, "not marked JSON-RPC 2.0"),
        (start, r#"send({"jsonrpc": "1.0", "id": i, "result": {}})"#, "not marked JSON-RPC 2.0"),
        (start, r#"send({"jsonrpc": "2.0", "id": i})"#, "has no result and no error"),
        (start, r#"answer(m, "hello")"#, "initialize got no object"),
        (start, r#"answer(m, {"tools": []})"#, "names no protocolVersion"),
        (start, r#"raw(b'{"jsonrpc":"2.0","id":0,"result":{"a":NaN}}\n')"#, "is not JSON"),
        (page, r#"answer(m, None)"#, "tools/list got no object"),
        (page, r#"answer(m, {})"#, "has no tools array"),
        (page, r#"answer(m, {"tools": {"a": tool("a")}})"#, "has no tools array"),
        (page, r#"answer(m, {"tools": [], "nextCursor": 7})"#, "nextCursor is no string but 7"),
        (page, r#"raw(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[}}\n')"#, "is not JSON"),
        (page, r#"raw(b'{"jsonrpc":"2.0","id":1,"result":{"x":"\xff"}}\n')"#, "is not JSON"),
        (page, r#"raw(b'{"jsonrpc":"2.0","id":1,"result":' + b'[' * 9999 + b'\n')"#, "not JSON"),
        (
            page,
            r#"[send({"jsonrpc": "2.0", "id": n, "method": "ping"}) for n in range(1001)]"#,
            "made more than 1000 requests",
        ),
    ] {
        let body = format!("{before}{body}\nwhile True: read()\n");
        let Some((error, took)) = fail(&body, &QUICK).await else { return };
        let phase = if before == start { Phase::Start } else { Phase::Page(1) };
        let McpError::Protocol { phase: got, reason: text, .. } = error else {
            panic!("{body}: {error}")
        };
        assert!(text.contains(reason) && got == phase, "{body}: {got} {text}");
        assert!(took < QUICK.stop + SLACK, "{body}: {took:?}");
    }
}

#[tokio::test]
async fn an_answer_to_nothing_becomes_a_hint() {
    let after = Duration::from_millis(300);
    let deadlines = Deadlines { request: after, ..QUICK };
    let body = r#"
welcome()
request()
send({"jsonrpc": "2.0", "id": "other", "result": {"tools": []}})
while True: read()
"#;
    let Some((error, _)) = fail(body, &deadlines).await else { return };
    let McpError::Timeout { hint: Some(hint), .. } = error else { panic!("{error}") };
    assert!(hint.starts_with("a message answers nothing that was asked: {"), "{hint}");
}

#[tokio::test]
async fn refusals_keep_code_and_message() {
    let tail = "\nwhile True: read()\n";
    for (body, phase, code, message) in [
        ("{'code': -32602, 'message': 'bad version'}", Phase::Start, -32602, "bad version"),
        ("'broken'", Phase::Start, 0, "broken"),
        ("{'code': 1e99, 'message': ['x']}", Phase::Start, 0, "[\"x\"]"),
        ("{'code': -32603, 'message': 'no login'}", Phase::Page(1), -32603, "no login"),
    ] {
        let before = if phase == Phase::Start { "" } else { "welcome()\n" };
        let send = "send({'jsonrpc': '2.0', 'id': request()['id'], 'error': error})";
        let body = format!("error = {body}\n{before}{send}{tail}");
        let Some((error, _)) = fail(&body, &QUICK).await else { return };
        let (message, stderr) = (message.to_owned(), String::new());
        assert_eq!(error, McpError::Refused { phase, code, message, stderr });
    }
    let body = "request()
send({'jsonrpc': '2.0', 'error': {'code': -32700, 'message': 'cannot parse'}})
while True: read()\n";
    let Some((error, _)) = fail(body, &QUICK).await else { return };
    assert!(matches!(error, McpError::Refused { code: -32700, .. }), "{error}");
}

#[tokio::test]
async fn endless_listings_are_errors() {
    let same = "welcome()\nwhile True: tools(tool('a'), nextCursor='again')\n";
    let Some((error, _)) = fail(same, &QUICK).await else { return };
    assert_eq!(error, McpError::PageLoop { cursor: "again".into() });

    let exact = format!("welcome()\ntools(*[tool('a')] * {MAX_TOOLS})\nread()\n");
    let Some((outcome, _)) = run(&exact, &QUICK).await else { return };
    assert_eq!(outcome.map(|listing| listing.tools.len()), Ok(MAX_TOOLS));

    let many = format!("welcome()\ntools(*[tool('a')] * {MAX_TOOLS}, nextCursor='x')\n");
    let many = many + "tools(tool('b'))\nread()\n";
    let Some((error, _)) = fail(&many, &QUICK).await else { return };
    assert_eq!(error, McpError::TooManyTools { limit: MAX_TOOLS });

    let pages = "welcome()\nn = 0\nwhile True:\n    n += 1\n    tools(nextCursor=str(n))\n";
    let Some((error, _)) = fail(pages, &QUICK).await else { return };
    assert_eq!(error, McpError::TooManyPages { limit: MAX_PAGES });
}
