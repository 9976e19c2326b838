//! The address of an operation: what of it is fixed, and what an argument fills.

use std::net::Ipv4Addr;

use serde_json::Value;

use super::operation::ArgumentFault;
use super::text::{self, Piece};
use crate::base::percent::percent;

/// How a service is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// In the open.
    Http,
    /// Encrypted, with the service's name proven.
    Https,
}

impl Scheme {
    /// As an address begins.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) scheme: Scheme,
    /// The host; where no argument stands in it, one text.
    pub(super) host: Vec<Piece>,
    pub(super) port: u16,
    /// The segments of the path; `/` is one that is empty.
    pub(super) path: Vec<Vec<Piece>>,
}

/// An address with its arguments in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) path: String,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it, a lower-case fragment.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = match url.split_once("://") {
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(("http", rest)) => (Scheme::Http, rest),
            _ => return Err("an address begins with `https://` or `http://`".to_owned()),
        };
        if rest.contains('?') {
            return Err("parameters stand under `query`".to_owned());
        }
        if rest.contains('#') {
            return Err("a fragment is never sent".to_owned());
        }
        let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, digits)) if !digits.contains('}') => {
                (host, digits.parse().ok().filter(|port| *port > 0))
            }
            _ => (place, Some(scheme.port())),
        };
        let port = port.ok_or("a port is a number from 1 to 65535, and no argument")?;
        let host = text::parse(host)?;
        check_host(&host)?;
        let path = path.split('/').map(segment).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { scheme, host, port, path })
    }

    /// Whether an argument says which host is called.
    pub(super) fn is_open(&self) -> bool {
        text::arguments(&self.host).next().is_some()
    }

    /// The host, where it is fixed.
    pub(super) fn fixed_host(&self) -> Option<&str> {
        match self.host.as_slice() {
            [Piece::Text(host)] => Some(host),
            _ => None,
        }
    }

    /// Names of the arguments in it.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        text::arguments(&self.host).chain(self.path.iter().flat_map(|one| text::arguments(one)))
    }

    /// Puts arguments in. Each stays within its segment, and no segment is empty or leads up.
    ///
    /// # Errors
    /// The argument that does not fit.
    pub(super) fn fill(&self, args: &Value) -> Result<Place, ArgumentFault> {
        let mut host = String::new();
        for piece in &self.host {
            match piece {
                Piece::Argument(name) => {
                    let value = required(args, name)?;
                    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
                    if value.is_empty() || !value.chars().all(plain) {
                        return Err(ArgumentFault::new(name, "is no part of a host's name"));
                    }
                    host.push_str(&value);
                }
                Piece::Text(text) => host.push_str(text),
                Piece::Secret(_) => {}
            }
        }
        let name = text::arguments(&self.host).next();
        if let (Some(name), Err(_)) = (name, host_name(&host)) {
            return Err(ArgumentFault::new(name, "is no part of a host's name"));
        }
        let mut path = String::new();
        for pieces in &self.path {
            path.push('/');
            path.push_str(&fill_segment(pieces, args)?);
        }
        Ok(Place { host: host.to_ascii_lowercase(), path })
    }
}

fn required(args: &Value, name: &str) -> Result<String, ArgumentFault> {
    match args.get(name) {
        None | Some(Value::Null) => Err(ArgumentFault::new(name, "is missing")),
        Some(value) => {
            text::scalar(value).ok_or_else(|| ArgumentFault::new(name, "is no single value"))
        }
    }
}

fn fill_segment(pieces: &[Piece], args: &Value) -> Result<String, ArgumentFault> {
    let (mut said, mut spelled, mut last) = (String::new(), String::new(), None);
    for piece in pieces {
        match piece {
            Piece::Argument(name) => {
                let value = required(args, name)?;
                spelled.push_str(&percent(&value));
                said.push_str(&value);
                last = Some(name);
            }
            Piece::Text(text) => {
                spelled.push_str(text);
                said.push_str(text);
            }
            Piece::Secret(_) => {}
        }
    }
    // An empty one would name the collection where the template names a thing in it.
    match last {
        Some(name) if said.is_empty() => {
            Err(ArgumentFault::new(name, "is empty, and would be a segment of the path"))
        }
        Some(name) if leads_up(&said) => {
            Err(ArgumentFault::new(name, "would lead out of its segment of the path"))
        }
        Some(name) if said.contains('\0') => Err(ArgumentFault::new(name, "holds a zero byte")),
        _ => Ok(spelled),
    }
}

/// Whether `.` or `..` stands between slashes, for a server that resolves escapes once more than
/// it should, or twice.
fn leads_up(said: &str) -> bool {
    let mut text = said.to_owned();
    for _ in 0..3 {
        if text.split(['/', '\\']).any(|part| part == "." || part == "..") {
            return true;
        }
        let next = decoded(&text);
        if next == text {
            return false;
        }
        text = next;
    }
    false
}

/// `%XX` resolved, for the characters that matter to a path.
fn decoded(text: &str) -> String {
    let mut out = text.to_owned();
    for (spelled, plain) in [("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%25", "%")] {
        out = out.replace(spelled, plain).replace(&spelled.to_ascii_uppercase(), plain);
    }
    out
}

fn segment(text: &str) -> Result<Vec<Piece>, String> {
    let pieces = text::parse(text)?;
    if let Some(name) = text::secrets(&pieces).next() {
        return Err(format!("the secret `{name}` may stand in a header alone"));
    }
    for piece in &pieces {
        let Piece::Text(text) = piece else { continue };
        if !is_path(text) {
            return Err(format!("`{text}` is no text of a path; write other bytes as `%XX`"));
        }
    }
    match pieces.as_slice() {
        [Piece::Text(text)] if leads_up(text) => {
            Err(format!("the segment `{text}` leads to another path"))
        }
        _ => Ok(pieces),
    }
}

/// The characters of a segment (RFC 3986, section 3.3), escapes whole.
fn is_path(text: &str) -> bool {
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let fits = match byte {
            b'%' => {
                let mut digit = || rest.next().is_some_and(|byte| byte.is_ascii_hexdigit());
                digit() && digit()
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte),
        };
        if !fits {
            return false;
        }
    }
    true
}

fn check_host(host: &[Piece]) -> Result<(), String> {
    if let Some(name) = text::secrets(host).next() {
        return Err(format!("the secret `{name}` may stand in a header alone"));
    }
    match host {
        [Piece::Text(host)] => host_name(host).map_err(str::to_owned),
        pieces => {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
            let wrong =
                |piece: &Piece| matches!(piece, Piece::Text(text) if !text.chars().all(plain));
            let why = "a host is a name of letters, digits, hyphens and dots";
            if pieces.iter().any(wrong) { Err(why.to_owned()) } else { Ok(()) }
        }
    }
}

/// A name, or four numbers. Other spellings of addresses (`0x7f.1`, `2130706433`) are none.
fn host_name(host: &str) -> Result<(), &'static str> {
    let label = |label: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.len() <= 63 && label.chars().all(plain)
    };
    let lower = host.to_ascii_lowercase();
    if host.is_empty() || host.len() > 253 || !lower.split('.').all(label) {
        return Err("a host is a name of letters, digits, hyphens and dots");
    }
    let last = lower.rsplit('.').next().unwrap_or_default();
    let number = last.starts_with(|c: char| c.is_ascii_digit());
    if number && host.parse::<Ipv4Addr>().is_err() {
        return Err("a host is a name, or an address of four numbers");
    }
    Ok(())
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
