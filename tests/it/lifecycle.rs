//! The shipped suite `lifecycle`: every case passes with the product and can fail, and its journals
//! give the laws and their mutants something to judge.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use proofmark::base::secret::Secret;
use proofmark::eval::case::{Case, ExpectedCall, Mode};
use proofmark::eval::fixture::{Shared, receipt_key};
use proofmark::eval::grade::{Verdict, grade};
use proofmark::eval::load::{Listed, Suite, load};
use proofmark::eval::outcome::{RunVerdict, suite_verdict};
use proofmark::eval::runner::{RunEvent, RunOptions, SuiteResult, run_suite};
use proofmark::eval::select::Selection;
use proofmark::eval::trial::TrialRecord;
use proofmark::journal::{Blobs, Entry, Event};
use proofmark::runtime::turn::steps::Steps;
use proofmark::sim::mutant;

/// The suite, loaded once.
pub(crate) fn suite() -> &'static Suite {
    static SUITE: LazyLock<Suite> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/lifecycle");
        load(&folder, &Listed::new()).unwrap_or_else(|problems| panic!("{problems:#?}"))
    });
    &SUITE
}

/// Runs cases (globs of ids; all of them when there is none) with these steps and looks at every
/// trial.
pub(crate) fn run_cases(
    cases: &[&str],
    steps: Steps,
    mut look: impl FnMut(&Case, &TrialRecord),
) -> SuiteResult {
    let shared = Shared { steps, ..Shared::default() };
    let mut sink = |event: RunEvent<'_>| {
        if let RunEvent::TrialFinished { plan, record, .. } = event {
            look(&plan.case, record);
        }
    };
    let cases: Vec<String> = cases.iter().map(ToString::to_string).collect();
    let selection = Selection::new(&cases, &[], &[]).unwrap();
    let options = RunOptions { selection, ..RunOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run_suite(suite(), &options, &shared, None, &mut sink))
}

fn run(steps: Steps, look: impl FnMut(&Case, &TrialRecord)) -> SuiteResult {
    run_cases(&[], steps, look)
}

/// What was not as expected, `case: complaint`.
pub(crate) fn complaints(result: &SuiteResult) -> Vec<String> {
    let failed = result.cases.iter().filter(|case| case.verdict != Verdict::Pass);
    failed
        .flat_map(|case| case.complaints.iter().map(|said| format!("{}: {said}", case.case.id)))
        .collect()
}

/// Laws that no case can exercise yet, and why.
pub const NOT_EXERCISED: [(&str, &str); 6] = [
    ("consent-before-server", "no tool is of a server that is called; those are in mcp-live"),
    ("skill-scripts-registered", "no tool comes from a skill"),
    ("golden-before-enable", "tools are taken as verified; nothing is enabled in an evaluation"),
    ("child-within-parent", "a delegate's tool is simulated: no second session begins"),
    ("surfaces-bounded", "nothing leaves by a named surface yet"),
    ("surfaces-correlated", "nothing leaves by a named surface yet"),
];

