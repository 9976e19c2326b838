//! Where the parts of a JSON text stand: the text is walked, no tree is built. For texts that have
//! been read already; whatever is no JSON is not found.

/// Where a member or an element stands, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Where its key begins; the value itself in a list and at the root.
    pub key: usize,
    /// Where its value begins.
    pub value: usize,
}

/// The values that stand in a text one after another, as in JSON lines.
pub fn values(text: &str) -> Vec<usize> {
    let (bytes, mut at, mut found) = (text.as_bytes(), 0, Vec::new());
    if text.starts_with('\u{feff}') {
        at = '\u{feff}'.len_utf8();
    }
    loop {
        at = blanks(bytes, at);
        let Some(end) = skip(bytes, at).filter(|end| *end > at) else { return found };
        found.push(at);
        at = end;
    }
}

/// The members of the object, or the elements of the list, that begins at `at`: the key as it is
/// spelled, without its quotes, or the number.
pub fn parts(text: &str, at: usize) -> Vec<(String, Spot)> {
    let (bytes, mut found) = (text.as_bytes(), Vec::new());
    let open = bytes.get(at).copied();
    if !matches!(open, Some(b'{' | b'[')) {
        return found;
    }
    let mut at = blanks(bytes, at + 1);
    while let Some(byte) = bytes.get(at).copied().filter(|byte| !matches!(byte, b'}' | b']')) {
        if byte == b',' {
            at = blanks(bytes, at + 1);
            continue;
        }
        let (key, mut value) = (at, at);
        let mut name = found.len().to_string();
        if open == Some(b'{') {
            let Some(end) = skip(bytes, at) else { return found };
            let raw = text.get(at..end).unwrap_or_default();
            name = serde_json::from_str(raw).unwrap_or_default();
            let colon = blanks(bytes, end);
            if bytes.get(colon) != Some(&b':') {
                return found;
            }
            value = blanks(bytes, colon + 1);
        }
        found.push((name, Spot { key, value }));
        let Some(end) = skip(bytes, value).filter(|end| *end > value) else { return found };
        at = blanks(bytes, end);
    }
    found
}

/// What a JSON pointer names below the value at `at`; its nearest parent where it is not there.
pub fn find(text: &str, at: usize, pointer: &str) -> Spot {
    let mut spot = Spot { key: at, value: at };
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let parts = parts(text, spot.value);
        match parts.into_iter().find(|(key, _)| *key == name) {
            Some((_, inner)) => spot = inner,
            None => return spot,
        }
    }
    spot
}

/// Where the value that begins at `at` ends.
pub fn end(text: &str, at: usize) -> usize {
    skip(text.as_bytes(), at).unwrap_or(text.len())
}

fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Behind the value that begins at `at`; `None` where the text ends before it does.
fn skip(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = text_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            byte if depth > 0 && (byte.is_ascii_whitespace() || matches!(byte, b',' | b':')) => {
                at += 1;
                continue;
            }
            _ => {
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let length = bytes.get(at..)?.iter().take_while(|byte| plain(byte)).count();
                at += length.max(1);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Behind the text whose first quote stands at `at`.
fn text_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pointer: &str, key: &str, value: &str) {
        let spot = find(text, 0, pointer);
        assert!(text[spot.key..].starts_with(key), "{pointer}: {}", &text[spot.key..]);
        assert!(text[spot.value..].starts_with(value), "{pointer}: {}", &text[spot.value..]);
    }

    #[test]
    fn members_and_elements_are_found_and_the_nearest_parent_otherwise() {
        let text = r#"{"a": [1, {"b/c": "x\"]", "d": null}], "e": {}}"#;
        check(text, "", "{\"a\"", "{\"a\"");
        check(text, "/a/1/b~1c", "\"b/c\"", "\"x\\\"]\"");
        check(text, "/a/1/d", "\"d\"", "null");
        check(text, "/a/1/gone/deeper", "{\"b/c\"", "{\"b/c\"");
        check(text, "/e", "\"e\"", "{}");
        assert_eq!(
            &text[find(text, 0, "/a").value..end(text, find(text, 0, "/a").value)],
            r#"[1, {"b/c": "x\"]", "d": null}]"#
        );
    }

    #[test]
    fn whatever_is_no_json_ends_the_walk() {
        assert_eq!(values("{} [1]\n \"a\" 2").len(), 4);
        for text in ["{\"a\": [", "{\"a\"", "[1, ", "\"a", "}", "{a: 1}", ""] {
            let all = values(text).len() + parts(text, 0).len();
            assert!(all <= 3, "{text}");
            find(text, 0, "/a/0");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_node_of_a_written_value_is_found(keys in proptest::collection::vec(".{0,6}", 1..6)) {
            let map: serde_json::Map<String, serde_json::Value> =
                keys.iter().map(|key| (key.clone(), serde_json::json!([key]))).collect();
            let text = serde_json::Value::Object(map).to_string();
            for key in keys {
                let pointer = format!("/{}/0", crate::base::document::escape(&key));
                let spot = find(&text, 0, &pointer);
                let raw = &text[spot.value..end(&text, spot.value)];
                let found: String = serde_json::from_str(raw).unwrap();
                proptest::prop_assert_eq!(found, key);
            }
        }
    }
}
