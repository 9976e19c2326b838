//! Literals of Java and JavaScript inside texts, read as the leaderboard reads them: what has not
//! the form of its type stays a text.

use std::sync::LazyLock;

use regex::Regex;

use crate::replicate::python::{Py, Type};

/// The language of an item's literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Python,
    Java,
    JavaScript,
}

impl Language {
    /// The type that a described type becomes.
    pub fn expected(self, kind: &str) -> Type {
        match (self, kind) {
            (Self::Python, "string" | "any") | (Self::Java, "String" | "any" | "char") => Type::Str,
            (Self::JavaScript, "String" | "any") => Type::Str,
            (_, "integer") | (Self::Java, "byte" | "short" | "long") => Type::Int,
            (Self::JavaScript, "Bigint") => Type::Int,
            (_, "float") | (Self::Java, "double") => Type::Float,
            (Self::Python | Self::Java, "boolean") | (Self::JavaScript, "Boolean") => Type::Bool,
            (Self::Python, "array" | "tuple") | (Self::JavaScript, "array") => Type::List,
            (Self::Java, "Array" | "ArrayList" | "Stack") => Type::List,
            (Self::Python | Self::JavaScript, "dict") | (Self::Java, "HashMap" | "Hashtable") => {
                Type::Dict
            }
            _ => Type::Other,
        }
    }
}

macro_rules! patterns {
    ($($name:ident = $pattern:literal;)+) => {
        $(static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());)+
    };
}

patterns! {
    INTEGER = r"^-?\d+$";
    JAVA_FLOAT = r"^-?\d+\.\d+([eE][+-]?\d+)?[fF]$";
    JAVA_SHORT_FLOAT = r"^-?\d+\.\d+[fF]$";
    JAVA_DOUBLE = r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$";
    JAVA_LONG = r"^-?\d+[lL]$";
    JAVA_AS_LIST = r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)";
    JAVA_ADDED = r"(?s)new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}";
    JAVA_ADD = r"add\((.+?)\)";
    JAVA_NO_LIST = r"new\s+ArrayList<\w*>\(\)";
    JAVA_ARRAY = r"new\s+\w+\[\]\s*\{(.*?)\}";
    JAVA_MAP = r"(?s)new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}";
    JAVA_PUT = r#"put\("(.*?)",\s*(.*?)\)"#;
    JAVA_NO_MAP = r"new\s+HashMap<.*?>\s*\(\)";
    JS_FLOAT = r"^-?\d+\.?\d*$";
    JS_BIGINT = r"^-?\d+n$";
    JS_NOTHING = r"^\[\s*\]$";
    JS_ARRAY = r"\[(.*?)\]";
    JS_MAP = r"^\{(.*?)\}";
}

fn fits(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// The first group of the first match.
fn group<'t>(pattern: &Option<Regex>, text: &'t str) -> Option<&'t str> {
    Some(pattern.as_ref()?.captures(text)?.get(1)?.as_str())
}

fn text(text: &str) -> Py {
    Py::Str(text.to_owned())
}

fn int(digits: &str) -> Option<Py> {
    digits.trim().parse().ok().map(Py::Int)
}

fn float(digits: &str) -> Option<Py> {
    digits.trim().parse().ok().map(Py::Float)
}

