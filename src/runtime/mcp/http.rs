//! Streamable HTTP: the SDK drives the protocol, this sends its messages and filters what comes
//! back, as `wire` does for a server's pipes.
//!
//! The server is the one the operator named: no redirect is followed, so that a credential goes to
//! that origin alone, and no proxy of the environment is used.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use thiserror::Error;

use super::connect::lock;
use super::filter::{Filter, MAX_LINE_BYTES};
use super::wire::Shared;
use super::{McpError, cut};
use crate::base::secret::Secret;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const BOTH: &str = "application/json, text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long an answer to one of the server's own requests may take to be sent.
const REPLYING: Duration = Duration::from_secs(5);
/// What is quoted of the body of a failure, in bytes.
const QUOTED: usize = 500;

/// Where a server is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Its endpoint, `http` or `https`.
    pub url: String,
    /// What goes with every request, such as `Authorization`. The values are secret.
    pub headers: Vec<(String, Secret)>,
}

/// What went wrong below the protocol.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct WebError(String);

type WebResult<T> = Result<T, StreamableHttpError<WebError>>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The SDK's way to a server.
#[derive(Clone)]
pub(super) struct Web {
    client: reqwest::Client,
    url: Arc<str>,
    headers: Headers,
    shared: Shared,
}

impl Web {
    /// # Errors
    /// [`McpError::Spawn`] for an address or a header that cannot be one.
    pub(super) fn new(address: &Address, shared: &Shared) -> Result<Self, McpError> {
        let fail = |reason: String| McpError::Spawn { program: address.url.clone(), reason };
        // Fails where another part of the program has set one, which is as good.
        let _set = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECTING)
            .build()
            .map_err(|error| fail(error.to_string()))?;
        let parsed = reqwest::Url::parse(&address.url).map_err(|error| fail(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(fail("it is no http address".to_owned()));
        }
        let mut headers = Headers::new();
        for (name, value) in &address.headers {
            let bad = |_| fail(format!("header {name} is none"));
            let value = HeaderValue::from_str(value.expose()).map_err(|_| bad(()))?;
            let named = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(()))?;
            headers.insert(named, value);
        }
        let url = address.url.as_str().into();
        Ok(Self { client, url, headers, shared: Arc::clone(shared) })
    }

    /// The SDK's transport. A session that the server ended is not begun anew behind the back of a
    /// call: the SDK would send the call again.
    pub(super) fn transport(self) -> StreamableHttpClientTransport<Self> {
        let config = StreamableHttpClientTransportConfig::with_uri(Arc::clone(&self.url))
            .custom_headers(self.headers.clone())
            .reinit_on_expired_session(false);
        StreamableHttpClientTransport::with_client(self, config)
    }

    fn request(&self, method: Method, session: Option<&str>, headers: Headers) -> RequestBuilder {
        let mut request = self.client.request(method, self.url.as_ref());
        request = request.headers(headers.into_iter().collect());
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    /// Sends a request. What goes wrong is kept: the SDK tells its caller less.
    async fn send(&self, request: RequestBuilder) -> WebResult<Response> {
        request.send().await.map_err(|error| self.broken(&plain(&error)))
    }

    fn broken(&self, reason: &str) -> StreamableHttpError<WebError> {
        let reason = cut(reason, QUOTED);
        lock(&self.shared).broken = Some(reason.clone());
        StreamableHttpError::Client(WebError(reason))
    }

    /// Refuses what is no success, without the credential that was refused.
    async fn accepted(&self, response: Response, in_session: bool) -> WebResult<Response> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            lock(&self.shared).broken = Some("the server ended the session".to_owned());
            return Err(StreamableHttpError::SessionExpired);
        }
        let need = match status {
            StatusCode::UNAUTHORIZED => "; it wants authorization",
            StatusCode::FORBIDDEN => "; the authorization does not suffice",
            _ if status.is_redirection() => "; redirects are not followed",
            _ => "",
        };
        let said = beginning(response).await;
        let gap = if said.is_empty() { "" } else { ": " };
        Err(self.broken(&format!("HTTP {status}{need}{gap}{said}")))
    }

    /// Whether an answer that is no success is the server's answer to the request all the same.
    async fn json(&self, response: Response) -> WebResult<Vec<u8>> {
        let mut whole = Vec::new();
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| self.broken(&plain(&error)))?;
            if whole.len() + chunk.len() > MAX_LINE_BYTES {
                return Err(
                    self.broken(&format!("an answer is longer than {MAX_LINE_BYTES} bytes"))
                );
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// What the SDK may see of a message, and the answers to what it asks.
    fn filtered(&self, message: &[u8]) -> (Vec<String>, Vec<String>) {
        let mut filter = Filter::new(MAX_LINE_BYTES);
        filter.read_line(message, &mut lock(&self.shared));
        (lines(&filter.forward), lines(&filter.replies))
    }

    /// Sends the answers to what the server asked.
    async fn answer(&self, replies: Vec<String>, session: Option<&str>, headers: &Headers) {
        for reply in replies {
            let request = self.request(Method::POST, session, headers.clone());
            let request = request.header(ACCEPT, BOTH).header(CONTENT_TYPE, JSON).body(reply);
            // A server that asks and does not take the answer waits for it, not this client.
            let _ = tokio::time::timeout(REPLYING, request.send()).await;
        }
    }

    /// The events of a response, filtered. What a message leaves of itself stands in events of its
    /// own; its id goes with the last of them.
    fn events(&self, response: Response, session: Option<Arc<str>>, headers: Headers) -> Events {
        let web = self.clone();
        let mut event = (0, 0);
        let bounded = response.bytes_stream().map(move |chunk| -> Result<_, std::io::Error> {
            let chunk = chunk.map_err(std::io::Error::other)?;
            event = unended(event, &chunk);
            match event.0 > MAX_LINE_BYTES {
                true => Err(std::io::Error::other("an event is too long")),
                false => Ok(chunk),
            }
        });
        SseStream::from_bytes_stream(bounded)
            .and_then(move |event| {
                let (web, session, headers) = (web.clone(), session.clone(), headers.clone());
                async move {
                    let Some(data) = &event.data else { return Ok(vec![event]) };
                    // A line break between two lines of data is blank space in JSON.
                    let line = data.replace('\n', " ");
                    let (forward, replies) = web.filtered(line.as_bytes());
                    web.answer(replies, session.as_deref(), &headers).await;
                    if let Some(fault) = lock(&web.shared).fault.clone() {
                        return Err(SseError::Body(fault.into()));
                    }
                    let last = Sse { data: None, ..event };
                    let mut out: Vec<Sse> =
                        forward.into_iter().map(|line| Sse::default().data(line)).collect();
                    match out.last_mut() {
                        Some(end) => *end = Sse { data: end.data.take(), ..last },
                        None => out.push(last),
                    }
                    Ok(out)
                }
            })
            .flat_map(|out| match out {
                Ok(events) => futures_util::stream::iter(events.into_iter().map(Ok)).left_stream(),
                Err(error) => futures_util::stream::iter([Err(error)]).right_stream(),
            })
            .boxed()
    }
}

