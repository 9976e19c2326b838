//! `SKILL.md`: what a skill says of itself, and what it teaches (the Agent Skills format; seed B
//! section 14). A skill is knowledge of how to do something. It grants nothing: what it names in
//! `allowed-tools` is kept as its author's word and read by nobody who decides.

use serde_json::{Map, Value};

use crate::base::document::Document;
use crate::base::problem::{Position, Problem};

/// The longest name, in bytes, as the format has it.
const NAME: usize = 64;
/// The longest description, in Unicode scalar values, as the format has it.
const DESCRIPTION: usize = 1024;
const FENCE: &str = "---";

/// A skill's front matter and text.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its name, which is also its folder's.
    pub name: String,
    /// What it is for, and when it is to be used.
    pub description: String,
    /// The procedure that it teaches: Markdown.
    pub body: String,
    /// Every other field of the front matter, as it came.
    pub more: Map<String, Value>,
}

impl Skill {
    /// Reads a `SKILL.md`; `folder` is the name of the folder it stands in.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn parse(file: &str, text: &str, folder: &str) -> Result<Self, Vec<Problem>> {
        let missing = |message: &str| {
            let help = "begin the file with `---`, `name:`, `description:` and `---`";
            vec![Problem::new(file, Position::new(1, 1), message).help(help)]
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().next().unwrap_or_default();
        if first.trim_end() != FENCE {
            return Err(missing("there is no front matter"));
        }
        let rest = &text[first.len()..];
        let Some((front, body)) = split(rest) else {
            return Err(missing("the front matter has no end"));
        };
        // It begins with the end of the first line, so that lines keep their numbers.
        let document = Document::parse(file, front).map_err(|problem| vec![problem])?;
        let Value::Object(mut more) = document.value.clone() else {
            return Err(missing("the front matter is no mapping"));
        };
        let mut problems = Vec::new();
        let mut take = |key: &str| match more.remove(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => text.trim().to_owned(),
            Some(_) => {
                let message = format!("{key} is no text, or an empty one");
                problems.push(document.problem(&format!("/{key}"), message));
                String::new()
            }
            None => {
                let at = Position::new(1, 1);
                problems.push(Problem::new(file, at, format!("missing required key `{key}`")));
                String::new()
            }
        };
        let (name, description) = (take("name"), take("description"));
        if !name.is_empty() && !is_name(&name) {
            let message = format!("`{name}` is no name of a skill");
            let help = "1 to 64 of a-z, 0-9 and single hyphens inside";
            problems.push(document.problem("/name", message).help(help));
        } else if !name.is_empty() && name != folder {
            let message = format!("the skill is called `{name}` and its folder `{folder}`");
            problems.push(document.problem("/name", message).help("give both the same name"));
        }
        if description.chars().count() > DESCRIPTION {
            let message = format!("the description is longer than {DESCRIPTION} characters");
            problems.push(document.problem("/description", message));
        }
        match problems.is_empty() {
            true => Ok(Self { name, description, body: body.trim().to_owned(), more }),
            false => Err(problems),
        }
    }
}

/// The front matter, from the end of its first fence on, and what follows its second.
fn split(rest: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if at > 0 && line.trim_end() == FENCE {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.len() <= NAME
        && text.chars().all(plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn check(text: &str, expected: Result<(&str, &str), &[&str]>) {
        let found = Skill::parse("SKILL.md", text, "report");
        match (&found, expected) {
            (Ok(skill), Ok((description, body))) => {
                assert_eq!((skill.name.as_str(), &*skill.description), ("report", description));
                assert_eq!(skill.body, body);
            }
            (Err(problems), Err(expected)) => {
                let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let fits = shown.len() == expected.len()
                    && shown.iter().zip(expected).all(|(shown, part)| shown.contains(part));
                assert!(fits, "{text}: {shown:?}");
            }
            _ => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn front_matter_and_text_are_read_and_what_is_wrong_is_named_by_its_place() {
        let good = "---\nname: report\ndescription: Writes reports.\n---\n\n# How\n\nWrite.\n";
        check(good, Ok(("Writes reports.", "# How\n\nWrite.")));
        check(&good.replace('\n', "\r\n"), Ok(("Writes reports.", "# How\r\n\r\nWrite.")));
        check("---\nname: report\ndescription: A\n---", Ok(("A", "")));
        check("# How", Err(&["no front matter"]));
        check("---\nname: report\n", Err(&["has no end"]));
        check("---\n- a\n---\n", Err(&["no mapping"]));
        check("---\nname: report\n---\n", Err(&["missing required key `description`"]));
        check("---\nname: [a]\ndescription: ''\n---\n", Err(&["SKILL.md:2:", "SKILL.md:3:"]));
        check("---\nname: Report\ndescription: A\n---\n", Err(&["SKILL.md:2:7: `Report` is no"]));
        check("---\nname: other\ndescription: A\n---\n", Err(&["its folder `report`"]));
        let long = format!("---\nname: report\ndescription: {}\n---\n", "a".repeat(1025));
        check(&long, Err(&["longer than 1024"]));
        check("---\nname: [\n---\n", Err(&["SKILL.md:"]));
    }

    #[test]
    fn what_else_it_says_is_kept() {
        let text =
            "---\nname: report\ndescription: A\nallowed-tools: Bash(git:*)\nlicense: MIT\n---\n";
        let skill = Skill::parse("SKILL.md", text, "report").unwrap();
        assert_eq!(
            Value::Object(skill.more),
            json!({"allowed-tools": "Bash(git:*)", "license": "MIT"})
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_panics(text in "(---\n)?(name: [a-z-]{0,4}\n)?\\PC{0,60}(\n---\n)?\\PC{0,20}") {
            let _ = Skill::parse("SKILL.md", &text, "a");
        }
    }
}
