//! The record as a whole: nothing is missing, everything has its owner, and what it says of an end
//! is what happened.

use std::collections::BTreeSet;

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use super::unlogged::is_unlogged;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;
use crate::journal::{Blobs, Event};

/// A, its result vector, in which every slot is filled: when a turn ends, for whatever reason, each
/// slot of each round that was opened in it is settled and, where a transcript is recorded,
/// appended. What never is belongs to `one-result-per-call`.
pub(super) fn closed_before_end(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let ends: Vec<Seen<'_, TurnFinished>> = index.each().collect();
    if ends.is_empty() {
        return;
    }
    let turns = index.turns();
    for round in index.rounds() {
        let after = ends.partition_point(|end| end.at <= round.at);
        let mut after = ends.iter().skip(after);
        let Some(end) = after.find(|end| turns.same(end.at, round.at)) else { continue };
        tally.checked();
        for id in round.calls {
            if let Some(message) = left_open(index, id, end.at) {
                tally.broken(Some(id), &[round.seq, end.seq()], message.into());
            }
        }
    }
}

fn left_open(index: &Index<'_>, id: &str, end: usize) -> Option<&'static str> {
    let call = index.call(id);
    if call.and_then(|call| call.before::<ToolCallSettled>(end)).is_none() {
        return Some("a slot was still open when its turn ended");
    }
    let message = call.and_then(|call| call.messages.first());
    let message = message.and_then(|place| index.transcript.get(*place));
    let appended = message.is_some_and(|message| message.at < end);
    (!appended && !index.transcript.is_empty())
        .then_some("a result was not appended when its turn ended")
}

/// A, its bounded results in the model's history: the message that answers a call holds the text
/// that its settling names, at the length it names, or says that it was not logged and is lost.
/// What the settling does not say is not judged.
pub(super) fn appended_as_settled(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        for message in call.messages.iter().filter_map(|place| index.transcript.get(*place)) {
            let Some(settled) = call.before::<ToolCallSettled>(message.at) else { continue };
            let (shown, chars) = (settled.fact.shown, settled.fact.shown_chars);
            if shown.is_none() && chars.is_none() {
                continue;
            }
            tally.checked();
            // Whoever resumed the session holds no result that was not to be logged.
            let lost = message.message.text == Blobs::name(UNLOGGED);
            if lost && is_unlogged(index, call.id) {
                continue;
            }
            let text = if shown.is_some_and(|shown| shown != message.message.text) {
                "a result was appended in another text than it was settled with"
            } else if chars.is_some_and(|chars| chars != message.message.chars as u64) {
                "a result was appended in another length than it was settled with"
            } else {
                continue;
            };
            tally.broken(Some(call.id), &[settled.seq(), message.entry.seq], text.into());
        }
    }
}

/// Whether an event is about one call, and how it says which.
#[derive(PartialEq, Eq)]
enum About {
    /// Its entry must name the call.
    Named,
    /// It is addressed to an approval, or names its call among its facts.
    Addressed,
    /// It need not be about a call.
    Else,
}

fn about(event: &Event) -> About {
    match event {
        Event::ToolCallRequested(_)
        | Event::HookRan(_)
        | Event::ToolCallRewritten(_)
        | Event::ToolArgsValidated(_)
        | Event::ToolPolicyChecked(_)
        | Event::ApprovalRequested(_)
        | Event::RepeatStopped(_)
        | Event::DuplicateDropped(_)
        | Event::CredentialBound(_)
        | Event::ToolSandboxPrepared(_)
        | Event::ToolCallStarted(_)
        | Event::AttemptFailed(_)
        | Event::ToolCallFinished(_)
        | Event::ToolResultValidated(_)
        | Event::ReceiptIssued(_)
        | Event::ToolCallSettled(_)
        | Event::TornDown(_)
        | Event::LateResultDropped(_)
        | Event::DelegateStarted(_)
        | Event::DelegateFinished(_) => About::Named,
        Event::ApprovalGranted(_)
        | Event::ApprovalDenied(_)
        | Event::ApprovalReplaced(_)
        | Event::ApprovalExpired(_)
        | Event::ApprovalUnreachable(_) => About::Addressed,
        _ => About::Else,
    }
}

