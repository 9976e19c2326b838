//! A JSON Schema compiled once and used many times. Nothing is ever fetched.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Validator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::problem::nearest;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unusable schema at `{path}`: {reason}")]
pub struct SchemaProblem {
    /// JSON pointer into the schema.
    pub path: String,
    /// What the compiler said.
    pub reason: String,
}

/// One way in which a value fails its schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArgumentError {
    /// JSON pointer into the value.
    pub path: String,
    /// The schema keyword that failed.
    pub keyword: String,
    /// What is wrong, without the value itself.
    pub message: String,
}

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct CompiledSchema {
    validator: Validator,
    requires_nothing: bool,
}

const BACKTRACK_LIMIT: usize = 100_000;

impl CompiledSchema {
    /// Compiles under the declared dialect, 2020-12 when none is declared. Formats are asserted.
    /// Patterns run in linear time where the linear engine can read them, else under a limit.
    ///
    /// # Errors
    /// When the schema is invalid in its dialect or refers to something outside itself.
    pub fn compile(schema: &Value) -> Result<Self, SchemaProblem> {
        let build = |patterns: bool| {
            let options = jsonschema::options().offline().should_validate_formats(true);
            if patterns {
                options.with_pattern_options(PatternOptions::regex()).build(schema)
            } else {
                let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT);
                options.with_pattern_options(patterns).build(schema)
            }
        };
        let validator = build(true).or_else(|_| build(false)).map_err(|error| first(&error))?;
        let requires_nothing = validator.is_valid(&Value::Object(serde_json::Map::new()));
        Ok(Self { validator, requires_nothing })
    }

    /// Whether `{}` is valid, so that blank arguments may stand for it.
    pub fn requires_nothing(&self) -> bool {
        self.requires_nothing
    }

    /// Whether `value` passes.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Every way in which `value` fails; empty when it passes.
    pub fn errors(&self, value: &Value) -> Vec<ArgumentError> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        for error in self.validator.iter_errors(value) {
            let path = error.instance_path().to_string();
            describe(error.kind(), &path, &error.masked().to_string(), &mut errors);
        }
        errors.sort();
        errors.dedup();
        errors
    }
}

/// Whether a schema is one by its own dialect, 2020-12 when it declares none that is known. It is
/// not compiled, and no reference is followed.
///
/// # Errors
/// The first thing that its dialect does not allow.
pub fn by_its_dialect(schema: &Value) -> Result<(), SchemaProblem> {
    use jsonschema::{draft4, draft6, draft7, draft201909, draft202012};
    let declared = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let judged = match declared {
        _ if declared.contains("draft-04") => draft4::meta::validate(schema),
        _ if declared.contains("draft-06") => draft6::meta::validate(schema),
        _ if declared.contains("draft-07") => draft7::meta::validate(schema),
        _ if declared.contains("2019-09") => draft201909::meta::validate(schema),
        _ => draft202012::meta::validate(schema),
    };
    judged.map_err(|error| first(&error))
}

/// What a schema fails by, in short.
fn first(error: &jsonschema::ValidationError<'_>) -> SchemaProblem {
    let (path, mut found) = (error.instance_path().to_string(), Vec::new());
    let shown = error.masked().to_string();
    describe(error.kind(), &path, &shown, &mut found);
    let first = found.into_iter().next();
    let (path, reason) = first.map_or((path, shown), |e| (e.path, e.message));
    SchemaProblem { path, reason }
}

fn describe(kind: &ValidationErrorKind, path: &str, shown: &str, out: &mut Vec<ArgumentError>) {
    let keyword = kind.keyword().to_owned();
    let mut add = |path: String, message: String| {
        out.push(ArgumentError { path, keyword: keyword.clone(), message });
    };
    match kind {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                let child = format!("{path}/{}", crate::base::document::escape(name));
                add(child, format!("unknown key `{name}`"));
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            add(path.to_owned(), format!("missing required key `{name}`"));
        }
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            let allowed = constants(context);
            if !allowed.is_empty() {
                add(path.to_owned(), format!("expected one of {}", allowed.join(", ")));
            } else if let Some(branch) = meant(context, path) {
                for error in branch {
                    let path = error.instance_path().to_string();
                    let shown = error.masked().to_string();
                    describe(error.kind(), &path, &shown, out);
                }
            } else {
                add(path.to_owned(), shown.to_owned());
            }
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let options: Vec<String> = options.iter().map(Value::to_string).collect();
            add(path.to_owned(), format!("expected one of {}", options.join(", ")));
        }
        _ => add(path.to_owned(), shown.to_owned()),
    }
}

