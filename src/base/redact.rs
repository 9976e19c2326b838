//! What is taken out of a text: secrets known by value first, then by shape. Ranges are found in
//! what the text says at every depth of escaping and replaced in how it is spelled. Valid JSON
//! stays valid.

mod credible;
pub(in crate::base) mod encoded;
mod escapes;
mod json;
pub(in crate::base) mod known;
mod patterns;
mod personal;
mod stream;

pub use stream::StreamScrubber;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use escapes::Views;
use known::Known;

use super::secret::REDACTED;

/// JSON inside strings of JSON is followed so deep.
const DEPTH: usize = 8;

/// What to look for.
#[derive(Clone, Copy)]
pub(in crate::base) struct Rules<'a> {
    /// By value.
    pub(in crate::base) known: &'a Known,
    /// Secrets by shape.
    pub(in crate::base) patterns: bool,
    /// Personal data by shape.
    pub(in crate::base) personal: bool,
}

/// What to look for where personal data is masked, and nothing else.
static PERSONAL: LazyLock<Known> = LazyLock::new(Known::default);

fn personal_rules() -> Rules<'static> {
    Rules { known: &PERSONAL, patterns: false, personal: true }
}

/// The text with personal data that has a shape of its own replaced by a mark with that shape's
/// name, `[personal:NAME]`; borrowed when there was none. Valid JSON stays valid.
pub fn mask_personal(text: &str) -> Cow<'_, str> {
    scrub(personal_rules(), text)
}

/// Whether a text holds personal data that [`mask_personal`] would replace.
pub fn personal_data(text: &str) -> bool {
    !find(personal_rules(), text, 0).is_empty()
}

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    with: Cow<'static, str>,
    /// Whether it stands for a value that is known.
    known: bool,
    /// Whether what it replaces would go on, were there more text.
    endless: bool,
}

impl Edit {
    fn known(range: Range<usize>, with: &'static str) -> Self {
        Self { range, with: with.into(), known: true, endless: false }
    }

    fn shaped(range: Range<usize>, with: &'static str) -> Self {
        Self { range, with: with.into(), known: false, endless: false }
    }
}

/// The text without what the rules find.
pub(in crate::base) fn scrub<'a>(rules: Rules<'_>, text: &'a str) -> Cow<'a, str> {
    let edits = find(rules, text, 0);
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        out.push_str(&text[at..edit.range.start]);
        out.push_str(&edit.with);
        at = edit.range.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// All replacements in a text, in order; none overlap.
fn find(rules: Rules<'_>, text: &str, depth: usize) -> Vec<Edit> {
    let found = scan(rules, text, &Views::of(text));
    if found.is_empty() || depth == DEPTH {
        return joined(found);
    }
    match json::parts(text) {
        Some(parts) => joined(json::fitted(rules, text, &parts, (found, depth))),
        None => joined(found),
    }
}

/// What is found in a text that is no more than text.
fn scan(rules: Rules<'_>, text: &str, views: &Views) -> Vec<Edit> {
    let mut found = Vec::new();
    for (depth, said, _) in views.each(text) {
        let ranges = rules.known.ranges(said).into_iter();
        found.extend(ranges.map(|range| Edit::known(views.spelled(depth, range), REDACTED)));
        if rules.patterns {
            for hit in patterns::hits(said) {
                let edit = Edit::shaped(views.spelled(depth, hit.range), hit.mark);
                found.push(Edit { endless: hit.endless, ..edit });
            }
        }
        if rules.personal {
            let hits = personal::hits(said).into_iter();
            found.extend(hits.map(|hit| Edit::shaped(views.spelled(depth, hit.range), hit.mark)));
        }
    }
    found
}

/// Edits in order, those that overlap made one. The outer one's mark stays; where neither is the
/// outer one, that of a known value does.
fn joined(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.sort_by(|a, b| {
        let by_place = a.range.start.cmp(&b.range.start).then(b.range.end.cmp(&a.range.end));
        by_place.then(b.known.cmp(&a.known))
    });
    let mut out: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match out.last_mut() {
            Some(last) if edit.range.start < last.range.end => {
                if edit.range.end > last.range.end {
                    last.range.end = edit.range.end;
                    if edit.known && !last.known {
                        last.with = edit.with;
                    }
                }
                last.known |= edit.known;
                last.endless |= edit.endless;
            }
            _ => out.push(edit),
        }
    }
    out
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
