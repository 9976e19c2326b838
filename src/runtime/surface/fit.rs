//! Texts that fit.

use crate::base::bounded::bound;
use crate::base::printable::moves;

/// What a field of a line holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
}

/// One JSON object on one line, of at most `limit` Unicode scalar values. Only the text of `long`
/// is cut for that; where the rest alone is too long the line itself is cut, and is no JSON then.
/// Keys are names that need no escapes. Every call is shown several times, so nothing is built that
/// is not part of the line.
pub(super) fn object(
    fields: &[(&str, Field<'_>)],
    long: Option<(&str, &str)>,
    limit: usize,
) -> String {
    let mut line = String::with_capacity(256 + long.map_or(0, |(_, text)| text.len()));
    for (key, field) in fields {
        line.push_str(if line.is_empty() { "{\"" } else { ",\"" });
        line.push_str(key);
        line.push_str("\":");
        match field {
            Field::Text(text) => quote(text, &mut line),
            Field::Number(number) => line.push_str(&number.to_string()),
            Field::Flag(flag) => line.push_str(if *flag { "true" } else { "false" }),
        }
    }
    let Some((key, text)) = long else { return cut(line + "}", limit) };
    let beside = [line.as_str(), ",\"", key, "\":\"\"}"].map(|part| part.chars().count());
    let Some(room) = limit.checked_sub(beside.into_iter().sum()) else {
        return cut(line + "}", limit);
    };
    let mut keep = room;
    loop {
        let beside = line.len();
        for part in [",\"", key, "\":"] {
            line.push_str(part);
        }
        let from = line.len();
        match text.len() <= keep {
            true => quote(text, &mut line),
            false => quote(&bound(text, keep).text, &mut line),
        }
        // Without the two quotes around it.
        let taken = line[from..].chars().count().saturating_sub(2);
        if taken <= room {
            return line + "}";
        }
        line.truncate(beside);
        keep = (keep * room / taken).min(keep - 1);
    }
}

/// Adds a text as JSON spells it.
fn quote(text: &str, line: &mut String) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        // Writing a text to memory cannot fail.
        return line.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
    line.push('"');
    line.push_str(text);
    line.push('"');
}

fn cut(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// One line of at most `limit` Unicode scalar values: whatever could end it, move the cursor or
/// turn the direction of writing is a blank.
pub(super) fn line(text: &str, limit: usize) -> String {
    let blank = |c: char| c.is_whitespace() || moves(c);
    let plain = |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = text.starts_with(' ') || text.ends_with(' ') || text.contains("  ");
    if text.len() <= limit && !padded && plain(text) {
        return text.to_owned();
    }
    let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
    bound(&words.join(" "), limit).text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_long_text_gives_way_first() {
        let fields = [("a", Field::Text("b")), ("n", Field::Number(1))];
        let whole = r#"{"a":"b","n":1,"text":"x\ny"}"#;
        let check = |limit: usize, expected: &str| {
            assert_eq!(object(&fields, Some(("text", "x\ny")), limit), expected, "{limit}");
        };
        check(100, whole);
        check(whole.len(), whole);
        check(whole.len() - 1, r#"{"a":"b","n":1,"text":"x\n"}"#);
        check(26, r#"{"a":"b","n":1,"text":"x"}"#);
        check(24, r#"{"a":"b","n":1}"#);
        check(15, r#"{"a":"b","n":1}"#);
        check(3, r#"{"a"#);
        check(0, "");
        assert_eq!(object(&fields, None, 15), r#"{"a":"b","n":1}"#);
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line(" a\n\r\tb\u{1b}[2Jc\u{202e}d\u{2028}e ", 99), "a b [2Jc d e");
        assert!(!line(&"word\n".repeat(99), 90).contains('\n'));
    }

    fn quoted(text: &str) -> String {
        serde_json::to_string(text).unwrap()
    }

    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn whatever_it_is_it_fits(name in ".{0,20}", text in ".{0,200}", limit in 0_usize..300) {
            let fields = [("name", Field::Text(&name))];
            let shown = object(&fields, Some(("text", &text)), limit);
            prop_assert!(shown.chars().count() <= limit);
            let least = object(&fields, None, 1_000).chars().count();
            if limit >= least {
                let read: Value = serde_json::from_str(&shown).unwrap();
                prop_assert_eq!(read["name"].as_str(), Some(name.as_str()));
            }
            if limit >= least + ",\"text\":".len() + quoted(&text).chars().count() {
                let whole = json!({"name": &name, "text": &text});
                prop_assert_eq!(&shown, &whole.to_string());
            }
            prop_assert!(line(&text, limit).chars().count() <= limit);
            if text.chars().all(|c| c.is_ascii_graphic() || c == ' ') && text.len() <= limit {
                prop_assert_eq!(line(&text, limit), words(&text));
            }
        }
    }
}
