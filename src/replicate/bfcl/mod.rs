//! Berkeley Function Calling Leaderboard: recorded calls against gold, under the rules of two of
//! its versions, and the cells of its published table that follow from the verdicts.

pub mod check;
pub mod convert;
mod table;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::python::Py;
use super::{Replica, Set, Source, read};
use crate::base::problem::{Position, Problem};
use check::{Item, Rules, check};
use convert::Language;

/// One recorded output, and what was published of it.
#[derive(Debug, Deserialize)]
struct Recorded {
    id: String,
    model: String,
    category: String,
    decoded: Py,
    decode_error: Option<String>,
    #[serde(default)]
    published_valid: Option<bool>,
    #[serde(default)]
    published_error_type: Option<String>,
    #[serde(default)]
    replayed_valid: Option<bool>,
    #[serde(default)]
    replayed_error_type: Option<String>,
}

#[derive(Deserialize)]
struct Question {
    id: Option<String>,
    function: Option<Py>,
}

#[derive(Deserialize)]
struct Gold {
    id: String,
    ground_truth: Py,
}

pub(super) fn first(set: &Set, source: &Source) -> Result<Replica, Problem> {
    replicate(set, source, Rules::V1)
}

pub(super) fn fourth(set: &Set, source: &Source) -> Result<Replica, Problem> {
    replicate(set, source, Rules::V4)
}

/// What every item is judged by.
struct Book {
    functions: HashMap<String, Vec<Py>>,
    gold: HashMap<String, Py>,
}

impl Book {
    fn read(folder: &Path) -> Result<Self, Problem> {
        let (mut functions, mut gold) = (HashMap::new(), HashMap::new());
        for path in read::files(folder, &[".json"])? {
            for question in read::lines::<Question>(&path)? {
                let offered = match question.function {
                    Some(Py::List(all)) => all,
                    Some(one) => vec![one],
                    None => Vec::new(),
                };
                question.id.map(|id| functions.insert(id, offered));
            }
        }
        for path in read::files(&folder.join("possible_answer"), &[".json"])? {
            let answers = read::lines::<Gold>(&path)?.into_iter();
            gold.extend(answers.map(|one| (one.id, one.ground_truth)));
        }
        Ok(Self { functions, gold })
    }

    fn offered(&self, id: &str) -> &[Py] {
        self.functions.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The expected calls of an item, in their order.
    fn expected(&self, id: &str) -> Option<Vec<(&str, &Py)>> {
        match self.gold.get(id)? {
            Py::List(calls) => Some(calls.iter().filter_map(Py::pairs).flat_map(named).collect()),
            one => one.pairs().map(named),
        }
    }
}

/// Names of functions with the accepted values of their arguments.
fn named(pairs: &[(Py, Py)]) -> Vec<(&str, &Py)> {
    pairs.iter().filter_map(|(name, values)| Some((name.as_str()?, values))).collect()
}

fn replicate(set: &Set, source: &Source, rules: Rules) -> Result<Replica, Problem> {
    let (folder, file) = match rules {
        Rules::V1 => ("bfcl/v1", "bfcl/replay_2024-08-11.jsonl.gz"),
        Rules::V4 => ("bfcl/v4", "bfcl/replay_v4.jsonl.gz"),
    };
    let path = source.recorded(file);
    let book = Book::read(&source.file(folder))?;
    let recorded: Vec<Recorded> = read::lines(&path)?;
    let underscores = writes_underscores(&recorded, &book);
    let mut out = Replica::of(set);
    let mut counts = table::Counts::default();
    for (number, one) in (1..).zip(&recorded) {
        let dots = underscores.get(one.model.as_str()).copied().unwrap_or_default();
        let verdict = judge(one, &book, (rules, dots)).map_err(|message| {
            Problem::new(path.display().to_string(), Position::new(number, 0), message)
        })?;
        counts.add(&one.model, &one.category, verdict.is_ok());
        let Some(published) = published(one, rules) else { continue };
        let ours = verdict.err().map_or(Cow::Borrowed("valid"), Cow::Borrowed);
        let ours = kind(one, &ours, rules);
        out.verdict((&one.id, &one.model), &published, ours);
    }
    if rules == Rules::V1 {
        table::compare(&mut out, source, &counts)?;
    }
    Ok(out)
}

/// What was published; where nothing was, what the leaderboard's own checker answers.
fn published(one: &Recorded, rules: Rules) -> Option<Cow<'_, str>> {
    let (valid, fault) = match one.published_valid {
        Some(valid) => (valid, &one.published_error_type),
        None => (one.replayed_valid?, &one.replayed_error_type),
    };
    match (valid, fault) {
        (true, _) => Some("valid".into()),
        (false, Some(fault)) => Some(kind(one, fault, rules).into()),
        (false, None) => Some("invalid".into()),
    }
}

