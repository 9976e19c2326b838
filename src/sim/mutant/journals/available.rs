//! Mistakes in what may be called, in what is shown to people, and in what the model said.

use super::guard::settled;
use super::*;
use crate::base::canon;
use crate::journal::outcome::Outcome;

type Maybe = Option<Altered>;

/// A start's one sandbox, in a session that names the mode of another.
fn sandbox(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<ToolCallStarted>().find_map(|(at, _)| {
        let (sandbox, _) = record.one::<ToolSandboxPrepared>(at)?;
        let once = record.of_call::<ToolCallStarted>(at).count() == 1
            && record.of_call::<ToolSandboxPrepared>(at).count() == 1;
        let mut boxes = record.in_session::<ToolSandboxPrepared>(at);
        let kept = boxes.any(|(place, fact)| place != sandbox && fact.mode.is_some());
        (once && kept && sandbox < at).then_some((sandbox, at))
    })
}

pub(super) fn drop_sandbox(record: &Record<'_>) -> Maybe {
    sandbox(record).and_then(|(sandbox, _)| record.drop(sandbox))
}

pub(super) fn late_sandbox(record: &Record<'_>) -> Maybe {
    sandbox(record).and_then(|(sandbox, start)| record.shift(sandbox, start))
}

pub(super) fn enforce_nothing(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolSandboxPrepared>().find(|(at, fact)| {
        let asks = fact.mode.as_deref().is_some_and(|mode| mode != "none");
        asks && record.has::<ToolCallStarted>(*at)
    })?;
    record.alter(at, |fact: &mut ToolSandboxPrepared| fact.enforcement = Some("none".into()))
}

/// A sandbox in full of a call that started.
fn confined(record: &Record<'_>) -> Option<usize> {
    let mut all = record.each::<ToolSandboxPrepared>();
    let found = all.find(|(at, fact)| {
        fact.enforcement.as_deref() == Some("full") && record.has::<ToolCallStarted>(*at)
    });
    found.map(|(at, _)| at)
}

pub(super) fn name_no_mechanism(record: &Record<'_>) -> Maybe {
    let at = confined(record)?;
    record.alter(at, |fact: &mut ToolSandboxPrepared| fact.mechanisms.clear())
}

pub(super) fn name_one_mechanism_less(record: &Record<'_>) -> Maybe {
    let at = confined(record)?;
    record.alter(at, |fact: &mut ToolSandboxPrepared| {
        fact.mechanisms.retain(|name| name != "seccomp");
    })
}

pub(super) fn limit_no_processes(record: &Record<'_>) -> Maybe {
    let at = confined(record)?;
    record.alter(at, |fact: &mut ToolSandboxPrepared| {
        fact.mechanisms.retain(|name| !name.ends_with("_processes"));
    })
}

/// The first tool of a source in a view, with the view's place.
fn shown<'a, T>(
    record: &Record<'a>,
    source: &str,
    mut found: impl FnMut(usize, &'a ExposedTool) -> Option<T>,
) -> Option<T> {
    record.each::<ViewCompiled>().find_map(|(at, view)| {
        let mut own = view.exposed.iter().filter(|tool| tool.source.as_deref() == Some(source));
        own.find_map(|tool| found(at, tool))
    })
}

/// The only registration of a tool in a session that registers others too.
fn registration(record: &Record<'_>, at: usize, tool: &ExposedTool) -> Option<usize> {
    let normalized = record.in_session::<ToolNormalized>(at).map(|(at, fact)| (at, &fact.tool_id));
    let verified = record.in_session::<ToolVerified>(at).map(|(at, fact)| (at, &fact.tool_id));
    let enabled = record.in_session::<ToolEnabled>(at).map(|(at, fact)| (at, &fact.tool_id));
    let all: Vec<(usize, &ToolId)> = normalized.chain(verified).chain(enabled).collect();
    let mut own = all.iter().filter(|(_, id)| **id == tool.tool_id);
    let (place, _) = own.next().copied()?;
    (own.next().is_none() && all.len() > 1 && place < at).then_some(place)
}

