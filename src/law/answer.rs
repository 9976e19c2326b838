//! Answers to approval requests: who gave them, to which request, and what becomes of none.

use std::collections::BTreeMap;

use super::index::Call;
use super::law::{Scene, Tally};
use super::outcome::denier;
use crate::base::world::Millis;
use crate::journal::event::call::*;
use crate::journal::event::catalog::GrantUsed;
use crate::journal::event::turn::SessionOpened;
use crate::journal::outcome::{Denier, Outcome};
use crate::journal::{Entry, Event};

/// What was said last about an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Asked,
    Yes,
    No,
    Edited,
    Expired,
    Unreachable,
}

impl Word {
    /// Whether nobody answered.
    pub(super) fn unanswered(self) -> bool {
        match self {
            Self::Asked | Self::Expired | Self::Unreachable => true,
            Self::Yes | Self::No | Self::Edited => false,
        }
    }

    /// Whether it is the end of a question that was not granted.
    pub(super) fn refuses(self) -> bool {
        match self {
            Self::No | Self::Expired | Self::Unreachable => true,
            Self::Asked | Self::Yes | Self::Edited => false,
        }
    }
}

/// The word of an event about an approval.
pub(super) fn word(event: &Event) -> Option<Word> {
    Some(match event {
        Event::ApprovalRequested(_) => Word::Asked,
        Event::ApprovalGranted(_) => Word::Yes,
        Event::ApprovalDenied(_) => Word::No,
        Event::ApprovalReplaced(_) => Word::Edited,
        Event::ApprovalExpired(_) => Word::Expired,
        Event::ApprovalUnreachable(_) => Word::Unreachable,
        _ => return None,
    })
}

/// The last word about a call's approval before a place, with its entry's number.
pub(super) fn last_word(call: &Call<'_>, before: usize) -> Option<(u64, Word)> {
    let mut entries = call.entries().rev().filter(|(at, _)| *at < before);
    entries.find_map(|(_, entry)| word(&entry.event).map(|word| (entry.seq, word)))
}

/// A, "a non-interactive run denies what needs a person, and never approves it silently": where
/// nobody approves, no approval is granted, and what needed a person and rests on no grant ends
/// as denied for lack of an approver. That nothing starts after an unreachable approver is for
/// `denied-never-runs`, that such a call ends as just that for `timeout-is-no-refusal`.
pub(super) fn noninteractive_refuses(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    // A session that goes on may find somebody there.
    let mut openings = index.each::<SessionOpened>();
    let nobody = openings.all(|seen| seen.fact.approver.as_deref() == Some("none"));
    if !nobody || index.opened.is_none() {
        return;
    }
    for granted in index.each::<ApprovalGranted>() {
        let asked = index.asked_by(&granted.fact.approval_id).map(|call| call.id);
        let message = "an approval was granted where nobody approves".into();
        tally.checked();
        tally.broken(granted.entry.call.as_deref().or(asked), &[granted.seq()], message);
    }
    for call in &index.calls {
        let policy = call.last::<ToolPolicyChecked>();
        let asks =
            policy.filter(|seen| matches!(seen.fact.decision.as_str(), "ask" | "strong_ask"));
        let (Some(policy), Some(settled)) = (asks, call.first::<ToolCallSettled>()) else {
            continue;
        };
        if call.first::<GrantUsed>().is_some() {
            continue;
        }
        tally.checked();
        let spoken = last_word(call, settled.at).map(|(_, word)| word);
        let personal = match &settled.fact.outcome {
            Outcome::Denied { by, .. } => {
                matches!(by, Denier::Operator | Denier::ApprovalTimeout | Denier::ApprovalExpired)
            }
            outcome => *outcome == Outcome::Replaced,
        };
        let other = matches!(spoken, Some(Word::Yes | Word::Expired | Word::Unreachable));
        if personal && !other {
            let message = "a call ended as if somebody had been asked where nobody approves";
            tally.broken(Some(call.id), &[policy.seq(), settled.seq()], message.into());
        }
    }
}

/// A, "an audit entry records the decision and the channel that decided it", and a timeout is
/// recorded as a timeout and not as a person's no: a request that ran out ends as such, one that
/// reached nobody for lack of an approver, one without any answer never as a person's or policy's
/// word; and each decision names who made it and by which channel.
pub(super) fn timeout_is_no_refusal(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for (_, entry) in call.entries() {
            signed(call, entry, tally);
        }
        let Some(settled) = call.first::<ToolCallSettled>() else { continue };
        let Outcome::Denied { by, .. } = settled.fact.outcome else { continue };
        let Some((seq, word)) = last_word(call, settled.at) else { continue };
        let (fits, what) = match word {
            Word::Asked => {
                (!matches!(by, Denier::Operator | Denier::Policy), "whose request has no answer")
            }
            Word::Expired => (
                matches!(by, Denier::ApprovalTimeout | Denier::ApprovalExpired),
                "whose request ran out",
            ),
            Word::Unreachable => (by == Denier::NoApprover, "whose request reached nobody"),
            Word::Yes | Word::No | Word::Edited => continue,
        };
        tally.checked();
        if !fits {
            let message = format!("a call {what} ended as denied by {}", denier(by));
            tally.broken(Some(call.id), &[seq, settled.seq()], message);
        }
    }
}

