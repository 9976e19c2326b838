//! Mistakes in what is shown, stored, proved and kept secret.

use super::*;
use crate::base::secret::{CANARY_PREFIX, keyed_hash};
use crate::journal::outcome::{Blame, Fault, Outcome};

type Maybe = Option<Altered>;

/// The first receipt of a success for which something is found.
fn receipt<'a, T>(
    record: &Record<'a>,
    mut found: impl FnMut(usize, &'a ReceiptIssued) -> Option<T>,
) -> Option<T> {
    record.each::<ReceiptIssued>().find_map(|(at, fact)| {
        let (_, settled) = record.one::<ToolCallSettled>(at)?;
        if settled.outcome == Outcome::Succeeded { found(at, fact) } else { None }
    })
}

/// The call failed all along, so that only its receipt is untrue.
pub(super) fn receipt_on_failure(record: &Record<'_>) -> Maybe {
    let at = receipt(record, |at, _| record.one::<ToolCallSettled>(at).map(|(at, _)| at))?;
    let finish = record.one::<ToolCallFinished>(at).map(|(finish, _)| finish);
    let (blame, code, message) = (Blame::Tool, "mutant".into(), "it failed".into());
    let outcome = Outcome::Failed { fault: Fault { blame, code, message } };
    record.edit(|entries| {
        alter(entries, at, |fact: &mut ToolCallSettled| fact.outcome = outcome)?;
        finish.map_or(Some(()), |finish| {
            alter(entries, finish, |fact: &mut ToolCallFinished| fact.status = "failed".into())
        })
    })
}

pub(super) fn forge_receipt(record: &Record<'_>) -> Maybe {
    let at = receipt(record, |at, _| Some(at))?;
    record.alter(at, |fact: &mut ReceiptIssued| {
        let last = fact.receipt.pop();
        fact.receipt.push(if last == Some('0') { '1' } else { '0' });
    })
}

pub(super) fn receipt_other_result(record: &Record<'_>) -> Maybe {
    let at = receipt(record, |at, _| {
        let (_, finish) = record.one::<ToolCallFinished>(at)?;
        finish.result_digest.map(|_| at)
    })?;
    record.alter(at, |fact: &mut ReceiptIssued| fact.result_digest = other())
}

pub(super) fn drop_receipt(record: &Record<'_>) -> Maybe {
    let at = receipt(record, |at, _| {
        let promised = record.opened(at)?.1.receipts;
        (promised && record.of_call::<ReceiptIssued>(at).count() == 1).then_some(at)
    })?;
    record.drop(at)
}

pub(super) fn duplicate_receipt(record: &Record<'_>) -> Maybe {
    receipt(record, |at, _| Some(at)).and_then(|at| record.repeat(at))
}

pub(super) fn late_receipt(record: &Record<'_>) -> Maybe {
    let (at, appended) = receipt(record, |at, _| {
        let call = record.entry(at)?.call.as_deref();
        let answers = |(_, fact): &At<'_, TranscriptAppended>| {
            fact.messages.iter().any(|message| message.call.as_deref() == call)
        };
        let (appended, _) = record.in_session::<TranscriptAppended>(at).find(answers)?;
        (appended > at).then_some((at, appended))
    })?;
    record.shift(at, appended)
}

/// Whether the session planted canaries and some call of it produced output.
fn planted(record: &Record<'_>, at: usize) -> bool {
    let canaries = record.opened(at).and_then(|(_, opened)| opened.canaries);
    canaries.is_some_and(|planted| planted > 0)
        && record.in_session::<ToolCallFinished>(at).next().is_some()
}

fn leak() -> String {
    format!("{CANARY_PREFIX}leak")
}

pub(super) fn leak_canary_in_preview(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallSettled>().find(|(at, settled)| {
        let limit = record.opened(*at).and_then(|(_, opened)| opened.max_tool_result_chars);
        let fits = limit.is_none_or(|limit| limit >= leak().len() as u64);
        settled.shown.is_some() && fits && planted(record, *at)
    })?;
    let (mut entries, mut blobs) = record.edit(|_| Some(()))?;
    let shown = Some(blobs.put(leak().into()));
    alter(&mut entries, at, |fact: &mut ToolCallSettled| fact.shown = shown)?;
    Some((entries, blobs))
}

