//! Mistakes in answers, grants, markers, and in what an outcome says of them.

use super::guard::{denied, end, failed, set_class, settled};
use super::*;
use crate::journal::event::catalog::{GrantIssued, GrantRevoked, GrantUsed, ServerConsented};
use crate::journal::outcome::{Denier, Outcome};
use crate::tool::effect::EffectClass;

type Maybe = Option<Altered>;

/// A request that reached nobody in a session without an approver, and the end of its call.
fn unreachable(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<ApprovalUnreachable>().find_map(|(at, _)| {
        let (_, opened) = record.opened(at)?;
        let (end, _) = record.one::<ToolCallSettled>(at)?;
        (opened.approver.as_deref() == Some("none")).then_some((at, end))
    })
}

pub(super) fn yes_from_nobody(record: &Record<'_>) -> Maybe {
    let (at, _) = unreachable(record)?;
    let (_, asked) = record.one::<ApprovalRequested>(at)?;
    let (id, digest) = (asked.approval_id.clone(), asked.call_digest);
    let mut yes = ApprovalGranted::new(id, digest, "nobody".into(), "none".into());
    yes.strong = asked.strong;
    record.edit(|entries| {
        entries.get_mut(at)?.event = yes.into();
        Some(())
    })
}

pub(super) fn no_from_nobody(record: &Record<'_>) -> Maybe {
    let (at, end) = unreachable(record)?;
    let (_, fact) = record.one::<ApprovalUnreachable>(at)?;
    let no = ApprovalDenied::new(fact.approval_id.clone(), "nobody".into(), "none".into());
    record.edit(|entries| {
        entries.get_mut(at)?.event = no.into();
        alter(entries, end, |fact: &mut ToolCallSettled| fact.outcome = denied(Denier::Operator))
    })
}

pub(super) fn forge_marker(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ToolCallStarted>().find(|(at, start)| {
        let policy = record.one::<ToolPolicyChecked>(*at);
        let allowed = policy.is_some_and(|(place, fact)| place < *at && fact.decision == "allow");
        let approved = record.has::<ApprovalGranted>(*at) || record.has::<GrantUsed>(*at);
        allowed && !approved && !start.marker
    })?;
    record.alter(at, |fact: &mut ToolCallStarted| fact.marker = true)
}

pub(super) fn unapprove_marked(record: &Record<'_>) -> Maybe {
    let (asked, yes, policy) = record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let (asked, request) = record.one::<ApprovalRequested>(at)?;
        let (yes, _) = record.one::<ApprovalGranted>(at)?;
        let (policy, _) = record.one::<ToolPolicyChecked>(at)?;
        let from = |(_, grant): At<'_, GrantIssued>| {
            grant.approval_id.as_ref() == Some(&request.approval_id)
        };
        let lasting = record.has::<GrantUsed>(at) || record.in_session(at).any(from);
        (start.marker && !lasting && asked < yes && yes < at).then_some((asked, yes, policy))
    })?;
    record.edit(|entries| {
        alter(entries, policy, |fact: &mut ToolPolicyChecked| {
            fact.decision = "allow".into();
            fact.rules.push("mutant".into());
        })?;
        entries.remove(yes);
        entries.remove(asked);
        Some(())
    })
}

/// A use of a grant and the issue it names.
fn used<'a>(
    record: &Record<'a>,
    fits: impl Fn(At<'a, GrantUsed>) -> bool,
) -> Option<(usize, usize)> {
    record.each::<GrantUsed>().find_map(|(at, fact)| {
        let mut issued = record.in_session::<GrantIssued>(at);
        let (issue, _) = issued.find(|(_, issue)| issue.grant_id == fact.grant_id)?;
        (issue < at && fits((at, fact))).then_some((at, issue))
    })
}

fn alter_issue(record: &Record<'_>, change: impl FnOnce(&mut GrantIssued)) -> Maybe {
    let (_, issue) = used(record, |_| true)?;
    record.alter(issue, change)
}

pub(super) fn forge_grant(record: &Record<'_>) -> Maybe {
    let (at, _) = used(record, |_| true)?;
    record.alter(at, |fact: &mut GrantUsed| fact.grant_id = "nobody issued".into())
}

