//! Secrets that are known by their shape.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::{Captures, Regex};

use super::credible::{Form, credible, mixed, refers, stands_for_another};

/// The part of a match that is a secret; where none is, the place to search on from.
type Judge = fn(&str, &Captures<'_>) -> Result<Range<usize>, usize>;

/// One shape, as it is written down.
struct Shape {
    /// What stands in the place of such a secret.
    mark: &'static str,
    /// Every match begins with one of these, in any case. A text without them is not searched.
    triggers: &'static [&'static str],
    /// The shape.
    find: &'static str,
    /// A beginning of it that reaches the end of the text.
    open: &'static str,
    judge: Judge,
}

/// Where a private key ends.
const KEY_END: &str = "-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----\
    |---- END [A-Z0-9 ]{0,40}PRIVATE KEY ----";

/// The beginning of a word.
const WORD: &str = r"(?-u:\b)";

/// An assignment's names, as they are spelled.
const NAME: &str = "(?i:password|passwd|passphrase|secret|token\
    |(?:api|access|secret|private|auth)[_-]?key)";

/// The mark of an assigned value.
pub(super) const ASSIGNED: &str = "[redacted:assignment]";

static SHAPES: [Shape; 12] = [
    Shape {
        mark: "[redacted:private-key]",
        triggers: &["-----begin ", "---- begin "],
        find: "(?s)(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----\
               |---- BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY ----).*?(?:KEY_END|\\z)",
        open: r"(?:-----|---- )BEGIN [A-Z0-9 ]{0,60}-{0,4}\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:authorization]",
        triggers: &["authorization", "bearer "],
        find: "(?i)(?:authorization[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?(bearer|basic|token)\
               |WORDbearer)[ \t]{1,8}([A-Za-z0-9._~+/=-]{4,})",
        open: "(?i)(?:authorization[\"']?[ \t]{0,8}(?:[:=][ \t]{0,8}[\"']?[a-z]{0,6}[ \t]{0,8})?\
               |bearer[ \t]{0,8})[A-Za-z0-9._~+/=-]*\\z",
        judge: authorization,
    },
    Shape {
        mark: "[redacted:api-key]",
        triggers: &["sk-"],
        find: "WORDsk-[A-Za-z0-9_-]{16,}",
        open: r"sk-[A-Za-z0-9_-]*\z",
        judge: random,
    },
    Shape {
        mark: "[redacted:payment-key]",
        triggers: &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        find: "[sr]k_(?:live|test)_[A-Za-z0-9]{10,}",
        open: r"[sr]k_(?:live|test)_[A-Za-z0-9]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:github-token]",
        triggers: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        find: "(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        open: r"(?:gh[pousr]|github_pat)_[A-Za-z0-9_]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:slack-token]",
        triggers: &["xox"],
        find: "xox[abeprs]-[A-Za-z0-9-]{10,}",
        open: r"xox(?:[abeprs](?:-[A-Za-z0-9-]*)?)?\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:aws-key]",
        triggers: &["akia"],
        find: "AKIA[A-Z0-9]{16,}",
        open: r"AKIA[A-Z0-9]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:google-key]",
        triggers: &["aiza"],
        find: "AIza[A-Za-z0-9_-]{30,}",
        open: r"AIza[A-Za-z0-9_-]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:gitlab-token]",
        triggers: &["glpat-"],
        find: "glpat-[A-Za-z0-9_-]{16,}",
        open: r"glpat-[A-Za-z0-9_-]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:registry-token]",
        triggers: &["npm_", "hf_"],
        find: "WORD(?:npm|hf)_[A-Za-z0-9]{30,}",
        open: r"(?:npm|hf)_[A-Za-z0-9]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:jwt]",
        triggers: &["eyj"],
        find: r"eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}",
        open: r"eyJ[A-Za-z0-9_.-]*\z",
        judge: all_of_it,
    },
    Shape {
        mark: "[redacted:userinfo]",
        triggers: &["://"],
        find: r#"://([^\s/?#"'<>\\]*:[^\s/?#"'<>\\]+)@"#,
        open: r#"://[^\s/?#"'<>\\]*\z"#,
        judge: userinfo,
    },
];

