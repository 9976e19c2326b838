//! Any journal from anywhere: reading never panics, what was read is written and read back the same,
//! and every law has a verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark::journal::{Blobs, format};
use proofmark::law::Judge;

fuzz_target!(|text: &str| {
    let (entries, _problems) = format::read("fuzz", text);
    let mut lines = Vec::new();
    entries.iter().for_each(|entry| format::write_line(entry, &mut lines));
    let written = String::from_utf8(lines).unwrap();
    let (again, problems) = format::read("fuzz", &written);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(entries, again);
    let findings = Judge::new(None).journal(&entries, &Blobs::default());
    assert_eq!(findings.len(), proofmark::law::all().len());
});
