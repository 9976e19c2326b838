//! The same call again: duplicates within the guard's scope, and questions asked twice.

use std::collections::BTreeMap;

use super::answer::{Word, last_word};
use super::index::{Call, Index, Seen, until};
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::catalog::GrantUsed;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;
use crate::tool::effect::EffectClass;

/// What tells calls apart: the resolved tool and the digest of its final arguments.
type Key<'a> = (&'a str, Digest);

/// A call whose key the journal records.
#[derive(Clone, Copy)]
struct Told<'s, 'a> {
    call: &'s Call<'a>,
    key: Key<'a>,
    /// Where it was proposed.
    made: usize,
    /// Where its arguments were validated.
    at: usize,
}

fn told<'s, 'a>(call: &'s Call<'a>) -> Option<Told<'s, 'a>> {
    let validated = call.last::<ToolArgsValidated>().filter(|seen| seen.fact.status == "passed")?;
    let key = (validated.fact.tool_id.as_ref()?.as_str(), validated.fact.args_digest?);
    Some(Told { call, key, made: call.begins()?.0, at: validated.at })
}

/// Which turn and which reply a call belongs to.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    turns: Vec<Seen<'a, TurnStarted>>,
    batches: BTreeMap<&'a str, usize>,
    replies: Vec<usize>,
}

impl<'a> Scopes<'a> {
    pub(super) fn of(index: &Index<'a>) -> Self {
        let mut batches = BTreeMap::new();
        for batch in index.each::<BatchOpened>() {
            batches.extend(batch.fact.slots.iter().map(|slot| (slot.as_str(), batch.at)));
        }
        let replies = index.each::<ModelReplied>().map(|seen| seen.at).collect();
        Self { turns: index.each().collect(), batches, replies }
    }

    /// The start of a call's turn.
    pub(super) fn turn(&self, call: &Call<'a>) -> Option<Seen<'a, TurnStarted>> {
        until(&self.turns, call.begins()?.0).last().copied()
    }

    /// A call's reply: the place of its batch, else of the last reply before it.
    pub(super) fn reply(&self, call: &Call<'a>) -> Option<usize> {
        let place = || {
            let begins = call.begins()?.0;
            let earlier = self.replies.partition_point(|place| *place < begins);
            self.replies.get(earlier.checked_sub(1)?).copied()
        };
        self.batches.get(call.id).copied().or_else(place)
    }

    /// Whether the guard of a call's turn is on, and the place of its scope.
    fn guarded(&self, call: &Call<'a>) -> Option<(usize, &'a TurnStarted)> {
        let turn = self.turn(call)?;
        let place = match turn.fact.duplicate_scope.as_deref()? {
            "reply" => self.reply(call)?,
            "turn" => turn.at,
            _ => return None,
        };
        Some((place, turn.fact))
    }
}

fn exempt(turn: &TurnStarted, tool: &str) -> bool {
    turn.duplicate_exempt.iter().any(|id| id.as_str() == tool)
}

/// A, "the duplicate guard drops repeated identical calls unless the tool is exempt": within the
/// guard's scope (one reply, or the turn) two calls of one tool with the same canonical arguments
/// do not both start, but where a write of another call ran, or was still to run, in between. A
/// turn that names no scope has no guard and is not judged.
pub(super) fn duplicates_dropped(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if index.calls.len() < 2 {
        return;
    }
    let scopes = index.scopes();
    let guarded = |call| {
        let ((place, turn), told) = scopes.guarded(call).zip(told(call))?;
        Some((place, turn, told))
    };
    let mut same: Vec<(usize, &TurnStarted, Told<'_, '_>)> =
        index.calls.iter().filter_map(guarded).collect();
    same.sort_by_key(|(place, _, told)| (*place, told.key));
    for calls in same.chunk_by(|(one, _, a), (other, _, b)| (one, a.key) == (other, b.key)) {
        for (_, turn, call) in calls.iter().skip(1) {
            let (tool, _) = call.key;
            tally.checked();
            if !exempt(turn, tool) && !delegates(index, call.call, tool) {
                started_again(index, calls, *call, tally);
            }
        }
    }
}

/// A subagent's task is not told by its arguments alone.
fn delegates(index: &Index<'_>, call: &Call<'_>, tool: &str) -> bool {
    index.view_of(call).is_some_and(|view| {
        let mut shown = view.fact.exposed.iter().filter(|shown| shown.tool_id.as_str() == tool);
        shown.any(|shown| shown.source.as_deref() == Some("subagent"))
    })
}

fn started_again<'a>(
    index: &Index<'a>,
    calls: &[(usize, &TurnStarted, Told<'_, 'a>)],
    second: Told<'_, 'a>,
    tally: &mut Tally,
) {
    let Some(again) = second.call.first::<ToolCallStarted>() else { return };
    let started = calls.iter().filter_map(|(_, _, first)| {
        let start = first.call.first::<ToolCallStarted>()?;
        (start.at < again.at).then_some((start, *first))
    });
    let Some((start, first)) = started.max_by_key(|(start, _)| start.at) else { return };
    let mut unclear = None;
    for other in &index.calls {
        if other.id == first.call.id || other.id == second.call.id {
            continue;
        }
        let ran = other.first::<ToolCallStarted>().is_some_and(|seen| seen.at < again.at)
            && ended(other) > start.at;
        if !ran && !planned(other, first, second) {
            continue;
        }
        match writes(other) {
            Some(true) => return,
            Some(false) => {}
            None => unclear = Some(other.id),
        }
    }
    if let Some(other) = unclear {
        return tally.unknown(|| format!("whether {other} wrote anything is not recorded"));
    }
    let message = "the same call started again in the scope of the duplicate guard".into();
    tally.broken(Some(second.call.id), &[start.seq(), again.seq()], message);
}