/// A, its correlation id, shared by start and result: each fact about a call names it, each call
/// that is named was requested earlier in the session, and each finish follows a start of the same
/// call. Answers may be known by the request they are addressed to; where an artifact belongs is
/// `artifact-provenance`'s, and surfaces and activations may belong to no call.
pub(super) fn events_name_their_call(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for entry in &index.entries {
        if entry.call.is_none() && about(&entry.event) == About::Named {
            tally.checked();
            let message = format!("a {} names no call", entry.event.name());
            tally.broken(None, &[entry.seq], message);
        }
    }
    for call in &index.calls {
        let mut own = call.entries().filter(|(_, entry)| {
            about(&entry.event) != About::Else && entry.call.as_deref() == Some(call.id)
        });
        let Some((first, entry)) = own.next() else { continue };
        tally.checked();
        let request = call.first::<ToolCallRequested>();
        if request.is_none_or(|request| request.at > first) {
            let events = [Some(entry.seq), request.map(|request| request.seq())];
            let events: Vec<u64> = events.into_iter().flatten().collect();
            let message = "a fact names a call that nobody had requested yet";
            tally.broken(Some(call.id), &events, message.into());
        }
        let start = call.first::<ToolCallStarted>();
        let finish = call.first::<ToolCallFinished>();
        if let Some(finish) = finish.filter(|f| start.is_none_or(|start| start.at > f.at)) {
            let events = [Some(finish.seq()), start.map(|start| start.seq())];
            let events: Vec<u64> = events.into_iter().flatten().collect();
            let message = "a call finished before it had started";
            tally.broken(Some(call.id), &events, message.into());
        }
    }
}

/// A, its sequence of recorded steps, which is evidence only as a whole. Only a session whose ends
/// count its entries promises this: its numbers increase, each cause is the number of an earlier
/// entry, and each end counts the entries up to itself. A journal that ends inside a turn is
/// unknown.
pub(super) fn journal_whole(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if !index.each::<TurnFinished>().any(|end| end.fact.events.is_some()) {
        return;
    }
    let (mut last, mut open, mut seen) = (None, false, Numbers::default());
    for (count, entry) in (1_u64..).zip(&index.entries) {
        if let Some(last) = last.filter(|last| *last >= entry.seq) {
            let message = format!("an entry numbered {} follows number {last}", entry.seq);
            tally.broken(None, &[last, entry.seq], message);
        }
        if let Some(cause) = entry.cause.filter(|cause| !seen.contains(*cause)) {
            let message = format!("an entry was caused by number {cause}, which is not before it");
            tally.broken(None, &[entry.seq], message);
        }
        seen.insert(entry.seq);
        last = Some(entry.seq);
        match &entry.event {
            Event::TurnStarted(_) => open = true,
            Event::TurnFinished(end) => {
                open = false;
                counted(end, (count, entry.seq), tally);
            }
            _ => {}
        }
    }
    if open {
        tally.unknown(|| "the journal ends inside a turn, and nothing counts its entries".into());
    }
}

/// The numbers seen so far: a run without gaps, as all of them should be, and the others.
#[derive(Default)]
struct Numbers {
    run: Option<(u64, u64)>,
    others: BTreeSet<u64>,
}

impl Numbers {
    fn contains(&self, number: u64) -> bool {
        self.run.is_some_and(|(first, last)| (first..=last).contains(&number))
            || (!self.others.is_empty() && self.others.contains(&number))
    }

    fn insert(&mut self, number: u64) {
        match &mut self.run {
            None => self.run = Some((number, number)),
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            Some(_) => _ = self.others.insert(number),
        }
    }
}

fn counted(end: &TurnFinished, (count, seq): (u64, u64), tally: &mut Tally) {
    let Some(promised) = end.events else { return };
    tally.checked();
    if promised != count {
        let message = format!("a turn's end counts {promised} entries where there are {count}");
        tally.broken(None, &[seq], message);
    }
}

