//! Prompts that stand in for a user's own until somebody writes them.

use crate::runtime::catalog::source::words;
use crate::tool::descriptor::Descriptor;

const HEADER: [&str; 7] = ["id", "kind", "prompt", "tools", "args", "tags", "because"];
/// Longest part of a description that goes into a prompt, in characters.
const SENTENCE: usize = 160;

/// Negative prompts that fit any suite.
const NEGATIVE: [[&str; 4]; 3] = [
    ["negative-1", "no_tool", "Thanks, that is all I needed for today.", "nothing is asked for"],
    ["negative-2", "no_tool", "What is 3 plus 4?", "the answer needs no tool"],
    ["negative-3", "ask", "Please do it for the other one as well.", "nothing says what or which"],
];

/// The prompts file: one golden stub per tool, three negative ones.
pub(super) fn prompts(tools: &[Descriptor]) -> String {
    let mut text = line(&HEADER);
    for tool in tools {
        let id = format!("stub-{}", tool.tool_id);
        let prompt = prompt(tool);
        let because = "replace with what your users say";
        text += &line(&[&id, "golden", &prompt, tool.tool_id.as_str(), "", "stub", because]);
    }
    for [id, kind, prompt, because] in NEGATIVE {
        text += &line(&[id, kind, prompt, "", "", "stub", because]);
    }
    text
}

/// The words of the tool's name and the first sentence of its description.
fn prompt(tool: &Descriptor) -> String {
    let name = tool.canonical_name.as_deref().unwrap_or(tool.tool_id.as_str());
    let name = words(name).join(" ");
    let name = if name.is_empty() { tool.tool_id.to_string() } else { name };
    let sentence = first_sentence(&tool.description.summary);
    if sentence.is_empty() { name } else { format!("{name}: {sentence}") }
}

/// The first sentence on one line, without characters that do not show.
fn first_sentence(text: &str) -> String {
    let first = text.trim().split("\n\n").next().unwrap_or_default();
    let clean: String = first.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let one = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", "! ", "? "].iter().filter_map(|stop| one.find(stop)).min();
    let sentence = end.and_then(|end| one.get(..=end)).unwrap_or(&one);
    if sentence.chars().count() <= SENTENCE {
        return sentence.to_owned();
    }
    let mut short = String::new();
    for word in sentence.split(' ') {
        if short.chars().count() + word.chars().count() + 1 > SENTENCE {
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    if short.is_empty() { sentence.chars().take(SENTENCE).collect() } else { short }
}

/// One record of RFC 4180, ended by a line break.
fn line(fields: &[&str]) -> String {
    let quoted = |field: &&str| {
        let plain = !field.contains([',', '"', '\n', '\r']) && field.trim() == *field;
        if plain { (*field).to_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sentences() {
        let check = |text: &str, expected: &str| assert_eq!(first_sentence(text), expected);
        check("Reads a file. Then stops.", "Reads a file.");
        check("\n  Reads\n  a file\n\nArgs: path", "Reads a file");
        check("Version 1.2 of it", "Version 1.2 of it");
        check("a\u{1b}[31m b\u{85}c", "a [31m b c");
        assert!(first_sentence(&"word ".repeat(100)).len() <= SENTENCE);
        assert_eq!(first_sentence(&"w".repeat(500)).len(), SENTENCE);
    }
}
