//! The judge as a whole: seeds, several sessions, implications, arbitrary journals.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::lines_tests::said;
use super::{Finding, Judge, Verdict, dsl, explain, find};
use crate::journal::{Blobs, Entry, format};

fn judge(entries: &[Entry], blobs: &Blobs) -> Vec<Finding> {
    Judge::new(Some(dsl::key())).journal(entries, blobs)
}

/// What each law says that had something to judge.
fn table(findings: &[Finding]) -> String {
    let row = |finding: &Finding| format!("{}: {}\n", finding.law, said(&finding.verdict));
    let judged = findings.iter().filter(|finding| finding.verdict != Verdict::NotExercised);
    judged.map(row).collect()
}

#[test]
fn seed_b_lines_break_nothing_and_say_little() {
    let text = include_str!("../../golden/journals/seed-b.jsonl");
    let (entries, problems) = format::read("seed-b", text);
    assert_eq!(problems, []);
    let findings = table(&judge(&entries, &Blobs::default()));
    insta::assert_snapshot!(findings, @r#"
    registered-version: unknown: no tool is registered, and tc_1 started
    one-result-per-call: unknown: the journal ends while tc_1 is open
    validated-before-policy: holds 1
    policy-before-start: holds 1
    sandbox-before-start: holds 1
    one-pipeline: unknown: no dispatch is planned, and tc_1 started
    at-most-once: holds 1
    events-name-their-call: holds 1
    "#);
}

/// A complete turn by a runtime that records nothing optional.
#[test]
fn a_foreign_journal_without_optional_facts_breaks_nothing() {
    let digest = crate::base::digest::Digest::of("x", b"x");
    let rest = format!(r#""eventId":11,"bytes":1,"contentHash":"{digest}""#);
    let text = format!(
        r#"{{"type":"SessionOpened","principal":"p"}}
{{"type":"ToolNormalized","toolId":"a","toolVersion":"{digest}"}}
{{"type":"ToolCallRequested","call":"1","toolId":"a"}}
{{"type":"ToolCallRequested","call":"2","toolId":"a"}}
{{"type":"ToolArgsValidated","call":"1","status":"passed","toolVersion":"{digest}"}}
{{"type":"ToolPolicyChecked","call":"1","decision":"ask","reason":"r"}}
{{"type":"ApprovalRequested","call":"1","approvalId":"x","summary":"s","callDigest":"{digest}"}}
{{"type":"ApprovalGranted","approvalId":"x","callDigest":"{digest}","decider":"d","channel":"c"}}
{{"type":"ToolCallStarted","call":"1"}}
{{"type":"ToolCallSettled","call":"2","outcome":{{"kind":"denied","by":"policy","reason":"r"}}}}
{{"type":"ToolCallFinished","call":"1","status":"success"}}
{{"type":"ArtifactPersisted","toolCallId":"1","artifactId":"f","kind":"log",{rest}}}
{{"type":"ToolCallSettled","call":"1","outcome":{{"kind":"succeeded"}}}}
{{"type":"TurnFinished","reason":"final_text"}}
"#
    );
    let (entries, problems) = format::read("foreign", &text);
    assert_eq!(problems, []);
    let findings = table(&judge(&entries, &Blobs::default()));
    insta::assert_snapshot!(findings, @r#"
    registered-version: holds 1
    one-result-per-call: holds 2
    validated-before-policy: holds 1
    policy-before-start: holds 1
    approval-binds: holds 2
    denied-never-runs: holds 1
    artifact-provenance: holds 1
    outcome-tells-truth: unknown: the journal records no policy check of 2
    timeout-is-no-refusal: holds 1
    answers-addressed: holds 1
    sandbox-before-start: unknown: no sandbox of 1 is recorded
    torn-down-before-end: holds 1
    late-results-dropped: holds 1
    one-pipeline: unknown: no dispatch is planned, and 1 started
    at-most-once: holds 1
    events-name-their-call: holds 2
    truth-of-finish: holds 1
    "#);
}

#[test]
fn interleaved_sessions_are_judged_apart() {
    let line = "open; @s2 open -a; user; @s2 user; view a; @s2 view b; model; @s2 model; \
                req 1 a; @s2 req 1 b; val 1; @s2 pol 1 deny; pol 1 allow; @s2 set 1 denied; \
                run 1; @s2 app 1; fin 1 ok; @s2 end; set 1 succeeded; app 1; end";
    let (entries, blobs) = dsl::journal(line).unwrap();
    let findings = judge(&entries, &blobs);
    let broken: Vec<&Finding> =
        findings.iter().filter(|f| matches!(f.verdict, Verdict::Broken { .. })).collect();
    let [Finding { law: "validated-before-policy", verdict: Verdict::Broken { violations } }] =
        broken.as_slice()
    else {
        panic!("{}", table(&findings))
    };
    assert_eq!(violations.len(), 1);
    insta::assert_snapshot!(explain(&violations[0], &entries), @r#"
    `validated-before-policy` is broken (B3: arguments are validated before policy is checked).
    In call c1 of session s2: policy was checked before the arguments were validated.
      #9 c1 ToolPolicyChecked: deny
    "#);
}

#[test]
fn one_cause_is_reported_once() {
    let line = "open r; user; cat a; view a -x; model; req 1 a; run 1 class=external; fin 1 ok; \
                set 1 succeeded; app 1; end";
    let (entries, blobs) = dsl::journal(line).unwrap();
    insta::assert_snapshot!(table(&judge(&entries, &blobs)), @r#"
    registered-version: holds 1
    one-result-per-call: holds 1
    model-order: holds 1
    policy-before-start: broken: c1 a call started without arguments that passed validation
    authority-explicit: unknown: its breach follows from `policy-before-start`
    receipt-only-on-success: unknown: its breach follows from `policy-before-start`
    view-explained: holds 2
    withheld-not-run: holds 2
    sandbox-before-start: unknown: no sandbox of c1 is recorded
    activation-grants-nothing: holds 1
    calls-where-allowed: holds 1
    torn-down-before-end: holds 1
    late-results-dropped: holds 1
    one-pipeline: unknown: no dispatch is planned, and c1 started
    at-most-once: holds 1
    closed-before-end: holds 1
    appended-as-settled: holds 1
    events-name-their-call: holds 1
    truth-of-finish: holds 1
    caps-respected: holds 1
    "#);
}

#[test]
fn an_explanation_shows_no_free_text() {
    let line = "open c; user; view a; model; req 1 a; val 1; pol 1 pmk-canary-7; run 1; \
                fin 1 ok; set 1 succeeded; app 1; end";
    let (entries, blobs) = dsl::journal(line).unwrap();
    let findings = judge(&entries, &blobs);
    let secrets = findings.iter().find(|finding| finding.law == "no-secrets").unwrap();
    let Verdict::Broken { violations } = &secrets.verdict else { panic!("{secrets:?}") };
    insta::assert_snapshot!(explain(&violations[0], &entries), @r#"
    `no-secrets` is broken (B7: no secret in any fact, request, message or shown text).
    In call c1 of session s1: the facts of ToolPolicyChecked hold a planted canary.
      #10 c1 ToolPolicyChecked: (a text)
    "#);
}

#[test]
fn without_the_key_only_the_code_goes_unchecked() {
    let line = "open r; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                rcpt 1 forged; set 1 succeeded; app 1; end";
    let law = |findings: Vec<Finding>| {
        let own = findings.into_iter().find(|f| f.law == "receipt-only-on-success");
        said(&own.unwrap().verdict)
    };
    let (entries, blobs) = dsl::journal(line).unwrap();
    assert_eq!(law(Judge::new(None).journal(&entries, &blobs)), "holds 1");
    assert!(law(judge(&entries, &blobs)).contains("does not verify"));
    let open = "open r; user; req 1 a; run 1; fin 1 ok; rcpt 1";
    let (entries, blobs) = dsl::journal(open).unwrap();
    let said = law(Judge::new(None).journal(&entries, &blobs));
    assert!(said.starts_with("unknown: c1 has a receipt"), "{said}");
}

/// A text that was clean under one session's list is read again under another's.
#[test]
fn what_is_remembered_of_a_text_belongs_to_its_rules() {
    let clean = "open c; user; view a; model; req 1 a; run 1; fin 1 ok; \
                 set 1 succeeded text=hunter2-hunter2; app 1; end";
    let (first, blobs) = dsl::journal(clean).unwrap();
    let (second, _) = dsl::journal(&clean.replace("open c", "open h")).unwrap();
    let mut judge = Judge::new(None);
    let mut law = |entries: &[Entry]| {
        let findings = judge.journal(entries, &blobs);
        said(&findings.into_iter().find(|f| f.law == "no-secrets").unwrap().verdict)
    };
    assert!(law(&first).starts_with("holds"));
    assert!(law(&second).contains("c1 a shown result holds a secret"));
    assert!(law(&first).starts_with("holds"));
}

/// The cost of judging many journals is the cost of their entries: texts are read once.
#[test]
fn a_clean_text_is_read_once() {
    for rules in ["c", "h", "c h"] {
        let line = format!(
            "open {rules}; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; \
             set 1 succeeded; app 1; end"
        );
        let (entries, blobs) = dsl::journal(&line).unwrap();
        let mut judge = Judge::new(None);
        for _ in 0..50 {
            judge.journal(&entries, &blobs);
        }
        assert_eq!(judge.scanner.reads(), blobs.iter().count(), "open {rules}");
    }
}

#[test]
fn the_line_language_says_what_it_cannot_read() {
    for bad in ["nonsense 1", "open; run", "set 1 happy", "req 1", "at noon"] {
        assert!(dsl::journal(bad).unwrap_err().starts_with("cannot read `"), "{bad}");
    }
}

/// Every clause of the language, so that every event that a law reads can be written.
const EVERYTHING: &str = "open c h r max=40 -x; found a; cat a,b; norm a; enable a; block z; consent w; \
     user; view a,b -x; model; \
     req 1 a, 2 b, 3 a, 4 b; rename 2 a; warned; val 1; pol 1 ask class=external; ask 1 strong; \
     yes 1 strong; grant 1; box 1; run 1 class=external; fail 1; run 1; fin 1 ok chars=90; chk 1; \
     art 1; rcpt 1; set 1 succeeded cut; val 2; pol 2 ask; ask 2; no 2; set 2 denied; val 3; \
     pol 3 ask; ask 3; edit 3; set 3 replaced; ask 4; late 4; gone 4; set 4 denied; app 1,2,3,4; \
     made 1; plan 1,2; torn 1; drop 1; stuck 2 of=1; patch 1; steer more; switch scripted other; \
     loop same_call; cancel; ack; say more; trace step; at 9000; end events";

#[test]
fn every_event_that_a_law_reads_can_be_written() {
    let (entries, _) = whole();
    let written: Vec<&str> = entries.iter().map(|entry| entry.event.name()).collect();
    for name in super::index::READ {
        assert!(written.contains(name), "no clause writes {name}");
    }
}

fn whole() -> (Vec<Entry>, Blobs) {
    dsl::journal(&[EVERYTHING, super::lines_guard_tests::EVERYTHING].join(";")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Any events in any order, dropped and doubled, over up to three sessions.
    #[test]
    fn any_journal_is_judged_and_sessions_do_not_meet(
        picks in proptest::collection::vec((0_usize..200, 0_u8..3, 0_u8..5, any::<bool>()), 0..60)
    ) {
        let (all, blobs) = whole();
        let entries: Vec<Entry> = picks.iter().zip(1..).map(|((pick, session, call, keep), seq)| {
            let mut entry = all[pick % all.len()].clone();
            entry.session = format!("s{session}").into();
            if *call > 0 {
                entry.call = Some(format!("c{call}").into());
            } else if !keep {
                entry.call = None;
            }
            entry.seq = if *keep { seq } else { entry.seq };
            entry
        }).collect();
        let together = judge(&entries, &blobs);
        let mut apart = Vec::new();
        for session in ["s0", "s1", "s2"] {
            let own: Vec<Entry> =
                entries.iter().filter(|entry| *entry.session == *session).cloned().collect();
            apart.push(judge(&own, &blobs));
        }
        for (place, finding) in together.iter().enumerate() {
            let verdicts: Vec<&Verdict> = apart.iter().map(|own| &own[place].verdict).collect();
            prop_assert_eq!(summary(&[&finding.verdict]), summary(&verdicts), "{}", finding.law);
            if let Verdict::Broken { violations } = &finding.verdict {
                for violation in violations {
                    prop_assert!(!explain(violation, &entries).is_empty());
                    prop_assert!(!violation.events.is_empty());
                }
            }
        }
    }
}

/// What merging keeps: the breaches whatever their order, else a gap, else the count.
fn summary(verdicts: &[&Verdict]) -> (Vec<String>, bool, u64) {
    let (mut broken, mut unknown, mut count) = (Vec::new(), false, 0);
    for verdict in verdicts {
        match verdict {
            Verdict::Broken { violations } => {
                broken.extend(violations.iter().map(|violation| format!("{violation:?}")));
            }
            Verdict::Unknown { .. } => unknown = true,
            Verdict::Holds { checked } => count += checked,
            Verdict::NotExercised => {}
        }
    }
    broken.sort();
    match (broken.is_empty(), unknown) {
        (false, _) => (broken, false, 0),
        (true, true) => (broken, true, 0),
        (true, false) => (broken, false, count),
    }
}

#[test]
fn a_missing_law_is_not_found() {
    assert!(find("no-such-law").is_none());
    assert_eq!(find("no-secrets").map(|law| law.source), Some("B7"));
}
