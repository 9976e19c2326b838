//! A command line taken apart, so that policy can judge every program in it. Nothing is run here.
//!
//! A [`Line`] is a list of [`Part`]s: each simple command, wherever it stands (behind `;`, `&&`, a
//! pipe or `&`, in a loop, a function, a substitution, a here-document, an `eval`), each file that
//! is redirected to or from, and each construct of which this module does not know what it does. A
//! part of the last kind carries a [`Part::doubt`], and so does a command that runs more than its
//! words say. What is not known to be harmless is in doubt: kinds of nodes are listed where they
//! are understood, and no other is.
//!
//! The line is read by a grammar of bash and run by `/bin/sh`. Where the two may differ the line is
//! in doubt: `&>`, `<<<`, `[[`, arrays, arithmetic, and words that do not stand apart.
//!
//! Reading order: `word`, `read`, `redirect`, `unwrap`, `launcher`, `pattern`.

mod launcher;
pub mod pattern;
mod read;
mod redirect;
mod unwrap;
pub mod word;

pub use pattern::{Fit, Pattern};
pub use read::parse;
pub use word::Word;

/// The longest line that is read, in bytes.
pub const LONGEST: usize = 16_384;

/// The most parts that a line may have.
pub const MOST_PARTS: usize = 256;

/// How deep constructs, and lines within lines, may be nested.
pub const DEEPEST: usize = 48;

/// A command line in its parts, in the order in which they stand. It has at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The parts.
    pub parts: Vec<Part>,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program with its arguments.
    Command,
    /// A program whose only purpose is to start the one of the next part.
    Launcher,
    /// A file that is written by a redirection: `>` and its name.
    Write,
    /// A file that is read by a redirection: `<` and its name.
    Read,
    /// What is no command: an assignment, a definition, a test, or what was not understood.
    Construct,
}

/// One part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// Its words, the program first; none of a construct.
    pub words: Vec<Word>,
    /// Why no rule can allow it; `None` where its words say all that it does.
    pub doubt: Option<&'static str>,
    /// A construct as it is written.
    source: String,
}

/// The longest text of a part, in Unicode scalar values.
const LONGEST_TEXT: usize = 160;

impl Part {
    fn new(kind: Kind, words: Vec<Word>, doubt: Option<&'static str>) -> Self {
        Self { kind, words, doubt, source: String::new() }
    }

    fn construct(source: &str, doubt: &'static str) -> Self {
        let source = source.to_owned();
        Self { source, ..Self::new(Kind::Construct, Vec::new(), Some(doubt)) }
    }

    /// The part as a person reads it, cut where it is long.
    pub fn text(&self) -> String {
        let whole = match self.kind {
            Kind::Construct => self.source.clone(),
            _ => self.words.iter().map(Word::shown).collect::<Vec<_>>().join(" "),
        };
        match whole.char_indices().nth(LONGEST_TEXT) {
            Some((cut, _)) => format!("{}…", &whole[..cut]),
            None => whole,
        }
    }

    /// The program, where it is known.
    pub fn program(&self) -> Option<&str> {
        match self.kind {
            Kind::Command | Kind::Launcher => self.words.first()?.literal(),
            Kind::Write | Kind::Read | Kind::Construct => None,
        }
    }

    /// The file that a redirection names, where it is known.
    pub fn file(&self) -> Option<&str> {
        match self.kind {
            Kind::Write | Kind::Read => self.words.get(1)?.literal(),
            Kind::Command | Kind::Launcher | Kind::Construct => None,
        }
    }
}

/// The name of a program without its folders.
fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod properties_tests;
#[cfg(test)]
mod shell_tests;
