//! The JSON Schema of one journal line: every event's facts, and the header around them.

use serde_json::{Value, json};

use super::event::Event;
use crate::tool::strict::schema_of;

/// The schema of a line.
pub fn journal_line() -> Value {
    let mut schema = schema_of::<Event>("proofmark/journal@1");
    let header = [
        ("v", json!({"const": 1})),
        ("seq", json!({"type": "integer", "minimum": 0})),
        ("session", json!({"type": "string"})),
        ("turn", json!({"type": "string"})),
        ("call", json!({"type": "string"})),
        ("cause", json!({"type": "integer", "minimum": 0})),
        ("at", json!({"type": "integer", "minimum": 0, "description": "ms since 1970"})),
    ];
    let branches = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for branch in branches.into_iter().flatten() {
        let properties = branch.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            for (name, part) in &header {
                properties.insert((*name).to_owned(), part.clone());
            }
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::schema::CompiledSchema;

    #[test]
    fn no_fact_is_named_like_a_part_of_the_header() {
        let header = ["v", "seq", "session", "turn", "call", "cause", "at"];
        let schema = schema_of::<Event>("x");
        let branches = schema["oneOf"].as_array().unwrap();
        assert_eq!(branches.len(), Event::NAMES.len());
        for branch in branches {
            let facts = branch["properties"].as_object().unwrap();
            let taken = facts.keys().find(|fact| header.contains(&fact.as_str()));
            assert_eq!(taken, None, "{branch}");
        }
    }

    #[test]
    fn lines_are_held_to_it() {
        let compiled = CompiledSchema::compile(&journal_line()).unwrap();
        let line = json!({"v": 1, "seq": 3, "session": "s", "call": "c", "at": 1,
            "type": "ToolActivated", "toolId": "a.b"});
        assert_eq!(compiled.errors(&line), []);
        for (key, value) in [("extra", json!(1)), ("v", json!(2)), ("type", json!("Nothing"))] {
            let mut wrong = line.clone();
            wrong[key] = value;
            assert!(!compiled.is_valid(&wrong), "{wrong}");
        }
    }
}