fn normalization(record: &Record<'_>) -> Option<(usize, usize)> {
    shown(record, "mcp", |at, tool| Some((registration(record, at, tool)?, at)))
}

pub(super) fn drop_normalization(record: &Record<'_>) -> Maybe {
    normalization(record).and_then(|(place, _)| record.drop(place))
}

pub(super) fn late_normalization(record: &Record<'_>) -> Maybe {
    normalization(record).and_then(|(place, view)| record.shift(place, view))
}

/// Alters one tool of a view.
fn alter_shown(
    record: &Record<'_>,
    (view, tool): (usize, &ExposedTool),
    change: impl FnOnce(&mut ExposedTool),
) -> Maybe {
    record.alter(view, |fact: &mut ViewCompiled| {
        let mut exposed = fact.exposed.to_vec();
        exposed.iter_mut().find(|shown| shown.tool_id == tool.tool_id).map(change);
        fact.exposed = exposed.into();
    })
}

pub(super) fn show_changed_definition(record: &Record<'_>) -> Maybe {
    let place =
        shown(record, "mcp", |at, tool| registration(record, at, tool).map(|_| (at, tool)))?;
    alter_shown(record, place, |tool| tool.tool_version = other())
}

/// The start of a skill's script, its view and how the view shows it.
fn skill<'a>(record: &Record<'a>) -> Option<(usize, usize, &'a ExposedTool)> {
    record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let (requested, _) = record.one::<ToolCallRequested>(at)?;
        let (view, fact) = record.view(requested)?;
        let mut own = fact.exposed.iter().filter(|t| t.source.as_deref() == Some("skill"));
        let tool = own.find(|tool| Some(&tool.tool_id) == start.tool_id.as_ref())?;
        registration(record, at, tool).map(|_| (at, view, tool))
    })
}

pub(super) fn drop_skill_registration(record: &Record<'_>) -> Maybe {
    let (start, _, tool) = skill(record)?;
    record.drop(registration(record, start, tool)?)
}

pub(super) fn late_skill_registration(record: &Record<'_>) -> Maybe {
    let (start, _, tool) = skill(record)?;
    record.shift(registration(record, start, tool)?, start)
}

/// The requests that rest on a view.
fn requests(record: &Record<'_>, view: usize) -> Vec<usize> {
    let next = record.in_session::<ViewCompiled>(view).find(|(next, _)| *next > view);
    let until = next.map_or(usize::MAX, |(next, _)| next);
    let requests = record.in_session::<ModelRequested>(view).map(|(at, _)| at);
    requests.filter(|at| *at > view && *at < until).collect()
}

/// Takes a tool out of a view and of the requests that rest on it.
fn hide(
    record: &Record<'_>,
    entries: &mut [Entry],
    view: usize,
    hidden: &ExposedTool,
) -> Option<()> {
    alter(entries, view, |fact: &mut ViewCompiled| {
        let kept = fact.exposed.iter().filter(|tool| tool.tool_id != hidden.tool_id);
        fact.exposed = kept.cloned().collect();
    })?;
    requests(record, view).into_iter().try_for_each(|at| {
        alter(entries, at, |request: &mut ModelRequested| {
            let names = request.advertised.iter().filter(|name| **name != hidden.name);
            request.advertised = names.cloned().collect();
        })
    })
}

pub(super) fn run_unshown_skill(record: &Record<'_>) -> Maybe {
    let (start, view, tool) = skill(record)?;
    let known = |(_, fact): At<'_, ToolNormalized>| {
        fact.tool_id == tool.tool_id && fact.source.as_deref() == Some("skill")
    };
    record
        .in_session(start)
        .any(known)
        .then(|| record.edit(|entries| hide(record, entries, view, tool)))?
}

pub(super) fn enable_without_evidence(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolEnabled>().find(|(_, fact)| fact.evidence.is_some())?;
    record.alter(at, |fact: &mut ToolEnabled| fact.evidence = None)
}

pub(super) fn enable_beyond_evaluation(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolEnabled>().find(|(_, fact)| fact.evidence.is_none())?;
    record.alter(at, |fact: &mut ToolEnabled| fact.scope = "live".into())
}

