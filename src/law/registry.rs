//! The table of laws.

use std::sync::LazyLock;

use super::law::Law;
use super::registry_dispatch::LAWS as DISPATCH;
use super::registry_guard::LAWS as GUARD;
use super::registry_limits::LAWS as LIMITS;
use super::{approval, artifact, contract, exposure, order, pairing, receipt, secrecy, unlogged};

/// All laws, in the order of the tables: the core's, then those of guards, then those of dispatch.
pub fn all() -> &'static [Law] {
    static ALL: LazyLock<Vec<Law>> = LazyLock::new(|| [CORE, GUARD, DISPATCH, LIMITS].concat());
    &ALL
}

/// The law of that name.
pub fn find(name: &str) -> Option<&'static Law> {
    all().iter().find(|law| law.name == name)
}

const CORE: &[Law] = &[
    Law {
        name: "registered-version",
        source: "B1",
        title: "every started call names a registered tool and version",
        witness: "open; user; cat a,b; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; run 1; \
                  fin 1 ok; set 1 succeeded; val 2; pol 2 allow; run 2; fin 2 failed; \
                  set 2 failed; app 1,2; end",
        mutants: &["retarget-start-version", "rename-start"],
        implies: &["rewritten-is-judged"],
        judge: contract::registered_version,
    },
    Law {
        name: "one-result-per-call",
        source: "B2, A",
        title: "every call is settled once and answered once",
        witness: "open; user; view a; model; req 1 a, 2 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 1 succeeded; val 2; pol 2 allow; run 2; fail 2; run 2; fin 2 ok; \
                  set 2 succeeded; app 1,2; end",
        mutants: &[
            "drop-settle",
            "duplicate-settle",
            "drop-result",
            "duplicate-result",
            "drop-start",
            "duplicate-request",
        ],
        implies: &[
            "model-order",
            "closed-before-end",
            "results-before-request",
            "torn-down-before-end",
            "events-name-their-call",
            "state-from-settled",
            "failing-guard-blocks",
        ],
        judge: pairing::one_result_per_call,
    },
    Law {
        name: "model-order",
        source: "A",
        title: "results follow their calls, in the order of the model",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; val 2; \
                  pol 2 allow; run 1; run 2; fin 2 ok; set 2 succeeded; fin 1 ok; \
                  set 1 succeeded; app 1,2; end",
        mutants: &["swap-results", "reverse-slots", "speak-between-results"],
        implies: &[],
        judge: pairing::model_order,
    },
    Law {
        name: "validated-before-policy",
        source: "B3",
        title: "arguments are validated before policy is checked",
        witness: "open; user; view a,b; model; req 1 a; rename 1 b; val 1; pol 1 deny; \
                  set 1 denied; app 1; end",
        mutants: &["policy-before-validation", "drop-validation", "fail-validation"],
        implies: &["policy-before-start"],
        judge: order::validated_before_policy,
    },
    Law {
        name: "policy-before-start",
        source: "B4",
        title: "policy is checked before a call starts, on what starts",
        witness: "open; user; view a; model; req 1 a; val 1; pol 1 allow; box 1; run 1; \
                  fin 1 ok; set 1 succeeded; app 1; end",
        mutants: &["start-before-policy", "drop-policy", "start-other-arguments"],
        implies: &[
            "authority-explicit",
            "receipt-only-on-success",
            "one-pipeline",
            "rewritten-is-judged",
            "marker-not-forged",
            "sandbox-before-start",
        ],
        judge: order::policy_before_start,
    },
    Law {
        name: "authority-explicit",
        source: "B5",
        title: "external and destructive calls start only on somebody's word",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 b, 4 a; \
                  val 1; pol 1 allow class=external rule=mail-self; run 1 class=external; \
                  fin 1 ok; set 1 succeeded; val 2; pol 2 ask class=external; ask 2; yes 2; \
                  run 2 class=external; fin 2 ok; set 2 succeeded; val 3; \
                  pol 3 allow class=destructive; grant 3; run 3 class=destructive; fin 3 ok; \
                  set 3 succeeded; val 4; pol 4 allow; run 4; fin 4 ok; set 4 succeeded; \
                  app 1,2,3,4; end",
        mutants: &["erase-rule", "raise-effect", "drop-standing-grant"],
        implies: &["destructive-stronger", "marker-not-forged"],
        judge: approval::authority_explicit,
    },
    Law {
        name: "approval-binds",
        source: "B6",
        title: "a yes is for exactly what runs, in time and strong enough",
        witness: "open; user; view a,b; model; req 1 a, 2 b; val 1; \
                  pol 1 strong_ask class=destructive; ask 1 strong until=9000; yes 1 strong; \
                  run 1 class=destructive; fin 1 ok; set 1 succeeded; val 2; pol 2 ask; ask 2; \
                  yes 2; run 2; fin 2 failed; set 2 failed; app 1,2; end",
        mutants: &[
            "drop-yes",
            "grant-other-arguments",
            "start-other-operand",
            "late-yes",
            "weak-yes",
            "misaddress-yes",
        ],
        implies: &[
            "authority-explicit",
            "destructive-stronger",
            "grant-within-scope",
            "marker-not-forged",
            "prompt-not-repeated",
        ],
        judge: approval::approval_binds,
    },
    Law {
        name: "denied-never-runs",
        source: "A",
        title: "what was refused never starts",
        witness: "open; user; view a,b; model; req 1 a, 2 b, 3 a; val 1; pol 1 deny; \
                  set 1 denied; val 2; pol 2 ask; ask 2; no 2; set 2 denied; val 3; \
                  pol 3 allow; run 3; fin 3 ok; set 3 succeeded; app 1,2,3; end",
        mutants: &["deny-then-start", "refuse-what-ran", "deny-what-ran"],
        implies: &[
            "policy-before-start",
            "authority-explicit",
            "approval-binds",
            "budgets-kept",
            "receipt-only-on-success",
            "cancel-closes-open-only",
            "nothing-after-cancel",
            "loop-stop-stops",
            "state-from-settled",
            "duplicates-dropped",
            "failing-guard-blocks",
            "prompt-not-repeated",
            "revoked-never-runs",
            "blocked-never-runs",
            "sandbox-before-start",
        ],
        judge: order::denied_never_runs,
    },
    Law {
        name: "receipt-only-on-success",
        source: "A",
        title: "only a success has a receipt: one, before its result, for what ran",
        witness: "open r; user; view a; model; req 1 a, 2 a; val 1; pol 1 allow; run 1; \
                  fin 1 ok; rcpt 1; set 1 succeeded; val 2; pol 2 allow; run 2; fin 2 failed; \
                  set 2 failed; app 1,2; end",
        mutants: &[
            "receipt-on-failure",
            "forge-receipt",
            "receipt-other-result",
            "drop-receipt",
            "duplicate-receipt",
            "late-receipt",
        ],
        implies: &[],
        judge: receipt::receipt_only_on_success,
    },
    Law {
        name: "no-secrets",
        source: "B7",
        title: "no secret in any fact, request, message or shown text",
        witness: "open c h; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                  set 1 succeeded; app 1; end",
        mutants: &["leak-canary-in-preview", "leak-canary-in-facts", "leak-listed-secret"],
        implies: &["appended-as-settled"],
        judge: secrecy::no_secrets,
    },
    Law {
        name: "large-output-stored",
        source: "B8",
        title: "a result above the limit is stored and shown cut",
        witness: "open max=40; user; view a; model; req 1 a, 2 a; val 1; pol 1 allow; run 1; \
                  fin 1 ok chars=900; art 1; set 1 succeeded chars=40 cut; val 2; pol 2 allow; \
                  run 2; fin 2 ok; set 2 succeeded; app 1,2; end",
        mutants: &["drop-artifact", "late-artifact", "show-too-much", "unmark-cut"],
        implies: &["late-results-dropped", "appended-as-settled"],
        judge: artifact::large_output_stored,
    },
    Law {
        name: "artifact-provenance",
        source: "B9",
        title: "every artifact names its call and an event of that call",
        witness: "open; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok; \
                  art 1; set 1 succeeded; app 1; end",
        mutants: &["orphan-artifact", "retarget-artifact", "artifact-of-nobody"],
        implies: &[],
        judge: artifact::artifact_provenance,
    },
    Law {
        name: "unlogged-not-kept",
        source: "B",
        title: "of a result that is not to be logged no text is kept",
        witness: "open; cat a; user; view a; model; req 1 a; val 1; pol 1 allow; run 1; \
                  fin 1 failed unlogged; set 1 failed gone; app 1; view a; model a unlogged; end",
        mutants: &[
            "keep-the-unlogged",
            "store-the-unlogged",
            "word-the-unlogged",
            "keep-the-request",
            "forget-the-request",
        ],
        implies: &[],
        judge: unlogged::unlogged_not_kept,
    },
    Law {
        name: "view-explained",
        source: "B15",
        title: "every shown tool has a reason and a decision, every hidden one a filter",
        witness: "open; user; view a,b -x; model; req 1 a; val 1; pol 1 deny; set 1 denied; \
                  app 1; view a -b,x; model; say done; end",
        mutants: &["blank-reason", "show-denied", "unexplain-withheld", "drop-view"],
        implies: &[],
        judge: contract::view_explained,
    },
    Law {
        name: "withheld-not-run",
        source: "A",
        title: "what is excluded or withheld is neither advertised nor run",
        witness: "open -x; user; cat a,b; view a,b -x; model; req 1 a, 2 x; val 1; pol 1 allow; \
                  run 1; fin 1 ok; set 1 succeeded; set 2 unavailable; app 1,2; end",
        mutants: &["advertise-withheld", "start-withheld", "exclude-what-ran"],
        implies: &[
            "registered-version",
            "activation-grants-nothing",
            "skill-scripts-registered",
            "blocked-never-runs",
        ],
        judge: exposure::withheld_not_run,
    },
    Law {
        name: "effects-declared",
        source: "B13",
        title: "no success with undeclared effects, no start of a tool that declares none",
        witness: "open; user; cat a; view a; model; req 1 a; val 1; pol 1 allow; run 1; \
                  fin 1 ok; chk 1; set 1 succeeded; app 1; end",
        mutants: &["undeclared-effect", "undeclare-tool"],
        implies: &[],
        judge: contract::effects_declared,
    },
];
