//! Faults that were reported against real runtimes, each a row of a table: its id, and a small
//! scene in which the right behaviour is asserted. What waits for later work stands in `waiting`.

mod approval;
mod cancel;
mod dedup;
mod delegate;
mod events;
pub mod hand;
mod history;
mod hooks;
mod loops;
mod mcp;
mod mcp_calls;
mod order;
mod output;
mod policy;
mod receipt;
pub mod record;
mod redact;
mod resume;
pub mod scene;
mod shell;
mod stream;
mod text;
mod validate;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support;

/// One fault: its id, and what must hold instead.
type Row = (&'static str, fn());

/// All tables, by the boundary that a row speaks about.
const TABLES: [(&str, &[Row]); 20] = [
    ("text", text::ROWS),
    ("stream", stream::ROWS),
    ("validate", validate::ROWS),
    ("approval", approval::ROWS),
    ("hooks", hooks::ROWS),
    ("cancel", cancel::ROWS),
    ("history", history::ROWS),
    ("order", order::ROWS),
    ("dedup", dedup::ROWS),
    ("loops", loops::ROWS),
    ("output", output::ROWS),
    ("redact", redact::ROWS),
    ("receipt", receipt::ROWS),
    ("events", events::ROWS),
    ("policy", policy::ROWS),
    ("shell", shell::ROWS),
    ("mcp", mcp::ROWS),
    ("mcp calls", mcp_calls::ROWS),
    ("delegate", delegate::ROWS),
    ("resume", resume::ROWS),
];

/// Every row of a table holds; all that do not are named.
fn hold(rows: &[Row]) {
    let broken: Vec<&str> = rows
        .iter()
        .filter(|(id, row)| {
            let broken = std::panic::catch_unwind(row).is_err();
            println!("{id}: {}", if broken { "BROKEN" } else { "holds" });
            broken
        })
        .map(|(id, _)| *id)
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

/// The ids of all rows.
pub fn ids() -> BTreeSet<&'static str> {
    let rows = TABLES.iter().flat_map(|(_, rows)| rows.iter());
    rows.map(|(id, _)| *id).collect()
}

/// Ids and boundaries of the reported cases that are about the lifecycle.
fn reported() -> Option<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(support::cases()?.join("reported-faults.jsonl")).unwrap();
    let read = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| case[name].as_str().unwrap().to_owned();
        (field("id"), field("boundary"))
    };
    let mut cases: BTreeMap<String, String> = text.lines().map(read).collect();
    cases.retain(|_, boundary| boundary != "eval");
    Some(cases)
}

#[test]
fn no_id_stands_twice() {
    let rows: usize = TABLES.iter().map(|(_, rows)| rows.len()).sum::<usize>();
    assert_eq!(rows, ids().len());
    let waiting: BTreeSet<&str> = waiting::WAITING.iter().map(|(id, _)| *id).collect();
    assert_eq!(waiting.len(), waiting::WAITING.len());
    let both: Vec<_> = waiting.intersection(&ids()).copied().collect();
    assert!(both.is_empty(), "encoded and waiting: {both:?}");
    for (id, theme) in waiting::WAITING {
        assert!(waiting::THEMES.contains(theme), "{id} waits for {theme}");
    }
}

#[test]
fn every_reported_fault_is_encoded_or_waits() {
    let Some(cases) = reported() else { return };
    let known = |id: &str| ids().contains(id) || waiting::WAITING.iter().any(|(own, _)| *own == id);
    let missing: Vec<_> = cases.iter().filter(|(id, _)| !known(id)).collect();
    assert!(missing.is_empty(), "neither encoded nor waiting: {missing:?}");
    let own = ids().into_iter().chain(waiting::WAITING.iter().map(|(id, _)| *id));
    let unknown: Vec<_> = own.filter(|id| !cases.contains_key(*id)).collect();
    assert!(unknown.is_empty(), "no such case: {unknown:?}");
    for (name, rows) in &TABLES {
        println!("{name}: {}", rows.len());
    }
    println!("{} encoded, {} waiting", ids().len(), waiting::WAITING.len());
}
