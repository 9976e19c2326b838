//! Authority: who allowed it, and that what was allowed is what ran.

use super::index::{Call, Index, Seen};
use super::law::{Scene, Tally};
use crate::journal::event::call::*;
use crate::journal::event::catalog::GrantUsed;
use crate::tool::effect::EffectClass;

/// B5, "any external_write / destructive action must have explicit authorization unless policy
/// says otherwise": such a start follows an allow that names its rule, a yes, or a grant. Starts
/// whose effect class is not recorded are not judged.
pub(super) fn authority_explicit(scene: &mut Scene<'_>, tally: &mut Tally) {
    for call in &scene.index.calls {
        for start in call.each::<ToolCallStarted>() {
            let policy = call.before::<ToolPolicyChecked>(start.at);
            let judged = policy.and_then(|seen| seen.fact.effect_class);
            let class = start.fact.effect_class.max(judged);
            let Some(class) = class.filter(|class| *class >= EffectClass::External) else {
                continue;
            };
            tally.checked();
            let ruled =
                policy.is_some_and(|p| p.fact.decision == "allow" && !p.fact.rules.is_empty());
            let granted = call.before::<ApprovalGranted>(start.at).is_some()
                || call.before::<GrantUsed>(start.at).is_some();
            if !ruled && !granted {
                let name = class.name();
                let message = format!("a call of class {name} started on nobody's word");
                let events = policy.map(|seen| seen.seq()).into_iter().chain([start.seq()]);
                tally.broken(Some(call.id), &events.collect::<Vec<_>>(), message);
            }
        }
    }
}

/// B6, "approval preview args must match executed args, or approval becomes invalid": each yes is
/// addressed to a request of the same call, binds its digest, comes in time and is as strong as
/// was asked; and a start that policy wanted asked follows such a yes for the digest that runs. A
/// standing grant answers an ask, never a strong one.
pub(super) fn approval_binds(scene: &mut Scene<'_>, tally: &mut Tally) {
    let index = scene.index;
    for grant in index.each::<ApprovalGranted>() {
        tally.checked();
        let own = grant.entry.call.as_deref();
        let asked = index.asked_by(&grant.fact.approval_id);
        let id = own.or(asked.map(|call| call.id));
        let request = asked.and_then(|call| request(call, &grant));
        let request_seq = request.map(|seen| seen.seq());
        let strayed = own.is_some() && own != asked.map(|call| call.id);
        let message = match request {
            None => "a yes answers a request that was never made",
            Some(_) if strayed => "a yes to one call was recorded for another",
            Some(request) => match unbound(grant, request) {
                Some(message) => message,
                None => continue,
            },
        };
        let events: Vec<u64> = request_seq.into_iter().chain([grant.seq()]).collect();
        tally.broken(id, &events, message.into());
    }
    for call in &index.calls {
        for start in call.each::<ToolCallStarted>() {
            started_as_asked(index, call, start, tally);
        }
    }
}

fn request<'a>(
    call: &Call<'a>,
    grant: &Seen<'a, ApprovalGranted>,
) -> Option<Seen<'a, ApprovalRequested>> {
    let mut requests = call.each::<ApprovalRequested>().filter(|seen| seen.at < grant.at);
    requests.rfind(|seen| seen.fact.approval_id == grant.fact.approval_id)
}

fn unbound(
    grant: Seen<'_, ApprovalGranted>,
    request: Seen<'_, ApprovalRequested>,
) -> Option<&'static str> {
    if grant.fact.call_digest != request.fact.call_digest {
        Some("a yes is for another call than the one shown")
    } else if request.fact.expires_at.is_some_and(|end| grant.entry.at > end) {
        Some("a yes came after its request had expired")
    } else if request.fact.strong && !grant.fact.strong {
        Some("a plain yes answered a request for the stronger confirmation")
    } else {
        None
    }
}

fn started_as_asked<'a>(
    index: &Index<'a>,
    call: &Call<'a>,
    start: Seen<'a, ToolCallStarted>,
    tally: &mut Tally,
) {
    let policy = call.before::<ToolPolicyChecked>(start.at);
    let decision = policy.map_or("", |policy| policy.fact.decision.as_str());
    let grant = call.before::<ApprovalGranted>(start.at);
    let strong = decision == "strong_ask";
    if !strong && decision != "ask" && grant.is_none() {
        return;
    }
    tally.checked();
    let standing = call.before::<GrantUsed>(start.at).is_some();
    let asked_at = policy.map(|policy| policy.seq());
    let (events, message) = match grant {
        None if standing && !strong => return,
        None => (vec![start.seq()], "a call that had to be asked started without a yes"),
        Some(grant) if strong && !grant.fact.strong => {
            (vec![grant.seq(), start.seq()], "a plain yes started a call that needed a strong one")
        }
        Some(grant) => {
            let asked = index.asked_by(&grant.fact.approval_id);
            let asked = asked.and_then(|call| request(call, &grant));
            let digest = asked.map_or(grant.fact.call_digest, |asked| asked.fact.call_digest);
            if start.fact.call_digest.is_none_or(|runs| runs == digest) {
                return;
            }
            (vec![grant.seq(), start.seq()], "what started is not what was shown and granted")
        }
    };
    let events: Vec<u64> = asked_at.into_iter().chain(events).collect();
    tally.broken(Some(call.id), &events, message.into());
}
