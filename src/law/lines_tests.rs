//! Good and broken lines of every law, side by side.
#![allow(clippy::unwrap_used)]

use super::{Judge, Verdict, dsl};

/// What one law says of a line, in a line.
pub(super) fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds { checked } => format!("holds {checked}"),
        Verdict::NotExercised => "not exercised".into(),
        Verdict::Unknown { why } => format!("unknown: {why}"),
        Verdict::Broken { violations } => {
            let one = |violation: &super::Violation| {
                let call = violation.call.as_deref().unwrap_or("-");
                format!("{call} {}", violation.message)
            };
            let all: Vec<String> = violations.iter().map(one).collect();
            format!("broken: {}", all.join(" | "))
        }
    }
}

/// The law's verdict on the line must contain the expected words.
pub(super) fn check_law(line: &str, law: &str, expect: &str) {
    let (entries, blobs) = dsl::journal(line).unwrap();
    let findings = Judge::new(Some(dsl::key())).journal(&entries, &blobs);
    let said = said(&findings.iter().find(|finding| finding.law == law).unwrap().verdict);
    assert!(said.contains(expect), "{law}\n  of `{line}`\n  says `{said}`\n  not  `{expect}`");
}

pub(super) fn check(law: &str, start: &str, rows: &[(&str, &str)]) {
    for (line, expect) in rows {
        check_law(&format!("{start}{line}"), law, expect);
    }
}

/// A turn under a view of `a` and `b`, up to the request.
pub(super) const TURN: &str = "open; user; view a,b; model; ";
/// The same with one call of `a` that passed validation.
pub(super) const CALL: &str = "open; user; view a,b; model; req 1 a; val 1; ";
/// What follows a start that went well.
pub(super) const DONE: &str = "fin 1 ok; set 1 succeeded; app 1; end";

#[test]
fn registered_version() {
    check(
        "registered-version",
        "",
        &[
            ("open; user; req 1 a; val 1; pol 1 allow; run 1; fin 1 ok", "unknown: no tool is"),
            ("open; cat a; user; req 1 a; val 1; run 1", "holds 1"),
            ("open; norm a; user; req 1 a; run 1", "holds 1"),
            ("open; enable a; user; req 1 a; run 1", "holds 1"),
            ("open; user; view a; req 1 a; run 1", "holds 1"),
            ("open; cat a; user; req 1 a; set 1 denied; end", "not exercised"),
            ("open; cat a; user; req 1 a; run 1 version=z", "c1 `a` version"),
            ("open; cat a; user; req 1 a; run 1 tool=z", "c1 `z` version"),
            // What validation resolved speaks for a start that names nothing.
            ("open; cat a; user; req 1 a; val 1; run 1 bare", "holds 1"),
            ("open; cat a; user; req 1 a; run 1 bare", "without naming"),
            ("open; user; req 1 a; run 1; cat a", "never registered"),
            // Whether it was blocked since is another law's matter.
            ("open; cat a; block a; user; req 1 a; run 1", "holds 1"),
        ],
    );
}

