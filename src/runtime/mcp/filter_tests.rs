use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::filter::{Filter, Ledger, MAX_LISTING_BYTES};

/// A ledger in which `initialize` has id 0 and `tools/list` id 1.
fn asked() -> Ledger {
    let mut ledger = Ledger::default();
    ledger.asked(br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
    ledger.asked(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    ledger.asked(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    ledger
}

struct Seen {
    forward: Vec<Value>,
    replies: Vec<Value>,
    ledger: Ledger,
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    assert!(bytes.is_empty() || bytes.ends_with(b"\n"));
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn feed<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Seen {
    let mut ledger = asked();
    let mut filter = Filter::new(limit);
    for chunk in chunks {
        filter.push(chunk, &mut ledger);
    }
    filter.finish(&mut ledger);
    Seen { forward: lines(&filter.forward), replies: lines(&filter.replies), ledger }
}

fn feed_all(text: &str) -> Seen {
    feed([text.as_bytes()], 1 << 20)
}

#[test]
fn only_tame_answers_go_on() {
    let seen = feed_all(concat!(
        r#"{"jsonrpc":"2.0","id":"0","result":{"protocolVersion":"2024-11-05","#,
        r#""capabilities":{"tools":[1]},"serverInfo":{"icons":3}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1.0,"result":{"tools":[1,{"name":2}],"nextCursor":"n","x":0}}"#,
    ));
    let welcome = json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
        "serverInfo": {"name": "server", "version": "0"}});
    assert_eq!(
        seen.forward,
        [
            json!({"jsonrpc": "2.0", "id": 0, "result": welcome}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [], "nextCursor": "n"}}),
        ]
    );
    let raw = seen.ledger.welcome.unwrap();
    assert_eq!(raw["capabilities"], json!({"tools": [1]}));
    let page = json!({"tools": [1, {"name": 2}], "nextCursor": "n", "x": 0});
    assert_eq!(seen.ledger.page.map(Value::Object), Some(page));
    assert_eq!((seen.ledger.fault, seen.ledger.noise_lines), (None, 0));
}

#[test]
fn noise_is_counted_and_cut() {
    let text: String = (0..30).map(|n| format!("line {n} {}\n", "☃".repeat(300))).collect();
    let seen = feed_all(&text);
    assert_eq!(seen.ledger.noise_lines, 30);
    assert_eq!(seen.ledger.noise.len(), 20);
    assert!(seen.ledger.noise.iter().all(|line| line.chars().count() == 200));
    assert!(seen.ledger.noise[19].starts_with("line 19 ☃"));
}

#[test]
fn what_is_noise_and_what_is_not() {
    for (line, noise) in [
        ("", 0),
        (" \t\r", 0),
        ("\u{feff}", 0),
        ("hello", 1),
        ("{", 1),
        ("42", 1),
        ("\"text\"", 1),
        ("null", 1),
        ("[1]", 1),
        ("{}", 1),
        (r#"{"level":"info"}"#, 1),
        (r#"{"jsonrpc":"2.0"}"#, 1),
        (r#"{"jsonrpc": trace of a request"#, 1),
        (r#"{"method":"notifications/x"}"#, 0),
        (r#"{"jsonrpc":"2.0","id":99,"result":{}}"#, 0),
        ("DEBUG sent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 1),
    ] {
        let seen = feed_all(line);
        assert_eq!(seen.ledger.noise_lines, noise, "{line}");
        assert_eq!(seen.ledger.fault, None, "{line}");
        assert!(seen.forward.is_empty(), "{line}");
    }
}

#[test]
fn requests_are_answered_whatever_their_id() {
    let seen = feed_all(concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\n",
        "{\"id\":1,\"method\":\"roots/list\",\"params\":false}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"sampling/createMessage\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
    ));
    let ids: Vec<&Value> = seen.replies.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [&json!("x"), &json!(1), &json!(2.5)]);
    assert_eq!(seen.replies[0]["result"], json!({}));
    assert_eq!(seen.replies[1]["result"], json!({"roots": []}));
    assert_eq!(seen.replies[2]["error"]["code"], json!(-32601));
    assert!(seen.forward.is_empty());
}

#[test]
fn a_line_may_be_as_long_as_the_limit() {
    let exact = "x".repeat(64);
    let seen = feed([exact.as_bytes(), b"\n", exact.as_bytes()], 64);
    assert_eq!((seen.ledger.noise_lines, seen.ledger.fault), (2, None));
    let seen = feed([exact.as_bytes(), b"x\nmore\n"], 64);
    let reason = "a line on stdout is longer than 64 bytes".to_owned();
    assert_eq!((seen.ledger.noise_lines, seen.ledger.fault), (0, Some(reason)));
}

#[test]
fn nothing_is_read_after_a_fault() {
    let seen = feed_all(concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":0}\n",
        "noise\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}\n",
    ));
    assert!(seen.ledger.fault.is_some());
    assert_eq!((seen.ledger.noise_lines, seen.ledger.page), (0, None));
}

fn any_line() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "",
        "\r",
        "\u{feff}",
        "noise ☃",
        "{\"a\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\r",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"☃\"},null]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}",
        "[{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"x\"},3]",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":null}",
    ]);
    prop_oneof![9 => fixed.prop_map(str::to_owned), 1 => "[ -~]{0,90}"]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        text in vec(any_line(), 0..12),
        mut cuts in vec(any::<prop::sample::Index>(), 0..12),
        ends in any::<bool>(),
    ) {
        let mut bytes = text.join("\n").into_bytes();
        if ends {
            bytes.push(b'\n');
        }
        let mut at: Vec<usize> = cuts.drain(..).map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let whole = feed([bytes.as_slice()], 100);
        let parts = feed(at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]), 100);
        let single = feed(bytes.chunks(1), 100);
        for other in [parts, single] {
            prop_assert_eq!(&other.forward, &whole.forward);
            prop_assert_eq!(&other.replies, &whole.replies);
            prop_assert_eq!(&other.ledger, &whole.ledger);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
        feed(bytes.chunks(7), 64);
    }
}

/// A connection lives long: what was listed or read before counts in no later listing.
#[test]
fn each_listing_is_bounded_by_itself() {
    for (method, list) in [("tools/list", "tools"), ("resources/read", "contents")] {
        for anew in [true, false] {
            let (mut ledger, mut filter) = (Ledger::default(), Filter::new(1 << 20));
            ledger.listing_bytes = MAX_LISTING_BYTES;
            if anew {
                ledger.begin_listing();
            }
            ledger.asked(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#).as_bytes());
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {list: []}});
            filter.push(format!("{answer}\n").as_bytes(), &mut ledger);
            assert_eq!(ledger.fault.is_none(), anew, "{method}: {:?}", ledger.fault);
        }
    }
}