/// A, its results of success, output and error: what finished with a success and passed
/// verification is settled as succeeded; what failed, reported an error or did not pass is settled
/// as failed; and what finished is never settled as interrupted. What its text says counts for
/// nothing, and a partial finish may be settled as either. A success that is settled as failed
/// where no verification is recorded is unknown.
pub(super) fn truth_of_finish(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        let settled = call.first::<ToolCallSettled>();
        let Some(settled) = settled.filter(|seen| seen.fact.outcome.started()) else { continue };
        let finish = call.before::<ToolCallFinished>(settled.at);
        let verified = call.before::<ToolResultValidated>(settled.at);
        match told(finish, verified, &settled.fact.outcome) {
            Told::Nothing => {}
            Told::Truth => tally.checked(),
            Told::Unclear => {
                let id = call.id;
                tally.unknown(|| format!("{id} finished well and failed, and nothing says why"));
            }
            Told::Untruth(message) => {
                tally.checked();
                let shown = [finish.map(|seen| seen.seq()), verified.map(|seen| seen.seq())];
                let events: Vec<u64> = shown.into_iter().flatten().chain([settled.seq()]).collect();
                tally.broken(Some(call.id), &events, message.into());
            }
        }
    }
}

enum Told {
    Nothing,
    Truth,
    Unclear,
    Untruth(&'static str),
}

fn told(
    finish: Option<Seen<'_, ToolCallFinished>>,
    verified: Option<Seen<'_, ToolResultValidated>>,
    outcome: &Outcome,
) -> Told {
    let check = verified.map_or("", |seen| seen.fact.status.as_str());
    // Effects that nobody declared fail a call whatever the status says.
    let undeclared = verified.is_some_and(|seen| !seen.fact.undeclared.is_empty());
    let status = match finish.map(|seen| seen.fact) {
        Some(fact) if fact.status == "success" && fact.fault.is_some() => "failed",
        Some(fact) => fact.status.as_str(),
        None => "",
    };
    match (status, outcome) {
        (_, Outcome::Succeeded) if check == "failed" => {
            Told::Untruth("a call succeeded although its result failed verification")
        }
        ("failed" | "cancelled", Outcome::Succeeded) => {
            Told::Untruth("a call that finished with a failure was settled as succeeded")
        }
        ("success" | "failed" | "partial", Outcome::Interrupted) => {
            Told::Untruth("a call that had finished was settled as interrupted")
        }
        ("success", Outcome::Failed { .. }) if check == "passed" && !undeclared => {
            Told::Untruth("a call that finished well and passed was settled as failed")
        }
        ("success", Outcome::Failed { .. }) if check != "failed" && !undeclared => Told::Unclear,
        ("success", Outcome::Succeeded | Outcome::Failed { .. })
        | ("failed", Outcome::Failed { .. }) => Told::Truth,
        _ => Told::Nothing,
    }
}

/// B, its order in which state follows the returned result: a patch is an object, and one that
/// belongs to a call comes after that call was settled as one that ran. Where the session settles
/// nothing at all, when it came is unknown.
pub(super) fn state_from_settled(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let settles = index.has::<ToolCallSettled>();
    for patch in index.each::<StateUpdated>() {
        let call = patch.entry.call.as_deref().and_then(|id| index.call(id));
        let message = if !patch.fact.patch.is_object() {
            Some("a state was changed by something that is no patch")
        } else if let Some(call) = call {
            if !settles {
                let id = call.id;
                tally.unknown(|| format!("{id} changed the state, and no call is settled at all"));
                continue;
            }
            from_open(call, patch.at)
        } else {
            None
        };
        tally.checked();
        if let Some(message) = message {
            let settled = call.and_then(|call| call.first::<ToolCallSettled>());
            let settled = settled.map(|settled| settled.seq());
            let events: Vec<u64> = [patch.seq()].into_iter().chain(settled).collect();
            tally.broken(call.map(|call| call.id), &events, message.into());
        }
    }
}

fn from_open(call: &Call<'_>, at: usize) -> Option<&'static str> {
    match call.before::<ToolCallSettled>(at) {
        None => Some("a state was changed by a call that had not been settled yet"),
        Some(settled) if !settled.fact.outcome.started() => {
            Some("a state was changed by a call that never ran")
        }
        Some(_) => None,
    }
}
