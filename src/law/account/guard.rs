//! What stood between the wish and the act: arguments, identity, approval, sandbox.

use serde_json::Value;

use super::{Scene, Told, list, quote};
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::catalog::{GrantIssued, GrantUsed};
use crate::journal::outcome::{Denier, Outcome};

pub(super) fn arguments_from(scene: &Scene<'_>) -> Told {
    let Some(asked) = scene.call.first::<ToolCallRequested>() else {
        return Told::unknown("the journal records no ToolCallRequested", []);
    };
    let (mut said, mut facts) = (Vec::new(), vec![asked.seq()]);
    let by = asked.fact.proposed_by.as_deref();
    let who = match by {
        Some(who) => format!("the {who}"),
        None => "whoever asked".to_owned(),
    };
    if let Some(who) = by {
        said.push(format!("The {who} wrote them"));
    }
    let mut origins: Vec<(String, String)> = Vec::new();
    let mut args = asked.fact.args.as_ref();
    origin(&mut origins, None, args, &who);
    for seen in scene.call.each::<ToolCallRewritten>() {
        let hook = seen.fact.by.as_deref().unwrap_or("no name");
        said.push(format!("the hook {hook} rewrote the call"));
        facts.push(seen.seq());
        origin(&mut origins, args, seen.fact.args.as_ref(), &format!("the hook {hook}"));
        args = seen.fact.args.as_ref().or(args);
    }
    if let Some(checked) = scene.call.last::<ToolArgsValidated>() {
        let fact = checked.fact;
        if fact.blank {
            said.push("blank text stood for no arguments".to_owned());
        }
        if fact.marker_cleared {
            said.push("an approval marker was cleared".to_owned());
        }
        if !fact.defaults.is_empty() {
            said.push(format!("the envelope filled in {}", list(&fact.defaults)));
        }
        if fact.blank || fact.marker_cleared || !fact.defaults.is_empty() {
            facts.push(checked.seq());
        }
        if let Some(Value::Object(last)) = &fact.args {
            origins.retain(|(name, _)| last.contains_key(name));
        }
        for name in &fact.defaults {
            origins.retain(|(known, _)| known != name);
            origins.push((name.clone(), "the envelope".to_owned()));
        }
    }
    if let Some(started) = scene.started().filter(|seen| seen.fact.marker) {
        said.push("the runtime set the approval marker".to_owned());
        facts.push(started.seq());
    }
    let items = origins.into_iter().map(|(name, who)| format!("{name}: {who}")).collect();
    match said.is_empty() {
        true => Told::unknown("the request does not say who proposed it", facts),
        false => Told::known(format!("{}.", said.join("; ")), facts).items(items),
    }
}

/// Notes who wrote each argument that is new or another than before, and forgets what is gone.
fn origin(known: &mut Vec<(String, String)>, old: Option<&Value>, new: Option<&Value>, who: &str) {
    let Some(Value::Object(new)) = new else { return };
    known.retain(|(name, _)| new.contains_key(name));
    for (name, value) in new {
        if old.and_then(|old| old.get(name)) != Some(value) {
            known.retain(|(one, _)| one != name);
            known.push((name.clone(), who.to_owned()));
        }
    }
}

pub(super) fn arguments_checked(scene: &Scene<'_>) -> Told {
    if let Some(seen) = scene.call.last::<ToolArgsValidated>() {
        let of = match (&seen.fact.tool_id, &seen.fact.tool_version) {
            (Some(tool), Some(version)) => format!(" of {tool} {}", version.short()),
            (Some(tool), None) => format!(" of {tool}"),
            (None, _) => String::new(),
        };
        let asked = scene.call.first::<ToolCallRequested>();
        let raw = asked.is_some_and(|asked| asked.fact.raw_args.is_some());
        let text = match seen.fact.status.as_str() {
            "failed" if raw && !scene.call.has::<ToolCallRewritten>() => {
                "Yes, and they are no JSON.".to_owned()
            }
            "passed" => format!("Yes, they passed the schema{of}."),
            status => format!("Yes, and they {status} the schema{of}."),
        };
        let errors = seen.fact.errors.iter();
        let errors = errors.map(|error| format!("{} {}", error.path, error.message));
        let errors = errors.map(|text| text.trim_start().to_owned()).collect();
        return Told::known(text, [seen.seq()]).items(errors);
    }
    let asked = scene.call.first::<ToolCallRequested>();
    match (scene.settled(), asked.filter(|seen| seen.fact.raw_args.is_some())) {
        (Some(end), Some(asked)) if matches!(end.fact.outcome, Outcome::Rejected { .. }) => {
            let text = "Yes: they are no JSON, so no schema was asked.";
            Told::known(text, [asked.seq(), end.seq()])
        }
        _ => scene.missing("ToolArgsValidated"),
    }
}

