//! Texts with places for arguments and secrets.

use serde_json::Value;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// The argument of this name.
    Argument(String),
    /// The secret of this name. It is put in where the request is sent, and nowhere before.
    Secret(String),
}

/// The pieces of a text.
///
/// # Errors
/// What is wrong with it, a lower-case fragment.
pub(super) fn parse(text: &str) -> Result<Vec<Piece>, &'static str> {
    const OPEN: &str = "a brace is not closed, or has no name in it";
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let doubled = ["{{", "}}"].iter().find(|pair| from.starts_with(**pair));
        if let Some(pair) = doubled {
            plain.push_str(&pair[1..]);
            rest = &from[2..];
            continue;
        }
        let inside = from.strip_prefix('{').ok_or(OPEN)?;
        let (name, after) = inside.split_once('}').ok_or(OPEN)?;
        let secret = name.strip_prefix("secret:").filter(|_| plain.ends_with('$'));
        if secret.is_some() {
            plain.pop();
        }
        let name = secret.unwrap_or(name);
        if name.is_empty() || name.contains('{') {
            return Err(OPEN);
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        let piece = if secret.is_some() { Piece::Secret } else { Piece::Argument };
        pieces.push(piece(name.to_owned()));
        rest = after;
    }
    plain.push_str(rest);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// Names of the arguments in a text.
pub(super) fn arguments(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Argument(name) => Some(name.as_str()),
        Piece::Text(_) | Piece::Secret(_) => None,
    })
}

/// Names of the secrets in a text.
pub(super) fn secrets(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Secret(name) => Some(name.as_str()),
        Piece::Text(_) | Piece::Argument(_) => None,
    })
}

/// A value that is one text: no list and no object.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(super::super::template::text(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_told_apart() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let (arg, secret) = (Piece::Argument("a".to_owned()), Piece::Secret("K".to_owned()));
        let check = |from: &str, expected: &[Piece]| assert_eq!(parse(from).unwrap(), expected);
        check("", &[text("")]);
        check("plain", &[text("plain")]);
        check("x{a}y", &[text("x"), arg.clone(), text("y")]);
        check("{a}{a}", &[arg.clone(), arg.clone()]);
        check("Bearer ${secret:K}", &[text("Bearer "), secret.clone()]);
        check("${secret:K}{a}", &[secret, arg.clone()]);
        check("{{a}} $", &[text("{a} $")]);
        check("${a}", &[text("$"), arg]);
        check("{secret:K}", &[Piece::Argument("secret:K".to_owned())]);
        for wrong in ["{", "}", "{}", "{a", "a}", "{a{b}}", "${secret:}", "${secret:K"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
