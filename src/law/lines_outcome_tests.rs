//! Good and broken lines of the laws about outcomes, answers, availability, what a model said.
#![allow(clippy::unwrap_used)]

use super::lines_tests::{CALL, DONE, TURN, check, check_law};

#[test]
fn outcome_tells_truth() {
    let law = "outcome-tells-truth";
    check(
        law,
        TURN,
        &[
            ("req 1 a; val 1 failed; set 1 rejected", "holds 1"),
            ("req 1 a; val 1 failed; set 1 denied", "c1 a call whose arguments failed validation"),
            ("req 1 a; val 1; set 1 rejected", "whose arguments passed ended as rejected"),
            ("req 1 a; set 1 rejected", "unknown: the journal records no validation of c1"),
            ("req 1 a; set 1 unavailable", "not exercised"),
            ("req 1 a; set 1 cancelled", "not exercised"),
            ("req 1 a; hook 1 before cancel; set 1 blocked", "holds 1"),
            ("req 1 a; hook 1 before failed; set 1 blocked", "holds 1"),
            ("req 1 a; pattern 1 same; set 1 blocked", "holds 1"),
            ("req 1 a; set 1 blocked", "unknown: the journal records no hook or guard of c1"),
            ("req 1 a; hook 1 before pass; set 1 blocked", "ended as blocked for nothing"),
            ("req 1 a, 2 b; pattern 2 same; set 1 blocked", "ended as blocked for nothing"),
            ("req 1 a; set 1 denied", "unknown: the journal records no policy check of c1"),
            (
                "req 1 a; rename 1 b; val 1 failed; rename 1 a; val 1; pol 1 deny; set 1 denied",
                "holds 1",
            ),
        ],
    );
    check(
        law,
        CALL,
        &[
            ("pol 1 deny; set 1 denied", "holds 1"),
            ("pol 1 deny; set 1 denied by=budget", "holds 1"),
            ("pol 1 deny; set 1 denied by=operator", "that policy denied ended as denied by oper"),
            ("pol 1 deny; set 1 cancelled", "that policy denied ended as cancelled"),
            ("pol 1 allow; set 1 denied", "policy denied nothing, and was blamed"),
            ("pol 1 allow; set 1 denied by=sandbox", "not exercised"),
            ("pol 1 allow; set 1 denied by=no_approver", "needed nobody lacked an answer"),
            ("pol 1 ask; set 1 denied by=no_approver", "not exercised"),
            ("pol 1 ask; set 1 denied by=operator", "unknown: the journal records no approval"),
            ("pol 1 ask; ask 1; no 1; set 1 denied", "holds 1"),
            ("pol 1 ask; ask 1; no 1; set 1 denied by=approval_mismatch", "holds 1"),
            ("pol 1 ask; ask 1; no 1; set 1 denied by=approval_timeout", "a person refused ended"),
            ("pol 1 ask; ask 1; no 1; set 1 denied by=policy", "a person refused ended as denied"),
            ("pol 1 ask; ask 1; no 1; set 1 denied by=no_approver", "denied by no_approver"),
            ("pol 1 ask; ask 1; edit 1; set 1 replaced", "holds 1"),
            ("pol 1 ask; ask 1; edit 1; set 1 denied", "that a person replaced ended as denied"),
            ("pol 1 ask; ask 1; no 1; set 1 replaced", "a person refused ended as replaced"),
            ("pol 1 ask; ask 1; yes 1; set 1 denied by=operator", "by operator for nothing"),
            ("pol 1 ask; ask 1; yes 1; set 1 denied by=credential", "not exercised"),
            ("pol 1 allow; set 1 replaced", "unknown: the journal records no approval of c1"),
            // Nobody answered: that is another law's matter.
            ("pol 1 ask; ask 1; late 1; set 1 denied", "not exercised"),
            ("pol 1 ask; ask 1; gone 1; set 1 denied by=policy", "not exercised"),
            ("pol 1 allow; dup 1 of=9; set 1 duplicate", "holds 1"),
            ("pol 1 allow; dup 1 of=9; set 1 denied", "dropped as a duplicate ended as denied"),
            ("pol 1 allow; set 1 duplicate", "unknown: the journal records no dropped duplicate"),
            ("guard turn; pol 1 allow; set 1 duplicate", "ended as duplicate for nothing"),
            ("pol 1 ask; repeat 1 of=9; set 1 blocked", "holds 1"),
            // How what ran had finished is judged elsewhere.
            ("pol 1 allow; run 1; fin 1 ok; chk 1; set 1 succeeded", "not exercised"),
            ("pol 1 allow; run 1; fin 1 failed; set 1 failed", "holds 1"),
            ("pol 1 allow; run 1; fin 1 ok; set 1 failed", "holds 1"),
            ("pol 1 allow; run 1; set 1 interrupted", "not exercised"),
            ("pol 1 allow; run 1; fin 1 failed; set 1 succeeded", "not exercised"),
            ("pol 1 allow; set 1 failed", "c1 a call ended as failed and never started"),
            ("pol 1 allow; set 1 interrupted", "not exercised"),
            // What ran although it was refused, and what succeeded out of nothing, others judge.
            ("pol 1 deny; run 1; set 1 denied", "not exercised"),
            ("pol 1 allow; set 1 succeeded", "not exercised"),
            ("pol 1 allow; fin 1 ok; set 1 failed", "not exercised"),
        ],
    );
    // Where nobody approves, a refusal may be written down as a no.
    let alone = "open approver=none; user; view a; model; req 1 a; val 1; pol 1 ask; ask 1; no 1; ";
    check_law(&format!("{alone}set 1 denied by=no_approver"), law, "holds 1");
}