fn alter_child(record: &Record<'_>, change: impl FnOnce(&mut DelegateStarted)) -> Maybe {
    let (at, _) = record.each::<DelegateStarted>().find(|(at, _)| record.view(*at).is_some())?;
    record.alter(at, change)
}

pub(super) fn widen_child_tools(record: &Record<'_>) -> Maybe {
    alter_child(record, |fact| fact.tools.push(ToolId::sanitized("never.registered")))
}

pub(super) fn widen_child_scopes(record: &Record<'_>) -> Maybe {
    alter_child(record, |fact| fact.scopes.push("anything".into()))
}

/// The end of a delegate whose call was not torn down.
fn delegate_end(record: &Record<'_>) -> Option<usize> {
    record.each::<DelegateFinished>().find_map(|(at, _)| {
        let (_, settled) = record.one::<ToolCallSettled>(at)?;
        (settled.outcome != Outcome::Interrupted).then_some(at)
    })
}

pub(super) fn drop_delegate_end(record: &Record<'_>) -> Maybe {
    record.drop(delegate_end(record)?)
}

pub(super) fn end_another_delegate(record: &Record<'_>) -> Maybe {
    let at = delegate_end(record)?;
    record.alter(at, |fact: &mut DelegateFinished| fact.child = "nobody".into())
}

/// An activation in a session that registers tools.
fn activation<'a>(
    record: &Record<'a>,
    fits: impl Fn(At<'a, ToolActivated>) -> bool,
) -> Option<At<'a, ToolActivated>> {
    let registers = |at| record.in_session::<ToolVerified>(at).next().is_some();
    record.each::<ToolActivated>().find(|seen| registers(seen.0) && fits(*seen))
}

pub(super) fn activate_unregistered(record: &Record<'_>) -> Maybe {
    let (at, _) = activation(record, |_| true)?;
    let tool = ToolId::sanitized("never.registered");
    record.alter(at, |fact: &mut ToolActivated| fact.tool_id = tool)
}

pub(super) fn activate_excluded(record: &Record<'_>) -> Maybe {
    let (at, fact) = activation(record, |(at, fact)| {
        let mut views = record.in_session::<ViewCompiled>(at);
        !views.any(|(_, view)| view.exposed.iter().any(|tool| tool.tool_id == fact.tool_id))
    })?;
    let (opened, _) = record.opened(at)?;
    let tool = fact.tool_id.clone();
    record.alter(opened, |fact: &mut SessionOpened| fact.excluded_tools.push(tool))
}

pub(super) fn call_in_the_activating_reply(record: &Record<'_>) -> Maybe {
    let (at, view, tool) = record.each::<ToolActivated>().find_map(|(at, _)| {
        let call = record.entry(at)?.call.as_ref()?;
        let mut batches = record.in_session::<BatchOpened>(at);
        let (_, batch) =
            batches.find(|(_, batch)| batch.slots.iter().any(|slot| **slot == **call))?;
        let mut starts = record.in_session::<ToolCallStarted>(at).filter(|(start, _)| *start > at);
        starts.find_map(|(start, fact)| {
            let other = record.entry(start)?.call.as_ref()?;
            let (view, shows) = record.view(record.one::<ToolCallRequested>(start)?.0)?;
            let mut own = shows.exposed.iter().filter(|tool| tool.source.is_none());
            let tool = own.find(|tool| Some(&tool.tool_id) == fact.tool_id.as_ref())?;
            let mut verified = record.in_session::<ToolVerified>(start);
            let known = verified.any(|(_, fact)| fact.tool_id == tool.tool_id);
            let beside = other != call && batch.slots.iter().any(|slot| **slot == **other);
            (beside && known).then_some((at, view, tool))
        })
    })?;
    record.edit(|entries| {
        let tool_id = tool.tool_id.clone();
        alter(entries, at, |fact: &mut ToolActivated| fact.tool_id = tool_id)?;
        hide(record, entries, view, tool)
    })
}

