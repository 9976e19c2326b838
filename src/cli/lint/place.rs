//! Where a finding stands in its file, with a piece of the line.

use super::gather::{Origin, Text, Unit};
use crate::base::locate;
use crate::base::problem::Position;
use crate::lint::rule::Place;
use crate::lint::{Finding, Subject};
use crate::report::lint::{Excerpt, Located};

/// Each finding with its place. Files are walked once: findings come in the order of their tools.
pub(super) fn locate(unit: &Unit, found: Vec<Finding>) -> Vec<Located> {
    let mut walk = Walk::default();
    let mut out = Vec::with_capacity(found.len());
    for finding in found {
        let server = unit.servers.get(finding.server);
        let tool = server.and_then(|server| server.tools.get(finding.tool));
        let origin = unit.origins.get(finding.server).and_then(|all| all.get(finding.tool));
        let text = origin.and_then(|origin| unit.texts.get(origin.text));
        let (Some(server), Some(tool), Some(origin), Some(text)) = (server, tool, origin, text)
        else {
            continue;
        };
        let offset = offset(text, *origin, tool, &finding.place);
        let at = walk.position(origin.text, &text.text, (origin.at, offset));
        let excerpt = excerpt(&text.text, offset);
        out.push(Located {
            tool: if tool.id.is_empty() { "a tool without a name".into() } else { tool.id.clone() },
            together: server.tools.len(),
            file: text.file.clone(),
            at,
            excerpt: Some(excerpt),
            finding,
        });
    }
    out
}

/// The byte at which a place begins.
fn offset(text: &Text, origin: Origin, tool: &Subject, place: &Place) -> usize {
    let pointer = tool.pointer(&place.part, &place.pointer);
    let (start, end) = match &text.document {
        Some(document) => {
            let at = if place.key { document.key_at(&pointer) } else { document.at(&pointer) };
            let start = of_position(&text.text, at);
            (start, text.text.len())
        }
        None => {
            let spot = locate::find(&text.text, origin.at, &pointer);
            let start = if place.key { spot.key } else { spot.value };
            (start, locate::end(&text.text, spot.value).max(start))
        }
    };
    let words = place.span.clone().and_then(|span| {
        let piece = tool.description.get(span)?.lines().next()?.trim();
        let written = text.text.get(start..end)?;
        let spelled = serde_json::to_string(piece).ok()?;
        let inner = spelled.trim_matches('"');
        // A block of YAML may break the line anywhere; its first words then say enough.
        let short: String = inner.chars().take(SHORT).collect();
        written.find(inner).or_else(|| written.find(&short)).filter(|_| !short.is_empty())
    });
    start + words.unwrap_or(0)
}

/// Characters by which a text is found again.
const SHORT: usize = 24;

/// The byte of a position; the last one of a shorter line.
fn of_position(text: &str, at: Position) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(at.line.saturating_sub(1)) {
        start += line.len();
    }
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let column = line.char_indices().nth(at.column.saturating_sub(1)).map(|(at, _)| at);
    start + column.unwrap_or(0)
}

/// Counts lines and columns on from the beginning of the tool that was asked about last: one line
/// may hold a whole listing.
#[derive(Debug, Default)]
struct Walk {
    text: usize,
    start: usize,
    at: Option<Position>,
}

impl Walk {
    /// The position of `offset` in the tool that begins at `start`.
    fn position(&mut self, number: usize, text: &str, (start, offset): (usize, usize)) -> Position {
        let on = self.at.filter(|_| self.text == number && self.start <= start);
        let (from, at) = on.map_or((0, Position::new(1, 1)), |at| (self.start, at));
        let begin = advance(at, text.get(from..start).unwrap_or_default());
        (self.text, self.start, self.at) = (number, start, Some(begin));
        advance(begin, text.get(start..offset).unwrap_or_default())
    }
}

/// The position behind a text that begins at `at`.
fn advance(at: Position, text: &str) -> Position {
    let rest = text.rsplit('\n').next().unwrap_or_default().chars().count();
    match text.matches('\n').count() {
        0 => Position::new(at.line, at.column + rest),
        lines => Position::new(at.line + lines, rest + 1),
    }
}

/// Characters of a line before and behind the place.
const AROUND: usize = 44;

fn excerpt(text: &str, offset: usize) -> Excerpt {
    let (head, tail) =
        (text.get(..offset).unwrap_or_default(), text.get(offset..).unwrap_or_default());
    let line = head.rsplit('\n').next().unwrap_or_default();
    let mut before: Vec<char> = line.chars().rev().take(AROUND).collect();
    before.reverse();
    let cut = line.len() > before.iter().map(|c| c.len_utf8()).sum::<usize>();
    let behind: String = tail.chars().take(AROUND).take_while(|c| *c != '\n').collect();
    let more = tail.chars().nth(behind.chars().count()).is_some_and(|c| c != '\n');
    let shown: String =
        before.iter().chain(&behind.chars().collect::<Vec<char>>()).map(|c| plain(*c)).collect();
    Excerpt {
        text: format!("{}{shown}{}", if cut { "..." } else { "" }, if more { "..." } else { "" }),
        before: before.len() + if cut { 3 } else { 0 },
        length: word(&behind),
    }
}

/// What a terminal shows as one character and does not obey.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// Characters of the quoted or plain word that a text begins with.
fn word(text: &str) -> usize {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.find('"').map(|at| &rest[..at]));
    match quoted {
        Some(inner) => inner.chars().count() + 2,
        None if text.starts_with('"') => text.chars().count(),
        None => {
            let plain = |c: &char| c.is_alphanumeric() || "_-.$/".contains(*c);
            text.chars().take_while(plain).count().max(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{{\n{}\"name\": \"b\", {}}}", "x".repeat(90), "y".repeat(90));
        let offset = text.find("\"name\"").unwrap();
        let found = excerpt(&text, offset);
        assert!(
            found.text.starts_with("...xxx") && found.text.ends_with("yyy..."),
            "{}",
            found.text
        );
        let marked: String = found.text.chars().skip(found.before).take(found.length).collect();
        assert_eq!(marked, "\"name\"");
    }

    #[test]
    fn positions_go_on_from_the_last_one() {
        let text = "ab\ncdé\nf";
        let mut walk = Walk::default();
        for (start, offset) in [(0, 0), (0, 1), (1, 4), (4, 8), (4, 4), (0, 3)] {
            let expected = Position::of_offset(text, offset);
            assert_eq!(walk.position(0, text, (start, offset)), expected, "{start} {offset}");
        }
        assert_eq!(of_position(text, Position::new(2, 3)), 5);
    }
}
