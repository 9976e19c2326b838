//! Any reply of a model: parsing never panics, what it finds can be read, and text that was escaped
//! never calls anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark::runtime::dialect::text::escape;
use proofmark::runtime::dialect::{Dialect, Reply, TextRules};

fuzz_target!(|text: &str| {
    for rules in [TextRules::default(), TextRules::ALL, TextRules::STRICT] {
        let reply = Reply { text: Some(text.to_owned()), ..Reply::default() };
        let (_, calls) = Dialect::Text.parse(&reply, rules);
        for call in &calls {
            let _arguments = call.read();
        }
        assert!(!rules.strict || calls.is_empty());
        let escaped = Reply { text: Some(escape(text, rules)), ..Reply::default() };
        let (_, forged) = Dialect::Text.parse(&escaped, rules);
        assert!(forged.is_empty(), "{forged:?}");
    }
});