/// Where a call ended, or past everything.
fn ended(call: &Call<'_>) -> usize {
    let finished = call.first::<ToolCallFinished>().map(|seen| seen.at);
    finished.or(call.first::<ToolCallSettled>().map(|seen| seen.at)).unwrap_or(usize::MAX)
}

/// Whether a call stands between two others in the model's order and had not ended when the second
/// was prepared.
fn planned(call: &Call<'_>, first: Told<'_, '_>, second: Told<'_, '_>) -> bool {
    between(call, first, second)
        && call.first::<ToolCallSettled>().is_none_or(|settled| settled.at > second.at)
}

fn between(call: &Call<'_>, first: Told<'_, '_>, second: Told<'_, '_>) -> bool {
    call.begins().is_some_and(|(at, _)| first.made < at && at < second.made)
}

/// Whether a call writes, by what its start declares or by its effect class; `None` when neither
/// is recorded.
fn writes(call: &Call<'_>) -> Option<bool> {
    let start = call.last::<ToolCallStarted>();
    if start.is_some_and(|start| !start.fact.writes.is_empty()) {
        return Some(true);
    }
    let judged = call.last::<ToolPolicyChecked>().and_then(|seen| seen.fact.effect_class);
    let class = start.and_then(|start| start.fact.effect_class).max(judged);
    class.map(|class| class > EffectClass::Read)
}

/// A, "a duplicate names the earlier call", and a legitimate repeat is not suppressed: what ends as
/// a duplicate names, in both facts alike, an earlier call of the guard's scope with the same tool
/// and arguments, which had not ended without starting; the tool is not exempt, and before a read
/// no write succeeded in between. Of a question that a person has to answer, the second in one
/// reply is always a duplicate.
pub(super) fn duplicate_is_real(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let scopes = index.scopes();
    for call in &index.calls {
        let dropped = call.first::<DuplicateDropped>();
        let settled = call.first::<ToolCallSettled>();
        let ended = settled.and_then(|settled| match &settled.fact.outcome {
            Outcome::Duplicate { of } => Some((settled, of.as_str())),
            _ => None,
        });
        let (at, seq, of) = match (dropped, ended) {
            (Some(dropped), Some((settled, of))) if dropped.fact.of != of => {
                tally.checked();
                let message = "a duplicate names two earlier calls".into();
                tally.broken(Some(call.id), &[dropped.seq(), settled.seq()], message);
                continue;
            }
            (Some(dropped), _) => (dropped.at, dropped.seq(), dropped.fact.of.as_str()),
            (None, Some((settled, of))) => (settled.at, settled.seq(), of),
            (None, None) => continue,
        };
        match unreal(index, scopes, call, (at, of)) {
            Ok(fault) => {
                tally.checked();
                if let Some((other, message)) = fault {
                    let events: Vec<u64> = other.into_iter().chain([seq]).collect();
                    tally.broken(Some(call.id), &events, message.into());
                }
            }
            Err(Unrecorded) => {
                tally.unknown(|| format!("what {} and {of} were is not recorded", call.id));
            }
        }
    }
}

