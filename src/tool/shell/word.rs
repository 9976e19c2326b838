//! Words: literal where the shell passes on exactly what is written, unknown otherwise.

use tree_sitter::Node;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Exactly this text, quotes removed.
    Literal(String),
    /// Whatever the shell makes of what is written: any number of words.
    Unknown(String),
}

impl Word {
    /// A literal word.
    pub fn of(text: &str) -> Self {
        Self::Literal(text.to_owned())
    }

    /// The text, where it is known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Unknown(_) => None,
        }
    }

    /// The word as a person reads it; quoted where it would not be read as one word.
    pub fn shown(&self) -> String {
        match self {
            Self::Literal(text) if !text.is_empty() && text.chars().all(plain_or_operator) => {
                text.clone()
            }
            Self::Literal(text) => format!("'{}'", text.replace('\'', "'\\''")),
            Self::Unknown(source) => source.clone(),
        }
    }
}

/// Whether a character means itself everywhere in a word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-./:=,+@%^".contains(c)
}

fn plain_or_operator(c: char) -> bool {
    is_plain(c) || "<>{}".contains(c)
}

/// What a node covers, widened to whole characters: the grammar sees bytes.
pub(super) fn text_of<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    let (mut start, mut end) = (node.start_byte(), node.end_byte());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    while !source.is_char_boundary(end) {
        end += 1;
    }
    &source[start..end]
}

/// Reads a word from a node.
pub(super) fn read(node: Node<'_>, source: &str) -> Word {
    let text = text_of(node, source);
    match literal(node, source) {
        Some(literal) => Word::Literal(literal),
        None => Word::Unknown(text.to_owned()),
    }
}

fn literal(node: Node<'_>, source: &str) -> Option<String> {
    let text = text_of(node, source);
    match node.kind() {
        "command_name" => literal(node.named_child(0)?, source),
        // The end of a command that `find` is given.
        "word" if text == "\\;" => Some(";".to_owned()),
        // A pair of braces with nothing in it is no expansion.
        "word" | "number" | "concatenation" if text.replace("{}", "").chars().all(is_plain) => {
            Some(text.to_owned())
        }
        "raw_string" => Some(quoted(text, '\'')?.to_owned()),
        "string" => {
            let inner = quoted(text, '"')?;
            (!inner.contains(['\\', '$', '`'])).then(|| inner.to_owned())
        }
        "concatenation" => {
            let mut joined = String::new();
            let mut end = node.start_byte();
            for piece in node.children(&mut node.walk()) {
                if piece.start_byte() != end {
                    return None;
                }
                end = piece.end_byte();
                joined.push_str(&literal(piece, source)?);
            }
            (end == node.end_byte()).then_some(joined)
        }
        _ => None,
    }
}

/// What stands between two quotes that are the only ones.
fn quoted(text: &str, quote: char) -> Option<&str> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(inner)
}