/// The text without its first and last character.
fn inside(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

fn boolean(text: &str) -> Option<Py> {
    match text {
        "true" => Some(Py::Bool(true)),
        "false" => Some(Py::Bool(false)),
        _ => None,
    }
}

fn when(holds: bool, value: impl FnOnce() -> Option<Py>) -> Option<Py> {
    if holds { value() } else { None }
}

/// A Java literal of a type; `inner` is the type of a collection's items.
pub fn java(literal: &str, kind: &str, inner: Option<&str>) -> Py {
    let last = literal.len().saturating_sub(1);
    let read = match kind {
        "byte" | "short" | "integer" => when(fits(&INTEGER, literal), || int(literal)),
        "float" => when(fits(&JAVA_FLOAT, literal), || float(&literal[..last])),
        "double" => when(fits(&JAVA_DOUBLE, literal), || float(literal)),
        "long" => when(fits(&JAVA_LONG, literal), || int(&literal[..last])),
        "boolean" => boolean(literal),
        "Array" => group(&JAVA_ARRAY, literal).map(|items| match items {
            "" => Py::List(Vec::new()),
            items => Py::List(items.split(',').map(|item| java_plain(item, inner)).collect()),
        }),
        "ArrayList" => java_list(literal, inner),
        "HashMap" => java_map(literal),
        _ => None,
    };
    read.unwrap_or_else(|| text(literal))
}

/// An item of an array: the quotes of a text stay.
fn java_plain(item: &str, inner: Option<&str>) -> Py {
    let item = item.trim();
    inner.map_or_else(|| java_value(item), |inner| java(item, inner, None))
}

/// An item of a list: texts lose their quotes.
fn java_item(item: &str, inner: Option<&str>) -> Py {
    match inner {
        Some("char" | "String") => text(inside(item.trim())),
        inner => java_plain(item, inner),
    }
}

fn java_list(literal: &str, inner: Option<&str>) -> Option<Py> {
    if let Some(items) = group(&JAVA_AS_LIST, literal) {
        return Some(Py::List(items.split(',').map(|item| java_item(item, inner)).collect()));
    }
    if let (Some(adds), Some(add)) = (group(&JAVA_ADDED, literal), JAVA_ADD.as_ref()) {
        let items = add.captures_iter(adds).filter_map(|found| found.get(1));
        return Some(Py::List(items.map(|item| java_item(item.as_str(), inner)).collect()));
    }
    fits(&JAVA_NO_LIST, literal).then(|| Py::List(Vec::new()))
}

fn java_map(literal: &str) -> Option<Py> {
    if let (Some(puts), Some(put)) = (group(&JAVA_MAP, literal), JAVA_PUT.as_ref()) {
        let pairs = put.captures_iter(puts).filter_map(|found| {
            let (key, value) = (found.get(1)?.as_str(), found.get(2)?.as_str());
            Some((text(key), java_value(value.trim())))
        });
        return Some(Py::dict(pairs));
    }
    fits(&JAVA_NO_MAP, literal).then(|| Py::Dict(Vec::new()))
}

/// A literal whose type nobody states.
fn java_value(literal: &str) -> Py {
    let last = literal.len().saturating_sub(1);
    let quoted = literal.starts_with('"') && literal.ends_with('"');
    boolean(literal)
        .or_else(|| quoted.then(|| text(inside(literal))))
        .or_else(|| when(fits(&JAVA_LONG, literal), || int(&literal[..last])))
        .or_else(|| when(fits(&JAVA_SHORT_FLOAT, literal), || float(&literal[..last])))
        .or_else(|| int(literal))
        .or_else(|| float(literal))
        .unwrap_or_else(|| text(literal))
}

fn is_quoted(literal: &str) -> bool {
    let by = |quote: char| literal.starts_with(quote) && literal.ends_with(quote);
    by('"') || by('\'')
}

/// A JavaScript literal of a type; `inner` is the type of an array's items.
pub fn javascript(literal: &str, kind: &str, inner: Option<&str>) -> Py {
    let last = literal.len().saturating_sub(1);
    let read = match kind {
        "String" => is_quoted(literal).then(|| text(inside(literal))),
        "integer" => when(fits(&INTEGER, literal), || int(literal)),
        "float" => when(fits(&JS_FLOAT, literal), || float(literal)),
        "Bigint" => when(fits(&JS_BIGINT, literal), || int(&literal[..last])),
        "Boolean" => boolean(literal),
        "array" => js_array(literal.trim(), inner),
        "dict" => js_map(literal.trim()),
        _ => None,
    };
    read.unwrap_or_else(|| text(literal))
}

fn js_array(literal: &str, inner: Option<&str>) -> Option<Py> {
    if fits(&JS_NOTHING, literal) {
        return Some(Py::List(Vec::new()));
    }
    let items = group(&JS_ARRAY, literal)?.split(',');
    let read = |item: &str| match inner {
        Some(inner) => javascript(item.trim(), inner, None),
        None => js_value(item),
    };
    Some(Py::List(items.map(read).collect()))
}

fn js_map(literal: &str) -> Option<Py> {
    if literal == "{}" {
        return Some(Py::Dict(Vec::new()));
    }
    let held = |value: &str| {
        let between = |open, close| value.starts_with(open) && value.ends_with(close);
        match (between('[', ']'), between('{', '}')) {
            (true, _) => js_array(value, None).unwrap_or_else(|| text(value)),
            (_, true) => js_map(value).unwrap_or_else(|| text(value)),
            _ => js_value(value.trim_matches(QUOTES)),
        }
    };
    let pairs = js_pairs(group(&JS_MAP, literal)?);
    Some(Py::dict(
        pairs
            .into_iter()
            .map(|(key, value)| (text(key.trim().trim_matches(QUOTES)), held(value.trim()))),
    ))
}

const QUOTES: [char; 2] = ['\'', '"'];

/// Keys and values: a value ends before a comma behind which another key and a colon stand.
fn js_pairs(mut text: &str) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    loop {
        text = text.trim_start_matches(':');
        let Some((key, rest)) = text.split_once(':') else { return pairs };
        let rest = rest.trim_start();
        let key_follows = |at: &usize| {
            let behind = &rest[at + 1..];
            let until = behind.find(',').unwrap_or(behind.len());
            behind[..until].char_indices().any(|(at, c)| at > 0 && c == ':')
        };
        let end = rest.match_indices(',').map(|(at, _)| at).find(key_follows);
        pairs.push((key, &rest[..end.unwrap_or(rest.len())]));
        match end {
            Some(end) => text = rest[end + 1..].trim_start(),
            None => return pairs,
        }
    }
}

