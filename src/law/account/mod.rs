//! An account of one call: the questions that seed B asks of every call (its section 2) and of
//! every record (its principle 12), each answered from the journal alone.
//!
//! An answer is a sentence and the numbers of the entries it rests on. What the journal does not
//! say is answered as unknown, with the reason; nothing is guessed. A step that the call never
//! reached is no unknown: the journal says how the call ended before it.
//!
//! `questions` is the table; `choice`, `guard` and `effect` hold the answers in the order of a
//! call's life; `pick` finds the call that somebody means.

mod choice;
mod effect;
mod guard;
pub mod pick;
pub mod questions;

use super::index::{Call, Fact, Index, Seen};
use crate::base::printable::printable;
use crate::journal::event::call::{ToolArgsValidated, ToolCallSettled, ToolCallStarted};
use crate::journal::event::call::{ToolCallRequested, ToolCallRewritten};
use crate::journal::event::turn::TurnStarted;
use crate::journal::{Entry, Event};

use questions::QUESTIONS;

/// What the journal says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The session.
    pub session: String,
    /// The call's id.
    pub call: String,
    /// The tool's id where the journal names it, else the name as it was spelled; empty where it
    /// says neither.
    pub tool: String,
    /// One answer for each question, in the order of the table.
    pub answers: Vec<Answer>,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question's key.
    pub key: &'static str,
    /// Whether the journal says it; else `text` is the reason why it does not.
    pub known: bool,
    /// A sentence or two, for one line: characters that move a cursor are spelled out.
    pub text: String,
    /// What the sentence speaks of, one by one, where that is a list.
    pub items: Vec<String>,
    /// The numbers of the entries it rests on, ascending.
    pub facts: Vec<u64>,
}

/// The account of a call; `None` where the session has no call of that id. `entries` are those of
/// one session in their order.
pub fn account<'a>(entries: impl IntoIterator<Item = &'a Entry>, call: &str) -> Option<Account> {
    let index = Index::new(entries);
    let scene = Scene { index: &index, call: index.call(call)? };
    let (_, first) = scene.call.begins()?;
    Some(Account {
        session: printable(&first.session),
        call: printable(call),
        tool: printable(scene.tool().unwrap_or_default()),
        answers: QUESTIONS.iter().map(|question| answer(question, &scene)).collect(),
    })
}

fn answer(question: &questions::Question, scene: &Scene<'_>) -> Answer {
    let Told { known, text, items, mut facts } = (question.answer)(scene);
    facts.sort_unstable();
    facts.dedup();
    let items = items.iter().map(|item| line(item)).collect();
    Answer { key: question.key, known, text: line(&text), items, facts }
}

/// A text of an answer is for one line and has a bound, whoever wrote the journal.
fn line(text: &str) -> String {
    printable(&cut(text, LINE))
}

/// Unicode scalar values of an answer's text, or of one item, at most.
const LINE: usize = 1_000;

/// Unicode scalar values of what is quoted from the journal, at most.
const QUOTE: usize = 160;

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Words of somebody, as a quotation.
fn quote(text: &str) -> String {
    format!("\"{}\"", cut(text.trim(), QUOTE))
}

/// Names in a row, for a sentence.
fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

/// An answer without its key.
struct Told {
    known: bool,
    text: String,
    items: Vec<String>,
    facts: Vec<u64>,
}

impl Told {
    /// What the journal says, and where.
    fn known(text: impl Into<String>, facts: impl IntoIterator<Item = u64>) -> Self {
        let facts = facts.into_iter().collect();
        Self { known: true, text: text.into(), items: Vec::new(), facts }
    }

    /// Why the journal does not say it, and the entries that show so.
    fn unknown(why: impl Into<String>, facts: impl IntoIterator<Item = u64>) -> Self {
        Self { known: false, ..Self::known(why, facts) }
    }

    fn items(self, items: Vec<String>) -> Self {
        Self { items, ..self }
    }
}

/// A call in its session.
struct Scene<'a> {
    index: &'a Index<'a>,
    call: &'a Call<'a>,
}

impl<'a> Scene<'a> {
    fn settled(&self) -> Option<Seen<'a, ToolCallSettled>> {
        self.call.last()
    }

    /// Its last attempt.
    fn started(&self) -> Option<Seen<'a, ToolCallStarted>> {
        self.call.last()
    }

    /// Where it was asked for, else where its record begins.
    fn place(&self) -> usize {
        let asked = self.call.first::<ToolCallRequested>().map(|seen| seen.at);
        asked.or(self.call.begins().map(|(at, _)| at)).unwrap_or_default()
    }

    /// The last fact of a kind before it was asked for, in its own turn where entries name turns.
    fn before<T>(&self, of: impl Fn(&'a Event) -> Option<&'a T>) -> Option<(u64, &'a T)> {
        let turn = self.call.begins().and_then(|(_, entry)| entry.turn.as_ref());
        let earlier = self.index.entries.get(..self.place()).unwrap_or_default();
        let own = earlier
            .iter()
            .rev()
            .filter(|entry| turn.is_none() || entry.turn.is_none() || entry.turn.as_ref() == turn);
        own.copied().find_map(|entry| of(&entry.event).map(|fact| (entry.seq, fact)))
    }

    /// Whether its turn makes its calls without a model, and where that is said.
    fn direct(&self) -> Option<u64> {
        let turn = self.before(TurnStarted::of)?;
        turn.1.direct.then_some(turn.0)
    }

    fn tool(&self) -> Option<&'a str> {
        if let Some(started) = self.started() {
            return self.index.tool(self.call, started);
        }
        let resolved = self.call.last::<ToolArgsValidated>();
        if let Some(tool) = resolved.and_then(|seen| seen.fact.tool_id.as_ref()) {
            return Some(tool.as_str());
        }
        let renamed = self.call.last::<ToolCallRewritten>().map(|seen| &seen.fact.tool_id);
        let asked = self.call.first::<ToolCallRequested>().map(|seen| &seen.fact.tool_id);
        renamed.or(asked).map(String::as_str)
    }

    /// What to say of a step that is not recorded: that the call ended before it, or that nobody
    /// knows.
    fn missing(&self, step: &str) -> Told {
        match self.settled() {
            Some(end) if self.started().is_none() && !end.fact.outcome.started() => {
                let outcome = end.fact.outcome.name();
                Told::known(format!("Not reached: the call ended as {outcome}."), [end.seq()])
            }
            Some(end) => Told::unknown(format!("the journal records no {step}"), [end.seq()]),
            None => {
                let why = format!("the journal records no {step}, and not how the call ended");
                Told::unknown(why, [])
            }
        }
    }
}
