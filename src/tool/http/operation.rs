//! What a section means, and the request that arguments make of it.

use serde_json::{Map, Value};

use super::address::{Address, Scheme};
use super::text::{self, Piece};
use super::{BodyFormat, Http, Method};
use crate::base::canon;
use crate::base::percent::percent;

/// Something that is wrong with a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// JSON pointer from the section.
    pub at: String,
    /// What, a lower-case fragment.
    pub message: String,
}

impl Wrong {
    pub(super) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into() }
    }
}

/// An argument that makes no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` {why}")]
pub struct ArgumentFault {
    name: String,
    why: &'static str,
}

impl ArgumentFault {
    pub(super) fn new(name: &str, why: &'static str) -> Self {
        Self { name: name.to_owned(), why }
    }
}

/// A section, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub(super) method: Method,
    pub(super) address: Address,
    pub(super) query: Vec<(String, Vec<Piece>)>,
    pub(super) headers: Vec<(String, Vec<Piece>)>,
    pub(super) body: Option<(BodyFormat, Vec<String>)>,
}

/// A request, complete but for its secrets, which no text of it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// How the service is spoken to.
    pub scheme: Scheme,
    /// Whose service.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Path and query, as they are sent.
    pub target: String,
    /// Headers, in the order of their names.
    pub headers: Vec<(String, Vec<Piece>)>,
    /// The body.
    pub body: Option<Sent>,
}

/// A body that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What kind.
    pub media_type: &'static str,
    /// The bytes.
    pub text: String,
}

impl Request {
    /// The whole address.
    pub fn url(&self) -> String {
        let Self { scheme, host, port, target, .. } = self;
        match (scheme, port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => {
                format!("{}://{host}{target}", scheme.name())
            }
            _ => format!("{}://{host}:{port}{target}", scheme.name()),
        }
    }
}

impl Operation {
    /// Understands a section.
    ///
    /// # Errors
    /// Everything that is wrong with it, whatever the rest of the descriptor says.
    pub fn parse(http: &Http) -> Result<Self, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let address = Address::parse(&http.url);
        let mut texts = |map: &std::collections::BTreeMap<String, String>, key: &str| {
            let mut parsed = Vec::new();
            for (name, text) in map {
                match text::parse(text) {
                    Ok(pieces) => parsed.push((name.clone(), pieces)),
                    Err(message) => wrong.push(Wrong::new(place(key, name), message)),
                }
            }
            parsed
        };
        let (query, headers) = (texts(&http.query, "query"), texts(&http.headers, "headers"));
        for (name, pieces) in &query {
            if let Some(secret) = text::secrets(pieces).next() {
                let message = format!("the secret `{secret}` may stand in a header alone");
                wrong.push(Wrong::new(place("query", name), message));
            }
        }
        if http.body.is_some() && !http.method.has_body() {
            let message = format!("a request with {} has no body", http.method.name());
            wrong.push(Wrong::new("/body", message));
        }
        let body = http.body.as_ref().map(|body| (body.format, body.of.clone()));
        match address {
            Ok(address) if wrong.is_empty() => {
                Ok(Self { method: http.method, address, query, headers, body })
            }
            Ok(_) => Err(wrong),
            Err(message) => {
                wrong.push(Wrong::new("/url", message));
                Err(wrong)
            }
        }
    }

    /// The host and the port, where no argument says them.
    pub fn fixed_place(&self) -> Option<(&str, u16)> {
        self.address.fixed_host().map(|host| (host, self.address.port))
    }

    /// How the service is spoken to.
    pub fn scheme(&self) -> Scheme {
        self.address.scheme
    }

    /// Names of the secrets in its headers.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().flat_map(|(_, pieces)| text::secrets(pieces))
    }

    /// Names of the arguments outside of the body.
    pub(super) fn outside(&self) -> impl Iterator<Item = &str> {
        let texts = self.query.iter().chain(&self.headers);
        self.address.arguments().chain(texts.flat_map(|(_, pieces)| text::arguments(pieces)))
    }

    /// The request of some arguments.
    ///
    /// # Errors
    /// The argument that makes none.
    pub fn request(&self, args: &Value) -> Result<Request, ArgumentFault> {
        let place = self.address.fill(args)?;
        let mut target = place.path;
        let mut before = '?';
        for (name, pieces) in &self.query {
            for value in values(pieces, args)? {
                target.push(before);
                target.push_str(&format!("{}={}", percent(name), percent(&value)));
                before = '&';
            }
        }
        let mut headers = Vec::new();
        for (name, pieces) in &self.headers {
            if let Some(pieces) = header(pieces, args)? {
                headers.push((name.clone(), pieces));
            }
        }
        Ok(Request {
            method: self.method,
            scheme: self.address.scheme,
            host: place.host,
            port: self.address.port,
            target,
            headers,
            body: self.body(args)?,
        })
    }

    fn body(&self, args: &Value) -> Result<Option<Sent>, ArgumentFault> {
        let (Some((format, of)), Some(args)) = (&self.body, args.as_object()) else {
            return Ok(None);
        };
        let outside: Vec<&str> = self.outside().collect();
        let inside = |name: &&String| match of.is_empty() {
            true => !outside.contains(&name.as_str()),
            false => of.contains(name),
        };
        let fields: Vec<(&String, &Value)> = args.iter().filter(|(name, _)| inside(name)).collect();
        Ok(Some(match format {
            BodyFormat::Json => {
                let fields = fields.into_iter().map(|(name, value)| (name.clone(), value.clone()));
                let value = Value::Object(fields.collect::<Map<_, _>>());
                // Arguments were canonical when they were validated.
                let text = canon::canonical(&value).unwrap_or_else(|_| value.to_string());
                Sent { media_type: "application/json", text }
            }
            BodyFormat::Form => {
                let mut pairs = Vec::new();
                for (name, value) in fields {
                    for value in several(name, value)? {
                        let (name, value) = (percent(name), percent(&value));
                        pairs.push(format!("{name}={value}"));
                    }
                }
                let media_type = "application/x-www-form-urlencoded";
                Sent { media_type, text: pairs.join("&") }
            }
        }))
    }
}

