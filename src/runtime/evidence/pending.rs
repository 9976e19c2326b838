//! What is still to be recorded of a call when its end is. It is kept beside the journal before
//! that fact is written, and named by it: a process that ends in between loses nothing, and whoever
//! goes on records the rest exactly as it would have been.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Settled;
use crate::base::digest::Digest;
use crate::journal::event::call::{
    ArtifactPersisted, ReceiptIssued, ToolCallFinished, ToolResultValidated,
};
use crate::journal::{Journal, Outcome};
use crate::tool::id::ToolId;

/// The kind of an artifact that an undo restores.
pub const PRE_IMAGE: &str = "pre_image";

/// The kind of an artifact that shows what a call changed in a file.
pub const DIFF: &str = "diff";

/// Bytes that nearly every text of this kind fits in.
const ROOM: usize = 1024;

/// Everything that follows a call's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pending {
    /// What verification found.
    pub validated: ToolResultValidated,
    /// What is stored, without the number of the end's entry.
    pub artifacts: Vec<ArtifactPersisted>,
    /// Only for successes.
    pub receipt: Option<ReceiptIssued>,
    /// Deferred tools that the call found, and by which query.
    pub found: Vec<ToolId>,
    /// The query.
    pub query: Option<String>,
    /// The one outcome.
    pub outcome: Outcome,
    /// Blob of what the model is shown.
    pub shown: Digest,
    /// Whether the middle was cut.
    pub cut: bool,
}

/// Keeps everything of a settled call beside the journal, but for what is shown, whose name is
/// given. Returns the end, which names it, and what
/// is to follow.
pub fn keep(
    settled: Settled,
    (found, query): (Vec<ToolId>, Option<String>),
    (call, shown): (&str, Digest),
    journal: &mut Journal,
) -> (ToolCallFinished, Pending) {
    let fact = |artifact_id, kind: &str, content_hash, bytes| ArtifactPersisted {
        tool_call_id: Some(call.to_owned()),
        ..ArtifactPersisted::new(artifact_id, kind.to_owned(), content_hash, bytes)
    };
    let mut artifacts = Vec::new();
    if let Some(text) = settled.pre_image {
        let (bytes, hash) = (text.len() as u64, journal.put_blob(text));
        artifacts.push(fact(format!("art_{}", hash.short()), PRE_IMAGE, hash, bytes));
    }
    if let Some(text) = settled.diff {
        let (bytes, hash) = (text.len() as u64, journal.put_blob(text));
        artifacts.push(fact(format!("art_{}", hash.short()), DIFF, hash, bytes));
    }
    if let Some(text) = settled.artifact {
        let (bytes, hash) = (text.len() as u64, journal.put_blob(text));
        artifacts.push(fact(format!("art_{}", hash.short()), "tool_output", hash, bytes));
    }
    for one in settled.artifacts {
        let hash = journal.put_blob(Arc::clone(&one.text));
        artifacts.push(fact(one.id(), one.kind, hash, one.bytes));
    }
    let pending = Pending {
        validated: settled.validated,
        receipt: settled.receipt,
        found,
        query,
        outcome: settled.outcome,
        shown,
        cut: settled.cut,
        artifacts,
    };
    // Facts are plain data: writing them to memory cannot fail.
    let mut text = Vec::with_capacity(ROOM);
    let _in_memory = serde_json::to_writer(&mut text, &pending);
    let text = String::from_utf8(text).unwrap_or_default();
    let output = pending.artifacts.iter().find(|one| ![PRE_IMAGE, DIFF].contains(&&*one.kind));
    let artifact_id = output.map(|one| one.artifact_id.clone());
    let name = Some(journal.put_blob(text.into()));
    (ToolCallFinished { artifact_id, pending: name, ..settled.finished }, pending)
}