pub(super) fn show_unregistered(record: &Record<'_>) -> Maybe {
    let (view, first) = record.each::<ViewCompiled>().find_map(|(at, view)| {
        record.in_session::<ToolVerified>(at).find(|(place, _)| *place < at)?;
        Some((at, view.exposed.first()?))
    })?;
    let tool_id = ToolId::sanitized("never.registered");
    let name = tool_id.to_string();
    let tool = ExposedTool { tool_id, name: name.clone(), source: None, ..first.clone() };
    record.edit(|entries| {
        alter(entries, view, |fact: &mut ViewCompiled| {
            fact.exposed = fact.exposed.iter().cloned().chain([tool]).collect();
        })?;
        requests(record, view).into_iter().try_for_each(|at| {
            alter(entries, at, |fact: &mut ModelRequested| {
                fact.advertised = fact.advertised.iter().cloned().chain([name.clone()]).collect();
            })
        })
    })
}

/// The first emission of a phase for which something is found.
fn card<'a>(
    record: &Record<'a>,
    phase: &str,
    fits: impl Fn(usize, &'a SurfaceEmitted) -> bool,
) -> Option<usize> {
    let mut cards =
        record.each::<SurfaceEmitted>().filter(|(_, fact)| fact.phase.as_deref() == Some(phase));
    cards.find(|(at, fact)| fits(*at, fact)).map(|(at, _)| at)
}

pub(super) fn overrun_surface(record: &Record<'_>) -> Maybe {
    let (at, limit) =
        record.each::<SurfaceEmitted>().find_map(|(at, fact)| Some((at, fact.limit?)))?;
    record.alter(at, |fact: &mut SurfaceEmitted| fact.chars = limit.saturating_add(1))
}

pub(super) fn tighten_surface(record: &Record<'_>) -> Maybe {
    let (at, limit) =
        record.each::<SurfaceEmitted>().find_map(|(at, f)| Some((at, f.chars.checked_sub(1)?)))?;
    record.alter(at, |fact: &mut SurfaceEmitted| fact.limit = Some(limit))
}

pub(super) fn end_without_start(record: &Record<'_>) -> Maybe {
    let at = card(record, "start", |at, fact| {
        let own: Vec<_> = record
            .of_call::<SurfaceEmitted>(at)
            .filter(|(_, f)| f.surface == fact.surface)
            .collect();
        let phases = |phase| own.iter().filter(|(_, f)| f.phase.as_deref() == Some(phase)).count();
        phases("start") == 1 && phases("end") == 1
    })?;
    record.drop(at)
}

pub(super) fn end_with_other_correlation(record: &Record<'_>) -> Maybe {
    let at = card(record, "end", |_, _| true)?;
    record.alter(at, |fact: &mut SurfaceEmitted| fact.correlation = Some(other()))
}

pub(super) fn end_twice(record: &Record<'_>) -> Maybe {
    record.repeat(card(record, "end", |_, _| true)?)
}

pub(super) fn open_card_of_refused(record: &Record<'_>) -> Maybe {
    let ran = |at| record.has::<ToolCallStarted>(at) || record.has::<ToolCallFinished>(at);
    let at = settled(record, |(at, _)| (!ran(at)).then_some(at))?;
    let mut card = SurfaceEmitted::new("stream".into(), other(), 4);
    card.phase = Some("start".into());
    record.insert(at, true, card)
}

/// A reply whose text is kept and gave a call that is no fence, with that text.
fn spoken<'a>(record: &Record<'a>) -> Option<(usize, &'a str)> {
    let fits = |origin: Option<&str>| !matches!(origin, None | Some("native" | "fenced"));
    record.each::<ToolCallRequested>().find_map(|(at, request)| {
        let mut replies = record.in_session::<ModelReplied>(at);
        let (reply, fact) = replies.rfind(|(reply, _)| *reply < at)?;
        let text = record.blobs.get(&fact.raw?)?;
        fits(request.origin.as_deref()).then_some((reply, &**text))
    })
}