#[test]
fn every_case_passes_and_every_law_had_something_to_judge() {
    let result = run(Steps::REAL, |_, _| {});
    assert_eq!(complaints(&result), Vec::<String>::new());
    assert!(result.cases.len() >= 300, "{} cases", result.cases.len());
    let laws: BTreeSet<&str> = proofmark::law::all().iter().map(|law| law.name).collect();
    let idle: BTreeSet<&str> = laws
        .iter()
        .copied()
        .filter(|law| result.counts.laws.get(*law).is_none_or(|counts| counts.exercised == 0))
        .collect();
    let known = NOT_EXERCISED.iter().map(|(law, _)| *law).filter(|law| laws.contains(law));
    assert_eq!(idle, known.collect(), "exactly these laws have nothing to judge");
    let promised: BTreeSet<&str> = suite().file.exercises.iter().map(String::as_str).collect();
    let judging: BTreeSet<&str> = laws.difference(&idle).copied().collect();
    assert_eq!(promised, judging, "the suite promises every other law");
    for law in judging {
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

/// Views are remembered across trials, and each carries its tools in one spelling.
#[test]
fn every_request_spells_its_tools_in_its_own_dialect() {
    let mut spelled: BTreeSet<(String, bool)> = BTreeSet::new();
    run(Steps::REAL, |_, record| {
        for entry in record.journal.entries() {
            let Event::ModelRequested(request) = &entry.event else { continue };
            let text = record.journal.blobs().get(&request.tools).unwrap();
            let mark = match request.dialect.as_str() {
                // Nothing may be shown at all, and strict parsing tells nothing of a protocol.
                _ if text.is_empty() || &**text == "[]" => continue,
                "openai_chat" => r#"[{"type":"function""#,
                "openai_responses" => r#"[{"description":"#,
                "anthropic_messages" => r#"[{"description":"#,
                "gemini" => r#"[{"functionDeclarations":"#,
                "text" => "To call a tool, ",
                other => panic!("{other}"),
            };
            spelled.insert((request.dialect.clone(), text.starts_with(mark)));
        }
    });
    let all = ["anthropic_messages", "gemini", "openai_chat", "openai_responses", "text"];
    let expected = all.map(|name| (name.into(), true));
    assert_eq!(spelled, BTreeSet::from(expected));
}

#[test]
fn a_second_run_gives_the_same_rows() {
    let rows = || run(Steps::REAL, |_, _| {}).rows();
    assert_eq!(rows(), rows());
}

/// Every case is graded a second time against the opposite of what it states, and must fail.
#[test]
fn every_case_can_fail() {
    let mut graded = 0;
    run(Steps::REAL, |case, record| {
        graded += 1;
        let altered = opposite(case);
        let verdict = grade(suite(), &altered, record, &[]).verdict;
        assert_eq!(verdict, Verdict::Fail, "{} passes whatever happens", case.id);
    });
    assert_eq!(graded, suite().cases.len());
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

#[test]
fn an_assertion_of_ours_ends_its_trial_and_not_the_run() {
    let steps = Steps { next: |_, _| panic!("our own bug"), ..Steps::REAL };
    let result = run(steps, |_, _| {});
    assert_eq!(result.cases.len(), suite().cases.len());
    assert!(result.cases.iter().all(|case| case.bug));
    assert!(complaints(&result)[0].contains("bug fault: our own bug"));
    assert_eq!(suite_verdict(&result, false), RunVerdict::HarnessBug);
}

/// Mutants that no journal of the suite offers a place to, by why.
const NO_PLACE: [(&str, &[&str]); 10] = [
    (
        "where a grant answers, policy has asked: it never says that it allows",
        &["drop-standing-grant"],
    ),
    (
        "the driver answers each start once: late results come from the simulator",
        &["take-late-result"],
    ),
    ("every success of the suite has its receipt", &["observer-fails-call"]),
    (
        "no tool comes from a skill",
        &["drop-skill-registration", "late-skill-registration", "run-unshown-skill"],
    ),
    (
        "nothing is enabled in an evaluation",
        &["enable-without-evidence", "enable-beyond-evaluation"],
    ),
    (
        "a session discovers nothing: that stands in a registry's journal",
        &["enable-changed-definition", "discover-after-normalizing", "enable-unverified-skill"],
    ),
    (
        "nothing of the suite runs in the kernel's sandbox",
        &["name-no-mechanism", "name-one-mechanism-less", "limit-no-processes"],
    ),
    (
        "no delegate begins",
        &[
            "widen-child-tools",
            "widen-child-scopes",
            "drop-delegate-end",
            "end-another-delegate",
            "block-before-delegate",
        ],
    ),
    (
        "no tool is of a server that is called",
        &["drop-consent", "consent-to-another", "consent-of-another"],
    ),
    (
        "nothing leaves by a named surface",
        &[
            "overrun-surface",
            "tighten-surface",
            "end-without-start",
            "end-with-other-correlation",
            "end-twice",
        ],
    ),
];

#[test]
fn the_laws_notice_every_mutant_of_these_journals() {
    let mut journals: Vec<(Vec<Entry>, Blobs)> = Vec::new();
    let mut keyed: Option<(Vec<Entry>, Blobs, Secret)> = None;
    run(Steps::REAL, |_, record| {
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
    let idle: BTreeSet<&str> = alone.iter().filter(|g| !exercised(g)).map(|g| g.name).collect();
    let known = NO_PLACE.iter().flat_map(|(_, mutants)| *mutants).copied();
    assert_eq!(idle, known.filter(|name| mutant::find(name).is_some()).collect());

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