#[test]
fn one_result_per_call() {
    check(
        "one-result-per-call",
        TURN,
        &[
            ("req 1 a; set 1 denied; app 1; end", "holds 1"),
            ("req 1 a, 2 b; set 1 denied; set 2 replaced; app 1,2; end", "holds 2"),
            ("req 1 a; set 1 denied", "holds 1"),
            ("req 1 a; val 1; pol 1 allow; run 1", "unknown: the journal ends while c1"),
            ("req 1 a; val 1; pol 1 allow; run 1; end", "c1 a call was never settled"),
            ("req 1 a; end; user; req 2 a; set 2 denied; end", "c1 a call was never settled"),
            ("req 1 a; run 1; set 1 interrupted; app 1; end", "holds 1"),
            ("req 1 a; set 1 denied; set 1 denied; app 1; end", "settled more than once"),
            ("req 1 a; req 1 a; set 1 denied; app 1; end", "requested more than once"),
            ("set 1 denied; end", "c1 a result belongs to a call that nobody requested"),
            ("req 1 a; fin 1 ok; set 1 failed; app 1; end", "finished without having started"),
            (
                "req 1 a; run 1; run 1; fin 1 ok; set 1 failed; app 1; end",
                "unknown: its breach follows from `at-most-once`",
            ),
            ("req 1 a; run 1 unnumbered; run 1; fin 1 ok; set 1 failed; app 1", "started twice"),
            ("req 1 a; run 1; fail 1; run 1; fin 1 ok; set 1 failed; app 1; end", "holds 1"),
            ("req 1 a; run 1; fin 1 ok; fin 1 ok; set 1 failed; app 1; end", "finished more than"),
            ("req 1 a; set 1 succeeded; app 1; end", "succeeded without having started"),
            ("req 1 a; run 1; set 1 succeeded; app 1; end", "succeeded without having finished"),
            // No transcript is recorded at all: that is not a lost result.
            ("req 1 a; set 1 denied; end", "holds 1"),
            ("req 1 a; set 1 denied; say hello; end", "never appended"),
            ("req 1 a; set 1 denied; app 1; app 1 loose; end", "appended more than once"),
            ("req 1 a; app 1; set 1 denied; end", "appended before"),
            ("req 1 a; app 1", "appended whose call never settled"),
            ("app 1 loose", "nobody requested"),
        ],
    );
    let two = "req 1 a; set 1 denied; app 1; end; user; req 2 a";
    check_law(&format!("{TURN}{two}"), "one-result-per-call", "unknown: the journal ends while c2");
}

#[test]
fn model_order() {
    let start = format!("{TURN}req 1 a, 2 b; set 2 denied; set 1 denied; ");
    check(
        "model-order",
        &start,
        &[
            ("app 1,2; end", "holds 1"),
            ("app 2,1; end", "c1 a result stands before"),
            ("app 1,2 loose; end", "holds 1"),
            ("app 2,1 loose; end", "c1 a result stands before"),
            ("app 1 loose; app 2 loose; end", "holds 1"),
            ("app 1 loose; say wait; app 2 loose; end", "c2 something stands between"),
            // A lost or doubled result is another law's matter; the order of the rest still counts.
            ("app 1; end", "holds 1"),
            ("app 1 loose; end", "not exercised"),
            ("app 1,2; app 2 loose; end", "unknown: its breach follows from `one-result-per-call`"),
            ("end", "not exercised"),
        ],
    );
    let loose = format!("{TURN}req 1 a, 2 b loose; set 1 denied; set 2 denied; ");
    check("model-order", &loose, &[("app 1,2; end", "holds 1")]);
}

#[test]
fn validated_before_policy() {
    check(
        "validated-before-policy",
        TURN,
        &[
            ("req 1 a; val 1; pol 1 allow", "holds 1"),
            ("req 1 a; val 1 failed; set 1 rejected; app 1; end", "not exercised"),
            ("req 1 a; pol 1 deny", "c1 policy was checked before"),
            ("req 1 a; pol 1 allow; val 1", "c1 policy was checked before"),
            ("req 1 a; val 1 failed; pol 1 deny", "failed validation"),
            ("req 1 a; rename 1 b; val 1; pol 1 allow", "holds 1"),
            ("req 1 a; val 1; rename 1 b; pol 1 allow", "not validated again"),
            ("req 1 a; val 1; pol 1 deny; rename 1 b; val 1; pol 1 allow", "holds 2"),
            ("req 1 a, 2 b; val 2; pol 1 allow", "c1 policy was checked before"),
        ],
    );
}

