//! Texts that do on a terminal what they seem to do: nothing but stand there.

/// Whether a character could move the cursor or turn the direction of writing.
pub fn moves(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
}

/// A text for one line of a terminal: what could end the line, move the cursor or turn the writing
/// is spelled out, so that what is shown is what there is.
pub fn printable(text: &str) -> String {
    let spell = |c: char| match moves(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    };
    text.chars().map(spell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_is_spelled_and_all_else_stays() {
        assert_eq!(printable("päper 1 ✓"), "päper 1 ✓");
        assert_eq!(printable("a\u{1b}[2J\n\u{202e}b\u{9b}"), r"a\u{1b}[2J\u{a}\u{202e}b\u{9b}");
    }
}
