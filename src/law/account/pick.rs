//! Which call somebody means: by its id, by `#2` for the second, or by the case or session that
//! made a single one.

use std::collections::BTreeSet;
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

/// The sessions and the calls of some entries, in the order in which they first appear.
#[derive(Debug, Clone, Default)]
pub struct Known<'a> {
    sessions: Vec<&'a str>,
    calls: Vec<Found<'a>>,
}

/// Why no call was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// There is no call at all where one is looked for.
    Empty,
    /// There is none of that name; the nearest name that there is.
    Unknown(Option<String>),
    /// There is no case or session of that name; the nearest that there is.
    NoCase(String, Option<String>),
    /// There are so many of that name; where some of them are, as `session: call`.
    Several(usize, Vec<String>),
}

impl<'a> Known<'a> {
    /// What some entries hold.
    pub fn of(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut known = Self::default();
        let (mut sessions, mut calls) = (BTreeSet::new(), BTreeSet::new());
        for entry in entries {
            let session = &*entry.session;
            if sessions.insert(session) {
                known.sessions.push(session);
            }
            let call = match (&entry.call, &entry.event) {
                (Some(call), _) => Some(&**call),
                (None, Event::ArtifactPersisted(fact)) => fact.tool_call_id.as_deref(),
                (None, _) => None,
            };
            if let Some(call) = call.filter(|call| calls.insert((session, *call))) {
                known.calls.push(Found { session, call });
            }
        }
        known
    }

    /// The calls.
    pub fn calls(&self) -> &[Found<'a>] {
        &self.calls
    }

    /// The call that is meant by a word, among those of a case or session where one is named. A
    /// name of a case goes before the same id of a call; `#2` counts inside one session.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, word: &str, case: Option<&str>) -> Result<Found<'a>, NotFound> {
        if let Some(case) = case {
            let near = || nearest(case, self.cases()).map(str::to_owned);
            let own = self.inside(case).ok_or_else(|| NotFound::NoCase(case.to_owned(), near()))?;
            return one(&own, named(&own, word)?);
        }
        if let Some(own) = self.inside(word) {
            return one(&own, own.clone());
        }
        let fits = named(&self.calls, word).map_err(|why| match why {
            NotFound::Unknown(None) => {
                NotFound::Unknown(nearest(word, self.cases()).map(str::to_owned))
            }
            why => why,
        })?;
        one(&self.calls, fits)
    }

    fn cases(&self) -> impl Iterator<Item = &'a str> {
        self.sessions.iter().map(|session| case_of(session))
    }

    /// The calls of a case or session; `None` where there is none of that name.
    fn inside(&self, case: &str) -> Option<Vec<Found<'a>>> {
        self.sessions.iter().find(|session| is_of(session, case))?;
        Some(self.calls.iter().filter(|found| is_of(found.session, case)).copied().collect())
    }
}

/// The calls that an id or a number fits.
fn named<'a>(known: &[Found<'a>], word: &str) -> Result<Vec<Found<'a>>, NotFound> {
    let number = word.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
    let fits: Vec<Found<'a>> = match number {
        Some(_) if known.iter().any(|found| found.session != known[0].session) => known.to_vec(),
        Some(number) => {
            let at = number.checked_sub(1).and_then(|at| known.get(at));
            at.copied().into_iter().collect()
        }
        None => known.iter().filter(|found| found.call == word).copied().collect(),
    };
    if fits.is_empty() && !known.is_empty() {
        let near = nearest(word, known.iter().map(|found| found.call));
        return Err(NotFound::Unknown(near.map(str::to_owned)));
    }
    Ok(fits)
}

fn one<'a>(known: &[Found<'a>], fits: Vec<Found<'a>>) -> Result<Found<'a>, NotFound> {
    match fits.as_slice() {
        _ if known.is_empty() => Err(NotFound::Empty),
        [one] => Ok(*one),
        [] => Err(NotFound::Unknown(None)),
        many => {
            let some = many.iter().take(SOME);
            let some = some.map(|found| format!("{}: {}", found.session, found.call));
            Err(NotFound::Several(many.len(), some.collect()))
        }
    }
}

/// Whether a session is that of a case, of `suite/case`, or has exactly this name.
fn is_of(session: &str, case: &str) -> bool {
    session == case || place(session) == case || case_of(session) == case
}

/// Sessions of trials are named `suite/case@provider#number`.
fn place(session: &str) -> &str {
    session.split('@').next().unwrap_or(session)
}

fn case_of(session: &str) -> &str {
    let place = place(session);
    place.split_once('/').map_or(place, |(_, case)| case)
}

/// How many of the calls that fit are named at most.
const SOME: usize = 6;

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = match self {
            Self::Empty => return f.write_str("there is no call"),
            Self::Several(count, some) => {
                write!(f, "{count} calls fit: {}", some.join(", "))?;
                return if *count > some.len() { f.write_str(", ...") } else { Ok(()) };
            }
            Self::Unknown(near) => {
                f.write_str("there is no such call")?;
                near
            }
            Self::NoCase(case, near) => {
                write!(f, "there is no case or session `{case}`")?;
                near
            }
        };
        near.as_ref().map_or(Ok(()), |near| write!(f, "; did you mean `{near}`?"))
    }
}
