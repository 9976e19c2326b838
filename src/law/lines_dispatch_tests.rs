//! Good and broken lines of the laws about dispatch, cancellation and retries.
#![allow(clippy::unwrap_used)]

use super::Judge;
use super::lines_tests::{CALL, TURN, check, check_law, said};
use crate::journal::{Blobs, format};

/// A turn with two calls of `a` and `b` that policy allows and that have their sandboxes.
const TWO: &str = "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; box 1; val 2; \
                   pol 2 allow; box 2; ";

/// The same in a turn that allows calls side by side.
fn parallel() -> String {
    TWO.replace("user", "turn parallel")
}

#[test]
fn cancel_closes_open_only() {
    let law = "cancel-closes-open-only";
    let rows = [
        ("run 1; fin 1 ok; set 1 succeeded; set 2 denied; app 1,2; end", "not exercised"),
        ("run 1; cancel; ack; torn 1; set 1 interrupted; set 2 cancelled; app 1,2", "holds 2"),
        // A cancel that nobody acknowledged yet closes nothing.
        ("run 1; cancel; fin 1 ok; set 1 interrupted", "not exercised"),
        // What finishes between the cancel and the settling keeps its end, good or bad.
        ("run 1; cancel; ack; fin 1 ok; set 1 succeeded; set 2 cancelled", "holds 2"),
        ("run 1; cancel; ack; fin 1 failed; set 1 failed; set 2 cancelled", "holds 2"),
        ("run 1; fin 1 ok; cancel; ack; set 1 succeeded; set 2 cancelled", "holds 2"),
        ("run 1; fin 1 ok; cancel; ack; set 1 interrupted", "c1 the cancel replaced the result"),
        ("run 1; cancel; ack; fin 1 ok; torn 1; set 1 interrupted", "the cancel replaced"),
        ("run 1; cancel; ack; fin 1 partial; set 1 interrupted", "the cancel replaced"),
        // A tool that reports its own cancelling has no result to keep.
        ("run 1; cancel; ack; fin 1 cancelled; torn 1; set 1 interrupted", "holds 1"),
        (
            "run 1; fin 1 ok; cancel; ack; set 1 cancelled",
            "unknown: its breach follows from `denied-never-runs`",
        ),
        ("run 1; fin 1 ok; set 1 succeeded; cancel; ack; set 1 interrupted", "settled again"),
        ("set 2 denied; cancel; ack; set 2 cancelled", "c2 a call that was settled before"),
        // Twice after the cancel is no matter of the cancel.
        ("cancel; ack; set 1 cancelled; set 1 cancelled", "holds 1"),
        ("run 1; torn 1; set 1 interrupted; cancel; ack; set 2 cancelled", "holds 2"),
        // Another turn is not cancelled.
        ("set 1 denied; set 2 denied; cancel; ack; end cancelled; user; req 3 a", "holds 2"),
        ("cancel; ack; ack; set 1 cancelled; set 2 cancelled", "holds 2"),
    ];
    check(law, TWO, &rows);
    let loose = "open; user; view a; model; req 1 a loose; cancel; ack; ";
    let rows = [
        ("set 1 cancelled; end cancelled", "holds 1"),
        ("end cancelled; set 1 cancelled", "c1 a call that was open at the cancel was closed af"),
        ("end cancelled", "not exercised"),
    ];
    check(law, loose, &rows);
    // A slot that is settled after the end is another law's, whatever the reason of the end.
    let line = format!("{TURN}req 1 a; cancel; ack; end cancelled; set 1 cancelled; app 1");
    check_law(&line, law, "holds 1");
    check_law(&line, "closed-before-end", "c1 a slot was still open when its turn ended");
}

