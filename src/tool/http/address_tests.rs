use proptest::prelude::*;
use serde_json::json;

use super::*;

fn filled(url: &str, args: &Value) -> Result<Place, String> {
    Address::parse(url).unwrap().fill(args).map_err(|fault| fault.to_string())
}

#[test]
fn addresses_that_are_none() {
    let check = |url: &str, expected: &str| {
        let found = Address::parse(url).unwrap_err();
        assert!(found.contains(expected), "{url}: {found}");
    };
    check("ftp://a.example/", "begins with");
    check("//a.example/", "begins with");
    check("HTTPS://a.example/", "begins with");
    check("https://a.example/x?y=1", "under `query`");
    check("https://a.example/x#y", "fragment");
    check("https://user@a.example/", "a host is a name");
    check("https://user:word@a.example/", "a port is a number");
    check("https://a.example:{port}/", "a host is a name");
    check("https://a.example:0/", "a port is a number");
    check("https://a.example:65536/", "a port is a number");
    check("https:///x", "a host is a name");
    check("https://a..example/", "a host is a name");
    check("https://é.example/", "a host is a name");
    check("https://[::1]/", "a port is a number");
    // Spellings of 127.0.0.1.
    for host in ["2130706433", "0x7f.0.0.1", "0177.0.0.1", "127.1", "0x7f000001"] {
        check(&format!("https://{host}/"), "four numbers");
    }
    check("https://a.example/../x", "leads to another path");
    check("https://a.example/x/%2e%2E/y", "leads to another path");
    check("https://a.example/a b", "no text of a path");
    check("https://a.example/%zz", "no text of a path");
    check("https://a.example/{x", "brace");
    check("https://a.example/${secret:K}", "in a header alone");
    check("https://${secret:K}.example/", "in a header alone");
}

#[test]
fn an_argument_fills_a_part_of_one_segment() {
    let check = |value: Value, expected: Result<&str, &str>| {
        let found = filled("https://A.example/v1/items/{id}/x{id}", &json!({"id": value}));
        match (&found, expected) {
            (Ok(place), Ok(part)) => {
                assert_eq!(place.path, format!("/v1/items/{part}/x{part}"));
                assert_eq!(place.host, "a.example");
            }
            (Err(found), Err(part)) => assert!(found.contains(part), "{value}: {found}"),
            _ => panic!("{value}: {found:?}"),
        }
    };
    check(json!("a b/c"), Ok("a%20b%2Fc"));
    check(json!("?x=1#y"), Ok("%3Fx%3D1%23y"));
    check(json!("@evil.example:80"), Ok("%40evil.example%3A80"));
    check(json!("a..b"), Ok("a..b"));
    check(json!("é"), Ok("%C3%A9"));
    check(json!("a\r\nb"), Ok("a%0D%0Ab"));
    check(json!(7), Ok("7"));
    check(json!(true), Ok("true"));
    for up in ["..", ".", "../x", "x/..", "a/../../b", "..\\x", "%2e%2e", "%2E", "%252e%252e%2f"] {
        check(json!(up), Err("lead out of its segment"));
    }
    check(json!("a\0b"), Err("zero byte"));
    check(json!(""), Err("is empty"));
    check(json!(null), Err("is missing"));
    check(json!(["a"]), Err("no single value"));
    check(json!({"a": 1}), Err("no single value"));
}

#[test]
fn text_beside_an_argument_makes_no_dots_with_it() {
    for (url, value) in [
        ("https://a.example/.{x}", "."),
        ("https://a.example/.{x}/y", ""),
        ("https://a.example/{x}.", "."),
        ("https://a.example/%2e{x}", "%2e"),
    ] {
        assert!(filled(url, &json!({"x": value})).is_err(), "{url} {value}");
    }
    assert_eq!(filled("https://a.example", &json!({})).unwrap().path, "/");
    assert_eq!(filled("https://a.example/x/", &json!({})).unwrap().path, "/x/");
}

#[test]
fn a_host_from_an_argument_is_a_name() {
    let check = |value: &str, expected: Option<&str>| {
        let found = filled("https://{h}.example:8443/x", &json!({"h": value}));
        assert_eq!(found.ok().map(|place| place.host).as_deref(), expected, "{value}");
    };
    check("eu", Some("eu.example"));
    check("A.b", Some("a.b.example"));
    for bad in ["", "a/", "a@b", "a:80", "a b", "é", "a#", "a?", "..", "a\\", "%41", "[::1]"] {
        check(bad, None);
    }
    let number = filled("https://{h}/", &json!({"h": "2130706433"}));
    assert!(number.is_err());
}

proptest! {
    /// What is sent has the template's segments and nothing else, for any text.
    #[test]
    fn no_value_adds_to_an_address(one in any::<String>(), two in "[./%\\\\a2eEfF5cC?#@:]{0,8}") {
        let args = json!({"one": one, "two": two});
        let Ok(place) = filled("https://a.example/v1/{one}/x-{two}", &args) else { return Ok(()) };
        prop_assert_eq!(&place.host, "a.example");
        let whole = format!("https://{}{}", place.host, place.path);
        let read = reqwest::Url::parse(&whole).unwrap();
        prop_assert_eq!(read.host_str(), Some("a.example"));
        prop_assert_eq!((read.query(), read.fragment(), read.username()), (None, None, ""));
        let segments: Vec<&str> = read.path_segments().unwrap().collect();
        prop_assert_eq!(segments.len(), 3);
        prop_assert_eq!(segments[0], "v1");
        prop_assert_eq!(read.path(), place.path);
    }
}
