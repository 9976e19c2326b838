use serde_json::json;

use super::*;

fn tools(saved: &str) -> Vec<Value> {
    parse(saved).unwrap_or_else(|error| panic!("{saved}: {error}")).snapshot.tools
}

#[test]
fn every_saved_form_gives_the_tools() {
    let expected = vec![json!({"name": "a"}), json!("odd"), json!({"name": "b"})];
    for text in [
        r#"{"tools":[{"name":"a"},"odd",{"name":"b"}],"ttlMs":5}"#,
        "\u{feff}{\n  \"tools\": [\n    {\"name\":\"a\"}, \"odd\", {\"name\":\"b\"}]\n}\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},"odd",{"name":"b"}]}}"#,
        r#"[{"name":"a"},"odd",{"name":"b"}]"#,
        "{\"tools\":[{\"name\":\"a\"},\"odd\"],\"nextCursor\":\"2\"}\n\
         {\"tools\":[{\"name\":\"b\"}]}\n",
        "{\"result\":{\"tools\":[],\"nextCursor\":\"2\"}}\r\n\n[{\"name\":\"a\"},\"odd\"]\n\
         {\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"\"}",
    ] {
        assert_eq!(tools(text), expected, "{text}");
        assert_eq!(parse(text).unwrap().notes, Vec::<String>::new(), "{text}");
    }
    let welcome = json!({"result": {"serverInfo": {"name": "s", "version": "1"},
        "protocolVersion": "2025-11-25", "capabilities": {}}});
    let saved = parse(&format!("{welcome}\n{{\"tools\":[]}}")).unwrap().snapshot;
    assert_eq!((saved.server_name.as_str(), saved.server_version.as_str()), ("s", "1"));
    assert_eq!(saved.protocol_version, "2025-11-25");
    let cut = parse(r#"{"tools":[],"nextCursor":"2"}"#).unwrap();
    assert!(cut.notes[0].contains("tools may be missing"), "{cut:?}");
}

#[test]
fn our_own_form_is_the_same_bytes_and_its_digest_is_checked() {
    let snapshot = Snapshot {
        server_name: "s\n".into(),
        server_version: "1".into(),
        protocol_version: "2025-11-25".into(),
        command: vec!["npx".into(), "-y".into(), "s@1".into()],
        tools: vec![json!({"z": 1.0, "name": "a", "n": u64::MAX}), json!(null)],
    };
    let text = snapshot.to_text();
    let expected = format!(
        "{{\n\"schema\":\"proofmark/listing@1\",\n\
         \"server\":{{\"name\":\"s\\n\",\"version\":\"1\"}},\n\
         \"protocolVersion\":\"2025-11-25\",\n\
         \"command\":[\"npx\",\"-y\",\"s@1\"],\n\"digest\":\"{}\",\n\
         \"tools\":[\n{{\"n\":18446744073709551615,\"name\":\"a\",\"z\":1.0}},\nnull\n]\n}}\n",
        snapshot.digest()
    );
    assert_eq!(text, expected);
    assert_eq!(parse(&text).unwrap(), Saved { snapshot: snapshot.clone(), notes: Vec::new() });
    assert_eq!(parse(&Snapshot::default().to_text()).unwrap(), Saved::default());
    let changed = parse(&text.replace("\"name\":\"a\"", "\"name\":\"b\"")).unwrap_err();
    assert!(matches!(changed, SnapshotError::Digest { .. }), "{changed}");
    let swapped = Snapshot { tools: snapshot.tools.iter().rev().cloned().collect(), ..snapshot };
    assert_ne!(swapped.digest().to_string(), text, "the order of tools counts");
}

#[test]
fn what_is_no_listing_is_an_error_with_a_place() {
    let own = Snapshot::default().to_text();
    for (text, message) in [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("{\"tools\":[\n1,]}", "unreadable at line 2"),
        ("tools: []", "unreadable at line 1"),
        ("{}", "page 1: no `tools`"),
        ("5", "page 1: expected an object or a list, found a number"),
        ("{\"tools\":{}}", "page 1: `tools` is an object"),
        ("[]\n{\"error\":{\"code\":1,\"message\":\"no\"}}", "page 2: the server answered with an"),
        (&own.replace("listing@1", "listing@2"), "not a proofmark/listing@1 file"),
        (&own.replace("\"server\"", "\"sever\""), "unknown field `sever`"),
        (
            &own.replace("\"digest\":\"sha256:", "\"digest\":\"sha256:0"),
            "not those that were listed",
        ),
        (&format!("[]\n{own}"), "page 2: a listing of ours is a whole file"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}