/// How long the event is that is not over yet, and the last byte, after one more piece: an empty
/// line ends an event, however lines end and wherever the pieces are cut.
fn unended(before: (usize, u8), piece: &[u8]) -> (usize, u8) {
    piece.iter().fold(before, |(size, last), &byte| match (last, byte) {
        (b'\n', b'\n' | b'\r') | (b'\r', b'\r') => (1, byte),
        _ => (size + 1, byte),
    })
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// An error without the address, which may hold a credential.
fn plain(error: &reqwest::Error) -> String {
    let mut text =
        if error.is_connect() { "no connection" } else { "the exchange broke off" }.to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// The first bytes of a body, as text.
async fn beginning(response: Response) -> String {
    let mut kept = Vec::new();
    let mut body = response.bytes_stream();
    while let Some(Ok(chunk)) = body.next().await {
        kept.extend_from_slice(&chunk);
        if kept.len() >= QUOTED {
            break;
        }
    }
    cut(String::from_utf8_lossy(&kept).trim(), QUOTED)
}

fn kind(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

impl StreamableHttpClient for Web {
    type Error = WebError;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        headers: Headers,
    ) -> WebResult<StreamableHttpPostResponse> {
        let line = serde_json::to_vec(&message)?;
        let asks = matches!(message, ClientJsonRpcMessage::Request(_));
        lock(&self.shared).asked(&line);
        let request = self.request(Method::POST, session.as_deref(), headers.clone());
        let request = request.header(ACCEPT, BOTH).header(CONTENT_TYPE, JSON).body(line);
        let mut response = self.send(request).await?;
        let kind = kind(&response);
        if !(asks && kind == JSON) || matches!(response.status(), StatusCode::UNAUTHORIZED) {
            response = self.accepted(response, session.is_some()).await?;
        }
        if !asks || matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let opened = response.headers().get(SESSION).and_then(|value| value.to_str().ok());
        let opened = opened.map(str::to_owned);
        if kind == EVENTS {
            let session = opened.as_deref().map(Arc::from).or(session);
            let events = self.events(response, session, headers);
            return Ok(StreamableHttpPostResponse::Sse(events, opened));
        }
        let status = response.status();
        if kind != JSON {
            return Err(self.broken(&format!("an answer is neither JSON nor events but `{kind}`")));
        }
        let body = self.json(response).await?;
        let (forward, replies) = self.filtered(&body);
        self.answer(replies, session.as_deref(), &headers).await;
        if let Some(fault) = lock(&self.shared).fault.clone() {
            return Err(StreamableHttpError::Client(WebError(fault)));
        }
        let Some(answer) = forward.first() else {
            let said = cut(&String::from_utf8_lossy(&body), QUOTED);
            return Err(self.broken(&format!("HTTP {status} with no answer: {said}")));
        };
        let message: ServerJsonRpcMessage = serde_json::from_str(answer)?;
        Ok(StreamableHttpPostResponse::Json(message, opened))
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        headers: Headers,
    ) -> WebResult<Events> {
        let mut request = self.request(Method::GET, session.as_deref(), headers.clone());
        if let Some(last) = last_event {
            request = request.header(LAST_EVENT, last);
        }
        // A server need not offer one, so that a failure here breaks nothing.
        let sent = request.header(ACCEPT, EVENTS).send().await;
        let response =
            sent.map_err(|error| StreamableHttpError::Client(WebError(plain(&error))))?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => {
                Err(StreamableHttpError::Client(WebError(format!("HTTP {status}"))))
            }
            _ if kind(&response) != EVENTS => {
                Err(StreamableHttpError::UnexpectedContentType(Some(kind(&response))))
            }
            _ => Ok(self.events(response, session, headers)),
        }
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        headers: Headers,
    ) -> WebResult<()> {
        let request = self.request(Method::DELETE, Some(&session), headers);
        // A server need not listen to it.
        request
            .send()
            .await
            .map(drop)
            .map_err(|error| StreamableHttpError::Client(WebError(plain(&error))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_ends_an_event_however_lines_end() {
        let check = |pieces: &[&str], expected: usize| {
            let add = |event, piece: &&str| unended(event, piece.as_bytes());
            assert_eq!(pieces.iter().fold((100, b'x'), add).0, expected, "{pieces:?}");
        };
        check(&["data: x"], 107);
        check(&["data: x\n"], 108);
        check(&["data: x\n\ndata: y"], 8);
        check(&["data: x\r\rdata: y"], 8);
        check(&["data: x\r\n\r\ndata: y"], 9);
        check(&["data: x\n", "\ndata: y"], 8);
        check(&["data: x\r\n", "\r\ndata: y"], 9);
    }
}
