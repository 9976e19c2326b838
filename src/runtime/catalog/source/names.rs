//! Ids for tools whose names were chosen elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

use crate::base::canon;
use crate::tool::id::ToolId;

/// Longest server name; what is left of an id's 128 characters is the tool's.
const MAX_SERVER: usize = 64;
/// Longest tool id.
const MAX_ID: usize = 128;

/// What a server is called in ids: 1 to 64 of `[A-Za-z0-9_-]`, and dots that do not come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

impl ServerName {
    /// Checks the alphabet and the length.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = ToolId::parse(text).is_some() && !text.starts_with('.');
        (fits && text.len() <= MAX_SERVER).then(|| Self(text.to_owned()))
    }

    /// The nearest name to any text, such as the one a server gives itself.
    pub fn sanitized(text: &str) -> Self {
        let clean = ToolId::sanitized(text.trim().trim_start_matches('.'));
        let name: String = clean.as_str().chars().take(MAX_SERVER).collect();
        Self(name)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool that needs an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    /// The name as it came.
    pub(super) name: &'a str,
    /// The whole definition as it came.
    pub(super) raw: &'a Value,
}

/// An id, and what had to be done for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) id: ToolId,
    pub(super) why: Option<String>,
}

/// An id for each tool: `<prefix>.<name>` where that is an id no other tool would have, else the
/// nearest text with eight digits of the definition's digest. The order of the list decides only
/// between tools that are equal in everything.
pub(super) fn assign(prefix: Option<&str>, tools: &[Named<'_>]) -> Vec<Assigned> {
    let full = |name: &str| match prefix {
        Some(prefix) => format!("{prefix}.{name}"),
        None => name.to_owned(),
    };
    let texts: Vec<String> = tools.iter().map(|tool| full(tool.name)).collect();
    // How many texts lead to an id, and how many of them are that id.
    let mut claims: BTreeMap<ToolId, (usize, usize)> = BTreeMap::new();
    for text in &texts {
        let id = ToolId::sanitized(text);
        let exact = usize::from(id.as_str() == text);
        let claim = claims.entry(id).or_default();
        *claim = (claim.0 + 1, claim.1 + exact);
    }
    let keeps = |text: &String| {
        let id = ToolId::sanitized(text);
        let (all, exact) = claims.get(&id).copied().unwrap_or_default();
        let whole = text.chars().count() <= MAX_ID;
        (whole && (all == 1 || (exact == 1 && id.as_str() == text))).then_some(id)
    };
    let mut taken: BTreeSet<ToolId> = texts.iter().filter_map(keeps).collect();
    let mut assigned = Vec::with_capacity(tools.len());
    for (tool, text) in tools.iter().zip(&texts) {
        if let Some(id) = keeps(text) {
            let changed = id.as_str() != text;
            let why = format!("the name {} is no id; `{id}` stands for it", shown(tool.name));
            assigned.push(Assigned { id, why: changed.then_some(why) });
            continue;
        }
        let id = marked(text, tool, &taken);
        let long = text.chars().count() > MAX_ID;
        let reason = if long { "is too long for an id" } else { "leads to an id used twice" };
        let why = format!("the name {} {reason}; `{id}` stands for it", shown(tool.name));
        taken.insert(id.clone());
        assigned.push(Assigned { id, why: Some(why) });
    }
    assigned
}

/// The nearest id to `text` that ends in a mark of the definition and is not taken.
fn marked(text: &str, tool: &Named<'_>, taken: &BTreeSet<ToolId>) -> ToolId {
    let content = json!([tool.name, tool.raw]);
    let digits = canon::content_digest("tool-name", &content).hex();
    let mut mark = format!("_{}", digits.get(..8).unwrap_or_default());
    for number in 2.. {
        let id = with_mark(text, &mark);
        if !taken.contains(&id) {
            return id;
        }
        mark = format!("_{}_{number}", digits.get(..8).unwrap_or_default());
    }
    with_mark(text, &mark)
}

fn with_mark(text: &str, mark: &str) -> ToolId {
    let stem = ToolId::sanitized(text);
    let stem: String = stem.as_str().chars().take(MAX_ID - mark.len()).collect();
    ToolId::sanitized(&format!("{stem}{mark}"))
}

/// A name in a message: quoted, on one line, and not endless.
pub(super) fn shown(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    let dots = if short.len() < name.len() { "..." } else { "" };
    format!("`{}{dots}`", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: Option<&str>, names: &[&str]) -> Vec<String> {
        let raws: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let tools: Vec<Named<'_>> =
            names.iter().zip(&raws).map(|(name, raw)| Named { name, raw }).collect();
        let assigned = assign(prefix, &tools);
        let distinct: BTreeSet<&ToolId> = assigned.iter().map(|one| &one.id).collect();
        assert_eq!(distinct.len(), names.len(), "{assigned:?}");
        assigned.iter().map(|one| one.id.to_string()).collect()
    }

    #[test]
    fn plain_names_stay_and_others_come_near() {
        assert_eq!(check(Some("srv"), &["read", "a/b"]), ["srv.read", "srv.a_b"]);
        assert_eq!(check(None, &["read", "日本"]), ["read", "__"]);
        let long = check(Some("srv"), &["x".repeat(200).as_str(), "x".repeat(201).as_str()]);
        assert!(long.iter().all(|id| id.len() == 128), "{long:?}");
    }

    #[test]
    fn collisions_are_marked_whatever_the_order() {
        let one = check(Some("s"), &["a b", "a_b", "a/b"]);
        assert_eq!(one[1], "s.a_b", "the exact name keeps its id");
        assert!(one[0].starts_with("s.a_b_") && one[0].len() == 14, "{one:?}");
        let mut two = check(Some("s"), &["a/b", "a_b", "a b"]);
        two.reverse();
        assert_eq!(one, two);
        let equal = check(Some("s"), &["a", "a", "a"]);
        assert_eq!(equal[1], format!("{}_2", equal[0]));
        let fooled = check(None, &["a b", "a_b", one[0].as_str().trim_start_matches("s.")]);
        assert_eq!(fooled.len(), 3);
    }

    #[test]
    fn server_names() {
        assert_eq!(ServerName::parse("a b"), None);
        assert_eq!(ServerName::parse(".."), None);
        assert_eq!(ServerName::sanitized(" ../x y ").as_str(), "_x_y");
        for text in ["", "..", "é/", &"s".repeat(200)] {
            let name = ServerName::sanitized(text);
            assert_eq!(ServerName::parse(name.as_str()), Some(name));
        }
    }
}
