//! One request and its answer, within its time and its size.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{HOST, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};

use crate::base::bounded::BoundedBytes;
use crate::base::secret::SecretSet;
use crate::runtime::sandbox::web::{Unreachable, Web};
use crate::tool::http::Request;

/// What was kept of an answer. It outlives the work, so that it is there when time is up.
pub(super) struct Kept<'a> {
    /// The first line and the headers, once they came.
    pub(super) head: Option<Head>,
    /// The body, or its beginning.
    pub(super) body: BoundedBytes<'a>,
}

/// What an answer begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The status.
    pub(super) status: u16,
    /// The kind of its body, without parameters.
    pub(super) media_type: Option<String>,
    /// Where a redirect leads: scheme and host.
    pub(super) leads_to: Option<String>,
}

/// Whether the service was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// It was not.
    Not,
    /// It was, as `host:port`.
    Reached(String),
    /// Nobody can say.
    Unknown,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// With an answer, read as far as it is kept.
    Answered,
    /// Its time was up.
    TimedOut(u64),
    /// The sandbox refused the addresses of the name.
    Refused(&'static str),
    /// There was no connection.
    NoConnection,
    /// There was one, but no encrypted one.
    NoTls(String),
    /// The connection broke off.
    Broken,
}

impl<'a> Kept<'a> {
    pub(super) fn new(max_bytes: u64, secrets: &'a SecretSet) -> Self {
        Self { head: None, body: BoundedBytes::new(max_bytes, secrets) }
    }
}

/// Builds a request, and makes sure that it goes where it was judged to go.
pub(super) fn request(
    web: &Web,
    request: &Request,
    headers: Vec<(&str, (String, bool))>,
) -> Result<RequestBuilder, String> {
    let text = request.url();
    let mut url = Url::parse(&text).map_err(|error| error.to_string())?;
    let path_and_query = |url: &Url| match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let same = url.host_str() == Some(request.host.as_str())
        && url.port_or_known_default() == Some(request.port)
        && path_and_query(&url) == request.target
        && url.username().is_empty();
    if !same {
        return Err("the address reads as another one".to_owned());
    }
    let client = web.client()?;
    let method = request.method.name();
    let method = reqwest::Method::from_bytes(method.as_bytes()).map_err(|e| e.to_string())?;
    let host = own_host(web, &mut url, request);
    let mut builder = client.request(method, url);
    if let Some(host) = host {
        let host = HeaderValue::from_str(&host).map_err(|error| error.to_string())?;
        builder = builder.header(HOST, host);
    }
    for (name, (value, is_secret)) in headers {
        let wrong = || format!("the header {name} cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong())?;
        value.set_sensitive(is_secret);
        builder = builder.header(header, value);
    }
    if let Some(body) = &request.body {
        let kind = reqwest::header::CONTENT_TYPE;
        builder = builder.header(kind, body.media_type).body(body.text.clone());
    }
    Ok(builder)
}

/// A name that stands for an address takes its port too: the address of the request is changed,
/// and what the service is told stays as it was. `None` where nothing is changed.
fn own_host(web: &Web, url: &mut Url, request: &Request) -> Option<String> {
    let fixture = web.egress.fixture(&request.host)?;
    let told = match url.port() {
        Some(port) => format!("{}:{port}", request.host),
        None => request.host.clone(),
    };
    let port = match request.host.parse::<IpAddr>() {
        // Nobody looks a number up.
        Ok(_) => {
            url.set_ip_host(fixture.ip()).ok()?;
            Some(fixture.port())
        }
        // Without one, the port of the address found is taken.
        Err(_) => None,
    };
    url.set_port(port).ok()?;
    Some(told)
}

/// Sends it and reads the answer into what is kept.
pub(super) async fn exchange(wanted: RequestBuilder, kept: &mut Kept<'_>, timeout_ms: u64) -> End {
    let work = async {
        let mut answer = match wanted.send().await {
            Ok(answer) => answer,
            Err(error) => return unanswered(&error),
        };
        kept.head = Some(head(&answer));
        loop {
            match answer.chunk().await {
                Ok(Some(bytes)) => kept.body.extend(&bytes),
                Ok(None) => return End::Answered,
                Err(_) => return End::Broken,
            }
            if kept.body.is_full() {
                // The rest is not read: the connection is closed with it.
                kept.body.leave(answer.content_length());
                return End::Answered;
            }
        }
    };
    let deadline = Duration::from_millis(timeout_ms);
    let end = tokio::time::timeout(deadline, work).await.unwrap_or(End::TimedOut(timeout_ms));
    if end != End::Answered {
        // It may end within a secret.
        kept.body.leave(None);
    }
    end
}

fn head(answer: &Response) -> Head {
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
    let media_type = header(reqwest::header::CONTENT_TYPE)
        .and_then(|kind| kind.split(';').next())
        .map(|kind| kind.trim().to_owned());
    let leads_to = header(reqwest::header::LOCATION)
        .and_then(|place| answer.url().join(place).ok())
        .map(|url| url.origin().ascii_serialization());
    Head { status: answer.status().as_u16(), media_type, leads_to }
}

fn unanswered(error: &reqwest::Error) -> End {
    if let Some(Unreachable(why)) = caused(error) {
        return End::Refused(why);
    }
    if let Some(error) = caused::<rustls::Error>(error) {
        return End::NoTls(error.to_string());
    }
    if error.is_connect() { End::NoConnection } else { End::Broken }
}

/// The first cause of a kind. An error of input and output hides its own cause from the chain.
fn caused<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(one) = next {
        if let Some(found) = one.downcast_ref() {
            return Some(found);
        }
        let hidden = one.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match hidden {
            Some(hidden) => Some(hidden),
            None => one.source(),
        };
    }
    None
}
