//! Matchers of argument values, for expectations and for policy rules. They are explicit objects;
//! a bare value means `equals`. Equality follows the tool's own schema.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

/// What one argument must be.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// Equal under JSON Schema's equality: numbers by value (1 and 1.0 are equal).
    Equals(Value),
    /// Equal to one of these.
    OneOf(Vec<Value>),
    /// Text that the expression matches somewhere.
    Regex(Regex),
    /// A number at most `within` away.
    Near {
        /// The number.
        near: f64,
        /// The greatest difference, inclusive.
        within: f64,
    },
    /// The same moment (RFC 3339 with offset) or the same civil date.
    SameInstant(String),
    /// The same elements in any order.
    Set(Vec<Value>),
    /// Text that contains this text, or a list that contains this value.
    Contains(Value),
    /// Not given.
    Absent,
    /// Anything, given or not.
    Any,
    /// Anything the tool's schema accepts, but given.
    Schema,
}

/// Matchers by argument name.
pub type Matchers = BTreeMap<String, Matcher>;

const NAMES: [&str; 11] = [
    "equals",
    "one_of",
    "regex",
    "near",
    "within",
    "same_instant",
    "set",
    "contains",
    "absent",
    "any",
    "schema",
];

impl Matcher {
    /// Reads a matcher from its JSON form.
    ///
    /// # Errors
    /// A message that names what is wrong, for the caller to place.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let Some(map) = value.as_object() else { return Ok(Self::Equals(value.clone())) };
        if map.is_empty() || !map.keys().any(|key| NAMES.contains(&key.as_str())) {
            let hint = "an object must be a matcher such as {equals: ..}; write the object \
                        under `equals` to compare it as a value";
            return Err(hint.to_owned());
        }
        match (map.len(), map.iter().next()) {
            (2, _) if map.contains_key("near") && map.contains_key("within") => near(map),
            (1, Some((name, value))) => Self::named(name, value),
            _ => Err(format!("one matcher at a time; known: {}", NAMES.join(", "))),
        }
    }

    fn named(name: &str, value: &Value) -> Result<Self, String> {
        let list = || value.as_array().cloned().ok_or_else(|| format!("`{name}` takes a list"));
        let text = || value.as_str().ok_or_else(|| format!("`{name}` takes a text"));
        let flag = |matcher| match value {
            Value::Bool(true) => Ok(matcher),
            _ => Err(format!("`{name}` takes only `true`")),
        };
        match name {
            "equals" => Ok(Self::Equals(value.clone())),
            "one_of" => list().map(Self::OneOf),
            "set" => list().map(Self::Set),
            "regex" => Regex::new(text()?).map(Self::Regex).map_err(|error| {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                format!("`regex`: {}", last.trim_start_matches("error: "))
            }),
            "same_instant" => {
                let text = text()?;
                match instant(text) {
                    Some(_) => Ok(Self::SameInstant(text.to_owned())),
                    None => Err("`same_instant` takes an RFC 3339 time or a date".into()),
                }
            }
            "contains" => Ok(Self::Contains(value.clone())),
            "absent" => flag(Self::Absent),
            "any" => flag(Self::Any),
            "schema" => flag(Self::Schema),
            _ => Err("`near` and `within` go together".to_owned()),
        }
    }

    /// Reads an object of matchers by argument name.
    ///
    /// # Errors
    /// The argument's name and what is wrong with its matcher.
    pub fn parse_all(map: &Map<String, Value>) -> Result<Matchers, (String, String)> {
        map.iter()
            .map(|(name, value)| match Self::parse(value) {
                Ok(matcher) => Ok((name.clone(), matcher)),
                Err(message) => Err((name.clone(), message)),
            })
            .collect()
    }

    /// Whether an argument (`None` when not given) fits.
    pub fn fits(&self, given: Option<&Value>) -> bool {
        let Some(value) = given else { return matches!(self, Self::Absent | Self::Any) };
        match self {
            Self::Equals(expected) => equal(value, expected),
            Self::OneOf(expected) => expected.iter().any(|one| equal(value, one)),
            Self::Regex(regex) => value.as_str().is_some_and(|text| regex.is_match(text)),
            Self::Near { near, within } => value.as_f64().is_some_and(|number| {
                // 3.1 is within 0.1 of 3, although their difference in binary is a little more.
                let rounding = f64::EPSILON * 4.0 * number.abs().max(near.abs());
                (number - near).abs() <= *within + rounding
            }),
            Self::SameInstant(expected) => {
                let given = value.as_str().and_then(instant);
                given.is_some() && given == instant(expected)
            }
            Self::Set(expected) => value.as_array().is_some_and(|given| same_set(given, expected)),
            Self::Contains(part) => match (value, part) {
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Value::Array(items), part) => items.iter().any(|item| equal(item, part)),
                _ => false,
            },
            Self::Absent => false,
            Self::Any | Self::Schema => true,
        }
    }
}