type Branch = Vec<jsonschema::ValidationError<'static>>;

/// The one branch of a choice that has the value's own type, when there is only one.
fn meant<'a>(context: &'a [Branch], path: &str) -> Option<&'a Branch> {
    let other_type = |error: &jsonschema::ValidationError<'_>| {
        matches!(error.kind(), ValidationErrorKind::Type { .. })
            && error.instance_path().to_string() == path
    };
    let mut fitting = context.iter().filter(|branch| !branch.iter().any(other_type));
    fitting.next().filter(|branch| !branch.is_empty() && fitting.next().is_none())
}

/// The constants of a choice whose every branch is a constant or an enumeration.
fn constants(context: &[Branch]) -> Vec<String> {
    let mut allowed = Vec::new();
    for error in context.iter().flatten() {
        match error.kind() {
            ValidationErrorKind::Constant { expected_value } => {
                allowed.push(expected_value.to_string());
            }
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
                allowed.extend(options.iter().map(Value::to_string));
            }
            _ => {}
        }
    }
    allowed
}

/// The key names an object schema knows at a pointer, for suggestions; follows local `$ref`.
pub fn known_keys<'a>(root: &'a Value, pointer: &str) -> Vec<&'a str> {
    let mut schema = follow(root, root);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = schema
            .get("properties")
            .and_then(|properties| properties.get(&token))
            .or_else(|| schema.get("items"))
            .or_else(|| schema.get("additionalProperties"));
        match next {
            Some(next) => schema = follow(root, next),
            None => return Vec::new(),
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default()
}

fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..8 {
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            let branch = branches.iter().find(|b| b.get("type") != Some(&Value::from("null")));
            schema = branch.unwrap_or(schema);
        }
        let target = schema.get("$ref").and_then(Value::as_str);
        match target.and_then(|r| r.strip_prefix('#')).and_then(|p| root.pointer(p)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

/// The nearest known key at the parent of `pointer`, for an unknown key's suggestion.
pub fn nearest_key<'a>(root: &'a Value, parent: &str, wrong: &str) -> Option<&'a str> {
    nearest(wrong, known_keys(root, parent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, value: &Value, expected: &[(&str, &str)]) {
        let compiled = CompiledSchema::compile(schema).unwrap();
        let errors = compiled.errors(value);
        let found: Vec<_> = errors.iter().map(|e| (e.path.as_str(), e.keyword.as_str())).collect();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn every_failure_has_path_and_keyword() {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false,
            "properties": {"path": {"type": "string"}, "n": {"type": "integer", "minimum": 1},
                "when": {"type": "string", "format": "date"}}});
        check(&schema, &json!({"path": "a"}), &[]);
        check(&schema, &json!({}), &[("", "required")]);
        check(
            &schema,
            &json!({"path": 1, "n": 0, "x": 1}),
            &[("/n", "minimum"), ("/path", "type"), ("/x", "additionalProperties")],
        );
        check(&schema, &json!({"path": "a", "when": "soon"}), &[("/when", "format")]);
        assert!(!CompiledSchema::compile(&schema).unwrap().requires_nothing());
    }

    #[test]
    fn messages_hide_values() {
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        let errors = CompiledSchema::compile(&schema).unwrap().errors(&json!({"a": "s3cret"}));
        assert!(!errors[0].message.contains("s3cret"), "{errors:?}");
    }

    #[test]
    fn dialects_references_and_patterns() {
        let draft7 = json!({"$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/definitions/n"}}});
        check(&draft7, &json!({"a": "x"}), &[("/a", "type")]);
        let remote = json!({"$ref": "https://example.invalid/s.json"});
        assert!(CompiledSchema::compile(&remote).is_err());
        let look_around = json!({"pattern": "^(?!x).*$"});
        check(&look_around, &json!("xa"), &[("", "pattern")]);
        assert!(CompiledSchema::compile(&json!({"type": "strin"})).is_err());
    }
}