/// Puts a reply's text where no call may stand.
fn move_text(record: &Record<'_>, change: impl FnOnce(&str) -> String) -> Maybe {
    let (at, text) = spoken(record)?;
    let (mut entries, mut blobs) = record.edit(|_| Some(()))?;
    let raw = Some(blobs.put(change(text).into()));
    alter(&mut entries, at, |fact: &mut ModelReplied| fact.raw = raw)?;
    Some((entries, blobs))
}

pub(super) fn call_from_reasoning(record: &Record<'_>) -> Maybe {
    move_text(record, |text| format!("<thinking>{text}</thinking>"))
}

pub(super) fn call_from_quote(record: &Record<'_>) -> Maybe {
    move_text(record, |text| text.lines().map(|line| format!("> {line}\n")).collect())
}

pub(super) fn call_from_fence(record: &Record<'_>) -> Maybe {
    move_text(record, |text| format!("~~~~\n{text}\n~~~~\n"))
}

pub(super) fn lose_a_call(record: &Record<'_>) -> Maybe {
    let (at, _) =
        record.each::<ModelReplied>().find(|(at, fact)| fact.calls > 0 && record.over(*at))?;
    record.alter(at, |fact: &mut ModelReplied| fact.calls = fact.calls.saturating_add(1))
}

pub(super) fn call_under_strict(record: &Record<'_>) -> Maybe {
    let (reply, _) = spoken(record)?;
    let (at, _) = record.in_session::<TurnStarted>(reply).rfind(|(at, _)| *at < reply)?;
    record.alter(at, |fact: &mut TurnStarted| fact.strict = true)
}

/// A call whose own arguments passed validation, by its request.
fn sent(record: &Record<'_>) -> Option<usize> {
    record.each::<ToolCallRequested>().find_map(|(at, request)| {
        let (_, validated) = record.one::<ToolArgsValidated>(at)?;
        let passed = validated.status == "passed" && validated.args_digest.is_some();
        let changed = validated.marker_cleared || !validated.defaults.is_empty();
        let own = request.args.is_some() && !record.has::<ToolCallRewritten>(at);
        (passed && own && !changed && !validated.blank).then_some(at)
    })
}

pub(super) fn send_other_arguments(record: &Record<'_>) -> Maybe {
    let args = Some(serde_json::json!({"mutant": true}));
    record.alter(sent(record)?, |fact: &mut ToolCallRequested| fact.args = args)
}

pub(super) fn accept_no_json(record: &Record<'_>) -> Maybe {
    record.alter(sent(record)?, |fact: &mut ToolCallRequested| {
        fact.args = None;
        fact.raw_args = Some("{\"mutant\": tru".into());
    })
}

pub(super) fn rewrite_unseen(record: &Record<'_>) -> Maybe {
    let at = record.each::<ToolCallRewritten>().find_map(|(at, fact)| {
        let (validated, passed) = record.of_call::<ToolArgsValidated>(at).next_back()?;
        let last = record.of_call::<ToolCallRewritten>(at).next_back()?.0 == at;
        let judged = at < validated && passed.status == "passed" && passed.args_digest.is_some();
        let own = !passed.marker_cleared && passed.defaults.is_empty();
        (last && judged && fact.args.is_some() && own).then_some(at)
    })?;
    let args = Some(serde_json::json!({"mutant": true}));
    record.alter(at, |fact: &mut ToolCallRewritten| fact.args = args)
}

/// A call that policy denied, so that nothing else rests on its arguments.
pub(super) fn empty_the_arguments(record: &Record<'_>) -> Maybe {
    let empty = canon::digest("args", &serde_json::json!({})).ok()?;
    let at = record.each::<ToolArgsValidated>().find_map(|(at, fact)| {
        let (_, policy) = record.one::<ToolPolicyChecked>(at)?;
        let alone = policy.decision == "deny" && !record.has::<ToolCallStarted>(at);
        let other = fact.args_digest.is_some_and(|digest| digest != empty);
        let own = !fact.marker_cleared && fact.defaults.is_empty() && fact.status == "passed";
        (alone && other && own).then_some(at)
    })?;
    record.alter(at, |fact: &mut ToolArgsValidated| fact.args_digest = Some(empty))
}
