//! Values as Python has them: what other people's scorers compare. Numbers and booleans are equal
//! by value and differ by type, a tuple is no list, and a mapping keeps its order.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value.
#[derive(Debug, Clone)]
pub enum Py {
    /// `None`.
    None,
    /// `bool`.
    Bool(bool),
    /// `int`, where it fits.
    Int(i64),
    /// `float`.
    Float(f64),
    /// `str`.
    Str(String),
    /// `list`.
    List(Vec<Py>),
    /// `tuple`.
    Tuple(Vec<Py>),
    /// `dict`, in the order of its keys' first appearance.
    Dict(Vec<(Py, Py)>),
    /// Anything else, by its `repr`.
    Other(String),
}

/// The name of a value's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Type {
    None,
    Bool,
    Int,
    Float,
    Str,
    List,
    Tuple,
    Dict,
    Other,
}

impl Py {
    /// `type(value)`.
    pub fn kind(&self) -> Type {
        match self {
            Self::None => Type::None,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Float(_) => Type::Float,
            Self::Str(_) => Type::Str,
            Self::List(_) => Type::List,
            Self::Tuple(_) => Type::Tuple,
            Self::Dict(_) => Type::Dict,
            Self::Other(_) => Type::Other,
        }
    }

    /// The text of a `str`.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is the empty `str`.
    pub fn is_blank(&self) -> bool {
        self.as_str() == Some("")
    }

    /// The items of a `list`.
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs of a `dict`.
    pub fn pairs(&self) -> Option<&[(Self, Self)]> {
        match self {
            Self::Dict(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// What a `dict` holds under a text.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let mut pairs = self.pairs()?.iter();
        pairs.find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    /// A `dict`: of equal keys the last value stays, at the place of the first.
    pub fn dict(pairs: impl IntoIterator<Item = (Self, Self)>) -> Self {
        let mut out: Vec<(Self, Self)> = Vec::new();
        for (key, value) in pairs {
            match out.iter_mut().find(|(known, _)| *known == key) {
                Some((_, old)) => *old = value,
                None => out.push((key, value)),
            }
        }
        Self::Dict(out)
    }

    /// The number that it is, booleans among them.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(yes) => Some(f64::from(u8::from(*yes))),
            #[expect(clippy::cast_precision_loss, reason = "compared as floats are")]
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }
}

/// `==` of Python.
impl PartialEq for Py {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Int(one), Self::Int(two)) => one == two,
            (Self::Str(one), Self::Str(two)) | (Self::Other(one), Self::Other(two)) => one == two,
            (Self::List(one), Self::List(two)) | (Self::Tuple(one), Self::Tuple(two)) => one == two,
            (Self::Dict(one), Self::Dict(two)) => {
                let same = |(key, value): &(Self, Self)| {
                    two.iter().any(|(other, held)| other == key && held == value)
                };
                one.len() == two.len() && one.iter().all(same)
            }
            _ => match (self.number(), other.number()) {
                (Some(one), Some(two)) => one == two,
                _ => false,
            },
        }
    }
}

impl<'de> Deserialize<'de> for Py {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Py;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Py, E> {
        Ok(Py::None)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Py, E> {
        Ok(Py::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Py, E> {
        Ok(Py::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Py, E> {
        Ok(i64::try_from(value).map_or_else(|_| Py::Other(value.to_string()), Py::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Py, E> {
        Ok(Py::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Py, E> {
        Ok(Py::Str(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Py, E> {
        Ok(Py::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Py, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Py::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Py, A::Error> {
        let mut pairs: Vec<(String, Py)> = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(tagged(pairs))
    }
}

/// What JSON has no word for stands in a mapping of one key.
fn tagged(mut pairs: Vec<(String, Py)>) -> Py {
    let tag = pairs.first().filter(|_| pairs.len() == 1).map(|(key, _)| key.as_str());
    let known = tag.is_some_and(|tag| matches!(tag, "__tuple__" | "__pydict__" | "__py__"));
    match if known { pairs.pop() } else { None } {
        Some((tag, Py::List(items))) if tag == "__tuple__" => Py::Tuple(items),
        Some((tag, Py::Str(shown))) if tag == "__py__" => Py::Other(shown),
        Some((tag, Py::List(items))) if tag == "__pydict__" => {
            Py::dict(items.into_iter().filter_map(pair))
        }
        Some((key, value)) => Py::Dict(vec![(Py::Str(key), value)]),
        None => Py::dict(pairs.into_iter().map(|(key, value)| (Py::Str(key), value))),
    }
}

fn pair(item: Py) -> Option<(Py, Py)> {
    let (Py::List(items) | Py::Tuple(items)) = item else { return None };
    let [key, value] = <[Py; 2]>::try_from(items).ok()?;
    Some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Py {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn equality_is_pythons() {
        let equal = [
            ("1", "1.0"),
            ("1", "true"),
            ("0.0", "false"),
            (r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#),
            (r#"{"__tuple__":[1]}"#, r#"{"__tuple__":[1.0]}"#),
            (r#"{"__pydict__":[[1,2]]}"#, r#"{"__pydict__":[[true,2]]}"#),
        ];
        for (one, two) in equal {
            assert_eq!(read(one), read(two), "{one} {two}");
        }
        let different = [
            ("1", r#""1""#),
            ("null", "false"),
            ("[1]", r#"{"__tuple__":[1]}"#),
            ("[1,2]", "[2,1]"),
            (r#"{"a":1}"#, r#"{"a":1,"b":1}"#),
            (r#"{"__py__":"1j"}"#, r#""1j""#),
        ];
        for (one, two) in different {
            assert_ne!(read(one), read(two), "{one} {two}");
        }
    }

    #[test]
    fn a_key_that_comes_again_keeps_its_place() {
        let value = read(r#"{"a":1,"b":2,"a":3}"#);
        assert_eq!(value, read(r#"{"a":3,"b":2}"#));
        assert_eq!(value.pairs().unwrap()[0].0.as_str(), Some("a"));
        // What only looks like a tag is a mapping.
        assert_eq!(read(r#"{"__tuple__":1}"#).kind(), Type::Dict);
    }
}
