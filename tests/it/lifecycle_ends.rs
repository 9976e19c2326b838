//! The suite `lifecycle` shows every way in which a call and a turn can end, and every event that
//! the runtime writes.

use std::collections::BTreeMap;

use proofmark::journal::{Event, Outcome};
use proofmark::runtime::turn::steps::Steps;

use crate::lifecycle::run_cases;

/// What the runtime writes and no case can show, and why.
const OUT_OF_REACH: [(&str, &str, &str); 3] = [
    ("event", "LateResultDropped", "the driver answers each start once"),
    ("by", "sandbox", "a tool whose sandbox cannot be enforced is withheld from the view already"),
    ("by", "credential", "a tool whose credential is not held is withheld from the view already"),
];

/// Everything the suite must have shown, by kind.
const SEEN: [(&str, &[&str]); 14] = [
    (
        "event",
        &[
            "GrantIssued",
            "GrantUsed",
            "GrantRevoked",
            "ToolBlocked",
            "ToolVerified",
            "SessionOpened",
            "UserPromptSubmitted",
            "TurnStarted",
            "IntentDeclared",
            "ViewCompiled",
            "ModelRequested",
            "ModelReplied",
            "ModelSwitched",
            "SteeringReceived",
            "BatchOpened",
            "DispatchPlanned",
            "TranscriptAppended",
            "StateUpdated",
            "LoopWarned",
            "LoopStopped",
            "CancelRequested",
            "CancelAcknowledged",
            "TurnFinished",
            "TraceUpdated",
            "ToolCallRequested",
            "HookRan",
            "ToolCallRewritten",
            "ToolArgsValidated",
            "ToolPolicyChecked",
            "ApprovalRequested",
            "ApprovalGranted",
            "ApprovalDenied",
            "ApprovalReplaced",
            "ApprovalExpired",
            "ApprovalUnreachable",
            "RepeatStopped",
            "DuplicateDropped",
            "CredentialBound",
            "ToolSandboxPrepared",
            "ToolCallStarted",
            "AttemptFailed",
            "ToolCallFinished",
            "ToolResultValidated",
            "ArtifactPersisted",
            "ReceiptIssued",
            "ToolCallSettled",
            "TornDown",
            "ToolActivated",
        ],
    ),
    ("outcome", &Outcome::NAMES),
    ("end", &["final_text", "iteration_cap", "provider_fault", "cancelled", "loop_stopped"]),
    (
        "fault",
        &[
            "exit_status",
            "timeout",
            "output_schema",
            "ambiguous_find",
            "empty_find",
            "path_outside",
            "not_found",
            "is_a_directory",
            "undeclared_effect",
            "panic",
            "busy",
        ],
    ),
    (
        "keyword",
        &[
            "json",
            "blank",
            "canonical",
            "required",
            "type",
            "additionalProperties",
            "enum",
            "format",
            "minimum",
        ],
    ),
    ("why", &["unknown", "withheld", "excluded"]),
    (
        "by",
        &[
            "policy",
            "operator",
            "no_approver",
            "approval_timeout",
            "approval_expired",
            "approval_mismatch",
            "budget",
            "grant_revoked",
            "tool_blocked",
        ],
    ),
    ("blocked by", &["censor", "loop_guard", "repeated_prompt"]),
    (
        "filter",
        &[
            "excluded",
            "blocked",
            "mcp",
            "risk",
            "narrowed",
            "lifecycle",
            "intent",
            "policy",
            "environment",
            "context",
            "group",
            "deferred",
        ],
    ),
    ("decision", &["allow", "ask", "strong_ask", "deny"]),
    ("dialect", &["openai_chat", "openai_responses", "anthropic_messages", "gemini", "text"]),
    ("origin", &["native", "tagged", "fenced", "invoke", "bare"]),
    (
        "plan",
        &[
            "parallel: parallel_tools is on and every call is free",
            "sequential: parallel_tools is off",
            "sequential: one call is ready",
            "sequential: a call needed approval",
            "sequential: a search for tools runs alone",
        ],
    ),
    (
        "also",
        &[
            "blank stands for {}",
            "marker cleared",
            "marker set",
            "defaults filled in",
            "strong yes",
            "plain yes",
            "artifact",
            "receipt",
            "cut",
            "further attempt",
            "late answer",
            "no answer",
            "beyond the intent",
            "before_call pass",
            "before_call rewrite",
            "before_call cancel",
            "before_call failed",
            "after_call pass",
            "after_call failed",
            "on_error pass",
            "on_error failed",
            "allowed by rule, class external",
            "allowed by rule, class destructive",
        ],
    ),
];

