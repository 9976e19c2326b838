use crate::tool::manifest;

const TOOL: &str = "\
schema: proofmark/tool@1
toolId: item.get
description: {summary: Return one item of the store.}
intent: {actionTypes: [read]}
schemas: {inputSchema: {type: object, properties: {id: {}, q: {}}, required: [id]}}
effects: {reads: ['api:items'], writes: [], externalCalls: true}
credentials: {strategy: service_account, requiredSecrets: [KEY]}
sandbox: {mode: remote_api, network: {egressPolicy: allowlist, allowDomains: [a.example]}}
execution:
  adapter: http
  http:
    method: GET
    url: https://a.example/items/{id}
    query: {q: '{q}'}
    headers: {Authorization: 'Bearer ${secret:KEY}'}
";

/// The problems of the tool with some of its text replaced.
#[track_caller]
fn check(changes: &[(&str, &str)], expected: &[&str]) {
    let mut text = TOOL.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let problems = manifest::parse("t.yaml", &text).err().unwrap_or_default();
    let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{changes:?}");
}

#[test]
fn an_operation_reads_back_as_it_was_written() {
    let tool = manifest::parse("t.yaml", TOOL).unwrap();
    let long = serde_json::to_string(&tool).unwrap();
    assert_eq!(manifest::parse("t.json", &long).unwrap(), tool);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    check(&[], &[]);
    check(
        &[("/{id}", "/{di}")],
        &[
            "t.yaml:12:5: the argument `id` is bound nowhere, and would be dropped",
            "t.yaml:13:10: the input schema has no property `di`",
        ],
    );
    check(
        &[("required: [id]", "required: []")],
        &["t.yaml:13:10: `id` is not required, and an address needs all its parts"],
    );
    check(
        &[("'{q}'", "'{z}'")],
        &[
            "t.yaml:12:5: the argument `q` is bound nowhere, and would be dropped",
            "t.yaml:14:16: the input schema has no property `z`",
        ],
    );
    check(
        &[("method: GET", "method: GET\n    body: {format: json}")],
        &["t.yaml:13:11: a request with GET has no body"],
    );
    check(
        &[("method: GET", "method: POST\n    body: {format: json, of: [x]}")],
        &["t.yaml:13:31: the input schema has no property `x`"],
    );
    check(
        &[("method: GET", "method: FETCH")],
        &[
            "t.yaml:12:13: \"FETCH\" is not one of \"GET\", \"HEAD\", \"POST\", \"PUT\", \"PATCH\", \
         \"DELETE\"",
        ],
    );
    check(
        &[("method: GET", "metod: GET")],
        &[
            "t.yaml:12:5: missing required key `method`",
            "t.yaml:12:5: unknown key `metod`; did you mean `method`?",
        ],
    );
    check(
        &[("adapter: http", "adapter: cli\n  command: [ls]")],
        &["t.yaml:13:5: `http` is a key of the adapter `http` alone"],
    );
    check(
        &[("adapter: http\n", "adapter: http\n  command: [ls]\n")],
        &["t.yaml:11:12: an HTTP operation runs no program"],
    );
}

#[test]
fn credentials_go_to_one_host_and_encrypted() {
    let plain = ("https://a.example", "http://a.example");
    check(&[plain], &["t.yaml:13:10: a credential would be sent in the open; write `https://`"]);
    check(&[plain, ("a.example", "a.test")], &[]);
    check(&[plain, ("Bearer ${secret:KEY}", "none")], &[]);
    check(
        &[("[KEY]", "[OTHER]")],
        &["t.yaml:15:30: the secret `KEY` is not in `credentials.requiredSecrets`"],
    );
    check(
        &[("service_account", "none")],
        &["t.yaml:7:14: a credential is used, and the strategy is `none`"],
    );
    check(
        &[("'{q}'", "'${secret:KEY}{q}'")],
        &["t.yaml:14:16: the secret `KEY` may stand in a header alone"],
    );
    let open = ("https://a.example/items/{id}", "https://{id}.a.example/");
    check(
        &[open],
        &["t.yaml:13:10: a credential goes to one host, and here an argument says which"],
    );
    let free = ("Bearer ${secret:KEY}", "none");
    check(&[open, free], &[]);
    check(
        &[open, free, ("egressPolicy: allowlist", "egressPolicy: open")],
        &["t.yaml:13:10: an argument says which host is called; that needs \
         `sandbox.network.egressPolicy: allowlist`"],
    );
}

#[test]
fn headers_are_the_authors_own() {
    let header = |name: &str, text: &str| {
        ("Authorization: 'Bearer ${secret:KEY}'".to_owned(), format!("{name}: {text}"))
    };
    for (name, text, expected) in [
        ("'a b'", "x", "`a b` is no name of a header"),
        ("''", "x", "`` is no name of a header"),
        ("Host", "x", "the header `Host` is set by the runtime alone"),
        ("Transfer-Encoding", "x", "the header `Transfer-Encoding` is set by the runtime alone"),
        ("A", "\"x\\r\\ny\"", "it holds a control character"),
        ("a", "x, A: y", "the header `a` stands here twice"),
    ] {
        let (from, to) = header(name, text);
        let text = TOOL.replace(&from, &to);
        let problems = manifest::parse("t.yaml", &text).unwrap_err();
        assert!(problems[0].to_string().contains(expected), "{problems:?}");
    }
    let body = "method: POST\n    body: {format: json}\n    idempotencyHeader: Idempotency-Key";
    check(
        &[("method: GET", body), ("Authorization: 'Bearer", "content-type: 'x")],
        &[
            "t.yaml:14:24: only an idempotent tool has a key; set `effects.idempotent`",
            "t.yaml:17:29: the body says what its type is",
        ],
    );
}
