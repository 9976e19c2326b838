//! JSON Lines: one JSON object a line, every problem with its line number.

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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(object)) => lines.push(Line { object, number }),
            Ok(_) => problems.push(Problem::new(
                file,
                Position::new(number, 1),
                "expected one JSON object a line",
            )),
            Err(error) => problems.push(Problem::new(
                file,
                Position::new(number, error.column()),
                format!("not JSON: {error}"),
            )),
        }
    }
    (lines, problems)
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
}