#[test]
fn timeout_is_no_refusal() {
    check(
        "timeout-is-no-refusal",
        &format!("{CALL}pol 1 ask; ask 1; "),
        &[
            ("late 1; set 1 denied", "holds 1"),
            ("late 1; set 1 denied by=approval_expired", "holds 1"),
            ("late 1; set 1 denied by=operator", "c1 a call whose request ran out ended as denied"),
            ("late 1; set 1 denied by=no_approver", "ran out ended as denied by no_approver"),
            ("late 1; set 1 cancelled", "not exercised"),
            ("gone 1; set 1 denied", "holds 2"),
            ("gone 1; set 1 denied by=operator", "reached nobody ended as denied by operator"),
            ("gone 1; set 1 denied by=approval_timeout", "reached nobody ended as"),
            ("set 1 denied by=operator", "has no answer ended as denied by operator"),
            ("set 1 denied by=approval_timeout", "holds 1"),
            ("set 1 denied by=policy", "has no answer ended as denied by policy"),
            ("set 1 denied by=grant_revoked", "holds 1"),
            ("no 1; set 1 denied", "holds 1"),
            ("no 1; unsigned 1; set 1 denied", "a decision does not name who made it"),
            ("yes 1; unsigned 1; run 1", "does not name who made it"),
            ("yes 1; run 1", "holds 1"),
            // A poll that ran out does not end a question that was answered.
            ("late 1; ask 1; no 1; set 1 denied", "holds 1"),
        ],
    );
    let line = format!("{CALL}pol 1 deny; set 1 denied");
    check_law(&line, "timeout-is-no-refusal", "not exercised");
}

#[test]
fn answers_addressed() {
    let start = "open; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 ask; ask 1; val 2; \
                 pol 2 ask; ask 2; ";
    check(
        "answers-addressed",
        start,
        &[
            ("no 2; yes 1; run 1", "holds 2"),
            ("yes 1; yes 2", "holds 2"),
            ("no 1; late 2; set 1 denied", "holds 2"),
            ("no 1; no 1", "c1 a request was answered twice"),
            ("late 1; yes 1", "a request was answered twice"),
            ("yes 1; yes 1", "a request was answered twice"),
            ("gone 1; edit 1", "a request was answered twice"),
            ("no 1 to=2", "c1 an answer to one call was recorded for another"),
            ("late 1 to=2; no 2", "recorded for another"),
            ("no 1 to=9", "c1 an answer names a request that was never made"),
            ("set 1 cancelled; no 1", "an answer came after its call had ended"),
            ("no 1; set 1 denied; ask 1", "holds 1"),
            // Asked anew, as after a resume.
            ("late 1; ask 1; yes 1; run 1", "holds 2"),
            ("set 1 cancelled", "not exercised"),
        ],
    );
    let law = "answers-addressed";
    check_law(&format!("{CALL}no 1"), law, "names a request that was never made");
    let timed = |end: u32| format!("{CALL}pol 1 ask; ask 1 until={end}; edit 1; set 1 replaced");
    check_law(&timed(1110), law, "holds 1");
    check_law(&timed(1109), law, "c1 a replacement came after its request had expired");
    // A yes to no request, or to another call's, is already law.
    check_law(&format!("{start}yes 1 to=2"), law, "not exercised");
    check_law(&format!("{start}yes 1 to=9"), law, "not exercised");
    check_law(&format!("{start}yes 1 to=2"), "approval-binds", "recorded for another");
}

