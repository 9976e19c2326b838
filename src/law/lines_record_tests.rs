//! Good and broken lines of the laws about rounds and about the record as a whole.
#![allow(clippy::unwrap_used)]

use super::lines_tests::{CALL, DONE, TURN, check, check_law, said};
use super::{Judge, dsl};

#[test]
fn results_before_request() {
    let law = "results-before-request";
    let rows = [
        ("model; req 1 a, 2 b; set 1 denied; set 2 denied; app 1,2; view a; model", "holds 1"),
        ("model; model; model", "not exercised"),
        ("model; req 1 a; set 1 denied; app 1; end", "not exercised"),
        ("model; req 1 a; set 1 denied; say x; model; app 1", "c1 a model was asked before a call"),
        ("model; req 1 a, 2 b; set 1 denied; set 2 denied; app 1; model; app 2", "c2 a model was"),
        // Each round is held against the next request alone.
        (
            "model; req 1 a; set 1 denied; say x; model; app 1; req 2 a; set 2 denied; app 2; model",
            "broken: c1 a model was asked before a call of its last reply was answered",
        ),
        ("model; req 1 a; say x; model", "c1 a model was asked"),
        ("model; req 1 a; set 1 denied; end; user; view a; model; say x", "not exercised"),
        ("model; req 1 a; set 1 denied; say x; model; end", "unknown: its breach follows from"),
        // No transcript is recorded at all.
        ("model; req 1 a; set 1 denied; model", "not exercised"),
    ];
    check(law, "open; user; view a,b; ", &rows);
    let loose = "open; user; view a,b; model; req 1 a, 2 b loose; made 1,2; set 1 denied; \
                 set 2 denied; ";
    let rows = [
        ("app 1,2 loose; model", "holds 1"),
        ("app 1 loose; model; app 2 loose", "c2 a model was asked before a call"),
    ];
    check(law, loose, &rows);
}

#[test]
fn steering_between_rounds() {
    let law = "steering-between-rounds";
    let start = "open; user; view a,b; model; req 1 a, 2 b; made 1,2; set 1 denied; ";
    let rows = [
        ("set 2 denied; app 1,2 loose; view a; model", "not exercised"),
        ("steer hey; set 2 denied; app 1,2 loose; say hey; view a; model", "holds 1"),
        ("set 2 denied; app 1,2 loose; steer hey; say hey; view a; model", "holds 1"),
        ("steer hey; steer ho; set 2 denied; app 1,2 loose; say hey; say ho; model", "holds 2"),
        ("steer hey; steer hey; set 2 denied; app 1,2 loose; say hey; say hey; model", "holds 2"),
        // The turn ends before anybody is asked again: nothing was withheld from a model.
        ("steer hey; set 2 denied; app 1,2 loose; end", "not exercised"),
        ("steer hey; set 2 denied; app 1,2 loose; model", "- a model was asked before it was told"),
        ("steer hey; set 2 denied; app 1,2 loose; model; say hey", "before it was told"),
        ("steer hey; steer hey; set 2 denied; app 1,2 loose; say hey; model", "before it was told"),
        ("steer hey; steer ho; set 2 denied; app 1,2 loose; say hey; model", "before it was told"),
        ("steer hey; set 2 denied; app 1,2 loose; say hey; say hey; model", "more than once"),
        ("steer hey; set 2 denied; app 1,2 loose; say hey; model; say hey", "more than once"),
        ("steer hey; say hey; set 2 denied; app 1,2 loose; model", "c1 a steering message stands"),
        ("set 2 denied; steer hey; app 1 loose; say hey; app 2 loose; model", "c2 a steering mes"),
        // In other words than were received: whether it is the same cannot be told.
        ("steer hey; set 2 denied; app 1,2 loose; say ho; model", "unknown: a user message foll"),
        // The same words in another turn are that turn's.
        (
            "steer hey; set 2 denied; app 1,2 loose; say hey; model; end; user; say hey; model",
            "holds 1",
        ),
        ("set 2 denied; app 1,2 loose; say hey; steer hey; say hey; model", "holds 1"),
    ];
    check(law, start, &rows);
    let line = format!("{start}steer hey; say hey; set 2 denied; app 1,2 loose; model");
    check_law(&line, "model-order", "unknown: its breach follows from `steering-between-rounds`");
    let line = format!("{start}say hey; set 2 denied; app 1,2 loose; model");
    check_law(&line, "model-order", "c1 results do not follow the message that made the calls");
    let line = "open; user; view a; model; req 1 a loose; made 1; set 1 denied; steer hey; \
                say hey; app 1 loose";
    check_law(line, law, "c1 a steering message stands between a call and its result");
}

