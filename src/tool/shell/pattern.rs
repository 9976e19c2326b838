//! Patterns of command parts, as rules state them: words, compared one by one.

use super::{Kind, Part, Word, name};

/// A pattern: literal words, `*` for exactly one word, and a `*` at the end for all that follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    words: Vec<One>,
    /// Whether any words may follow.
    open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum One {
    Exactly(String),
    Any,
}

/// How a part fits a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It does not.
    No,
    /// It would, for some of what its unknown words may stand for.
    Maybe,
    /// It does.
    Yes,
}

impl Pattern {
    /// Reads a pattern. Words stand apart by spaces; one in single quotes is literal and may hold
    /// spaces and `*`.
    ///
    /// # Errors
    /// What is wrong with it, and how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (word, after) = match rest.strip_prefix('\'') {
                Some(quoted) => {
                    let end = quoted.find('\'').ok_or("a quote is not closed")?;
                    (One::Exactly(quoted[..end].to_owned()), &quoted[end + 1..])
                }
                None => {
                    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                    (bare(&rest[..end])?, &rest[end..])
                }
            };
            if !after.is_empty() && !after.starts_with(char::is_whitespace) {
                return Err("a quoted word goes on behind its quote".to_owned());
            }
            words.push(word);
            rest = after.trim_start();
        }
        let open = words.last() == Some(&One::Any);
        if open {
            words.pop();
        }
        if words.is_empty() && !open {
            return Err("there is no word".to_owned());
        }
        Ok(Self { words, open })
    }

    /// Whether it allows a part: word by word, each of them known, and nothing in doubt.
    pub fn allows(&self, part: &Part) -> bool {
        let redirects = |kind| matches!(kind, Kind::Write | Kind::Read);
        let own = match part.kind {
            Kind::Command => true,
            // A pattern that names no word speaks of programs, not of files.
            kind if redirects(kind) => !self.words.is_empty(),
            _ => false,
        };
        own && part.doubt.is_none() && self.fits(&part.words, false) == Fit::Yes
    }

    /// How a part fits where it is to be stopped: a program is known by its name whatever folder it
    /// is called from, and what is not known may be anything.
    pub fn catches(&self, part: &Part) -> Fit {
        self.fits(&part.words, true)
    }

    fn fits(&self, words: &[Word], by_name: bool) -> Fit {
        let mut fit = Fit::Yes;
        for (at, one) in self.words.iter().enumerate() {
            let Some(word) = words.get(at) else { return Fit::No };
            let Word::Literal(text) = word else {
                // It may become no word or several: nothing behind it has a known place.
                return Fit::Maybe;
            };
            let own = if by_name && at == 0 { name(text) } else { text };
            match one {
                One::Exactly(wanted) if wanted == text || wanted == own => {}
                One::Exactly(_) => return Fit::No,
                One::Any => {}
            }
        }
        let rest = words.get(self.words.len()..).unwrap_or_default();
        if rest.iter().any(|word| word.literal().is_none()) {
            fit = Fit::Maybe;
        }
        match (self.open, rest.is_empty()) {
            (true, _) if by_name => Fit::Yes,
            (true, _) | (false, true) => fit,
            // Unknown words alone may come to nothing.
            (false, false) if rest.iter().all(|word| word.literal().is_none()) => fit,
            (false, false) => Fit::No,
        }
    }
}

fn bare(word: &str) -> Result<One, String> {
    match word {
        "*" => Ok(One::Any),
        _ if word.contains('*') => Err(format!(
            "`*` stands for whole words: write `{} *`, or '{word}' in quotes for the character",
            word.replace('*', "")
        )),
        _ if word.contains(['\'', '"', '\\', '$', '`', ';', '|', '&', '(', ')']) => Err(format!(
            "`{word}` is no word of one command: a pattern is about one part of a line"
        )),
        _ => Ok(One::Exactly(word.to_owned())),
    }
}