#[test]
fn sandbox_before_start() {
    let boxed = "box 1 mode=read_only enforced=workspace";
    check(
        "sandbox-before-start",
        &format!("{CALL}pol 1 allow; "),
        &[
            (&format!("{boxed}; run 1"), "holds 1"),
            ("box 1; run 1", "holds 1"),
            ("box 1 mode=none enforced=none; run 1", "holds 1"),
            ("box 1 mode=vm enforced=partial; run 1", "holds 1"),
            ("box 1 enforced=none; run 1", "holds 1"),
            ("box 1 mode=vm enforced=none; run 1", "c1 a call started with nothing enforced"),
            ("box 1 mode=read_only enforced=full by=all; run 1", "holds 1"),
            (
                "box 1 mode=read_only enforced=full; run 1",
                "c1 a call started confined in full, without `blocked_paths`",
            ),
            (
                "box 1 mode=read_only enforced=full by=seccomp,landlock_files; run 1",
                "c1 a call started confined in full, without `blocked_paths`",
            ),
            ("box 1 mode=read_only enforced=server by=seccomp; run 1", "holds 1"),
            (&format!("run 1; {boxed}"), "before its sandbox was prepared"),
            ("run 1; box 1", "unknown: no sandbox of c1 is recorded"),
            ("run 1", "unknown: no sandbox of c1 is recorded"),
            ("set 1 cancelled", "not exercised"),
            (
                &format!("{boxed}; req 2 b; val 2; pol 2 allow; run 2"),
                "c2 a call started before its sandbox",
            ),
            (&format!("{boxed}; run 1; fail 1; run 1"), "holds 2"),
            ("plan 1; run 1", "c1 a call started before its sandbox was prepared"),
            ("box 1; plan 1; run 1", "holds 1"),
            (
                &format!("{boxed}; rename 1 b; val 1; pol 1 allow; run 1"),
                "c1 a call started before its sandbox was prepared",
            ),
        ],
    );
}

#[test]
fn mcp_normalized() {
    check(
        "mcp-normalized",
        "open; ",
        &[
            ("norm a; user; view a,b mcp=a", "holds 1"),
            ("cat a; user; view a mcp=a", "holds 1"),
            ("cat b; user; view a,b mcp=a", "- `a` version"),
            ("enable a; user; view a mcp=a", "shown before it was normalized"),
            ("cat b; user; view a mcp=a; norm a", "shown before it was normalized"),
            ("user; view a mcp=a", "unknown: no tool is registered"),
            ("cat b; user; view a,b", "not exercised"),
            ("cat b; user; view b -a", "not exercised"),
            ("cat b; user; view a skill=a", "not exercised"),
            ("found a source=mcp; norm a; cat a; enable a", "holds 1"),
            ("found a source=mcp; norm a; found a source=mcp; enable a", "- `a` came over MCP and"),
            ("found a source=mcp; cat a; enable a", "enabled in a version that was not normalized"),
            ("found a source=mcp; norm b; enable a", "enabled in a version that was not normal"),
            ("found a source=mcp; norm a; found a; enable a", "not exercised"),
            ("found a source=skill; enable a", "not exercised"),
            ("enable a; found a source=mcp", "not exercised"),
        ],
    );
}

