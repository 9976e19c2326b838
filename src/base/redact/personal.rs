//! Personal data that is known by its shape: addresses of mail, telephone numbers, numbers of
//! payment cards and of bank accounts, American social security numbers. Names, postal addresses
//! and what else has no shape of its own are not found.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::patterns::Hit;

/// The part of a candidate that is personal data; `None` where it is something else.
type Judge = fn(&str) -> Option<Range<usize>>;

/// Each shape: the mark that replaces it, how a candidate looks, and what makes it one.
const SHAPES: [(&str, &str, Judge); 5] = [
    (
        "[personal:email]",
        r"[A-Za-z0-9._%+'-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}",
        email,
    ),
    // The country's two letters come first; ISO 13616.
    ("[personal:iban]", r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}", iban),
    ("[personal:card]", r"[2-6][0-9](?:[ -]?[0-9]){11,17}", card),
    ("[personal:ssn]", r"[0-9]{3}-[0-9]{2}-[0-9]{4}", social_security),
    (
        "[personal:phone]",
        r"\+[0-9](?:[ ().-]{0,2}[0-9]){6,14}|(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}",
        phone,
    ),
];

static PATTERNS: LazyLock<Vec<(&str, Regex, Judge)>> = LazyLock::new(|| {
    let compile = |(mark, find, judge)| Some((mark, Regex::new(find).ok()?, judge));
    SHAPES.into_iter().filter_map(compile).collect()
});

/// All that is recognised in a text.
pub(super) fn hits(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    // Each shape has one of these.
    if !text.bytes().any(|byte| byte == b'@' || byte.is_ascii_digit()) {
        return hits;
    }
    for (mark, find, judge) in PATTERNS.iter() {
        let mut from = 0;
        while let Some(found) = find.find_at(text, from) {
            let alone = stands_alone(text, found.range());
            match judge(found.as_str()).filter(|_| alone) {
                Some(part) => {
                    let range = found.start() + part.start..found.start() + part.end;
                    from = range.end;
                    hits.push(Hit { range, mark, endless: false });
                }
                // The candidate may have begun too early.
                None => from = found.start() + first_word(found.as_str()),
            }
        }
    }
    hits
}

/// No letter or digit stands before or after.
fn stands_alone(text: &str, range: Range<usize>) -> bool {
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    ![before, after].into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
}

/// Bytes up to behind the first run of letters and digits; at least one.
fn first_word(candidate: &str) -> usize {
    let word = candidate.find(|c: char| !c.is_ascii_alphanumeric());
    word.unwrap_or(candidate.len()).max(1)
}

fn all_of(candidate: &str) -> Option<Range<usize>> {
    Some(0..candidate.len())
}

/// A dot never begins or ends the name before the sign; `git@` begins the address of a repository.
fn email(candidate: &str) -> Option<Range<usize>> {
    let (local, _) = candidate.split_once('@')?;
    let start = local.len() - local.trim_start_matches(['.', '\'', '-']).len();
    let local = &local[start..];
    let named = !local.is_empty() && !local.ends_with('.') && local != "git";
    named.then_some(start..candidate.len())
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> + '_ {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// The check digit of ISO/IEC 7812 (Luhn), and no number of equal digits.
fn card(candidate: &str) -> Option<Range<usize>> {
    let sum: u32 = digits(candidate)
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => 2 * digit - 9,
            (_, digit) => 2 * digit,
        })
        .sum();
    let varied = digits(candidate).any(|digit| Some(digit) != digits(candidate).next());
    (sum.is_multiple_of(10) && varied).then_some(0..candidate.len())
}

/// The check digits of ISO 13616: the number, its first four characters put last and letters
/// counted from 10, leaves 1 when divided by 97. Words that follow belong to no number.
fn iban(candidate: &str) -> Option<Range<usize>> {
    let ends = candidate.char_indices().filter(|(_, c)| *c == ' ').map(|(at, _)| at);
    let ends = std::iter::once(candidate.len()).chain(ends.collect::<Vec<_>>().into_iter().rev());
    let whole = |end: &usize| {
        let number: Vec<u32> = candidate[..*end].chars().filter_map(|c| c.to_digit(36)).collect();
        let turned = number.iter().skip(4).chain(number.iter().take(4));
        let rest = turned.fold(0, |rest, one| match *one {
            one if one > 9 => (rest * 100 + one) % 97,
            one => (rest * 10 + one) % 97,
        });
        number.len() >= 15 && rest == 1
    };
    ends.into_iter().find(whole).map(|end| 0..end)
}

/// Areas 000, 666 and from 900, the group 00 and the serial 0000 are never given out.
fn social_security(candidate: &str) -> Option<Range<usize>> {
    let mut parts = candidate.split('-');
    let (area, group, serial) = (parts.next()?, parts.next()?, parts.next()?);
    let given = area != "000" && area != "666" && !area.starts_with('9');
    (given && group != "00" && serial != "0000").then_some(0..candidate.len())
}

/// At most the fifteen digits of E.164.
fn phone(candidate: &str) -> Option<Range<usize>> {
    let count = digits(candidate).count();
    if (8..=15).contains(&count) { all_of(candidate) } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::base::redact::{mask_personal, personal_data};

    #[track_caller]
    fn check(text: &str, masked: &str) {
        assert_eq!(mask_personal(text), masked);
        assert_eq!(personal_data(text), text != masked, "{text}");
        assert!(!personal_data(masked), "{masked}");
    }

    #[test]
    fn each_shape_is_masked_where_it_stands() {
        for (text, masked) in [
            ("write to ann.lee+x@mail.example.org.", "write to [personal:email]."),
            ("<ann@example.org>, <bob@example.org>", "<[personal:email]>, <[personal:email]>"),
            ("'ann@example.org'", "'[personal:email]'"),
            ("card 4111 1111 1111 1111 expires 12/29", "card [personal:card] expires 12/29"),
            ("card 5500-0055-5555-5559", "card [personal:card]"),
            ("pay to DE89 3704 0044 0532 0130 00 PLEASE NOW", "pay to [personal:iban] PLEASE NOW"),
            ("GB82WEST12345698765432", "[personal:iban]"),
            ("ssn 219-09-9999", "ssn [personal:ssn]"),
            ("call +49 30 901820 or (212) 555-0123", "call [personal:phone] or [personal:phone]"),
            ("+14155550123", "[personal:phone]"),
        ] {
            check(text, masked);
        }
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        for text in [
            "git@github.com:owner/name.git",
            "@scope/package and user@localhost",
            "4111 1111 1111 1112",
            "0000000000000000",
            "GB83 WEST 1234 5698 7654 32",
            "000-12-3456, 666-12-3456, 912-12-3456, 219-00-9999",
            "2026-11-30 10:00:00 and 1.2.3.4",
            "sha256:4111111111111111aa",
            "id_4111111111111111",
            "+1 555",
            "7 + 12345678",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn json_stays_json() {
        for (text, masked) in [
            (
                r#"{"to":"ann@example.org","n":[4111111111111111,7]}"#,
                r#"{"to":"[personal:email]","n":["[personal:card]",7]}"#,
            ),
            (r#"{"ann@example.org":1}"#, r#"{"[personal:email]":1}"#),
            (r#""\u0061nn@example.org""#, r#""[personal:email]""#),
            (
                r#"{"inner":"{\"to\":\"ann@example.org\"}"}"#,
                r#"{"inner":"{\"to\":\"[personal:email]\"}"}"#,
            ),
        ] {
            check(text, masked);
            serde_json::from_str::<Value>(masked).unwrap();
        }
    }
}
