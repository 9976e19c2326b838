//! What may be called at all: sandboxes, sources, evidence, delegates, activation, intent.

use std::collections::BTreeMap;

use super::index::{Call, Index, Seen, until};
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::catalog::*;
use crate::journal::event::turn::*;
use crate::journal::outcome::Outcome;
use crate::tool::id::ToolId;

/// B10, "the sandbox policy must be resolved before a local command runs": a sandbox is prepared
/// before each start and after the last rewriting, and what asks for one is not run with nothing
/// enforced. Where the session neither names a sandbox's mode nor plans its dispatch, only a start
/// with a command line must have one; of others the journal does not say.
///
/// Who says that the kernel enforces it in full names what does: everything that every confined
/// command has, and something that limits how many processes there are.
pub(super) fn sandbox_before_start(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let kept = index.each::<ToolSandboxPrepared>().any(|seen| seen.fact.mode.is_some())
        || index.has::<DispatchPlanned>();
    for call in &index.calls {
        for start in call.each::<ToolCallStarted>() {
            let sandbox = call.before::<ToolSandboxPrepared>(start.at);
            let since = call.rewritten(start.at);
            let Some(sandbox) = sandbox.filter(|sandbox| sandbox.at >= since) else {
                if kept || start.fact.command.is_some() {
                    tally.checked();
                    let message = "a call started before its sandbox was prepared".into();
                    tally.broken(Some(call.id), &[start.seq()], message);
                } else {
                    tally.unknown(|| format!("no sandbox of {} is recorded", call.id));
                }
                continue;
            };
            tally.checked();
            let asks = sandbox.fact.mode.as_deref().is_some_and(|mode| mode != "none");
            if asks && sandbox.fact.enforcement.as_deref() == Some("none") {
                let message = "a call started with nothing enforced of the sandbox it asks for";
                tally.broken(Some(call.id), &[sandbox.seq(), start.seq()], message.into());
            }
            if let Some(name) = unnamed(sandbox.fact) {
                let message = format!("a call started confined in full, without `{name}`");
                tally.broken(Some(call.id), &[sandbox.seq(), start.seq()], message);
            }
        }
    }
}

/// What every command has that is confined in full, sorted.
pub(super) const CONFINED: [&str; 15] = [
    "blocked_paths",
    "capabilities",
    "descriptors",
    "environment",
    "ipc_namespace",
    "landlock_files",
    "landlock_scope",
    "mount_namespace",
    "name_namespace",
    "no_new_privileges",
    "process_namespace",
    "rlimits",
    "seccomp",
    "session",
    "user_namespace",
];

/// Of what limits the number of processes one is enough.
pub(super) const PROCESSES: [&str; 2] = ["cgroup_processes", "rlimit_processes"];

/// The first mechanism that a confinement in full does not name.
fn unnamed(fact: &ToolSandboxPrepared) -> Option<&'static str> {
    let named = |name: &&str| fact.mechanisms.iter().any(|one| one == name);
    let full = fact.enforcement.as_deref() == Some("full");
    let lacks = CONFINED.iter().find(|name| !named(name)).copied();
    let processes = (!PROCESSES.iter().any(named)).then_some(PROCESSES[0]);
    lacks.or(processes).filter(|_| full)
}