#[test]
fn skill_scripts_registered() {
    check(
        "skill-scripts-registered",
        "open; ",
        &[
            ("norm a; user; view a skill=a; model; req 1 a; run 1", "holds 1"),
            ("enable a; user; view a skill=a; model; req 1 a; run 1", "holds 1"),
            ("cat b; user; view a skill=a; model; req 1 a; run 1", "c1 `a` of a skill started"),
            ("cat b; user; view a skill=a; model; req 1 a; run 1; norm a", "never registered"),
            ("cat b; user; view a skill=a; model; req 1 a; set 1 denied", "not exercised"),
            ("user; view a skill=a; model; req 1 a; run 1", "unknown: no tool is registered"),
            ("norm a source=skill; user; view b; model; req 1 a; run 1", "does not show it"),
            (
                "norm a source=skill; user; view b -a; model; req 1 a; run 1",
                "unknown: its breach follows from `withheld-not-run`",
            ),
            ("cat a; user; view a; model; req 1 a; run 1", "not exercised"),
            ("norm a source=skill; user; req 1 a; run 1", "not exercised"),
            // A name taken from a skill may be another tool in this view.
            ("norm a source=skill; user; view a; model; req 1 a; run 1", "not exercised"),
            ("found a source=skill; norm a; cat a; enable a", "holds 1"),
            ("found a source=skill; norm a; enable a", "- `a` of a skill was enabled and not ver"),
            ("found a source=skill; cat a; found a source=skill; enable a", "enabled and not ver"),
            ("found a source=mcp; norm a; enable a", "not exercised"),
        ],
    );
}

#[test]
fn golden_before_enable() {
    check(
        "golden-before-enable",
        "open; ",
        &[
            ("enable a scope=live evidence=w", "holds 1"),
            ("enable a scope=workspace", "- `a` was enabled without evidence"),
            ("enable a", "not exercised"),
            ("cat a", "not exercised"),
        ],
    );
}

#[test]
fn child_within_parent() {
    let start = "open scopes=mail; user; view a,b -x; model; req 1 a; val 1; pol 1 allow; run 1; ";
    let end = "back 1 k; fin 1 ok; set 1 succeeded";
    check(
        "child-within-parent",
        start,
        &[
            (&format!("delegate 1 k tools=a,b scopes=mail; {end}"), "holds 3"),
            (&format!("delegate 1 k; {end}"), "holds 3"),
            (&format!("delegate 1 k tools=x; {end}"), "c1 a delegate was given `x`"),
            (&format!("delegate 1 k tools=x scoped; {end}"), "c1 a delegate was given `x`"),
            (&format!("delegate 1 k scopes=files; {end}"), "given the scope `files`"),
            ("delegate 1 k; fin 1 ok; set 1 succeeded", "never ended although its call did"),
            ("delegate 1 k; set 1 interrupted", "holds 3"),
            ("delegate 1 k", "holds 2"),
            ("back 1 k", "c1 a delegate ended that had not begun"),
            (&format!("delegate 1 k; back 1 k; {end}"), "or had ended before"),
            (&format!("delegate 1 k; delegate 1 l; back 1 l; {end}"), "holds 6"),
            ("fin 1 ok; set 1 succeeded", "not exercised"),
        ],
    );
    let start = start.replace("-x;", "-x filter=group;");
    check(
        "child-within-parent",
        &start,
        &[
            (&format!("delegate 1 k tools=x,a scoped; {end}"), "holds 3"),
            (&format!("delegate 1 k tools=x; {end}"), "c1 a delegate was given `x`"),
            (&format!("delegate 1 k tools=y scoped; {end}"), "c1 a delegate was given `y`"),
        ],
    );
    let law = "child-within-parent";
    check_law("user; req 1 a; run 1; delegate 1 k tools=a", law, "unknown: no view is recorded");
}

