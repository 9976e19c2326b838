//! From the tree of a line to its parts.

use tree_sitter::{Node, Parser};

use super::unwrap::{is_reserved, unwrap};
use super::word::{self, Word, text_of};
use super::{DEEPEST, Kind, LONGEST, Line, MOST_PARTS, Part, redirect};

const NOT_READ: &str = "it is not understood";
const TOO_DEEP: &str = "it is nested too deeply";
const SETS: &str = "it sets variables, and what they change is not known";

/// Takes a line apart. What cannot be read is a part in doubt.
pub fn parse(line: &str) -> Line {
    let mut parts = Parts::default();
    parts.line(line, 0);
    // A folder that was changed before makes another file of a relative name.
    let moves = |part: &Part| matches!(part.program(), Some("cd" | "pushd" | "popd"));
    if parts.found.iter().any(moves) {
        for part in &mut parts.found {
            if part.file().is_some_and(|file| !file.starts_with('/')) {
                part.doubt = part.doubt.or(Some("the line changes its folder"));
            }
        }
    }
    if parts.found.is_empty() {
        parts.found.push(Part::construct(line, "there is no command"));
    }
    Line { parts: parts.found }
}

/// The most here-documents of a line: the grammar keeps what it must remember of them in a buffer
/// of one kilobyte.
const MOST_DOCUMENTS: usize = 8;

/// The line with every byte that is not ASCII masked, at the same places. The grammar's scanner
/// looks letters up in a table that has no more, beyond its end. To a shell those bytes are parts
/// of words, and so is the mask, which the name of no here-document that is understood holds.
fn masked(line: &str) -> Vec<u8> {
    line.bytes().map(|byte| if byte.is_ascii() { byte } else { b'%' }).collect()
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Parts {
    found: Vec<Part>,
}

impl Parts {
    /// Reads a line within the line, or the line itself.
    pub(super) fn line(&mut self, line: &str, depth: usize) {
        if self.full() {
            return;
        }
        if line.len() > LONGEST {
            return self.doubt(line, "it is too long");
        }
        // What a person would not see as it is, or the grammar does not see as a shell does.
        let strange = |c: char| match c {
            '\n' | '\t' => false,
            c => c.is_control() || (c != ' ' && c.is_whitespace()),
        };
        if line.contains(strange) || line.contains("\\\n") {
            self.doubt(line, "it holds characters that shells read in different ways");
            return self.crudely(line, depth);
        }
        if line.matches("<<").count() > MOST_DOCUMENTS {
            self.doubt(line, "it has too many here-documents");
            return self.crudely(line, depth);
        }
        let mut parser = Parser::new();
        let known = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
        let Some(tree) = known.then(|| parser.parse(masked(line), None)).flatten() else {
            return self.doubt(line, NOT_READ);
        };
        if tree.root_node().has_error() {
            self.doubt(line, NOT_READ);
            self.crudely(line, depth);
        }
        Walk { source: line, parts: self }.node(tree.root_node(), depth);
    }

    /// What could be a command in a line that is not understood: nothing of it is allowed, and what
    /// must not run is known all the same.
    fn crudely(&mut self, line: &str, depth: usize) {
        let ends = |c: char| c.is_control() || ";&|(){}`\"'<>".contains(c);
        for piece in line.split(ends) {
            let words = piece.split_whitespace().map(Word::of).collect();
            unwrap((words, Some(NOT_READ)), self, depth);
        }
    }

    pub(super) fn doubt(&mut self, source: &str, why: &'static str) {
        self.push(Part::construct(source.trim(), why));
    }

    pub(super) fn push(&mut self, part: Part) {
        match self.found.len() {
            _ if self.full() => {}
            0..MOST_PARTS => self.found.push(part),
            _ => self.found.push(Part::construct("…", "it has too many parts")),
        }
    }

    /// Whether nothing more is looked at. Lines within lines, of which each is read in two ways,
    /// would be read without end.
    pub(super) fn full(&self) -> bool {
        self.found.len() > MOST_PARTS
    }
}

struct Walk<'a> {
    source: &'a str,
    parts: &'a mut Parts,
}

