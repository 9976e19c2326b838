//! Which stretches of a prompt do not say what is asked for: values of arguments, and what the
//! prompt denies.

use std::ops::Range;

use super::patterns::{CODE, DENIED};
use super::spans::{Kind, Span};

/// What the words of a stretch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// They speak of what is asked for.
    Plain,
    /// They belong to a value: text between quotation marks, an address, a path, a code.
    Value,
    /// They are denied (`no X`, `without X`, `rather than X`).
    Denied,
}

/// The stretches of a prompt in order, which together make up all of it. A value inside of a
/// denial stays a value.
pub(super) fn stretches(prompt: &str, spans: &[Span]) -> Vec<(Range<usize>, Mark)> {
    let mut values: Vec<Range<usize>> = spans
        .iter()
        .filter(|span| is_value(span.kind))
        .map(|span| span.range.clone())
        .chain(CODE.find_iter(prompt).map(|m| m.range()))
        .collect();
    values.sort_by_key(|range| (range.start, range.end));
    let denied: Vec<Range<usize>> = DENIED
        .captures_iter(prompt)
        .filter_map(|c| c.iter().skip(1).flatten().next().map(|m| m.range()))
        .collect();
    let mut out = Vec::new();
    let mut at = 0;
    for value in values {
        if value.end > at {
            plain(at..value.start.max(at), &denied, &mut out);
            out.push((value.start.max(at)..value.end, Mark::Value));
            at = value.end;
        }
    }
    plain(at..prompt.len(), &denied, &mut out);
    out
}

/// Parts a stretch without values into what is denied and what is not.
fn plain(range: Range<usize>, denied: &[Range<usize>], out: &mut Vec<(Range<usize>, Mark)>) {
    let mut at = range.start;
    for stretch in denied {
        let (start, end) = (stretch.start.max(at), stretch.end.min(range.end));
        if start < end {
            out.push((at..start, Mark::Plain));
            out.push((start..end, Mark::Denied));
            at = end;
        }
    }
    out.push((at..range.end, Mark::Plain));
}

/// Whether the words of such a span are a value's; the words of dates and numbers (`March`,
/// `two`) are few and do no harm.
fn is_value(kind: Kind) -> bool {
    matches!(kind, Kind::Quoted | Kind::Url | Kind::Email | Kind::Path | Kind::Id)
}
