//! Sessions worth keeping: the shortest one found in which exactly one law is broken, as a journal
//! that says so by itself. It stays true whatever becomes of the simulator and of its choices.

use super::driver::Record;
use super::explore::{Bench, replay, session_seed, shrink};
use super::mutant::steps::StepMutant;
use super::scene::Scene;
use crate::base::choice::{Random, to_text};
use crate::journal::{Blobs, Entry, Journal};
use crate::law::{Judge, Verdict, Violation, explain};

/// How many sessions that show it are made short; the shortest of them is kept.
const TRIED: usize = 3;

/// A journal in which one law is broken.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The law.
    pub law: &'static str,
    /// What the law says and that it is broken, in one line.
    pub cause: String,
    /// The journal: one session's.
    pub entries: Vec<Entry>,
    /// The choices that led to it, while the simulator is as it is.
    pub replay: String,
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

/// The first line of what is said about a breach.
pub fn cause(violation: &Violation, entries: &[Entry]) -> String {
    explain::explain(violation, entries).lines().next().unwrap_or_default().to_owned()
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
        let (law, cause, replay) = (violation.law, cause(&violation, &entries), String::new());
        named.then_some(Kept { law, cause, entries, replay })
    })
}

/// Plays with a mistake, at most this many sessions of a seed, until one breaks exactly one of the
/// laws that must notice it; makes that one short. `None` where none does: what only the reference
/// model sees is in no journal.
pub fn mutant(scene: &Scene, mutant: &StepMutant, (seed, sessions): (u64, u64)) -> Option<Kept> {
    let (apart, steps) = (scene.apart(), (mutant.steps)());
    let mut bench = Bench::new(&apart, &steps);
    let seen = |record: Option<Record>, laws: &[&str]| of(&record?.whole(), laws);
    let mut best: Option<Kept> = None;
    let mut tried = 0;
    for session in 0..sessions {
        let mut choices = Random::new(session_seed(seed, session));
        let judged = bench.chance(&mut choices);
        if judged.found.is_empty() {
            continue;
        }
        let Some(first) = seen(judged.record, mutant.by) else { continue };
        let list = shrink(choices.made().to_vec(), &mut |list| {
            seen(replay(&mut bench, list.to_vec()).record, &[first.law]).is_some()
        });
        let short = seen(replay(&mut bench, list.clone()).record, &[first.law]);
        let short = short.map(|kept| Kept { replay: to_text(&list), ..kept });
        let shorter =
            |kept: &Kept| best.as_ref().is_none_or(|b| kept.entries.len() < b.entries.len());
        if let Some(kept) = short.filter(shorter) {
            best = Some(kept);
        }
        tried += 1;
        if tried == TRIED {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::mutant::steps;

    #[test]
    fn what_is_kept_breaks_one_law_and_is_short() {
        let scene = Scene::new().unwrap_or_else(|error| panic!("{error}"));
        let check = |name: &str, law: Option<&str>| {
            let one = steps::all().iter().find(|one| one.name == name);
            let one = one.unwrap_or_else(|| panic!("{name}"));
            let kept = mutant(&scene, one, (1, 400));
            assert_eq!(kept.as_ref().map(|kept| kept.law), law, "{name}");
            if let Some(kept) = kept {
                let breach = only_breach(&kept.entries).map(|breach| breach.law);
                assert_eq!((breach, kept.entries.len() < 120), (law, true), "{name}");
                assert!(kept.cause.starts_with(&format!("`{}` is broken", kept.law)));
            }
        };
        check("results-in-reverse", Some("model-order"));
        // No journal can show what policy should have said.
        check("allow-beats-deny", None);
    }
}