/// A literal whose type nobody states.
fn js_value(literal: &str) -> Py {
    let literal = literal.trim();
    boolean(literal)
        .or_else(|| is_quoted(literal).then(|| text(inside(literal))))
        .or_else(|| int(literal))
        .or_else(|| float(literal))
        .unwrap_or_else(|| text(literal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Py {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn literals_of_java() {
        let table = [
            ("12", "integer", None, "12"),
            ("12.0", "integer", None, r#""12.0""#),
            ("3.5f", "float", None, "3.5"),
            ("3.5", "float", None, r#""3.5""#),
            ("-2e3", "double", None, "-2000.0"),
            ("7L", "long", None, "7"),
            ("true", "boolean", None, "true"),
            ("True", "boolean", None, r#""True""#),
            ("new int[]{1, 2}", "Array", Some("integer"), "[1, 2]"),
            // An array keeps the quotes of its texts, a list does not.
            (r#"new String[]{"a"}"#, "Array", Some("String"), r#"["\"a\""]"#),
            (
                r#"new ArrayList<>(Arrays.asList("a", "b"))"#,
                "ArrayList",
                Some("String"),
                r#"["a","b"]"#,
            ),
            ("new ArrayList<Integer>() {{ add(1); add(2L); }}", "ArrayList", None, "[1, 2]"),
            ("new ArrayList<>()", "ArrayList", None, "[]"),
            (
                r#"new HashMap<>() {{ put("a", 1); put("b", "c"); }}"#,
                "HashMap",
                None,
                r#"{"a":1,"b":"c"}"#,
            ),
            ("Map.of()", "HashMap", None, r#""Map.of()""#),
        ];
        for (literal, kind, inner, expected) in table {
            assert_eq!(java(literal, kind, inner), read(expected), "{literal}");
        }
    }

    #[test]
    fn literals_of_javascript() {
        let table = [
            ("'a'", "String", None, r#""a""#),
            ("a", "String", None, r#""a""#),
            ("12", "float", None, "12.0"),
            ("12n", "Bigint", None, "12"),
            ("true", "Boolean", None, "true"),
            ("[a, 'b']", "array", Some("String"), r#"["a","b"]"#),
            // Only what stands before the first bracket that closes.
            ("[1, 2], [3]", "array", Some("float"), "[1.0, 2.0]"),
            ("[ ]", "array", None, "[]"),
            ("{}", "dict", None, "{}"),
            ("{'a': 1, b: [x, 2], c: 'd'}", "dict", None, r#"{"a":1,"b":["x",2],"c":"d"}"#),
            // A literal that goes over lines is a text.
            ("{\n'a': 1}", "dict", None, r#""{\n'a': 1}""#),
        ];
        for (literal, kind, inner, expected) in table {
            assert_eq!(javascript(literal, kind, inner), read(expected), "{literal}");
        }
    }
}
