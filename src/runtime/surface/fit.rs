//! Texts that fit.

use serde_json::Value;

use crate::base::bounded::bound;

/// One JSON object on one line, of at most `limit` Unicode scalar values. Only the text of `long`
/// is cut for that; where the rest alone is too long the line itself is cut, and is no JSON then.
pub(super) fn object(fields: &[(&str, Value)], long: Option<(&str, &str)>, limit: usize) -> String {
    let head = fields.iter().map(|(key, value)| member(key, value)).collect::<Vec<_>>().join(",");
    let Some((key, text)) = long else { return cut(format!("{{{head}}}"), limit) };
    let line = |text: &str| format!("{{{head},{}}}", member(key, &Value::from(text)));
    let Some(room) = limit.checked_sub(line("").chars().count()) else {
        return cut(format!("{{{head}}}"), limit);
    };
    let mut keep = room;
    loop {
        let kept = bound(text, keep).text;
        // Without the two quotes around it.
        let taken = Value::from(kept.as_str()).to_string().chars().count() - 2;
        if taken <= room {
            return line(&kept);
        }
        keep = (keep * room / taken).min(keep - 1);
    }
}

fn member(key: &str, value: &Value) -> String {
    format!("{}:{value}", Value::from(key))
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
    let turns = |c: char| {
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
    };
    let blank = |c: char| c.is_whitespace() || c.is_control() || turns(c);
    let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
    bound(&words.join(" "), limit).text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_long_text_gives_way_first() {
        let fields = [("a", json!("b")), ("n", json!(1))];
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn whatever_it_is_it_fits(name in ".{0,20}", text in ".{0,200}", limit in 0_usize..300) {
            let fields = [("name", Value::from(name.as_str()))];
            let shown = object(&fields, Some(("text", &text)), limit);
            prop_assert!(shown.chars().count() <= limit);
            let least = object(&fields, None, 1_000).chars().count();
            if limit >= least {
                let read: Value = serde_json::from_str(&shown).unwrap();
                prop_assert_eq!(read["name"].as_str(), Some(name.as_str()));
            }
            prop_assert!(line(&text, limit).chars().count() <= limit);
        }
    }
}
