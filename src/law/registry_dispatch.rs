//! The table of laws about dispatch, cancellation, retries, the record as a whole.

use super::law::Law;
use super::{cancel, dispatch, record, round};

pub(super) const LAWS: &[Law] = &[
    Law {
        name: "cancel-closes-open-only",
        source: "A",
        title: "a cancel closes open calls only; what had finished keeps its result",
        witness: "open; turn parallel; view a,b; model; req 1 a, 2 b, 3 a, 4 b; val 1; \
                  pol 1 allow; box 1; val 2; pol 2 allow; box 2; val 3; pol 3 allow; box 3; \
                  val 4; pol 4 allow; box 4; plan 1,2,3,4 parallel; run 1; fin 1 ok; \
                  set 1 succeeded; run 2; run 3; cancel; ack; fin 2 ok; set 2 succeeded; torn 3; \
                  set 3 interrupted; set 4 cancelled; app 1,2,3,4; end cancelled",
        mutants: &["interrupt-what-finished", "close-again-on-cancel"],
        implies: &[
            "one-result-per-call",
            "torn-down-before-end",
            "truth-of-finish",
            "receipt-only-on-success",
        ],
        judge: cancel::cancel_closes_open_only,
    },
    Law {
        name: "nothing-after-cancel",
        source: "A",
        title: "after an acknowledged cancel nothing starts, and the turn ends as cancelled",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; box 1; val 2; \
                  pol 2 allow; box 2; plan 1,2; run 1; cancel; ack; torn 1; set 1 interrupted; \
                  set 2 cancelled; app 1,2; end cancelled",
        mutants: &["acknowledge-before-start", "acknowledge-before-asking", "end-cancel-as-text"],
        implies: &[],
        judge: cancel::nothing_after_cancel,
    },
    Law {
        name: "torn-down-before-end",
        source: "A",
        title: "what is interrupted was torn down first, and no turn ends while a call runs",
        witness: "open; turn parallel; view a,b; model; req 1 a, 2 b, 3 a, 4 b; val 1; \
                  pol 1 allow; box 1; val 2; pol 2 allow; box 2; val 3; pol 3 allow; box 3; \
                  plan 1,2,3 parallel; run 1; run 2; run 3; fin 3 failed; set 3 failed; cancel; \
                  ack; torn 1; torn 2; set 1 interrupted; set 2 interrupted; set 4 cancelled; \
                  app 1,2,3,4; end cancelled",
        mutants: &[
            "drop-teardown",
            "late-teardown",
            "interrupt-what-never-started",
            "forget-finish",
        ],
        implies: &[],
        judge: cancel::torn_down_before_end,
    },
    Law {
        name: "loop-stop-stops",
        source: "A",
        title: "after a loop stop nothing starts, and the turn ends as stopped",
        witness: "open; cat a,b; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 1 succeeded; app 1; view a; model; req 2 a; val 2; pol 2 allow; loop same; \
                  set 2 blocked; app 2; end loop_stopped; user; view a; model; req 3 a; val 3; \
                  pol 3 ask; ask 3; no 3; set 3 denied; app 3; view a; model; req 4 a:3; val 4; \
                  pol 4 ask; stuck 4 of=3; set 4 blocked; app 4; end loop_stopped",
        mutants: &["stop-before-start", "stop-before-asking", "end-stop-as-text"],
        implies: &[],
        judge: cancel::loop_stop_stops,
    },
    Law {
        name: "late-results-dropped",
        source: "A",
        title: "after a call is settled nothing of it changes; what comes late is dropped",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 1 succeeded; val 2; pol 2 allow; run 2; cancel; ack; torn 2; \
                  set 2 interrupted; drop 2; app 1,2; end cancelled",
        mutants: &["late-finish", "take-late-result", "drop-timely-result"],
        implies: &["receipt-only-on-success"],
        judge: cancel::late_results_dropped,
    },
    Law {
        name: "parallel-only-when-safe",
        source: "A",
        title: "calls run side by side only where all conditions hold, else one by one",
        witness: "open; cat a,b,tool_search; turn parallel; view a,b,tool_search; model; req 1 a, 2 b; val 1; \
                  pol 1 allow; box 1; val 2; pol 2 allow; box 2; plan 1,2 parallel; run 1; run 2; \
                  fin 2 ok; set 2 succeeded; fin 1 ok; set 1 succeeded; app 1,2; \
                  view a,b,tool_search; model; req 3 tool_search, 4 a; val 3; pol 3 allow; box 3; \
                  val 4; pol 4 allow; box 4; plan 3,4; run 3; fin 3 ok; set 3 succeeded; run 4; \
                  fin 4 ok; set 4 succeeded; app 3,4; end; user; view a,b; model; req 5 a, 6 b; \
                  val 5; pol 5 allow; box 5; val 6; pol 6 allow; box 6; plan 5,6; run 5; \
                  fin 5 ok; set 5 succeeded; run 6; fin 6 ok; set 6 succeeded; app 5,6; end",
        mutants: &[
            "forbid-parallel",
            "call-it-sequential",
            "call-it-parallel",
            "search-in-parallel-plan",
        ],
        implies: &["search-alone"],
        judge: dispatch::parallel_only_when_safe,
    },
    Law {
        name: "search-alone",
        source: "A",
        title: "a search for tools never runs beside another call of its batch",
        witness: "open; user; view a,b,tool_search; model; req 1 a, 2 tool_search, 3 b; val 1; \
                  pol 1 allow; box 1; val 2; pol 2 allow; box 2; val 3; pol 3 allow; box 3; \
                  plan 1,2,3; run 1; fin 1 ok; set 1 succeeded; run 2; fin 2 ok; \
                  set 2 succeeded; run 3; fin 3 ok; set 3 succeeded; app 1,2,3; end",
        mutants: &["start-beside-search", "search-beside-call"],
        implies: &[],
        judge: dispatch::search_alone,
    },
    Law {
        name: "writers-serial",
        source: "A",
        title: "calls whose declared resources overlap never run at the same time",
        witness: "open; turn parallel; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 allow; \
                  box 1; val 2; pol 2 allow; box 2; val 3; pol 3 allow; box 3; \
                  plan 1,2,3 parallel; run 1 reads=workspace:a.txt; \
                  run 2 reads=workspace:a.txt writes=workspace:b/**; fin 1 ok; set 1 succeeded; \
                  fin 2 ok; set 2 succeeded; run 3 writes=workspace:a.txt; fin 3 ok; \
                  set 3 succeeded; app 1,2,3; end",
        mutants: &["overlap-writers", "write-what-another-reads"],
        implies: &["parallel-only-when-safe"],
        judge: dispatch::writers_serial,
    },
    Law {
        name: "one-pipeline",
        source: "A",
        title: "every started call stands in a plan of its batch",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; box 1; \
                  rename 2 a; val 2; pol 2 allow; box 2; plan 1,2; run 1; fin 1 ok; \
                  set 1 succeeded; run 2; fin 2 failed; set 2 failed; app 1,2; end",
        mutants: &["unplan-call", "start-before-plan"],
        implies: &[],
        judge: dispatch::one_pipeline,
    },
    Law {
        name: "at-most-once",
        source: "A",
        title: "each attempt starts once, the next only after the last failed and may be retried",
        witness: "open; user; view a; model; req 1 a, 2 a; val 1; pol 1 allow; run 1 key=k1; \
                  fail 1 retry=1100; run 1 key=k1; fin 1 ok; set 1 succeeded; val 2; pol 2 allow; \
                  run 2 key=k2; fin 2 ok; set 2 succeeded; app 1,2; end",
        mutants: &[
            "start-again",
            "forget-failed-attempt",
            "retry-too-soon",
            "retry-under-another-key",
            "skip-an-attempt",
        ],
        implies: &["one-result-per-call"],
        judge: dispatch::at_most_once,
    },
    Law {
        name: "results-before-request",
        source: "A",
        title: "no model is asked before every call of its last reply is answered",
        witness: "open; cat a,b; user; view a,b; model; req 1 a, 2 b; made 1,2; val 1; pol 1 allow; run 1; \
                  fin 1 ok; set 1 succeeded; set 2 denied; app 1,2 loose; view a,b; model; end",
        mutants: &["ask-before-results", "late-answer"],
        implies: &[],
        judge: round::results_before_request,
    },
    Law {
        name: "steering-between-rounds",
        source: "A",
        title: "what the user says meanwhile is appended once, between rounds",
        witness: "open; cat a,b; user; view a,b; model; req 1 a, 2 b; made 1,2; val 1; pol 1 allow; run 1; \
                  steer hurry; fin 1 ok; set 1 succeeded; set 2 denied; app 1,2 loose; say hurry; \
                  view a,b; model; end",
        mutants: &["steer-into-a-round", "lose-steering", "repeat-steering"],
        implies: &["model-order"],
        judge: round::steering_between_rounds,
    },
    Law {
        name: "model-switch-keeps-slots",
        source: "A",
        title: "after a switch the model it names is asked, and the round goes on",
        witness: "open; cat a,b; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; \
                  switch scripted other; fin 1 ok; set 1 succeeded; app 1; view a; \
                  model by=other; end",
        mutants: &["ask-the-old-model", "switch-elsewhere"],
        implies: &[],
        judge: round::model_switch_keeps_slots,
    },
    Law {
        name: "closed-before-end",
        source: "A",
        title: "no turn ends while a slot of it is open or unanswered",
        witness: "open; cat a,b; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 1 succeeded; set 2 denied; app 1,2; view a,b; model; req 3 a; \
                  set 3 cancelled; app 3; end iteration_cap",
        mutants: &["end-before-settle", "append-after-end"],
        implies: &[],
        judge: record::closed_before_end,
    },
    Law {
        name: "appended-as-settled",
        source: "A",
        title: "the transcript answers each call with the text it was settled with",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 1 succeeded; set 2 denied; app 1,2; end",
        mutants: &["append-other-text", "append-other-length", "settle-other-text"],
        implies: &[],
        judge: record::appended_as_settled,
    },
    Law {
        name: "events-name-their-call",
        source: "A",
        title: "every fact about a call names one that was requested before",
        witness: "open; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; chk 1; \
                  set 1 succeeded; app 1; end",
        mutants: &["forget-call", "misname-call", "finish-before-start", "late-request"],
        implies: &["torn-down-before-end"],
        judge: record::events_name_their_call,
    },
    Law {
        name: "journal-whole",
        source: "A",
        title: "numbers increase, causes come first, and each end counts the entries",
        witness: "open; cat a,b; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                  art 1; set 1 succeeded; app 1; end events; user; view a; model; end events",
        mutants: &["lose-an-entry", "repeat-a-number", "cause-from-later", "miscount-entries"],
        implies: &[],
        judge: record::journal_whole,
    },
    Law {
        name: "truth-of-finish",
        source: "A",
        title: "a call is settled as it finished and as its result was verified",
        witness: "open; user; view a; model; req 1 a, 2 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                  chk 1; set 1 succeeded; val 2; pol 2 allow; run 2; fin 2 failed; chk 2; \
                  set 2 failed; app 1,2; end",
        mutants: &["fail-the-finish", "succeed-the-finish", "fail-verification"],
        implies: &["receipt-only-on-success"],
        judge: record::truth_of_finish,
    },
    Law {
        name: "state-from-settled",
        source: "B",
        title: "a call changes the state only by a patch and once it ran and was settled",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 2 denied; set 1 succeeded; patch 1; patch; app 1,2; end",
        mutants: &["patch-before-settle", "patch-from-refused", "patch-no-object"],
        implies: &[],
        judge: record::state_from_settled,
    },
];
