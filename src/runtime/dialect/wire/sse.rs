//! Server-sent events out of bytes in any pieces, as the HTML standard frames them. Two things
//! are kinder than the standard: an event at the end needs no blank line after it, and a field
//! `error` is an event of that name, because some servers write it so.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name; empty where none was given.
    pub(super) name: String,
    /// Its data, lines joined by LF.
    pub(super) data: Vec<u8>,
}

/// The state between two bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Framing {
    line: Vec<u8>,
    event: Event,
    /// Whether the event has a line of data, which may be empty.
    has_data: bool,
    /// Whether the last byte was a CR: an LF after it ends no other line.
    after_cr: bool,
    /// Whether a line was seen: the first may begin with a byte order mark.
    begun: bool,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Framing {
    /// Reads on up to the end of the next event; how many bytes were read, and the event.
    pub(super) fn next(&mut self, bytes: &[u8]) -> (usize, Option<Event>) {
        let mut at = 0;
        while at < bytes.len() {
            if std::mem::take(&mut self.after_cr) && bytes[at] == b'\n' {
                at += 1;
                continue;
            }
            let rest = &bytes[at..];
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                return (bytes.len(), None);
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            at += end + 1;
            if let Some(event) = self.end_of_line() {
                return (at, Some(event));
            }
        }
        (at, None)
    }

    /// The event that was not ended yet.
    pub(super) fn finish(&mut self) -> Option<Event> {
        self.end_of_line().or_else(|| self.end_of_event())
    }

    fn end_of_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        let event = if line.is_empty() {
            self.end_of_event()
        } else {
            self.field(&line);
            None
        };
        // Its room is used again.
        line.clear();
        self.line = line;
        event
    }

    fn end_of_event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => self.data(value),
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"error" => {
                "error".clone_into(&mut self.event.name);
                self.data(value);
            }
            // Comments have no name; ids and times to wait are for those who connect again.
            _ => {}
        }
    }

    fn data(&mut self, value: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push(b'\n');
        }
        self.event.data.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<Event> {
        let (mut framing, mut events) = (Framing::default(), Vec::new());
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                let (read, event) = framing.next(rest);
                events.extend(event);
                rest = &rest[read..];
            }
        }
        events.extend(framing.finish());
        events
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found: Vec<(String, String)> = events(&[text.as_bytes()])
            .into_iter()
            .map(|event| (event.name, String::from_utf8(event.data).unwrap()))
            .collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect();
        assert_eq!(found, expected, "{text:?}");
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            assert_eq!(events(&[head, tail]).len(), expected.len(), "{text:?} at {at}");
        }
    }

    #[test]
    fn every_framing_of_the_standard() {
        check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("data: a\r\n\ndata: b\n\r\n", &[("", "a"), ("", "b")]);
        check("\u{FEFF}data: a\n\n", &[("", "a")]);
        check("\u{FEFF}\u{FEFF}data: a\n\n", &[]);
        check("data: a\n\n\u{FEFF}data: b\n\n", &[("", "a")]);
        check("data:a\n\n", &[("", "a")]);
        check("data:  a\n\n", &[("", " a")]);
        check("data: a\ndata: b\n\n", &[("", "a\nb")]);
        check("data\ndata\n\n", &[("", "\n")]);
        check("event: x\ndata: a\n\ndata: b\n\n", &[("x", "a"), ("", "b")]);
        check("event: x\n\ndata: a\n\n", &[("", "a")]);
        check(": keep alive\n\n: again\ndata: a\n\n", &[("", "a")]);
        check("id: 1\nretry: 9\nnonsense\ndata: a\n\n", &[("", "a")]);
        check("\n\n\ndata: a\n\n\n\n", &[("", "a")]);
        check("data: a\u{2028}b\u{85}c\n\n", &[("", "a\u{2028}b\u{85}c")]);
        check("", &[]);
    }

    #[test]
    fn where_it_is_kinder() {
        check("data: a\n\ndata: b", &[("", "a"), ("", "b")]);
        check("data: a\n\ndata: b\n", &[("", "a"), ("", "b")]);
        check("error: {\"code\":500}\n\n", &[("error", "{\"code\":500}")]);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            text in prop::collection::vec(prop::sample::select(vec![
                "data: a", "data:", "event: e", ":", "\n", "\r", "\r\n", "\u{FEFF}", "é", " ",
            ]), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let text = text.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[&text]));
        }
    }
}
