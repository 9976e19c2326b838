//! JSON Lines: one JSON object a line, every problem with its line number.

use std::io::{self, BufRead};

use serde_json::{Map, Value};

use super::problem::{Position, Problem};

/// One object of a JSON Lines text with its line number, from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The object.
    pub object: Map<String, Value>,
    /// Its line, from 1.
    pub number: usize,
}

/// Reads all lines; blank ones are skipped. A line that is not a JSON object is a problem, and
/// the lines after it are still read.
pub fn read(file: &str, text: &str) -> (Vec<Line>, Vec<Problem>) {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in lines_of(text) {
        match object(line) {
            Ok(object) => lines.push(Line { object, number }),
            Err((column, message)) => {
                problems.push(Problem::new(file, Position::new(number, column), message));
            }
        }
    }
    (lines, problems)
}

/// The lines of a text that are not blank, with their numbers from 1. A byte order mark at its
/// start belongs to no line.
pub fn lines_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).filter(|(_, line)| !is_blank(line))
}

fn is_blank(line: &str) -> bool {
    !line.starts_with('{') && line.trim().is_empty()
}

/// The object of one line.
///
/// # Errors
/// The column, from 1, and what is wrong there.
pub fn object(line: &str) -> Result<Map<String, Value>, (usize, String)> {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err((1, "expected one JSON object a line".into())),
        Err(error) => Err((error.column(), format!("not JSON: {error}"))),
    }
}

/// Lines that are read one at a time, as [`lines_of`] cuts them.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: usize,
}

/// Why no further line can be read.
#[derive(Debug)]
pub enum Broken {
    /// Reading failed.
    Read(io::Error),
    /// At this place stands something that is not UTF-8.
    NotText(Position),
}

impl<R: BufRead> Lines<R> {
    /// All lines of a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), number: 0 }
    }

    /// The next line that is not blank, with its number from 1; `None` at the end.
    ///
    /// # Errors
    /// When reading fails, or at the first line that is not UTF-8.
    pub fn next_line(&mut self) -> Result<Option<(usize, &str)>, Broken> {
        loop {
            self.buffer.clear();
            self.reader.read_until(b'\n', &mut self.buffer).map_err(Broken::Read)?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if self.buffer.starts_with(b"{") || !self.is_blank()? {
                return self.line().map(Some);
            }
        }
    }

    fn is_blank(&self) -> Result<bool, Broken> {
        self.line().map(|(_, line)| is_blank(line))
    }

    /// The line in the buffer, without its end.
    fn line(&self) -> Result<(usize, &str), Broken> {
        let line = str::from_utf8(&self.buffer).map_err(|error| {
            let text = String::from_utf8_lossy(&self.buffer);
            let at = Position::of_offset(&text, error.valid_up_to());
            Broken::NotText(Position::new(self.number, at.column))
        })?;
        let bare = line.strip_suffix('\n').map_or(line, |l| l.strip_suffix('\r').unwrap_or(l));
        let mark = if self.number == 1 { bare.strip_prefix('\u{feff}') } else { None };
        Ok((self.number, mark.unwrap_or(bare)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_line_is_reported() {
        let (lines, problems) = read("j", "{\"a\":1}\n\n[1]\n{oops\n{\"b\":2}\n");
        assert_eq!(lines.iter().map(|l| l.number).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(problems.iter().map(|p| p.at.line).collect::<Vec<_>>(), [3, 4]);
    }

    fn streamed(bytes: &[u8]) -> (Vec<(usize, String)>, Option<Position>) {
        let (mut lines, mut out) = (Lines::new(bytes), Vec::new());
        loop {
            match lines.next_line() {
                Ok(Some((number, line))) => out.push((number, line.to_owned())),
                Ok(None) => return (out, None),
                Err(Broken::NotText(at)) => return (out, Some(at)),
                Err(Broken::Read(error)) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn lines_are_the_same_one_at_a_time() {
        for text in [
            "",
            "\n",
            "{}",
            "{}\n",
            "{}\r\n\r\n {}\r",
            "\u{feff}{}\n\u{feff}\n",
            "\u{feff}",
            "\u{feff}\n{}",
            " \u{a0}\u{2003}\n{\"a\":\"\u{a0}\"}\n\n\nx",
        ] {
            let whole = lines_of(text).map(|(number, line)| (number, line.to_owned()));
            assert_eq!(streamed(text.as_bytes()), (whole.collect(), None), "{text:?}");
        }
    }

    #[test]
    fn the_first_bytes_that_are_no_text_are_named() {
        let (lines, at) = streamed(b"{}\n{\"\xc3\xa9\":\xff\n{}");
        assert_eq!((lines.len(), at), (1, Some(Position::new(2, 6))));
        assert_eq!(streamed(b"\xef\xbb\xbf{\xc3"), (vec![], Some(Position::new(1, 3))));
    }
}
