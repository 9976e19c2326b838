//! How a tool came into a registry: what was enabled of a source without what must come first.

use super::{Altered, At, Record};
use crate::base::digest::Digest;
use crate::journal::event::catalog::{ToolDiscovered, ToolEnabled, ToolVerified};

type Maybe = Option<Altered>;

/// A tool that was enabled after it was discovered at a source.
fn enabled<'a>(record: &Record<'a>, source: &str) -> Option<(At<'a, ToolDiscovered>, usize)> {
    record.each::<ToolDiscovered>().find_map(|found| {
        let own = found.1.source.as_deref() == Some(source);
        let mut later = record.in_session::<ToolEnabled>(found.0);
        let (at, _) = later.find(|(at, fact)| *at > found.0 && fact.tool_id == found.1.tool_id)?;
        own.then_some((found, at))
    })
}

pub(super) fn enable_changed_definition(record: &Record<'_>) -> Maybe {
    let (_, at) = enabled(record, "mcp")?;
    let changed = Digest::of("version", b"a changed definition");
    record.alter(at, |fact: &mut ToolEnabled| fact.tool_version = changed)
}

pub(super) fn discover_after_normalizing(record: &Record<'_>) -> Maybe {
    let ((_, found), at) = enabled(record, "mcp")?;
    record.insert(at, false, found.clone())
}

pub(super) fn enable_unverified_skill(record: &Record<'_>) -> Maybe {
    let ((found, tool), at) = enabled(record, "skill")?;
    let mut verified = record.in_session::<ToolVerified>(found);
    let own = |(place, fact): &At<'_, ToolVerified>| {
        (found..at).contains(place) && fact.tool_id == tool.tool_id
    };
    let (place, _) = verified.find(own)?;
    record.drop(place)
}
