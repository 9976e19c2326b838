//! Looking for a canary in everything that is kept, however it is spelled. Nothing of the product
//! helps: texts are decoded, not searched for spellings that somebody thought of.

use proofmark::base::secret::Secret;

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
    let telling = &telling[telling.len() - 20..];
    let says = |bytes: &[u8]| {
        let bytes = bytes.to_ascii_lowercase();
        telling.windows(TELLING).any(|part| bytes.windows(TELLING).any(|found| found == part))
    };
    let found = texts.iter().filter(|text| readings(text).iter().any(|bytes| says(bytes)));
    found.cloned().collect()
}

/// A text as every decoder reads it.
fn readings(text: &str) -> Vec<Vec<u8>> {
    let mut out = vec![text.as_bytes().to_vec(), percent(text), escapes(text)];
    out.extend([percent(&escapes_text(text)), hex(text)]);
    out.extend((0..4).map(|from| base64(text, from)));
    out
}

/// Every `%` and two digits as their byte.
fn percent(text: &str) -> Vec<u8> {
    numbers(text, '%', 2)
}

fn escapes_text(text: &str) -> String {
    String::from_utf8_lossy(&escapes(text)).into_owned()
}

/// Every `\u00` and two digits as their byte; other escapes hide no letter.
fn escapes(text: &str) -> Vec<u8> {
    let text = text.replace("\\\\", "\\").replace("\\u00", "\u{1}");
    numbers(&text.replace("\\x", "\u{1}"), '\u{1}', 2)
}

fn numbers(text: &str, mark: char, digits: usize) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(mark) {
        out.extend(rest[..at].as_bytes());
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
        assert_eq!(leaks(&canary, &[text.clone()]), [text]);
    }
    assert!(leaks(&canary, &["pmk-canary-[redacted]".to_owned()]).is_empty());
}
