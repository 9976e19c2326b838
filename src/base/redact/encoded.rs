//! How a value looks where somebody wrote it in another alphabet: what a server got in a header and
//! sends back is not always spelled as it came.

use crate::base::digest::hex;
use crate::base::media::base64;
use crate::base::percent::percent;

/// Shorter pieces of Base64 would be found in ordinary text.
const LEAST: usize = 8;

/// The value in Base64 (of both alphabets, whatever stands before it), as a part of an address or
/// a form, and in hexadecimal digits.
pub(in crate::base) fn encoded(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut out = vec![hex(bytes), hex(bytes).to_ascii_uppercase()];
    let escaped = percent(value);
    out.extend([escaped.to_ascii_lowercase(), escaped.replace("%20", "+"), escaped]);
    for before in 0..3 {
        let text = base64(&[&[0_u8; 2][..before], bytes].concat());
        // Only characters that no neighbour has a part in.
        let (from, to) = ((before * 8).div_ceil(6), (before + bytes.len()) * 8 / 6);
        let own = text.get(from..to).unwrap_or_default();
        out.extend([own.to_owned(), own.replace('+', "-").replace('/', "_")]);
    }
    out.retain(|one| one.len() >= LEAST);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn common_alphabets() {
        let found = encoded("pass w/rd?");
        for one in
            ["70617373", "706173732", "pass%20w%2Frd%3F", "pass%20w%2frd%3f", "pass+w%2Frd%3F"]
        {
            assert!(found.iter().any(|spelled| spelled.starts_with(one)), "{one}: {found:?}");
        }
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
