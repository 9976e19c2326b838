//! Names as providers take them: 1 to 64 of `[A-Za-z0-9_-]` (OpenAI's function names, the
//! narrowest of the supported dialects), one to one with tool ids and stable under reordering.

use std::collections::BTreeMap;

use crate::base::digest::Digest;
use crate::tool::id::ToolId;

const MAX: usize = 64;

/// The advertised name of every id. A name that is too long, or that two ids would share, ends
/// in eight digits of the id's digest.
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
            let alone = count.get(&name) == Some(&1) && name.len() <= MAX;
            let name = if alone { name } else { marked(&id, &name) };
            (id, name)
        })
        .collect()
}

fn marked(id: &ToolId, name: &str) -> String {
    let mark = &Digest::of("alias", id.as_str().as_bytes()).hex()[..8];
    format!("{}_{mark}", &name[..name.len().min(MAX - 9)])
}

#[cfg(test)]
mod tests {
    use super::*;

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