#[test]
fn nothing_after_cancel() {
    let law = "nothing-after-cancel";
    let rows = [
        ("run 1; fin 1 ok; set 1 succeeded; end", "not exercised"),
        (
            "run 1; cancel; ack; torn 1; set 1 interrupted; set 2 cancelled; end cancelled",
            "holds 1",
        ),
        ("cancel; run 1; ack; torn 1; set 1 interrupted; end cancelled", "holds 1"),
        ("cancel; ack; run 1", "c1 a call started after the cancel was acknowledged"),
        ("run 1; fail 1; cancel; ack; run 1", "c1 a call started after"),
        ("cancel; ack; view a; model", "- a model was asked after the cancel"),
        ("cancel; ack; end", "- a turn ended for another reason although the cancel"),
        ("cancel; ack; end iteration_cap", "for another reason"),
        ("cancel; ack", "holds 1"),
        (
            "cancel; ack; run 1; set 1 cancelled",
            "unknown: its breach follows from `denied-never-runs`",
        ),
        // After the end of the turn it is still too late, but another turn is free.
        ("cancel; ack; end cancelled; user; view a; model; req 3 a; run 3; end", "holds 1"),
        // A yes that comes late may be recorded; only a start would be its effect.
        ("pol 1 ask; ask 1; cancel; ack; yes 1; set 1 cancelled; end cancelled", "holds 1"),
        ("pol 1 ask; ask 1; cancel; ack; yes 1; run 1", "c1 a call started after"),
        // Stopped in both ways: either reason is true.
        ("loop same; cancel; ack; end loop_stopped", "holds 1"),
        ("cancel; ack; loop same; end cancelled", "holds 1"),
        ("cancel; ack; ack; run 1", "broken: c1 a call started after the cancel was acknowledged"),
    ];
    check(law, TWO, &rows);
    let line = "open; user; model; cancel; ack; end cancelled; user; model; end; user; req 1 a; \
                cancel; ack; run 1";
    check_law(line, law, "broken: c1 a call started");
}

#[test]
fn torn_down_before_end() {
    let law = "torn-down-before-end";
    let rows = [
        ("run 1; torn 1; set 1 interrupted; end cancelled", "holds 2"),
        ("run 1; torn 1; set 1 interrupted", "holds 1"),
        ("run 1; fin 1 ok; set 1 succeeded; end", "holds 1"),
        ("run 1; fin 1 ok; set 1 succeeded", "not exercised"),
        ("set 1 denied; set 2 cancelled; end", "not exercised"),
        ("set 1 interrupted", "c1 a call that had not started ended as interrupted"),
        ("set 1 interrupted; run 1; torn 1", "had not started"),
        ("run 1; set 1 interrupted; torn 1", "c1 a call ended as interrupted before it was torn"),
        ("run 1; run 2; torn 2; set 2 interrupted; set 1 interrupted", "c1 a call ended as"),
        ("torn 1; run 1; set 1 interrupted", "before it was torn down"),
        // A writer that knows no teardown cannot have recorded it.
        ("run 1; set 1 interrupted; end", "unknown: c1 has no end, and no teardown is recorded"),
        ("run 1; set 1 failed; end", "unknown: c1 has no end"),
        ("run 1; set 1 failed; run 2; torn 2; end", "c1 a turn ended while a call"),
        ("run 1; torn 1; set 1 failed; end", "holds 1"),
        ("run 1; end; torn 1", "unknown: its breach follows from `one-result-per-call`"),
        ("run 1; end; fin 1 ok; set 1 succeeded", "c1 a turn ended while a call that had started"),
        ("run 1; end; torn 1; set 1 interrupted", "c1 a turn ended while"),
        ("run 1; fail 1; set 1 failed; end", "holds 1"),
        ("run 1; fail 1; run 1; set 1 succeeded; end", "unknown: its breach follows from `one-"),
        // Whoever opens the session again finds nothing to tear down.
        ("run 1; run 2; torn 2; open; set 1 interrupted; end cancelled", "holds 3"),
        ("run 1; open; set 1 interrupted; end cancelled", "holds 2"),
        // What was refused and started all the same is another law's.
        ("run 1; set 1 cancelled; end", "not exercised"),
    ];
    check(law, TWO, &rows);
}

#[test]
fn loop_stop_stops() {
    let law = "loop-stop-stops";
    let rows = [
        ("run 1; fin 1 ok; set 1 succeeded; set 2 denied; app 1,2; end", "not exercised"),
        ("loop same; set 1 blocked; set 2 cancelled; app 1,2; end loop_stopped", "holds 1"),
        ("loop same", "holds 1"),
        ("stuck 2 of=1; set 2 blocked; end loop_stopped", "holds 1"),
        ("run 1; loop same; fin 1 ok; set 1 succeeded; end loop_stopped", "holds 1"),
        ("loop same; run 1", "c1 a call started after the loop was stopped"),
        ("stuck 2 of=1; run 1", "c1 a call started after the loop was stopped"),
        ("loop same; view a; model", "- a model was asked after the loop was stopped"),
        ("loop same; end", "- a turn ended for another reason although the loop was stopped"),
        ("stuck 2 of=1; end iteration_cap", "for another reason"),
        ("loop same; end loop_stopped; user; view a; model; end", "holds 1"),
        ("loop same; stuck 2 of=1; end loop_stopped", "holds 1"),
        ("loop same; cancel; ack; end cancelled", "holds 1"),
        ("loop same; run 1; set 1 blocked", "unknown: its breach follows from `denied-never-runs`"),
    ];
    check(law, TWO, &rows);
}

