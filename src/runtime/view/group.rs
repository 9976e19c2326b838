//! Groups of MCP tools that are shown always, or when the user's message names one of their
//! keywords. A group grants nothing: it only keeps tools out of a request, and spares deferred
//! ones the search.

use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use regex::Regex;

use super::pattern::{self, Pattern};
use crate::runtime::catalog::Registered;
use crate::tool::descriptor::SourceType;

/// Scripts written without spaces, in which a word may begin and end anywhere.
const UNSPACED: &str = concat!(
    r"\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}",
    r"\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}",
);

/// A character that a whole word may not continue with.
static LETTER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"^[\w--[{UNSPACED}]]$")).ok());

/// When a group shows its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupMode {
    /// In every turn; its deferred tools need no search.
    Always,
    /// In turns whose message names a keyword.
    Dynamic,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    /// Its name, for reasons.
    pub name: String,
    /// When it shows its tools.
    pub mode: GroupMode,
    /// Its members; only MCP tools count.
    pub tools: Vec<Pattern>,
    /// What a message must name one of, in a dynamic group.
    pub keywords: Vec<Keyword>,
}

impl Group {
    /// Whether this tool is a member.
    pub fn holds(&self, tool: &Registered) -> bool {
        is_mcp(tool) && pattern::any(&self.tools, tool.id())
    }

    /// Name and keywords, for reasons.
    pub(super) fn words(&self) -> String {
        let keywords: Vec<&str> = self.keywords.iter().map(Keyword::text).collect();
        format!("{} ({})", self.name, keywords.join(", "))
    }
}

/// Whether a tool comes from an MCP server.
pub fn is_mcp(tool: &Registered) -> bool {
    tool.descriptor.source.r#type == SourceType::Mcp
}

/// A word or a phrase to be found in a message: whole words in any case. The words of a phrase
/// follow each other with nothing but blanks between. In scripts without spaces, and at an edge
/// that is a sign (`c++`), nothing is asked of the neighbours.
#[derive(Debug, Clone)]
pub struct Keyword {
    text: String,
    phrase: Regex,
}

impl Keyword {
    /// Reads a keyword; `None` when it is blank.
    pub fn parse(text: &str) -> Option<Self> {
        let folded = fold(text);
        let words: Vec<String> = folded.split_whitespace().map(regex::escape).collect();
        let trimmed = folded.trim();
        let letter = |c: Option<char>| match (c, &*LETTER) {
            (Some(c), Some(letter)) => letter.is_match(c.encode_utf8(&mut [0; 4])),
            _ => false,
        };
        let (first, last) = (letter(trimmed.chars().next()), letter(trimmed.chars().next_back()));
        let edge = |here: bool, end: &str| {
            if here { format!(r"(?:{end}|[\W{UNSPACED}])") } else { String::new() }
        };
        let (start, end, words) = (edge(first, "^"), edge(last, "$"), words.join(r"\s+"));
        if words.is_empty() {
            return None;
        }
        let phrase = Regex::new(&format!("(?i){start}{words}{end}")).ok()?;
        Some(Self { text: text.trim().to_owned(), phrase })
    }

    /// The keyword as written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Keyword {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Keyword {}

impl Hash for Keyword {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// One form for all cases of a text; `STRASSE` and `straße` meet.
fn fold(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

/// The dynamic groups that a message names, by index, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Matched(Vec<usize>);

impl Matched {
    /// Reads a message once for all groups.
    pub fn of(groups: &[Group], message: &str) -> Self {
        if groups.iter().all(|group| group.mode == GroupMode::Always) {
            return Self::default();
        }
        let message = fold(message);
        let named =
            |group: &Group| group.keywords.iter().any(|word| word.phrase.is_match(&message));
        let dynamic = groups.iter().enumerate().filter(|(_, g)| g.mode == GroupMode::Dynamic);
        Self(dynamic.filter(|(_, group)| named(group)).map(|(index, _)| index).collect())
    }

    /// Whether the group of this index was named.
    pub fn contains(&self, index: usize) -> bool {
        self.0.binary_search(&index).is_ok()
    }
}

/// What the groups say of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing<'a> {
    /// It is in none.
    Free,
    /// One shows it; an `always` one where there is any.
    Shown(&'a Group),
    /// It is in some, and none of them shows it.
    Hidden,
}

/// What the groups say of one tool: one that shows it is enough.
pub(super) fn standing<'a>(
    groups: &'a [Group],
    matched: &Matched,
    tool: &Registered,
) -> Standing<'a> {
    let (mut free, mut shown) = (true, None);
    for (index, group) in groups.iter().enumerate().filter(|(_, group)| group.holds(tool)) {
        free = false;
        match group.mode {
            GroupMode::Always => return Standing::Shown(group),
            GroupMode::Dynamic if matched.contains(index) => shown = shown.or(Some(group)),
            GroupMode::Dynamic => {}
        }
    }
    match (free, shown) {
        (true, _) => Standing::Free,
        (false, Some(group)) => Standing::Shown(group),
        (false, None) => Standing::Hidden,
    }
}

/// Why the groups hide a tool.
pub(super) fn hidden(groups: &[Group], tool: &Registered) -> String {
    let names: Vec<String> = groups.iter().filter(|g| g.holds(tool)).map(Group::words).collect();
    format!("the message names no keyword of its groups: {}", names.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(keyword: &str, found: &[&str], missed: &[&str]) {
        let keyword = Keyword::parse(keyword).unwrap();
        let group = Group {
            name: "g".to_owned(),
            mode: GroupMode::Dynamic,
            tools: Vec::new(),
            keywords: vec![keyword.clone()],
        };
        for (messages, expected) in [(found, true), (missed, false)] {
            for message in messages {
                let matched = Matched::of(std::slice::from_ref(&group), message);
                assert_eq!(matched.contains(0), expected, "{} in {message:?}", keyword.text());
            }
        }
    }

    #[test]
    fn whole_words_in_any_case() {
        check("mail", &["mail", "Mail it.", "(MAIL)", "send-mail now"], &["email", "mails", ""]);
        check("E-Mail", &["an e-mail", "E-MAIL!"], &["email", "e mail", "e-mails"]);
        check("pull request", &["Pull\n  Request?"], &["pull the request", "pull requests"]);
        check("straße", &["STRASSE 4", "Straße"], &["straßen"]);
        check("Überweisung", &["eine ÜBERWEISUNG."], &["Überweisungen"]);
        check("οδος", &["ΟΔΟΣ", "στην Οδος!"], &["οδοσα"]);
        check("наука", &["НАУКА и жизнь"], &["наукам"]);
        check("snake", &["snake case"], &["snake_case"]);
        check("हिन", &["हिन ।"], &["हिन्दी"]);
    }

    #[test]
    fn scripts_without_spaces_and_signs() {
        check("天気", &["今日の天気を教えて", "天気"], &["天候"]);
        check("カード", &["クレジットカードで払う"], &["カート"]);
        check("API", &["このAPIを呼ぶ", "api"], &["apis", "rapid"]);
        check("c++", &["I like C++.", "c++20"], &["c", "abc++"]);
        check("🌧", &["🌧️ today", "x🌧y"], &["☀"]);
        check("a.b", &["a.b"], &["axb"]);
        assert!(["", " \n"].iter().all(|blank| Keyword::parse(blank).is_none()));
    }
}
