//! What returns to the model: never empty, never above the limit, the receipt's suffix included.

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

/// Cuts a text so that it and its suffix fit the limit.
pub fn preview(text: &str, suffix: &str, max_chars: usize) -> Bounded {
    let room = max_chars.saturating_sub(suffix.chars().count());
    let mut cut = bound(text, room);
    if suffix.chars().count() <= max_chars {
        cut.text.push_str(suffix);
    }
    cut
}

/// Empty output has a text of its own.
pub fn normalise(output: &str) -> &str {
    if output.trim().is_empty() { NO_OUTPUT } else { output }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn suffix_and_marker_fit_the_limit(text in "\\PC{0,400}", max in 0_usize..300) {
            let cut = preview(&text, "\n[receipt v1:0123]", max);
            prop_assert!(cut.text.chars().count() <= max);
        }
    }

    #[test]
    fn empty_is_never_empty() {
        assert_eq!(normalise(" \n"), NO_OUTPUT);
        assert_eq!(normalise("x "), "x ");
    }
}