#[test]
fn late_results_dropped() {
    let law = "late-results-dropped";
    let rows = [
        ("run 1; fin 1 ok; chk 1; art 1; set 1 succeeded", "holds 1"),
        ("run 1; fin 1 ok", "not exercised"),
        ("set 1 denied", "not exercised"),
        ("run 1; torn 1; set 1 interrupted; drop 1", "holds 1"),
        ("run 1; torn 1; set 1 interrupted; drop 1; drop 1", "holds 1"),
        ("run 1; torn 1; set 1 interrupted; fin 1 ok", "c1 a result was taken in after its call"),
        ("run 1; fin 1 ok; set 1 succeeded; art 1", "c1 an output was stored after its call"),
        ("run 1; drop 1; set 1 interrupted", "c1 a result was dropped as late that was the first"),
        // A second answer, and the answer of an attempt that was given up.
        ("run 1; fin 1 ok; drop 1; set 1 succeeded", "holds 1"),
        ("run 1; torn 1; drop 1; set 1 interrupted", "holds 1"),
        ("run 1; fail 1; run 1; drop 1; fin 1 ok; set 1 succeeded", "holds 1"),
        ("run 1; drop 1", "not exercised"),
        // Issued after the success and before the result is appended: not too late.
        ("run 1; fin 1 ok; set 1 succeeded; rcpt 1; app 1", "holds 1"),
        ("run 1; fin 1 ok; set 1 succeeded; patch 1", "holds 1"),
        ("run 1; fin 1 ok; set 1 succeeded; set 1 failed", "holds 1"),
    ];
    check(law, TWO, &rows);
    let line = format!("open max=40; {}", TWO.trim_start_matches("open; "));
    let line = format!("{line}run 1; fin 1 ok chars=90; set 1 succeeded cut; art 1");
    check_law(&line, law, "unknown: its breach follows from `large-output-stored`");
}

