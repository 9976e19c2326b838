//! Reading what people write: a document is checked against the schema generated from its Rust
//! type, so that all problems come at once, each with its place and the nearest right name; only
//! then is it decoded.

use std::sync::OnceLock;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::schema::{CompiledSchema, known_keys};
use crate::base::document::Document;
use crate::base::problem::{Problem, nearest};

/// A file format: its tag (`proofmark/tool@1`) and its generated JSON Schema.
pub struct Format {
    /// None for a format of others, whose files do not name it.
    tag: Option<&'static str>,
    schema: Value,
    compiled: CompiledSchema,
}

impl Format {
    /// Builds the schema of `T` and compiles it.
    ///
    /// # Panics
    /// When the schema generated from our own type does not compile, which a test rules out.
    pub fn of<T: JsonSchema>(tag: &'static str) -> Self {
        Self { tag: Some(tag), ..Self::foreign::<T>(tag) }
    }

    /// The same for a format of others, whose files do not name it.
    ///
    /// # Panics
    /// As [`Format::of`].
    pub fn foreign<T: JsonSchema>(title: &'static str) -> Self {
        let schema = schema_of::<T>(title);
        let compiled = CompiledSchema::compile(&schema);
        let compiled = compiled.unwrap_or_else(|e| panic!("our own schema of {title}: {e}"));
        Self { tag: None, schema, compiled }
    }

    /// The generated JSON Schema.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Checks and decodes a document.
    ///
    /// # Errors
    /// All problems, in the order of their places.
    pub fn decode<T: DeserializeOwned>(&self, document: &Document) -> Result<T, Vec<Problem>> {
        let mut problems = self.problems(document);
        if problems.is_empty() {
            match serde_json::from_value(document.value.clone()) {
                Ok(value) => return Ok(value),
                Err(error) => problems.push(document.problem("", error.to_string())),
            }
        }
        Err(problems)
    }

    fn problems(&self, document: &Document) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let (Some(tag), Some(map)) = (self.tag, document.value.as_object()) {
            match map.get("schema") {
                Some(Value::String(found)) if found == tag => {}
                Some(other) => problems.push(
                    document
                        .problem("/schema", format!("this is {other}, not a {tag} file"))
                        .help(format!("write `schema: {tag}`")),
                ),
                None => problems.push(
                    document
                        .problem("", "the format is not named")
                        .help(format!("write `schema: {tag}` first")),
                ),
            }
        }
        for error in self.compiled.errors(&document.value) {
            if error.path.is_empty() && error.message == "missing required key `schema`" {
                continue;
            }
            let mut problem = document.problem(&error.path, error.message.clone());
            if error.keyword == "additionalProperties" {
                problem.at = document.key_at(&error.path);
                let (parent, wrong) = error.path.rsplit_once('/').unwrap_or(("", ""));
                problem = problem.suggest(wrong, known_keys(&self.schema, parent));
            } else if let Some(value) = document.value.pointer(&error.path) {
                problem = with_found(problem, value);
            }
            problems.push(problem);
        }
        problems.sort();
        problems.dedup();
        problems
    }
}

fn with_found(problem: Problem, value: &Value) -> Problem {
    let found = match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => {
            let text = other.to_string();
            if text.chars().count() > 60 { "a long text".to_owned() } else { text }
        }
    };
    if problem.message.starts_with("missing") {
        return problem;
    }
    if let Some(choices) = problem.message.strip_prefix("expected one of ") {
        let message = format!("{found} is not one of {choices}");
        let choices: Vec<&str> = choices.split(", ").map(|name| name.trim_matches('"')).collect();
        let help = nearest(value.as_str().unwrap_or_default(), choices);
        let help = help.map(|name| format!("did you mean `{name}`?"));
        return Problem { message, help, ..problem };
    }
    let message = problem.message.replace("value ", &format!("{found} "));
    Problem { message, ..problem }
}

/// The JSON Schema (2020-12) generated from a type, under its format tag.
pub fn schema_of<T: JsonSchema>(tag: &str) -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(map) = schema.as_object_mut() {
        map.insert("title".to_owned(), tag.into());
    }
    schema
}

/// A format built on first use.
pub struct LazyFormat {
    cell: OnceLock<Format>,
    build: fn() -> Format,
}

impl LazyFormat {
    /// Remembers how to build it.
    pub const fn new(build: fn() -> Format) -> Self {
        Self { cell: OnceLock::new(), build }
    }

    /// The format.
    pub fn get(&self) -> &Format {
        self.cell.get_or_init(self.build)
    }
}
