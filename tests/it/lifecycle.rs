//! The shipped suite `lifecycle`: every case passes with the product and some case fails, or some
//! law breaks, with every sabotaged step.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proofmark::base::bounded::Bounded;
use proofmark::base::secret::Secret;
use proofmark::eval::case::{Case, ExpectedCall, Mode};
use proofmark::eval::fixture::{Shared, receipt_key};
use proofmark::eval::grade::{Verdict, grade};
use proofmark::eval::load::{Listed, Suite, load};
use proofmark::eval::outcome::{RunVerdict, suite_verdict};
use proofmark::eval::runner::{RunEvent, RunOptions, SuiteResult, run_suite};
use proofmark::eval::trial::TrialRecord;
use proofmark::journal::{Blobs, Entry, Event, Outcome};
use proofmark::runtime::evidence::preview::preview;
use proofmark::runtime::guard::Verdict as Said;
use proofmark::runtime::guard::approval::{Acceptance, accept};
use proofmark::runtime::policy::{self, Decision, Judgement, decide};
use proofmark::runtime::resolved::Knobs;
use proofmark::runtime::turn::steps::{Next, Steps};
use proofmark::sim::mutant;

fn suite() -> Suite {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/lifecycle");
    load(&folder, &Listed::new()).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Runs the suite with these steps and looks at every trial.
fn run(suite: &Suite, steps: Steps, mut look: impl FnMut(&Case, &TrialRecord)) -> SuiteResult {
    let shared = Shared { steps, ..Shared::default() };
    let mut sink = |event: RunEvent<'_>| {
        if let RunEvent::TrialFinished { plan, record, .. } = event {
            look(&plan.case, record);
        }
    };
    let options = RunOptions::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run_suite(suite, &options, &shared, None, &mut sink))
}

/// What was not as expected, `case: complaint`.
fn complaints(result: &SuiteResult) -> Vec<String> {
    let failed = result.cases.iter().filter(|case| case.verdict != Verdict::Pass);
    failed
        .flat_map(|case| case.complaints.iter().map(|said| format!("{}: {said}", case.case.id)))
        .collect()
}

#[test]
fn every_case_passes_and_every_law_had_something_to_judge() {
    let suite = suite();
    let result = run(&suite, Steps::REAL, |_, _| {});
    assert_eq!(complaints(&result), Vec::<String>::new());
    assert!(result.cases.len() >= 100, "{} cases", result.cases.len());
    let laws: BTreeSet<&str> = proofmark::law::all().iter().map(|law| law.name).collect();
    let promised: BTreeSet<&str> = suite.file.exercises.iter().map(String::as_str).collect();
    assert_eq!(promised, laws, "the suite promises every law");
    for law in laws {
        let counts = &result.counts.laws[law];
        println!("{law}: {} trials", counts.exercised);
        assert!(counts.exercised >= 3, "{law}: exercised by {}", counts.exercised);
        assert_eq!((counts.broken, counts.unknown), (0, 0), "{law}");
    }
    let failed: Vec<&str> = result
        .gates
        .iter()
        .filter(|gate| gate.verdict != proofmark::eval::gate::GateVerdict::Pass)
        .map(|gate| gate.gate.as_str())
        .collect();
    assert_eq!(failed, Vec::<&str>::new());
}

/// Everything the suite must have shown, by kind.
const SEEN: [(&str, &[&str]); 9] = [
    ("outcome", &["succeeded", "failed", "rejected", "unavailable", "denied", "replaced"]),
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
    ("by", &["policy", "operator", "no_approver", "approval_timeout"]),
    ("filter", &["excluded", "lifecycle", "intent", "policy", "environment", "context"]),
    ("decision", &["allow", "ask", "strong_ask", "deny"]),
    ("dialect", &["openai_chat", "anthropic_messages", "text"]),
    (
        "also",
        &[
            "blank stands for {}",
            "strong yes",
            "plain yes",
            "artifact",
            "receipt",
            "cut",
            "final_text",
            "iteration_cap",
            "allowed by rule, class external",
            "allowed by rule, class destructive",
        ],
    ),
];

