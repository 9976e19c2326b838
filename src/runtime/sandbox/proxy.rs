//! The proxy that is the only way out of an allowlisted sandbox: HTTP, and `CONNECT` for
//! everything else. It runs outside, on a socket of the sandbox's network, decides on each
//! connection by name first and by address afterwards, and connects to the very address it judged.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::egress::Egress;

/// The longest head of a request, in bytes.
const HEAD: usize = 16 << 10;
/// How long a head, a look-up or a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at once; more wait.
const AT_ONCE: usize = 64;
/// Decisions that are kept; the same one is kept once.
const KEPT: usize = 1_000;

/// One decision about a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decision {
    /// `host:port`, as it was asked for.
    pub target: String,
    /// Why not; `None` where it was let through.
    pub refused: Option<&'static str>,
}

/// What was decided, each decision once.
#[derive(Debug, Default)]
pub struct EgressLog(Mutex<BTreeSet<Decision>>);

impl EgressLog {
    fn note(&self, target: &str, refused: Option<&'static str>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.insert(Decision { target: target.to_owned(), refused });
        }
    }

    /// The decisions so far, in order of their targets.
    pub fn decisions(&self) -> Vec<Decision> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Serves until it is dropped; then every connection is closed.
pub async fn serve(listener: &TcpListener, egress: &Egress, log: &EgressLog) {
    let room = Semaphore::new(AT_ONCE);
    let mut open = Connections::default();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { return };
                let room = &room;
                open.0.push(Box::pin(async move {
                    let _held = room.acquire().await;
                    // What goes wrong with one connection is told to its client, if to anybody.
                    let _broken = connection(client, egress, log).await;
                }));
            }
            () = open.turn(), if !open.0.is_empty() => {}
        }
    }
}

/// The open connections: they share the call's own task, and end with it.
#[derive(Default)]
struct Connections<'a>(Vec<std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl Connections<'_> {
    /// Goes on with all of them, until one is done.
    async fn turn(&mut self) {
        std::future::poll_fn(|context| {
            let before = self.0.len();
            self.0.retain_mut(|one| one.as_mut().poll(context).is_pending());
            match self.0.len() < before {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
    }
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// The head as the server gets it; `None` for a tunnel.
    head: Option<Vec<u8>>,
}

async fn connection(mut client: TcpStream, egress: &Egress, log: &EgressLog) -> io::Result<()> {
    let timed = tokio::time::timeout(PATIENCE, head(&mut client)).await;
    let Some((head, rest)) = timed.map_err(|_| io::ErrorKind::TimedOut)?? else {
        return refuse(&mut client, "400 Bad Request", "no request").await;
    };
    let Some(request) = parse(&head) else {
        return refuse(&mut client, "400 Bad Request", "no request that a proxy takes").await;
    };
    let target = format!("{}:{}", request.host, request.port);
    let reached = tokio::time::timeout(PATIENCE, reach(&request, egress)).await;
    let mut server = match reached.unwrap_or(Err("no answer in time")) {
        Ok(server) => server,
        Err(why) => {
            log.note(&target, Some(why));
            return refuse(&mut client, "403 Forbidden", why).await;
        }
    };
    log.note(&target, None);
    match &request.head {
        Some(head) => server.write_all(head).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// Connects, or says why not.
async fn reach(request: &Request, egress: &Egress) -> Result<TcpStream, &'static str> {
    let (host, port) = (request.host.as_str(), request.port);
    egress.name(host, port)?;
    let found = egress.addresses(host, port).await?;
    TcpStream::connect(found.as_slice()).await.map_err(|_| "no connection")
}

/// The head of a request, and what came behind it; `None` where it has no end.
async fn head(client: &mut TcpStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut read = Vec::new();
    let mut chunk = [0; 2048];
    while read.len() < HEAD {
        let count = client.read(&mut chunk).await?;
        if count == 0 {
            return Ok(None);
        }
        read.extend_from_slice(&chunk[..count]);
        if let Some(end) = memchr::memmem::find(&read, b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Ok(Some((read, rest)));
        }
    }
    Ok(None)
}

/// Reads `CONNECT host:port` and requests with a whole `http` address.
fn parse(head: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(head).ok()?;
    let (first, fields) = text.split_once("\r\n")?;
    let mut words = first.split(' ');
    let (method, address, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = split(address, None)?;
        return Some(Request { host, port, head: None });
    }
    let rest = address.strip_prefix("http://")?;
    let cut = rest.find(['/', '?']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(cut);
    let (host, port) = split(place, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut sent = format!("{method} {slash}{path} {version}\r\nHost: {place}\r\n");
    // One request for each connection: a second one might name another host.
    sent.push_str("Connection: close\r\n");
    let dropped = ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"];
    for field in fields.split("\r\n").filter(|field| !field.is_empty()) {
        let name = field.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !dropped.contains(&name.as_str()) {
            sent.push_str(field);
            sent.push_str("\r\n");
        }
    }
    sent.push_str("\r\n");
    Some(Request { host, port, head: Some(sent.into_bytes()) })
}

/// Host and port; nobody's name or password stands before a host here.
fn split(place: &str, port: Option<u16>) -> Option<(String, u16)> {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c));
    if let Some(rest) = place.strip_prefix('[') {
        let (six, after) = rest.split_once(']')?;
        let port = after.strip_prefix(':').map_or(port, |digits| digits.parse().ok())?;
        return plain(six).then(|| (six.to_owned(), port));
    }
    let (host, port) = match place.split_once(':') {
        Some((host, digits)) => (host, digits.parse().ok()?),
        None => (place, port?),
    };
    (!host.is_empty() && plain(host)).then(|| (host.to_owned(), port))
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("refused by the sandbox: {why}\n");
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    client.write_all(head.as_bytes()).await?;
    client.write_all(body.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: Option<(&str, u16, Option<&str>)>) {
        let found = parse(head.as_bytes());
        let expected = expected.map(|(host, port, head)| Request {
            host: host.to_owned(),
            port,
            head: head.map(|head| head.as_bytes().to_vec()),
        });
        assert_eq!(found, expected, "{head}");
    }

    #[test]
    fn requests_of_a_proxy_and_nothing_else() {
        check("CONNECT a.example:443 HTTP/1.1\r\n\r\n", Some(("a.example", 443, None)));
        check("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Some(("::1", 443, None)));
        let sent = "GET /x?y HTTP/1.1\r\nHost: a.example:81\r\nConnection: close\r\nA: b\r\n\r\n";
        check(
            "GET http://a.example:81/x?y HTTP/1.1\r\nhost: other\r\nConnection: keep-alive\r\nA: b\r\n\r\n",
            Some(("a.example", 81, Some(sent))),
        );
        for bad in [
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT a.example:x HTTP/1.1\r\n\r\n",
            "CONNECT a.example:443 HTTP/1.1 more\r\n\r\n",
            "CONNECT a b:443 HTTP/1.1\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET http://user@a.example/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "nothing\r\n\r\n",
        ] {
            check(bad, None);
        }
    }
}