/// B11, "MCP-discovered tools must be normalized and policy-filtered before model exposure": a tool
/// of that source is shown only after exactly that version was normalized or verified, and one
/// that was discovered there is enabled only in the version that was normalized since. Where the
/// session registers nothing at all, the journal does not say.
pub(super) fn mcp_normalized(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let normalized: Vec<Seen<'_, ToolNormalized>> = index.each().collect();
    for (found, enabled) in enabled_from(index, "mcp") {
        tally.checked();
        let fact = enabled.fact;
        let mut since = until(&normalized, enabled.at).iter().filter(|seen| seen.at > found.at);
        let own = since.rfind(|seen| seen.fact.tool_id == fact.tool_id);
        if own.is_none_or(|own| own.fact.tool_version != fact.tool_version) {
            let message = format!(
                "`{}` came over MCP and was enabled in a version that was not normalized",
                fact.tool_id
            );
            tally.broken(None, &[found.seq(), enabled.seq()], message);
        }
    }
    for view in &index.views {
        let foreign = view.fact.exposed.iter().filter(|t| t.source.as_deref() == Some("mcp"));
        for tool in foreign {
            if !index.registers() {
                tally.unknown(|| format!("no tool is registered, and `{}` is shown", tool.tool_id));
                continue;
            }
            tally.checked();
            let own = (&tool.tool_id, tool.tool_version);
            let is = |id, version| (id, version) == own;
            let known = until(&normalized, view.at)
                .iter()
                .any(|seen| is(&seen.fact.tool_id, seen.fact.tool_version))
                || until(&index.verified, view.at)
                    .iter()
                    .any(|seen| is(&seen.fact.tool_id, seen.fact.tool_version));
            if !known {
                let message = format!(
                    "`{}` version {} came over MCP and was shown before it was normalized",
                    tool.tool_id,
                    tool.tool_version.short()
                );
                tally.broken(None, &[view.seq()], message);
            }
        }
    }
}

/// B12, "skill scripts must be registered as tools before execution": what starts from a skill was
/// shown in its call's view, and was registered in the version shown there before it started; and
/// a script that was discovered is enabled only in a version that was verified since. Where the
/// session registers nothing at all, the journal does not say.
pub(super) fn skill_scripts_registered(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for (found, enabled) in enabled_from(index, "skill") {
        tally.checked();
        let fact = enabled.fact;
        let known = until(&index.verified, enabled.at).iter().any(|seen| {
            seen.at > found.at
                && (&seen.fact.tool_id, seen.fact.tool_version)
                    == (&fact.tool_id, fact.tool_version)
        });
        if !known {
            let message = format!("`{}` of a skill was enabled and not verified", fact.tool_id);
            tally.broken(None, &[found.seq(), enabled.seq()], message);
        }
    }
    let normalized: Vec<Seen<'_, ToolNormalized>> = index.each().collect();
    let is_skill = |source: &Option<String>| source.as_deref() == Some("skill");
    for call in &index.calls {
        let Some(start) = call.first::<ToolCallStarted>() else { continue };
        let Some(tool) = index.tool(call, start) else { continue };
        let shown = shown(index, call, tool);
        let elsewhere = || {
            let mut shows = index.views.iter().flat_map(|view| view.fact.exposed.iter());
            shows.any(|shown| shown.tool_id.as_str() == tool && is_skill(&shown.source))
                || normalized
                    .iter()
                    .any(|seen| seen.fact.tool_id.as_str() == tool && is_skill(&seen.fact.source))
        };
        match shown {
            Some(shown) if !is_skill(&shown.source) => {}
            Some(_) if !index.registers() => {
                tally.unknown(|| format!("no tool is registered, and {} started", call.id));
            }
            Some(shown) => {
                tally.checked();
                if !registered(index, tool, Some(&shown.tool_version), start.at) {
                    let message = format!("`{tool}` of a skill started and was never registered");
                    tally.broken(Some(call.id), &[start.seq()], message);
                }
            }
            None if index.view_of(call).is_some() && elsewhere() => {
                tally.checked();
                let message =
                    format!("`{tool}` of a skill started in a view that does not show it");
                let view = index.view_of(call).map(|view| view.seq());
                let events: Vec<u64> = view.into_iter().chain([start.seq()]).collect();
                tally.broken(Some(call.id), &events, message);
            }
            None => {}
        }
    }
}

/// What was enabled of a source, each with the place where it was last discovered there.
fn enabled_from<'i, 'a>(
    index: &'i Index<'a>,
    source: &'i str,
) -> impl Iterator<Item = (Seen<'a, ToolDiscovered>, Seen<'a, ToolEnabled>)> + 'i {
    let found: Vec<Seen<'a, ToolDiscovered>> = index.each().collect();
    index.each::<ToolEnabled>().filter_map(move |enabled| {
        let mut earlier = until(&found, enabled.at).iter().rev();
        let last = earlier.find(|seen| seen.fact.tool_id == enabled.fact.tool_id)?;
        (last.fact.source.as_deref() == Some(source)).then_some((*last, enabled))
    })
}

