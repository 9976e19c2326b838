//! Any text in any pieces: no known secret comes through, whole or in a stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark::base::secret::{Secret, SecretSet};

const SECRET: &str = "pmk-canary-0123456789abcdef0123";

fuzz_target!(|input: (String, Vec<u8>)| {
    let (text, cuts) = input;
    let text = text.replace('\u{1}', SECRET);
    let secrets = SecretSet::new([Secret::new(SECRET)]);
    assert!(!secrets.scrub(&text).contains(SECRET));
    let (mut stream, mut out, mut rest) = (secrets.stream(), String::new(), text.as_str());
    for cut in cuts {
        let mut at = usize::from(cut).min(rest.len());
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, left) = rest.split_at(at);
        out.push_str(&stream.push(piece));
        rest = left;
    }
    out.push_str(&stream.push(rest));
    out.push_str(&stream.finish());
    assert!(!out.contains(SECRET));
});