#[test]
fn parallel_only_when_safe() {
    let law = "parallel-only-when-safe";
    let both = "run 1; run 2; fin 2 ok; set 2 succeeded; fin 1 ok; set 1 succeeded";
    let apart = "run 1; fin 1 ok; set 1 succeeded; run 2; fin 2 ok; set 2 succeeded";
    let lines = [
        (format!("plan 1,2 parallel; {both}"), "holds 1"),
        // What may run side by side may also run one by one.
        (format!("plan 1,2 parallel; {apart}"), "holds 1"),
        (format!("plan 1,2; {apart}"), "holds 1"),
        (format!("plan 1,2; {both}"), "c2 a call started while another of the same sequential"),
        (format!("plan 1; plan 2; {both}"), "not exercised"),
        (format!("{both}; app 1,2; end"), "not exercised"),
        ("plan 1 parallel; run 1".into(), "- fewer than two calls were planned in parallel"),
        ("plan 1,2 parallel; set 1 cancelled; set 2 cancelled".into(), "holds 1"),
        (format!("pol 2 ask; ask 2; yes 2; plan 1,2 parallel; {both}"), "c2 a batch was planned"),
        (format!("pol 2 ask; ask 2; yes 2; plan 1,2; {apart}"), "holds 1"),
        // A standing grant answered: nobody was asked.
        (format!("pol 2 ask; grant 2; plan 1,2 parallel; {both}"), "holds 1"),
        (format!("rename 2 tool_search; plan 1,2 parallel; {apart}"), "c2 a batch was planned"),
        (format!("rename 2 tool_search; set 2 unavailable; plan 1,2 parallel; {apart}"), "holds 1"),
        (format!("plan 1,2 mode=adaptive; {both}"), "not exercised"),
        // A plan that was made again counts as it was made last.
        (format!("plan 1,2; plan 1,2 parallel; {both}"), "holds 1"),
        (format!("plan 1,2 parallel; plan 1,2; {both}"), "c2 a call started while another"),
        ("run 2; plan 1,2; run 1; fin 1 ok; fin 2 ok".into(), "not exercised"),
        // While a call waits for its next attempt it still runs.
        ("plan 1,2; run 1; fail 1; run 2; run 1; fin 1 ok".into(), "c2 a call started while"),
        ("plan 1,2; run 1; torn 1; run 2; set 1 interrupted".into(), "holds 1"),
        ("plan 1,2; run 1; set 1 interrupted; run 2; torn 1".into(), "holds 1"),
    ];
    for (line, expect) in &lines {
        check_law(&format!("{}{line}", parallel()), law, expect);
    }
    let off = [
        (format!("plan 1,2; {apart}"), "holds 1"),
        (format!("plan 1,2 parallel; {both}"), "- calls were planned in parallel although the"),
    ];
    for (line, expect) in &off {
        check_law(&format!("{TWO}{line}"), law, expect);
    }
    let start = parallel().replace("turn parallel; ", "");
    check_law(
        &format!("{start}plan 1,2 parallel; {both}"),
        law,
        "unknown: a plan is parallel, and",
    );
    // A call of the batch that was refused counts: the rule is about the batch.
    let three = "open; turn parallel; view a; model; req 1 a, 2 b, 3 a; pol 3 ask; ask 3; no 3; \
                 set 3 denied; plan 1,2 parallel";
    check_law(three, law, "c3 a batch was planned in parallel in which a call asked");
    for (name, expect) in [
        ("tool_search", "c2 a batch was planned in parallel in which a call searches"),
        ("mcp.tool_search", "in which a call searches"),
        ("mcp__tool_search", "in which a call searches"),
        ("code_tool_search", "holds 1"),
        ("tool_search_results", "holds 1"),
    ] {
        let line = format!("open; turn parallel; view a; model; req 1 a, 2 {name}; ");
        check_law(&format!("{line}plan 1,2 parallel"), law, expect);
    }
    let line = "open; turn parallel; view a; model; req 1 a, 2 tool_search; rename 2 b; val 2; \
                plan 1,2 parallel; run 1; run 2";
    check_law(line, law, "holds 1");
}

#[test]
fn search_alone() {
    let law = "search-alone";
    let start = TWO.replace("2 b;", "2 tool_search;");
    let rows = [
        ("run 1; fin 1 ok; run 2; fin 2 ok; set 1 succeeded; set 2 succeeded", "holds 1"),
        ("run 1; set 2 denied", "not exercised"),
        ("run 2; fin 2 ok; set 1 denied", "not exercised"),
        ("run 1; run 2; fin 1 ok; fin 2 ok", "c2 a search for tools ran beside another call"),
        ("run 2; run 1; fin 1 ok; fin 2 ok", "c2 a search for tools ran beside another call"),
        ("run 2; fail 2; run 1; run 2; fin 2 ok", "ran beside"),
        ("run 2; torn 2; run 1", "holds 1"),
        ("rename 2 b; val 2; run 1; run 2 tool=b; fin 1 ok; fin 2 ok", "not exercised"),
        // A round that follows is no company.
        ("run 2; fin 2 ok; app 1,2; model; req 3 a; run 3", "not exercised"),
    ];
    check(law, &start, &rows);
    let rows = [
        ("run 1; run 2 adapter=builtin:tool_search; fin 1 ok; fin 2 ok", "c2 a search for tools"),
        ("run 1; run 2 adapter=builtin:search; fin 1 ok; fin 2 ok", "not exercised"),
        ("plan 1,2; run 1; run 2 adapter=builtin:tool_search", "c2 a search for tools ran"),
    ];
    check(law, TWO, &rows);
    // One cause, one report: the overlap is not the sequential plan's as well.
    let line = format!("{start}plan 1,2; run 1; run 2; fin 1 ok; fin 2 ok");
    check_law(&line, "parallel-only-when-safe", "not exercised");
    let start = start.replace("user", "turn parallel");
    let line = format!("{start}plan 1,2 parallel; run 1; run 2; fin 1 ok; fin 2 ok");
    check_law(&line, law, "unknown: its breach follows from `parallel-only-when-safe`");
}

