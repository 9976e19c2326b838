//! Who notices which mutant: baseline first, then one mutant at a time, and harmless alterations
//! that nobody may flag.

use super::seal::seal;
use super::{Altered, Mutant, all};
use crate::base::digest::Digest;
use crate::base::secret::Secret;
use crate::journal::event::call::{ReceiptIssued, SurfaceEmitted, ToolPolicyChecked};
use crate::journal::event::turn::TraceUpdated;
use crate::journal::receipt::{Scope, compute};
use crate::journal::{Blobs, Entry, Event};
use crate::law::index::Fact;
use crate::law::{Finding, Judge, Verdict, dsl};

/// A mutant is tried on the first journals that offer it a place, up to this many.
const PLACES: usize = 3;

/// What became of one mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graded {
    /// The mutant.
    pub name: &'static str,
    /// Who noticed it, in short.
    pub outcome: Outcome,
    /// Every law that broke, in the order of the table.
    pub caught_by: Vec<&'static str>,
    /// Whether a law flagged a harmless alteration of the same journals.
    pub decoy_flagged: bool,
}

/// Who noticed a mutant. Where it was tried in several places, the worst of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// No journal with a clean baseline offered a place, or the key for it is missing.
    NotExercised,
    /// A law that names it broke.
    Caught,
    /// Only other laws broke.
    CaughtByOther,
    /// No law broke.
    Missed,
}

impl Outcome {
    /// The name as written in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotExercised => "not_exercised",
            Self::Caught => "caught",
            Self::CaughtByOther => "caught_by_other",
            Self::Missed => "missed",
        }
    }
}

/// The key of the receipts in [`witnesses`].
pub fn witness_key() -> Secret {
    dsl::key()
}

/// The journals of all laws' witness lines, so that mutants can be graded without any run.
pub fn witnesses() -> Vec<(Vec<Entry>, Blobs)> {
    crate::law::all().iter().filter_map(|law| dsl::journal(law.witness).ok()).collect()
}

/// Grades every mutant on these journals. A journal in which a law is broken before any
/// alteration grades nothing.
pub fn grade(journals: &[(Vec<Entry>, Blobs)], key: Option<Secret>) -> Vec<Graded> {
    grade_these(all(), journals, key)
}

pub(super) fn grade_these(
    mutants: &[Mutant],
    journals: &[(Vec<Entry>, Blobs)],
    key: Option<Secret>,
) -> Vec<Graded> {
    let mut bench = Bench {
        judge: Judge::new(key.clone()),
        key,
        journals,
        clean: vec![None; journals.len()],
        flagged: vec![None; journals.len()],
    };
    mutants.iter().map(|mutant| bench.grade(mutant)).collect()
}

struct Bench<'a> {
    judge: Judge,
    key: Option<Secret>,
    journals: &'a [(Vec<Entry>, Blobs)],
    clean: Vec<Option<bool>>,
    flagged: Vec<Option<bool>>,
}

impl Bench<'_> {
    fn grade(&mut self, mutant: &Mutant) -> Graded {
        let name = mutant.name;
        let mut graded = Graded {
            name,
            outcome: Outcome::NotExercised,
            caught_by: Vec::new(),
            decoy_flagged: false,
        };
        if mutant.needs_key && self.key.is_none() {
            return graded;
        }
        let (journals, mut tried) = (self.journals, 0);
        for (place, (entries, blobs)) in journals.iter().enumerate() {
            if tried == PLACES {
                break;
            }
            let Some(altered) = mutant.apply(entries, blobs).filter(|_| self.clean(place)) else {
                continue;
            };
            tried += 1;
            let broken = broken(&self.judge.journal(&altered.0, &altered.1));
            let own = broken.iter().any(|law| mutant.laws.contains(law));
            let outcome = match (own, broken.is_empty()) {
                (true, _) => Outcome::Caught,
                (false, false) => Outcome::CaughtByOther,
                (false, true) => Outcome::Missed,
            };
            graded.outcome = graded.outcome.max(outcome);
            graded.caught_by.extend(broken);
            graded.decoy_flagged |= self.flagged(place);
        }
        let laws = crate::law::all().iter().map(|law| law.name);
        graded.caught_by = laws.filter(|law| graded.caught_by.contains(law)).collect();
        graded
    }

    /// Whether no law is broken before anything is altered.
    fn clean(&mut self, place: usize) -> bool {
        let Some((entries, blobs)) = self.journals.get(place) else { return false };
        if let Some(Some(known)) = self.clean.get(place) {
            return *known;
        }
        let clean = broken(&self.judge.journal(entries, blobs)).is_empty();
        if let Some(slot) = self.clean.get_mut(place) {
            *slot = Some(clean);
        }
        clean
    }

    /// Whether a law flags a harmless alteration.
    fn flagged(&mut self, place: usize) -> bool {
        let Some((entries, blobs)) = self.journals.get(place) else { return false };
        if let Some(Some(known)) = self.flagged.get(place) {
            return *known;
        }
        let altered = decoys(entries, blobs, self.key.as_ref());
        let mut judged = altered.iter().map(|(_, (e, b))| broken(&self.judge.journal(e, b)));
        let flagged = judged.any(|broken| !broken.is_empty());
        if let Some(slot) = self.flagged.get_mut(place) {
            *slot = Some(flagged);
        }
        flagged
    }
}

