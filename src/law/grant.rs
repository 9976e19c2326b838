//! Standing grants and the strength of authority: what a yes covers, for whom, and until when.

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use crate::base::digest::Digest;
use crate::journal::event::call::*;
use crate::journal::event::catalog::*;
use crate::journal::event::turn::TurnStarted;
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;

/// A, "the runtime clears every approved marker in the arguments and restores it on approved calls
/// only": a call that starts with the marker was approved before, by a yes or by a grant; and so a
/// marker that somebody wrote, and that was cleared, reaches no start of another call.
pub(super) fn marker_not_forged(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for start in call.each::<ToolCallStarted>() {
            let cleared = call.before::<ToolArgsValidated>(start.at);
            let cleared = cleared.filter(|seen| seen.fact.marker_cleared);
            if !start.fact.marker && cleared.is_none() {
                continue;
            }
            tally.checked();
            let approved = call.before::<ApprovalGranted>(start.at).is_some()
                || call.before::<GrantUsed>(start.at).is_some();
            if start.fact.marker && !approved {
                let message = "a call started marked as approved, and nobody had approved it";
                let seqs = cleared.map(|seen| seen.seq()).into_iter().chain([start.seq()]);
                tally.broken(Some(call.id), &seqs.collect::<Vec<_>>(), message.into());
            }
        }
    }
}

/// A, "always is a grant with version, principal, scope and expiry; each answer grants exactly the
/// printed scope": what a call uses was issued before, for its tool, its version and the session's
/// principal and tenant, has neither ended nor been revoked, and covers its effect class; and a
/// grant that came from an answer came from a yes for more than once, which its request had
/// offered, to a call of that tool. That no grant answers a strong question is for
/// `approval-binds`. A session that records no issue at all does not say.
pub(super) fn grant_within_scope(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let issued: Vec<Seen<'_, GrantIssued>> = index.each().collect();
    for grant in &issued {
        given(index, *grant, tally);
    }
    for call in &index.calls {
        for used in call.each::<GrantUsed>() {
            if issued.is_empty() {
                tally.unknown(|| format!("{} rests on a grant, and no issue is recorded", call.id));
                continue;
            }
            tally.checked();
            let mut earlier = issued.iter().rev().filter(|grant| grant.at < used.at);
            let grant = earlier.find(|grant| grant.fact.grant_id == used.fact.grant_id);
            let (seq, message) = match grant {
                None => (None, "a call used a grant that was never issued"),
                Some(grant) => match beyond(index, call, used, *grant) {
                    Some((seq, message)) => (Some(seq), message),
                    None => continue,
                },
            };
            let events: Vec<u64> = seq.into_iter().chain([used.seq()]).collect();
            tally.broken(Some(call.id), &events, message.into());
        }
    }
}

/// What a call uses its grant beyond, with the entry that shows it.
fn beyond<'a>(
    index: &Index<'a>,
    call: &Call<'a>,
    used: Seen<'a, GrantUsed>,
    grant: Seen<'a, GrantIssued>,
) -> Option<(u64, &'static str)> {
    let fact = grant.fact;
    let (tool, version) = called(call);
    let said = if tool.is_some_and(|tool| *tool != fact.tool_id) {
        "a call used a grant for another tool"
    } else if version.is_some_and(|version| version != fact.tool_version) {
        "a call used a grant for another version of its tool"
    } else if index.opened.is_some_and(|opened| opened.principal != fact.principal) {
        "a call used a grant of another principal"
    } else if index.opened.is_some_and(|opened| opened.tenant != fact.tenant) {
        "a call used a grant of another tenant"
    } else if fact.expires_at.is_some_and(|end| used.entry.at > end) {
        "a call used a grant that had ended"
    } else if fact.effect_class.is_some_and(|covers| class(call) > Some(covers)) {
        "a call used a grant for something milder"
    } else {
        let revoked = index.each::<GrantRevoked>().find(|seen| {
            seen.fact.grant_id == fact.grant_id && grant.at < seen.at && seen.at < used.at
        });
        return revoked.map(|seen| (seen.seq(), "a call used a grant that had been revoked"));
    };
    Some((grant.seq(), said))
}

/// The tool and version of a call: as validated, else as started.
fn called<'a>(call: &Call<'a>) -> (Option<&'a ToolId>, Option<Digest>) {
    let validated = call.last::<ToolArgsValidated>().map(|seen| seen.fact);
    let start = call.first::<ToolCallStarted>().map(|seen| seen.fact);
    let tool = validated.and_then(|fact| fact.tool_id.as_ref());
    let version = validated.and_then(|fact| fact.tool_version);
    (
        tool.or(start.and_then(|fact| fact.tool_id.as_ref())),
        version.or(start.and_then(|fact| fact.tool_version)),
    )
}