#[test]
fn every_end_that_can_be_reached_is_reached() {
    let mut seen: BTreeMap<&'static str, BTreeMap<String, usize>> = BTreeMap::new();
    run_cases(&[], Steps::REAL, |_, record| {
        for entry in record.journal.entries() {
            for (kind, name) in facts(&entry.event) {
                *seen.entry(kind).or_default().entry(name).or_default() += 1;
            }
        }
    });
    for (kind, expected) in SEEN {
        let found = &seen[kind];
        println!("{kind}: {found:?}");
        for name in expected {
            assert!(found.contains_key(*name), "no {kind} `{name}`: {found:?}");
        }
    }
    for (kind, name, why) in OUT_OF_REACH {
        assert!(!seen[kind].contains_key(name), "{kind} `{name}` is reached, although {why}");
    }
    let listed = SEEN.iter().find(|(kind, _)| *kind == "event").unwrap().1;
    let unlisted = seen["event"].keys().find(|name| !listed.contains(&name.as_str()));
    assert_eq!(unlisted, None, "an event is seen that the list does not demand");
}

fn name(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap();
    value.as_str().unwrap().to_owned()
}

fn outcome(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut found = vec![("outcome", outcome.name().to_owned())];
    match outcome {
        Outcome::Failed { fault } => found.push(("fault", fault.code.clone())),
        Outcome::Rejected { errors } => {
            found.extend(errors.iter().map(|error| ("keyword", error.keyword.clone())));
        }
        Outcome::Unavailable { why } => found.push(("why", name(why))),
        Outcome::Denied { by, .. } => found.push(("by", name(by))),
        Outcome::Blocked { by } => found.push(("blocked by", by.clone())),
        _ => {}
    }
    found
}

fn facts(event: &Event) -> Vec<(&'static str, String)> {
    let mut found = vec![("event", event.name().to_owned())];
    let mut also = |yes: bool, text: &str| found.extend(yes.then(|| ("also", text.to_owned())));
    match event {
        Event::ToolArgsValidated(fact) => {
            also(fact.blank, "blank stands for {}");
            also(fact.marker_cleared, "marker cleared");
            also(!fact.defaults.is_empty(), "defaults filled in");
        }
        Event::ToolCallStarted(fact) => {
            also(fact.marker, "marker set");
            also(fact.attempt > Some(1), "further attempt");
        }
        Event::ToolPolicyChecked(fact) => {
            let class = fact.effect_class.map_or("unknown", |class| class.name());
            let ruled = fact.decision == "allow" && !fact.rules.is_empty();
            also(ruled, &format!("allowed by rule, class {class}"));
            also(fact.intent.as_deref() == Some("beyond"), "beyond the intent");
            found.push(("decision", fact.decision.clone()));
        }
        Event::ApprovalGranted(fact) => {
            also(true, if fact.strong { "strong yes" } else { "plain yes" });
        }
        Event::ApprovalExpired(fact) => {
            also(true, if fact.late_answer { "late answer" } else { "no answer" });
        }
        Event::HookRan(fact) => also(true, &format!("{} {}", fact.point, fact.verdict)),
        Event::ArtifactPersisted(_) => also(true, "artifact"),
        Event::ReceiptIssued(_) => also(true, "receipt"),
        Event::ToolCallSettled(fact) => {
            also(fact.cut, "cut");
            found.extend(outcome(&fact.outcome));
        }
        Event::ViewCompiled(fact) => {
            found.extend(fact.withheld.iter().map(|tool| ("filter", tool.filter.clone())));
        }
        Event::ModelRequested(fact) => found.push(("dialect", fact.dialect.clone())),
        Event::ToolCallRequested(fact) => {
            found.extend(fact.origin.clone().map(|origin| ("origin", origin)));
        }
        Event::DispatchPlanned(fact) => {
            found.push(("plan", format!("{}: {}", fact.mode, fact.reason)));
        }
        Event::TurnFinished(fact) => found.push(("end", fact.reason.clone())),
        _ => {}
    }
    found
}