#[test]
fn writers_serial() {
    let law = "writers-serial";
    let rows = [
        ("run 1; run 2; fin 1 ok; fin 2 ok", "not exercised"),
        ("run 1 writes=workspace:a; fin 1 ok; run 2 writes=workspace:a", "holds 1"),
        ("run 1 writes=workspace:a; fin 1 ok; run 2 writes=workspace:b", "not exercised"),
        ("run 1 writes=workspace:a; run 2 writes=workspace:b", "holds 1"),
        ("run 1 reads=workspace:a; run 2 reads=workspace:a", "holds 1"),
        ("run 1 reads=workspace:a; run 2 reads=workspace:b writes=workspace:c", "holds 1"),
        ("run 1 writes=workspace:a; run 2", "not exercised"),
        ("run 1 writes=workspace:a; run 2 writes=workspace:a", "c2 a call started while another"),
        ("run 1 writes=workspace:a; run 2 reads=workspace:a", "c2 a call started while another"),
        ("run 2 reads=workspace:a; run 1 writes=workspace:a", "c1 a call started while another"),
        ("run 1 writes=workspace:src/**; run 2 reads=workspace:src/a.rs", "c2 a call started"),
        ("run 1 writes=workspace:src; run 2 reads=workspace:src/a.rs", "c2 a call started"),
        ("run 1 writes=workspace:src; run 2 reads=workspace:src2", "holds 1"),
        ("run 1 writes=workspace:a; run 2 writes=api:a", "holds 1"),
        ("run 1 writes=workspace:x,workspace:a; run 2 reads=workspace:b,workspace:a", "c2 a call"),
        ("run 1 writes=workspace:a; torn 1; run 2 writes=workspace:a", "holds 1"),
        ("run 1 writes=workspace:a; fail 1; run 2 writes=workspace:a", "c2 a call started"),
        // Across rounds and turns too: whatever still runs.
        ("run 1 writes=workspace:a; end; user; req 3 a; run 3 writes=workspace:a", "c3 a call"),
    ];
    check(law, TWO, &rows);
    let line = format!("{TWO}plan 1,2; run 1 writes=workspace:a; run 2 writes=workspace:a");
    check_law(&line, law, "c2 a call started while another ran");
    check_law(
        &line,
        "parallel-only-when-safe",
        "unknown: its breach follows from `writers-serial`",
    );
}

#[test]
fn one_pipeline() {
    let law = "one-pipeline";
    let rows = [
        ("plan 1,2; run 1; run 2", "holds 2"),
        ("plan 1; run 1; fin 1 ok; plan 2; run 2", "holds 2"),
        ("set 1 denied; set 2 denied", "not exercised"),
        ("plan 1,2; set 1 cancelled", "not exercised"),
        ("run 1", "unknown: no dispatch is planned, and c1 started"),
        ("plan 2; run 1", "c1 a call started that no dispatch of its batch had planned"),
        ("run 1; plan 1,2", "c1 a call started that no dispatch"),
        ("plan 1,2 batch=b9; run 1", "holds 1"),
        ("plan 1,2; rename 1 b; val 1; pol 1 allow; box 1; run 1", "c1 a call started that no"),
        ("rename 1 b; val 1; pol 1 allow; box 1; plan 1,2; run 1", "holds 1"),
        // Another attempt is the same start.
        ("plan 1,2; run 1; fail 1; run 1", "holds 1"),
        ("plan 1; run 2; set 2 denied", "not exercised"),
        ("pol 1 deny; plan 2; run 1", "no dispatch of its batch"),
    ];
    check(law, TWO, &rows);
    let line = "open; user; view a; model; req 1 a; plan 2; run 1; fin 1 ok; set 1 succeeded";
    check_law(line, law, "unknown: its breach follows from `policy-before-start`");
    // A plan of another batch is no plan of this one.
    let line = "open; user; view a; model; req 1 a loose; val 1; pol 1 allow; box 1; req 2 b; \
                plan 1,2; run 1";
    check_law(line, law, "c1 a call started that no dispatch of its batch");
}