pub(super) fn identity(scene: &Scene<'_>) -> Told {
    let opened = scene.index.entries.iter().find_map(|entry| match &entry.event {
        Event::SessionOpened(fact) => Some((entry.seq, fact)),
        _ => None,
    });
    let (mut said, mut facts) = (Vec::new(), Vec::new());
    if let Some((seq, fact)) = opened {
        let tenant = fact.tenant.as_ref().map(|name| format!(" for {name}")).unwrap_or_default();
        said.push(format!("As {}{tenant}, with {}.", fact.principal, scopes(&fact.scopes)));
        facts.push(seq);
    }
    let mut bound = false;
    for (_, entry) in scene.call.entries() {
        if let Event::CredentialBound(fact) = &entry.event {
            let (id, who) = (&fact.credential_binding_id, &fact.principal);
            said.push(format!("Credential {id} was bound for {who}, {}.", scopes(&fact.scopes)));
            facts.push(entry.seq);
            bound = true;
        }
    }
    for seen in scene.call.each::<DelegateStarted>() {
        let (child, tools) = (&seen.fact.child, seen.fact.tools.len());
        let scopes = scopes(&seen.fact.scopes);
        said.push(format!("Its delegate {child} had {tools} tools and {scopes}."));
        facts.push(seen.seq());
    }
    if said.is_empty() {
        return Told::unknown("the journal records no SessionOpened and no CredentialBound", []);
    }
    if !bound && let Some(end) = scene.settled() {
        said.push("No credential was bound.".to_owned());
        facts.push(end.seq());
    }
    match opened {
        Some(_) => Told::known(said.join(" "), facts),
        None => {
            Told::unknown(format!("no SessionOpened names who acts. {}", said.join(" ")), facts)
        }
    }
}

fn scopes(names: &[String]) -> String {
    match names {
        [] => "no scope".to_owned(),
        [one] => format!("scope {one}"),
        many => format!("scopes {}", list(many)),
    }
}

pub(super) fn approval_needed(scene: &Scene<'_>) -> Told {
    let Some(seen) = scene.call.last::<ToolPolicyChecked>() else {
        return scene.missing("ToolPolicyChecked");
    };
    let fact = seen.fact;
    let head = match fact.decision.as_str() {
        "allow" => "No, policy allows it",
        "ask" => "Yes",
        "strong_ask" => "Yes, the stronger confirmation",
        "deny" => "No approval would do: policy denies it",
        _ => return Told::unknown("policy made a decision that has no name here", [seen.seq()]),
    };
    let level = fact.level.map(|level| format!("level {level}"));
    let rules = (!fact.rules.is_empty()).then(|| format!("rule {}", list(&fact.rules)));
    let by: Vec<String> = level.into_iter().chain(rules).collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", list(by)) };
    Told::known(format!("{head}: {}{by}.", fact.reason.trim_end_matches('.')), [seen.seq()])
}

