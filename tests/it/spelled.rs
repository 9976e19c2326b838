//! Looking for a canary in everything that is kept, however it is spelled. Nothing of the product
//! helps: texts are decoded, not searched for spellings that somebody thought of.

use proofmark::base::bounded::BoundedBytes;
use proofmark::base::secret::{Secret, SecretSet};
use proptest::prelude::*;

use crate::faults::scene::Played;

/// So many characters of a canary in a row are a leak; its fixed beginning says nothing.
const TELLING: usize = 8;

/// Every text that a played session keeps: its facts, what stands beside them, what the model saw.
pub fn texts(played: &Played) -> Vec<String> {
    let facts = played.journal.entries().iter();
    let facts = facts.map(|entry| serde_json::to_string(entry).unwrap());
    let beside = played.journal.blobs().iter().map(|(_, text)| text.to_string());
    facts.chain(beside).chain([format!("{:?}", played.transcript)]).collect()
}

/// The texts that say a telling part of a canary, once they are decoded in every way.
pub fn leaks(canary: &Secret, texts: &[String]) -> Vec<String> {
    let telling = canary.expose().as_bytes();
    let telling = &telling[telling.len().saturating_sub(20)..];
    let says = |bytes: &[u8]| {
        let bytes = bytes.to_ascii_lowercase();
        telling.windows(TELLING).any(|part| bytes.windows(TELLING).any(|found| found == part))
    };
    let found = texts.iter().filter(|text| readings(text).iter().any(|bytes| says(bytes)));
    found.cloned().collect()
}

/// A text as every decoder reads it, behind escapes of escapes too.
fn readings(text: &str) -> Vec<Vec<u8>> {
    let (mut out, mut text) = (Vec::new(), text.to_owned());
    for _ in 0..3 {
        out.extend([text.as_bytes().to_vec(), hex(&text)]);
        out.extend((0..4).map(|from| base64(&text, from)));
        let escapes = String::from_utf8_lossy(&escapes(&text)).into_owned();
        text = String::from_utf8_lossy(&percent(&escapes)).into_owned();
    }
    out
}

/// Every `%` and two digits as their byte.
fn percent(text: &str) -> Vec<u8> {
    numbers(text, '%', 2)
}

/// Every `\u00` and two digits as their byte; other escapes hide no letter.
fn escapes(text: &str) -> Vec<u8> {
    let text = text.replace("\\\\", "\\").replace("\\u00", "\u{1}");
    numbers(&text.replace("\\x", "\u{1}"), '\u{1}', 2)
}

fn numbers(text: &str, mark: char, digits: usize) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(mark) {
        out.extend(&rest.as_bytes()[..at]);
        rest = &rest[at + mark.len_utf8()..];
        match rest.get(..digits).and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &rest[digits..];
            }
            None => out.push(b'.'),
        }
    }
    out.extend(rest.as_bytes());
    out
}

/// Runs of digits as bytes, from either digit on.
fn hex(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for run in text.split(|c: char| !c.is_ascii_hexdigit()).filter(|run| run.len() >= TELLING) {
        for from in [0, 1] {
            let digits = run.as_bytes()[from..].chunks_exact(2);
            let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0);
            out.extend(digits.map(|two| (value(two[0]) * 16 + value(two[1])) as u8));
            out.push(b'\n');
        }
    }
    out
}

/// Runs of either alphabet as bytes, from the character of this number on.
fn base64(text: &str, from: usize) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let mut out = Vec::new();
    for run in text.as_bytes().split(|byte| value(*byte).is_none()) {
        let (mut bits, mut held) = (0_u32, 0);
        for byte in run.iter().skip(from) {
            bits = (bits << 6) | value(*byte).unwrap_or(0);
            held += 6;
            if held >= 8 {
                held -= 8;
                out.push((bits >> held) as u8);
                bits &= (1 << held) - 1;
            }
        }
        out.push(b'\n');
    }
    out
}

#[test]
fn every_spelling_is_read() {
    let canary = Secret::canary("spelled", 1);
    let value = canary.expose();
    let escaped: String = value.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let digits: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    for text in [
        value.to_owned(),
        format!("x{value}y"),
        escaped.replace('\\', "\\\\"),
        escaped,
        value.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        digits.to_ascii_uppercase(),
        format!("0{digits}"),
    ] {
        assert_eq!(leaks(&canary, std::slice::from_ref(&text)), std::slice::from_ref(&text));
    }
    assert!(leaks(&canary, &["pmk-canary-[redacted]".to_owned()]).is_empty());
}

