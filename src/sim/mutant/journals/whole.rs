//! Mistakes in the record as a whole: what is late, missing, in the wrong place or untrue.

use super::*;
use crate::journal::outcome::Outcome;

type Maybe = Option<Altered>;

/// The one finish of a call that started, before its one settling.
fn finished<'a>(
    record: &Record<'a>,
    fits: impl Fn(usize, &'a ToolCallSettled) -> bool,
) -> Option<(usize, usize)> {
    record.each::<ToolCallFinished>().find_map(|(at, _)| {
        let (settled, fact) = record.one::<ToolCallSettled>(at)?;
        let once = record.of_call::<ToolCallFinished>(at).count() == 1
            && record.of_call::<ToolCallSettled>(at).count() == 1;
        let started = record.has::<ToolCallStarted>(at);
        (once && started && at < settled && fits(at, fact)).then_some((at, settled))
    })
}

pub(super) fn late_finish(record: &Record<'_>) -> Maybe {
    finished(record, |_, _| true).and_then(|(at, settled)| record.shift(at, settled))
}

pub(super) fn take_late_result(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<LateResultDropped>().find(|(at, _)| {
        let settled = record.one::<ToolCallSettled>(*at).is_some_and(|(s, _)| s < *at);
        let started = record.has::<ToolCallStarted>(*at);
        settled && started && !record.has::<ToolCallFinished>(*at)
    })?;
    record.edit(|entries| {
        entries.get_mut(at)?.event = ToolCallFinished::new("success".into()).into();
        Some(())
    })
}

pub(super) fn drop_timely_result(record: &Record<'_>) -> Maybe {
    let at = record.each::<ToolCallStarted>().find_map(|(at, _)| {
        let (settled, fact) = record.one::<ToolCallSettled>(at)?;
        let ends = [
            record.one::<ToolCallFinished>(at).map(|(end, _)| end),
            record.one::<TornDown>(at).map(|(end, _)| end),
            record.one::<AttemptFailed>(at).map(|(end, _)| end),
        ];
        let first = ends.into_iter().flatten().min().unwrap_or(settled).min(settled);
        (fact.outcome.started() && at < first).then_some(first)
    })?;
    record.insert(at, true, LateResultDropped { result_digest: None })
}

/// An entry that appends results of a batch, and the next request of its turn, where nothing else
/// is appended in between and the batch has not been asked past yet.
fn answered(record: &Record<'_>, fits: impl Fn(&TranscriptAppended) -> bool) -> Option<At2> {
    record.each::<TranscriptAppended>().find_map(|(at, fact)| {
        let call = fact.messages.iter().find_map(|message| message.call.as_ref())?;
        let mut batches = record.in_turn::<BatchOpened>(at);
        let (batch, _) =
            batches.find(|(place, batch)| *place < at && batch.slots.contains(call))?;
        let next = |from: usize| {
            let mut requests = record.in_turn::<ModelRequested>(at);
            requests.find(|(request, _)| *request > from).map(|(request, _)| request)
        };
        let request = next(at).filter(|request| next(batch) == Some(*request))?;
        let between = |(place, _): At<'_, TranscriptAppended>| at < place && place < request;
        let alone = !record.in_session(at).any(between);
        (alone && fits(fact)).then_some((at, request))
    })
}

type At2 = (usize, usize);

pub(super) fn ask_before_results(record: &Record<'_>) -> Maybe {
    let results = |fact: &TranscriptAppended| fact.messages.iter().all(|m| m.call.is_some());
    let (at, request) = answered(record, results).or_else(|| answered(record, |_| true))?;
    record.shift(at, request)
}

pub(super) fn late_answer(record: &Record<'_>) -> Maybe {
    let (at, request) = answered(record, |fact| {
        let last = fact.messages.last().is_some_and(|message| message.call.is_some());
        last && fact.messages.iter().filter(|message| message.call.is_some()).count() > 1
    })?;
    let seq = record.past(at)?;
    record.edit(|entries| {
        let fact = TranscriptAppended::of_mut(&mut entries.get_mut(at)?.event)?;
        let messages = vec![fact.messages.pop()?];
        let event = TranscriptAppended { messages }.into();
        let late = Entry { seq, event, ..entries.get(at)?.clone() };
        entries.insert(request + 1, late);
        Some(())
    })
}