/// How the view of a call shows a tool.
fn shown<'a>(index: &Index<'a>, call: &Call<'a>, tool: &str) -> Option<&'a ExposedTool> {
    let view = index.view_of(call)?;
    view.fact.exposed.iter().find(|shown| shown.tool_id.as_str() == tool)
}

/// Whether a tool was registered before a place, in a version where one is given.
fn registered(index: &Index<'_>, tool: &str, version: Option<&Digest>, at: usize) -> bool {
    let mut earlier = index.registered(tool).iter().take_while(|known| known.at < at);
    earlier.any(|known| version.is_none_or(|version| version == known.version))
}

/// B16, "tool selection quality must be regression-tested with golden prompts": outside of
/// evaluations a tool is enabled only on evidence of them.
pub(super) fn golden_before_enable(scene: &mut Scene<'_>, tally: &mut Tally) {
    for enabled in scene.index.each::<ToolEnabled>() {
        if enabled.fact.scope == "evaluation" {
            continue;
        }
        tally.checked();
        if enabled.fact.evidence.is_none() {
            let tool = &enabled.fact.tool_id;
            let message = format!("`{tool}` was enabled without evidence of golden prompts");
            tally.broken(None, &[enabled.seq()], message);
        }
    }
}

/// Filters of a view that arrange a request and bound nothing.
const ARRANGING: [&str; 3] = ["group", "deferred", "budget"];

/// A, "a delegate carries what it was granted, and never more than its parent has": its tools are
/// shown in the parent's view in force, or, where it is scoped, kept out of it by nothing but an
/// arrangement; its scopes are the session's; it ends once, before its
/// call does, unless that was torn down; and no delegate ends that never began.
pub(super) fn child_within_parent(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let ends: Vec<_> = index.each::<DelegateFinished>().collect();
    let mut begun: BTreeMap<&str, usize> = BTreeMap::new();
    for child in index.each::<DelegateStarted>() {
        *begun.entry(&child.fact.child).or_default() += 1;
        within(index, child, tally);
        let ended = ends.iter().any(|e| e.at > child.at && e.fact.child == child.fact.child);
        let call = child.entry.call.as_deref().and_then(|call| index.call(call));
        let settled = call.and_then(|call| call.first::<ToolCallSettled>());
        if let Some(settled) = settled {
            let torn = settled.fact.outcome == Outcome::Interrupted;
            tally.checked();
            if !ended && !torn {
                let message = "a delegate never ended although its call did".into();
                tally.broken(call.map(|call| call.id), &[child.seq(), settled.seq()], message);
            }
        }
    }
    for end in &ends {
        let left = begun.get_mut(end.fact.child.as_str()).filter(|left| **left > 0);
        let message = match left {
            Some(left) => {
                *left -= 1;
                continue;
            }
            None => "a delegate ended that had not begun, or had ended before",
        };
        tally.checked();
        tally.broken(end.entry.call.as_deref(), &[end.seq()], message.into());
    }
}

fn within(index: &Index<'_>, child: Seen<'_, DelegateStarted>, tally: &mut Tally) {
    let call = child.entry.call.as_deref();
    let view = match call.and_then(|call| index.call(call)) {
        Some(call) => index.view_of(call),
        None => index.view(child.at),
    };
    match view {
        None if child.fact.tools.is_empty() => {}
        None => tally.unknown(|| format!("no view is recorded that `{}` had", child.fact.child)),
        Some(view) => {
            tally.checked();
            let arranged = |held: &&WithheldTool| ARRANGING.contains(&&*held.filter);
            let shows = |tool: &ToolId| {
                let mut held = view.fact.withheld.iter().filter(arranged);
                view.fact.exposed.iter().any(|shown| shown.tool_id == *tool)
                    || (child.fact.scoped && held.any(|held| held.tool_id == *tool))
            };
            if let Some(tool) = child.fact.tools.iter().find(|tool| !shows(tool)) {
                let message = format!("a delegate was given `{tool}`, which its parent lacks");
                tally.broken(call, &[view.seq(), child.seq()], message);
            }
        }
    }
    let Some(opened) = index.opened else { return };
    tally.checked();
    if let Some(scope) = child.fact.scopes.iter().find(|scope| !opened.scopes.contains(scope)) {
        let message = format!("a delegate was given the scope `{scope}`, which its parent lacks");
        tally.broken(call, &[child.seq()], message);
    }
}