fn near(map: &Map<String, Value>) -> Result<Matcher, String> {
    let number = |key: &str| {
        map.get(key).and_then(Value::as_f64).ok_or_else(|| format!("`{key}` takes a number"))
    };
    let (near, within) = (number("near")?, number("within")?);
    if within < 0.0 {
        return Err("`within` must be at least 0".to_owned());
    }
    Ok(Matcher::Near { near, within })
}

/// JSON Schema's equality: numbers by mathematical value, everything else by structure.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            x == y || (x.is_f64() || y.is_f64()) && x.as_f64() == y.as_f64()
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter().all(|(key, value)| y.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}

fn same_set(given: &[Value], expected: &[Value]) -> bool {
    let mut left: Vec<&Value> = expected.iter().collect();
    given.len() == expected.len()
        && given.iter().all(|item| {
            let found = left.iter().position(|other| equal(item, other));
            found.map(|index| left.swap_remove(index)).is_some()
        })
}

#[derive(PartialEq)]
enum Instant {
    Moment(jiff::Timestamp),
    Civil(jiff::civil::DateTime),
}

fn instant(text: &str) -> Option<Instant> {
    if let Ok(moment) = text.parse() {
        return Some(Instant::Moment(moment));
    }
    if let Ok(civil) = text.parse::<jiff::civil::DateTime>() {
        return Some(Instant::Civil(civil));
    }
    let date: jiff::civil::Date = text.parse().ok()?;
    Some(Instant::Civil(date.at(0, 0, 0, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(matcher: Value, fitting: &[Value], failing: &[Value]) {
        let parsed = Matcher::parse(&matcher).unwrap();
        for value in fitting {
            assert!(parsed.fits(Some(value)), "{matcher} should fit {value}");
        }
        for value in failing {
            assert!(!parsed.fits(Some(value)), "{matcher} should not fit {value}");
        }
    }

    #[test]
    fn each_matcher() {
        check(json!(1), &[json!(1), json!(1.0)], &[json!("1"), json!(true), json!(2)]);
        check(json!({"equals": {"a": 1}}), &[json!({"a": 1.0})], &[json!({"a": 1, "b": 2})]);
        check(json!({"one_of": ["a", 2]}), &[json!("a"), json!(2.0)], &[json!("b")]);
        check(json!({"regex": "^a.c$"}), &[json!("abc")], &[json!("abcd"), json!(3)]);
        check(json!({"near": 3.0, "within": 0.1}), &[json!(3.1), json!(3)], &[json!(3.2)]);
        check(
            json!({"same_instant": "2026-05-01T10:00:00Z"}),
            &[json!("2026-05-01T12:00:00+02:00")],
            &[json!("2026-05-01T10:00:01Z"), json!("x")],
        );
        check(
            json!({"same_instant": "2026-05-01"}),
            &[json!("2026-05-01")],
            &[json!("2026-05-02")],
        );
        check(json!({"set": [1, 2, 2]}), &[json!([2, 1, 2.0])], &[json!([1, 2]), json!([1, 1, 2])]);
        check(json!({"contains": "b"}), &[json!("abc"), json!(["b"])], &[json!("ac"), json!([1])]);
        check(json!({"schema": true}), &[json!(null)], &[]);
        check(json!([1, 2]), &[json!([1, 2.0])], &[json!([2, 1])]);
        assert!(Matcher::parse(&json!({"absent": true})).unwrap().fits(None));
        assert!(Matcher::parse(&json!({"any": true})).unwrap().fits(None));
        assert!(!Matcher::parse(&json!({"schema": true})).unwrap().fits(None));
    }

    #[test]
    fn mistakes_are_named() {
        for wrong in [
            json!({}),
            json!({"equal": 1}),
            json!({"near": 1}),
            json!({"absent": false}),
            json!({"regex": "("}),
            json!({"one_of": 1}),
            json!({"equals": 1, "any": true}),
            json!({"same_instant": "soon"}),
            json!({"near": 1, "within": -1}),
        ] {
            assert!(Matcher::parse(&wrong).is_err(), "{wrong}");
        }
    }
}