/// The journal does not say what two calls were.
struct Unrecorded;

type Fault = (Option<u64>, &'static str);

fn unreal<'a>(
    index: &Index<'a>,
    scopes: &Scopes<'a>,
    call: &Call<'a>,
    (at, of): (usize, &str),
) -> Result<Option<Fault>, Unrecorded> {
    let begins = |call: &Call<'a>| call.begins().map(|(place, _)| place);
    let earlier = index.call(of).filter(|earlier| {
        earlier.first::<ToolCallRequested>().is_some() && begins(earlier) < begins(call)
    });
    let Some(earlier) = earlier else {
        return Ok(Some((None, "a duplicate names no earlier call")));
    };
    let first_seq = earlier.begins().map(|(_, entry)| entry.seq);
    let turn = scopes.turn(call);
    let own = call.first::<DuplicateDropped>().and_then(|seen| seen.fact.scope.as_deref());
    let scope = own.or(turn.and_then(|turn| turn.fact.duplicate_scope.as_deref()));
    let one_reply = scopes.reply(earlier) == scopes.reply(call);
    let inside = match scope {
        Some("reply") => one_reply,
        Some("turn") => scopes.turn(earlier).map(|turn| turn.at) == turn.map(|turn| turn.at),
        _ => true,
    };
    if !inside {
        return Ok(Some((first_seq, "a duplicate names a call outside the guard's scope")));
    }
    let (Some(first), Some(second)) = (told(earlier), told(call)) else { return Err(Unrecorded) };
    if first.key != second.key {
        return Ok(Some((first_seq, "a duplicate is another call than the one it names")));
    }
    if one_reply && asks(call) {
        return Ok(None);
    }
    let refused = earlier.first::<ToolCallSettled>();
    if let Some(settled) = refused.filter(|seen| seen.at < at && !seen.fact.outcome.started()) {
        return Ok(Some((Some(settled.seq()), "a duplicate names a call that never started")));
    }
    if turn.is_some_and(|turn| exempt(turn.fact, second.key.0)) {
        return Ok(Some((first_seq, "a call of an exempt tool was dropped as a duplicate")));
    }
    // What a repeated write would write stands; only what a repeated read would find is new.
    if writes(call) == Some(true) {
        return Ok(None);
    }
    let wrote = index.calls.iter().find_map(|other| {
        let named = other.id == call.id || other.id == earlier.id;
        (!named).then(|| wrote(other, first, second, at))?
    });
    Ok(wrote.map(|seq| (Some(seq), "a repeated read was dropped although a write came in between")))
}

/// The end of a write that succeeded between two calls: after the first began to run and before
/// the second was dropped, or between them in the model's order.
fn wrote(other: &Call<'_>, first: Told<'_, '_>, second: Told<'_, '_>, at: usize) -> Option<u64> {
    let finished = other.first::<ToolCallFinished>()?;
    let start = other.first::<ToolCallStarted>()?;
    if finished.fact.status != "success" || writes(other) != Some(true) {
        return None;
    }
    let since = first.call.first::<ToolCallStarted>().map_or(first.at, |start| start.at);
    let within = since < finished.at && finished.at < at;
    (within || (between(other, first, second) && start.at < finished.at)).then(|| finished.seq())
}

/// Whether a call needs a person's word.
fn asks(call: &Call<'_>) -> bool {
    let policy = call.last::<ToolPolicyChecked>().map(|seen| seen.fact.decision.as_str());
    matches!(policy, Some("ask" | "strong_ask")) || call.first::<ApprovalRequested>().is_some()
}

