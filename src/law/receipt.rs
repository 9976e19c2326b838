//! Receipts: for successes only, one each, for what really ran.

use super::index::{Call, Seen};
use super::law::{Scene, Tally};
use crate::journal::event::call::*;
use crate::journal::outcome::Outcome;
use crate::journal::receipt::{Scope, verify};

/// A, "receipts: issued after success and before the result is appended": a receipt belongs to a
/// call that settles as succeeded, comes after its finish and before its message, is the only
/// one, and speaks of the arguments and the result recorded; where the session promises receipts,
/// each success has one. With the key the code itself is verified; without it that part is not
/// counted, and the verdict is unknown only when nothing else could be checked.
pub(super) fn receipt_only_on_success(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let promised = index.opened.is_some_and(|opened| opened.receipts);
    let mut unjudged = None;
    for call in &index.calls {
        let settled = call.first::<ToolCallSettled>();
        let mut receipts = call.each::<ReceiptIssued>();
        let first = receipts.next();
        let (Some(receipt), Some(settled)) = (first, settled) else {
            match (first, settled) {
                (Some(_), None) => unjudged = unjudged.or(Some(call.id)),
                (None, Some(settled)) if promised => unreceipted(call, settled, tally),
                _ => {}
            }
            if let Some(receipt) = first {
                verified(scene, call, receipt, tally);
            }
            continue;
        };
        tally.checked();
        if let Some(again) = receipts.next() {
            let message = "a call has more than one receipt".into();
            tally.broken(Some(call.id), &[receipt.seq(), again.seq()], message);
        }
        if let Some((seq, message)) = misplaced(scene, call, (receipt, settled)) {
            tally.broken(Some(call.id), &[receipt.seq(), seq], message);
        }
        verified(scene, call, receipt, tally);
    }
    if let (Some(call), 0) = (unjudged, tally.count()) {
        tally.unknown(|| format!("{call} has a receipt, no end and no key to verify it with"));
    }
}

fn unreceipted(call: &Call<'_>, settled: Seen<'_, ToolCallSettled>, tally: &mut Tally) {
    if !settled.fact.outcome.started() {
        return;
    }
    tally.checked();
    if settled.fact.outcome == Outcome::Succeeded {
        let message = "a call succeeded without the receipt that the session promises".into();
        tally.broken(Some(call.id), &[settled.seq()], message);
    }
}

fn misplaced(
    scene: &Scene<'_>,
    call: &Call<'_>,
    (receipt, settled): (Seen<'_, ReceiptIssued>, Seen<'_, ToolCallSettled>),
) -> Option<(u64, String)> {
    if settled.fact.outcome != Outcome::Succeeded {
        let name = settled.fact.outcome.name();
        return Some((settled.seq(), format!("a call that ended as {name} has a receipt")));
    }
    let start = call.before::<ToolCallStarted>(receipt.at);
    let finish = call.first::<ToolCallFinished>();
    let message = call.messages.first().and_then(|place| scene.index.transcript.get(*place));
    if let Some(message) = message.filter(|message| message.at < receipt.at) {
        return Some((message.entry.seq, "a receipt came after its result was appended".into()));
    }
    let finish = finish?;
    if finish.at > receipt.at {
        return Some((finish.seq(), "a receipt came before its call had finished".into()));
    }
    if finish.fact.result_digest.is_some_and(|digest| digest != receipt.fact.result_digest) {
        return Some((finish.seq(), "a receipt is for another result".into()));
    }
    let start = start?;
    let other = start.fact.args_digest.is_some_and(|digest| digest != receipt.fact.args_digest);
    other.then(|| (start.seq(), "a receipt is for other arguments".into()))
}

fn verified(
    scene: &Scene<'_>,
    call: &Call<'_>,
    receipt: Seen<'_, ReceiptIssued>,
    tally: &mut Tally,
) {
    let Some(key) = scene.key else { return };
    tally.checked();
    let entry = receipt.entry;
    let turn = entry.turn.as_deref().unwrap_or_default();
    let scope = Scope { session: &entry.session, turn, call: call.id };
    if !verify(key, scope, receipt.fact) {
        let message = "a receipt does not verify under the key".into();
        tally.broken(Some(call.id), &[receipt.seq()], message);
    }
}
