//! Argument templates of command line tools. Each piece of a template becomes one argument, or
//! several, or none; never a part of a shell's text, since there is no shell.
//!
//! | piece | becomes |
//! |---|---|
//! | `text` | itself; `{{` and `}}` stand for braces |
//! | `{name}` | the argument's value; an array becomes one argument for each item |
//! | `--name={name}` | the value within text; an array becomes one argument for each item |
//! | `{name?text}` | `text`, where the argument is `true` |
//! | `{name:option}` | as `{name}`, and the value may begin with `-` |
//!
//! A piece with an argument that is absent or `null` is left out. A value that would begin an
//! argument with `-`, and so become an option, is refused, unless `--` stands before it.

use serde_json::Value;

use crate::base::canon;

/// A parsed template: the program and the pieces of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    program: String,
    pieces: Vec<Vec<Part>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value { name: String, may_be_option: bool },
    Switch { name: String, text: String },
}

/// Why a template or its arguments are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no program.
    #[error("there is no program")]
    NoProgram,
    /// The program would be chosen by an argument.
    #[error("the program is fixed: it takes no `{{...}}`")]
    ProgramOpen,
    /// A brace without its other half, or an empty name.
    #[error("piece {0} has a brace that is not closed, or no name in it")]
    Brace(usize),
    /// More than one value that may be several in one piece, or a switch with text around it.
    #[error("piece {0} holds more than text and one value")]
    Mixed(usize),
    /// A value would be taken for an option.
    #[error("`{name}` begins with `-` and would be an option")]
    Option {
        /// The argument.
        name: String,
    },
    /// A value holds a byte that no argument can hold.
    #[error("`{name}` holds a zero byte")]
    Zero {
        /// The argument.
        name: String,
    },
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The first piece that is wrong, counted from 1; the program is none of them.
    pub fn parse(command: &[String]) -> Result<Self, TemplateError> {
        let (program, pieces) = command.split_first().ok_or(TemplateError::NoProgram)?;
        if program.is_empty() {
            return Err(TemplateError::NoProgram);
        }
        if program.contains(['{', '}']) {
            return Err(TemplateError::ProgramOpen);
        }
        let pieces = pieces.iter().enumerate().map(|(index, text)| piece(text, index + 1));
        Ok(Self { program: program.clone(), pieces: pieces.collect::<Result<_, _>>()? })
    }

    /// Names of the arguments that it uses, in order and as often as it does.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().flatten().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value { name, .. } | Part::Switch { name, .. } => Some(name.as_str()),
        })
    }

    /// The command line for some arguments.
    ///
    /// # Errors
    /// A value that would be an option, or cannot be an argument.
    pub fn fill(&self, args: &Value) -> Result<Vec<String>, TemplateError> {
        let mut out = vec![self.program.clone()];
        let mut no_more_options = false;
        for parts in &self.pieces {
            fill(parts, args, no_more_options, &mut out)?;
            no_more_options |= matches!(parts.as_slice(), [Part::Text(text)] if text == "--");
        }
        Ok(out)
    }
}

fn piece(text: &str, number: usize) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                plain.push(c);
            }
            '{' => {
                let mut inside = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some('{') | None => return Err(TemplateError::Brace(number)),
                        Some(c) => inside.push(c),
                    }
                }
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(slot(&inside).ok_or(TemplateError::Brace(number))?);
            }
            '}' => return Err(TemplateError::Brace(number)),
            _ => plain.push(c),
        }
    }
    if !plain.is_empty() || parts.is_empty() {
        parts.push(Part::Text(plain));
    }
    let values = parts.iter().filter(|part| matches!(part, Part::Value { .. })).count();
    let switches = parts.iter().any(|part| matches!(part, Part::Switch { .. }));
    if values > 1 || (switches && parts.len() > 1) {
        return Err(TemplateError::Mixed(number));
    }
    Ok(parts)
}

fn slot(inside: &str) -> Option<Part> {
    if let Some((name, text)) = inside.split_once('?') {
        let whole = !name.is_empty() && !text.is_empty();
        return whole.then(|| Part::Switch { name: name.to_owned(), text: text.to_owned() });
    }
    let (name, may_be_option) = match inside.split_once(':') {
        Some((name, "option")) => (name, true),
        Some(_) => return None,
        None => (inside, false),
    };
    (!name.is_empty()).then(|| Part::Value { name: name.to_owned(), may_be_option })
}