/// A steering and the entry that appends it, alone.
fn steered(record: &Record<'_>, fits: impl Fn(usize, usize) -> bool) -> Option<At2> {
    record.each::<SteeringReceived>().find_map(|(steer, said)| {
        let text = Blobs::name(&said.text);
        let mut appended = record.in_turn::<TranscriptAppended>(steer);
        let own = |fact: &TranscriptAppended| {
            matches!(fact.messages.as_slice(), [one] if one.role == "user" && one.text == text)
        };
        let (at, _) = appended.find(|(at, fact)| *at > steer && own(fact))?;
        fits(steer, at).then_some((steer, at))
    })
}

pub(super) fn steer_into_a_round(record: &Record<'_>) -> Maybe {
    let results = |steer: usize, at: usize| {
        let mut appended = record.in_turn::<TranscriptAppended>(at);
        let found = appended.find(|(place, fact)| {
            let slot = |call: &String| {
                let mut batches = record.in_turn::<BatchOpened>(at);
                batches.any(|(batch, fact)| batch < *place && fact.slots.contains(call))
            };
            let answers =
                fact.messages.iter().filter_map(|message| message.call.as_ref()).any(slot);
            steer < *place && *place < at && answers
        });
        found.map(|(place, _)| place)
    };
    let (steer, at) = steered(record, |steer, at| results(steer, at).is_some())?;
    results(steer, at).and_then(|place| record.shift(at, place))
}

pub(super) fn lose_steering(record: &Record<'_>) -> Maybe {
    let (_, at) = steered(record, |steer, at| {
        let mut requests = record.in_turn::<ModelRequested>(steer);
        let next = requests.find(|(request, _)| *request > steer).map(|(request, _)| request);
        let user = |(place, fact): At<'_, TranscriptAppended>| {
            let within = steer < place && place != at && Some(place) < next;
            within && fact.messages.iter().any(|message| message.role == "user")
        };
        next.is_some() && !record.in_turn(steer).any(user)
    })?;
    record.drop(at)
}

pub(super) fn repeat_steering(record: &Record<'_>) -> Maybe {
    steered(record, |_, _| true).and_then(|(_, at)| record.repeat(at))
}

/// A switch and the next request of its turn.
fn switched<'a>(record: &Record<'a>) -> Option<(At<'a, ModelSwitched>, usize)> {
    record.each::<ModelSwitched>().find_map(|(at, switch)| {
        let again = record.in_turn::<ModelSwitched>(at).any(|(other, _)| other > at);
        let mut requests = record.in_turn::<ModelRequested>(at);
        let (request, _) = requests.find(|(request, _)| *request > at)?;
        (!again && switch.from != switch.to).then_some(((at, switch), request))
    })
}

pub(super) fn ask_the_old_model(record: &Record<'_>) -> Maybe {
    let ((_, switch), request) = switched(record)?;
    record.alter(request, |fact: &mut ModelRequested| fact.provider.clone_from(&switch.from))
}

pub(super) fn switch_elsewhere(record: &Record<'_>) -> Maybe {
    let ((at, _), _) = switched(record)?;
    record.alter(at, |fact: &mut ModelSwitched| fact.to = "nobody asked".into())
}

/// The end of a turn and the last fact of a kind in it, with no request in between.
fn last<F: Fact>(record: &Record<'_>, fits: impl Fn(usize) -> bool) -> Option<At2> {
    record.each::<TurnFinished>().find_map(|(end, _)| {
        let (at, _) = record.in_turn::<F>(end).rfind(|(at, _)| *at < end)?;
        let asked = |(place, _): At<'_, ModelRequested>| at < place && place < end;
        let asked = record.in_turn(end).any(asked);
        (!asked && fits(at)).then_some((at, end))
    })
}

fn slot(record: &Record<'_>, at: usize, call: &str) -> bool {
    let mut batches = record.in_turn::<BatchOpened>(at);
    batches.any(|(batch, fact)| batch < at && fact.slots.iter().any(|slot| slot == call))
}

pub(super) fn end_before_settle(record: &Record<'_>) -> Maybe {
    let (settled, end) = last::<ToolCallSettled>(record, |at| {
        let call = record.entry(at).and_then(|entry| entry.call.as_deref());
        call.is_some_and(|call| slot(record, at, call))
    })?;
    record.shift(end, settled)
}

pub(super) fn append_after_end(record: &Record<'_>) -> Maybe {
    let (at, end) = last::<TranscriptAppended>(record, |at| {
        let fact = record.entry(at).and_then(|entry| TranscriptAppended::of(&entry.event));
        let calls = fact.into_iter().flat_map(|fact| &fact.messages);
        calls.filter_map(|message| message.call.as_ref()).any(|call| slot(record, at, call))
    })?;
    record.shift(at, end)
}

