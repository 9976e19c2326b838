//! A YAML (or JSON) document as a JSON value whose every node remembers its line and column.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::problem::{Position, Problem};

/// A parsed document: the value, and where each node and each key stands.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file as the user named it.
    pub file: String,
    /// The whole value.
    pub value: Value,
    nodes: BTreeMap<String, Position>,
    keys: BTreeMap<String, Position>,
}

impl Document {
    /// Parses YAML 1.2 (of which JSON is a part). Duplicate keys are errors.
    ///
    /// # Errors
    /// The first syntax error, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problem> {
        let root: Spanned<Node> =
            serde_saphyr::from_str_with_options(text, strict()).map_err(|error| {
                let at = error.location().map_or(Position::default(), |place| {
                    Position::new(clip(place.line()), clip(place.column()))
                });
                Problem::new(file, at, plain(&error.without_snippet().to_string()))
            })?;
        let mut document = Self {
            file: file.to_owned(),
            value: Value::Null,
            nodes: BTreeMap::new(),
            keys: BTreeMap::new(),
        };
        document.value = document.take(root, String::new());
        Ok(document)
    }

    /// Where the node with this JSON pointer stands; the nearest parent's place otherwise.
    pub fn at(&self, pointer: &str) -> Position {
        let mut pointer = pointer;
        loop {
            if let Some(position) = self.nodes.get(pointer) {
                return *position;
            }
            match pointer.rfind('/') {
                Some(cut) => pointer = &pointer[..cut],
                None => return Position::default(),
            }
        }
    }

    /// Where the key of the member with this JSON pointer stands.
    pub fn key_at(&self, pointer: &str) -> Position {
        self.keys.get(pointer).copied().unwrap_or_else(|| self.at(pointer))
    }

    /// A problem at the node with this JSON pointer.
    pub fn problem(&self, pointer: &str, message: impl Into<String>) -> Problem {
        Problem::new(self.file.clone(), self.at(pointer), message)
    }

    fn take(&mut self, node: Spanned<Node>, pointer: String) -> Value {
        self.nodes.insert(pointer.clone(), place(&node));
        match node.value {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(value),
            Node::Number(value) => Value::Number(value),
            Node::Text(value) => Value::String(value),
            Node::List(items) => Value::Array(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, item)| self.take(item, format!("{pointer}/{index}")))
                    .collect(),
            ),
            Node::Map(members) => {
                let mut map = Map::new();
                for (key, value) in members {
                    let child = format!("{pointer}/{}", escape(&key.value));
                    self.keys.insert(child.clone(), place(&key));
                    let value = self.take(value, child);
                    map.insert(key.value, value);
                }
                Value::Object(map)
            }
        }
    }
}

/// The first line of what the parser says, without the place, which stands before it, and without
/// what only a programmer could do about it.
fn plain(message: &str) -> String {
    let line = message.lines().next().unwrap_or("unreadable");
    let line = line.rsplit_once(" at line ").map_or(line, |(line, _)| line);
    let line = line.split_once(", set DuplicateKeyPolicy").map_or(line, |(line, _)| line);
    if line.starts_with("budget breached: Depth") {
        return format!("nested deeper than {DEPTH} levels");
    }
    line.replace("budget breached:", "more than a file may hold:")
}

/// Deepest nesting that is read. Unoptimised, a level of a list takes 36 KiB of stack, and a thread
/// may have no more than 2 MiB.
const DEPTH: usize = 40;

/// YAML 1.2 core schema: `yes`, `no`, `on` and `off` are text.
fn strict() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! { max_depth: DEPTH },
    }
}

/// Escapes one reference token of a JSON pointer (RFC 6901).
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

fn place<T>(spanned: &Spanned<T>) -> Position {
    Position::new(clip(spanned.referenced.line()), clip(spanned.referenced.column()))
}

fn clip(n: impl TryInto<usize>) -> usize {
    n.try_into().unwrap_or(usize::MAX)
}

enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        // A number that is not finite has no JSON form; it stays the text a person wrote.
        Ok(Number::from_f64(value).map_or_else(|| Node::Text(value.to_string()), Node::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Node::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_and_places() {
        let text = "a: 1\nb:\n  - x: yes\n    y/z: 2.5\n  - null\nc: \"NO\"\n";
        let document = Document::parse("t.yaml", text).unwrap();
        let expected = json!({"a": 1, "b": [{"x": "yes", "y/z": 2.5}, null], "c": "NO"});
        assert_eq!(document.value, expected);
        assert_eq!(document.at("/b/0/y~1z"), Position::new(4, 10));
        assert_eq!(document.key_at("/b/0/y~1z"), Position::new(4, 5));
        assert_eq!(document.at("/b/0/absent"), document.at("/b/0"));
        assert_eq!(document.key_at("/c"), Position::new(6, 1));
    }

    #[test]
    fn json_is_yaml() {
        let document = Document::parse("t.json", "{\"a\": [1, {\"b\": true}]}").unwrap();
        assert_eq!(document.value, json!({"a": [1, {"b": true}]}));
    }

    #[test]
    fn syntax_errors_have_places() {
        for text in ["a: [1, 2\nb: 3\n", "a: 1\na: 2\n", "a: \"x\nb: 1\n", "a: {b: 1", ""] {
            if let Err(problem) = Document::parse("t.yaml", text) {
                assert!(problem.at.line > 0, "{text:?}: {problem}");
            } else {
                assert_eq!(text, "");
            }
        }
    }
}