/// The names of the broken laws.
pub(super) fn broken(findings: &[Finding]) -> Vec<&'static str> {
    let broken = findings.iter().filter(|f| matches!(f.verdict, Verdict::Broken { .. }));
    broken.map(|finding| finding.law).collect()
}

/// Harmless alterations by name: a later clock (deadlines move with it; answers keep their time,
/// which must stay before the expiry), another session name (receipts are issued anew for it where
/// the key is known, else kept, since nobody can verify them), and events that say nothing about a
/// call's end.
pub(super) fn decoys(
    entries: &[Entry],
    blobs: &Blobs,
    key: Option<&Secret>,
) -> Vec<(&'static str, Altered)> {
    let altered = |change: &dyn Fn(&mut Entry)| {
        let mut entries = entries.to_vec();
        entries.iter_mut().for_each(change);
        (entries, blobs.clone())
    };
    let later = altered(&|entry| {
        if !matches!(entry.event, Event::ApprovalGranted(_)) {
            entry.at = entry.at.saturating_add(1000);
        }
        if let Some(fact) = ToolPolicyChecked::of_mut(&mut entry.event) {
            for deadline in fact.budgets.iter_mut().filter_map(|one| one.deadline.as_mut()) {
                *deadline = deadline.saturating_add(1000);
            }
        }
    });
    let renamed = altered(&|entry| {
        entry.session = format!("{}-renamed", entry.session).into();
        resign(entry, key);
    });
    let surface = |text: &str| {
        let digest = Digest::of("surface", text.as_bytes());
        SurfaceEmitted::new("progress".into(), digest, text.len() as u64)
    };
    let trace = TraceUpdated { summary: "a step was taken".into() };
    vec![
        ("later-clock", later),
        ("renamed-session", renamed),
        ("surface-emitted", (interspersed(entries, surface("step").into()), blobs.clone())),
        ("trace-updated", (interspersed(entries, trace.into()), blobs.clone())),
    ]
}

fn resign(entry: &mut Entry, key: Option<&Secret>) {
    let (Some(key), Some(call)) = (key, entry.call.clone()) else { return };
    let (session, turn) = (entry.session.clone(), entry.turn.clone());
    if let Some(fact) = ReceiptIssued::of_mut(&mut entry.event) {
        let turn = turn.as_deref().unwrap_or_default();
        fact.receipt = compute(key, Scope { session: &session, turn, call: &call }, fact);
    }
}

/// The event after every entry, under the entry's own call, numbered past all others where the
/// session does not count its entries.
fn interspersed(entries: &[Entry], event: Event) -> Vec<Entry> {
    let past = entries.iter().map(|entry| entry.seq).max().unwrap_or(0);
    let added = entries.iter().zip(1..).map(|(entry, n)| Entry {
        seq: past.saturating_add(n),
        cause: Some(entry.seq),
        event: event.clone(),
        ..entry.clone()
    });
    let both = entries.iter().cloned().zip(added).flat_map(|(entry, added)| [entry, added]);
    let mut both: Vec<Entry> = both.collect();
    seal(&mut both);
    both
}
