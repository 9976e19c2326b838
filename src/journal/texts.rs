//! The texts beside a journal on disk, as JSON Lines: `{"event":"blob","digest":..,"text":..}`, or
//! `"artifact":NAME` for one that is kept as a file of its own.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::journal::Blobs;
use crate::base::digest::Digest;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};

/// How the file of a journal's texts ends, where the journal's ends in `.jsonl`.
pub const ENDING: &str = ".texts.jsonl";

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'t> {
    /// In the line itself.
    Here(&'t str),
    /// In the artifact's file of this name.
    Artifact(&'t str),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'t> {
    event: Cow<'t, str>,
    digest: Digest,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'t, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    artifact: Option<Cow<'t, str>>,
}

/// Appends one line, newline included, to `out`.
pub fn write_line(digest: Digest, place: Place<'_>, out: &mut Vec<u8>) {
    let (text, artifact) = match place {
        Place::Here(text) => (Some(Cow::Borrowed(text)), None),
        Place::Artifact(name) => (None, Some(Cow::Borrowed(name))),
    };
    let line = Line { event: Cow::Borrowed("blob"), digest, text, artifact };
    // Plain data: writing it to memory cannot fail.
    let _in_memory = serde_json::to_writer(&mut *out, &line);
    out.push(b'\n');
}

/// Reads all lines. `artifact` gives the text of an artifact's file, `None` where it is gone: that
/// text is not there then. One that is there is what its digest says.
pub fn read(
    file: &str,
    text: &str,
    artifact: &mut dyn FnMut(&str) -> Option<String>,
) -> (Blobs, Vec<Problem>) {
    let (mut blobs, mut problems) = (Blobs::default(), Vec::new());
    for (number, line) in jsonl::lines_of(text) {
        let mut bad = |column, message: String| {
            problems.push(Problem::new(file, Position::new(number, column), message));
        };
        let line: Line<'_> = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => {
                bad(error.column(), format!("no text beside a journal: {error}"));
                continue;
            }
        };
        let (found, what) = match (line.text, line.artifact) {
            (Some(text), None) => (Some(text.into_owned()), "a text".to_owned()),
            (None, Some(name)) => (artifact(&name), format!("artifact {name}")),
            _ => {
                bad(1, "one of `text` and `artifact` is needed".to_owned());
                continue;
            }
        };
        match found {
            Some(text) if Blobs::name(&text) == line.digest => {
                blobs.put_known(line.digest, text.into());
            }
            Some(_) => bad(1, format!("{what} is not what its digest names")),
            None => {}
        }
    }
    (blobs, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_were_written_and_held_against_their_names() {
        let (one, two) = ("one\n\"text\"", "two");
        let mut lines = Vec::new();
        write_line(Blobs::name(one), Place::Here(one), &mut lines);
        write_line(Blobs::name(two), Place::Artifact("diff_1.patch"), &mut lines);
        write_line(Blobs::name("gone"), Place::Artifact("gone.txt"), &mut lines);
        let text = String::from_utf8(lines).unwrap();
        let mut files = |name: &str| (name == "diff_1.patch").then(|| two.to_owned());
        let (blobs, problems) = read("t", &text, &mut files);
        assert_eq!(problems, []);
        let found: Vec<&str> = blobs.iter().map(|(_, text)| &**text).collect();
        assert!(found.len() == 2 && found.contains(&one) && found.contains(&two), "{found:?}");
        let mut changed = |_: &str| Some("other".to_owned());
        let (_, problems) = read("t", &text, &mut changed);
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("t:2:1") && said[0].contains("diff_1.patch"), "{said:?}");
    }

    #[test]
    fn bad_lines_are_told_with_their_place() {
        let digest = Blobs::name("x");
        let check = |line: &str, expected: &str| {
            let (_, problems) = read("t", line, &mut |_| None);
            let said = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(said.contains(expected), "{line}: {said}");
        };
        check("{", "t:1:1");
        check(r#"{"event":"blob"}"#, "digest");
        check(&format!(r#"{{"event":"blob","digest":"{digest}"}}"#), "one of");
        check(&format!(r#"{{"event":"blob","digest":"{digest}","text":"y"}}"#), "a text is not");
        check(&format!(r#"{{"event":"blob","digest":"{digest}","body":"y"}}"#), "unknown field");
    }
}