pub(super) fn grant_other_tool(record: &Record<'_>) -> Maybe {
    alter_issue(record, |fact| fact.tool_id = ToolId::sanitized("never.registered"))
}

pub(super) fn grant_other_version(record: &Record<'_>) -> Maybe {
    alter_issue(record, |fact| fact.tool_version = other())
}

pub(super) fn grant_other_principal(record: &Record<'_>) -> Maybe {
    alter_issue(record, |fact| fact.principal.push_str(" of another house"))
}

pub(super) fn grant_other_tenant(record: &Record<'_>) -> Maybe {
    alter_issue(record, |fact| fact.tenant = Some("another house".to_owned()))
}

pub(super) fn expired_grant(record: &Record<'_>) -> Maybe {
    let (at, issue) = used(record, |_| true)?;
    let end = record.entry(at)?.at.checked_sub(1)?;
    record.alter(issue, |fact: &mut GrantIssued| fact.expires_at = Some(end))
}

pub(super) fn grant_too_weak(record: &Record<'_>) -> Maybe {
    let (_, issue) = used(record, |(at, _)| {
        let policy = record.one::<ToolPolicyChecked>(at);
        policy.is_some_and(|(_, fact)| fact.effect_class > Some(EffectClass::Read))
    })?;
    record.alter(issue, |fact: &mut GrantIssued| fact.effect_class = Some(EffectClass::Read))
}

fn revocation(record: &Record<'_>, at: usize) -> Option<GrantRevoked> {
    record.one::<GrantUsed>(at).map(|(_, fact)| GrantRevoked::new(fact.grant_id.clone()))
}

pub(super) fn use_after_revoke(record: &Record<'_>) -> Maybe {
    let (at, _) = used(record, |_| true)?;
    record.insert(at, false, revocation(record, at)?)
}

/// An issue that came from an answer, its request and its yes.
fn answered(record: &Record<'_>) -> Option<(usize, usize)> {
    record.each::<GrantIssued>().find_map(|(at, issue)| {
        let approval = issue.approval_id.as_ref()?;
        let mut asked = record.in_session::<ApprovalRequested>(at);
        let (asked, request) = asked.find(|(_, fact)| fact.approval_id == *approval)?;
        let mut yes = record.in_session::<ApprovalGranted>(at);
        let (yes, _) = yes.find(|(_, fact)| fact.approval_id == *approval)?;
        (!request.options.is_empty()).then_some((asked, yes))
    })
}

pub(super) fn grant_not_offered(record: &Record<'_>) -> Maybe {
    let (asked, _) = answered(record)?;
    record.alter(asked, |fact: &mut ApprovalRequested| fact.options = vec!["no".into()])
}

pub(super) fn grant_from_once(record: &Record<'_>) -> Maybe {
    let (_, yes) = answered(record)?;
    record.alter(yes, |fact: &mut ApprovalGranted| fact.scope = Some("once".into()))
}

/// The starts of a call that rests on a grant which no later call uses.
fn resting(record: &Record<'_>) -> Option<Vec<usize>> {
    record.each::<GrantUsed>().find_map(|(at, fact)| {
        let mut later = record.in_session::<GrantUsed>(at).filter(|(place, _)| *place > at);
        let last = !later.any(|(_, other)| other.grant_id == fact.grant_id);
        let starts: Vec<usize> = record.of_call::<ToolCallStarted>(at).map(|(at, _)| at).collect();
        let own = record.has::<ApprovalGranted>(at) || starts.first().is_none_or(|s| *s < at);
        (last && !own).then_some(starts)
    })
}

pub(super) fn revoke_before_start(record: &Record<'_>) -> Maybe {
    let start = resting(record)?.first().copied()?;
    record.insert(start, false, revocation(record, start)?)
}

pub(super) fn revoke_before_retry(record: &Record<'_>) -> Maybe {
    let start = resting(record)?.get(1).copied()?;
    record.insert(start, false, revocation(record, start)?)
}