/// A value assigned to the name of a secret. The groups are the name and what stands between.
static ASSIGNMENT: Shape = Shape {
    mark: ASSIGNED,
    triggers: &[
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "api_key",
        "api-key",
        "apikey",
        "access_key",
        "access-key",
        "accesskey",
        "private_key",
        "private-key",
        "privatekey",
        "auth_key",
        "auth-key",
        "authkey",
    ],
    find: "(NAME)[\"']?([ \t]{0,8}(?:=>|:=|==?|:)[ \t]{0,8})",
    open: "NAME[\"']?[ \t]{0,8}(?:(?:=>|:=|==?|:)[ \t]{0,8}(?:\
           \"(?:[^\"\\\\\\s]|\\\\\\S)*\\\\?|'(?:[^'\\\\\\s]|\\\\\\S)*\\\\?\
           |[^\\s\"'`&;,<>(){}\\[\\]|\\\\]*[ \t;,]{0,8}))?\\z",
    judge: assignment,
};

/// A shape that can be searched for.
struct Pattern {
    mark: &'static str,
    find: Regex,
    open: Regex,
    judge: Judge,
}

/// All shapes, made ready once, and the search for their triggers.
struct Patterns {
    all: Vec<Pattern>,
    triggers: AhoCorasick,
    /// The pattern of each trigger.
    owner: Vec<usize>,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let shapes = || SHAPES.iter().chain([&ASSIGNMENT]);
    let regex = |text: &str| {
        let names = [("NAME", NAME), ("WORD", WORD), ("KEY_END", KEY_END)];
        let full = names.iter().fold(text.to_owned(), |text, (name, is)| text.replace(name, is));
        Regex::new(&full).ok()
    };
    let compile = |shape: &Shape| {
        let (find, open) = (regex(shape.find)?, regex(shape.open)?);
        Some(Pattern { mark: shape.mark, find, open, judge: shape.judge })
    };
    let triggers = shapes().flat_map(|shape| shape.triggers);
    let owner = shapes().enumerate().flat_map(|(at, shape)| shape.triggers.iter().map(move |_| at));
    Some(Patterns {
        all: shapes().map(compile).collect::<Option<Vec<Pattern>>>()?,
        triggers: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(aho_corasick::AhoCorasickKind::DFA))
            .build(triggers)
            .ok()?,
        owner: owner.collect(),
    })
});

/// One secret that was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// What is to be replaced.
    pub(super) range: Range<usize>,
    /// By what.
    pub(super) mark: &'static str,
    /// Whether it would go on, were there more text.
    pub(super) endless: bool,
}

/// All that is recognised in a text.
pub(super) fn hits(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    for pattern in triggered(text) {
        let mut from = 0;
        while let Some(found) = pattern.find.captures_at(text, from) {
            let Some(all) = found.get(0) else { break };
            match (pattern.judge)(text, &found) {
                Ok(range) => {
                    let is_key = pattern.mark == SHAPES[0].mark;
                    let endless = is_key && key_end(all.as_str()).is_none();
                    from = all.end().max(range.end);
                    hits.push(Hit { range, mark: pattern.mark, endless });
                }
                Err(next) => from = next.max(all.start() + 1),
            }
        }
    }
    hits
}

/// The credential in the value of an `Authorization` header.
pub(super) fn in_header(value: &str) -> Option<Hit> {
    const NAME: &str = "authorization:";
    let mut hits = hits(&format!("{NAME}{value}")).into_iter();
    let hit = hits.find(|hit| hit.range.start >= NAME.len())?;
    Some(Hit { range: hit.range.start - NAME.len()..hit.range.end - NAME.len(), ..hit })
}

/// Where a beginning of a secret stands that more text could complete.
pub(super) fn begun(text: &str) -> Option<usize> {
    let open = triggered(text).filter_map(|pattern| pattern.open.find(text)).map(|m| m.start());
    let shapes = SHAPES.iter().chain([&ASSIGNMENT]);
    let cut = shapes.flat_map(|shape| shape.triggers).filter_map(|one| cut_trigger(text, one));
    open.chain(cut).min()
}

/// Where the text ends in the beginning of a trigger.
fn cut_trigger(text: &str, trigger: &str) -> Option<usize> {
    let (text, trigger) = (text.as_bytes(), trigger.as_bytes());
    let most = (trigger.len() - 1).min(text.len());
    let length = (1..=most)
        .rev()
        .find(|length| text[text.len() - length..].eq_ignore_ascii_case(&trigger[..*length]))?;
    Some(text.len() - length)
}

/// The patterns that may match: those with a trigger in the text.
fn triggered(text: &str) -> impl Iterator<Item = &'static Pattern> {
    let patterns = PATTERNS.as_ref();
    let mut wanted = [false; SHAPES.len() + 1];
    if let Some(patterns) = patterns {
        let mut left = wanted.len();
        for found in patterns.triggers.find_overlapping_iter(text) {
            let wanted = &mut wanted[patterns.owner[found.pattern().as_usize()]];
            left -= usize::from(!*wanted);
            *wanted = true;
            if left == 0 {
                break;
            }
        }
    }
    let all = patterns.into_iter().flat_map(|patterns| &patterns.all);
    all.zip(wanted).filter(|(_, wanted)| *wanted).map(|(pattern, _)| pattern)
}

