//! Truncation that says what was lost.

/// A text cut to a limit, with the count of what was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// At most the limit's number of Unicode scalar values.
    pub text: String,
    /// Scalar values before the cut.
    pub total_chars: usize,
    /// Whether anything was cut.
    pub cut: bool,
}

/// Cuts `text` to at most `max_chars` Unicode scalar values, the marker included, keeping head
/// and tail. When even the marker does not fit, the head alone is kept.
pub fn bound(text: &str, max_chars: usize) -> Bounded {
    // Bytes are never fewer than scalar values, so the common case needs no counting.
    if text.len() <= max_chars {
        let total_chars = text.chars().count();
        return Bounded { text: text.to_owned(), total_chars, cut: false };
    }
    let total_chars = text.chars().count();
    if total_chars <= max_chars {
        return Bounded { text: text.to_owned(), total_chars, cut: false };
    }
    let marker = format!("\n[… {total_chars} characters in all; the middle is cut …]\n");
    let room = max_chars.saturating_sub(marker.chars().count());
    if room == 0 {
        let text = text.chars().take(max_chars).collect();
        return Bounded { text, total_chars, cut: true };
    }
    let head = room - room / 3;
    let mut out: String = text.chars().take(head).collect();
    out.push_str(&marker);
    out.extend(text.chars().skip(total_chars - room / 3));
    Bounded { text: out, total_chars, cut: true }
}

/// The head of a stream of bytes, with the count of what there was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedBytes {
    kept: Vec<u8>,
    limit: usize,
    total: u64,
}

impl BoundedBytes {
    /// Nothing yet; at most `limit` bytes will be kept.
    pub fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { kept: Vec::new(), limit, total: 0 }
    }

    /// Keeps what there is room for and counts everything.
    pub fn extend(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.total = self.total.saturating_add(bytes.len() as u64);
    }

    /// What was kept, bytes that are no UTF-8 replaced, with a marker when something was cut.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.kept).into_owned();
        let (kept, total) = (self.kept.len(), self.total);
        if total > kept as u64 {
            text.push_str(&format!(
                "\n[… {total} bytes in all; only the first {kept} are kept …]\n"
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_head_and_tail() {
        let text = format!("head{}tail", "x".repeat(1000));
        let cut = bound(&text, 200);
        assert!(cut.cut && cut.text.starts_with("head") && cut.text.ends_with("tail"));
        assert_eq!(cut.total_chars, 1008);
        assert!(cut.text.contains("1008 characters"));
    }

    #[test]
    fn cut_bytes_say_so() {
        let mut bytes = BoundedBytes::new(4);
        bytes.extend(b"abc");
        assert_eq!(bytes.text(), "abc");
        bytes.extend(b"d");
        assert_eq!(bytes.text(), "abcd");
        bytes.extend(b"ef");
        assert_eq!(bytes.text(), "abcd\n[… 6 bytes in all; only the first 4 are kept …]\n");
    }

    proptest! {
        #[test]
        fn never_longer_than_the_limit(text in "\\PC{0,300}", max in 0_usize..200) {
            let cut = bound(&text, max);
            prop_assert!(cut.text.chars().count() <= max);
            prop_assert_eq!(cut.cut, text.chars().count() > max);
            if !cut.cut { prop_assert_eq!(cut.text, text); }
        }
    }
}
