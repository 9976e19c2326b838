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

#[test]
fn witnesses_break_no_law_and_exercise_their_own() {
    assert_eq!(witnesses().len(), law::all().len());
    for law in law::all() {
        let (entries, blobs) = dsl::journal(law.witness).unwrap();
        let findings = judged(&entries, &blobs);
        assert_eq!(broken(&findings), [""; 0], "{}: {findings:#?}", law.name);
        let own = findings.iter().find(|finding| finding.law == law.name).unwrap();
        assert!(matches!(own.verdict, Verdict::Holds { checked: 1.. }), "{own:?}");
        for (name, (entries, blobs)) in decoys(&entries, &blobs, Some(&dsl::key())) {
            let findings = judged(&entries, &blobs);
            assert_eq!(broken(&findings), [""; 0], "{name} on {}", law.name);
        }
    }
}

#[test]
fn every_mutant_breaks_its_law_on_its_witness_and_no_other() {
    for law in law::all() {
        let (entries, blobs) = dsl::journal(law.witness).unwrap();
        for name in law.mutants {
            let altered = find(name).unwrap().apply(&entries, &blobs);
            let (entries, blobs) = altered.unwrap_or_else(|| panic!("{name}: no place"));
            let findings = judged(&entries, &blobs);
            assert_eq!(broken(&findings), [law.name], "{name}: {findings:#?}");
        }
    }
}

#[test]
fn every_mutant_is_caught_wherever_it_finds_a_place_in_a_witness() {
    for (entries, blobs) in witnesses() {
        for mutant in all() {
            let Some((altered, texts)) = mutant.apply(&entries, &blobs) else { continue };
            let broken = broken(&judged(&altered, &texts));
            assert_eq!(broken, mutant.laws, "{} in {entries:#?}", mutant.name);
        }
    }
}

/// Whole sessions: every mutant finds a place in at least one of them.
const SESSIONS: [&str; 3] = [SESSION, STOPPED, CIRCLING];

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
const CIRCLING: &str = "open; cat a; user; caps 9 9; circle 2; view a; model; req 1 a; \
    val 1 args=w; pol 1 allow; box 1; run 1 args=w; fin 1 ok result=w; set 1 succeeded; app 1; \
    view a; model; req 2 a; val 2 args=w; pol 2 allow; box 2; run 2 args=w; fin 2 ok result=w; \
    set 2 succeeded; app 2; warned; view a; model; say done; end";

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

#[test]
fn every_mutant_finds_a_place_in_a_whole_session_and_is_caught_there() {
    let mut placed = std::collections::BTreeSet::new();
    for session in SESSIONS {
        let (entries, blobs) = dsl::journal(session).unwrap();
        let findings = judged(&entries, &blobs);
        assert_eq!(broken(&findings), [""; 0], "{findings:#?}");
        for mutant in all() {
            let Some((entries, blobs)) = mutant.apply(&entries, &blobs) else { continue };
            placed.insert(mutant.name);
            let findings = judged(&entries, &blobs);
            assert_eq!(broken(&findings), mutant.laws, "{}: {findings:#?}", mutant.name);
        }
    }
    for mutant in all() {
        assert!(placed.contains(mutant.name), "{}: no place", mutant.name);
    }
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