#[test]
fn at_most_once() {
    let law = "at-most-once";
    let rows = [
        ("run 1", "holds 1"),
        ("run 1 unnumbered", "holds 1"),
        ("set 1 denied", "not exercised"),
        ("run 1 attempt=2", "c1 the attempts of a call do not begin at 1"),
        ("run 1; run 1 attempt=1", "c1 one attempt of a call started twice"),
        ("run 1; fail 1; run 1 attempt=1", "started twice"),
        ("run 1; fail 1; run 1 attempt=3", "not numbered one after another"),
        ("run 1; run 1", "c1 a call was tried again before its last attempt had failed"),
        ("fail 1; run 1; run 1", "before its last attempt had failed"),
        ("run 1; fail 1; run 1", "holds 2"),
        ("run 1; fail 1; run 1; fail 1; run 1", "holds 3"),
        ("run 1; fail 1; run 1; run 1", "before its last attempt had failed"),
        ("run 1 unnumbered; run 1", "unknown: c1 started more than once without numbering"),
        ("run 1; fail 1; run 1 unnumbered", "unknown: c1 started more than once"),
        // Once retry times or keys are recorded, they bind.
        ("run 1 key=k; fail 1 retry=1100; run 1 key=k", "holds 2"),
        ("run 1 key=k; fail 1 retry=1130; run 1 key=k", "c1 a call was tried again before the ti"),
        ("run 1 key=k; fail 1; run 1 key=k", "after a failure that named no retry"),
        ("run 1 key=k; fail 1; set 1 failed", "holds 1"),
        ("run 1 key=k; fail 1 retry=1; run 1 key=m", "without the idempotency key of its last"),
        ("run 1 key=k; fail 1 retry=1; run 1", "without the idempotency key"),
        ("run 1; fail 1 retry=1; run 1", "without the idempotency key"),
        ("run 1; fail 1 retry=1 code=reauthorize; run 1", "holds 2"),
        ("run 1 key=k; fail 1 retry=1 code=reauthorize; run 1", "without the idempotency key"),
        ("run 1; fail 1 retry=1 code=reauthorize; run 1 key=k", "a key that it did not have"),
        ("run 2 key=k; run 1; fail 1; run 1", "c1 a call was tried again after a failure that"),
        ("run 1 key=k; run 2 key=k", "holds 2"),
    ];
    check(law, CALL, &rows);
    // The very moment that the failure named is not too soon.
    let retry = |at: u32| format!("{CALL}run 1 key=k; fail 1 retry={at}; run 1 key=k");
    check_law(&retry(1110), law, "holds 2");
    check_law(&retry(1111), law, "before the time its failure named");
}

/// A writer that names no turns: they are told apart by what opens them.
#[test]
fn turns_without_names() {
    let law = "nothing-after-cancel";
    let rows = [
        ("req 1 a; cancel; ack; run 1", "c1 a call started after the cancel was acknowledged"),
        ("req 1 a; cancel; ack; end cancelled; run 1", "c1 a call started after"),
        ("cancel; ack; end cancelled; view a; model; req 1 a; run 1; end", "holds 1"),
        ("cancel; ack; end cancelled; req 1 a; run 1; end", "holds 1"),
        ("cancel; ack; end", "for another reason"),
    ];
    check(law, "open; view a; model; ", &rows);
    let text = r#"{"type":"SessionOpened","principal":"p"}
{"type":"TurnStarted","provider":"p","dialect":"d","parallelTools":true}
{"type":"UserPromptSubmitted","text":"please"}
{"type":"ToolCallRequested","call":"1","toolId":"a"}
{"type":"ToolCallRequested","call":"2","toolId":"a"}
{"type":"DispatchPlanned","batch":"b","mode":"parallel","reason":"r","calls":["1","2"]}
{"type":"TurnFinished","reason":"final_text"}
{"type":"UserPromptSubmitted","text":"please"}
{"type":"TurnStarted","provider":"p","dialect":"d"}
{"type":"ToolCallRequested","call":"3","toolId":"a"}
{"type":"ToolCallRequested","call":"4","toolId":"a"}
{"type":"DispatchPlanned","batch":"c","mode":"parallel","reason":"r","calls":["3","4"]}
"#;
    let (entries, problems) = format::read("unnamed", text);
    assert_eq!(problems, []);
    let findings = Judge::new(None).journal(&entries, &Blobs::default());
    let own = findings.iter().find(|finding| finding.law == "parallel-only-when-safe").unwrap();
    let expect = "broken: - calls were planned in parallel although the turn does not allow it";
    assert_eq!(said(&own.verdict), expect);
}
