//! Values a prompt states in plain words: enum members, booleans, and phrases after
//! prepositions.

use std::ops::Range;

use serde_json::Value;

use super::extract::Word;
use super::params::Param;
use super::text;

/// Longest phrase, in words.
const MAX_PHRASE: usize = 8;
/// Most phrases of one prompt.
const MAX_PHRASES: usize = 64;
/// Words that lead to a value.
const LEADS: &str = " in at to from for of about on with called named titled by into near within \
    around inside regarding saying ";
/// Words a phrase does not begin with.
const DETERMINERS: &str = " a an the my your our his her their its this that these those some any \
    me us him them all ";
/// Words a phrase ends before.
const BOUNDS: &str = " and or but so because if when while where which who that than then is are \
    was were be am do does did has have had can could will would should may might must i you he \
    she it we they me please using via as not without between until till since before after \
    during through between under over above below based found related located held studying ";
/// Words that are no value by themselves.
const EMPTY: &str = " today tomorrow tonight yesterday now soon later this next last week month \
    year day morning evening afternoon night me us you it them one there here least most first \
    example instance free sure case general order ";
/// Parts of a boolean's name that do not say what it is about.
const HELPERS: &str = " is has have include includes including enable enabled use with should \
    allow allowed show do want need return set make be get add ";
/// Parts of a boolean's name that turn it round.
const NEGATING: &str = " no not without exclude disable disabled skip ignore omit hide dont ";
/// Words before a thing that deny it.
const DENIALS: &str = " no not without don't dont never disable exclude excluding skip omit \
    ignore doesn't shouldn't hide avoid ";
/// Words before a thing that affirm it.
const AFFIRMATIONS: &str = " with include including enable use using only also set make be do add \
    allow show ";

/// A stretch of plain words after a preposition.
pub(super) struct Phrase {
    pub(super) range: Range<usize>,
    /// The preposition, in lower case.
    pub(super) preposition: &'static str,
    /// Words that carry meaning, and three more for a capital first letter.
    pub(super) weight: usize,
}

/// Whether a list of words parted and surrounded by blanks holds a word.
fn among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|w| w == word)
}

/// The phrases after prepositions, in the order of the prompt.
pub(super) fn after_prepositions(prompt: &str, words: &[Word]) -> Vec<Phrase> {
    let mut out = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let Some(preposition) = LEADS.split_whitespace().find(|w| *w == word.lower) else {
            continue;
        };
        let inside = out.last().is_some_and(|p: &Phrase| word.range.start < p.range.end);
        if let Some((range, content)) = phrase_from(prompt, words, i)
            && out.len() < MAX_PHRASES
            && !inside
        {
            let capital = prompt[range.start..].starts_with(char::is_uppercase);
            let weight = content.min(5) + if capital { 3 } else { 0 };
            out.push(Phrase { range, preposition, weight });
        }
    }
    out
}

/// The phrase that the preposition at `lead` leads to, and its number of content words.
fn phrase_from(prompt: &str, words: &[Word], lead: usize) -> Option<(Range<usize>, usize)> {
    let mut first = lead + 1;
    while words.get(first).is_some_and(|w| among(DETERMINERS, &w.lower)) {
        first += 1;
    }
    let (mut last, mut content, mut end) = (None, 0, words.get(first.checked_sub(1)?)?.range.end);
    for word in words.iter().skip(first).take(MAX_PHRASE) {
        let gap = prompt.get(end..word.range.start)?;
        end = word.range.end;
        let joined = gap.chars().all(|c| " -&/.:#@".contains(c));
        let ends_sentence = gap.starts_with(['.', ':']) && gap.contains(' ') && last.is_some();
        let state = last.is_some() && gap == ", " && is_region(prompt, word);
        if !(joined && !ends_sentence || state) {
            break;
        }
        let of = word.lower == "of" && content > 0;
        if among(BOUNDS, &word.lower) || (among(LEADS, &word.lower) && !of) {
            break;
        }
        if !of {
            last = Some(word.range.end);
        }
        let empty = among(EMPTY, &word.lower) || among(DETERMINERS, &word.lower);
        content += usize::from(!empty && !of);
    }
    let range = words.get(first)?.range.start..last?;
    (content > 0 && !range.is_empty()).then_some((range, content))
}