impl Walk<'_> {
    fn node(&mut self, node: Node<'_>, depth: usize) {
        let text = text_of(node, self.source);
        if self.parts.full() {
            return;
        }
        if depth > DEEPEST {
            return self.parts.doubt(text, TOO_DEEP);
        }
        if node.is_missing() {
            return self.parts.doubt(text, NOT_READ);
        }
        if !node.is_named() {
            if !TOKENS.contains(&node.kind()) {
                self.parts.doubt(text, NOT_READ);
            }
            return;
        }
        let doubt = match node.kind() {
            "command" => return self.command(node, Vec::new(), depth),
            "redirected_statement" => {
                let behind = redirect::behind(node, self.source);
                let body = node.child_by_field_name("body");
                let Some(body) = body.filter(|_| !behind.is_empty()) else {
                    return self.children(node, depth);
                };
                if body.kind() == "command" {
                    self.command(body, behind, depth);
                } else {
                    self.node(body, depth + 1);
                }
                for other in node.named_children(&mut node.walk()).filter(|one| *one != body) {
                    self.node(other, depth + 1);
                }
                return self.parts.doubt(text, "words stand behind a redirection");
            }
            "file_redirect" => {
                self.parts.found_redirect(redirect::read(node, self.source));
                return self.within(node, depth);
            }
            "heredoc_redirect" => {
                self.heredoc(node);
                return self.within(node, depth);
            }
            "declaration_command" | "unset_command" => {
                let words = words(node, self.source);
                self.parts.push(Part::new(Kind::Command, words, Some(SETS)));
                return self.within(node, depth);
            }
            "for_statement" if !loops_plainly(node, self.source) => SETS,
            kind if PLAIN.contains(&kind) => return self.children(node, depth),
            "variable_assignment" | "variable_assignments" => SETS,
            "expansion" | "arithmetic_expansion" => "what it expands to, and sets, is not known",
            "function_definition" => "a function may stand for any program",
            "test_command" => "a test is not looked into",
            "process_substitution" => "a process stands for a file",
            _ => NOT_READ,
        };
        self.parts.doubt(text, doubt);
        self.within(node, depth);
    }

    /// What stands in a node that is understood: nothing but its children.
    fn children(&mut self, node: Node<'_>, depth: usize) {
        // Text between quotes and in here-documents is nobody's child.
        let loose = matches!(node.kind(), "string" | "heredoc_body");
        let mut end = node.start_byte();
        for child in node.children(&mut node.walk()) {
            let between = self.source.get(end..child.start_byte()).unwrap_or_default();
            if !loose && !between.trim_matches([' ', '\t', '\n']).is_empty() {
                self.parts.doubt(between, NOT_READ);
            }
            end = child.end_byte();
            self.node(child, depth + 1);
        }
    }

    /// What is found in a node that is in doubt, or judged, as a whole.
    fn within(&mut self, node: Node<'_>, depth: usize) {
        for child in node.named_children(&mut node.walk()) {
            match PARTS_OF.contains(&child.kind()) {
                true => self.within(child, depth + 1),
                false => self.node(child, depth + 1),
            }
        }
    }

    /// A simple command; what is substituted in it is found too.
    fn command(&mut self, node: Node<'_>, behind: Vec<Word>, depth: usize) {
        let (mut words, mut doubt) = (Vec::new(), None);
        let mut end = None;
        for child in node.children(&mut node.walk()) {
            let between = end.and_then(|end| self.source.get(end..child.start_byte()));
            // Words stand apart, in one line.
            if between.is_some_and(|text| text.is_empty() || text.contains(not_blank)) {
                doubt = Some("its words do not stand apart");
            }
            end = Some(child.end_byte());
            match child.kind() {
                "variable_assignment" => doubt = Some("a variable is set for it"),
                "file_redirect" => {
                    self.parts.found_redirect(redirect::read(child, self.source));
                }
                "herestring_redirect" => doubt = Some("not every shell knows `<<<`"),
                _ => words.push(word::read(child, self.source)),
            }
        }
        words.extend(behind);
        let text = text_of(node, self.source);
        match words.first() {
            None => doubt.into_iter().for_each(|doubt| self.parts.doubt(text, doubt)),
            // Where the grammar went wrong it may have ended things too early.
            Some(first) if is_reserved(first) => self.parts.crudely(self.source, depth),
            Some(_) => {}
        }
        unwrap((words, doubt), self.parts, depth);
        for child in node.named_children(&mut node.walk()) {
            for inner in child.children(&mut child.walk()) {
                self.substituted(inner, depth + 1);
            }
            if matches!(child.kind(), "command_substitution" | "process_substitution") {
                self.node(child, depth + 1);
            }
        }
    }

    /// Commands inside a word.
    fn substituted(&mut self, node: Node<'_>, depth: usize) {
        if depth > DEEPEST {
            return self.parts.doubt(text_of(node, self.source), TOO_DEEP);
        }
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            return self.node(node, depth);
        }
        for child in node.children(&mut node.walk()) {
            self.substituted(child, depth + 1);
        }
    }

    /// What stands in a here-document is input; what is substituted in it is run.
    fn heredoc(&mut self, node: Node<'_>) {
        let whole = text_of(node, self.source);
        let start = node.named_children(&mut node.walk()).find(|one| one.kind() == "heredoc_start");
        let start = start.map_or("", |start| text_of(start, self.source));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let bare = start.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let sure = match bare {
            Some(bare) => bare.chars().all(plain),
            None => start.chars().all(plain) && !whole.contains(['$', '`', '\\']),
        };
        if !sure {
            self.parts.doubt(whole, "a here-document is not plain text");
        }
    }
}

