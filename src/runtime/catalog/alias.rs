//! Names as providers take them: 1 to 64 of `[A-Za-z0-9_-]` (OpenAI's function names, the
//! narrowest of the supported dialects), one to one with tool ids and stable under reordering.

use std::collections::BTreeMap;

use crate::base::digest::Digest;
use crate::tool::id::ToolId;

const MAX: usize = 64;

/// The advertised name of every id. A name that is too long, that two ids would share, or that
/// looks like such a one, ends in eight digits of the id's digest.
pub fn aliases<'a>(ids: impl Iterator<Item = &'a ToolId>) -> BTreeMap<ToolId, String> {
    let plain: Vec<(ToolId, String)> =
        ids.map(|id| (id.clone(), id.as_str().replace('.', "_"))).collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in &plain {
        *count.entry(name.clone()).or_default() += 1;
    }
    plain
        .into_iter()
        .map(|(id, name)| {
            let alone = count.get(&name) == Some(&1) && name.len() <= MAX && !looks_marked(&name);
            let name = if alone { name } else { marked(&id, &name) };
            (id, name)
        })
        .collect()
}

fn marked(id: &ToolId, name: &str) -> String {
    let mark = &Digest::of("alias", id.as_str().as_bytes()).hex()[..8];
    format!("{}_{mark}", &name[..name.len().min(MAX - 9)])
}

/// Whether a plain name could be taken for another id's marked one.
fn looks_marked(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, mark)| {
        mark.len() == 8 && mark.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_id_takes_the_marked_name_of_another() {
        let shared: Vec<ToolId> = ["a.b", "a_b"].iter().filter_map(|i| ToolId::parse(i)).collect();
        let taken = aliases(shared.iter())[&shared[0]].clone();
        let all: Vec<ToolId> = shared.iter().cloned().chain(ToolId::parse(&taken)).collect();
        let names = aliases(all.iter());
        let distinct: std::collections::BTreeSet<&String> = names.values().collect();
        assert_eq!((names.len(), distinct.len()), (3, 3), "{names:?}");
        assert_eq!(names[&shared[0]], taken, "the others keep theirs");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn one_to_one_within_limits_and_stable(
            (ids, shuffled) in prop::collection::btree_set("[ab._-]{1,4}|[a-zA-Z._-]{60,128}", 1..12)
                .prop_map(|ids| ids.iter().filter_map(|id| ToolId::parse(id)).collect::<Vec<_>>())
                .prop_flat_map(|ids| (Just(ids.clone()), Just(ids).prop_shuffle())),
        ) {
            let names = aliases(ids.iter());
            let distinct: std::collections::BTreeSet<&String> = names.values().collect();
            prop_assert_eq!(distinct.len(), ids.len());
            for (id, name) in &names {
                let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
                prop_assert!((1..=64).contains(&name.len()) && name.bytes().all(legal));
                let alone = aliases(std::iter::once(id));
                let clashes = ids.iter().filter(|other| {
                    other.as_str().replace('.', "_") == id.as_str().replace('.', "_")
                });
                prop_assert!(clashes.count() > 1 || alone[id] == *name);
            }
            prop_assert_eq!(aliases(shuffled.iter()), names);
        }
    }

    #[test]
    fn one_to_one_and_within_limits() {
        let long = "x".repeat(100);
        let ids: Vec<ToolId> = ["a.b", "a_b", "c.d", long.as_str()]
            .iter()
            .filter_map(|id| ToolId::parse(id))
            .collect();
        let names = aliases(ids.iter());
        assert_eq!(names.len(), 4);
        let distinct: std::collections::BTreeSet<&String> = names.values().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!(names[&ids[2]], "c_d");
        assert!(names.values().all(|name| name.len() <= 64 && !name.contains('.')));
    }
}
