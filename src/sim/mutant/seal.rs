//! Keeps the books of an altered record, so that an alteration is nothing but itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::journal::event::call::ArtifactPersisted;
use crate::journal::event::turn::TurnFinished;
use crate::journal::{Entry, Event};
use crate::law::index::Fact;

/// The law about the books themselves.
pub(super) const LAW: &str = "journal-whole";

/// Numbers the entries of each session whose ends count them anew, in their order: causes and
/// references follow, a cause that is gone or not earlier any more is left out, and the ends count
/// what there is.
pub(super) fn seal(entries: &mut [Entry]) {
    let counts =
        |entry: &&Entry| TurnFinished::of(&entry.event).is_some_and(|end| end.events.is_some());
    let counted: BTreeSet<Arc<str>> =
        entries.iter().filter(counts).map(|entry| Arc::clone(&entry.session)).collect();
    for session in counted {
        let mut own: Vec<&mut Entry> =
            entries.iter_mut().filter(|entry| entry.session == session).collect();
        let mut numbers = BTreeMap::new();
        for (entry, number) in own.iter().zip(1_u64..) {
            numbers.entry(entry.seq).or_insert(number);
        }
        for (entry, number) in own.iter_mut().zip(1_u64..) {
            let renumbered = |old: u64| numbers.get(&old).copied();
            entry.seq = number;
            entry.cause = entry.cause.and_then(renumbered).filter(|cause| *cause < number);
            refer(&mut entry.event, number, renumbered);
        }
    }
}

fn refer(event: &mut Event, number: u64, renumbered: impl Fn(u64) -> Option<u64>) {
    if let Some(fact) = ArtifactPersisted::of_mut(event) {
        fact.event_id = fact.event_id.map(|old| renumbered(old).unwrap_or(old));
    }
    if let Some(fact) = TurnFinished::of_mut(event) {
        fact.events = fact.events.map(|_| number);
    }
    if let Event::SurfaceEmitted(fact) = event {
        fact.of = fact.of.map(|old| renumbered(old).unwrap_or(old));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::dsl;

    #[test]
    fn books_are_set_right_where_ends_count() {
        let line = "open; user; view a; model; req 1 a; run 1; fin 1 ok; art 1; set 1 succeeded; \
                    app 1; end events";
        let (whole, _) = dsl::journal(line).unwrap();
        let mut lost = whole.clone();
        lost.remove(3);
        seal(&mut lost);
        let numbers: Vec<u64> = lost.iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (1..whole.len() as u64).collect::<Vec<_>>());
        assert!(lost.iter().all(|entry| entry.cause.is_none_or(|cause| cause < entry.seq)));
        let find = |entries: &[Entry], name: &str| {
            entries.iter().find(|entry| entry.event.name() == name).map(|entry| entry.seq)
        };
        let artifact = lost.iter().find_map(|entry| ArtifactPersisted::of(&entry.event));
        assert_eq!(artifact.and_then(|fact| fact.event_id), find(&lost, "ToolCallFinished"));
        let end = lost.iter().find_map(|entry| TurnFinished::of(&entry.event));
        assert_eq!(end.and_then(|end| end.events), Some(lost.len() as u64));
    }

    #[test]
    fn whoever_counts_nothing_keeps_the_numbers() {
        let (mut entries, _) = dsl::journal("open; user; end").unwrap();
        entries.remove(0);
        let before = entries.clone();
        seal(&mut entries);
        assert_eq!(entries, before);
    }
}
