//! How the call ended, and how it came to be chosen.

use serde_json::Value;

use super::{Scene, Told, list, quote};
use crate::journal::Event;
use crate::journal::event::call::*;
use crate::journal::event::turn::{
    IntentDeclared, ModelReplied, ModelRequested, UserPromptSubmitted, WithheldTool,
};
use crate::journal::outcome::{Denier, Outcome, Unavailability};
use crate::law::index::Fact;

pub(super) fn ended(scene: &Scene<'_>) -> Told {
    let attempts: Vec<_> = scene.call.each::<AttemptFailed>().collect();
    let starts = scene.call.each::<ToolCallStarted>().count();
    let failed = attempts.iter().map(|seen| {
        let fault = &seen.fact.fault;
        format!("attempt {} failed ({}: {})", seen.fact.attempt, fault.code, quote(&fault.message))
    });
    let mut more: Vec<String> = failed.collect();
    if starts > 1 {
        more.insert(0, format!("it was started {starts} times"));
    }
    let delegate = scene.call.last::<DelegateFinished>();
    if let Some(seen) = delegate {
        more.push(format!("its delegate ended: {}", seen.fact.status));
    }
    let facts = attempts.iter().map(|seen| seen.seq()).chain(delegate.map(|seen| seen.seq()));
    let facts: Vec<u64> =
        facts.chain(scene.started().filter(|_| starts > 1).map(|seen| seen.seq())).collect();
    let finished = scene.call.last::<ToolCallFinished>();
    let (text, fact) = match (scene.settled(), finished) {
        (Some(end), _) => (outcome(scene, &end.fact.outcome), end.seq()),
        (None, Some(seen)) => {
            let status = &seen.fact.status;
            (format!("It finished with status {status}; it was never settled"), seen.seq())
        }
        (None, None) => {
            let started = scene.started().map(|seen| seen.seq());
            let why = match started {
                Some(_) => "it started, and the journal does not say how it ended",
                None => "the journal records no ToolCallSettled",
            };
            return Told::unknown(why, facts.into_iter().chain(started));
        }
    };
    let more = if more.is_empty() { String::new() } else { format!("; {}", more.join("; ")) };
    let rule = denied_by(scene).map(|(_, seq)| seq);
    Told::known(format!("{text}{more}."), facts.into_iter().chain([fact]).chain(rule))
}

fn outcome(scene: &Scene<'_>, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded => "It succeeded".to_owned(),
        Outcome::Failed { fault } => {
            format!("It ran and failed ({}: {})", fault.code, quote(&fault.message))
        }
        Outcome::Rejected { errors } => {
            let errors = errors.iter().map(|error| format!("{} {}", error.path, error.message));
            format!("Rejected, it never started: {}", list(errors).trim_start())
        }
        Outcome::Unavailable { why } => {
            let why = match why {
                Unavailability::Unknown => "no tool of that name is registered",
                Unavailability::Excluded => "the tool is excluded by name",
                Unavailability::Withheld => "the tool was withheld from this request",
                Unavailability::LeaseExpired => "the view it was seen in had expired",
            };
            format!("Unavailable, it never started: {why}")
        }
        Outcome::Denied { by, reason } => {
            let rules = denied_by(scene).map(|(rules, _)| rules).unwrap_or_default();
            let rules = if rules.is_empty() { rules } else { format!(" (rule {rules})") };
            format!("Denied, it never started: {}{rules}: {}", denier(*by), quote(reason))
        }
        Outcome::Replaced => "The person asked gave a result in its place; it never ran".to_owned(),
        Outcome::Blocked { by } => format!("Blocked by {by}, it never started"),
        Outcome::Duplicate { of } => format!("A duplicate of {of}, it never started"),
        Outcome::Cancelled { cause } => {
            format!("Cancelled before it started: {}", quote(cause))
        }
        Outcome::Interrupted => {
            "It had started and was torn down; what it did until then is not known".to_owned()
        }
    }
}

