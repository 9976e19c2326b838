//! Reading texts that people wrote for models: sentences, quoted words, patterns.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A pattern. One that is no pattern finds nothing, which a test rules out.
pub(super) struct Pattern(LazyLock<Option<Regex>>);

impl Pattern {
    pub(super) const fn new(make: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(make))
    }

    /// Where the first match stands.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        Some(self.0.as_ref()?.find(text)?.range())
    }

    /// Whether there is a match.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    /// All matches with their groups.
    pub(super) fn all<'t>(&self, text: &'t str) -> Vec<Captures<'t>> {
        self.0.as_ref().map(|pattern| pattern.captures_iter(text).collect()).unwrap_or_default()
    }

    /// Whether it can be read.
    #[cfg(test)]
    pub(super) fn is_sound(&self) -> bool {
        self.0.is_some()
    }
}

/// Declares patterns, and a list of all of them for the test that each can be read.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$doc])* static $name: $crate::lint::prose::Pattern =
            $crate::lint::prose::Pattern::new(|| regex::Regex::new($text).ok());)+

        #[cfg(test)]
        #[test]
        fn every_pattern_can_be_read() {
            $(assert!($name.is_sound(), "{}", stringify!($name));)+
        }
    };
}
pub(super) use patterns;

patterns! {
    QUOTED = r#"[`'"‘“]([A-Za-z][A-Za-z0-9_.:/-]{0,60})[`'"’”]"#;
    SENTENCE = r"[^.!?\n]+(?:[.!?](?:[^\s.!?][^.!?\n]*)?)*[.!?]?";
}

/// Words in quotes of any kind, with their places.
pub(super) fn quoted(text: &str) -> Vec<(Range<usize>, &str)> {
    let words = QUOTED.all(text);
    words
        .iter()
        .filter_map(|found| found.get(1))
        .map(|word| (word.range(), word.as_str()))
        .collect()
}

/// The sentences of a text, trimmed. A line break ends one.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let found = SENTENCE.all(text);
    let all = found.iter().filter_map(|one| one.get(0)).map(|one| one.as_str().trim());
    all.filter(|sentence| !sentence.is_empty()).collect()
}

/// Tokens of a text, four characters each, rounded up.
pub(super) fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// The words of a text in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Words that say nothing by themselves.
const FILLERS: [&str; 24] = [
    "a",
    "an",
    "the",
    "of",
    "to",
    "for",
    "in",
    "on",
    "by",
    "with",
    "and",
    "or",
    "from",
    "this",
    "that",
    "its",
    "it",
    "is",
    "be",
    "all",
    "given",
    "specific",
    "specified",
    "single",
];

/// A word without the ending that a number or a person gives it.
pub(super) fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let long = word.len() > 3;
    match word.strip_suffix("ies").filter(|_| long) {
        Some(stem) => format!("{stem}y"),
        None if word.ends_with("ss") => word,
        None => word.strip_suffix('s').filter(|_| long).unwrap_or(&word).to_owned(),
    }
}

/// The telling words of a text, as a set of stems.
pub(super) fn telling(text: &str) -> BTreeSet<String> {
    words(text)
        .iter()
        .filter(|word| !FILLERS.contains(&word.as_str()))
        .map(|word| stem(word))
        .collect()
}

/// A text in a message: on one line and not endless.
pub(super) fn shown(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let short: String = line.chars().take(80).collect();
    if short.len() < line.len() { format!("{short}...") } else { short }
}

/// Names in a message, not too many of them.
pub(super) fn list(names: &[&str]) -> String {
    let first: Vec<String> =
        names.iter().take(5).map(|name| format!("`{}`", shown(name))).collect();
    match names.len().saturating_sub(5) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_sentences_and_quoted_words() {
        let found = sentences("Reads a.txt now. Then stops!\n  Yes");
        assert_eq!(found, ["Reads a.txt now.", "Then stops!", "Yes"]);
        let words: Vec<&str> = quoted("use `get_x` or \"b\", don't").iter().map(|w| w.1).collect();
        assert_eq!(words, ["get_x", "b"]);
        assert_eq!(
            (stem("queries"), stem("class"), stem("labels")),
            ("query".into(), "class".into(), "label".into())
        );
    }
}