impl Parts {
    fn found_redirect(&mut self, part: Option<Part>) {
        if let Some(part) = part {
            self.push(part);
        }
    }
}

fn not_blank(c: char) -> bool {
    c != ' ' && c != '\t'
}

fn words(node: Node<'_>, source: &str) -> Vec<Word> {
    let read = |child: Node<'_>| match child.is_named() {
        true => word::read(child, source),
        false => Word::of(child.kind()),
    };
    node.children(&mut node.walk()).map(read).collect()
}

/// Whether a loop sets a variable that nothing but the line itself reads.
fn loops_plainly(node: Node<'_>, source: &str) -> bool {
    let name = node.child_by_field_name("variable").map(|name| text_of(name, source));
    let own = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    node.child(0).is_some_and(|first| first.kind() == "for")
        && name.is_some_and(|name| name.chars().all(own))
}

/// Nodes that run nothing by themselves, whose children are looked at.
const PLAIN: [&str; 30] = [
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "negated_command",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "do_group",
    "case_statement",
    "case_item",
    "extglob_pattern",
    "command_substitution",
    "comment",
    // Words, where they stand in no command.
    "word",
    "number",
    "string",
    "string_content",
    "raw_string",
    "concatenation",
    "simple_expansion",
    "variable_name",
    "special_variable_name",
    "heredoc_start",
    "heredoc_end",
    "heredoc_body",
    "heredoc_content",
];

/// Parts of nodes that are in doubt already.
const PARTS_OF: [&str; 9] = [
    "expansion",
    "variable_assignment",
    "binary_expression",
    "unary_expression",
    "postfix_expression",
    "parenthesized_expression",
    "ternary_expression",
    "test_operator",
    "file_descriptor",
];

/// Tokens of those nodes; `((`, `|&`, `;&` and others are none of them.
const TOKENS: [&str; 30] = [
    ";", ";;", "&", "&&", "||", "|", "(", ")", "{", "}", "!", "$(", "`", "\"", "$", "if", "then",
    "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case", "esac", "<<", "\n",
];
