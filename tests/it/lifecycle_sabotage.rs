//! Every decision of the lifecycle replaced by a wrong one: some case of the suite `lifecycle`
//! fails, or some law breaks, and says why.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use proofmark::base::bounded::Bounded;
use proofmark::eval::grade::Verdict;
use proofmark::journal::outcome::Unavailability;
use proofmark::runtime::dialect::{Dialect, Reply, TextRules};
use proofmark::runtime::evidence::preview::preview;
use proofmark::runtime::guard::approval::{Acceptance, accept};
use proofmark::runtime::guard::delivery::{self, delivery_defaults};
use proofmark::runtime::guard::repeat::{self, DuplicateScope, Repeat};
use proofmark::runtime::guard::resolve::resolve;
use proofmark::runtime::guard::validate::validate;
use proofmark::runtime::guard::{HookVerdict, Verdict as Said, grant};
use proofmark::runtime::policy::{self, Decision, Judgement, decide};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::control::{LoopVerdict, Round, loop_guard};
use proofmark::runtime::turn::schedule::{self, Dispatch, OnCancel};
use proofmark::runtime::turn::slots::Stage;
use proofmark::runtime::turn::steps::{Next, Steps};
use serde_json::Value;

use crate::lifecycle::{complaints, run_cases};

/// A sabotage in one line, the cases that are run with it, and what is said about it.
type Sabotage = (&'static str, Steps, &'static str, &'static str);

const REAL: Steps = Steps::REAL;

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

fn of_authority() -> Vec<Sabotage> {
    let by = |decide| Steps { decide, ..REAL };
    let yes = |accept_approval| Steps { accept_approval, ..REAL };
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
            "what was granted once is granted",
            Steps { still_permitted: |_, _, _| Ok(()), ..REAL },
            "grant-revoked-before-the-start",
            "do not contain \"denied: the grant was taken back\"",
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

/// All text of a reply, its reasoning too.
fn with_reasoning(reply: &Reply) -> Reply {
    let texts = [reply.reasoning.as_deref(), reply.text.as_deref()];
    let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    Reply { text: Some(text), ..reply.clone() }
}

fn of_replies() -> Vec<Sabotage> {
    vec![
        (
            "calls are taken from text under every dialect",
            Steps {
                parse: |dialect, reply, rules| {
                    let (text, calls) = Dialect::Text.parse(reply, rules);
                    if calls.is_empty() { dialect.parse(reply, rules) } else { (text, calls) }
                },
                ..REAL
            },
            "spelled-as-text-where-calls-are-native",
            "the script has 1 steps and was asked for step 2",
        ),
        (
            "calls are taken from reasoning",
            Steps {
                parse: |_, reply, rules| Dialect::Text.parse(&with_reasoning(reply), rules),
                ..REAL
            },
            "rehearsed-in-native-reasoning",
            "the script has 1 steps and was asked for step 2",
        ),
        (
            "every protocol is heard",
            Steps { parse: |dialect, reply, _| dialect.parse(reply, TextRules::ALL), ..REAL },
            "bare-object-where-it-does-not-count",
            "the script has 1 steps and was asked for step 2",
        ),
        (
            "strict parsing hears",
            Steps { parse: |dialect, reply, _| dialect.parse(reply, TextRules::ALL), ..REAL },
            "strict-hears-nothing-and-tells-nothing",
            "the script has 1 steps and was asked for step 2",
        ),
        (
            "the last call of a reply is lost",
            Steps {
                parse: |dialect, reply, rules| {
                    let (text, mut calls) = dialect.parse(reply, rules);
                    calls.truncate(calls.len().saturating_sub(1).max(1));
                    (text, calls)
                },
                ..REAL
            },
            "six-calls-six-ends",
            "harness fault: request 2 refused",
        ),
    ]
}

fn of_arguments() -> Vec<Sabotage> {
    vec![
        (
            "names are read leniently",
            Steps {
                resolve: |mut proposed, view| {
                    proposed.name = proposed.name.trim().to_lowercase();
                    resolve(proposed, view)
                },
                ..REAL
            },
            "almost-a-name",
            "order or outcome differs",
        ),
        (
            "whatever cannot be called is unknown",
            Steps {
                resolve: |proposed, view| {
                    resolve(proposed, view).map_err(|(was, _)| (was, Unavailability::Unknown))
                },
                ..REAL
            },
            "renamed-to-what-is-excluded",
            "0 of ToolCallSettled by outcome/why where 1 are expected",
        ),
        (
            "markers stay",
            Steps { clear_marker: |_, _| false, ..REAL },
            "marker-of-the-model-is-cleared",
            "harness fault: request 2 refused",
        ),
        (
            "only the outermost marker is cleared",
            Steps {
                clear_marker: |args, marker| {
                    args.as_object_mut().is_some_and(|map| map.remove(marker).is_some())
                },
                ..REAL
            },
            "marker-is-cleared-at-every-depth",
            "harness fault: request 2 refused",
        ),
        (
            "another field is taken for the marker",
            Steps {
                clear_marker: |args, marker| {
                    delivery::clear_marker(args, "door") | delivery::clear_marker(args, marker)
                },
                ..REAL
            },
            "marker-is-set-on-a-yes",
            "do not contain \"door.unlock: done (simulated)\"",
        ),
        (
            "the envelope fills in nothing",
            Steps { delivery_defaults: |_, _, _, _| Vec::new(), ..REAL },
            "envelope-fills-what-the-model-left-out",
            "harness fault: request 2 refused",
        ),
        (
            "the envelope knows better than the model",
            Steps {
                delivery_defaults: |args, tool, envelope, who| {
                    let fields = tool.descriptor.execution.delivery.keys();
                    let map = args.as_object_mut().unwrap();
                    fields.for_each(|field| drop(map.remove(field)));
                    delivery_defaults(args, tool, envelope, who)
                },
                ..REAL
            },
            "what-the-model-says-stays",
            "harness fault: request 2 refused",
        ),
        (
            "numbers become texts",
            Steps {
                validate: |mut resolved, principal| {
                    let args = resolved.args_mut().and_then(Value::as_object_mut);
                    for value in args.into_iter().flat_map(serde_json::Map::values_mut) {
                        *value = value.as_u64().map_or(value.take(), |n| n.to_string().into());
                    }
                    validate(resolved, principal)
                },
                ..REAL
            },
            "argument-of-wrong-type",
            "harness fault: request 2 refused",
        ),
        (
            "errors have no place",
            Steps {
                validate: |resolved, principal| {
                    validate(resolved, principal).map_err(|(was, mut errors)| {
                        errors.iter_mut().for_each(|error| error.path.clear());
                        (was, errors)
                    })
                },
                ..REAL
            },
            "rewritten-arguments-must-be-valid",
            "do not contain \"at /path\"",
        ),
    ]
}

fn of_guards() -> Vec<Sabotage> {
    vec![
        (
            "no hook blocks",
            Steps { hook_blocks: |_, _| None, ..REAL },
            "hook-cancels-a-call",
            "do not contain \"blocked by the hook censor",
        ),
        (
            "a guard that fails lets pass",
            Steps {
                hook_blocks: |_, verdict| match verdict {
                    HookVerdict::Cancel { reason } => Some(reason.clone()),
                    _ => None,
                },
                ..REAL
            },
            "panicking-guard-blocks",
            "do not contain \"blocked by the hook guard",
        ),
        (
            "an observer that fails blocks",
            Steps {
                hook_blocks: |_, verdict| match verdict {
                    HookVerdict::Failed { why } => Some(why.clone()),
                    _ => None,
                },
                ..REAL
            },
            "failing-observer-does-not",
            "harness fault: request 2 refused",
        ),
        (
            "questions are asked again and again",
            Steps { repeated_prompt: |_, _, _| Repeat::Fresh, ..REAL },
            "same-question-after-a-no",
            "the script has 2 steps and was asked for step 3",
        ),
        (
            "every question stops the loop",
            Steps { repeated_prompt: |_, _, _| Repeat::Again("nobody".into()), ..REAL },
            "level-asks-and-yes",
            "1 steps of the script were never asked for",
        ),
        (
            "nothing is a duplicate",
            Steps { duplicate: |_, _, _, _| None, ..REAL },
            "same-call-twice-in-a-reply",
            "do not contain \"dropped: the same call stands earlier, as one\"",
        ),
        (
            "the duplicate guard always looks at the turn",
            Steps {
                duplicate: |ledger, call, round, _| {
                    repeat::duplicate(ledger, call, round, DuplicateScope::Turn)
                },
                ..REAL
            },
            "same-call-in-the-next-reply",
            "order or outcome differs",
        ),
        (
            "a write in between does not count",
            Steps {
                duplicate: |ledger, (key, call), round, _| {
                    let mut all = ledger.standing().iter().take_while(|one| *one.call != *call);
                    all.find(|one| one.key == key && one.round == round).map(|one| one.call.clone())
                },
                ..REAL
            },
            "read-again-after-a-write",
            "do not contain \"second",
        ),
        (
            "what never ran counts as a write",
            Steps {
                duplicate: |ledger, (key, call), round, scope| {
                    let own = ledger.standing().iter().any(|one| *one.call == *call);
                    let found = repeat::duplicate(ledger, (key, call), round, scope);
                    found.filter(|_| !own)
                },
                ..REAL
            },
            "read-again-after-a-write-that-never-ran",
            "do not contain \"stands earlier\"",
        ),
    ]
}

/// The same calls as if each had come to the same result.
fn blurred(rounds: &[Round]) -> Vec<Round> {
    let result = rounds.first().map(|round| round.result);
    rounds.iter().map(|round| Round { result: result.unwrap(), ..round.clone() }).collect()
}

fn of_loops() -> Vec<Sabotage> {
    vec![
        (
            "circles are not seen",
            Steps { loop_guard: |_, _, _| LoopVerdict::Pass, ..REAL },
            "circle-is-warned-about",
            "0 of LoopWarned by pattern where 1 are expected",
        ),
        (
            "circles are only warned about",
            Steps {
                loop_guard: |rounds, next, knobs| match loop_guard(rounds, next, knobs) {
                    LoopVerdict::Block(pattern) | LoopVerdict::Stop(pattern) => {
                        LoopVerdict::Warn(pattern)
                    }
                    other => other,
                },
                ..REAL
            },
            "circle-is-blocked",
            "harness fault: request 4 refused",
        ),
        (
            "circles never end the turn",
            Steps {
                loop_guard: |rounds, next, knobs| match loop_guard(rounds, next, knobs) {
                    LoopVerdict::Stop(pattern) => LoopVerdict::Block(pattern),
                    other => other,
                },
                ..REAL
            },
            "circle-goes-on-and-ends-the-turn",
            "harness fault",
        ),
        (
            "results are not looked at",
            Steps { loop_guard: |rounds, n, knobs| loop_guard(&blurred(rounds), n, knobs), ..REAL },
            "other-results-are-no-circle",
            "1 steps of the script were never asked for",
        ),
        (
            "activation finds nothing",
            Steps { activate: |_, _, _| Vec::new(), ..REAL },
            "search-makes-a-tool-callable",
            "`map_route` is not advertised",
        ),
        (
            "activation takes all that waits",
            Steps {
                activate: |set, _, view| {
                    let all = view.waiting.iter().map(|lease| lease.tool.id().clone());
                    set.activate(&all.collect::<Vec<_>>(), view)
                },
                ..REAL
            },
            "search-makes-a-tool-callable",
            "`tool_search` is not advertised",
        ),
    ]
}

fn of_dispatch() -> Vec<Sabotage> {
    let plan = |plan_dispatch| Steps { plan_dispatch, ..REAL };
    vec![
        (
            "everything runs side by side",
            plan(|_, _| Dispatch { parallel: true, reason: "why not" }),
            "a-question-makes-it-sequential",
            "law parallel-only-when-safe broken: a batch was planned in parallel in which a call \
             asked for approval",
        ),
        (
            "searches run beside others",
            plan(|batch, knobs| {
                schedule::plan_dispatch(&schedule::Batch { search: false, ..*batch }, knobs)
            }),
            "a-search-for-tools-runs-alone",
            "law parallel-only-when-safe broken: a batch was planned in parallel in which a call \
             searches",
        ),
        (
            "nothing runs side by side",
            plan(|_, _| Dispatch { parallel: false, reason: "better so" }),
            "two-reads-side-by-side",
            "0 of DispatchPlanned by mode, reason where 1 are expected",
        ),
        (
            "writers never conflict",
            Steps { conflict: |_, _| false, ..REAL },
            "two-writers-of-one-thing-never-meet",
            "law writers-serial broken",
        ),
        (
            "everything conflicts",
            Steps { conflict: |_, _| true, ..REAL },
            "readers-of-one-thing-meet",
            "order or outcome differs",
        ),
        (
            "nothing is tried again",
            Steps { retry: |_, _, _, _| None, ..REAL },
            "second-attempt-succeeds",
            "harness fault",
        ),
        (
            "everything is tried again",
            Steps { retry: |_, _, attempt, now| (attempt < 3).then_some(now), ..REAL },
            "what-costs-twice-is-not-tried-again",
            "harness fault",
        ),
        (
            "one attempt too many",
            Steps {
                retry: |tool, fault, attempt, now| {
                    schedule::retry(tool, fault, attempt.saturating_sub(1), now)
                },
                ..REAL
            },
            "every-attempt-fails",
            "harness fault",
        ),
        (
            "a cancel lets calls begin",
            Steps {
                on_cancel: |stage| match stage {
                    Stage::Queued(_) => OnCancel::Keep,
                    other => schedule::on_cancel(other),
                },
                ..REAL
            },
            "cancelled-during-a-call",
            "law nothing-after-cancel broken: a call started after the cancel was acknowledged",
        ),
        (
            "a cancel forgets what runs",
            Steps {
                on_cancel: |stage| match stage {
                    Stage::Running { .. } => OnCancel::Close,
                    other => schedule::on_cancel(other),
                },
                ..REAL
            },
            "cancelled-during-a-call",
            "law denied-never-runs broken: a call that ended as cancelled started",
        ),
        (
            "a cancel tears nothing down",
            Steps {
                on_cancel: |stage| match stage {
                    Stage::Running { .. } => OnCancel::Keep,
                    other => schedule::on_cancel(other),
                },
                ..REAL
            },
            "cancelled-during-a-call",
            "order or outcome differs",
        ),
    ]
}

fn all() -> Vec<Sabotage> {
    let parts = [of_evidence(), of_order(), of_authority(), of_replies(), of_arguments()];
    [parts.concat(), of_guards(), of_loops(), of_dispatch()].concat()
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
    assert_eq!(kept, Vec::<&String>::new(), "no sabotage replaces these");
}