pub(super) fn leak_canary_in_facts(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallSettled>().find(|(at, _)| planted(record, *at))?;
    record.insert(at, false, TraceUpdated { summary: format!("it said {}", leak()) })
}

pub(super) fn leak_listed_secret(record: &Record<'_>) -> Maybe {
    let (opened, text) = record.each::<ToolCallSettled>().find_map(|(at, settled)| {
        let text = record.blobs.get(settled.shown.as_ref()?)?;
        let said: String = text.chars().take(24).collect();
        record.in_session::<ToolCallFinished>(at).next()?;
        (said.chars().count() >= 8).then_some((record.opened(at)?.0, said))
    })?;
    record.alter(opened, |fact: &mut SessionOpened| {
        fact.secret_key = Some("mutant".into());
        let hash = keyed_hash("mutant", &text);
        fact.secret_hashes = vec![SecretHash { chars: text.chars().count(), hash }];
    })
}

/// The settle of a call whose result was above the limit and that started.
fn large(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<ToolCallSettled>().find_map(|(at, _)| {
        let limit = record.opened(at)?.1.max_tool_result_chars?;
        let (_, finish) = record.one::<ToolCallFinished>(at)?;
        let (stored, _) = record.one::<ArtifactPersisted>(at)?;
        let once = record.of_call::<ArtifactPersisted>(at).count() == 1;
        (once && stored < at && finish.result_chars? > limit).then_some((at, stored))
    })
}

pub(super) fn drop_artifact(record: &Record<'_>) -> Maybe {
    large(record).and_then(|(_, stored)| record.drop(stored))
}

pub(super) fn late_artifact(record: &Record<'_>) -> Maybe {
    large(record).and_then(|(settled, stored)| record.shift(stored, settled))
}

pub(super) fn show_too_much(record: &Record<'_>) -> Maybe {
    let (at, limit) = record
        .each::<ToolCallSettled>()
        .find_map(|(at, _)| Some((at, record.opened(at)?.1.max_tool_result_chars?)))?;
    let chars = Some(limit.saturating_add(1));
    record.alter(at, |fact: &mut ToolCallSettled| fact.shown_chars = chars)
}

pub(super) fn unmark_cut(record: &Record<'_>) -> Maybe {
    let (at, _) = large(record)?;
    let (_, start) = record.one::<ToolCallStarted>(at)?;
    let text = |(_, view): At<'_, ViewCompiled>| {
        let mut own =
            view.exposed.iter().filter(|tool| Some(&tool.tool_id) == start.tool_id.as_ref());
        own.all(|tool| tool.projection == "preview" || tool.projection == "full")
    };
    let shows = record.in_session(at).all(text);
    shows.then(|| record.alter(at, |fact: &mut ToolCallSettled| fact.cut = false))?
}

pub(super) fn orphan_artifact(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ArtifactPersisted>().next()?;
    record.alter(at, |fact: &mut ArtifactPersisted| fact.event_id = None)
}

pub(super) fn retarget_artifact(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ArtifactPersisted>().next()?;
    let own = record.entry(at)?;
    let mut others = record.entries.iter().filter(|entry| entry.session == own.session);
    let foreign = others.find(|entry| entry.call != own.call)?.seq;
    record.alter(at, |fact: &mut ArtifactPersisted| fact.event_id = Some(foreign))
}

pub(super) fn artifact_of_nobody(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ArtifactPersisted>().next()?;
    record.alter(at, |fact: &mut ArtifactPersisted| fact.tool_call_id = Some("nobody".into()))
}

fn alter_shown(record: &Record<'_>, change: impl FnOnce(&mut ExposedTool)) -> Maybe {
    let (at, _) = record.each::<ViewCompiled>().find(|(_, view)| !view.exposed.is_empty())?;
    record.alter(at, |view: &mut ViewCompiled| {
        let mut exposed = view.exposed.to_vec();
        exposed.first_mut().map(change);
        view.exposed = exposed.into();
    })
}

pub(super) fn blank_reason(record: &Record<'_>) -> Maybe {
    alter_shown(record, |tool| tool.reason = " ".into())
}

pub(super) fn show_denied(record: &Record<'_>) -> Maybe {
    alter_shown(record, |tool| tool.decision = "deny".into())
}