pub(super) fn advance_revocation(record: &Record<'_>) -> Maybe {
    let (revoked, start) = record.each::<GrantRevoked>().find_map(|(at, fact)| {
        let used = |(_, used): &At<'_, GrantUsed>| used.grant_id == fact.grant_id;
        let (place, _) = record.in_session::<GrantUsed>(at).rfind(used)?;
        let (start, _) = record.one::<ToolCallStarted>(place)?;
        let own = record.has::<ApprovalGranted>(place);
        (!own && place < start && start < at).then_some((at, start))
    })?;
    record.shift(revoked, start)
}

/// A call that ended as denied by somebody and never started.
fn denied_by(record: &Record<'_>, who: Denier) -> Option<usize> {
    settled(record, |(at, fact)| {
        let own = matches!(fact.outcome, Outcome::Denied { by, .. } if by == who);
        (own && !record.has::<ToolCallStarted>(at)).then_some(at)
    })
}

fn denied_by_policy(record: &Record<'_>) -> Option<usize> {
    let at = denied_by(record, Denier::Policy)?;
    let (_, policy) = record.one::<ToolPolicyChecked>(at)?;
    (policy.decision == "deny").then_some(at)
}

fn denied_by_person(record: &Record<'_>) -> Option<usize> {
    let at = denied_by(record, Denier::Operator)?;
    record.has::<ApprovalDenied>(at).then_some(at)
}

pub(super) fn blame_policy_for_arguments(record: &Record<'_>) -> Maybe {
    let at = settled(record, |(at, fact)| {
        let rejected = matches!(fact.outcome, Outcome::Rejected { .. });
        let (_, validated) = record.one::<ToolArgsValidated>(at)?;
        (rejected && validated.status == "failed").then_some(at)
    })?;
    end(record, at, denied(Denier::Policy))
}

pub(super) fn reject_what_was_denied(record: &Record<'_>) -> Maybe {
    end(record, denied_by_policy(record)?, Outcome::Rejected { errors: Vec::new() })
}

pub(super) fn replace_what_was_denied(record: &Record<'_>) -> Maybe {
    end(record, denied_by_policy(record)?, Outcome::Replaced)
}

pub(super) fn fail_what_never_ran(record: &Record<'_>) -> Maybe {
    end(record, denied_by_policy(record)?, failed())
}

pub(super) fn blame_policy_for_a_person(record: &Record<'_>) -> Maybe {
    end(record, denied_by_person(record)?, denied(Denier::Policy))
}

pub(super) fn timeout_as_no(record: &Record<'_>) -> Maybe {
    let at = denied_by(record, Denier::ApprovalTimeout)?;
    record.has::<ApprovalExpired>(at).then(|| end(record, at, denied(Denier::Operator)))?
}

pub(super) fn unreachable_as_no(record: &Record<'_>) -> Maybe {
    let at = denied_by(record, Denier::NoApprover)?;
    record.has::<ApprovalUnreachable>(at).then(|| end(record, at, denied(Denier::Operator)))?
}

pub(super) fn nameless_decision(record: &Record<'_>) -> Maybe {
    if let Some((at, _)) = record.each::<ApprovalDenied>().next() {
        return record.alter(at, |fact: &mut ApprovalDenied| fact.decider.clear());
    }
    let (at, _) = record.each::<ApprovalGranted>().next()?;
    record.alter(at, |fact: &mut ApprovalGranted| fact.decider.clear())
}

pub(super) fn answer_twice(record: &Record<'_>) -> Maybe {
    let no = record.each::<ApprovalDenied>().next().map(|(at, _)| at);
    let yes = || record.each::<ApprovalGranted>().next().map(|(at, _)| at);
    record.repeat(no.or_else(yes)?)
}

pub(super) fn answer_nobody_asked(record: &Record<'_>) -> Maybe {
    let (at, _) = record.each::<ApprovalDenied>().next()?;
    record.alter(at, |fact: &mut ApprovalDenied| fact.approval_id = "nobody asked".into())
}

pub(super) fn cross_answers(record: &Record<'_>) -> Maybe {
    let (at, id) = record.each::<ApprovalDenied>().find_map(|(at, fact)| {
        let mut asked = record.in_session::<ApprovalRequested>(at);
        let (_, other) =
            asked.find(|(place, other)| *place < at && other.approval_id != fact.approval_id)?;
        Some((at, other.approval_id.clone()))
    })?;
    record.alter(at, |fact: &mut ApprovalDenied| fact.approval_id = id)
}