/// The first result that answers a settled call: entry, place in it.
fn result(record: &Record<'_>, fits: impl Fn(&ToolCallSettled) -> bool) -> Option<At2> {
    record.each::<TranscriptAppended>().find_map(|(at, fact)| {
        let mut places = fact.messages.iter().enumerate();
        let settled = |call: &str| {
            let mut settles = record.in_session::<ToolCallSettled>(at);
            settles.any(|(place, fact)| {
                let own = record.entry(place).and_then(|entry| entry.call.as_deref());
                place < at && own == Some(call) && fits(fact)
            })
        };
        let own = |message: &TranscriptMessage| message.call.as_deref().is_some_and(settled);
        places.find(|(_, message)| own(message)).map(|(place, _)| (at, place))
    })
}

fn append_otherwise(
    record: &Record<'_>,
    fits: impl Fn(&ToolCallSettled) -> bool,
    change: impl FnOnce(&mut TranscriptMessage),
) -> Maybe {
    let (at, place) = result(record, fits)?;
    record.alter(at, |fact: &mut TranscriptAppended| {
        fact.messages.get_mut(place).map(change);
    })
}

pub(super) fn append_other_text(record: &Record<'_>) -> Maybe {
    append_otherwise(record, |fact| fact.shown.is_some(), |message| message.text = other())
}

pub(super) fn append_other_length(record: &Record<'_>) -> Maybe {
    append_otherwise(record, |fact| fact.shown_chars.is_some(), |message| message.chars += 1)
}

pub(super) fn settle_other_text(record: &Record<'_>) -> Maybe {
    let (at, place) = result(record, |fact| fact.shown.is_some())?;
    let appended = TranscriptAppended::of(&record.entry(at)?.event)?;
    let call = appended.messages.get(place)?.call.as_deref();
    let mut settles = record.in_session::<ToolCallSettled>(at);
    let own = |at: usize| record.entry(at).and_then(|entry| entry.call.as_deref()) == call;
    let (settled, _) = settles.rfind(|(settled, _)| *settled < at && own(*settled))?;
    record.alter(settled, |fact: &mut ToolCallSettled| fact.shown = Some(other()))
}

/// A verification that no artifact comes from, so that nothing else in the record needs it.
fn verification(record: &Record<'_>) -> Option<usize> {
    let mut all = record.each::<ToolResultValidated>().filter(|(at, _)| {
        let seq = record.entry(*at).map(|entry| entry.seq);
        !record.in_session::<ArtifactPersisted>(*at).any(|(_, fact)| fact.event_id == seq)
    });
    let plain = |fact: &ToolResultValidated| fact.status == "passed" && fact.undeclared.is_empty();
    all.find(|(at, fact)| plain(fact) && record.has::<ToolCallRequested>(*at)).map(|(at, _)| at)
}

fn name_call(record: &Record<'_>, name: Option<&str>) -> Maybe {
    let at = verification(record)?;
    record.edit(|entries| {
        entries.get_mut(at)?.call = name.map(Into::into);
        Some(())
    })
}

pub(super) fn forget_call(record: &Record<'_>) -> Maybe {
    name_call(record, None)
}

pub(super) fn misname_call(record: &Record<'_>) -> Maybe {
    name_call(record, Some("nobody"))
}

pub(super) fn finish_before_start(record: &Record<'_>) -> Maybe {
    let (finish, _) = finished(record, |at, _| {
        record.of_call::<ToolCallStarted>(at).count() == 1 && !record.has::<AttemptFailed>(at)
    })?;
    let (start, _) = record.one::<ToolCallStarted>(finish)?;
    (start < finish).then(|| record.shift(finish, start))?
}

/// Of a call that no guard names as the earlier one, since it would not be earlier any more.
pub(super) fn late_request(record: &Record<'_>) -> Maybe {
    let (request, validated) = record.each::<ToolCallRequested>().find_map(|(at, _)| {
        let (validated, _) = record.one::<ToolArgsValidated>(at)?;
        (at < validated && !guard::named(record, at)).then_some((at, validated))
    })?;
    record.shift(request, validated)
}

/// A prompt in a session whose ends count its entries, with another entry before it.
fn prompt(record: &Record<'_>) -> Option<usize> {
    record.entries.iter().enumerate().find_map(|(at, entry)| {
        let prompt = matches!(entry.event, Event::UserPromptSubmitted(_));
        let before = record.entries.iter().take(at).any(|other| other.session == entry.session);
        let mut ends = record.in_session::<TurnFinished>(at);
        let counted = ends.any(|(end, fact)| end > at && fact.events.is_some());
        (prompt && before && counted).then_some(at)
    })
}

