//! Canonical JSON (RFC 8785): the one text of a value, for digests and equality.

use serde_json::{Number, Value};

use super::digest::Digest;

/// Why a value has no canonical text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonError {
    /// An integer that a double cannot hold. RFC 8785 would round it, so that two different
    /// values would share one text.
    #[error("the integer {0} is beyond 2^53-1 and has no canonical form; pass it as a string")]
    BigInteger(String),
    /// The serializer refused the value (a number that is not finite).
    #[error("no canonical form: {0}")]
    Unserializable(String),
}

const SAFE: i64 = (1 << 53) - 1;

/// The RFC 8785 text of `value`.
///
/// # Errors
/// `BigInteger` for integers beyond ±(2^53−1), which RFC 8785 itself would silently round.
pub fn canonical(value: &Value) -> Result<String, CanonError> {
    guard(value)?;
    // Every call's arguments come by here, and nearly all of them are plain.
    let text = if plain(value) {
        serde_json::to_string(value)
    } else {
        serde_json_canonicalizer::to_string(value)
    };
    text.map_err(|error| CanonError::Unserializable(error.to_string()))
}

/// Digest of the canonical text under a domain tag.
///
/// # Errors
/// As [`canonical`].
pub fn digest(domain: &str, value: &Value) -> Result<Digest, CanonError> {
    Ok(Digest::of(domain, canonical(value)?.as_bytes()))
}

/// Digest of a value that may hold any number: big integers are hashed by their own digits
/// instead of being refused. For content that is compared and never computed with.
pub fn content_digest(domain: &str, value: &Value) -> Digest {
    let text = canonical(value).unwrap_or_else(|_| value.to_string());
    Digest::of(domain, text.as_bytes())
}

fn guard(value: &Value) -> Result<(), CanonError> {
    match value {
        Value::Number(number) if !safe(number) => Err(CanonError::BigInteger(number.to_string())),
        Value::Array(items) => items.iter().try_for_each(guard),
        Value::Object(map) => map.values().try_for_each(guard),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Whether the ordinary text is the canonical one: keys are kept sorted by their bytes, which is
/// the order of RFC 8785 where all are ASCII; strings are escaped alike; and whole numbers have
/// one spelling.
fn plain(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Array(items) => items.iter().all(plain),
        Value::Object(map) => map.iter().all(|(key, value)| key.is_ascii() && plain(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn safe(number: &Number) -> bool {
    match (number.as_i64(), number.as_u64()) {
        (Some(n), _) => (-SAFE..=SAFE).contains(&n),
        (None, Some(_)) => false,
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let key = prop_oneof!["[ -~]{0,6}", any::<String>()];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn plain_values_are_spelled_as_the_standard_spells_them(value in any_value()) {
            let standard = serde_json_canonicalizer::to_string(&value).unwrap();
            prop_assert_eq!(canonical(&value).unwrap(), standard);
        }
    }

    #[test]
    fn keys_beyond_ascii_are_in_the_order_of_their_utf_16() {
        let value = json!({"\u{10000}": 1, "\u{ffff}": 2});
        assert_eq!(canonical(&value).unwrap(), "{\"\u{10000}\":1,\"\u{ffff}\":2}");
    }

    #[test]
    fn keys_are_sorted_and_numbers_normal() {
        let value = json!({"b": 1.0, "a": [true, null, "é"], "c": -0.0});
        assert_eq!(canonical(&value).unwrap(), r#"{"a":[true,null,"é"],"b":1,"c":0}"#);
    }

    #[test]
    fn big_integers_are_refused_not_rounded() {
        let big = json!({"id": 9_007_199_254_740_993_i64});
        assert_eq!(canonical(&big), Err(CanonError::BigInteger("9007199254740993".into())));
        assert!(canonical(&json!(u64::MAX)).is_err());
        assert!(canonical(&json!(9_007_199_254_740_991_i64)).is_ok());
        let other = json!({"id": 9_007_199_254_740_992_i64});
        assert_ne!(content_digest("t", &big), content_digest("t", &other));
    }
}
