//! The regular expressions that find values in a prompt. All of them run in linear time.

use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

/// A constant pattern of this module; the tests see to it that each of them compiles.
pub(super) struct Pattern(LazyLock<Option<Regex>>);

impl Pattern {
    /// Every match, from left to right.
    pub(super) fn find_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Match<'t>> {
        self.0.iter().flat_map(move |p| p.find_iter(text))
    }

    /// Every match with its groups.
    pub(super) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        self.0.iter().flat_map(move |p| p.captures_iter(text))
    }
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        pub(super) static $name: Pattern = Pattern(LazyLock::new(|| Regex::new($text).ok()));
    };
}

pattern!(
    QUOTED,
    concat!(
        r#"(?:"([^"]+)""#, // straight
        r"|“([^“”]+)”|«([^«»]+)»",
        r"|`([^`]+)`|‘([^‘’]+)’)",
    )
);
pattern!(SINGLE, r"(?:^|[\s(\[{=:,])'([^'\n]+(?:'\w[^'\n]*)*)'(?:$|[\s)\]},.;:!?])");
pattern!(URL, r#"(?i)\b(?:(?:https?|ftp|file|wss?)://|www\.)[^\s<>"'`“”«»)\]}]+"#);
pattern!(EMAIL, r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+");
pattern!(
    DATE_TIME,
    r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z\b|[+-]\d{2}:\d{2}\b|\b)"
);
pattern!(DATE, r"\b\d{4}-\d{2}-\d{2}\b");
pattern!(DAY_MONTH, r"(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]{3,9})[., ]{1,2}(\d{4})\b");
pattern!(MONTH_DAY, r"(?i)\b([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?[, ]{1,2}(\d{4})\b");
pattern!(SLASHED, r"\b(?:\d{1,4}/\d{1,2}/\d{1,4}|\d{1,2}\.\d{1,2}\.\d{4})\b");
pattern!(TIME, r"(?i)\b(\d{1,2})(?::(\d{2})(?::(\d{2}))?)?(?: ?([ap])\.?m\b\.?|\b)");
pattern!(
    PATH,
    concat!(
        r"(?:[A-Za-z]:\\[\w.\\-]+|(?:~|\.{1,2})?/[\w.@~-]+(?:/[\w.@~-]*)*",
        r"|(?:[\w@-][\w.@-]*/)+[\w.@-]*|[\w@-][\w.@-]*\.[A-Za-z]\w{0,7})"
    )
);
pattern!(ID, r"#\d+|[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*");
pattern!(VERSION, r"\bv?\d+(?:\.\d+){2,}(?:-[A-Za-z][\w.]*\w)?\b");
pattern!(NUMBER, r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|\.\d+)");
pattern!(WORD, r"[A-Za-z]+");
pattern!(
    CODE,
    concat!(
        r"(?:[A-Za-z_][\w.]*=\S+", // key=value
        r"|\b\w+(?:::\w+)+|\b[a-z]\w*\(\)|\b[a-z]+[A-Z]\w*|\b[A-Za-z]+(?:_\w+)+)",
    )
);
pattern!(
    DENIED,
    concat!(
        r"(?i)\b(?:no|not|don't|dont|do not|never|without|rather than|instead of|except)\b",
        r"((?:[ ]+[\w'’-]+){1,4})",
    )
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_pattern_compiles() {
        let all = [
            &QUOTED, &SINGLE, &URL, &EMAIL, &DATE_TIME, &DATE, &DAY_MONTH, &MONTH_DAY, &SLASHED,
            &TIME, &PATH, &ID, &NUMBER, &WORD, &VERSION, &CODE, &DENIED,
        ];
        assert!(all.iter().all(|p| p.0.is_some()));
    }
}
