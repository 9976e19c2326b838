//! The table of record mutants about dispatch, cancellation, retries, the record as a whole.

use super::{dispatch, whole};
use crate::sim::mutant::Mutant;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    "cancel-closes-open-only" {
        "interrupt-what-finished" => dispatch::interrupt_what_finished,
        "close-again-on-cancel" => dispatch::close_again_on_cancel,
    }
    "nothing-after-cancel" {
        "acknowledge-before-start" => dispatch::acknowledge_before_start,
        "acknowledge-before-asking" => dispatch::acknowledge_before_asking,
        "end-cancel-as-text" => dispatch::end_cancel_as_text,
    }
    "torn-down-before-end" {
        "drop-teardown" => dispatch::drop_teardown,
        "late-teardown" => dispatch::late_teardown,
        "interrupt-what-never-started" => dispatch::interrupt_what_never_started,
        "forget-finish" => dispatch::forget_finish,
    }
    "loop-stop-stops" {
        "stop-before-start" => dispatch::stop_before_start,
        "stop-before-asking" => dispatch::stop_before_asking,
        "end-stop-as-text" => dispatch::end_stop_as_text,
    }
    "late-results-dropped" {
        "late-finish" => whole::late_finish,
        "take-late-result" => whole::take_late_result,
        "drop-timely-result" => whole::drop_timely_result,
    }
    "parallel-only-when-safe" {
        "forbid-parallel" => dispatch::forbid_parallel,
        "call-it-sequential" => dispatch::call_it_sequential,
        "call-it-parallel" => dispatch::call_it_parallel,
        "search-in-parallel-plan" => dispatch::search_in_parallel_plan,
    }
    "search-alone" {
        "start-beside-search" => dispatch::start_beside_search,
        "search-beside-call" => dispatch::search_beside_call,
    }
    "writers-serial" {
        "overlap-writers" => dispatch::overlap_writers,
        "write-what-another-reads" => dispatch::write_what_another_reads,
    }
    "one-pipeline" {
        "unplan-call" => dispatch::unplan_call,
        "start-before-plan" => dispatch::start_before_plan,
    }
    "at-most-once" {
        "start-again" => dispatch::start_again,
        "forget-failed-attempt" => dispatch::forget_failed_attempt,
        "retry-too-soon" => dispatch::retry_too_soon,
        "retry-under-another-key" => dispatch::retry_under_another_key,
        "skip-an-attempt" => dispatch::skip_an_attempt,
    }
    "results-before-request" {
        "ask-before-results" => whole::ask_before_results,
        "late-answer" => whole::late_answer,
    }
    "steering-between-rounds" {
        "steer-into-a-round" => whole::steer_into_a_round,
        "lose-steering" => whole::lose_steering,
        "repeat-steering" => whole::repeat_steering,
    }
    "model-switch-keeps-slots" {
        "ask-the-old-model" => whole::ask_the_old_model,
        "switch-elsewhere" => whole::switch_elsewhere,
    }
    "closed-before-end" {
        "end-before-settle" => whole::end_before_settle,
        "append-after-end" => whole::append_after_end,
    }
    "appended-as-settled" {
        "append-other-text" => whole::append_other_text,
        "append-other-length" => whole::append_other_length,
        "settle-other-text" => whole::settle_other_text,
    }
    "events-name-their-call" {
        "forget-call" => whole::forget_call,
        "misname-call" => whole::misname_call,
        "finish-before-start" => whole::finish_before_start,
        "late-request" => whole::late_request,
    }
    "journal-whole" {
        "lose-an-entry" => whole::lose_an_entry,
        "repeat-a-number" => whole::repeat_a_number,
        "cause-from-later" => whole::cause_from_later,
        "miscount-entries" => whole::miscount_entries,
    }
    "truth-of-finish" {
        "fail-the-finish" => whole::fail_the_finish,
        "succeed-the-finish" => whole::succeed_the_finish,
        "fail-verification" => whole::fail_verification,
    }
    "state-from-settled" {
        "patch-before-settle" => whole::patch_before_settle,
        "patch-from-refused" => whole::patch_from_refused,
        "patch-no-object" => whole::patch_no_object,
    }
};