fn fill(
    parts: &[Part],
    args: &Value,
    no_more_options: bool,
    out: &mut Vec<String>,
) -> Result<(), TemplateError> {
    let value = parts.iter().find_map(|part| match part {
        Part::Value { name, may_be_option } => Some((name, *may_be_option)),
        Part::Text(_) | Part::Switch { .. } => None,
    });
    let Some((name, may_be_option)) = value else {
        out.extend(parts.iter().find_map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Switch { name, text } => {
                (args.get(name) == Some(&true.into())).then(|| text.clone())
            }
            Part::Value { .. } => None,
        }));
        return Ok(());
    };
    let several = match args.get(name) {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(items)) => items,
        Some(one) => std::slice::from_ref(one),
    };
    for item in several {
        let text = text(item);
        let whole: String = parts
            .iter()
            .map(|part| match part {
                Part::Text(plain) => plain.as_str(),
                Part::Value { .. } | Part::Switch { .. } => &text,
            })
            .collect();
        let begins = matches!(parts.first(), Some(Part::Value { .. })) && whole.starts_with('-');
        if begins && !no_more_options && !may_be_option {
            return Err(TemplateError::Option { name: name.clone() });
        }
        if whole.contains('\0') {
            return Err(TemplateError::Zero { name: name.clone() });
        }
        out.push(whole);
    }
    Ok(())
}

/// A value as an argument: text as it is, everything else as canonical JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Arguments were canonical when they were validated.
        other => canon::canonical(other).unwrap_or_else(|_| other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(pieces: &[&str]) -> Result<Template, TemplateError> {
        let command: Vec<String> = pieces.iter().map(|&piece| piece.to_owned()).collect();
        Template::parse(&command)
    }

    fn check(pieces: &[&str], args: Value, expected: &[&str]) {
        let filled = parse(pieces).unwrap().fill(&args);
        assert_eq!(filled.unwrap(), expected, "{pieces:?} {args}");
    }

    #[test]
    fn pieces_become_arguments() {
        check(&["ls"], json!({}), &["ls"]);
        check(&["ls", "{path}"], json!({"path": "a b;c"}), &["ls", "a b;c"]);
        check(&["ls", "{path}"], json!({}), &["ls"]);
        check(&["ls", "{path}"], json!({"path": null}), &["ls"]);
        check(&["ls", "{path}"], json!({"path": ""}), &["ls", ""]);
        check(&["ls", "{paths}"], json!({"paths": ["a", "b"]}), &["ls", "a", "b"]);
        check(&["ls", "{paths}"], json!({"paths": []}), &["ls"]);
        check(&["ls", "-n={n}"], json!({"n": 3}), &["ls", "-n=3"]);
        check(&["ls", "-n={n}"], json!({}), &["ls"]);
        check(&["ls", "-n={n}"], json!({"n": [1, -2]}), &["ls", "-n=1", "-n=-2"]);
        check(&["ls", "{all?-a}"], json!({"all": true}), &["ls", "-a"]);
        check(&["ls", "{all?-a}"], json!({"all": false}), &["ls"]);
        check(&["ls", "{{x}}"], json!({}), &["ls", "{x}"]);
        check(&["ls", "$(id)", "{x}"], json!({"x": "`id` $(id)"}), &["ls", "$(id)", "`id` $(id)"]);
        check(&["ls", "{x}"], json!({"x": {"b": 1, "a": 2}}), &["ls", r#"{"a":2,"b":1}"#]);
    }

    #[test]
    fn no_value_becomes_an_option_by_itself() {
        let refused = |pieces: &[&str], args: Value| {
            let filled = parse(pieces).unwrap().fill(&args);
            assert_eq!(filled, Err(TemplateError::Option { name: "x".to_owned() }), "{pieces:?}");
        };
        refused(&["ls", "{x}"], json!({"x": "-la"}));
        refused(&["ls", "{x}"], json!({"x": "--"}));
        refused(&["ls", "{x}"], json!({"x": -1}));
        refused(&["ls", "{x}"], json!({"x": ["a", "-b"]}));
        refused(&["ls", "{x}.txt"], json!({"x": "-b"}));
        refused(&["ls", "{x}", "--"], json!({"x": "-b"}));
        check(&["ls", "--", "{x}"], json!({"x": "-la"}), &["ls", "--", "-la"]);
        check(&["ls", "{x:option}"], json!({"x": "-la"}), &["ls", "-la"]);
        check(&["ls", "a{x}"], json!({"x": "-la"}), &["ls", "a-la"]);
        let zero = parse(&["ls", "{x}"]).unwrap().fill(&json!({"x": "a\0b"}));
        assert_eq!(zero, Err(TemplateError::Zero { name: "x".to_owned() }));
    }

    #[test]
    fn templates_that_are_none() {
        let refused =
            |pieces: &[&str], expected| assert_eq!(parse(pieces), Err(expected), "{pieces:?}");
        refused(&[], TemplateError::NoProgram);
        refused(&[""], TemplateError::NoProgram);
        refused(&["{x}"], TemplateError::ProgramOpen);
        for text in ["{x", "x}", "{}", "{x{y}}", "{x:y}", "{?a}", "{a?}", "{:option}"] {
            refused(&["ls", "a", text], TemplateError::Brace(2));
        }
        refused(&["ls", "{a}{b}"], TemplateError::Mixed(1));
        refused(&["ls", "x{a?b}"], TemplateError::Mixed(1));
    }
}
