#![allow(clippy::unwrap_used)]

use super::grade::{broken, decoys, grade_these};
use super::*;
use crate::law::{self, Judge, Verdict, dsl};

fn judged(entries: &[Entry], blobs: &Blobs) -> Vec<law::Finding> {
    Judge::new(Some(dsl::key())).journal(entries, blobs)
}

#[test]
fn the_law_table_and_the_mutant_table_agree_both_ways() {
    for law in law::all() {
        assert!(!law.mutants.is_empty(), "{}", law.name);
        for name in law.mutants {
            let mutant = find(name).unwrap_or_else(|| panic!("{name} of {}", law.name));
            assert!(mutant.laws.contains(&law.name), "{name} does not name {}", law.name);
        }
        for implied in law.implies {
            assert!(law::find(implied).is_some(), "{implied}");
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for mutant in all() {
        for law in mutant.laws {
            let law = law::find(law).unwrap();
            assert!(law.mutants.contains(&mutant.name), "{} lacks {}", law.name, mutant.name);
        }
        names.push(mutant.name);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().len());
}

#[test]
fn implications_have_no_circle() {
    fn reach(from: &str, to: &str, depth: usize) -> bool {
        let implies = law::find(from).map_or(&[][..], |law| law.implies);
        depth > 0 && implies.iter().any(|next| *next == to || reach(next, to, depth - 1))
    }
    for law in law::all() {
        assert!(!reach(law.name, law.name, law::all().len()), "{}", law.name);
    }
}

/// What is wrong with a list of broken laws, in one line; nothing when it is as expected.
fn differs(what: &str, findings: &[law::Finding], expected: &[&str]) -> Option<String> {
    let broken = broken(findings);
    let rest: Vec<String> =
        findings.iter().filter_map(|finding| detail(finding, expected)).collect();
    (broken != expected).then(|| format!("{what}: {broken:?}\n  {}", rest.join("\n  ")))
}

fn detail(finding: &law::Finding, expected: &[&str]) -> Option<String> {
    let of = |v: &law::Violation| format!("{} {:?} {:?}", v.message, v.call, v.events);
    match &finding.verdict {
        Verdict::Broken { violations } => {
            let all: Vec<String> = violations.iter().map(of).collect();
            Some(format!("{}: {}", finding.law, all.join("; ")))
        }
        other => expected.contains(&finding.law).then(|| format!("{}: {other:?}", finding.law)),
    }
}

/// Fails with all lines at once.
fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn witnesses_break_no_law_and_exercise_their_own() {
    assert_eq!(witnesses().len(), law::all().len());
    let mut wrong = Vec::new();
    for law in law::all() {
        let (entries, blobs) = dsl::journal(law.witness).unwrap();
        let findings = judged(&entries, &blobs);
        wrong.extend(differs(law.name, &findings, &[]));
        let own = findings.iter().find(|finding| finding.law == law.name).unwrap();
        if !matches!(own.verdict, Verdict::Holds { checked: 1.. }) {
            wrong.push(format!("{own:?}"));
        }
        for (name, (entries, blobs)) in decoys(&entries, &blobs, Some(&dsl::key())) {
            let findings = judged(&entries, &blobs);
            wrong.extend(differs(&format!("{name} on {}", law.name), &findings, &[]));
        }
    }
    none(wrong);
}

#[test]
fn every_mutant_breaks_its_law_on_its_witness_and_no_other() {
    let mut wrong = Vec::new();
    for law in law::all() {
        let (entries, blobs) = dsl::journal(law.witness).unwrap();
        for name in law.mutants {
            let Some((entries, blobs)) = find(name).unwrap().apply(&entries, &blobs) else {
                wrong.push(format!("{name}: no place"));
                continue;
            };
            wrong.extend(differs(name, &judged(&entries, &blobs), &[law.name]));
        }
    }
    none(wrong);
}

#[test]
fn every_mutant_is_caught_wherever_it_finds_a_place_in_a_witness() {
    let mut wrong = Vec::new();
    for law in law::all() {
        let (entries, blobs) = dsl::journal(law.witness).unwrap();
        for mutant in all() {
            let Some((altered, texts)) = mutant.apply(&entries, &blobs) else { continue };
            let what = format!("{} on {}", mutant.name, law.name);
            wrong.extend(differs(&what, &judged(&altered, &texts), mutant.laws));
        }
    }
    none(wrong);
}

/// Whole sessions: every mutant finds a place in at least one of them.
const SESSIONS: [&str; 7] = [SESSION, STOPPED, GUARDED, CIRCLING, QUIET, LINED, BOUND];

/// Two turns with everything in them, as a whole session looks.
const SESSION: &str = "open c r max=40 -z; cat a,b,c; user; view a,b,c -d; model; \
    req 1 a, 2 b, 3 c; val 1; pol 1 allow; val 2; pol 2 allow class=external rule=r; \
    val 3 failed; set 3 rejected; box 1; run 1; run 2 class=external; fin 2 ok chars=90; chk 2; \
    art 2; rcpt 2; set 2 succeeded chars=40 cut; fin 1 failed; chk 1; set 1 failed; app 1,2,3; \
    view a,b -c,d; model; req 4 b, 5 a, 6 a; val 4; pol 4 strong_ask class=destructive; \
    ask 4 strong; yes 4 strong; val 5; pol 5 ask; ask 5; no 5; set 5 denied; set 6 duplicate; \
    run 4 class=destructive; fin 4 ok; chk 4; rcpt 4; set 4 succeeded; app 4,5,6; view a,b,c; \
    model; say done; end; user; view a -b; model; req 7 a; val 7; pol 7 allow class=external; \
    grant 7; run 7 class=external; fail 7; run 7 class=external; fin 7 ok; rcpt 7; \
    set 7 succeeded; app 7; view a; model; end";

/// A turn that goes in a circle, and is told so.
const CIRCLING: &str = "open; cat a; user; caps 9 9; circle 2 3; view a; model; req 1 a; \
    val 1; pol 1 allow; box 1; run 1; fin 1 ok result=w; set 1 succeeded; app 1; \
    view a; model; req 2 a:1; val 2; pol 2 allow; box 2; run 2; fin 2 ok result=w; \
    set 2 succeeded; app 2; warned; view a; model; say done; end";

/// A turn with command lines.
const LINED: &str = "open; cat a; user; view a; model; req 1 a, 2 a; line 1 ls~&&~wc; line 2 ls; \
    val 1; pol 1 ask; part 1 allow; part 1 ask; ask 1; yes 1; box 1; val 2; pol 2 allow; \
    part 2 allow; box 2; run 1; fin 1 ok; set 1 succeeded; run 2; fin 2 ok; set 2 succeeded; \
    app 1,2; view a; model; say done; end";

/// A turn with budgets, verifiers, a rehearsal and personal data.
const BOUND: &str = "open; cat a,b,c; user; view a,b,c; model; req 1 a, 2 b, 3 c; val 1; \
    pol 1 allow rule=r; bound 1 r calls=2 usd=3 until=9000 cost=1; masks 1; box 1; val 2; \
    pol 2 strong_ask class=destructive; ask 2 strong; would 2 w; yes 2 strong; box 2; val 3; \
    pol 3 allow; masks 3; box 3 enforced=full by=all; run 1; verifies 1 guard; \
    hook 1 verify pass; fin 1 ok; cost 1 1; set 1 succeeded text=[personal:email]; \
    run 2 class=destructive; again 2 w; fin 2 ok; set 2 succeeded; run 3; fin 3 failed; \
    set 3 failed; app 1,2,3; view a; model; say done; end";

/// A turn in which nothing that a tool says may be logged.
const QUIET: &str = "open; cat a,b; user; view a,b; model; req 1 a, 2 b; val 1; pol 1 allow; box 1; \
    val 2; pol 2 allow; box 2; run 1; fin 1 failed unlogged; set 1 failed gone; run 2; fin 2 ok; \
    set 2 succeeded; app 1,2; view a,b; model a,b unlogged; say done; end";

/// Three turns that are planned and counted: one with calls side by side, a search, steering,
/// another model and another attempt; one that is cancelled; one that the loop guard stops.
const STOPPED: &str = "open; cat a,b,tool_search; turn parallel; view a,b,tool_search; model; \
    req 1 a, 2 b, 3 a; made 1,2,3; val 1; pol 1 allow; box 1; val 2; pol 2 allow; box 2; val 3; \
    pol 3 allow; box 3; plan 1,2,3 parallel; run 1 reads=workspace:a.txt; \
    run 2 reads=workspace:a.txt writes=workspace:b/**; fin 2 ok; chk 2; set 2 succeeded; \
    fin 1 ok; chk 1; set 1 succeeded; patch 1; run 3 writes=workspace:a.txt; fin 3 failed; chk 3; \
    set 3 failed; steer hurry; app 1,2,3 loose; say hurry; switch scripted other; \
    view a,b,tool_search; model by=other; req 4 a, 5 tool_search, 6 b; made 4,5,6; val 4; \
    pol 4 allow; box 4; val 5; pol 5 allow; box 5; val 6; pol 6 allow; box 6; plan 4,5,6; run 4; \
    fin 4 ok; set 4 succeeded; run 5 adapter=builtin:tool_search; fin 5 ok; set 5 succeeded; \
    run 6; fin 6 ok; set 6 succeeded; app 4,5,6 loose; view a,b; model by=other; req 7 a, 8 b; \
    made 7,8; val 7; pol 7 allow; box 7; val 8; pol 8 deny; set 8 denied; plan 7; run 7 key=k; \
    fail 7 retry=1500; at 2000; run 7 key=k; fin 7 ok; set 7 succeeded; patch 7; app 7,8 loose; \
    view a; model by=other; end events; turn parallel; view a,b; model; \
    req 11 a, 12 b, 13 a, 14 b, 15 a; made 11,12,13,14,15; val 11; pol 11 allow; box 11; val 12; \
    pol 12 allow; box 12; val 13; pol 13 allow; box 13; val 14; pol 14 allow; box 14; val 15; \
    pol 15 allow; box 15; plan 11,12,13,14,15 parallel; run 11; run 12; run 13; run 14; \
    fin 11 failed; set 11 failed; cancel; ack; fin 12 ok; set 12 succeeded; torn 13; torn 14; \
    set 13 interrupted; set 14 interrupted; drop 14; set 15 cancelled; app 11,12,13,14,15 loose; \
    end cancelled events; user; view a; model; req 21 a, 22 b; made 21,22; val 21; pol 21 allow; \
    box 21; val 22; pol 22 allow; box 22; plan 21,22; run 21; fin 21 ok; set 21 succeeded; \
    run 22; fin 22 ok; set 22 succeeded; app 21,22 loose; view a; model; req 23 a; made 23; \
    val 23; pol 23 allow; loop same_call; set 23 blocked; app 23 loose; end loop_stopped events";
/// The same for guards: hooks, repeats, questions, grants, sources, activation, surfaces; and a
/// session in which nobody approves.
const GUARDED: &str = "open scopes=mail,files; cat a,b,c,d,e; norm m source=mcp; \
    norm s source=skill; found p source=mcp; norm p source=mcp; cat p; enable p; \
    found q source=skill; norm q source=skill; cat q; enable q; enable c scope=live \
    evidence=w; enable d; consent w; issue g1 b class=external until=900000; user; guard \
    turn exempt=c; view a,b,c; model; req 1 a, 2 b, 3 a:1, 4 a, 5 c, 6 c:5, 7 a:1; val 1; \
    pol 1 allow; val 2; pol 2 allow class=write; val 3; pol 3 allow; val 4; pol 4 allow; val \
    5; pol 5 allow; val 6; pol 6 allow; val 7; pol 7 allow; dup 7 of=3 scope=turn; set 7 \
    duplicate of=3; box 1 mode=read_only enforced=workspace; run 1; emit 1 stream start \
    corr=x limit=40; fin 1 ok; emit 1 stream end corr=x limit=40; set 1 succeeded; box 2 \
    mode=read_only enforced=workspace; run 2 class=write; fin 2 ok; set 2 succeeded; box 3 \
    mode=read_only enforced=workspace; run 3; fin 3 ok; set 3 succeeded; box 4 \
    mode=read_only enforced=workspace; run 4; fin 4 ok; set 4 succeeded; box 5 \
    mode=read_only enforced=workspace; run 5; fin 5 ok; set 5 succeeded; box 6 \
    mode=read_only enforced=workspace; run 6; fin 6 ok; set 6 succeeded; app 1,2,3,4,5,6,7; \
    end; user; view a,b; model; req 11 a, 12 b, 13 a, 14 b, 15 a; raw \
    <think>b</think>|<call>a</call>|<call>b</call>|<call>a</call>|<call>b</call>|<call>a</call>; \
    origin 11 tagged; hook 11 before rewrite; rename 11 b args=w; val 11; pol 11 ask \
    class=external; ask 11; yes 11; hook 12 before cancel; set 12 blocked; hook 13 before \
    failed; set 13 blocked; hook 14 before pass; hook 14 before failed observer; val 14; pol \
    14 allow; val 15 failed; set 15 rejected; box 11 mode=read_only enforced=workspace; run \
    11 class=external; fin 11 ok; set 11 succeeded; box 14 mode=read_only \
    enforced=workspace; run 14; fin 14 ok; chk 14; hook 14 after failed; set 14 succeeded; \
    app 11,12,13,14,15; end; user; view a,b; model; req 21 a, 22 a:21, 23 b; val 21; pol 21 \
    ask; ask 21; no 21; set 21 denied; val 22; pol 22 ask; dup 22 of=21; set 22 duplicate \
    of=21; val 23; pol 23 ask; ask 23; yes 23; box 23 mode=read_only enforced=workspace; run \
    23; fin 23 ok; set 23 succeeded; app 21,22,23; view a,b; model; req 24 b:23, 25 a:21; \
    val 24; pol 24 ask; ask 24; yes 24; box 24 mode=read_only enforced=workspace; run 24; \
    fin 24 ok; set 24 succeeded; val 25; pol 25 ask; repeat 25 of=21; set 25 blocked; \
    app 24,25; end loop_stopped; user; view a,b,c; model; req 31 a, 32 b, 33 a, 34 b, 35 c, \
    36 b; val 31; pol \
    31 ask; ask 31; offer 31 once,session; yes 31; kind 31 session; issue g2 a from=31; val \
    32; cleared 32; pol 32 ask class=external; grant 32; val 33; pol 33 strong_ask \
    class=destructive; ask 33 strong; yes 33 strong; val 34; pol 34 ask; intent 34 beyond; \
    ask 34; yes 34; val 35; pol 35 allow rule=r; intent 35 beyond; val 36; pol 36 deny; set \
    36 denied; box 31 mode=read_only enforced=workspace; run 31; mark 31; fin 31 ok; set 31 \
    succeeded; box 32 mode=read_only enforced=workspace; run 32 class=external; fail 32; run \
    32 class=external; fin 32 ok; set 32 succeeded; revoke g1; box 33 mode=read_only \
    enforced=workspace; run 33 class=destructive; fin 33 ok; set 33 succeeded; box 34 \
    mode=read_only enforced=workspace; run 34; mark 34; fin 34 ok; set 34 succeeded; box 35 \
    mode=read_only enforced=workspace; run 35; fin 35 ok; set 35 succeeded; app \
    31,32,33,34,35,36; view a; model; req 37 a; val 37; pol 37 ask; grant 37 id=g2; box 37 \
    mode=read_only enforced=workspace; run 37; fin 37 ok; set 37 succeeded; app 37; end; \
    user; view a,d,m,s mcp=m skill=s; model; req 41 a, 42 d, 43 m, 44 s; val 41; pol 41 \
    allow; val 42; pol 42 allow; val 43; pol 43 allow; val 44; pol 44 allow; box 41 \
    mode=read_only enforced=workspace; run 41; delegate 41 k tools=a scopes=mail; back 41 k; \
    activate 41 b; activate 41 e; fin 41 ok; set 41 succeeded; box 42 mode=read_only \
    enforced=workspace; run 42; fin 42 failed; set 42 failed; box 43 mode=read_only \
    server=w enforced=workspace; run 43; fin 43 ok; set 43 succeeded; box 44 mode=read_only \
    enforced=workspace; run 44; fin 44 ok; set 44 succeeded; app 41,42,43,44; view a,b,d; \
    model; req 45 b; val 45; pol 45 allow; box 45 mode=read_only enforced=workspace; run 45; \
    fin 45 ok; set 45 succeeded; app 45; end; user; view a,b; model; req 51 a, 52 b, 53 a, \
    54 b; val 51; pol 51 ask; ask 51; late 51; set 51 denied; val 52; pol 52 ask; ask 52; \
    gone 52; set 52 denied; val 53; pol 53 ask; ask 53; no 53; set 53 denied; val 54; pol 54 \
    ask; ask 54; edit 54; set 54 replaced; app 51,52,53,54; end; block d \
    by=ann; @n open approver=none; @n user; @n view a; @n model; @n req 1 a; @n val 1; @n \
    pol 1 ask; @n ask 1; @n gone 1; @n set 1 denied; @n app 1; @n end";

#[test]
fn every_mutant_finds_a_place_in_a_whole_session_and_is_caught_there() {
    let mut placed = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for (place, session) in SESSIONS.into_iter().enumerate() {
        let (entries, blobs) = dsl::journal(session).unwrap();
        if let Some(dirty) = differs(&format!("session {place}"), &judged(&entries, &blobs), &[]) {
            wrong.push(dirty);
            continue;
        }
        for mutant in all() {
            let Some((entries, blobs)) = mutant.apply(&entries, &blobs) else { continue };
            placed.insert(mutant.name);
            let what = format!("{} in session {place}", mutant.name);
            wrong.extend(differs(&what, &judged(&entries, &blobs), mutant.laws));
        }
    }
    let lost = all().iter().filter(|mutant| !placed.contains(mutant.name));
    wrong.extend(lost.map(|mutant| format!("{}: no place", mutant.name)));
    none(wrong);
}

/// Beside another session, the mistake is found in its own.
#[test]
fn mutants_are_caught_in_a_journal_of_two_sessions() {
    let (mut entries, mut blobs) = dsl::journal(SESSION).unwrap();
    let (other, texts) =
        dsl::journal("@s2 open; @s2 user; @s2 view q; @s2 model; @s2 end").unwrap();
    texts.iter().for_each(|(name, text)| blobs.put_known(*name, text.clone()));
    for (place, entry) in other.into_iter().enumerate() {
        entries.insert(place * 3, entry);
    }
    for mutant in all() {
        let Some((entries, blobs)) = mutant.apply(&entries, &blobs) else { continue };
        assert_eq!(broken(&judged(&entries, &blobs)), mutant.laws, "{}", mutant.name);
    }
}

#[test]
fn grading_the_witnesses_catches_every_mutant_and_flags_no_decoy() {
    for graded in grade(&witnesses(), Some(witness_key())) {
        let expected = find(graded.name).unwrap().laws;
        let row = (graded.outcome, graded.caught_by.as_slice(), graded.decoy_flagged);
        assert_eq!(row, (Outcome::Caught, expected, false), "{}", graded.name);
    }
}

#[test]
fn without_places_clean_journals_or_a_key_nothing_is_graded() {
    let outcome = |graded: &[Graded], name: &str| {
        graded.iter().find(|graded| graded.name == name).unwrap().outcome.name()
    };
    assert!(grade(&[], None).iter().all(|graded| graded.outcome == Outcome::NotExercised));
    let graded = grade(&witnesses(), None);
    assert_eq!(outcome(&graded, "forge-receipt"), "not_exercised");
    assert_eq!(outcome(&graded, "late-receipt"), "caught");
    let mut dirty = witnesses();
    for (entries, _) in &mut dirty {
        let settles =
            |entry: &Entry| matches!(entry.event, crate::journal::Event::ToolCallSettled(_));
        let at = entries.iter().position(settles).unwrap();
        let again = entries[at].clone();
        entries.push(again);
    }
    assert!(grade(&dirty, None).iter().all(|graded| graded.outcome == Outcome::NotExercised));
}

#[test]
fn a_mistake_that_no_law_or_another_law_notices_is_told_apart() {
    fn harmless(record: &Record<'_>) -> Option<Altered> {
        Some((record.entries.to_vec(), record.blobs.clone()))
    }
    let settled_twice = find("duplicate-settle").unwrap();
    let row = |name, laws, alter| Mutant { name, laws, needs_key: false, alter };
    let mutants = [
        row("harmless", &["no-secrets"], harmless),
        row("elsewhere", &["no-secrets"], settled_twice.alter),
    ];
    let graded = grade_these(&mutants, &witnesses(), Some(witness_key()));
    let outcomes: Vec<&str> = graded.iter().map(|graded| graded.outcome.name()).collect();
    assert_eq!(outcomes, ["missed", "caught_by_other"]);
    assert_eq!(graded[1].caught_by, ["one-result-per-call"]);
}
