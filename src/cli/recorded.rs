//! The record of a run, `run.jsonl`, read back: the journals of its trials and the texts beside
//! them.

use std::io::{self, BufRead, Cursor};
use std::path::Path;

use serde_json::{Map, Value};

use crate::base::digest::Digest;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::eval::read::{read, shown};
use crate::journal::{Blobs, Entry, format};
use crate::runtime::home::{ARTIFACTS, HomeError, Run, beside};

/// Whether the first thing that stands in a file is the record of a run.
pub(super) fn is_record(mut reader: Box<dyn BufRead + '_>) -> io::Result<bool> {
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        if !text.trim_start().is_empty() {
            return Ok(text.trim_start().starts_with("{\"event\":"));
        }
        line.clear();
    }
    Ok(false)
}

/// What a run's record holds.
pub(super) struct Recorded {
    /// The entries of all trials.
    pub(super) entries: Vec<Entry>,
    /// The texts beside them.
    pub(super) blobs: Blobs,
    /// Whether it has its last line.
    pub(super) complete: bool,
}

/// Reads all journals of a run's record with their blobs.
///
/// # Errors
/// All lines that cannot be read.
pub(super) fn load(path: &Path) -> Result<Recorded, Vec<Problem>> {
    let (text, file) = (read(path).map_err(|problem| vec![problem])?, shown(path));
    let (lines, mut problems) = jsonl::read(&file, &text);
    let (mut entries, mut blobs) = (Vec::new(), Blobs::default());
    let (mut complete, mut trials) = (false, 0_u64);
    for line in lines {
        let bad = |message: String| Problem::new(&file, Position::new(line.number, 1), message);
        let mut object = line.object;
        match object.get("event").and_then(Value::as_str) {
            Some("blob") => match blob(&object) {
                Some((name, text)) => blobs.put_known(name, text.into()),
                None => problems.push(bad("a blob whose text is not what its digest names".into())),
            },
            Some("trialFinished") => {
                trials += 1;
                let Some(Value::Array(journal)) = object.remove("journal") else {
                    problems.push(bad("a trial without a journal".into()));
                    continue;
                };
                for value in journal {
                    let Value::Object(event) = value else {
                        problems.push(bad("an event that is no object".into()));
                        continue;
                    };
                    match format::entry(event, 1) {
                        Ok(entry) => entries.push(entry),
                        Err((message, _)) => problems.push(bad(message)),
                    }
                }
            }
            Some("runFinished") => {
                complete = true;
                let said = object.get("trials").and_then(Value::as_u64);
                if said.is_some_and(|said| said != trials) {
                    problems.push(bad(format!("{said:?} trials were run, {trials} are here")));
                }
            }
            Some("runStarted" | "trialStarted") => {}
            other => problems.push(bad(format!("unknown record {other:?}"))),
        }
    }
    if entries.is_empty() && problems.is_empty() {
        problems.push(Problem::new(file, Position::default(), "there is no event in it"));
    }
    let recorded = Recorded { entries, blobs, complete };
    if problems.is_empty() { Ok(recorded) } else { Err(problems) }
}

/// The entries of a journal, or of all journals of a run, with the texts that stand beside them.
///
/// # Errors
/// All lines that cannot be read.
pub(super) fn load_any(path: &Path) -> Result<(Vec<Entry>, Blobs), Vec<Problem>> {
    let text = read(path).map_err(|problem| vec![problem])?;
    if is_record(Box::new(Cursor::new(text.as_bytes()))).unwrap_or_default() {
        let Recorded { entries, blobs, .. } = load(path)?;
        return Ok((entries, blobs));
    }
    if let Some(run) = with_texts(path)? {
        return Ok((run.entries, run.blobs));
    }
    let (entries, problems) = format::read(&shown(path), &text);
    if problems.is_empty() { Ok((entries, Blobs::default())) } else { Err(problems) }
}

/// A journal with the texts that stand beside it; none where there are none. A home keeps some of
/// them as artifacts.
///
/// # Errors
/// All lines that cannot be read.
pub(super) fn with_texts(path: &Path) -> Result<Option<Run>, Vec<Problem>> {
    if !beside(path).is_file() {
        return Ok(None);
    }
    let artifacts = path.parent().and_then(Path::parent).map(|home| home.join(ARTIFACTS));
    Run::read(path, artifacts.as_deref()).map(Some).map_err(|error| match error {
        HomeError::Problems(problems) => problems,
        error => vec![Problem::new(shown(path), Position::default(), error.to_string())],
    })
}

fn blob(object: &Map<String, Value>) -> Option<(Digest, String)> {
    let name = Digest::parse(object.get("digest")?.as_str()?)?;
    let text = object.get("text")?.as_str()?;
    (Blobs::name(text) == name).then(|| (name, text.to_owned()))
}
