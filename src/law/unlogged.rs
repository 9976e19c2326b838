//! What is not to be logged is not beside the journal.

use std::collections::BTreeSet;

use super::index::Index;
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::{Blobs, Event};

/// Whether the result of a call is not to be logged.
pub(super) fn is_unlogged(index: &Index<'_>, call: &str) -> bool {
    let finish = index.call(call).and_then(|call| call.last::<ToolCallFinished>());
    finish.is_some_and(|seen| seen.fact.unlogged)
}

/// B, `observability`: where results are not logged, the record keeps digests, sizes and decisions.
/// Of such a call no text of the result is beside the journal: neither what is shown of it, unless
/// another fact names the same text, nor an artifact, nor the words of its fault. A request that
/// says that its messages are not kept has none beside the journal; and one that holds such a
/// result says so. Whoever resumes the session does not hold the result any more.
pub(super) fn unlogged_not_kept(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let mut finishes = index.each::<ToolCallFinished>();
    if !finishes.any(|seen| seen.fact.unlogged)
        && !index.each::<ModelRequested>().any(|seen| seen.fact.unlogged)
    {
        return;
    }
    let named = named_elsewhere(index);
    let mut first = usize::MAX;
    for call in &index.calls {
        let finish = call.last::<ToolCallFinished>();
        let Some(finish) = finish.filter(|seen| seen.fact.unlogged) else { continue };
        let held = call.messages.iter().filter_map(|place| index.transcript.get(*place));
        let held = held.filter(|message| message.message.text != Blobs::name(UNLOGGED));
        first = held.map(|message| message.at).fold(first, usize::min);
        tally.checked();
        let kept = |name: &Digest| scene.blobs.get(name).is_some() && !named.contains(name);
        if let Some(settled) = call.last::<ToolCallSettled>()
            && settled.fact.shown.as_ref().is_some_and(kept)
        {
            let message = "what is shown of a result that is not to be logged is kept".into();
            tally.broken(Some(call.id), &[finish.seq(), settled.seq()], message);
        }
        let stored = call.each::<ArtifactPersisted>();
        for stored in stored.filter(|seen| seen.fact.kind != "pre_image") {
            let message = "a result that is not to be logged is stored".into();
            tally.broken(Some(call.id), &[finish.seq(), stored.seq()], message);
        }
        let worded = finish.fact.fault.as_ref().is_some_and(|it| it.message != UNLOGGED_FAULT);
        if worded {
            let message = "the fault of a result that is not to be logged has words".into();
            tally.broken(Some(call.id), &[finish.seq()], message);
        }
    }
    for asked in index.each::<ModelRequested>() {
        let mut reopened = index.each::<SessionOpened>();
        let holds = first < asked.at && !reopened.any(|o| first < o.at && o.at < asked.at);
        if holds || asked.fact.unlogged {
            tally.checked();
        }
        let message = if holds && !asked.fact.unlogged {
            "a request does not say that it holds what is not to be logged"
        } else if asked.fact.unlogged
            && scene.blobs.get(&asked.fact.messages).is_some()
            && !named.contains(&asked.fact.messages)
        {
            "the messages of a request that are not to be logged are kept"
        } else {
            continue;
        };
        tally.broken(None, &[asked.seq()], message.into());
    }
}

/// Texts that facts name which may be logged.
fn named_elsewhere(index: &Index<'_>) -> BTreeSet<Digest> {
    let mut named = BTreeSet::new();
    for entry in &index.entries {
        match &entry.event {
            Event::ToolCallSettled(fact) => {
                let quiet = entry.call.as_deref().is_some_and(|call| is_unlogged(index, call));
                named.extend(fact.shown.filter(|_| !quiet));
            }
            Event::TranscriptAppended(fact) => {
                let logged = fact.messages.iter().filter(|message| {
                    !message.call.as_deref().is_some_and(|call| is_unlogged(index, call))
                });
                named.extend(logged.map(|message| message.text));
            }
            Event::ArtifactPersisted(fact) => _ = named.insert(fact.content_hash),
            Event::ApprovalReplaced(fact) => named.extend(fact.text),
            Event::ModelReplied(fact) => named.extend(fact.raw),
            Event::ModelRequested(fact) => {
                named.insert(fact.tools);
                named.extend(Some(fact.messages).filter(|_| !fact.unlogged));
            }
            _ => {}
        }
    }
    named.insert(Blobs::name(UNLOGGED));
    named
}