/// A text in Base64 of one alphabet, with what stands before it, and padded or not.
fn in_base64(text: &[u8], address: bool, padded: bool) -> String {
    let signs: &[u8; 64] = if address {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    } else {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    };
    let mut out = String::new();
    for three in text.chunks(3) {
        let bytes = [three[0], *three.get(1).unwrap_or(&0), *three.get(2).unwrap_or(&0)];
        let bits = bytes.iter().fold(0_usize, |bits, byte| (bits << 8) | usize::from(*byte));
        for at in 0..4 {
            match (at <= three.len(), padded) {
                (true, _) => out.push(char::from(signs[(bits >> (18 - 6 * at)) & 63])),
                (false, true) => out.push('='),
                (false, false) => {}
            }
        }
    }
    out
}

/// Every spelling of a value that there is a name for; `mask` says which characters are escaped
/// where not all are.
fn spellings(value: &str, (before, after): (&[u8], &[u8]), mask: &[bool]) -> Vec<String> {
    let some = |spell: &dyn Fn(u8) -> String| -> String {
        let masked = value.bytes().zip(mask.iter().cycle());
        masked.map(|(byte, is)| if *is { spell(byte) } else { char::from(byte).into() }).collect()
    };
    let each = |spell: &dyn Fn(u8) -> String| value.bytes().map(spell).collect::<String>();
    let mut out = vec![
        value.to_owned(),
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("{byte:02X}")),
        each(&|byte| format!("%{byte:02X}")),
        each(&|byte| format!("%{byte:02x}")),
        some(&|byte| format!("%{byte:02X}")),
        some(&|byte| format!("%25{byte:02x}")),
        some(&|byte| format!("\\u{byte:04x}")),
        some(&|byte| format!("\\\\u{byte:04X}")),
        some(&|byte| format!("\\x{byte:02x}")),
        some(&|byte| format!("\\u0025{byte:02x}")),
    ];
    let whole = [before, value.as_bytes(), after].concat();
    for (address, padded) in [(false, true), (false, false), (true, true), (true, false)] {
        let text = in_base64(&whole, address, padded);
        out.push(text.replace('+', "%2B").replace('/', "%2f").replace('=', "%3D"));
        out.push(text.replace('/', "\\/"));
        out.push(text);
    }
    out
}

/// What comes out of a stream that is cut at these places.
fn streamed(secrets: &SecretSet, text: &str, cuts: &[usize]) -> String {
    let (mut stream, mut out, mut at) = (secrets.stream(), String::new(), 0);
    for cut in cuts.iter().filter(|cut| text.is_char_boundary(**cut)) {
        out.push_str(&stream.push(&text[at..*cut]));
        at = *cut;
    }
    out.push_str(&stream.push(&text[at..]));
    out + &stream.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// A canary in every spelling, split at every byte.
    #[test]
    fn no_spelling_survives_wherever_it_is_split(
        number in any::<usize>(),
        before in prop::collection::vec(any::<u8>(), 0..4),
        after in prop::collection::vec(any::<u8>(), 0..4),
        mask in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        let canary = Secret::canary("split", number);
        let secrets = SecretSet::new([canary.clone()]);
        for spelled in spellings(canary.expose(), (&before, &after), &mask) {
            let text = format!("a {spelled} b");
            prop_assert!(!leaks(&canary, std::slice::from_ref(&text)).is_empty(), "{text}");
            let scrubbed = secrets.scrub(&text).into_owned();
            prop_assert!(leaks(&canary, std::slice::from_ref(&scrubbed)).is_empty(), "{scrubbed}");
            let every: Vec<usize> = (1..text.len()).collect();
            let cuts = (1..text.len()).map(|cut| vec![cut]).chain([every]);
            for cut in cuts {
                prop_assert_eq!(&streamed(&secrets, &text, &cut), &scrubbed, "{:?}", cut);
            }
            // What is cut off by a limit ends before it.
            for limit in 0..text.len() {
                let mut kept = BoundedBytes::new(limit as u64, &secrets);
                text.as_bytes().chunks(5).for_each(|chunk| kept.extend(chunk));
                kept.extend(&[b' '; 4096]);
                prop_assert!(leaks(&canary, &[kept.text()]).is_empty(), "{}", kept.text());
            }
        }
    }
}