/// Where a private key's end marker ends.
pub(super) fn key_end(text: &str) -> Option<usize> {
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(KEY_END).ok());
    END.as_ref()?.find(text).map(|found| found.end())
}

/// A match from which the place to search on is known even where a group is missing.
fn group(found: &Captures<'_>, index: usize) -> Range<usize> {
    let all = found.get(0).map(|all| all.range()).unwrap_or_default();
    found.get(index).map_or(all.end..all.end, |group| group.range())
}

fn all_of_it(_: &str, found: &Captures<'_>) -> Result<Range<usize>, usize> {
    Ok(group(found, 0))
}

/// Not a name made of words and dashes.
fn random(text: &str, found: &Captures<'_>) -> Result<Range<usize>, usize> {
    let all = group(found, 0);
    let key = &text[all.clone()]["sk-".len()..];
    let mixed = key.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
    if mixed || !key.contains('-') { Ok(all) } else { Err(all.end) }
}

fn authorization(text: &str, found: &Captures<'_>) -> Result<Range<usize>, usize> {
    let (is_header, range) = (found.get(1).is_some(), group(found, 2));
    let value = &text[range.clone()];
    let enough = if is_header { !refers(value) } else { value.len() >= 16 && mixed(value) };
    if enough && !stands_for_another(value) { Ok(range) } else { Err(range.start) }
}

fn userinfo(text: &str, found: &Captures<'_>) -> Result<Range<usize>, usize> {
    let (all, range) = (group(found, 0), group(found, 1));
    let value = &text[range.clone()];
    let has_scheme = text[..all.start].ends_with(|c: char| c.is_ascii_alphanumeric());
    let template = value.contains(['{', '$']) || value.starts_with("[redacted");
    if has_scheme && !template { Ok(range) } else { Err(all.end) }
}

/// So many bytes of a value are looked at before it is judged.
const LOOK: usize = 1024;

fn assignment(text: &str, found: &Captures<'_>) -> Result<Range<usize>, usize> {
    let (name, between, start) = (group(found, 1), group(found, 2), group(found, 0).end);
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let before = text[..name.start].trim_end_matches(of_name).len();
    // A name in quotes is a key, and its value may stand among others.
    let is_key = text[name.end..].starts_with(['"', '\'']);
    let (name, between) = (&text[before..name.end], &text[between]);
    let rest = &text[start..];
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let end = start + 1 + quoted(&rest[1..], quote);
        let closed = text[end..].is_empty() || text[end..].starts_with(quote);
        let value = &text[start + 1..end];
        let secret = closed && credible(name, value, Form::Quoted);
        return if secret { Ok(start + 1..end) } else { Err(start) };
    }
    if rest.starts_with(['=', '~']) {
        return Err(start);
    }
    let looked = &rest[..rest.floor_char_boundary(LOOK)];
    let Some(end) = looked.find(ends_value) else {
        let whole = rest.find(ends_value).unwrap_or(rest.len());
        let secret = credible(name, looked, form_of(between));
        return if secret { Ok(start..start + whole) } else { Err(start) };
    };
    let (value, after) = rest.split_at(end);
    let fits = match form_of(between) {
        Form::Tight => !is_code(value, after),
        _ => {
            let last = after.trim_start_matches([' ', '\t', ';', ',', '}']);
            let ends = is_key || last.is_empty() || last.starts_with(['\n', '\r']);
            ends && !between.contains("==")
        }
    };
    let secret = fits && credible(name, value, form_of(between));
    if secret { Ok(start..start + end) } else { Err(start) }
}

/// A call, an index, a type: what follows says so.
fn is_code(value: &str, after: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ':');
    match after.chars().next() {
        Some('(' | '[') => value.chars().all(|c| of_name(c) || c.is_ascii_digit()),
        Some('{' | '<') => value.chars().all(of_name),
        _ => false,
    }
}

fn form_of(between: &str) -> Form {
    if between == "=" { Form::Tight } else { Form::Loose }
}

/// What cannot stand in a value without quotes.
pub(super) fn ends_value(c: char) -> bool {
    c.is_whitespace() || "\"'`&;,<>(){}[]|\\".contains(c)
}

/// Bytes of a quoted value; blanks end it too, since values with blanks are prose.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let ends = c.is_whitespace() || (c == quote && !escaped);
        escaped = c == '\\' && !escaped;
        ends
    });
    end.unwrap_or(rest.len())
}

#[cfg(test)]
#[path = "patterns_tests.rs"]
mod tests;
