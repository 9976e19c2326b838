//! Judges a journal that need not fit into memory, by reading it twice.
//!
//! The first pass only looks at which line of each session is its last: sixteen bytes a session,
//! by the hash of its name. The second pass reads and judges, and drops each session at its last
//! line, so that memory holds what is open. Two names with one hash only keep one of them longer.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{self, BufRead};

use super::stream::{Judged, Stream};
use crate::base::jsonl::{Broken, Lines};
use crate::base::problem::{Position, Problem};
use crate::base::secret::Secret;
use crate::journal::Entry;
use crate::journal::format::{self, Reader};

/// What a journal came to.
#[derive(Debug)]
pub struct Passed {
    /// What the laws say.
    pub judged: Judged,
    /// How many entries there were.
    pub events: u64,
}

/// Why nothing was judged.
#[derive(Debug)]
pub enum Unjudged {
    /// Reading failed.
    Read(io::Error),
    /// These lines are no entries, or there is none.
    Problems(Vec<Problem>),
}

/// Judges the journal that `open` opens, twice and each time from its beginning; `file` names it
/// in problems. With the key, receipts are verified too.
///
/// # Errors
/// When it cannot be read; else all lines that are no entries.
pub fn judge<R: BufRead>(
    file: &str,
    key: Option<&Secret>,
    open: &mut dyn FnMut() -> io::Result<R>,
) -> Result<Passed, Unjudged> {
    // What a line says at its beginning is nearly always true; where it is not, all of it is read.
    for whole in [false, true] {
        let ends = Ends::of(file, open().map_err(Unjudged::Read)?, whole)?;
        let lines = Lines::new(open().map_err(Unjudged::Read)?);
        if let Some(passed) = second(file, lines, &ends, key.cloned())? {
            return Ok(passed);
        }
    }
    let message = "it changed while it was read";
    Err(Unjudged::Problems(vec![Problem::new(file, Position::default(), message)]))
}

/// The last line of each session, by the hash of its name.
struct Ends {
    state: RandomState,
    last: HashMap<u64, u64>,
}

impl Ends {
    fn of<R: BufRead>(file: &str, reader: R, whole: bool) -> Result<Self, Unjudged> {
        let mut ends = Self { state: RandomState::new(), last: HashMap::new() };
        let mut lines = Lines::new(reader);
        let (mut run, mut until) = (String::new(), 0);
        while let Some((number, line)) = next(file, &mut lines)? {
            let written = format::written_session(line).filter(|_| !whole);
            // Most lines are of the session before.
            if written == Some(run.as_str()) {
                until = number;
                continue;
            }
            if let Some(session) = written.map(Into::into).or_else(|| format::session(line)) {
                ends.put(&run, until);
                run.clear();
                run.push_str(&session);
                until = number;
            }
        }
        ends.put(&run, until);
        Ok(ends)
    }

    fn put(&mut self, session: &str, line: usize) {
        if line > 0 {
            let hash = self.state.hash_one(session);
            self.last.insert(hash, line as u64);
        }
    }

    /// The last line of a session, as far as the first pass knows.
    fn last(&self, session: &str) -> Option<u64> {
        self.last.get(&self.state.hash_one(session)).copied()
    }
}

/// Reads and judges; nothing where a session goes on behind its last line.
fn second<R: BufRead>(
    file: &str,
    mut lines: Lines<R>,
    ends: &Ends,
    key: Option<Secret>,
) -> Result<Option<Passed>, Unjudged> {
    let (mut reader, mut stream) = (Reader::default(), Stream::new(key));
    let (mut problems, mut events) = (Vec::new(), 0);
    let mut own = Own::default();
    while let Some((number, line)) = next(file, &mut lines)? {
        let entry = match reader.line(line) {
            Ok(entry) => entry,
            Err(bad) => {
                problems.push(bad.in_line(file, number));
                continue;
            }
        };
        events += 1;
        if !problems.is_empty() {
            continue;
        }
        let (last, number) = (own.last(&entry, ends), number as u64);
        if last.is_some_and(|last| last < number) {
            return Ok(None);
        }
        let ended = (last == Some(number)).then(|| entry.session.clone());
        stream.push(entry);
        if let Some(session) = ended {
            stream.end(&session);
        }
    }
    if problems.is_empty() && events == 0 {
        problems.push(Problem::new(file, Position::default(), "there is no event in it"));
    }
    if problems.is_empty() {
        return Ok(Some(Passed { judged: stream.finish(), events }));
    }
    problems.sort();
    Err(Unjudged::Problems(problems))
}

/// The last line of the session that was asked about before.
#[derive(Default)]
struct Own {
    session: Option<std::sync::Arc<str>>,
    last: Option<u64>,
}

impl Own {
    fn last(&mut self, entry: &Entry, ends: &Ends) -> Option<u64> {
        if self.session.as_ref() != Some(&entry.session) {
            self.session = Some(entry.session.clone());
            self.last = ends.last(&entry.session);
        }
        self.last
    }
}