#[test]
fn every_end_that_can_be_reached_is_reached() {
    let suite = suite();
    let mut seen: BTreeMap<&'static str, BTreeMap<String, usize>> = BTreeMap::new();
    run(&suite, Steps::REAL, |_, record| {
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
        _ => {}
    }
    found
}

fn facts(event: &Event) -> Vec<(&'static str, String)> {
    let also = |text: &str| vec![("also", text.to_owned())];
    match event {
        Event::ToolCallSettled(fact) => {
            let mut found = outcome(&fact.outcome);
            found.extend(fact.cut.then(|| ("also", "cut".to_owned())));
            found
        }
        Event::ViewCompiled(fact) => {
            fact.withheld.iter().map(|tool| ("filter", tool.filter.clone())).collect()
        }
        Event::ToolPolicyChecked(fact) => {
            let mut found = vec![("decision", fact.decision.clone())];
            let class = fact.effect_class.map_or("unknown", |class| class.name());
            if fact.decision == "allow" && !fact.rules.is_empty() {
                found.push(("also", format!("allowed by rule, class {class}")));
            }
            found
        }
        Event::ToolArgsValidated(fact) if fact.blank => also("blank stands for {}"),
        Event::ModelRequested(fact) => vec![("dialect", fact.dialect.clone())],
        Event::ApprovalGranted(fact) if fact.strong => also("strong yes"),
        Event::ApprovalGranted(_) => also("plain yes"),
        Event::ArtifactPersisted(_) => also("artifact"),
        Event::ReceiptIssued(_) => also("receipt"),
        Event::TurnFinished(fact) => also(&fact.reason),
        _ => Vec::new(),
    }
}

/// Views are remembered across trials, and each carries its tools in one spelling.
#[test]
fn every_request_spells_its_tools_in_its_own_dialect() {
    let suite = suite();
    let mut spelled: BTreeSet<(String, bool)> = BTreeSet::new();
    run(&suite, Steps::REAL, |_, record| {
        for entry in record.journal.entries() {
            let Event::ModelRequested(request) = &entry.event else { continue };
            let text = record.journal.blobs().get(&request.tools).unwrap();
            let mark = match request.dialect.as_str() {
                "openai_chat" => r#"[{"type":"function""#,
                "anthropic_messages" => r#"[{"description":"#,
                "text" => "To call a tool, write a line",
                other => panic!("{other}"),
            };
            spelled.insert((request.dialect.clone(), text.starts_with(mark)));
        }
    });
    let expected = ["anthropic_messages", "openai_chat", "text"].map(|name| (name.into(), true));
    assert_eq!(spelled, BTreeSet::from(expected));
}

#[test]
fn a_second_run_gives_the_same_rows() {
    let suite = suite();
    let rows = || run(&suite, Steps::REAL, |_, _| {}).rows();
    assert_eq!(rows(), rows());
}

/// Every case is graded a second time against the opposite of what it states, and must fail.
#[test]
fn every_case_can_fail() {
    let suite = suite();
    let mut graded = 0;
    run(&suite, Steps::REAL, |case, record| {
        graded += 1;
        let altered = opposite(case);
        let verdict = grade(&suite, &altered, record, &[]).verdict;
        assert_eq!(verdict, Verdict::Fail, "{} passes whatever happens", case.id);
    });
    assert_eq!(graded, suite.cases.len());
}

/// The same case, with another outcome for each call; one call more where none was expected.
fn opposite(case: &Case) -> Case {
    let mut case = case.clone();
    let calls = case.expect.alternatives.iter_mut().flatten();
    let mut altered = 0;
    for call in calls {
        let stated = call.outcome.as_deref();
        assert!(stated.is_some(), "{}: {} states no outcome", case.id, call.tool);
        let other = if stated == Some("denied") { "succeeded" } else { "denied" };
        call.outcome = Some(other.to_owned());
        altered += 1;
    }
    if altered == 0 {
        let tool: Arc<str> = "note.read".into();
        let call = ExpectedCall { tool, args: None, outcome: None };
        case.expect.alternatives = vec![vec![call]];
        case.expect.mode = Mode::Exactly;
    }
    case
}

fn no_limit(text: &str, suffix: &str, _: usize) -> Bounded {
    Bounded { text: format!("{text}{suffix}"), total_chars: text.chars().count(), cut: false }
}

fn head_alone(text: &str, suffix: &str, max: usize) -> Bounded {
    let room = max.saturating_sub(suffix.chars().count());
    let head: String = text.chars().take(room).collect();
    Bounded { text: format!("{head}{suffix}"), ..preview(text, suffix, max) }
}

/// A sabotage in one line, and what must be said about it: a law, or a case.
type Sabotage = (&'static str, Steps, &'static str);

fn of_evidence() -> Vec<Sabotage> {
    let real = Steps::REAL;
    vec![
        (
            "receipts for failures too",
            Steps { receipt_eligible: |_| true, ..real },
            "law receipt-only-on-success broken: a call that ended as failed has a receipt",
        ),
        (
            "no receipts at all",
            Steps { receipt_eligible: |_| false, ..real },
            "law receipt-only-on-success broken: a call succeeded without the receipt",
        ),
        (
            "nothing is cut",
            Steps { preview: no_limit, ..real },
            "law large-output-stored broken: more than the limit",
        ),
        (
            "one character too many",
            Steps { preview: |text, suffix, max| preview(text, suffix, max + 1), ..real },
            "law large-output-stored broken: more than the limit",
        ),
        (
            "only the head is kept",
            Steps { preview: head_alone, ..real },
            "oversize-output-is-cut: harness fault: request 2 refused",
        ),
        (
            "the model never sees a receipt",
            Steps { preview: |text, _, max| preview(text, "", max), ..real },
            "read-succeeds: harness fault: request 2 refused",
        ),
        (
            "secrets stay",
            Steps { redact: |_, text| Cow::Borrowed(text), ..real },
            "law no-secrets broken",
        ),
    ]
}

fn of_order() -> Vec<Sabotage> {
    let real = Steps::REAL;
    let early: fn(u32, &Knobs) -> Next =
        |done, knobs| if done + 1 < knobs.iteration_cap { Next::Ask } else { Next::Cap };
    vec![
        (
            "results in reverse",
            Steps { append_order: |slots| (0..slots).rev().collect(), ..real },
            "law model-order broken",
        ),
        (
            "the last result is lost",
            Steps { append_order: |slots| (0..slots.saturating_sub(1)).collect(), ..real },
            "law one-result-per-call broken: a settled call of a finished turn was never appended",
        ),
        (
            "no cap",
            Steps { next: |_, _| Next::Ask, ..real },
            "iteration-cap-ends-a-turn: harness fault",
        ),
        (
            "the cap comes one request early",
            Steps { next: early, ..real },
            "iteration-cap-ends-a-turn: harness fault",
        ),
    ]
}

fn of_authority() -> Vec<Sabotage> {
    let real = Steps::REAL;
    let by = |decide| Steps { decide, ..real };
    let yes = |accept_approval| Steps { accept_approval, ..real };
    vec![
        (
            "what policy denies is shown",
            Steps {
                may_expose: |tool, principal, rules| {
                    let judged = policy::may_expose(tool, principal, rules);
                    Judgement { decision: judged.decision.min(Decision::StrongAsk), ..judged }
                },
                ..real
            },
            "withheld-scope-missing: ",
        ),
        (
            "asking and denying become allowing",
            by(|tool, args, principal, rules| {
                let judged = decide(tool, args, principal, rules);
                Judgement { decision: Decision::Allow, ..judged }
            }),
            "law authority-explicit broken",
        ),
        (
            "denying becomes asking",
            by(|tool, args, principal, rules| {
                let judged = decide(tool, args, principal, rules);
                Judgement { decision: judged.decision.min(Decision::StrongAsk), ..judged }
            }),
            "rule-denies-an-argument: ",
        ),
        (
            "every answer is a yes",
            yes(|_, _, _, _| Acceptance::Granted),
            "law approval-binds broken: a plain yes answered a request for the stronger",
        ),
        (
            "a timeout is a yes",
            yes(|request, answer, digest, now| match answer.verdict {
                Said::Timeout => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }),
            "nobody-answers-in-time: ",
        ),
        (
            "nobody is a yes",
            yes(|request, answer, digest, now| match answer.verdict {
                Said::Unreachable => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }),
            "nobody-is-there: ",
        ),
        (
            "a plain yes is strong",
            yes(|request, answer, digest, now| match answer.verdict {
                Said::Yes { .. } => Acceptance::Granted,
                _ => accept(request, answer, digest, now),
            }),
            "law approval-binds broken: a plain yes answered a request for the stronger",
        ),
    ]
}

#[test]
fn every_sabotage_is_noticed() {
    let suite = suite();
    let mut unnoticed = Vec::new();
    for (what, steps, said) in [of_evidence(), of_order(), of_authority()].concat() {
        let result = run(&suite, steps, |_, _| {});
        let complaints = complaints(&result);
        let failed = result.cases.iter().filter(|case| case.verdict != Verdict::Pass).count();
        println!("{what}: {failed} of {} cases fail", result.cases.len());
        if !complaints.iter().any(|complaint| complaint.contains(said)) {
            unnoticed.push(format!("{what}: nobody says `{said}`: {complaints:#?}"));
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
}

#[test]
fn an_assertion_of_ours_ends_its_trial_and_not_the_run() {
    let suite = suite();
    let steps = Steps { next: |_, _| panic!("our own bug"), ..Steps::REAL };
    let result = run(&suite, steps, |_, _| {});
    assert_eq!(result.cases.len(), suite.cases.len());
    assert!(result.cases.iter().all(|case| case.bug));
    assert!(complaints(&result)[0].contains("bug fault: our own bug"));
    assert_eq!(suite_verdict(&result, false), RunVerdict::HarnessBug);
}

/// The mutants that no journal of the present runtime offers a place to.
const NO_PLACE: [&str; 1] = ["drop-standing-grant"];

/// The same of those about dispatch, cancellation, retries and the record as a whole.
const DISPATCH_NO_PLACE: &str = "\
    interrupt-what-finished close-again-on-cancel acknowledge-before-start \
    acknowledge-before-asking end-cancel-as-text drop-teardown late-teardown \
    interrupt-what-never-started forget-finish stop-before-start stop-before-asking \
    end-stop-as-text take-late-result forbid-parallel call-it-sequential search-in-parallel-plan \
    start-beside-search search-beside-call overlap-writers write-what-another-reads \
    forget-failed-attempt retry-too-soon retry-under-another-key skip-an-attempt \
    steer-into-a-round lose-steering repeat-steering ask-the-old-model switch-elsewhere \
    lose-an-entry repeat-a-number cause-from-later miscount-entries patch-before-settle \
    patch-from-refused patch-no-object";

#[test]
fn the_laws_notice_every_mutant_of_these_journals() {
    let suite = suite();
    let mut journals: Vec<(Vec<Entry>, Blobs)> = Vec::new();
    let mut keyed: Option<(Vec<Entry>, Blobs, Secret)> = None;
    run(&suite, Steps::REAL, |_, record| {
        let (entries, blobs) = (record.journal.entries().to_vec(), record.journal.blobs().clone());
        let receipt = |entry: &Entry| matches!(entry.event, Event::ReceiptIssued(_));
        if keyed.is_none() && entries.iter().any(receipt) {
            let key = receipt_key(&record.seed.hex());
            keyed = Some((entries.clone(), blobs.clone(), key));
        }
        journals.push((entries, blobs));
    });
    let (entries, blobs, key) = keyed.unwrap();
    let under_key = mutant::grade(&[(entries, blobs)], Some(key));
    let alone = merged(mutant::grade(&journals, None), &under_key);
    let exercised = |graded: &&mutant::Graded| graded.outcome != mutant::Outcome::NotExercised;
    let count = alone.iter().filter(exercised).count();
    println!("{count} of {} record mutants apply to the suite's own journals", alone.len());
    let idle: Vec<&str> = alone.iter().filter(|g| !exercised(g)).map(|g| g.name).collect();
    let waiting = NO_PLACE.into_iter().chain(DISPATCH_NO_PLACE.split_whitespace());
    assert_eq!(idle, waiting.collect::<Vec<_>>());

    journals.extend(mutant::witnesses());
    let all = merged(mutant::grade(&journals, None), &under_key);
    assert_eq!(all.len(), mutant::all().len());
    for graded in alone.iter().filter(exercised).chain(&all) {
        assert_eq!(graded.outcome, mutant::Outcome::Caught, "{graded:?}");
        assert!(!graded.decoy_flagged, "{graded:?}");
    }
}

/// Each trial has a key of its own, so the mutants that need one are graded under that trial's.
fn merged(graded: Vec<mutant::Graded>, under_key: &[mutant::Graded]) -> Vec<mutant::Graded> {
    let keyed = |name: &str| mutant::find(name).is_some_and(|mutant| mutant.needs_key);
    graded
        .into_iter()
        .zip(under_key)
        .map(|(without, with)| if keyed(without.name) { with.clone() } else { without })
        .collect()
}
