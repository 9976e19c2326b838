//! Sabotages of what happens between a reply and a result: parsing, arguments, guards, loops and
//! dispatch.

use proofmark::journal::outcome::Unavailability;
use proofmark::runtime::dialect::{Dialect, Reply, TextRules};
use proofmark::runtime::guard::HookVerdict;
use proofmark::runtime::guard::delivery::{self, delivery_defaults};
use proofmark::runtime::guard::repeat::{self, DuplicateScope, Repeat};
use proofmark::runtime::guard::resolve::resolve;
use proofmark::runtime::guard::validate::validate;
use proofmark::runtime::turn::control::{LoopVerdict, Round, loop_guard};
use proofmark::runtime::turn::schedule::{self, Dispatch, OnCancel};
use proofmark::runtime::turn::slots::Stage;
use proofmark::runtime::turn::steps::Steps;
use serde_json::Value;

use crate::lifecycle_sabotage::{REAL, Sabotage};

/// All text of a reply, its reasoning too.
fn with_reasoning(reply: &Reply) -> Reply {
    let texts = [reply.reasoning.as_deref(), reply.text.as_deref()];
    let text = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    Reply { text: Some(text), ..reply.clone() }
}

pub(crate) fn of_replies() -> Vec<Sabotage> {
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

pub(crate) fn of_names() -> Vec<Sabotage> {
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
    ]
}

pub(crate) fn of_arguments() -> Vec<Sabotage> {
    vec![
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

pub(crate) fn of_hooks() -> Vec<Sabotage> {
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
    ]
}

pub(crate) fn of_repeats() -> Vec<Sabotage> {
    vec![
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
            "same-call-in-the-next-reply: ",
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

pub(crate) fn of_loops() -> Vec<Sabotage> {
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
            "refusals are not counted",
            Steps {
                loop_guard: |rounds, next, knobs| {
                    let ran = rounds.iter().filter(|round| round.refused.is_none());
                    loop_guard(&ran.cloned().collect::<Vec<_>>(), next, knobs)
                },
                ..REAL
            },
            "unknown-tool-again-and-again",
            "law circles-are-noticed broken: 2 equal calls with equal results went unnoticed",
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

pub(crate) fn of_dispatch() -> Vec<Sabotage> {
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
    ]
}

pub(crate) fn of_ends() -> Vec<Sabotage> {
    vec![
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