fn signed(call: &Call<'_>, entry: &Entry, tally: &mut Tally) {
    let (decider, channel) = match &entry.event {
        Event::ApprovalGranted(fact) => (Some(&fact.decider), &fact.channel),
        Event::ApprovalDenied(fact) => (Some(&fact.decider), &fact.channel),
        Event::ApprovalReplaced(fact) => (Some(&fact.decider), &fact.channel),
        Event::ApprovalUnreachable(fact) => (None, &fact.channel),
        _ => return,
    };
    tally.checked();
    let lack = match (decider.is_some_and(|name| name.trim().is_empty()), channel.trim()) {
        (true, _) => "who made it",
        (false, "") => "its channel",
        (false, _) => return,
    };
    tally.broken(Some(call.id), &[entry.seq], format!("a decision does not name {lack}"));
}

/// A request and what became of it.
#[derive(Clone, Copy)]
struct Asked<'a> {
    call: Option<&'a str>,
    seq: u64,
    /// After this no answer counts.
    end: Option<Millis>,
    answered: Option<u64>,
}

/// A, "approval reaches a real operator and binds one request": an answer names a request that was
/// made, of the same call, that has no other answer yet and whose call has not ended; and no two
/// calls share a request. A yes to no request, to another call's, or out of time is for
/// `approval-binds`. That an answer came late is a fact and answers nothing.
pub(super) fn answers_addressed(scene: &mut Scene<'_>, tally: &mut Tally) {
    if !scene.index.entries.iter().any(|entry| word(&entry.event).is_some()) {
        return;
    }
    let mut requests: BTreeMap<&str, Asked<'_>> = BTreeMap::new();
    let mut ended: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &scene.index.entries {
        let call = entry.call.as_deref();
        match &entry.event {
            Event::ApprovalRequested(fact) => {
                let (seq, end) = (entry.seq, fact.expires_at);
                let asked = Asked { call, seq, end, answered: None };
                let known = requests.insert(&fact.approval_id, asked);
                if let Some(known) = known.filter(|known| known.call != call) {
                    tally.checked();
                    let message = "two calls share one approval request".into();
                    tally.broken(call, &[known.seq, entry.seq], message);
                }
            }
            Event::ToolCallSettled(_) => {
                if let Some(call) = call {
                    ended.entry(call).or_insert(entry.seq);
                }
            }
            event => {
                let Some((id, late)) = answer(event) else { continue };
                let yes = matches!(event, Event::ApprovalGranted(_));
                answered((entry, id, late, yes), &mut requests, &ended, tally);
            }
        }
    }
}

/// The request that an event answers, and whether it only says that an answer came late.
fn answer(event: &Event) -> Option<(&str, bool)> {
    Some(match event {
        Event::ApprovalGranted(fact) => (&fact.approval_id, false),
        Event::ApprovalDenied(fact) => (&fact.approval_id, false),
        Event::ApprovalReplaced(fact) => (&fact.approval_id, false),
        Event::ApprovalExpired(fact) => (&fact.approval_id, fact.late_answer),
        Event::ApprovalUnreachable(fact) => (&fact.approval_id, false),
        _ => return None,
    })
}

fn answered<'a>(
    (entry, id, late, yes): (&'a Entry, &'a str, bool, bool),
    requests: &mut BTreeMap<&'a str, Asked<'a>>,
    ended: &BTreeMap<&'a str, u64>,
    tally: &mut Tally,
) {
    let own = entry.call.as_deref();
    let Some(asked) = requests.get_mut(id) else {
        if !yes {
            tally.checked();
            let message = "an answer names a request that was never made".into();
            tally.broken(own, &[entry.seq], message);
        }
        return;
    };
    let call = own.or(asked.call);
    if own.is_some() && asked.call.is_some() && own != asked.call {
        if !yes {
            tally.checked();
            let message = "an answer to one call was recorded for another".into();
            tally.broken(call, &[asked.seq, entry.seq], message);
        }
        return;
    }
    tally.checked();
    let end = call.and_then(|call| ended.get(call)).copied();
    let replaces = matches!(entry.event, Event::ApprovalReplaced(_));
    let closed = match (asked.answered, end) {
        _ if late => None,
        (None, None) if replaces && asked.end.is_some_and(|end| entry.at > end) => {
            Some((asked.seq, "a replacement came after its request had expired"))
        }
        (Some(first), _) => Some((first, "a request was answered twice")),
        (None, Some(end)) => Some((end, "an answer came after its call had ended")),
        (None, None) => None,
    };
    if let Some((first, message)) = closed {
        let mut events = vec![asked.seq, first, entry.seq];
        events.dedup();
        tally.broken(call, &events, message.into());
    }
    asked.answered = asked.answered.or(Some(entry.seq));
}