#[test]
fn policy_before_start() {
    check(
        "policy-before-start",
        TURN,
        &[
            ("req 1 a; val 1; pol 1 allow; run 1", "holds 1"),
            ("req 1 a; val 1; pol 1 deny; set 1 denied", "not exercised"),
            ("req 1 a; val 1; run 1; pol 1 allow", "before policy was checked"),
            (
                "req 1 a; val 1 failed; set 1 rejected; run 1",
                "unknown: its breach follows from `denied",
            ),
            ("req 1 a; val 1; run 1", "before policy was checked"),
            ("req 1 a; pol 1 allow; val 1; run 1", "holds 1"),
            ("req 1 a; pol 1 allow; run 1", "unknown: its breach follows from `validated-before"),
            ("req 1 a; val 1; pol 1 allow; rename 1 b; run 1", "without being judged again"),
            ("req 1 a; val 1; pol 1 allow; run 1 args=z", "other arguments"),
            ("req 1 a; val 1; pol 1 allow; run 1 digest=z", "something else than policy"),
            ("req 1 a; val 1; pol 1 allow; run 1 bare", "holds 1"),
            ("req 1 a; val 1; pol 1 ask; ask 1; yes 1; run 1 digest=z", "holds 1"),
            ("req 1 a; val 1; pol 1 allow; run 1; fail 1; run 1 args=z", "other arguments"),
        ],
    );
    let line = format!("{CALL}pol 1 allow; rename 1 b; val 1; run 1");
    check_law(&line, "policy-before-start", "c1 a rewritten call started without being judged");
}

#[test]
fn authority_explicit() {
    check(
        "authority-explicit",
        CALL,
        &[
            ("pol 1 allow class=external rule=r; run 1 class=external", "holds 1"),
            ("pol 1 allow class=external; run 1 class=external", "class external started on nob"),
            ("pol 1 allow class=destructive; run 1", "class destructive started on nobody"),
            ("pol 1 allow class=write; run 1 class=write", "not exercised"),
            ("pol 1 allow; run 1 bare", "not exercised"),
            ("pol 1 ask class=external; ask 1; yes 1; run 1 class=external", "holds 1"),
            ("pol 1 allow class=external; grant 1; run 1 class=external", "holds 1"),
            ("pol 1 allow class=external; run 1 class=external; grant 1", "nobody's word"),
            ("pol 1 deny class=external; set 1 denied", "not exercised"),
            (
                "pol 1 ask class=external; ask 1; run 1 class=external",
                "unknown: its breach follows",
            ),
        ],
    );
}

#[test]
fn approval_binds() {
    check(
        "approval-binds",
        CALL,
        &[
            ("pol 1 ask; ask 1; yes 1; run 1", "holds 2"),
            ("pol 1 allow; run 1", "not exercised"),
            ("pol 1 ask; ask 1; no 1; set 1 denied", "not exercised"),
            ("pol 1 ask; ask 1; run 1", "c1 a call that had to be asked started without"),
            ("pol 1 ask; run 1; ask 1; yes 1", "started without a yes"),
            (
                "pol 1 ask; ask 1; no 1; run 1",
                "unknown: its breach follows from `denied-never-runs`",
            ),
            ("pol 1 ask; ask 1; yes 1 digest=z; run 1", "another call than the one shown"),
            ("pol 1 ask; ask 1; yes 1; run 1 digest=z", "not what was shown"),
            ("pol 1 ask; ask 1; yes 1; run 1 bare", "holds 2"),
            ("pol 1 ask; ask 1 until=500; yes 1; run 1", "had expired"),
            ("pol 1 ask; ask 1 strong; yes 1; run 1", "plain yes answered"),
            ("pol 1 strong_ask; ask 1; yes 1; run 1", "plain yes started"),
            ("pol 1 strong_ask; ask 1 strong; yes 1 strong; run 1", "holds 2"),
            ("pol 1 ask; grant 1; run 1", "holds 1"),
            ("pol 1 strong_ask; grant 1; run 1", "started without a yes"),
            ("pol 1 ask; yes 1; run 1", "request that was never made"),
            // Two requests open at once never cross, in whichever order they are answered.
            (
                "pol 1 ask; ask 1; req 2 b; val 2; pol 2 ask; ask 2; yes 2; yes 1; run 1; run 2",
                "holds 4",
            ),
            (
                "pol 1 ask; ask 1; req 2 b; val 2; pol 2 ask; ask 2; yes 1 to=2; run 1",
                "for another",
            ),
        ],
    );
    // The last moment before the end still counts.
    let until = |end: u32| format!("{CALL}pol 1 ask; ask 1 until={end}; yes 1; run 1");
    check_law(&until(1110), "approval-binds", "holds 2");
    check_law(&until(1109), "approval-binds", "had expired");
}