/// A, "a prompt-required call that is repeated before it was approved stops the loop instead of
/// asking again and again": within one reply the same question is asked once; in a later reply of
/// the turn it is stopped as a repeat, neither asked nor run, when its last answer did not grant
/// it; and only such a call is stopped. A grant, and a turn that was cancelled, leave nothing to
/// ask. After a yes a new question is fine.
pub(super) fn prompt_not_repeated(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    if !index.has::<ApprovalRequested>() && !index.has::<RepeatStopped>() {
        return;
    }
    let scopes = index.scopes();
    let mut same: BTreeMap<(Option<usize>, Key<'_>), Vec<Told<'_, '_>>> = BTreeMap::new();
    for call in &index.calls {
        let Some(told) = told(call).filter(|told| asks(told.call)) else { continue };
        let turn = scopes.turn(call).map(|turn| turn.at);
        let earlier = same.entry((turn, told.key)).or_default();
        asked_again(scopes, earlier, told, tally);
        earlier.push(told);
    }
    for call in &index.calls {
        for stopped in call.each::<RepeatStopped>() {
            stopped_as_repeat(index, scopes, (call, stopped), tally);
        }
    }
}

fn asked_again<'a>(
    scopes: &Scopes<'a>,
    earlier: &[Told<'_, 'a>],
    told: Told<'_, 'a>,
    tally: &mut Tally,
) {
    let reply = scopes.reply(told.call);
    let ask = told.call.first::<ApprovalRequested>();
    let questions = earlier.iter().rev().filter_map(|first| {
        let asked = first.call.first::<ApprovalRequested>()?;
        Some((first, asked, scopes.reply(first.call) == reply))
    });
    let Some((first, asked, one_reply)) = questions.into_iter().next() else { return };
    tally.checked();
    if one_reply {
        if let Some(ask) = ask {
            let message = "the same question was asked twice in one reply".into();
            tally.broken(Some(told.call.id), &[asked.seq(), ask.seq()], message);
        }
        return;
    }
    let Some((refusal, word)) = last_word(first.call, told.at) else { return };
    if !word.refuses() || told.call.first::<GrantUsed>().is_some() {
        return;
    }
    if let Some(ask) = ask {
        let message = "a question was asked again in a turn that did not grant it".into();
        return tally.broken(Some(told.call.id), &[refusal, ask.seq()], message);
    }
    let settled = told.call.first::<ToolCallSettled>();
    let start = told.call.first::<ToolCallStarted>();
    let stopped = told.call.first::<RepeatStopped>();
    let granted = |of: &str| {
        let yes = |call: &Call<'_>| {
            call.first::<GrantUsed>().is_some() || call.first::<ApprovalGranted>().is_some()
        };
        earlier.iter().any(|one| one.call.id == of && yes(one.call))
    };
    let (seq, message) = match (stopped, start, settled) {
        (_, Some(start), _) => (start.seq(), "a call ran that the turn had not granted before"),
        (None, None, Some(settled)) => match &settled.fact.outcome {
            Outcome::Cancelled { .. } => return,
            // What repeats a call that a grant or a yes covers is no question either.
            Outcome::Duplicate { of } if granted(of) => return,
            _ => (settled.seq(), "a question that came again did not stop the loop"),
        },
        _ => return,
    };
    tally.broken(Some(told.call.id), &[refusal, seq], message.into());
}

fn stopped_as_repeat<'a>(
    index: &Index<'a>,
    scopes: &Scopes<'a>,
    (call, stopped): (&Call<'a>, Seen<'a, RepeatStopped>),
    tally: &mut Tally,
) {
    let turn = |call: &Call<'a>| scopes.turn(call).map(|turn| turn.at);
    let begins = |call: &Call<'a>| call.begins().map(|(at, _)| at);
    let of = index.call(&stopped.fact.of);
    let earlier = of.filter(|of| turn(of) == turn(call) && begins(of) < begins(call));
    let message = match (earlier, earlier.and_then(told), told(call)) {
        (None, ..) => "a repeat names no earlier call of its turn",
        (Some(earlier), Some(first), Some(own)) => match last_word(earlier, stopped.at) {
            _ if first.key != own.key => "a repeat is another call than the one it names",
            Some((_, Word::Yes)) => "a call was stopped as a repeat of one that was granted",
            _ => return tally.checked(),
        },
        _ => {
            let named = &stopped.fact.of;
            return tally.unknown(|| format!("what {} and {named} were is unsaid", call.id));
        }
    };
    tally.checked();
    tally.broken(Some(call.id), &[stopped.seq()], message.into());
}
