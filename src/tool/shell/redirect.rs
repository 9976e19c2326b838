//! Redirections: which file is read or written.

use tree_sitter::Node;

use super::word::{self, Word, text_of};
use super::{Kind, Part};

/// The parts that a redirection is: none where it touches no file, else one, with a doubt where it
/// is not sure what it does.
pub(super) fn read(node: Node<'_>, source: &str) -> Option<Part> {
    let unsure = || Some(Part::construct(text_of(node, source), "a redirection is unclear"));
    let (mut operator, mut targets) = ("", Vec::new());
    for child in node.children(&mut node.walk()) {
        match child.kind() {
            "file_descriptor" => {}
            _ if !child.is_named() && targets.is_empty() => operator = child.kind(),
            _ => targets.push(word::read(child, source)),
        }
    }
    if matches!(operator, ">&-" | "<&-") && targets.is_empty() {
        return None;
    }
    // What follows the first target is an argument of the command, see `behind`.
    let Some(target) = targets.into_iter().next() else { return unsure() };
    let kind = match operator {
        "<" => Kind::Read,
        ">" | ">>" | ">|" => Kind::Write,
        ">&" | "<&" if target.literal().is_some_and(is_descriptor) => return None,
        _ => return unsure(),
    };
    if target.literal().is_some_and(|file| HARMLESS.contains(&file)) {
        return None;
    }
    let doubt = match target.literal() {
        None => Some("which file it touches is not known"),
        // bash opens connections for names like `/dev/tcp/HOST/PORT`.
        Some(file) if file.starts_with("/dev/") => Some("a device is no file"),
        Some(_) => None,
    };
    let operator = if kind == Kind::Read { "<" } else { ">" };
    Some(Part::new(kind, vec![Word::of(operator), target], doubt))
}

/// Arguments of a command that stand behind its redirections, which the grammar takes for more
/// targets.
pub(super) fn behind(node: Node<'_>, source: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for redirect in node.named_children(&mut node.walk()) {
        let (field, spare) = match redirect.kind() {
            "file_redirect" => ("destination", 1),
            "heredoc_redirect" => ("argument", 0),
            _ => continue,
        };
        let mut cursor = redirect.walk();
        let found = redirect.children_by_field_name(field, &mut cursor).skip(spare);
        words.extend(found.map(|word| word::read(word, source)));
    }
    words
}

/// Files that keep nothing and give nothing.
const HARMLESS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

fn is_descriptor(text: &str) -> bool {
    text == "-" || (text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit()))
}
