use serde_json::json;

use super::*;

fn operation(section: &str) -> Result<Operation, Vec<Wrong>> {
    let section = crate::base::document::Document::parse("t.yaml", section).unwrap().value;
    Operation::parse(&serde_json::from_value(section).unwrap())
}

/// The request as one text: method, address, headers, body.
#[track_caller]
fn check(section: &str, args: Value, expected: &str) {
    let found = match operation(section).unwrap().request(&args) {
        Err(fault) => fault.to_string(),
        Ok(request) => {
            let mut text = format!("{} {}", request.method.name(), request.url());
            for (name, pieces) in &request.headers {
                text.push_str(&format!(" | {name}: {pieces:?}"));
            }
            if let Some(body) = &request.body {
                text.push_str(&format!(" | {} {}", body.media_type, body.text));
            }
            text
        }
    };
    assert_eq!(found, expected);
}

#[test]
fn arguments_make_a_request() {
    let get = "{method: GET, url: 'https://a.example/i/{id}', query: {q: '{q}', 'a b': 'x{q}'}}";
    check(get, json!({"id": 1}), "GET https://a.example/i/1");
    check(get, json!({"id": 1, "q": null}), "GET https://a.example/i/1");
    check(
        get,
        json!({"id": 1, "q": "&c=d"}),
        "GET https://a.example/i/1?a%20b=x%26c%3Dd&q=%26c%3Dd",
    );
    check(
        get,
        json!({"id": 1, "q": ["a", 2]}),
        "GET https://a.example/i/1?a%20b=xa&a%20b=x2&q=a&q=2",
    );
    check(get, json!({"id": 1, "q": []}), "GET https://a.example/i/1");
    check(get, json!({"id": 1, "q": {"a": 1}}), "`q` holds what is no single value");
    check(get, json!({}), "`id` is missing");
}

#[test]
fn bodies_hold_what_is_named_or_what_is_left() {
    let post =
        |body: &str| format!("{{method: POST, url: 'http://a.example:80/{{id}}', body: {body}}}");
    let args = || json!({"id": 1, "b": [1, {"c": null}], "a": "x y"});
    let start = "POST http://a.example/1 | application/";
    check(
        &post("{format: json}"),
        args(),
        &format!("{start}json {}", r#"{"a":"x y","b":[1,{"c":null}]}"#),
    );
    check(
        &post("{format: json, of: [a, id, z]}"),
        args(),
        &format!("{start}json {}", r#"{"a":"x y","id":1}"#),
    );
    check(&post("{format: form}"), args(), "`b` holds what is no single value");
    let form = format!("{start}x-www-form-urlencoded a=x%20y&b=1&b=2");
    check(&post("{format: form}"), json!({"id": 1, "b": [1, 2], "a": "x y"}), &form);
    check(&post("{format: json}"), json!({"id": 1}), &format!("{start}json {{}}"));
}

#[test]
fn what_an_argument_says_in_a_header_is_text() {
    let head = "{method: HEAD, url: 'https://a.example:8443', headers: {A: 'B ${secret:K}', \
                X-T: '{t}!'}}";
    let secret = r#"HEAD https://a.example:8443/ | A: [Text("B "), Secret("K")]"#;
    check(head, json!({}), secret);
    let text = format!(r#"{secret} | X-T: [Text("${{secret:K}}"), Text("!")]"#);
    check(head, json!({"t": "${secret:K}"}), &text);
    for bad in ["a\r\nB: c", "\n", "\0", "a\u{7f}", "\u{85}"] {
        check(head, json!({"t": bad}), "`t` holds a control character");
    }
    check(head, json!({"t": ["a"]}), "`t` is no single value");
}

#[test]
fn sections_that_mean_nothing() {
    let check = |section: &str, expected: &[&str]| {
        let found = operation(section).unwrap_err();
        let found: Vec<String> =
            found.iter().map(|wrong| format!("{} {}", wrong.at, wrong.message)).collect();
        assert_eq!(found, expected);
    };
    check(
        "{method: GET, url: x, query: {a/b: '{', k: '${secret:K}'}, headers: {h: '}'}, \
         body: {format: json}}",
        &[
            "/query/a~1b a brace is not closed, or has no name in it",
            "/headers/h a brace is not closed, or has no name in it",
            "/query/k the secret `K` may stand in a header alone",
            "/body a request with GET has no body",
            "/url an address begins with `https://` or `http://`",
        ],
    );
}