#[test]
fn model_switch_keeps_slots() {
    let law = "model-switch-keeps-slots";
    let rows = [
        ("model; req 1 a; set 1 denied; app 1; view a; model", "not exercised"),
        ("model; switch scripted other; model by=other", "holds 1"),
        ("model; switch scripted other; model by=other; model by=other", "holds 2"),
        ("model; switch scripted other; switch other third; model by=third", "holds 1"),
        ("model; switch scripted other; end", "not exercised"),
        ("switch scripted other; end; user; view a; model", "not exercised"),
        ("model; switch scripted other; model", "- a model was asked that is not the one the turn"),
        ("model; switch scripted other; model by=other; model", "not the one the turn had"),
        ("model; switch scripted other; switch other third; model by=other", "not the one"),
        ("model; switch scripted other; model by=other; switch other scripted; model", "holds 2"),
    ];
    check(law, "open; user; view a; ", &rows);
    // An open call over the switch is settled and appended as ever.
    let line = "open; user; view a; model; req 1 a; switch scripted other; app 1; model by=other";
    check_law(line, law, "holds 1");
}

#[test]
fn closed_before_end() {
    let law = "closed-before-end";
    let rows = [
        ("req 1 a; set 1 denied; app 1; end", "holds 1"),
        ("req 1 a; set 1 denied; app 1; end provider_fault", "holds 1"),
        ("req 1 a; set 1 denied; app 1", "not exercised"),
        ("end", "not exercised"),
        ("req 1 a, 2 b; set 1 denied; app 1; end; set 2 denied; app 2 loose", "c2 a slot was sti"),
        ("req 1 a; set 1 denied; end provider_fault; app 1", "c1 a result was not appended when"),
        ("req 1 a; end cancelled; set 1 cancelled; app 1", "c1 a slot was still open when"),
        // Without any transcript only the settling counts.
        ("req 1 a; set 1 denied; end", "holds 1"),
        ("req 1 a; end", "unknown: its breach follows from `one-result-per-call`"),
        ("req 1 a; set 1 denied; app 1; end; user; req 2 a; set 2 denied; app 2; end", "holds 2"),
        ("req 1 a; set 1 denied; app 1; end; user; req 2 a", "holds 1"),
    ];
    check(law, TURN, &rows);
}

#[test]
fn appended_as_settled() {
    let law = "appended-as-settled";
    let rows = [
        ("run 1; fin 1 ok; set 1 succeeded; app 1; end", "holds 1"),
        ("set 1 denied; app 1; app 1 loose", "holds 2"),
        ("set 1 denied", "not exercised"),
        ("app 1 loose", "not exercised"),
        ("set 1 denied; post 1 text=no", "c1 a result was appended in another text than it was"),
        ("set 1 denied; post 1 chars=1", "c1 a result was appended in another length than it"),
        ("set 1 denied chars=7; post 1", "holds 1"),
        ("set 1 denied chars=7; post 1 chars=8", "in another length"),
        ("set 1 denied bare; post 1 text=no", "not exercised"),
        // An odd text is as good as any other.
        ("set 1 denied text=Error:; app 1", "holds 1"),
    ];
    check(law, CALL, &rows);
}

