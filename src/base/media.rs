//! Bytes that are no text: what they are, and as text that can be stored.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How files of a kind begin.
const MAGIC: [(&[u8], &str); 6] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
];

/// The media type of bytes that are no text; `None` for text. `cut` says that more bytes
/// followed, so that a character may lack its end.
pub fn binary(bytes: &[u8], cut: bool) -> Option<&'static str> {
    if let Some((_, media_type)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(media_type);
    }
    let is_text = match std::str::from_utf8(bytes) {
        Ok(text) => !text.contains('\0'),
        Err(error) => {
            // A program that was stopped may leave half a character too; it is no other kind.
            let only_cut = error.error_len().is_none() && (cut || error.valid_up_to() > 0);
            only_cut && !bytes.contains(&0)
        }
    };
    match bytes {
        _ if is_text => None,
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => Some("application/octet-stream"),
    }
}

/// The Base64 text of bytes, padded.
pub fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| usize::from(group.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let sextet = bits >> (18 - 6 * place) & 63;
            out.push(if place <= group.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    out
}

/// The bytes of a Base64 text, of either alphabet, padded or not; line breaks are skipped. `None`
/// where it is none.
pub fn unbase64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end().trim_end_matches('=');
    let (mut out, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0_u8);
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')) {
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(sextet)) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    (count < 6).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_are_told_by_their_beginning() {
        let kinds = [
            (b"\x89PNG\r\n\x1a\n....".as_slice(), Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a\x01\0\x01\0", Some("image/gif")),
            (b"GIF89a is a format", None),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"%PDF-1.7\n", Some("application/pdf")),
            (b"PK\x03\x04\x14", Some("application/zip")),
            (b"\x1f\x8b\x08", Some("application/gzip")),
            (b"a\0b", Some("application/octet-stream")),
            (b"caf\xe9 cr\xe8me", Some("application/octet-stream")),
            ("crème".as_bytes(), None),
            (b"", None),
        ];
        for (bytes, kind) in kinds {
            assert_eq!(binary(bytes, false), kind, "{bytes:?}");
        }
        assert_eq!(binary(&"é".as_bytes()[..1], true), None);
        assert_eq!(binary(&"aé".as_bytes()[..2], false), None);
        assert_eq!(binary(b"\xe9", false), Some("application/octet-stream"));
    }

    #[test]
    fn base64_as_others_write_it() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|t| base64(t.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
        assert_eq!(unbase64("Zm9v\nYg").as_deref(), Some(b"foob".as_slice()));
        assert_eq!(unbase64("-_-_").as_deref(), Some(b"\xfb\xff\xbf".as_slice()));
        assert_eq!([unbase64("Z"), unbase64("Zm9v Yg"), unbase64("…")], [None, None, None]);
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in any::<Vec<u8>>()) {
            prop_assert_eq!(unbase64(&base64(&bytes)), Some(bytes));
        }
    }
}