/// A, "activation is visible from the next request on, grants nothing, and never exceeds the
/// registry and the deny lists": what is activated is registered, neither excluded nor blocked,
/// and starts afterwards only for a call whose own view shows it; and no view shows more than is
/// registered. MCP tools in views are for `mcp-normalized`, skills for `skill-scripts-registered`.
pub(super) fn activation_grants_nothing(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for view in &index.views {
        if !index.registers() {
            break;
        }
        tally.checked();
        let mut own = view
            .fact
            .exposed
            .iter()
            .filter(|tool| !matches!(tool.source.as_deref(), Some("mcp" | "skill")));
        let lacks = own.find(|tool| !registered(index, tool.tool_id.as_str(), None, view.at));
        if let Some(tool) = lacks {
            let message = format!("`{}` is shown and not registered", tool.tool_id);
            tally.broken(None, &[view.seq()], message);
        }
    }
    let mut activated: BTreeMap<&str, Seen<'_, ToolActivated>> = BTreeMap::new();
    for seen in index.each::<ToolActivated>() {
        activated.entry(seen.fact.tool_id.as_str()).or_insert(seen);
        activatable(index, seen, tally);
    }
    for call in &index.calls {
        let Some(start) = call.first::<ToolCallStarted>() else { continue };
        let tool = index.tool(call, start).and_then(|tool| activated.get(tool));
        let (Some(seen), Some(view)) = (tool, index.view_of(call)) else { continue };
        if seen.at > start.at {
            continue;
        }
        tally.checked();
        let tool = &seen.fact.tool_id;
        if shown(index, call, tool.as_str()).is_none() {
            let message = format!("`{tool}` started right after it was activated, in no view yet");
            tally.broken(Some(call.id), &[view.seq(), seen.seq(), start.seq()], message);
        }
    }
}

fn activatable(index: &Index<'_>, seen: Seen<'_, ToolActivated>, tally: &mut Tally) {
    let tool = seen.fact.tool_id.as_str();
    let excluded =
        index.opened.is_some_and(|opened| opened.excluded_tools.contains(&seen.fact.tool_id));
    let blocked = until(&index.blocked, seen.at).iter().find(|b| b.fact.tool_id.as_str() == tool);
    let events: Vec<u64> = blocked.map(|seen| seen.seq()).into_iter().chain([seen.seq()]).collect();
    let lack = match (excluded, blocked) {
        (true, _) => "is excluded",
        (false, Some(_)) => "was blocked",
        (false, None) if !index.registers() => {
            return tally.unknown(|| format!("no tool is registered, and `{tool}` was activated"));
        }
        (false, None) if registered(index, tool, None, seen.at) => return tally.checked(),
        (false, None) => "was never registered",
    };
    tally.checked();
    let call = seen.entry.call.as_deref();
    tally.broken(call, &events, format!("`{tool}` {lack} and was activated"));
}

/// B, "is this call beyond the user's intent?": what policy found beyond the declared intent is
/// asked or denied, unless a rule allows it.
pub(super) fn intent_respected(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for policy in call.each::<ToolPolicyChecked>() {
            if policy.fact.intent.as_deref() != Some("beyond") {
                continue;
            }
            tally.checked();
            if policy.fact.decision == "allow" && policy.fact.rules.is_empty() {
                let message = "a call beyond the declared intent was allowed by no rule".into();
                tally.broken(Some(call.id), &[policy.seq()], message);
            }
        }
    }
}