fn denier(by: Denier) -> &'static str {
    match by {
        Denier::Policy => "policy does not allow it",
        Denier::Operator => "the person asked said no",
        Denier::NoApprover => "there was nobody to ask",
        Denier::ApprovalTimeout => "no answer came in time",
        Denier::ApprovalExpired => "the answer had expired",
        Denier::ApprovalMismatch => "what would run was not what had been approved",
        Denier::Sandbox => "the sandbox could not be enforced",
        Denier::Credential => "a credential was missing or did not fit",
        Denier::Budget => "a budget was spent",
        Denier::GrantRevoked => "the grant had been revoked",
        Denier::ToolBlocked => "the tool had been blocked",
    }
}

/// The rules that voted on a call which policy denies, and where that stands.
fn denied_by(scene: &Scene<'_>) -> Option<(String, u64)> {
    let denied =
        matches!(scene.settled()?.fact.outcome, Outcome::Denied { by: Denier::Policy, .. });
    let checked = scene.call.last::<ToolPolicyChecked>().filter(|_| denied)?;
    Some((list(&checked.fact.rules), checked.seq()))
}

pub(super) fn why(scene: &Scene<'_>) -> Told {
    let (mut said, mut facts) = (Vec::new(), Vec::new());
    let intent = scene.before(intent_of);
    let prompt = scene.before(prompt_of);
    let reply = if scene.direct().is_some() { None } else { scene.before(ModelReplied::of) };
    if let Some((seq, fact)) = intent {
        let intent = &fact.intent;
        let told = [&intent.user_goal, &intent.current_task, &intent.rationale_summary];
        let names = ["the goal", "the task", "the reason"];
        let parts = names.iter().zip(told).filter(|(_, text)| !text.is_empty());
        let parts: Vec<String> =
            parts.map(|(name, text)| format!("{name} {}", quote(text))).collect();
        if !parts.is_empty() {
            said.push(format!("Declared by {}: {}.", fact.by, parts.join(", ")));
            facts.push(seq);
        }
    }
    if let Some((seq, fact)) = reply {
        let text = fact.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        if let Some(text) = text {
            said.push(format!("With the call came the words {}.", quote(text)));
            facts.push(seq);
        }
        if let Some(words) = fact.explanation.as_ref().and_then(telling) {
            said.push(words);
            facts.push(seq);
        }
    }
    if !said.is_empty() {
        return Told::known(said.join(" "), facts);
    }
    match prompt {
        Some((seq, fact)) => {
            let text = quote(&fact.text);
            let why = format!("no intent and no reason is recorded; the user had said {text}");
            Told::unknown(why, [seq])
        }
        None => Told::unknown("no intent, no reason and no prompt stands before the call", []),
    }
}

/// What the ranker says of its first choice.
fn telling(explanation: &Value) -> Option<String> {
    let first = candidates(explanation).next()?;
    let name = first.get("name")?.as_str()?;
    let score = first.get("score")?.as_f64()?;
    let mut terms: Vec<(f64, &str)> = first
        .get("terms")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|term| Some((term.get("weight")?.as_f64()?, term.get("term")?.as_str()?)))
        .filter(|(weight, _)| *weight > 0.0)
        .collect();
    terms.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let words = list(terms.into_iter().take(4).map(|(_, term)| term));
    Some(format!("The provider ranked {name} first ({score:.2}), by: {words}."))
}