pub(super) fn lose_an_entry(record: &Record<'_>) -> Maybe {
    prompt(record).and_then(|at| record.drop(at))
}

pub(super) fn repeat_a_number(record: &Record<'_>) -> Maybe {
    let at = prompt(record)?;
    record.edit(|entries| {
        let own = entries.get(at)?.session.clone();
        let before = entries.iter().take(at).rfind(|entry| entry.session == own)?.seq;
        entries.get_mut(at)?.seq = before;
        Some(())
    })
}

pub(super) fn cause_from_later(record: &Record<'_>) -> Maybe {
    let at = prompt(record)?;
    let later = record.past(at)?.checked_sub(1);
    record.edit(|entries| {
        entries.get_mut(at)?.cause = later;
        Some(())
    })
}

pub(super) fn miscount_entries(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<TurnFinished>().find(|(_, end)| end.events.is_some())?;
    record.alter(at, |end: &mut TurnFinished| {
        end.events = end.events.map(|count| count.saturating_add(1));
    })
}

fn succeeded(_: usize, settled: &ToolCallSettled) -> bool {
    settled.outcome == Outcome::Succeeded
}

pub(super) fn fail_the_finish(record: &Record<'_>) -> Maybe {
    let (at, _) = finished(record, succeeded)?;
    record.alter(at, |fact: &mut ToolCallFinished| fact.status = "failed".into())
}

/// The verification of a call that passed, between its finish and its settling.
fn passed(record: &Record<'_>, at: usize) -> Option<usize> {
    let mut checks = record.of_call::<ToolResultValidated>(at);
    let plain = |fact: &ToolResultValidated| fact.status == "passed" && fact.undeclared.is_empty();
    let (settled, _) = record.one::<ToolCallSettled>(at)?;
    checks.rfind(|(place, fact)| *place < settled && plain(fact)).map(|(place, _)| place)
}

/// A failure that finishes well and passes verification, although it was settled as a failure.
pub(super) fn succeed_the_finish(record: &Record<'_>) -> Maybe {
    let plain = |at: usize| {
        let mut checks = record.of_call::<ToolResultValidated>(at);
        let settled = record.one::<ToolCallSettled>(at)?.0;
        checks.rfind(|(check, _)| *check < settled).filter(|(_, fact)| fact.undeclared.is_empty())
    };
    let (at, _) = finished(record, |at, settled| {
        matches!(settled.outcome, Outcome::Failed { .. }) && plain(at).is_some()
    })?;
    let (check, _) = plain(at)?;
    record.edit(|entries| {
        alter(entries, at, |fact: &mut ToolCallFinished| {
            fact.status = "success".into();
            fact.fault = None;
        })?;
        alter(entries, check, |fact: &mut ToolResultValidated| fact.status = "passed".into())
    })
}

pub(super) fn fail_verification(record: &Record<'_>) -> Maybe {
    let fits =
        |at, settled: &ToolCallSettled| succeeded(at, settled) && passed(record, at).is_some();
    let (at, _) = finished(record, fits)?;
    let check = passed(record, at)?;
    record.alter(check, |fact: &mut ToolResultValidated| fact.status = "failed".into())
}

/// A patch of a call after its settling.
fn patch(record: &Record<'_>) -> Option<At2> {
    record.each::<StateUpdated>().find_map(|(at, _)| {
        let (settled, _) = record.one::<ToolCallSettled>(at)?;
        (settled < at).then_some((at, settled))
    })
}

pub(super) fn patch_before_settle(record: &Record<'_>) -> Maybe {
    patch(record).and_then(|(at, settled)| record.shift(at, settled))
}

pub(super) fn patch_from_refused(record: &Record<'_>) -> Maybe {
    let (at, refused) = record.each::<StateUpdated>().find_map(|(at, _)| {
        record.entry(at)?.call.as_ref()?;
        let mut settles = record.in_session::<ToolCallSettled>(at);
        let (refused, _) = settles.find(|(place, s)| *place < at && !s.outcome.started())?;
        Some((at, record.entry(refused)?.call.clone()))
    })?;
    record.edit(|entries| {
        entries.get_mut(at)?.call = refused;
        Some(())
    })
}

pub(super) fn patch_no_object(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<StateUpdated>().next()?;
    record.alter(at, |fact: &mut StateUpdated| fact.patch = "no patch".into())
}
