//! Any file as a descriptor: reading never panics, every problem has a place, and what was read is
//! written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark::tool::{manifest, short};

fuzz_target!(|text: &str| {
    match manifest::parse("fuzz", text) {
        Ok(descriptor) => {
            let again = manifest::parse("fuzz", &short::write(&descriptor));
            assert_eq!(again.as_ref().ok(), Some(&descriptor), "{again:?}");
        }
        Err(problems) => assert!(!problems.is_empty()),
    }
});