#[test]
fn denied_never_runs() {
    check(
        "denied-never-runs",
        CALL,
        &[
            ("pol 1 deny; set 1 denied", "holds 1"),
            ("pol 1 allow; run 1", "not exercised"),
            ("pol 1 deny; run 1", "c1 a call started after policy denied it"),
            ("pol 1 ask; ask 1; no 1; run 1", "after a person denied it"),
            ("pol 1 ask; ask 1; edit 1; run 1", "after a person replaced it"),
            ("pol 1 ask; ask 1; late 1; run 1", "after its approval expired"),
            ("pol 1 ask; ask 1; gone 1; run 1", "after nobody could be asked"),
            // Asked anew after a resume, and granted.
            ("pol 1 ask; ask 1; late 1; ask 1; yes 1; run 1", "not exercised"),
            ("pol 1 deny; rename 1 b; val 1; pol 1 allow; run 1", "not exercised"),
            ("pol 1 allow; run 1; set 1 replaced", "a call that ended as replaced started"),
            ("pol 1 allow; run 1; set 1 cancelled", "a call that ended as cancelled started"),
            ("pol 1 allow; run 1; set 1 interrupted", "not exercised"),
            ("set 1 duplicate", "holds 1"),
            ("set 1 blocked; run 1", "a call that ended as blocked started"),
        ],
    );
}

#[test]
fn receipt_only_on_success() {
    let start = "open r; user; view a,b; model; req 1 a; val 1; pol 1 allow; ";
    check(
        "receipt-only-on-success",
        start,
        &[
            ("run 1; fin 1 ok; rcpt 1; set 1 succeeded; app 1; end", "holds 2"),
            ("run 1; fin 1 ok; set 1 succeeded; app 1; end", "without the receipt"),
            ("run 1; fin 1 failed; set 1 failed; app 1; end", "holds 1"),
            ("run 1; fin 1 failed; rcpt 1; set 1 failed; app 1; end", "ended as failed has a rec"),
            ("set 1 denied; app 1; end", "not exercised"),
            ("run 1; fin 1 ok; rcpt 1; rcpt 1; set 1 succeeded", "more than one receipt"),
            ("run 1; fin 1 ok; set 1 succeeded; app 1; rcpt 1", "after its result was appended"),
            ("run 1; fin 1 ok; set 1 succeeded; rcpt 1; app 1", "holds 2"),
            ("run 1; rcpt 1; fin 1 ok; set 1 succeeded", "before its call had finished"),
            ("run 1; fin 1 ok; rcpt 1 result=z; set 1 succeeded", "for another result"),
            ("run 1; fin 1 ok; rcpt 1 args=z; set 1 succeeded", "for other arguments"),
            ("run 1 bare; fin 1 ok; rcpt 1 args=z; set 1 succeeded", "holds 2"),
            ("run 1; fin 1 ok; rcpt 1 forged; set 1 succeeded", "does not verify"),
            ("run 1; fin 1 ok; rcpt 1", "holds 1"),
        ],
    );
    check(
        "receipt-only-on-success",
        CALL,
        &[
            ("run 1; fin 1 ok; set 1 succeeded", "not exercised"),
            ("run 1; fin 1 ok; rcpt 1; set 1 succeeded", "holds 2"),
        ],
    );
    let rows = [
        ("user; req 1 a; run 1; fin 1 ok; set 1 succeeded", "not exercised"),
        ("user; req 1 a; run 1; fin 1 ok bare; rcpt 1; set 1 succeeded", "holds 2"),
    ];
    check("receipt-only-on-success", "", &rows);
}