#[test]
fn activation_grants_nothing() {
    let start = "open -x; cat a,b,x; user; view a; model; req 1 a, 2 b; run 1; ";
    check(
        "activation-grants-nothing",
        start,
        &[
            ("activate 1 b; set 2 unavailable", "holds 2"),
            ("activate 1 b; view a,b; model; req 3 b; run 3", "holds 4"),
            ("activate 1 b; run 2", "c2 `b` started right after it was activated"),
            ("activate 1 b; view a; model; req 3 b; run 3", "c3 `b` started right after"),
            ("activate 1 x", "c1 `x` is excluded and was activated"),
            ("activate 1 z", "`z` was never registered"),
            ("block b; activate 1 b", "`b` was blocked and was activated"),
            ("activate 1 b; cat z; view a,z", "holds 3"),
            ("view a,z", "- `z` is shown and not registered"),
            ("view a,z mcp=z", "holds 2"),
            // What was visible before may be activated and go on.
            ("activate 1 a; view a; model; req 3 a; run 3", "holds 4"),
            ("run 2; activate 1 b", "holds 2"),
        ],
    );
    let law = "activation-grants-nothing";
    check_law("open; user; view a; model; req 1 a; run 1", law, "not exercised");
    check_law("open; user; req 1 a; activate 1 b", law, "unknown: no tool is registered");
    let kept = "open; cat a,b; user; view a -b; model; req 1 a, 2 b; run 1; activate 1 b; run 2";
    check_law(kept, law, "follows from `withheld-not-run`");
}

#[test]
fn calls_where_allowed() {
    let law = "calls-where-allowed";
    let start = "open; user; view a,b; model; ";
    check(
        law,
        start,
        &[
            ("req 1 a; raw <call>a</call>; origin 1 tagged", "holds 2"),
            ("req 1 a; raw {\"name\":\"a\"}; origin 1 bare", "holds 2"),
            ("req 1 a; raw {\"name\":\"\\u0061\"}; origin 1 bare", "holds 2"),
            ("req 1 a, 2 a; raw a|a; origin 1 tagged; origin 2 tagged", "holds 3"),
            (
                "req 1 a, 2 a; raw a|<think>a</think>; origin 1 tagged; origin 2 tagged",
                "c2 a call was taken from where no call may stand",
            ),
            ("req 1 a; raw <think>a</think>; origin 1 tagged", "c1 a call was taken from"),
            ("req 1 a; raw <THINKING>|a|</thinking>; origin 1 tagged", "was taken from"),
            ("req 1 a; raw <think>|so~then|a; origin 1 tagged", "was taken from"),
            ("req 1 a; raw <think>|so~then|</think>|a; origin 1 tagged", "holds 2"),
            // A value that holds a tag is no reasoning.
            ("req 1 a; raw <call>b~\"<think>\"</call>|<call>a</call>; origin 1 tagged", "holds 2"),
            ("req 1 a; raw ```json|a|```; origin 1 tagged", "was taken from"),
            ("req 1 a; raw ```call|a|```; origin 1 fenced", "holds 2"),
            ("req 1 a; raw ```json|b|```|a; origin 1 tagged", "holds 2"),
            ("req 1 a; raw ````|```|a|```|````; origin 1 tagged", "was taken from"),
            ("req 1 a; raw ~~~~|a; origin 1 tagged", "holds 2"),
            ("req 1 a; raw ```a```~is~it; origin 1 tagged", "holds 2"),
            ("req 1 a; raw >~a; origin 1 tagged", "was taken from"),
            ("req 1 a; raw see~a_b~and~a.b; origin 1 tagged", "was taken from"),
            ("req 1 a; raw b; origin 1 native", "holds 1"),
            ("req 1 a; raw b", "was taken from"),
            ("req 1 a; raw a gone; origin 1 tagged", "unknown: the text of a reply"),
            ("req 1 a; origin 1 tagged", "unknown: the text of a reply"),
            ("req 1 a", "holds 1"),
            ("guard none strict; req 1 a; raw a; origin 1 tagged", "although parsing is strict"),
            ("guard none strict; req 1 a; origin 1 native", "holds 1"),
            ("guard none strict; req 1 a", "holds 1"),
            ("say hello; end", "not exercised"),
        ],
    );
}

