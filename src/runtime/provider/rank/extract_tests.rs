use proptest::prelude::*;
use serde_json::json;

use super::*;

/// One row: prompt, properties, required, wanted arguments.
type Row = (&'static str, Value, &'static [&'static str], Value);

fn schema(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn check(rows: Vec<Row>) {
    for (prompt, properties, required, want) in rows {
        let found = extract(prompt, &schema(&properties, required));
        assert_eq!(Value::Object(found.arguments.clone()), want, "{prompt}");
        let missing: Vec<&str> =
            required.iter().copied().filter(|r| want.get(r).is_none()).collect();
        assert_eq!(found.missing_required, missing, "{prompt}");
        for (name, range) in &found.spans {
            assert!(found.arguments.contains_key(name));
            assert!(prompt.get(range.clone()).is_some_and(|t| !t.is_empty()), "{prompt}");
        }
        let named = |n: &String| found.spans.iter().any(|(name, _)| name == n);
        assert!(found.arguments.keys().all(named), "every argument has a place: {prompt}");
    }
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn format(name: &str) -> Value {
    json!({ "type": "string", "format": name })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn number() -> Value {
    json!({ "type": "number" })
}

#[test]
fn numbers() {
    let int = |name: &str| json!({ name: integer() });
    let num = |name: &str| json!({ name: number() });
    check(vec![
        ("roll 5 dice", int("dice"), &["dice"], json!({ "dice": 5 })),
        ("it is -12.5 degrees", num("degrees"), &["degrees"], json!({ "degrees": -12.5 })),
        ("lend $1,250.75 to me", num("amount"), &["amount"], json!({ "amount": 1250.75 })),
        ("1e-9 coulomb", num("charge"), &["charge"], json!({ "charge": 1e-9 })),
        ("a loan of 3 million", int("loan"), &["loan"], json!({ "loan": 3_000_000 })),
        ("a table for four", int("guests"), &["guests"], json!({ "guests": 4 })),
        ("raise it by 2.5", int("step"), &["step"], json!({})),
        ("wait 30min", int("minutes"), &["minutes"], json!({ "minutes": 30 })),
        ("5.0 apples", int("apples"), &["apples"], json!({ "apples": 5 })),
        ("server 192.168.1.1 version 1.2.3", num("n"), &["n"], json!({})),
        ("room A12 on 2025-03-04", int("n"), &["n"], json!({})),
        ("nothing here", int("n"), &["n"], json!({})),
        ("99999999999999999999 apples", num("n"), &["n"], json!({})),
        ("1e999 apples", num("n"), &["n"], json!({})),
        (
            "a triangle with base 10 and height 5",
            json!({ "height": integer(), "base": integer() }),
            &["height", "base"],
            json!({ "base": 10, "height": 5 }),
        ),
        (
            "a box 4 wide, of depth 7 and of height 9",
            json!({ "width": integer(), "depth": integer(), "height": integer() }),
            &["width", "depth", "height"],
            json!({ "width": 4, "depth": 7, "height": 9 }),
        ),
        (
            "a triangle with sides 3, 4 and 5",
            json!({ "side1": integer(), "side2": integer(), "side3": integer() }),
            &["side1", "side2", "side3"],
            json!({ "side1": 3, "side2": 4, "side3": 5 }),
        ),
        (
            "the gcd of the two numbers 40 and 50",
            json!({ "num1": integer(), "num2": integer() }),
            &["num1", "num2"],
            json!({ "num1": 40, "num2": 50 }),
        ),
        (
            "rate it 9 or 200",
            json!({ "score": { "type": "integer", "minimum": 10, "maximum": 300 } }),
            &["score"],
            json!({ "score": 200 }),
        ),
        (
            "the mean of 1, 2.5, and 4",
            json!({ "numbers": { "type": "array", "items": number() } }),
            &["numbers"],
            json!({ "numbers": [1, 2.5, 4] }),
        ),
    ]);
}

#[test]
fn an_optional_number_needs_its_word_unless_it_has_no_rival() {
    let both = json!({ "amount": number(), "limit": integer() });
    check(vec![
        ("pay 20", both.clone(), &["amount"], json!({ "amount": 20 })),
        ("pay 20, limit 5", both.clone(), &["amount"], json!({ "amount": 20, "limit": 5 })),
        ("the 20", json!({ "limit": integer() }), &[], json!({ "limit": 20 })),
        ("the 20", json!({ "limit": integer(), "page": integer() }), &[], json!({})),
        ("the 20 of 30", json!({ "limit": integer() }), &[], json!({})),
        ("the twenty", json!({ "limit": integer() }), &[], json!({})),
    ]);
}

#[test]
fn codes_versions_and_a_single_time_find_their_parameter() {
    let times = json!({ "end_time": format("time"), "start_time": format("time") });
    check(vec![
        (
            "open M-4471 now",
            json!({ "message": string() }),
            &["message"],
            json!({ "message": "M-4471" }),
        ),
        (
            "ship v1.9.0 of it",
            json!({ "version": string() }),
            &["version"],
            json!({ "version": "v1.9.0" }),
        ),
        (
            "ship 2.7.3-rc1 today",
            json!({ "version": string() }),
            &["version"],
            json!({ "version": "2.7.3-rc1" }),
        ),
        ("on Monday, 15:00", times, &["start_time"], json!({ "start_time": "15:00" })),
    ]);
}

#[test]
fn addresses_and_paths() {
    check(vec![
        (
            "write to Bob.Lee+x@mail.example.org.",
            json!({ "to": format("email") }),
            &["to"],
            json!({ "to": "Bob.Lee+x@mail.example.org" }),
        ),
        (
            "mail from ann@x.io to bob@y.io",
            json!({ "to": format("email"), "from": format("email") }),
            &["to", "from"],
            json!({ "to": "bob@y.io", "from": "ann@x.io" }),
        ),
        (
            "fetch (https://example.com/a?b=1#c), please",
            json!({ "page": format("uri") }),
            &["page"],
            json!({ "page": "https://example.com/a?b=1#c" }),
        ),
        (
            "open \"www.example.com\" now",
            json!({ "url": string() }),
            &["url"],
            json!({ "url": "www.example.com" }),
        ),
        (
            "read /etc/hosts.",
            json!({ "path": string() }),
            &["path"],
            json!({ "path": "/etc/hosts" }),
        ),
        (
            "summarise report.pdf for me",
            json!({ "file": string() }),
            &["file"],
            json!({ "file": "report.pdf" }),
        ),
        (
            r"look at C:\Users\me\a.txt",
            json!({ "file_path": string() }),
            &["file_path"],
            json!({ "file_path": r"C:\Users\me\a.txt" }),
        ),
        (
            "copy from src/a.rs to ./out/b.rs",
            json!({ "from_path": string(), "to_path": string() }),
            &["from_path", "to_path"],
            json!({ "from_path": "src/a.rs", "to_path": "./out/b.rs" }),
        ),
        ("and/or 24/7", json!({ "path": string() }), &["path"], json!({})),
        ("no address @ all", json!({ "to": format("email") }), &["to"], json!({})),
    ]);
}

#[test]
fn dates_and_times() {
    let day = |name: &str| json!({ name: format("date") });
    check(vec![
        ("on 2025-02-28", day("day"), &["day"], json!({ "day": "2025-02-28" })),
        ("on 2025-02-30", day("day"), &["day"], json!({})),
        ("on March 5, 2024", day("day"), &["day"], json!({ "day": "2024-03-05" })),
        ("the 2nd of march 2023", day("day"), &["day"], json!({ "day": "2023-03-02" })),
        ("remind me tomorrow", day("day"), &["day"], json!({})),
        ("on 03/04/2025", day("day"), &["day"], json!({})),
        ("on 03/04/2025", json!({ "date": string() }), &["date"], json!({ "date": "03/04/2025" })),
        (
            "between 2025-01-02 and 2025-01-09",
            json!({ "end_date": format("date"), "start_date": format("date") }),
            &["end_date", "start_date"],
            json!({ "start_date": "2025-01-02", "end_date": "2025-01-09" }),
        ),
        (
            "until 2025-01-09, starting 2025-01-02",
            json!({ "end_date": format("date"), "start_date": format("date") }),
            &["end_date", "start_date"],
            json!({ "start_date": "2025-01-02", "end_date": "2025-01-09" }),
        ),
        (
            "at 2025-01-02T10:30:00Z",
            json!({ "when": format("date-time") }),
            &["when"],
            json!({ "when": "2025-01-02T10:30:00Z" }),
        ),
        ("at 5 pm", json!({ "time": string() }), &["time"], json!({ "time": "17:00" })),
        ("at 12:05 a.m.", json!({ "time": string() }), &["time"], json!({ "time": "00:05" })),
        ("at 25:00", json!({ "time": format("time") }), &["time"], json!({})),
        (
            "from 9:30 until 18:00",
            json!({ "start_time": string(), "end_time": string() }),
            &["start_time", "end_time"],
            json!({ "start_time": "09:30", "end_time": "18:00" }),
        ),
    ]);
}

#[test]
fn enums_and_booleans() {
    let unit = json!({ "unit": { "enum": ["celsius", "fahrenheit"] } });
    let coin = json!({ "type": "string", "enum": ["USD", "EUR", "GBP"] });
    let flag = |name: &str| json!({ name: { "type": "boolean" } });
    check(vec![
        ("in Fahrenheit please", unit.clone(), &["unit"], json!({ "unit": "fahrenheit" })),
        ("in kelvin", unit.clone(), &["unit"], json!({})),
        (
            "change 5 EUR to GBP",
            json!({ "from": coin, "to": coin }),
            &["from", "to"],
            json!({ "from": "EUR", "to": "GBP" }),
        ),
        (
            "by most recent first",
            json!({ "sort": { "enum": ["recent", "most_recent", "oldest"] } }),
            &["sort"],
            json!({ "sort": "most_recent" }),
        ),
        (
            "red and green, not mauve",
            json!({ "colors": { "type": "array", "items": { "enum": ["green", "red"] } } }),
            &["colors"],
            json!({ "colors": ["red", "green"] }),
        ),
        ("level 2", json!({ "level": { "enum": [1, 2, 3] } }), &["level"], json!({ "level": 2 })),
        ("a c B", json!({ "plan": { "enum": ["A", "B"] } }), &["plan"], json!({ "plan": "B" })),
        ("list it recursively", flag("recursive"), &[], json!({ "recursive": true })),
        ("without recursion, not recursive", flag("recursive"), &[], json!({ "recursive": false })),
        ("include hidden files", flag("include_hidden"), &[], json!({ "include_hidden": true })),
        ("no hidden files", flag("include_hidden"), &[], json!({ "include_hidden": false })),
        ("set verbose to false", flag("verbose"), &[], json!({ "verbose": false })),
        ("a verbose story", flag("verbose"), &[], json!({})),
        ("without cache", flag("no_cache"), &[], json!({ "no_cache": true })),
        ("with cache", flag("no_cache"), &[], json!({ "no_cache": false })),
        ("list files", flag("recursive"), &["recursive"], json!({})),
    ]);
}

#[test]
fn quotes_and_phrases() {
    let one = |name: &str| json!({ name: string() });
    check(vec![
        ("say \"hello there\"", one("text"), &["text"], json!({ "text": "hello there" })),
        ("say 'it's me'!", one("text"), &["text"], json!({ "text": "it's me" })),
        ("sage „ja“ «oui»", one("text"), &["text"], json!({ "text": "oui" })),
        ("run `ls -la`", one("command"), &["command"], json!({ "command": "ls -la" })),
        ("say “grüß Gott”", one("text"), &["text"], json!({ "text": "grüß Gott" })),
        ("say \"hello", one("text"), &["text"], json!({})),
        (
            "subject \"Hi\" and body \"See you\"",
            json!({ "body": string(), "subject": string() }),
            &["body", "subject"],
            json!({ "subject": "Hi", "body": "See you" }),
        ),
        (
            "weather in San Francisco, CA please",
            one("location"),
            &["location"],
            json!({ "location": "San Francisco, CA" }),
        ),
        ("wetter in Zürich", one("city"), &["city"], json!({ "city": "Zürich" })),
        (
            "papers about the history of Rome",
            one("topic"),
            &["topic"],
            json!({ "topic": "history of Rome" }),
        ),
        ("what about tomorrow", one("topic"), &["topic"], json!({})),
        ("hello", one("topic"), &["topic"], json!({})),
        ("weather in Oslo", one("city"), &[], json!({})),
        ("ticket ABC-123", one("ticket_id"), &["ticket_id"], json!({ "ticket_id": "ABC-123" })),
        ("close issue #42", json!({ "issue": integer() }), &["issue"], json!({ "issue": 42 })),
        ("zip 94103", one("zip"), &["zip"], json!({ "zip": "94103" })),
        (
            "ids \"abc\" and \"ABC-1\"",
            json!({ "code": { "type": "string", "pattern": "^[A-Z]+-\\d+$" } }),
            &["code"],
            json!({ "code": "ABC-1" }),
        ),
        (
            "tags \"a b\", \"c\" and \"d\"",
            json!({ "tags": { "type": "array", "items": string() } }),
            &["tags"],
            json!({ "tags": ["a b", "c", "d"] }),
        ),
        (
            "integrate it with the simpson rule",
            json!({ "method": { "type": "string", "description": "'simpson' or 'trapezoid'" } }),
            &[],
            json!({ "method": "simpson" }),
        ),
    ]);
}

#[test]
fn schemas_of_other_shapes() {
    let prompt = "send 5 to bob@example.com";
    for odd in [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({ "properties": 5, "required": 7 }),
        json!({ "properties": { "a": 5, "b": null, "c": [] }, "required": ["a", 3, {}] }),
        json!({ "properties": { "a": { "$ref": "#" } }, "required": ["zz"] }),
        json!({ "properties": { "a": { "type": "object" } } }),
        json!({ "properties": { "": { "type": "boolean" }, "__": { "type": "boolean" } } }),
        json!({ "properties": { "a": { "type": "string", "pattern": "([" } } }),
        json!({ "properties": { "a": { "enum": [null, [], {}, "", "  "] } } }),
    ] {
        assert!(extract(prompt, &odd).arguments.is_empty(), "{odd}");
    }
    let nullable = json!({
        "$defs": { "mail": { "type": ["null", "string"], "format": "email" } },
        "properties": {
            "to": { "$ref": "#/$defs/mail" },
            "n": { "anyOf": [{ "type": "null" }, { "type": "integer" }] },
        },
        "required": ["n", "to", "gone"],
    });
    let found = extract(prompt, &nullable);
    assert_eq!(Value::Object(found.arguments), json!({ "n": 5, "to": "bob@example.com" }));
    assert_eq!(found.missing_required, ["gone"]);
    assert_eq!(found.spans, [("n".to_string(), 5..6), ("to".to_string(), 10..25)]);
}

/// Every kind of parameter at once.
fn everything() -> Value {
    schema(
        &json!({
            "count": integer(), "price": number(), "text": string(), "to": format("email"),
            "url": format("uri"), "path": string(), "day": format("date"), "time": string(),
            "when": format("date-time"), "unit": { "enum": ["km", "mile"] },
            "recursive": { "type": "boolean" }, "ids": { "type": "array", "items": integer() },
            "tags": { "type": "array", "items": string() }, "city": string(),
        }),
        &["count", "price", "text", "to", "url", "path", "day", "unit", "ids", "city"],
    )
}

#[test]
fn hostile_prompts_are_survived() {
    let mb = 1 << 20;
    for prompt in [
        "\"".repeat(mb),
        "'".repeat(mb),
        "a'b ".repeat(mb / 4),
        "(".repeat(mb),
        "9".repeat(mb),
        "1 ".repeat(mb / 2),
        "-".repeat(mb),
        "/".repeat(mb),
        "a/".repeat(mb / 2),
        "a.b@".repeat(mb / 4),
        "in the ".repeat(mb / 7),
        "of Rome ".repeat(mb / 8),
        "é".repeat(mb / 2),
        "\u{202E}\u{0}".repeat(mb / 4),
        "km recursive count 5 ".repeat(mb / 21),
        "2025-01-02T".repeat(mb / 11),
        "\"a\" ".repeat(mb / 4),
    ] {
        let found = extract(&prompt, &everything());
        assert!(found.spans.iter().all(|(_, r)| prompt.get(r.clone()).is_some()));
    }
}

fn any_prompt() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("in Berlin".to_string()),
        Just("\"".to_string()),
        Just("'x'".to_string()),
        Just("2025-01-02".to_string()),
        Just("a@b.co".to_string()),
        Just("5 pm".to_string()),
        Just("#7".to_string()),
        "[-+.,0-9/:]{0,10}",
        "\\PC{0,8}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.join(" "))
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z_#/$(\\[]{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["string", "integer", "number", "boolean", "array", "object"])
            .prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "type",
            "properties",
            "required",
            "enum",
            "items",
            "format",
            "pattern",
            "minimum",
            "anyOf",
            "$ref",
            "description",
            "maxLength",
            "const",
        ])
        .prop_map(String::from),
        "\\PC{0,6}",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn extract_never_panics(prompt in any_prompt(), schema in any_schema()) {
        let wrapped = json!({ "properties": { "a": schema.clone(), "in": schema.clone() } });
        for schema in [&schema, &wrapped, &everything()] {
            let found = extract(&prompt, schema);
            for (name, range) in &found.spans {
                prop_assert!(found.arguments.contains_key(name));
                prop_assert!(prompt.get(range.clone()).is_some());
            }
            prop_assert_eq!(&extract(&prompt, schema), &found);
        }
    }
}