#[test]
fn no_secrets() {
    let rest = format!("user; view a; model; req 1 a; val 1; pol 1 allow; run 1; {DONE}");
    let planted = |word: &str| format!("open c; trace {word}; {rest}");
    let listed = |word: &str| format!("open h; trace {word}; {rest}");
    let shown = |rules: &str, word: &str| {
        let rest = rest.replace("succeeded", &format!("succeeded text={word}"));
        format!("open {rules}; {rest}")
    };
    let rows = [
        (planted("step"), "holds 6"),
        (planted("pmk-canary-1"), "- the facts of TraceUpdated hold a planted canary"),
        (shown("c", "pmk-canary-1"), "c1 a shown result holds a planted canary"),
        (shown("c", "pmk-canary-1"), "- a transcript message holds a planted canary"),
        // In another alphabet it is the same.
        (planted("cG1rLWNhbmFyeS0x"), "- the facts of TraceUpdated hold a planted canary"),
        (shown("c", "706D6B2D63616E6172792D31"), "c1 a shown result holds a planted canary"),
        (shown("c", "%70mk%2dcanary-1"), "c1 a shown result holds a planted canary"),
        (shown("c", r"\u0070mk-canary-1"), "c1 a shown result holds a planted canary"),
        (shown("c", "cG1rLWZpbmNoLTE"), "holds 6"),
        (listed("step"), "holds 6"),
        (listed("xhunter2-hunter2x"), "TraceUpdated hold a secret that the session lists"),
        (listed("xhunter2-hunter"), "holds 6"),
        (shown("h", "hunter2-hunter2"), "c1 a shown result holds a secret"),
        (shown("c h", "hunter2-hunter3"), "holds 6"),
        // Nothing was planted, or nothing came out: no breach could have been seen.
        (format!("open; {rest}"), "not exercised"),
        ("open c; user; view a; model; req 1 a; set 1 denied; app 1; end".into(), "not exer"),
        (rest.clone(), "not exercised"),
        ("open c; user; run 1; fin 1 ok; app 1".into(), "unknown: a transcript message is not"),
    ];
    for (line, expect) in &rows {
        check_law(line, "no-secrets", expect);
    }
    // A text that is JSON is read as JSON too: an escape does not hide a secret.
    let escaped = format!(r#"open h; say {{"k":"hunter2\u002dhunter2"}}; {rest}"#);
    check_law(&escaped, "no-secrets", "a transcript message holds a secret");
}

#[test]
fn large_output_stored() {
    let start = "open max=40; user; view a,b; model; req 1 a; val 1; pol 1 allow; run 1; ";
    check(
        "large-output-stored",
        start,
        &[
            ("fin 1 ok chars=90; art 1; set 1 succeeded chars=40 cut", "holds 1"),
            ("fin 1 failed chars=90; art 1; set 1 failed chars=40 cut", "holds 1"),
            ("fin 1 ok chars=40; set 1 succeeded", "not exercised"),
            ("fin 1 ok chars=90; set 1 succeeded cut", "was not stored"),
            ("fin 1 ok chars=90; set 1 succeeded cut; art 1", "was not stored"),
            ("fin 1 ok chars=90; art 1; set 1 succeeded", "as if it were whole"),
            ("fin 1 ok chars=90; art 1; set 1 succeeded chars=41 cut", "more than the limit"),
            ("fin 1 ok chars=10; set 1 succeeded chars=41", "more than the limit of 40"),
            // The text itself counts, whatever the event says of it.
            ("fin 1 ok; set 1 succeeded chars=1 text=aaaaaaaaaaaaaaaaaaaaaaaaa", "more than the"),
            ("fin 1 ok; set 1 succeeded text=éééééééééééééééééééé", "not exercised"),
        ],
    );
    let start = "open max=40; user; view a projection=structured; model; req 1 a; run 1; ";
    check(
        "large-output-stored",
        start,
        &[
            ("fin 1 ok chars=90; art 1; set 1 succeeded", "holds 1"),
            ("fin 1 ok chars=90; set 1 succeeded", "was not stored"),
        ],
    );
    check("large-output-stored", CALL, &[("fin 1 ok chars=90; set 1 succeeded", "not exercised")]);
    let rows = [
        ("fin 1 ok chars=90; art 1; set 1 succeeded", "as if it were whole"),
        ("fin 1 ok bare; set 1 succeeded", "not exercised"),
        ("fin 1 ok; set 1 succeeded bare", "not exercised"),
    ];
    check("large-output-stored", "open max=40; cat a; user; req 1 a; run 1; ", &rows);
}

#[test]
fn artifact_provenance() {
    check(
        "artifact-provenance",
        CALL,
        &[
            ("run 1; fin 1 ok; art 1; set 1 succeeded", "holds 1"),
            ("run 1; fin 1 ok; set 1 succeeded", "not exercised"),
            ("run 1; fin 1 ok; art 1 eventless", "c1 an artifact names no event"),
            ("run 1; fin 1 ok; art 1 event=1", "an event that is not of its call"),
            ("run 1; fin 1 ok; art 1 event=99", "an event that is not of its call"),
            ("run 1; fin 1 ok; art 1 event=12", "an event that is not of its call"),
            ("run 1; fin 1 ok; art 1 of=2", "c2 an artifact names another call"),
            ("run 3; fin 3 ok; art 3", "c3 an artifact names a call that nobody requested"),
        ],
    );
}

#[test]
fn view_explained() {
    check(
        "view-explained",
        "open; user; ",
        &[
            ("view a,b -x; model", "holds 2"),
            ("view a; model; view a; model", "holds 4"),
            ("view a decision=ask; model", "holds 2"),
            ("view a decision=deny; model", "- `a` is shown although policy denies it"),
            ("view a decision= ; model", "`a` is shown without a policy decision"),
            ("model a", "without a view"),
            ("model a; view a", "without a view"),
            ("view a; model; req 1 a; set 1 denied; app 1; model", "without a view"),
            // The same request again after a reply without calls: a retry, or another model.
            ("view a; model; model", "holds 3"),
            ("req 1 a; set 1 denied", "not exercised"),
        ],
    );
}

#[test]
fn withheld_not_run() {
    check(
        "withheld-not-run",
        "",
        &[
            ("open; user; view a -x; model; req 1 a; run 1", "holds 2"),
            ("open; user; view a; req 1 a; run 1", "not exercised"),
            ("open; user; view a -x; model a,x", "`x` is advertised and not in the view"),
            ("open; user; view a,b; model a", "`b` is in the view and not advertised"),
            ("open; user; view a,b; model a,b,b", "a name is advertised twice"),
            ("open; user; view a,b; model b,a", "holds 1"),
            ("open; user; view a -x; model; req 1 x; run 1", "c1 `x` was withheld"),
            ("open; user; view a -x; model; req 1 x; set 1 unavailable", "holds 1"),
            ("open -x; user; view a; model; req 1 x; run 1", "c1 `x` is excluded and started"),
            ("open -x; user; view a,x; model", "- `x` is excluded and advertised"),
            // Activated for the next view: only the view of the call's own request counts.
            ("open; user; view a -x; model; view a,x; model; req 1 x; run 1", "holds 2"),
            ("open; user; view x; model; req 1 x; view a -x; run 1; set 1 succeeded", "holds 1"),
        ],
    );
}

#[test]
fn effects_declared() {
    check(
        "effects-declared",
        "open; user; ",
        &[
            ("cat a; req 1 a; run 1; fin 1 ok; chk 1; set 1 succeeded", "holds 1"),
            ("cat a bare; req 1 a; run 1", "c1 `a` started although it declares no effects"),
            ("cat a bare; req 1 a; set 1 denied", "not exercised"),
            ("view a; req 1 a; run 1", "not exercised"),
            ("req 1 a; run 1; fin 1 ok; chk 1 undeclared=w; set 1 succeeded", "with 1 effect(s)"),
            ("req 1 a; run 1; fin 1 ok; chk 1 undeclared=w; set 1 failed", "not exercised"),
            ("req 1 a; run 1; fin 1 ok; chk 1; set 1 succeeded", "holds 1"),
        ],
    );
    let rows = [
        ("cat a bare; req 1 a; run 1 version=z", "not exercised"),
        ("cat a bare; req 1 a; run 1 bare", "although it declares no effects"),
        ("cat a bare; view b; req 1 b; run 1", "not exercised"),
    ];
    check("effects-declared", "open; user; ", &rows);
}