pub(super) fn approval_given(scene: &Scene<'_>) -> Told {
    let (mut said, mut facts, mut open) = (Vec::new(), Vec::new(), None);
    for (_, entry) in scene.call.entries() {
        let text = match &entry.event {
            Event::ApprovalRequested(fact) => {
                open = Some(entry.seq);
                let strong = if fact.strong { "strongly " } else { "" };
                format!("Somebody was {strong}asked ({})", fact.approval_id)
            }
            Event::ApprovalGranted(fact) => {
                let scope = fact.scope.as_deref().map(|scope| format!(", scope {scope}"));
                let (who, channel) = (&fact.decider, &fact.channel);
                format!("{who} said yes (channel {channel}{})", scope.unwrap_or_default())
            }
            Event::ApprovalDenied(fact) => {
                let reason = fact.reason.as_deref().map(|reason| format!(": {}", quote(reason)));
                let (who, channel) = (&fact.decider, &fact.channel);
                format!("{who} said no (channel {channel}){}", reason.unwrap_or_default())
            }
            Event::ApprovalReplaced(fact) => {
                let (who, channel) = (&fact.decider, &fact.channel);
                format!("{who} gave a result in its place (channel {channel})")
            }
            Event::ApprovalExpired(fact) if fact.late_answer => "the answer came too late".into(),
            Event::ApprovalExpired(_) => "no answer came in time".into(),
            Event::ApprovalUnreachable(fact) => {
                format!("nobody was reached (channel {})", fact.channel)
            }
            Event::RepeatStopped(fact) => format!("it was not asked again after {}", fact.of),
            _ => continue,
        };
        if !matches!(entry.event, Event::ApprovalRequested(_)) {
            open = None;
        }
        said.push(text);
        facts.push(entry.seq);
    }
    for used in scene.call.each::<GrantUsed>() {
        let id = &used.fact.grant_id;
        let issued = scene.index.each::<GrantIssued>().find(|seen| seen.fact.grant_id == *id);
        facts.extend(issued.map(|seen| seen.seq()).into_iter().chain([used.seq()]));
        let how = issued.map(|seen| format!(" ({} for {})", seen.fact.scope, seen.fact.tool_id));
        said.push(format!("it ran on the grant {id}{}", how.unwrap_or_default()));
    }
    if let Some(asked) = open {
        let end = scene.settled();
        let why = match end {
            Some(end) => {
                format!("it was asked for, and the call ended as {} first", end.fact.outcome.name())
            }
            None => "it was asked for, and no answer is recorded".to_owned(),
        };
        return match end {
            Some(end) => Told::known(format!("No: {why}."), [asked, end.seq()]),
            None => Told::unknown(why, [asked]),
        };
    }
    if !said.is_empty() {
        return Told::known(format!("{}.", said.join("; ")), facts);
    }
    let denied = |end: &Outcome| matches!(end, Outcome::Denied { by: Denier::NoApprover, .. });
    match (scene.call.last::<ToolPolicyChecked>(), scene.settled()) {
        (Some(checked), _) if checked.fact.decision == "allow" => {
            Told::known("Nobody was asked, and nobody had to be.", [checked.seq()])
        }
        (Some(checked), Some(end)) if !denied(&end.fact.outcome) && !end.fact.outcome.started() => {
            let text = format!("Nobody was asked: the call ended as {}.", end.fact.outcome.name());
            Told::known(text, [checked.seq(), end.seq()])
        }
        _ => scene.missing("answer to a question"),
    }
}

pub(super) fn sandbox(scene: &Scene<'_>) -> Told {
    let Some(seen) = scene.call.last::<ToolSandboxPrepared>() else {
        return scene.missing("ToolSandboxPrepared");
    };
    let fact = seen.fact;
    let mode = fact.mode.as_ref().map(|mode| format!(", mode {mode}")).unwrap_or_default();
    let enforced = match &fact.enforcement {
        Some(enforced) => format!(", enforced: {enforced}"),
        None => ", what is enforced is not recorded".to_owned(),
    };
    let ran = match scene.started() {
        Some(_) => "",
        None => "; it was prepared and the call never started",
    };
    let facts = [seen.seq()].into_iter().chain(scene.started().map(|seen| seen.seq()));
    Told::known(format!("{}{mode}{enforced}{ran}.", fact.sandbox_id), facts)
        .items(fact.mechanisms.clone())
}