#[test]
fn events_name_their_call() {
    let law = "events-name-their-call";
    let rows = [
        ("pol 1 allow; run 1; fin 1 ok; set 1 succeeded; app 1; end", "holds 1"),
        ("anon pol 1 allow", "- a ToolPolicyChecked names no call"),
        ("run 1; anon fin 1 ok", "- a ToolCallFinished names no call"),
        ("anon torn 1", "- a TornDown names no call"),
        ("anon stuck 1 of=1", "- a RepeatStopped names no call"),
        ("val 7", "c7 a fact names a call that nobody had requested yet"),
        ("val 7; req 7 a", "c7 a fact names a call"),
        ("set 7 denied", "unknown: its breach follows from `one-result-per-call`"),
        ("fin 1 ok; run 1", "c1 a call finished before it had started"),
        ("run 1; torn 1; set 1 interrupted; fin 1 ok", "holds 1"),
        ("fin 1 ok", "unknown: its breach follows from `one-result-per-call`"),
        // An answer may be known by its request, an artifact by its own facts.
        ("pol 1 ask; ask 1; anon yes 1; run 1", "holds 1"),
        ("pol 1 ask; ask 1; anon no 1 to=7", "holds 1"),
        ("pol 1 ask; ask 1; yes 7 to=1", "c7 a fact names a call"),
        ("run 1; fin 1 ok; anon art 1", "holds 1"),
        ("run 1; fin 1 ok; anon patch 1", "holds 1"),
        ("anon grant 1", "holds 1"),
    ];
    check(law, CALL, &rows);
    check_law("open; user; view a; model; end", law, "not exercised");
    check_law(&format!("{CALL}@s2 val 1; {DONE}"), law, "broken: c1 a fact names a call");
}

#[test]
fn journal_whole() {
    let law = "journal-whole";
    let rows = [
        ("end", "not exercised"),
        ("", "not exercised"),
        ("end events", "holds 1"),
        ("end events; user; end events", "holds 2"),
        ("end events; user; end", "holds 1"),
        // A tail that is cut off takes its count with it.
        ("end events; user; model", "unknown: the journal ends inside a turn"),
        ("end events; trace late", "holds 1"),
        ("seq 3; model; end events", "- an entry numbered 3 follows number 3"),
        ("seq 2; model; end events", "an entry numbered 2 follows number 3"),
        ("model; seq 9; model; end events", "- a turn's end counts 10 entries where there are 6"),
        ("model; cause 4; end events", "an entry was caused by number 4, which is not before it"),
        ("model; cause 9; end events", "an entry was caused by number 9"),
        ("model; cause 1; end events", "holds 1"),
        // Whoever counts nothing promises nothing.
        ("seq 3; model; end", "not exercised"),
        ("model; cause 9; end", "not exercised"),
        ("@s2 open; end events; @s2 user; @s2 end events", "holds 2"),
    ];
    check(law, "open; user; ", &rows);
}

#[test]
fn truth_of_finish() {
    let law = "truth-of-finish";
    let rows = [
        ("fin 1 ok; chk 1; set 1 succeeded", "holds 1"),
        ("fin 1 ok; set 1 succeeded", "holds 1"),
        ("fin 1 ok; chk 1 skipped; set 1 succeeded", "holds 1"),
        ("fin 1 failed; chk 1; set 1 failed", "holds 1"),
        ("fin 1 ok; chk 1 failed; set 1 failed", "holds 1"),
        ("fin 1 failed; set 1 succeeded", "c1 a call that finished with a failure was settled as"),
        ("fin 1 ok fault; set 1 succeeded", "c1 a call that finished with a failure was settled"),
        ("fin 1 cancelled; set 1 succeeded", "was settled as succeeded"),
        ("fin 1 ok; chk 1 failed; set 1 succeeded", "although its result failed verification"),
        ("chk 1 failed; set 1 succeeded", "although its result failed verification"),
        ("fin 1 ok; chk 1; set 1 failed", "c1 a call that finished well and passed was settled"),
        ("fin 1 ok; torn 1; set 1 interrupted", "c1 a call that had finished was settled as int"),
        ("fin 1 partial; set 1 interrupted", "was settled as interrupted"),
        // What failed it may not be recorded.
        ("fin 1 ok; set 1 failed", "unknown: c1 finished well and failed, and nothing says why"),
        ("fin 1 ok; chk 1 skipped; set 1 failed", "unknown: c1 finished well and failed"),
        ("fin 1 ok; chk 1 undeclared=w; set 1 failed", "holds 1"),
        ("fin 1 partial; set 1 failed", "not exercised"),
        ("fin 1 partial; set 1 succeeded", "not exercised"),
        ("fin 1 cancelled; torn 1; set 1 interrupted", "not exercised"),
        ("torn 1; set 1 interrupted", "not exercised"),
        ("fin 1 ok", "not exercised"),
        ("fin 1 ok; set 1 cancelled", "not exercised"),
        // A result that comes late says nothing of the end.
        ("torn 1; set 1 interrupted; fin 1 ok", "not exercised"),
        // A text that looks like an error is no error.
        ("fin 1 ok; chk 1; set 1 succeeded text=Error:", "holds 1"),
        ("fin 1 failed; chk 1; set 1 failed text=fine", "holds 1"),
        ("fail 1; run 1; fin 1 ok; chk 1; set 1 succeeded", "holds 1"),
    ];
    check(law, &format!("{CALL}pol 1 allow; run 1; "), &rows);
    let line = "open r; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 failed; \
                set 1 succeeded";
    check_law(
        line,
        "receipt-only-on-success",
        "unknown: its breach follows from `truth-of-finish`",
    );
}

