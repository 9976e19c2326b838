#![allow(clippy::unwrap_used)]

use super::grade::{broken, decoys};
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
