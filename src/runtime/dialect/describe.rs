//! The description a model reads: the summary, then use-when, do-not-use-when and examples under
//! fixed headings, so that what each part earns can be measured by leaving it out.

use crate::runtime::catalog::Registered;
use crate::tool::risk::Level;

/// Heading of the use-when list.
pub const USE_WHEN: &str = "Use when:";
/// Heading of the do-not-use-when list.
pub const DO_NOT_USE_WHEN: &str = "Do not use when:";
/// Heading of the examples.
pub const EXAMPLES: &str = "Examples:";
/// Heading of the hints.
pub const HINTS: &str = "Runtime:";

/// Which parts a description shows beside the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rendering {
    /// Use-when and do-not-use-when.
    pub use_when: bool,
    /// Examples.
    pub examples: bool,
    /// Intent, risk and approval hints.
    pub hints: bool,
}

/// The description of one tool.
pub fn describe(tool: &Registered, rendering: Rendering) -> String {
    let description = &tool.descriptor.description;
    let mut out = description.summary.clone();
    if rendering.use_when {
        list(&mut out, USE_WHEN, description.use_when.iter().cloned());
        list(&mut out, DO_NOT_USE_WHEN, description.do_not_use_when.iter().cloned());
    }
    if rendering.examples {
        let examples = description.examples.iter().map(|example| {
            let args = serde_json::Value::Object(example.expected_args.clone());
            format!("\"{}\" -> {args}", example.user_request)
        });
        list(&mut out, EXAMPLES, examples);
    }
    if rendering.hints {
        list(&mut out, HINTS, std::iter::once(hint(tool)));
    }
    out
}

fn list(out: &mut String, heading: &str, items: impl Iterator<Item = String>) {
    for (index, item) in items.enumerate() {
        if index == 0 {
            out.push_str("\n\n");
            out.push_str(heading);
        }
        out.push_str("\n- ");
        out.push_str(&item);
    }
}

fn hint(tool: &Registered) -> String {
    let approval = match tool.level {
        Level::L0 | Level::L1 => "runs by itself",
        Level::L2 | Level::L3 => "runs within your scopes",
        Level::L4 => "asks the user first",
        Level::L5 => "needs the user's explicit confirmation",
    };
    format!("{} effect, level {}, {approval}", tool.class.name(), tool.level)
}