fn candidates(explanation: &Value) -> impl Iterator<Item = &Value> {
    explanation.get("candidates").and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn visible(scene: &Scene<'_>) -> Told {
    if let Some(seq) = scene.direct() {
        return Told::known("No model was asked: the turn makes its calls directly.", [seq]);
    }
    let request = scene.before(ModelRequested::of);
    let asked = request.map(|(seq, _)| seq);
    match (scene.index.view_of(scene.call), request) {
        (Some(view), _) => {
            let shown = &view.fact.exposed;
            let items = shown.iter().map(|tool| tool.tool_id.to_string()).collect();
            let facts = [view.seq()].into_iter().chain(asked);
            Told::known(format!("{} tools, best rank first.", shown.len()), facts).items(items)
        }
        (None, Some((seq, fact))) if !fact.advertised.is_empty() => {
            let text = format!("{} names, and no view says why.", fact.advertised.len());
            Told::known(text, [seq]).items(fact.advertised.to_vec())
        }
        (None, _) => Told::unknown("no ViewCompiled stands before the call", asked),
    }
}

pub(super) fn filtered(scene: &Scene<'_>) -> Told {
    if let Some(seq) = scene.direct() {
        return Told::known("None: no model was asked.", [seq]);
    }
    let Some(view) = scene.index.view_of(scene.call) else {
        return Told::unknown("no ViewCompiled stands before the call", []);
    };
    let withheld = &view.fact.withheld;
    if withheld.is_empty() {
        return Told::known("None was withheld.", [view.seq()]);
    }
    let by_policy = withheld.iter().filter(|tool| tool.filter == "policy").count();
    let text = format!("{} tools were withheld, {by_policy} of them by policy.", withheld.len());
    // What policy kept out comes first: that is what is asked.
    let (policy, others): (Vec<_>, Vec<_>) =
        withheld.iter().partition(|tool| tool.filter == "policy");
    let item =
        |tool: &&WithheldTool| format!("{} ({}: {})", tool.tool_id, tool.filter, tool.reason);
    let items = policy.iter().chain(&others).map(item).collect();
    Told::known(text, [view.seq()]).items(items)
}

pub(super) fn alternatives(scene: &Scene<'_>) -> Told {
    let (mut said, mut facts, mut items) = (Vec::new(), Vec::new(), Vec::new());
    let asked = scene.call.first::<ToolCallRequested>();
    for seen in scene.call.each::<ToolCallRewritten>() {
        let from = asked.map(|seen| seen.fact.tool_id.as_str()).unwrap_or_default();
        if seen.fact.tool_id != from {
            let by = seen.fact.by.as_deref().unwrap_or("somebody");
            said.push(format!("{by} made {from} into {}.", seen.fact.tool_id));
            facts.push(seen.seq());
        }
    }
    if let Some(seq) = scene.direct() {
        said.push("It was called for directly; no other tool was weighed.".to_owned());
        facts.push(seq);
        return Told::known(said.join(" "), facts);
    }
    let view = scene.index.view_of(scene.call);
    let reply = scene.before(ModelReplied::of);
    let weighed = reply.and_then(|(seq, fact)| Some((seq, fact.explanation.as_ref()?)));
    if let Some((seq, explanation)) = weighed {
        let scored = |one: &Value| {
            let score = one.get("score")?.as_f64()?;
            Some(format!("{} {score:.2}", one.get("name")?.as_str()?))
        };
        items = candidates(explanation).filter_map(scored).collect();
        said.push(format!("The provider weighed {} tools, as listed.", items.len()));
        facts.push(seq);
    } else if let Some(view) = view.filter(|view| view.fact.exposed.len() == 1) {
        said.push("No other tool was shown.".to_owned());
        facts.push(view.seq());
    }
    if !said.is_empty() {
        return Told::known(said.join(" "), facts).items(items);
    }
    match view {
        Some(view) => {
            let others = view.fact.exposed.len().saturating_sub(1);
            let why = format!("it was chosen among {others} others, and no weighing is recorded");
            Told::unknown(why, [view.seq()])
        }
        None => Told::unknown("neither a view nor a weighing is recorded", []),
    }
}

pub(super) fn intent(scene: &Scene<'_>) -> Told {
    let Some(checked) = scene.call.last::<ToolPolicyChecked>() else {
        return scene.missing("ToolPolicyChecked");
    };
    let result = scene.call.last::<ToolResultValidated>();
    let beyond = result.filter(|seen| !seen.fact.undeclared.is_empty());
    let facts = [checked.seq()].into_iter().chain(beyond.map(|seen| seen.seq()));
    let seen = beyond.map(|seen| {
        format!("; its effects went beyond its declaration: {}", list(&seen.fact.undeclared))
    });
    let seen = seen.unwrap_or_default();
    match checked.fact.intent.as_deref() {
        Some("within") => {
            Told::known(format!("No, it is within the declared intent{seen}."), facts)
        }
        Some("beyond") => Told::known(format!("Yes, beyond the declared intent{seen}."), facts),
        _ if beyond.is_some() => {
            Told::unknown(format!("it was compared with no intent{seen}"), facts)
        }
        _ => Told::unknown("policy compared it with no intent", facts),
    }
}

fn intent_of(event: &Event) -> Option<&IntentDeclared> {
    if let Event::IntentDeclared(fact) = event { Some(fact) } else { None }
}

fn prompt_of(event: &Event) -> Option<&UserPromptSubmitted> {
    if let Event::UserPromptSubmitted(fact) = event { Some(fact) } else { None }
}
