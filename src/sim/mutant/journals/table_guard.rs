//! The table of record mutants about guards, approvals, availability, what an outcome says.

use super::{authority, available, block, guard, registered};
use crate::sim::mutant::Mutant;

pub(super) const MUTANTS: &[Mutant] = mutants! {
    "rewritten-is-judged" {
        "approve-before-rewriting" => guard::approve_before_rewriting,
        "validate-unrewritten-tool" => guard::validate_unrewritten_tool,
        "start-unrewritten-tool" => guard::start_unrewritten_tool,
        "rewrite-what-runs" => guard::rewrite_what_runs,
    }
    "failing-guard-blocks" {
        "hook-cancels-what-ran" => guard::hook_cancels_what_ran,
        "unblock-hook-cancel" => guard::unblock_hook_cancel,
        "observer-blocks" => guard::observer_blocks,
        "guard-after-start" => guard::guard_after_start,
        "follow-what-never-ran" => guard::follow_what_never_ran,
        "observer-fails-call" => guard::observer_fails_call,
    }
    "duplicates-dropped" {
        "repeat-what-ran" => guard::repeat_what_ran,
        "unexempt-repeat" => guard::unexempt_repeat,
        "no-write-between" => guard::no_write_between,
    }
    "duplicate-is-real" {
        "duplicate-of-another" => guard::duplicate_of_another,
        "two-stories-of-a-duplicate" => guard::two_stories_of_a_duplicate,
        "exempt-what-was-dropped" => guard::exempt_what_was_dropped,
        "write-before-duplicate" => guard::write_before_duplicate,
    }
    "prompt-not-repeated" {
        "ask-twice-in-a-reply" => guard::ask_twice_in_a_reply,
        "ask-after-refusal" => guard::ask_after_refusal,
        "repeat-of-another" => guard::repeat_of_another,
        "drop-repeat-stop" => guard::drop_repeat_stop,
    }
    "noninteractive-refuses" {
        "yes-from-nobody" => authority::yes_from_nobody,
        "no-from-nobody" => authority::no_from_nobody,
    }
    "marker-not-forged" {
        "forge-marker" => authority::forge_marker,
        "unapprove-marked" => authority::unapprove_marked,
    }
    "grant-within-scope" {
        "forge-grant" => authority::forge_grant,
        "grant-other-tool" => authority::grant_other_tool,
        "grant-other-version" => authority::grant_other_version,
        "grant-other-principal" => authority::grant_other_principal,
        "grant-other-tenant" => authority::grant_other_tenant,
        "expired-grant" => authority::expired_grant,
        "grant-too-weak" => authority::grant_too_weak,
        "use-after-revoke" => authority::use_after_revoke,
        "grant-not-offered" => authority::grant_not_offered,
        "grant-from-once" => authority::grant_from_once,
    }
    "revoked-never-runs" {
        "revoke-before-start" => authority::revoke_before_start,
        "revoke-before-retry" => authority::revoke_before_retry,
        "advance-revocation" => authority::advance_revocation,
    }
    "blocked-never-runs" {
        "block-before-start" => block::before_start,
        "block-before-retry" => block::before_retry,
        "block-before-view" => block::before_view,
        "block-before-delegate" => block::before_delegate,
        "advance-block" => block::advance,
    }
    "consent-before-server" {
        "drop-consent" => authority::drop_consent,
        "consent-to-another" => authority::consent_to_another,
        "consent-of-another" => authority::consent_of_another,
    }
    "outcome-tells-truth" {
        "blame-policy-for-arguments" => authority::blame_policy_for_arguments,
        "reject-what-was-denied" => authority::reject_what_was_denied,
        "blame-policy-for-a-person" => authority::blame_policy_for_a_person,
        "replace-what-was-denied" => authority::replace_what_was_denied,
        "fail-what-never-ran" => authority::fail_what_never_ran,
    }
    "timeout-is-no-refusal" {
        "timeout-as-no" => authority::timeout_as_no,
        "unreachable-as-no" => authority::unreachable_as_no,
        "nameless-decision" => authority::nameless_decision,
    }
    "answers-addressed" {
        "answer-twice" => authority::answer_twice,
        "answer-nobody-asked" => authority::answer_nobody_asked,
        "cross-answers" => authority::cross_answers,
    }
    "sandbox-before-start" {
        "drop-sandbox" => available::drop_sandbox,
        "late-sandbox" => available::late_sandbox,
        "enforce-nothing" => available::enforce_nothing,
        "name-no-mechanism" => available::name_no_mechanism,
        "name-one-mechanism-less" => available::name_one_mechanism_less,
        "limit-no-processes" => available::limit_no_processes,
    }
    "mcp-normalized" {
        "drop-normalization" => available::drop_normalization,
        "late-normalization" => available::late_normalization,
        "enable-changed-definition" => registered::enable_changed_definition,
        "discover-after-normalizing" => registered::discover_after_normalizing,
        "show-changed-definition" => available::show_changed_definition,
    }
    "skill-scripts-registered" {
        "drop-skill-registration" => available::drop_skill_registration,
        "late-skill-registration" => available::late_skill_registration,
        "run-unshown-skill" => available::run_unshown_skill,
        "enable-unverified-skill" => registered::enable_unverified_skill,
    }
    "destructive-stronger" {
        "ask-plainly" => authority::ask_plainly,
        "raise-asked-effect" => authority::raise_asked_effect,
    }
    "golden-before-enable" {
        "enable-without-evidence" => available::enable_without_evidence,
        "enable-beyond-evaluation" => available::enable_beyond_evaluation,
    }
    "child-within-parent" {
        "widen-child-tools" => available::widen_child_tools,
        "widen-child-scopes" => available::widen_child_scopes,
        "drop-delegate-end" => available::drop_delegate_end,
        "end-another-delegate" => available::end_another_delegate,
    }
    "activation-grants-nothing" {
        "activate-unregistered" => available::activate_unregistered,
        "activate-excluded" => available::activate_excluded,
        "call-in-the-activating-reply" => available::call_in_the_activating_reply,
        "show-unregistered" => available::show_unregistered,
    }
    "intent-respected" {
        "beyond-and-allowed" => authority::beyond_and_allowed,
        "allow-beyond" => authority::allow_beyond,
        "erase-intent-rule" => authority::erase_intent_rule,
    }
    "surfaces-bounded" {
        "overrun-surface" => available::overrun_surface,
        "tighten-surface" => available::tighten_surface,
    }
    "surfaces-correlated" {
        "end-without-start" => available::end_without_start,
        "end-with-other-correlation" => available::end_with_other_correlation,
        "end-twice" => available::end_twice,
        "open-card-of-refused" => available::open_card_of_refused,
    }
    "calls-where-allowed" {
        "call-from-reasoning" => available::call_from_reasoning,
        "call-from-quote" => available::call_from_quote,
        "call-from-fence" => available::call_from_fence,
        "lose-a-call" => available::lose_a_call,
        "call-under-strict" => available::call_under_strict,
    }
    "shell-by-its-strictest-part" {
        "forbid-a-part" => guard::forbid_a_part,
        "forget-a-part" => guard::forget_a_part,
        "forget-the-parts" => guard::forget_the_parts,
        "grant-for-a-line" => guard::grant_for_a_line,
    }
    "arguments-as-sent" {
        "send-other-arguments" => available::send_other_arguments,
        "rewrite-unseen" => available::rewrite_unseen,
        "accept-no-json" => available::accept_no_json,
        "empty-the-arguments" => available::empty_the_arguments,
    }
};
