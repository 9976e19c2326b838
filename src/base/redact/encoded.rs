//! How a value looks where somebody wrote it in another alphabet: what a tool was given it does not
//! always say as it came. What escapes hide, those of addresses too, is seen elsewhere.

use super::escapes::Views;
use crate::base::digest::hex;
use crate::base::media::base64;

/// Shorter pieces of Base64 would be found in ordinary text.
const LEAST: usize = 8;

/// The value in Base64 (of both alphabets, whatever stands before and behind it), in hexadecimal
/// digits, in a form, and as an address says it: that is what is found where escapes are resolved.
pub(in crate::base) fn encoded(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut out = vec![hex(bytes), hex(bytes).to_ascii_uppercase()];
    if value.contains(' ') {
        out.push(value.replace(' ', "+"));
    }
    out.extend(Views::of(value).each(value).skip(1).map(|(_, said, _)| said.to_owned()));
    for before in 0..3 {
        let text = base64(&[&[0_u8; 2][..before], bytes].concat());
        // Only characters that no neighbour has a part in.
        let (from, to) = ((before * 8).div_ceil(6), (before + bytes.len()) * 8 / 6);
        let own = text.get(from..to).unwrap_or_default();
        out.extend([own.to_owned(), own.replace('+', "-").replace('/', "_")]);
    }
    out.retain(|one| one.len() >= LEAST);
    out.sort_unstable();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn common_alphabets() {
        let found = encoded("pass w/rd?");
        for one in ["7061737320772f72643f", "7061737320772F72643F", "pass+w/rd?"] {
            assert!(found.iter().any(|spelled| spelled == one), "{one}: {found:?}");
        }
        // An address that is no escape of its own says itself.
        assert!(encoded("abc%41bcde").contains(&"abcAbcde".to_owned()));
        // Nothing that ordinary text holds.
        assert!(encoded("abcd").iter().all(|one| one.len() >= LEAST));
    }

    proptest! {
        #[test]
        fn base64_is_found_wherever_it_stands(
            before in any::<Vec<u8>>(), value in "[!-~]{8,40}", after in any::<Vec<u8>>(),
        ) {
            let text = base64(&[&before, value.as_bytes(), &after].concat());
            prop_assert!(encoded(&value).iter().any(|one| text.contains(one)), "{text}");
        }
    }
}