/// The pointer to an entry of a map.
pub(super) fn place(key: &str, name: &str) -> String {
    format!("/{key}/{}", crate::base::document::escape(name))
}

/// A value as the texts it stands for: none, one, or one for each item of a list.
fn several(name: &str, value: &Value) -> Result<Vec<String>, ArgumentFault> {
    let one = |value: &Value| {
        let deep = || ArgumentFault::new(name, "holds what is no single value");
        text::scalar(value).ok_or_else(deep)
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(one).collect(),
        other => one(other).map(|text| vec![text]),
    }
}

/// The values of a parameter; none where an argument of it is absent.
fn values(pieces: &[Piece], args: &Value) -> Result<Vec<String>, ArgumentFault> {
    let mut texts = vec![String::new()];
    for piece in pieces {
        let more = match piece {
            Piece::Text(text) => vec![text.clone()],
            Piece::Argument(name) => several(name, args.get(name).unwrap_or(&Value::Null))?,
            Piece::Secret(_) => Vec::new(),
        };
        let joined = |text: &String| {
            let text = text.clone();
            more.iter().map(move |one| format!("{text}{one}"))
        };
        texts = texts.iter().flat_map(joined).collect();
    }
    Ok(texts)
}

/// A header's pieces with its arguments in place; `None` where one is absent. What an argument
/// says is text, whatever it looks like.
fn header(pieces: &[Piece], args: &Value) -> Result<Option<Vec<Piece>>, ArgumentFault> {
    let mut filled = Vec::new();
    for piece in pieces {
        let Piece::Argument(name) = piece else {
            filled.push(piece.clone());
            continue;
        };
        let value = match args.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => {
                text::scalar(value).ok_or_else(|| ArgumentFault::new(name, "is no single value"))?
            }
        };
        if value.chars().any(char::is_control) {
            return Err(ArgumentFault::new(name, "holds a control character"));
        }
        filled.push(Piece::Text(value));
    }
    Ok(Some(filled))
}

#[cfg(test)]
#[path = "operation_tests.rs"]
mod tests;
