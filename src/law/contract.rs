//! What was promised before anything ran: registration, explained views, declared effects.

use super::index::{Call, Index, Seen, until};
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;

/// B1, "every tool_call must reference a registered tool version": the tool and version of each
/// start stand in the catalog or in a view before it; that it was not blocked since is for
/// `blocked-never-runs`. A start that names no version is judged by what validation resolved. Where
/// the session registers nothing at all, the journal does not say.
pub(super) fn registered_version(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        for start in call.each::<ToolCallStarted>() {
            registered_start(index, call, start, tally);
        }
    }
}

fn registered_start<'a>(
    index: &Index<'a>,
    call: &Call<'a>,
    start: Seen<'a, ToolCallStarted>,
    tally: &mut Tally,
) {
    let nothing = !index.registers() && index.views.iter().all(|view| view.fact.exposed.is_empty());
    if nothing {
        return tally.unknown(|| format!("no tool is registered, and {} started", call.id));
    }
    tally.checked();
    let (tool, version) = (index.tool(call, start), version_of(call, start));
    let (Some(tool), Some(version)) = (tool, version) else {
        let message = "a call started without naming its tool and version".into();
        return tally.broken(Some(call.id), &[start.seq()], message);
    };
    if !registered(index, call, (tool, version), start.at) {
        let message = format!("`{tool}` version {} was never registered", version.short());
        tally.broken(Some(call.id), &witnesses(index, tool, start), message);
    }
}

fn version_of(call: &Call<'_>, start: Seen<'_, ToolCallStarted>) -> Option<Digest> {
    let resolved = || {
        call.before::<ToolArgsValidated>(start.at)
            .and_then(|validated| validated.fact.tool_version)
            .or(call.first::<ToolCallRequested>().and_then(|request| request.fact.tool_version))
    };
    start.fact.tool_version.or_else(resolved)
}

fn registered(
    index: &Index<'_>,
    call: &Call<'_>,
    (tool, version): (&str, Digest),
    at: usize,
) -> bool {
    let shows = |view: &Seen<'_, ViewCompiled>| {
        let mut shown = view.fact.exposed.iter();
        shown.any(|shown| shown.tool_version == version && shown.tool_id.as_str() == tool)
    };
    let own = index.view_of(call);
    own.is_some_and(|view| shows(&view))
        || index
            .registered(tool)
            .iter()
            .take_while(|known| known.at < at)
            .any(|known| *known.version == version)
        || until(&index.views, at).iter().any(shows)
}

/// The last registration of the same tool under another version, and the start.
fn witnesses(index: &Index<'_>, tool: &str, start: Seen<'_, ToolCallStarted>) -> Vec<u64> {
    let known = index.registered(tool).last();
    let place = known.map(|known| known.at).or(index.view(start.at).map(|view| view.at));
    let seq = place.and_then(|place| index.entries.get(place)).map(|entry| entry.seq);
    seq.into_iter().chain([start.seq()]).collect()
}

/// B15, "every exposed tool has a reason and policy decision": no reason is blank, no exposed
/// tool is denied, every withheld tool names its filter; and each request rests on a view newer
/// than the last reply that made calls.
pub(super) fn view_explained(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for view in &index.views {
        tally.checked();
        explained(*view, tally);
    }
    let mut replied = None;
    for (at, entry) in index.entries.iter().enumerate() {
        match &entry.event {
            crate::journal::Event::ModelReplied(fact) if fact.calls > 0 => {
                replied = Some((at, entry.seq));
            }
            crate::journal::Event::ModelRequested(_) => {
                tally.checked();
                let view = index.view(at).map(|view| view.at);
                if view.is_none() || view < replied.map(|(at, _)| at) {
                    let events: Vec<u64> =
                        replied.iter().map(|(_, seq)| *seq).chain([entry.seq]).collect();
                    let message = "a model was asked without a view compiled for it";
                    tally.broken(None, &events, message.into());
                }
            }
            _ => {}
        }
    }
}

fn explained(view: Seen<'_, ViewCompiled>, tally: &mut Tally) {
    let blank = |text: &str| text.trim().is_empty();
    for tool in view.fact.exposed.iter() {
        let lack = match (blank(&tool.reason), tool.decision.as_str()) {
            (true, _) => "without a reason",
            (false, "deny") => "although policy denies it",
            (false, decision) if blank(decision) => "without a policy decision",
            (false, _) => continue,
        };
        tally.broken(None, &[view.seq()], format!("`{}` is shown {lack}", tool.tool_id));
    }
    for tool in view.fact.withheld.iter() {
        if blank(&tool.filter) || blank(&tool.reason) {
            let message = format!("`{}` is withheld without filter and reason", tool.tool_id);
            tally.broken(None, &[view.seq()], message);
        }
    }
}

/// B13, "read/write/destructive effects must be declared in descriptor": a success shows no
/// undeclared effect, and no tool starts whose verification says that it declared none.
pub(super) fn effects_declared(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for call in &index.calls {
        if let Some(start) = call.first::<ToolCallStarted>() {
            declared(index, call, start, tally);
        }
        let settled = call.first::<ToolCallSettled>();
        let Some(settled) = settled.filter(|seen| seen.fact.outcome == Outcome::Succeeded) else {
            continue;
        };
        // What was simulated or could not be observed says nothing about effects.
        let observed = call.each::<ToolCallFinished>().any(|finished| {
            finished.fact.effects.as_ref().is_none_or(ObservedEffects::sees_changes)
        });
        for validated in call.each::<ToolResultValidated>() {
            if observed || !validated.fact.undeclared.is_empty() {
                tally.checked();
            }
            if !validated.fact.undeclared.is_empty() {
                let message = format!(
                    "a call succeeded with {} effect(s) that its tool does not declare",
                    validated.fact.undeclared.len()
                );
                tally.broken(Some(call.id), &[validated.seq(), settled.seq()], message);
            }
        }
    }
}

fn declared<'a>(
    index: &Index<'a>,
    call: &Call<'a>,
    start: Seen<'a, ToolCallStarted>,
    tally: &mut Tally,
) {
    let (Some(tool), version) = (index.tool(call, start), version_of(call, start)) else { return };
    let verified = until(&index.verified, start.at).iter().rev().find(|seen| {
        seen.fact.tool_id.as_str() == tool
            && version.is_none_or(|version| seen.fact.tool_version == version)
    });
    let Some(verified) = verified else { return };
    if !verified.fact.effects_declared {
        let message = format!("`{tool}` started although it declares no effects");
        tally.broken(Some(call.id), &[verified.seq(), start.seq()], message);
    }
}