pub(super) fn unexplain_withheld(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ViewCompiled>().find(|(_, view)| !view.withheld.is_empty())?;
    record.alter(at, |view: &mut ViewCompiled| {
        let mut withheld = view.withheld.to_vec();
        withheld.iter_mut().for_each(|tool| tool.reason.clear());
        view.withheld = withheld.into();
    })
}

/// The session's first view, when a model is asked under it.
pub(super) fn drop_view(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ViewCompiled>().find(|(at, _)| {
        let asked = record.in_session::<ModelRequested>(*at).find(|(asked, _)| asked > at);
        let next = record.in_session::<ViewCompiled>(*at).find(|(next, _)| next > at);
        let in_time = |asked: usize| next.is_none_or(|(next, _)| asked < next);
        record.view(*at).is_none() && asked.is_some_and(|(asked, _)| in_time(asked))
    })?;
    record.drop(at)
}

pub(super) fn advertise_withheld(record: &Record<'_>) -> Maybe {
    let (at, kept) = record.each::<ModelRequested>().find_map(|(at, request)| {
        let kept = record.view(at)?.1.withheld.first()?;
        (!request.advertised.is_empty()).then_some((at, &kept.tool_id))
    })?;
    record.alter(at, |request: &mut ModelRequested| {
        let mut names = request.advertised.to_vec();
        names.push(kept.to_string());
        request.advertised = names.into();
    })
}

/// The view of a call withholds its tool, and the request no longer names it.
pub(super) fn start_withheld(record: &Record<'_>) -> Maybe {
    let (view, shown) = record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let tool = start.tool_id.as_ref()?;
        let (requested, _) = record.one::<ToolCallRequested>(at)?;
        let (view, fact) = record.view(requested)?;
        Some((view, fact.exposed.iter().find(|shown| shown.tool_id == *tool)?))
    })?;
    let next = record.in_session::<ViewCompiled>(view).find(|(next, _)| *next > view);
    let until = next.map_or(usize::MAX, |(next, _)| next);
    let requests = record.in_session::<ModelRequested>(view).map(|(at, _)| at);
    let requests: Vec<usize> = requests.filter(|at| *at > view && *at < until).collect();
    record.edit(|entries| {
        alter(entries, view, |fact: &mut ViewCompiled| {
            let other = fact.exposed.iter().filter(|tool| tool.tool_id != shown.tool_id);
            let other: Vec<ExposedTool> = other.cloned().collect();
            let (filter, reason) = ("policy".into(), "mutant".into());
            let mut withheld = fact.withheld.to_vec();
            withheld.push(WithheldTool { tool_id: shown.tool_id.clone(), filter, reason });
            (fact.exposed, fact.withheld) = (other.into(), withheld.into());
        })?;
        requests.iter().try_for_each(|at| {
            alter(entries, *at, |request: &mut ModelRequested| {
                let names = request.advertised.iter().filter(|name| **name != shown.name);
                request.advertised = names.cloned().collect();
            })
        })
    })
}

pub(super) fn exclude_what_ran(record: &Record<'_>) -> Maybe {
    let (opened, tool) = record
        .each::<ToolCallStarted>()
        .find_map(|(at, start)| Some((record.opened(at)?.0, start.tool_id.as_ref()?)))?;
    record.alter(opened, |fact: &mut SessionOpened| fact.excluded_tools.push(tool.clone()))
}

pub(super) fn undeclared_effect(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolResultValidated>().find(|(at, _)| {
        let settled = record.one::<ToolCallSettled>(*at);
        settled.is_some_and(|(_, settled)| settled.outcome == Outcome::Succeeded)
    })?;
    let effect = "workspace:surprise".into();
    record.alter(at, |fact: &mut ToolResultValidated| fact.undeclared.push(effect))
}

pub(super) fn undeclare_tool(record: &Record<'_>) -> Maybe {
    let at = record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let tool = start.tool_id.as_ref()?;
        let own = |seen: &ToolVerified| {
            seen.tool_id == *tool && start.tool_version.is_none_or(|v| v == seen.tool_version)
        };
        let mut verified = record.in_session::<ToolVerified>(at);
        verified.rfind(|(place, seen)| *place < at && own(seen)).map(|(place, _)| place)
    })?;
    record.alter(at, |fact: &mut ToolVerified| fact.effects_declared = false)
}