#[test]
fn state_from_settled() {
    let law = "state-from-settled";
    let rows = [
        ("run 1; fin 1 ok; set 1 succeeded; patch 1", "holds 1"),
        ("run 1; fin 1 failed; set 1 failed; patch 1", "holds 1"),
        ("run 1; torn 1; set 1 interrupted; patch 1", "holds 1"),
        ("run 1; fin 1 ok; set 1 succeeded", "not exercised"),
        ("patch", "holds 1"),
        ("patch bad", "- a state was changed by something that is no patch"),
        ("run 1; fin 1 ok; set 1 succeeded; patch 1 bad", "c1 a state was changed by something"),
        ("run 1; fin 1 ok; patch 1; set 1 succeeded", "c1 a state was changed by a call that had"),
        ("set 1 denied; patch 1", "c1 a state was changed by a call that never ran"),
        // Whoever settles nothing does not say when a call was over.
        ("run 1; fin 1 ok; patch 1", "unknown: c1 changed the state, and no call is settled"),
        ("run 1; fin 1 ok; patch 1; req 2 b; set 2 denied", "that had not been settled yet"),
        (
            "run 1; fin 1 ok; patch 1; req 2 b; set 2 denied; end",
            "unknown: its breach follows from `one-result-per-call`",
        ),
    ];
    check(law, CALL, &rows);
}

/// A journal whose tail was cut off is seen by the count of a later end only, and said to be open.
#[test]
fn a_lost_entry_is_seen_wherever_it_stood() {
    let line = format!("{TURN}req 1 a; val 1; pol 1 allow; run 1; {DONE} events");
    let (entries, blobs) = dsl::journal(&line).unwrap();
    for lost in 0..entries.len() - 1 {
        let mut rest = entries.clone();
        rest.remove(lost);
        let findings = Judge::new(None).journal(&rest, &blobs);
        let own = findings.iter().find(|finding| finding.law == "journal-whole").unwrap();
        assert!(said(&own.verdict).contains("a turn's end counts"), "{lost}: {own:?}");
    }
}

#[test]
fn unlogged_not_kept() {
    let law = "unlogged-not-kept";
    let start = "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; \
                 fin 1 ok unlogged; ";
    check(
        law,
        start,
        &[
            ("set 1 succeeded gone; set 2 denied; app 1,2; view a; model a unlogged", "holds 2"),
            ("set 1 succeeded; app 1", "c1 what is shown of a result that is not to be logged"),
            // Another call may be told the same, and be logged.
            ("set 1 succeeded told=w gone; set 2 denied told=w; app 1,2", "holds 1"),
            ("art 1; set 1 succeeded gone", "c1 a result that is not to be logged is stored"),
            ("set 1 succeeded gone; app 1; view a; model", "a request does not say"),
            // Whoever resumed it does not hold the result any more.
            ("set 1 succeeded gone; app 1; open; view a; model", "holds 1"),
            ("set 1 succeeded gone; view a; model", "holds 1"),
        ],
    );
    let failed = "open; user; req 1 a; val 1; pol 1 allow; run 1; fin 1 failed";
    check_law(&format!("{failed} unlogged; set 1 failed gone"), law, "holds 1");
    check_law(&format!("{failed}; set 1 failed"), law, "not exercised");
}
