//! Text as a part of an address.

/// The text with every byte that is not unreserved (RFC 3986, section 2.3) written as `%XX`.
pub fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_bytes_stay() {
        assert_eq!(percent("aZ9-._~"), "aZ9-._~");
        assert_eq!(percent("/?#%&=+ :@é\n"), "%2F%3F%23%25%26%3D%2B%20%3A%40%C3%A9%0A");
    }
}
