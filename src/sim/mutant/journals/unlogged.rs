//! Mistakes about what is not to be logged.

use std::sync::Arc;

use super::*;

type Maybe = Option<Altered>;

/// The end of a call whose result is not to be logged, and settles.
fn end<'a>(record: &Record<'a>) -> Option<(At<'a, ToolCallFinished>, At<'a, ToolCallSettled>)> {
    record.each::<ToolCallFinished>().filter(|(_, fact)| fact.unlogged).find_map(|finish| {
        let settled = record.one::<ToolCallSettled>(finish.0)?;
        Some((finish, settled))
    })
}

/// A text where there was only its name.
fn kept(record: &Record<'_>, name: Digest) -> Maybe {
    let (entries, mut blobs) = record.edit(|_| Some(()))?;
    record.blobs.get(&name).is_none().then(|| blobs.put_known(name, Arc::from("it is kept")))?;
    Some((entries, blobs))
}

pub(super) fn keep_the_unlogged(record: &Record<'_>) -> Maybe {
    let (_, (_, settled)) = end(record)?;
    kept(record, settled.shown?)
}

pub(super) fn store_the_unlogged(record: &Record<'_>) -> Maybe {
    let ((at, finish), _) = end(record)?;
    let hash = finish.result_digest?;
    let stored = ArtifactPersisted {
        tool_call_id: record.entry(at)?.call.as_deref().map(str::to_owned),
        event_id: Some(record.entry(at)?.seq),
        ..ArtifactPersisted::new("art_mutant".to_owned(), "tool_output".to_owned(), hash, 9)
    };
    record.insert(at + 1, true, stored)
}

pub(super) fn word_the_unlogged(record: &Record<'_>) -> Maybe {
    let mut finished = record.each::<ToolCallFinished>();
    let (at, _) = finished.find(|(_, fact)| fact.unlogged && fact.fault.is_some())?;
    record.alter(at, |fact: &mut ToolCallFinished| {
        if let Some(fault) = &mut fact.fault {
            fault.message = "what the tool said".to_owned();
        }
    })
}

pub(super) fn keep_the_request(record: &Record<'_>) -> Maybe {
    let mut asked = record.each::<ModelRequested>();
    kept(record, asked.find(|(_, fact)| fact.unlogged)?.1.messages)
}

pub(super) fn forget_the_request(record: &Record<'_>) -> Maybe {
    let ((end, _), _) = end(record)?;
    let call = record.entry(end)?.call.as_deref();
    let mut appended = record.in_session::<TranscriptAppended>(end);
    let (at, _) = appended.find(|(_, fact)| {
        fact.messages.iter().any(|m| m.call.is_some() && m.call.as_deref() == call)
    })?;
    let mut opened = record.in_session::<SessionOpened>(end);
    if opened.any(|(place, _)| place > at) {
        return None;
    }
    let mut asked = record.in_session::<ModelRequested>(end);
    let (asked, _) = asked.find(|(place, fact)| *place > at && fact.unlogged)?;
    record.alter(asked, |fact: &mut ModelRequested| fact.unlogged = false)
}