#[test]
fn arguments_as_sent() {
    check(
        "arguments-as-sent",
        TURN,
        &[
            ("req 1 a; val 1; pol 1 allow; run 1", "holds 1"),
            ("req 1 a; val 1 args=z", "c1 other arguments were validated"),
            ("req 1 a; val 1 failed args=z; set 1 rejected", "not exercised"),
            ("req 1 a; rename 1 b; val 1", "holds 1"),
            ("req 1 a; rename 1 b args=w; val 1", "holds 1"),
            ("req 1 a; rename 1 b args=w; rename 1 a; val 1", "holds 1"),
            ("req 1 a; val 1; rename 1 b args=w; val 1", "holds 2"),
            ("req 1 a; rename 1 b args=w; val 1 args=z", "other arguments were validated"),
            // The ingress filled something in, or a marker was taken out.
            ("req 1 a; val 1 args=z; filled 1 channel", "not exercised"),
            ("req 1 a; val 1 args=z; cleared 1", "not exercised"),
            ("req 1 a; text 1; val 1; blank 1", "holds 2"),
            ("req 1 a; text 1; val 1", "arguments that are no JSON passed"),
            ("req 1 a; text 1 {\"n\"; val 1", "arguments that are no JSON passed"),
            ("req 1 a; text 1 {\"n\"; val 1; blank 1", "arguments that are no JSON passed"),
            ("req 1 a; text 1 {\"n\"; val 1 failed; set 1 rejected", "not exercised"),
            ("req 1 a; text 1; val 1 args=z; blank 1", "other arguments were validated"),
            ("req 1 a; text 1 x; rename 1 b args=w; val 1", "holds 1"),
            ("req 1 a; text 1 x; rename 1 b; val 1", "arguments that are no JSON passed"),
            // The record was scrubbed after the digest was taken.
            ("req 1 a:[redacted]; val 1 args=z", "unknown: the arguments of c1 are recorded"),
            ("req 1 a:[redacted]; val 1", "holds 1"),
            ("val 1", "not exercised"),
        ],
    );
}

/// A whole turn without any guard exercises what every call is judged by, and no more.
#[test]
fn a_plain_turn_is_judged_by_what_it_records() {
    let line = format!("{CALL}pol 1 allow; run 1; {DONE}");
    for (law, expect) in [
        ("outcome-tells-truth", "not exercised"),
        ("arguments-as-sent", "holds 1"),
        ("calls-where-allowed", "holds 1"),
        ("duplicates-dropped", "not exercised"),
        ("answers-addressed", "not exercised"),
        ("grant-within-scope", "not exercised"),
        ("mcp-normalized", "not exercised"),
    ] {
        check_law(&line, law, expect);
    }
}

#[test]
fn blocked_never_runs() {
    check(
        "blocked-never-runs",
        CALL,
        &[
            ("run 1; fin 1 ok; set 1 succeeded; block a", "not exercised"),
            ("run 1; block a; fin 1 ok; set 1 succeeded", "holds 1"),
            ("block a; set 1 denied by=tool_blocked", "holds 1"),
            ("block b; run 1", "not exercised"),
            ("block a; run 1", "c1 `a` was blocked and started"),
            ("run 1; fail 1; block a; run 1", "`a` was blocked and started"),
            ("block a by=ann; cat a; run 1", "`a` was blocked and started"),
            // What a check blocked is free once it is verified again.
            ("block a; cat a; run 1", "not exercised"),
            ("cat a; block a; run 1", "`a` was blocked and started"),
            ("run 1; fin 1 ok; set 1 succeeded; block a; view b -a", "holds 1"),
            ("run 1; fin 1 ok; set 1 succeeded; block a; view a,b", "- `a` was blocked and shown"),
            ("run 1; block b; delegate 1 k tools=a", "holds 1"),
            ("run 1; block b; delegate 1 k tools=a,b", "c1 `b` was blocked and given to a"),
            // What somebody asks for afterwards is refused; no view knows it.
            ("block b; view a -b; model; req 2 b; set 2 unavailable", "holds 2"),
        ],
    );
}

#[test]
fn consent_before_server() {
    check(
        "consent-before-server",
        CALL,
        &[
            ("box 1; run 1", "not exercised"),
            ("consent s; box 1 server=s; run 1", "holds 1"),
            ("box 1 server=s; consent s; run 1", "holds 1"),
            ("box 1 server=s; set 1 cancelled", "not exercised"),
            ("box 1 server=s; run 1", "c1 nobody agreed to the use of `s`"),
            ("box 1 server=s; run 1; consent s", "nobody agreed to the use of `s`"),
            ("consent t; box 1 server=s; run 1", "nobody agreed to the use of `s`"),
            ("consent s to=eve; box 1 server=s; run 1", "nobody agreed to the use of `s`"),
        ],
    );
}