/// The strictest thing a call may do, as far as it is recorded.
fn class(call: &Call<'_>) -> Option<EffectClass> {
    let judged = call.last::<ToolPolicyChecked>().and_then(|seen| seen.fact.effect_class);
    judged.max(call.first::<ToolCallStarted>().and_then(|seen| seen.fact.effect_class))
}

/// A grant that came from an answer, held against the question.
fn given<'a>(index: &Index<'a>, grant: Seen<'a, GrantIssued>, tally: &mut Tally) {
    let Some(approval) = &grant.fact.approval_id else { return };
    let call = index.asked_by(approval);
    let asked = call.and_then(|call| {
        let mut asked = call.each::<ApprovalRequested>().filter(|seen| seen.at < grant.at);
        asked.rfind(|seen| seen.fact.approval_id == *approval)
    });
    let (Some(call), Some(asked)) = (call, asked) else {
        // What an earlier session was asked stands in its own journal.
        if index.each::<TurnStarted>().any(|turn| turn.at < grant.at) {
            tally.checked();
            let message = "a grant came from a question that was never asked".into();
            tally.broken(grant.entry.call.as_deref(), &[grant.seq()], message);
        }
        return;
    };
    tally.checked();
    let yes = call.each::<ApprovalGranted>().find(|yes| yes.fact.approval_id == *approval);
    let scope = yes.and_then(|yes| yes.fact.scope.as_deref());
    // An option begins with its word; what it covers may follow behind a colon.
    let offers = |option: &String| {
        let word = option.split_once(':').map_or(option.as_str(), |(word, _)| word);
        Some(word) == scope || word == grant.fact.scope
    };
    let (tool, version) = called(call);
    let message = if yes.is_none() {
        "a grant came from an answer that was no yes"
    } else if scope == Some("once") {
        "a yes for once became a grant"
    } else if !asked.fact.options.is_empty() && !asked.fact.options.iter().any(offers) {
        "a grant has a scope that its question did not offer"
    } else if tool.is_some_and(|tool| *tool != grant.fact.tool_id)
        || version.is_some_and(|version| version != grant.fact.tool_version)
    {
        "a grant covers another tool than the one that was asked about"
    } else {
        return;
    };
    tally.broken(Some(call.id), &[asked.seq(), grant.seq()], message.into());
}

/// A, "a grant that is revoked ends": after it, no call that rests on it starts, nor a further
/// attempt. Use of what had been revoked before is for `grant-within-scope`; a call with a yes of
/// its own does not rest on a grant.
pub(super) fn revoked_never_runs(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    let revoked: Vec<Seen<'_, GrantRevoked>> = index.each().collect();
    if revoked.is_empty() {
        return;
    }
    for call in &index.calls {
        if call.first::<ApprovalGranted>().is_some() {
            continue;
        }
        for used in call.each::<GrantUsed>() {
            let mut later = revoked.iter().filter(|seen| seen.at > used.at);
            let Some(end) = later.find(|seen| seen.fact.grant_id == used.fact.grant_id) else {
                continue;
            };
            tally.checked();
            if let Some(start) = call.each::<ToolCallStarted>().find(|start| start.at > end.at) {
                let message = "a call started on a grant that had been revoked".into();
                let events = [used.seq(), end.seq(), start.seq()];
                tally.broken(Some(call.id), &events, message);
            }
        }
    }
}

/// B14, "destructive tools must support dry-run or require stronger confirmation": a destructive
/// call starts only after a strong yes, under a rule that allows it, or on a grant (whose reach
/// `grant-within-scope` judges).
pub(super) fn destructive_stronger(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for start in call.each::<ToolCallStarted>() {
            let policy = call.before::<ToolPolicyChecked>(start.at);
            let judged = policy.and_then(|seen| seen.fact.effect_class);
            if start.fact.effect_class.max(judged) != Some(EffectClass::Destructive) {
                continue;
            }
            tally.checked();
            let ruled =
                policy.is_some_and(|p| p.fact.decision == "allow" && !p.fact.rules.is_empty());
            let yes = call.before::<ApprovalGranted>(start.at);
            let strong = yes.is_some_and(|yes| yes.fact.strong);
            if !ruled && !strong && call.before::<GrantUsed>(start.at).is_none() {
                let message = "a destructive call started without the stronger confirmation";
                let seqs = [policy.map(|seen| seen.seq()), yes.map(|seen| seen.seq())];
                let events: Vec<u64> = seqs.into_iter().flatten().chain([start.seq()]).collect();
                tally.broken(Some(call.id), &events, message.into());
            }
        }
    }
}