pub(super) fn ask_plainly(record: &Record<'_>) -> Maybe {
    let (policy, asked, yes) = record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let (policy, fact) = record.one::<ToolPolicyChecked>(at)?;
        let (asked, _) = record.one::<ApprovalRequested>(at)?;
        let (yes, granted) = record.one::<ApprovalGranted>(at)?;
        let strong = granted.strong && fact.decision == "strong_ask";
        let destroys = start.effect_class == Some(EffectClass::Destructive);
        (strong && destroys && !record.has::<GrantUsed>(at)).then_some((policy, asked, yes))
    })?;
    record.edit(|entries| {
        alter(entries, policy, |fact: &mut ToolPolicyChecked| fact.decision = "ask".into())?;
        alter(entries, asked, |fact: &mut ApprovalRequested| fact.strong = false)?;
        alter(entries, yes, |fact: &mut ApprovalGranted| fact.strong = false)
    })
}

pub(super) fn raise_asked_effect(record: &Record<'_>) -> Maybe {
    let at = record.each::<ToolCallStarted>().find_map(|(at, start)| {
        let (_, yes) = record.one::<ApprovalGranted>(at)?;
        let external = start.effect_class == Some(EffectClass::External);
        (external && !yes.strong && !record.has::<GrantUsed>(at)).then_some(at)
    })?;
    set_class(record, at, EffectClass::Destructive)
}

/// An allowed policy check whose rules and intent fit.
fn policy<'a>(
    record: &Record<'a>,
    fits: impl Fn(usize, &'a ToolPolicyChecked) -> bool,
) -> Option<usize> {
    record.each::<ToolPolicyChecked>().find(|(at, fact)| fits(*at, fact)).map(|(at, _)| at)
}

fn beyond(fact: &ToolPolicyChecked) -> bool {
    fact.intent.as_deref() == Some("beyond")
}

pub(super) fn beyond_and_allowed(record: &Record<'_>) -> Maybe {
    let at = policy(record, |_, fact| fact.decision == "allow" && fact.rules.is_empty())?;
    record.alter(at, |fact: &mut ToolPolicyChecked| fact.intent = Some("beyond".into()))
}

pub(super) fn allow_beyond(record: &Record<'_>) -> Maybe {
    let at = policy(record, |at, fact| {
        let ran = record.has::<ToolCallStarted>(at) && record.has::<ApprovalGranted>(at);
        beyond(fact) && ran && fact.decision == "ask" && fact.rules.is_empty()
    })?;
    record.alter(at, |fact: &mut ToolPolicyChecked| fact.decision = "allow".into())
}

pub(super) fn erase_intent_rule(record: &Record<'_>) -> Maybe {
    let at = policy(record, |_, fact| {
        let mild = fact.effect_class < Some(EffectClass::External);
        beyond(fact) && mild && fact.decision == "allow" && !fact.rules.is_empty()
    })?;
    record.alter(at, |fact: &mut ToolPolicyChecked| fact.rules.clear())
}

/// The only consent before a call that goes to its server.
fn consent(record: &Record<'_>) -> Option<usize> {
    record.each::<ToolSandboxPrepared>().find_map(|(at, prepared)| {
        let server = prepared.server_id.as_ref()?;
        let (start, _) = record.of_call::<ToolCallStarted>(at).find(|(start, _)| *start > at)?;
        let mut all = record.in_session::<ServerConsented>(at);
        let fits = |(_, fact): &At<'_, ServerConsented>| fact.server_id == *server;
        let (place, _) = all.find(fits)?;
        (!all.any(|one| fits(&one)) && place < start).then_some(place)
    })
}

pub(super) fn drop_consent(record: &Record<'_>) -> Maybe {
    record.drop(consent(record)?)
}

pub(super) fn consent_to_another(record: &Record<'_>) -> Maybe {
    record.alter(consent(record)?, |fact: &mut ServerConsented| fact.identity = other())
}

pub(super) fn consent_of_another(record: &Record<'_>) -> Maybe {
    record.alter(consent(record)?, |fact: &mut ServerConsented| {
        fact.principal.push_str(" of another house");
    })
}