/// Whether a word looks like the short name of a region (`CA`, `UK`, `USA`).
fn is_region(prompt: &str, word: &Word) -> bool {
    let text = prompt.get(word.range.clone()).unwrap_or("");
    (2..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_uppercase())
}

/// Members of an enum whose words stand in the prompt: longer ones first where they overlap,
/// then in the order of the prompt; each member once.
pub(super) fn members(
    words: &[Word],
    prompt: &str,
    members: &[Value],
) -> Vec<(Value, Range<usize>)> {
    let stems = text::stems();
    let mut found: Vec<(usize, usize, Range<usize>)> = Vec::new();
    for (m, member) in members.iter().enumerate() {
        let text = match member {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        let split = |s: &str| -> Vec<String> {
            s.split(|c: char| !c.is_alphanumeric())
                .filter(|p| !p.is_empty())
                .map(String::from)
                .collect()
        };
        let plain: Vec<String> =
            split(&text).iter().map(|w| stems.stem(&w.to_lowercase())).collect();
        let parts: Vec<String> = split(&text)
            .iter()
            .flat_map(|w| text::identifier_parts(w))
            .map(|w| stems.stem(&w))
            .collect();
        for wanted in [plain, parts] {
            for range in runs(words, &wanted) {
                let (a, b) = (words[range.start].range.start, words[range.end - 1].range.end);
                let exact = prompt.get(a..b) == Some(text.as_str());
                if text.chars().count() > 1 || exact {
                    found.push((range.len(), m, a..b));
                }
            }
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.2.start.cmp(&b.2.start)).then(a.1.cmp(&b.1)));
    let mut kept: Vec<(usize, Range<usize>)> = Vec::new();
    for (_, m, range) in found {
        let free = kept.iter().all(|(_, k)| k.end <= range.start || range.end <= k.start);
        if free && kept.len() < MAX_PHRASES {
            kept.push((m, range));
        }
    }
    kept.sort_by_key(|(_, r)| r.start);
    kept.into_iter().map(|(m, range)| (members[m].clone(), range)).collect()
}

/// Where a sequence of stems stands in the prompt, as ranges of words.
fn runs(words: &[Word], wanted: &[String]) -> Vec<Range<usize>> {
    if wanted.is_empty() || wanted.len() > words.len() {
        return Vec::new();
    }
    (0..=words.len() - wanted.len())
        .filter(|i| wanted.iter().zip(&words[*i..]).all(|(w, word)| *w == word.stem))
        .map(|i| i..i + wanted.len())
        .take(MAX_PHRASES)
        .collect()
}

/// The boolean a prompt states for a parameter: its words with or without a denial.
///
/// A bare mention counts only where the parameter is required, has a name of two words that
/// matter or more, or is mentioned as an adverb or participle (`recursively`, `sorted`).
pub(super) fn boolean(words: &[Word], param: &Param) -> Option<(Value, Range<usize>)> {
    let stems = text::stems();
    let turned = param.parts.first().is_some_and(|p| among(NEGATING, p));
    let subject: Vec<String> = param
        .parts
        .iter()
        .filter(|p| !among(HELPERS, p) && !among(NEGATING, p))
        .map(|p| stems.stem(p))
        .collect();
    let run = runs(words, &subject).into_iter().next()?;
    let (before, after) = (&words[run.start.saturating_sub(3)..run.start], &words[run.end..]);
    let has = |list: &str, some: &[Word]| some.iter().any(|w| among(list, &w.lower));
    let next: &[Word] = &after[..after.len().min(3)];
    let said = &words[run.clone()];
    let adverb = said.iter().any(|w| {
        w.lower.ends_with("ly") || (w.lower.ends_with("ed") && param.parts.contains(&w.lower))
    });
    let on = if has(" false off disabled ", next) || has(DENIALS, before) {
        Some(false)
    } else {
        let said = has(" true on enabled yes ", next) || has(AFFIRMATIONS, before);
        let bare = !turned && (param.required || subject.len() >= 2 || adverb);
        (said || bare).then_some(true)
    };
    let literal = has(" true false ", next);
    let value = on.map(|on| if turned && !literal { !on } else { on })?;
    let first = words.get(run.start)?.range.start;
    let last = words.get(run.end - 1)?.range.end;
    Some((Value::Bool(value), first..last))
}