fn next<'l, R: BufRead>(
    file: &str,
    lines: &'l mut Lines<R>,
) -> Result<Option<(usize, &'l str)>, Unjudged> {
    lines.next_line().map_err(|broken| match broken {
        Broken::Read(error) => Unjudged::Read(error),
        Broken::NotText(at) => {
            let problem = Problem::new(file, at, "not UTF-8").help("save the file as UTF-8");
            Unjudged::Problems(vec![problem])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Blobs;
    use crate::journal::format::write_line;
    use crate::law::{Judge, Verdict, dsl};

    fn passed(text: &str) -> Result<Passed, Vec<String>> {
        let mut open = || Ok(text.as_bytes());
        judge("j", Some(&dsl::key()), &mut open).map_err(|error| match error {
            Unjudged::Read(error) => panic!("{error}"),
            Unjudged::Problems(problems) => problems.iter().map(ToString::to_string).collect(),
        })
    }

    fn written(entries: &[Entry]) -> String {
        let mut lines = Vec::new();
        entries.iter().for_each(|entry| write_line(entry, &mut lines));
        String::from_utf8(lines).unwrap_or_default()
    }

    /// Many sessions, several at a time; every third settles a call twice.
    fn sessions(count: usize) -> Vec<Entry> {
        let open = "open r; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; ";
        let session = |number: usize| {
            let end = if number.is_multiple_of(3) { "set 1 succeeded; " } else { "" };
            let line = format!("{open}rcpt 1; set 1 succeeded; {end}app 1; end");
            let (mut entries, _) = dsl::journal(&line).unwrap_or_default();
            entries.iter_mut().for_each(|entry| entry.session = format!("s{number}").into());
            entries
        };
        let all: Vec<Vec<Entry>> = (0..count).map(session).collect();
        let mut mixed = Vec::new();
        for group in all.chunks(5) {
            let most = group.iter().map(Vec::len).max().unwrap_or(0);
            for place in 0..most {
                mixed.extend(group.iter().filter_map(|own| own.get(place).cloned()));
            }
        }
        mixed
    }

    #[test]
    fn two_passes_say_what_one_look_at_all_of_it_says() {
        for count in [1, 2, 17] {
            let entries = sessions(count);
            let passed = passed(&written(&entries)).unwrap_or_else(|lines| panic!("{lines:?}"));
            let mut whole = Judge::new(Some(dsl::key())).journal(&entries, &Blobs::default());
            let mut streamed = passed.judged.findings;
            // Sessions end in another order than they are found in a slice.
            for finding in whole.iter_mut().chain(&mut streamed) {
                if let Verdict::Broken { violations } = &mut finding.verdict {
                    violations.sort_by(|a, b| a.session.cmp(&b.session));
                }
            }
            assert_eq!(streamed, whole, "{count}");
            assert_eq!(passed.events, entries.len() as u64);
        }
    }

    #[test]
    fn a_line_that_names_two_sessions_is_read_whole() {
        let entries = sessions(2);
        let text = written(&entries).replacen("\"turn\":", "\"session\":\"s1\",\"turn\":", 1);
        let passed = passed(&text).unwrap_or_else(|lines| panic!("{lines:?}"));
        assert_eq!(passed.events, entries.len() as u64);
    }

    #[test]
    fn a_file_that_grows_meanwhile_is_not_judged() {
        let text = written(&sessions(2));
        let half = text.len() / 2;
        let short = text[..half].rfind('\n').map_or(0, |at| at + 1);
        let mut times = 0;
        let mut open = || {
            times += 1;
            Ok(&text.as_bytes()[..if times % 2 == 1 { short } else { text.len() }])
        };
        let Err(Unjudged::Problems(problems)) = judge("j", None, &mut open) else {
            panic!("it was judged")
        };
        assert_eq!(problems[0].to_string(), "j: it changed while it was read");
    }

    #[test]
    fn all_problems_are_named_and_nothing_is_judged() {
        let good = "{\"type\":\"ToolCallStarted\",\"call\":\"c\"}\n";
        let bad = format!("{good}[]\n{good}{{\"type\":\"Nothing\"}}\n");
        let problems = passed(&bad).map(|passed| passed.events);
        let said = ["j:2:1: expected one JSON object a line", "j:4:1: unknown event `Nothing`"];
        assert_eq!(problems, Err(said.map(str::to_owned).to_vec()));
        for empty in ["", "\n \n", "\u{feff}"] {
            let said = passed(empty).map(|passed| passed.events);
            assert_eq!(said, Err(vec!["j: there is no event in it".to_owned()]), "{empty:?}");
        }
        let mut open = || Ok(&b"{}\n{\"\xff"[..]);
        let Err(Unjudged::Problems(problems)) = judge("j", None, &mut open) else {
            panic!("it was judged")
        };
        let said = "j:2:3: not UTF-8; save the file as UTF-8";
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [said]);
    }
}
