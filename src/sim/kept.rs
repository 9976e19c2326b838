//! Sessions worth keeping: the shortest one found in which exactly one law is broken, as a journal
//! that says so by itself. It stays true whatever becomes of the simulator and of its choices.

use super::driver::{Mode, run};
use super::explore::{session_seed, shrink};
use super::mutant::steps::StepMutant;
use super::scene::Scene;
use super::swarm::Swarm;
use crate::base::caught::caught_now;
use crate::base::choice::{Choices, Random, Replay};
use crate::journal::{Blobs, Entry, Journal};
use crate::law::{Judge, Verdict, Violation};
use crate::runtime::turn::steps::Steps;

/// How many sessions that show it are made short; the shortest of them is kept.
const TRIED: usize = 3;
/// How often each of them is played again for that, at most.
const REPLAYS: u32 = 600;

/// A journal in which one law is broken.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The law.
    pub law: &'static str,
    /// What the law saw, in one sentence.
    pub cause: String,
    /// The journal: one session's.
    pub entries: Vec<Entry>,
}

/// What a reader of the file alone says of a journal: without the texts beside it, and without the
/// key. `None` unless exactly one law is broken.
pub fn only_breach(entries: &[Entry]) -> Option<Violation> {
    let findings = Judge::new(None).journal(entries, &Blobs::default());
    let mut broken = findings.into_iter().filter_map(|finding| match finding.verdict {
        Verdict::Broken { violations } => Some(violations),
        _ => None,
    });
    let first = broken.next()?.into_iter().next()?;
    broken.next().is_none().then_some(first)
}

/// A journal as it is kept: of its sessions the first in which exactly one of these laws is broken;
/// any law where none is named.
pub fn of(journal: &Journal, laws: &[&str]) -> Option<Kept> {
    let mut sessions: Vec<Vec<Entry>> = Vec::new();
    for entry in journal.entries() {
        match sessions.iter_mut().find(|own| own.iter().any(|one| one.session == entry.session)) {
            Some(own) => own.push(entry.clone()),
            None => sessions.push(vec![entry.clone()]),
        }
    }
    sessions.into_iter().find_map(|entries| {
        let violation = only_breach(&entries)?;
        let named = laws.is_empty() || laws.contains(&violation.law);
        named.then_some(Kept { law: violation.law, cause: violation.message, entries })
    })
}

/// Plays with a mistake, at most this many sessions of a seed, until one breaks exactly one of the
/// laws that must notice it; makes that one short. `None` where none does: what only the reference
/// model sees is in no journal.
pub fn mutant(scene: &Scene, mutant: &StepMutant, (seed, sessions): (u64, u64)) -> Option<Kept> {
    let (apart, steps) = (scene.apart(), (mutant.steps)());
    let found = (0..sessions).filter_map(|session| {
        let mut choices = Random::new(session_seed(seed, session));
        let first = played(&apart, &steps, &mut choices, mutant.by)?;
        Some(shortest(&apart, &steps, choices.made().to_vec(), first))
    });
    found.take(TRIED).min_by_key(|kept| kept.entries.len())
}

/// One session of choices, if it is one to be kept.
fn played(scene: &Scene, steps: &Steps, choices: &mut dyn Choices, laws: &[&str]) -> Option<Kept> {
    let swarm = Swarm::draw(choices);
    // A mistake may end in a panic; nobody keeps a journal then.
    let record = caught_now(|| run(scene, steps, (swarm, Mode::Chance), choices)).ok()?;
    of(&record.whole(), laws)
}

/// With as few tools and as few choices as still show the same.
fn shortest(scene: &Scene, steps: &Steps, list: Vec<usize>, first: Kept) -> Kept {
    let (mut best, mut left) = (first, REPLAYS);
    let law = [best.law];
    let mut better = |scene: &Scene, list: &[usize]| {
        // Nothing is shorter than what was found once no more is tried.
        left = left.saturating_sub(1);
        let tried = (left > 0).then(|| Replay::new(list.to_vec()));
        let kept = tried.and_then(|mut choices| played(scene, steps, &mut choices, &law));
        let kept = kept.filter(|kept| kept.entries.len() <= best.entries.len());
        let found = kept.is_some();
        if let Some(kept) = kept {
            best = kept;
        }
        found
    };
    let mut small = scene.clone();
    for tool in scene.registry.iter() {
        if let Some(smaller) = small.without(tool.id()).filter(|one| better(one, &list)) {
            small = smaller;
        }
    }
    shrink(list, &mut |list| better(&small, list));
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Event;
    use crate::law::{dsl, find};
    use crate::sim::mutant;

    #[test]
    fn one_session_with_one_broken_law_is_kept() {
        let name = "child-within-parent";
        let witness = find(name).map(|law| law.witness).unwrap_or_default();
        let (clean, blobs) = dsl::journal(witness).unwrap_or_else(|error| panic!("{error}"));
        let broken = mutant::find("drop-delegate-end").and_then(|one| one.apply(&clean, &blobs));
        let (broken, _) = broken.unwrap_or_else(|| panic!("it has a place for it"));
        let elsewhere = |entry: &Entry| Entry { session: "other".into(), ..entry.clone() };
        let whole: Vec<Entry> = clean.iter().map(elsewhere).chain(broken.clone()).collect();
        let check = |entries: &[Entry], laws: &[&str], expected: Option<&[Entry]>| {
            let journal = Journal::from_parts(entries.to_vec(), Blobs::default());
            let kept = of(&journal, laws);
            assert_eq!(kept.as_ref().map(|kept| &*kept.entries), expected, "{laws:?}");
            assert!(kept.is_none_or(|kept| kept.law == name && !kept.cause.is_empty()));
        };
        check(&clean, &[], None);
        check(&whole, &[], Some(&broken));
        check(&whole, &[name, "model-order"], Some(&broken));
        check(&whole, &["model-order"], None);
        // A second law that is broken would leave open what the journal is kept for.
        let settled = |entry: &&Entry| matches!(entry.event, Event::ToolCallSettled(_));
        let again = broken.iter().filter(settled).cloned();
        let twice: Vec<Entry> = broken.iter().cloned().chain(again).collect();
        check(&twice, &[name], None);
    }
}
