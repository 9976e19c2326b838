//! What returns to the model: never empty, never above the limit, the receipt's suffix included.

use std::borrow::Cow;

use super::attached::Stored;
use crate::base::bounded::{Bounded, bound};
use crate::tool::descriptor::{ContextPolicy, OutputExposure};

/// What an empty success becomes.
pub const NO_OUTPUT: &str = "(no output)";

/// What is said when the descriptor keeps results from the model.
pub const NOT_SHOWN: &str = "(done; the output is kept as an artifact)";

/// Characters of one token, as the token limit counts them.
const CHARS_PER_TOKEN: u64 = 4;

/// The limit in Unicode scalar values: the smaller of the session's and the descriptor's.
pub fn limit(policy: &ContextPolicy, max_tool_result_chars: usize) -> usize {
    let tokens = policy.max_output_preview_tokens.saturating_mul(CHARS_PER_TOKEN);
    match policy.expose_output_to_model {
        OutputExposure::Full => max_tool_result_chars,
        OutputExposure::None | OutputExposure::Preview | OutputExposure::Structured => {
            max_tool_result_chars.min(usize::try_from(tokens).unwrap_or(usize::MAX))
        }
    }
}

/// Cuts a text so that it and its suffix fit the limit. A suffix that does not fit is left out:
/// half a receipt says nothing.
pub fn preview(text: &str, suffix: &str, max_chars: usize) -> Bounded {
    let Some(room) = max_chars.checked_sub(suffix.chars().count()) else {
        return bound(text, max_chars);
    };
    let mut cut = bound(text, room);
    cut.text.push_str(suffix);
    cut
}

/// Empty output has a text of its own.
pub fn normalise(output: &str) -> &str {
    if output.trim().is_empty() { NO_OUTPUT } else { output }
}

/// At most so many notes are added to an output.
pub const NOTES: usize = 8;

/// An output with a note for each part that is no text and that it does not name already; of many
/// notes the first [`NOTES`], and the number of the others.
pub fn with_notes<'a>(output: &'a str, stored: &[Stored]) -> Cow<'a, str> {
    let unnamed: Vec<&Stored> = stored.iter().filter(|one| !output.contains(&one.id())).collect();
    if unnamed.is_empty() {
        return output.into();
    }
    let mut lines: Vec<String> = unnamed.iter().take(NOTES).map(|one| one.note()).collect();
    if unnamed.len() > NOTES {
        lines.push(format!("[{} more artifacts are kept]", unnamed.len() - NOTES));
    }
    if !output.trim().is_empty() {
        lines.insert(0, output.strip_suffix('\n').unwrap_or(output).to_owned());
    }
    lines.join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::SecretSet;
    use crate::runtime::exec::Attachment;
    use proptest::prelude::*;

    const SUFFIX: &str = "\n[receipt v1:0123]";

    proptest! {
        #[test]
        fn everything_fits_and_both_ends_are_kept(text in any::<String>(), max in 0_usize..300) {
            let text = normalise(&text);
            let cut = preview(text, SUFFIX, max);
            prop_assert!(cut.text.chars().count() <= max);
            let room = max.saturating_sub(SUFFIX.chars().count());
            prop_assert_eq!(cut.text.ends_with(SUFFIX), max >= SUFFIX.chars().count());
            if cut.cut && room > 3 {
                let body = cut.text.strip_suffix(SUFFIX).unwrap_or_default();
                prop_assert_eq!(body.chars().next(), text.chars().next());
                prop_assert_eq!(body.chars().last(), text.chars().last());
            }
            prop_assert!(max == 0 || !cut.text.is_empty());
        }
    }

    #[test]
    fn every_limit_is_kept() {
        for text in ["", "short", &"é😀\u{301}".repeat(200), &"x".repeat(5000)] {
            for max in 0..300 {
                let cut = preview(normalise(text), SUFFIX, max);
                assert!(cut.text.chars().count() <= max);
                assert_eq!(cut.text.is_empty(), max == 0);
            }
        }
    }

    #[test]
    fn the_smaller_limit_binds_and_full_is_capped_too() {
        let of = |expose_output_to_model, max_output_preview_tokens| {
            let policy = ContextPolicy {
                expose_output_to_model,
                max_output_preview_tokens,
                ..ContextPolicy::default()
            };
            limit(&policy, 100)
        };
        assert_eq!(of(OutputExposure::Preview, 10), 40);
        assert_eq!(of(OutputExposure::Structured, u64::MAX), 100);
        assert_eq!(of(OutputExposure::Full, 10), 100);
    }

    #[test]
    fn empty_is_never_empty() {
        assert_eq!(normalise(" \n"), NO_OUTPUT);
        assert_eq!(normalise("x "), "x ");
    }

    #[test]
    fn notes_follow_the_text_and_are_few() {
        let stored =
            |n: u8| Stored::new(Attachment::new("image/png", vec![n]), &SecretSet::default(), true);
        let one = stored(1);
        let note = one.note();
        assert!(note.starts_with("[1 bytes of image/png are kept as artifact art_"), "{note}");
        assert_eq!(with_notes("", std::slice::from_ref(&one)), note);
        assert_eq!(with_notes("seen\n", std::slice::from_ref(&one)), format!("seen\n{note}"));
        let named = format!("it is {}\n", one.id());
        assert_eq!(with_notes(&named, &[one]), named);
        let many: Vec<Stored> = (0..20).map(stored).collect();
        let lines = with_notes("", &many);
        assert_eq!(lines.lines().count(), NOTES + 1);
        assert!(lines.ends_with("[12 more artifacts are kept]"));
    }
}
