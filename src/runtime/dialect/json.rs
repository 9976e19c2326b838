//! JSON of arguments, read strictly: what a lenient reader would repair in silence is an error.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads one JSON value and nothing after it.
///
/// # Errors
/// On everything JSON does not know (such as `NaN`), on text after the value, on a key that
/// stands twice in one object, and on more than 127 levels.
pub fn read(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

/// The object that arguments are, for APIs that take nothing else; empty where they are none: what
/// was no object was rejected, and stands in its result.
pub(super) fn object(text: &str) -> Map<String, Value> {
    match read(text) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("the number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
            let Strict(value) = fields.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (read(text), expected) {
            (Ok(value), Ok(canonical)) => assert_eq!(value.to_string(), canonical),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn nothing_is_repaired() {
        check(r#" {"b": [1, -2, 1.5, null, true, "é\n"], "a": {}} "#, {
            Ok("{\"a\":{},\"b\":[1,-2,1.5,null,true,\"é\\n\"]}")
        });
        check("18446744073709551615", Ok("18446744073709551615"));
        check(r#"{"a": 1, "a": 1}"#, Err("the key \"a\" stands twice"));
        check(r#"{"a": 1, "\u0061": 2}"#, Err("stands twice"));
        check(r#"[{"x": {"deep": [{"a": 1, "b": 2, "a": 3}]}}]"#, Err("stands twice"));
        check(r#"{"a": NaN}"#, Err("expected"));
        check(r#"{"a": Infinity}"#, Err("expected"));
        check(r#"{"a": -Infinity}"#, Err("invalid number"));
        check(r#"{"a": 1e999}"#, Err("out of range"));
        check(r#"{"a": 1} {"b": 2}"#, Err("trailing"));
        check(r#"{"a": 1} thanks"#, Err("trailing"));
        check(r#"{"a": 1,}"#, Err("trailing comma"));
        check(r"{'a': 1}", Err("key must be a string"));
        check(r#"{"a": "tru"#, Err("EOF"));
        check("\"\\ud800\"", Err("hex escape"));
        check("\"a\nb\"", Err("control character"));
    }

    #[test]
    fn the_library_gives_no_meaning_to_a_key() {
        let text = r#"{"$serde_json::private::RawValue":"[1]"}"#;
        check(text, Ok(text));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&nested(127)).is_ok());
        check(&nested(128), Err("recursion limit"));
        check(&nested(100_000), Err("recursion limit"));
    }
}
