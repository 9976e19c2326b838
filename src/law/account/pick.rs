//! Which call somebody means.

use std::fmt;

use crate::base::problem::nearest;
use crate::journal::{Entry, Event};

/// A call and its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// The session.
    pub session: &'a str,
    /// The call's id.
    pub call: &'a str,
}

/// Why no call was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// There is no call at all.
    Empty,
    /// There is none of that name; the nearest that there is.
    Unknown(Option<String>),
    /// There are so many of that name; where some of them are, as `session: call`.
    Several(usize, Vec<String>),
}

/// The calls of some entries, in the order in which they first appear.
pub fn calls<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for entry in entries {
        let call = match (&entry.call, &entry.event) {
            (Some(call), _) => &**call,
            (None, Event::ArtifactPersisted(fact)) => match &fact.tool_call_id {
                Some(call) => call,
                None => continue,
            },
            (None, _) => continue,
        };
        let one = Found { session: &entry.session, call };
        if known.insert((one.session, one.call)) {
            found.push(one);
        }
    }
    found
}

/// The call that is meant by its id, by `#2` for the second, or by a word that stands for the
/// whole place where there is a single call.
///
/// # Errors
/// When there is none or more than one.
pub fn pick<'a>(known: &[Found<'a>], word: &str, place: bool) -> Result<Found<'a>, NotFound> {
    if known.is_empty() {
        return Err(NotFound::Empty);
    }
    let number = word.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
    let one_session = known.iter().all(|one| one.session == known[0].session);
    let fits: Vec<Found<'a>> = match number {
        // A number counts inside one session.
        Some(_) if !one_session => known.to_vec(),
        Some(number) => {
            let at = number.checked_sub(1).and_then(|at| known.get(at));
            at.copied().into_iter().collect()
        }
        None if place => known.to_vec(),
        None => known.iter().filter(|one| one.call == word).copied().collect(),
    };
    match fits.as_slice() {
        [one] => Ok(*one),
        [] => {
            let near = nearest(word, known.iter().map(|one| one.call));
            Err(NotFound::Unknown(near.map(str::to_owned)))
        }
        many => {
            let some = many.iter().take(SOME);
            let some = some.map(|one| format!("{}: {}", one.session, one.call));
            Err(NotFound::Several(many.len(), some.collect()))
        }
    }
}

/// How many of the calls that fit are named at most.
const SOME: usize = 6;

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no call"),
            Self::Unknown(Some(near)) => write!(f, "there is no such call; did you mean `{near}`?"),
            Self::Unknown(None) => f.write_str("there is no such call"),
            Self::Several(count, some) => {
                write!(f, "{count} calls fit: {}", some.join(", "))?;
                if *count > some.len() { f.write_str(", ...") } else { Ok(()) }
            }
        }
    }
}
