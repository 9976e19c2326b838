//! Which tools a list names.
//!
//! The rule: an entry is a tool's exact id, or the beginning of ids with one `*` after it
//! (`files.*`, `srv.get_*`, `*`). All before that `*` is literal: `files.*` does not name
//! `filesystem.read`, and `?`, `[..]`, `{..}` and a `*` elsewhere mean nothing. An entry that is
//! neither names no tool. Ids hold no `*`, so an id in a list never names more than itself.

use std::fmt;

use crate::tool::id::ToolId;

/// One entry of a list of tools.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pattern {
    /// The tool of exactly this id.
    Exact(String),
    /// Every tool whose id begins so.
    Prefix(String),
}

impl Pattern {
    /// Reads an entry. Total: a text that is neither kind is kept and names no tool.
    pub fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(start) if start.is_empty() || ToolId::parse(start).is_some() => {
                Self::Prefix(start.to_owned())
            }
            _ => Self::Exact(text.to_owned()),
        }
    }

    /// Whether it could name a tool at all.
    pub fn is_legal(&self) -> bool {
        match self {
            Self::Exact(text) => ToolId::parse(text).is_some(),
            Self::Prefix(_) => true,
        }
    }

    /// Whether it names this tool.
    pub fn names(&self, id: &ToolId) -> bool {
        match self {
            Self::Exact(text) => id.as_str() == text,
            Self::Prefix(start) => id.as_str().starts_with(start.as_str()),
        }
    }
}

impl From<&ToolId> for Pattern {
    fn from(id: &ToolId) -> Self {
        Self::Exact(id.to_string())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(text) => f.write_str(text),
            Self::Prefix(start) => write!(f, "{start}*"),
        }
    }
}

/// Whether a list names this tool.
pub fn any(patterns: &[Pattern], id: &ToolId) -> bool {
    patterns.iter().any(|pattern| pattern.names(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, legal: bool, named: &[&str], others: &[&str]) {
        let pattern = Pattern::new(text);
        assert_eq!((pattern.is_legal(), pattern.to_string().as_str()), (legal, text));
        for (ids, expected) in [(named, true), (others, false)] {
            for id in ids.iter().filter_map(|id| ToolId::parse(id)) {
                assert_eq!(pattern.names(&id), expected, "{text} {id}");
            }
        }
    }

    #[test]
    fn exact_or_a_beginning_and_nothing_else() {
        check("file.read", true, &["file.read"], &["file.read2", "fileXread", "File.read"]);
        check("files.*", true, &["files.read", "files."], &["files", "filesystem.read"]);
        check("srv.get_*", true, &["srv.get_", "srv.get_all"], &["srv.get", "srv.got"]);
        check("*", true, &["a", "files.read"], &[]);
        let all = ["a", "ab", "a.b", "axb", "files.read"];
        for wrong in ["a*b", "a**", "?", "[ab]", "{a,b}", "a.?", "**", "", "a b", "é*"] {
            check(wrong, false, &[], &all);
        }
        let id = ToolId::parse("a.b").unwrap();
        assert_eq!(Pattern::from(&id), Pattern::new("a.b"));
    }
}