fn is_about_relevance(category: &str) -> bool {
    category.contains("relevance")
}

/// Of a question of relevance the fourth version's faults are named by their first part.
fn kind<'f>(one: &Recorded, fault: &'f str, rules: Rules) -> &'f str {
    match rules == Rules::V4 && is_about_relevance(&one.category) {
        true => fault.split(':').next().unwrap_or(fault),
        false => fault,
    }
}

/// The calls of a reply; `None` where it is no list of calls.
fn calls(decoded: &Py) -> Option<&[Py]> {
    decoded.items().filter(|all| all.iter().all(|one| one.pairs().is_some()))
}

fn judge(
    one: &Recorded,
    book: &Book,
    (rules, underscores): (Rules, bool),
) -> Result<Result<(), check::Fault>, String> {
    let calls = calls(&one.decoded).filter(|_| one.decode_error.is_none());
    if is_about_relevance(&one.category) {
        let nothing = match calls {
            None | Some([]) => true,
            Some([call]) => call.pairs().is_some_and(<[_]>::is_empty),
            Some(_) => false,
        };
        // In the first version every such question is one that no function fits.
        let fits = rules == Rules::V4 && !one.category.contains("irrelevance");
        return Ok(match (fits, nothing, rules) {
            (true, false, _) | (false, true, _) => Ok(()),
            (true, true, _) => Err("relevance_error:decoder_failed"),
            (false, false, Rules::V1) => Err("relevance_error:decoder_success"),
            (false, false, Rules::V4) => Err("irrelevance_error:decoder_success"),
        });
    }
    if one.decode_error.is_some() {
        return Ok(Err("ast_decoder:decoder_failed"));
    }
    let Some(calls) = calls else { return Ok(Err("ast_decoder:decoder_wrong_output_format")) };
    let gold = book.expected(&one.id).ok_or_else(|| format!("item {} has no gold", one.id))?;
    let language = match one.category.as_str() {
        category if category.contains("javascript") => Language::JavaScript,
        category if category.contains("java") => Language::Java,
        _ => Language::Python,
    };
    let functions = book.offered(&one.id);
    let item = Item { functions, gold: &gold, language, category: &one.category, underscores };
    Ok(check(&item, calls, rules))
}

/// Which models write the dots of names as underscores, as providers that refuse dots make them:
/// those that do so more often than not.
fn writes_underscores<'r>(recorded: &'r [Recorded], book: &Book) -> HashMap<&'r str, bool> {
    let mut votes: HashMap<&str, i64> = HashMap::new();
    for one in recorded {
        let called = calls(&one.decoded).unwrap_or_default().iter().filter_map(Py::pairs).flatten();
        let offered = book.offered(&one.id);
        for name in called.filter_map(|(name, _)| name.as_str()) {
            let known = offered.iter().filter_map(|it| it.get("name")?.as_str());
            for dotted in known.filter(|known| known.contains('.')) {
                let vote = i64::from(dotted.replace('.', "_") == name) - i64::from(dotted == name);
                *votes.entry(&one.model).or_default() += vote;
            }
        }
    }
    votes.into_iter().map(|(model, votes)| (model, votes > 0)).collect()
}
