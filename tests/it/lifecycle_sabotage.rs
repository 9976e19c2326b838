//! Every decision of the lifecycle replaced by a wrong one: some case of the suite `lifecycle`
//! fails, or some law breaks, and says why.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use proofmark::base::bounded::Bounded;
use proofmark::eval::grade::Verdict;
use proofmark::runtime::evidence::preview::preview;
use proofmark::runtime::guard::approval::{Acceptance, accept};
use proofmark::runtime::guard::{HookVerdict, Verdict as Said, grant};
use proofmark::runtime::policy::{self, Decision, Judgement, decide};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::schedule;
use proofmark::runtime::turn::steps::{Next, Steps};

use crate::lifecycle::{complaints, run_cases};
use crate::lifecycle_sabotage_calls::{
    of_arguments, of_dispatch, of_ends, of_hooks, of_loops, of_names, of_repeats, of_replies,
};

/// A sabotage in one line, the cases that are run with it, and what is said about it.
pub(crate) type Sabotage = (&'static str, Steps, &'static str, &'static str);

pub(crate) const REAL: Steps = Steps::REAL;

fn no_limit(text: &str, suffix: &str, _: usize) -> Bounded {
    Bounded { text: format!("{text}{suffix}"), total_chars: text.chars().count(), cut: false }
}

fn head_alone(text: &str, suffix: &str, max: usize) -> Bounded {
    let room = max.saturating_sub(suffix.chars().count());
    let head: String = text.chars().take(room).collect();
    Bounded { text: format!("{head}{suffix}"), ..preview(text, suffix, max) }
}

fn of_evidence() -> Vec<Sabotage> {
    vec![
        (
            "receipts for failures too",
            Steps { receipt_eligible: |_| true, ..REAL },
            "command-fails-by-status",
            "law receipt-only-on-success broken: a call that ended as failed has a receipt",
        ),
        (
            "no receipts at all",
            Steps { receipt_eligible: |_| false, ..REAL },
            "read-succeeds",
            "law receipt-only-on-success broken: a call succeeded without the receipt",
        ),
        (
            "nothing is cut",
            Steps { preview: no_limit, ..REAL },
            "oversize-*",
            "law large-output-stored broken: more than the limit",
        ),
        (
            "one character too many",
            Steps { preview: |text, suffix, max| preview(text, suffix, max + 1), ..REAL },
            "oversize-*",
            "law large-output-stored broken: more than the limit",
        ),
        (
            "only the head is kept",
            Steps { preview: head_alone, ..REAL },
            "oversize-output-is-cut",
            "harness fault: request 2 refused",
        ),
        (
            "the model never sees a receipt",
            Steps { preview: |text, _, max| preview(text, "", max), ..REAL },
            "read-succeeds",
            "harness fault: request 2 refused",
        ),
        (
            "secrets stay",
            Steps { redact: |_, text| Cow::Borrowed(text), ..REAL },
            "secret-in-*",
            "law no-secrets broken",
        ),
        (
            "secrets of a model stay",
            Steps { redact_known: |_, text| Cow::Borrowed(text), ..REAL },
            "secret-in-the-prompt",
            "law no-secrets broken",
        ),
    ]
}

fn of_order() -> Vec<Sabotage> {
    let early: fn(u32, &Knobs) -> Next =
        |done, knobs| if done + 1 < knobs.iteration_cap { Next::Ask } else { Next::Cap };
    vec![
        (
            "results in reverse",
            Steps { append_order: |slots| (0..slots).rev().collect(), ..REAL },
            "six-calls-six-ends",
            "law model-order broken",
        ),
        (
            "the last result is lost",
            Steps { append_order: |slots| (0..slots.saturating_sub(1)).collect(), ..REAL },
            "iteration-cap-ends-a-turn",
            "law one-result-per-call broken: a settled call of a finished turn was never appended",
        ),
        (
            "no cap",
            Steps { next: |_, _| Next::Ask, ..REAL },
            "iteration-cap-ends-a-turn",
            "harness fault",
        ),
        (
            "the cap comes one request early",
            Steps { next: early, ..REAL },
            "iteration-cap-ends-a-turn",
            "harness fault",
        ),
    ]
}

fn of_policy() -> Vec<Sabotage> {
    let by = |decide| Steps { decide, ..REAL };
    vec![
        (
            "what policy denies is shown",
            Steps {
                may_expose: |tool, principal, rules| {
                    let judged = policy::may_expose(tool, principal, rules);
                    Judgement { decision: judged.decision.min(Decision::StrongAsk), ..judged }
                },
                ..REAL
            },
            "withheld-scope-missing",
            "`payroll_read` is advertised",
        ),
        (
            "asking and denying become allowing",
            by(|tool, args, principal, rules| {
                let judged = decide(tool, args, principal, rules);
                Judgement { decision: Decision::Allow, ..judged }
            }),
            "nobody-is-there",
            "law authority-explicit broken",
        ),
        (
            "denying becomes asking",
            by(|tool, args, principal, rules| {
                let judged = decide(tool, args, principal, rules);
                Judgement { decision: judged.decision.min(Decision::StrongAsk), ..judged }
            }),
            "rule-denies-an-argument",
            "harness fault: request 2 refused",
        ),
    ]
}

fn of_answers() -> Vec<Sabotage> {
    let yes = |accept_approval| Steps { accept_approval, ..REAL };
    vec![
        (
            "every answer is a yes",
            yes(|_, _, _, _| Acceptance::Granted),
            "destruction-weak-yes",
            "law approval-binds broken: a plain yes answered a request for the stronger",
        ),
        (
            "a timeout is a yes",
            yes(|request, answer, digest, now| match answer.verdict {
                Said::Timeout => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }),
            "nobody-answers-in-time",
            "harness fault: request 2 refused",
        ),
        (
            "nobody is a yes",
            yes(|request, answer, digest, now| match answer.verdict {
                Said::Unreachable => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }),
            "nobody-is-there",
            "harness fault: request 2 refused",
        ),
        (
            "a plain yes is strong",
            yes(|request, answer, digest, now| match answer.verdict {
                Said::Yes { .. } => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }),
            "strong-question-weak-yes",
            "law approval-binds broken: a plain yes answered a request for the stronger",
        ),
        (
            "no answer is ever late",
            yes(|request, answer, digest, _| accept(request, answer, digest, 0)),
            "yes-comes-too-late",
            "law approval-binds broken: a yes came after its request had expired",
        ),
    ]
}

fn of_intent_and_grants() -> Vec<Sabotage> {
    vec![
        (
            "the intent is not looked at",
            Steps { beyond_intent: |_, _| None, ..REAL },
            "intent-wants-changes-confirmed",
            "do not contain \"there is nobody to ask\"",
        ),
        (
            "everything is beyond the intent",
            Steps { beyond_intent: |_, _| Some("who knows".to_owned()), ..REAL },
            "intent-without-such-a-wish",
            "0 of ToolPolicyChecked by decision, intent where 1 are expected",
        ),
        (
            "grants are forgotten",
            Steps { standing_grant: |_, _, _, _| None, ..REAL },
            "yes-for-the-session-is-used-again",
            "0 of GrantUsed where 1 are expected",
        ),
        (
            "grants end at once",
            Steps {
                standing_grant: |g, call, who, _| grant::standing(g, call, who, u64::MAX),
                ..REAL
            },
            "yes-for-always-has-an-end",
            "0 of GrantUsed where 1 are expected",
        ),
        (
            "another file than the approved one runs",
            Steps { same_operand: |_, _| true, ..REAL },
            "script-changes-after-the-yes",
            "law approval-binds broken",
        ),
        (
            "what was granted once is granted",
            Steps { still_permitted: |_, _, _| Ok(()), ..REAL },
            "grant-revoked-before-the-start",
            "do not contain \"denied: the grant was taken back\"",
        ),
        (
            "what was blocked starts",
            Steps { is_blocked: |_, _| false, ..REAL },
            "blocked-between-two-calls",
            "law blocked-never-runs broken",
        ),
        (
            "what was granted lasts for ever",
            Steps {
                still_permitted: |ready, grants, _| schedule::still_permitted(ready, grants, 0),
                ..REAL
            },
            "yes-runs-out-before-the-start",
            "do not contain \"denied: the approval expired before the call could start\"",
        ),
    ]
}

fn of_governance() -> Vec<Sabotage> {
    vec![
        (
            "budgets have no bottom",
            Steps { over_budget: |_, _, _| None, ..REAL },
            "budget-counts-*",
            "law budgets-kept broken: more calls started than `two-posters` allows",
        ),
        (
            "no change is large",
            Steps { large_change: |_, _, _| None, ..REAL },
            "large-change-*",
            "where 1 are expected",
        ),
        (
            "it is not looked at again",
            Steps { same_rehearsal: |_, _| true, ..REAL },
            "destruction-that-has-become-another-does-not-run",
            "law runs-as-rehearsed broken: the call would do something else than was confirmed",
        ),
        (
            "verifiers have no say",
            Steps { check: |spec, _| (REAL.check)(spec, &HookVerdict::Pass), ..REAL },
            "verifier-refuses-a-result",
            "law verified-before-success broken: a success that `second-reader` did not pass",
        ),
        (
            "people's data returns",
            Steps { mask: |text| Cow::Borrowed(text), ..REAL },
            "personal-data-*",
            "law personal-data-masked broken: what is shown holds personal data",
        ),
    ]
}

fn all() -> Vec<Sabotage> {
    let word = [of_policy(), of_answers(), of_intent_and_grants()].concat();
    let said = [of_replies(), of_names(), of_arguments()].concat();
    let kept = [of_hooks(), of_repeats(), of_loops()].concat();
    let beside = of_governance();
    [of_evidence(), of_order(), word, said, kept, beside, of_dispatch(), of_ends()].concat()
}

#[test]
fn every_sabotage_is_noticed() {
    let mut unnoticed = Vec::new();
    for (what, steps, cases, said) in all() {
        let result = run_cases(&[cases], steps, |_, _| {});
        assert!(!result.cases.is_empty(), "{what}: there is no case {cases}");
        let complaints = complaints(&result);
        let failed = result.cases.iter().filter(|case| case.verdict != Verdict::Pass).count();
        println!("{what}: {failed} of {} cases fail", result.cases.len());
        if !complaints.iter().any(|complaint| complaint.contains(said)) {
            unnoticed.push(format!("{what}: nobody says `{said}`: {complaints:#?}"));
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
}

/// The decisions by name, each with where its function stands.
fn table(steps: &Steps) -> BTreeMap<String, String> {
    let shown = format!("{steps:?}");
    let inside = shown.trim_start_matches("Steps { ").trim_end_matches(" }");
    let fields = inside.split(", ").filter_map(|field| field.split_once(": "));
    fields.map(|(name, at)| (name.to_owned(), at.to_owned())).collect()
}

#[test]
fn every_step_is_sabotaged() {
    let real = table(&REAL);
    assert!(real.len() > 25, "{real:?}");
    let mut replaced = BTreeSet::new();
    for (what, steps, ..) in all() {
        let table = table(&steps);
        let differ = real.iter().filter(|(name, at)| table[*name] != **at);
        let names: Vec<&String> = differ.map(|(name, _)| name).collect();
        assert_eq!(names.len(), 1, "{what} replaces {names:?}");
        replaced.extend(names.into_iter().cloned());
    }
    let kept: Vec<&String> = real.keys().filter(|name| !replaced.contains(*name)).collect();
    // No case of the suite delegates or calls a server; the tests of those hold the decisions.
    assert_eq!(kept, ["consented", "delegated"], "no sabotage replaces these");
}
