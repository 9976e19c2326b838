//! A credential enters the request, and nothing that is kept of it.

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use proofmark::base::digest::hex;
use proofmark::base::media::base64;
use proofmark::base::percent::percent;
use proofmark::journal::outcome::Blame;
use serde_json::json;

use super::scene::{KEY, Server, call, record, tool};

/// What a careless server says of a header.
pub fn told(auth: &str, how: &str) -> Response {
    // Without the word before it, whose shape alone would give it away.
    let auth = auth.trim_start_matches("Bearer ");
    let shifted = |before: &str| base64(format!("{before}{auth}").as_bytes());
    let text = match how {
        "raw" => auth.to_owned(),
        "json" => json!({"a": {"b": [auth]}}).to_string(),
        "escaped" => format!("{:?}", json!({"a": auth}).to_string()),
        "base64" => [shifted(""), shifted("a"), shifted("ab")].join(" "),
        "url" => format!("{} {}", percent(auth), percent(auth).to_ascii_lowercase()),
        "form" => percent(auth).replace("%20", "+"),
        "hex" => hex(auth.as_bytes()),
        "split" => {
            let pieces: Vec<_> = auth.bytes().map(|b| Ok(Bytes::from(vec![b]))).collect();
            return Body::from_stream(stream::iter::<Vec<Result<_, std::io::Error>>>(pieces))
                .into_response();
        }
        "late" => "x".repeat(2000 - 15) + auth,
        "binary" => format!("\0{auth}\0 {}", base64(auth.as_bytes())),
        "type" => {
            let kind = format!("image/{}", hex(auth.as_bytes()));
            return ([(header::CONTENT_TYPE, kind)], b"\0\xff".as_slice()).into_response();
        }
        "redirect" => {
            let to = format!("http://{}.test/", hex(auth.as_bytes()));
            return (StatusCode::FOUND, [(header::LOCATION, to)]).into_response();
        }
        "refusal" => return (StatusCode::UNAUTHORIZED, format!("no {auth}")).into_response(),
        "half" => {
            let half = Bytes::from(auth[..auth.len() - 4].to_owned());
            let first = stream::once(async { Ok::<_, std::io::Error>(half) });
            return Body::from_stream(first.chain(stream::pending())).into_response();
        }
        other => panic!("{other}"),
    };
    text.into_response()
}

/// Every way in which the credential, or most of it, may be spelled.
fn spellings() -> Vec<String> {
    let mut out = vec![
        KEY.to_owned(),
        KEY[..KEY.len() - 6].to_owned(),
        percent(KEY),
        percent(KEY).to_ascii_lowercase(),
        percent(KEY).replace("%20", "+"),
        hex(KEY.as_bytes()),
    ];
    for before in ["", "a", "ab"] {
        let text = base64(format!("{before}{KEY}").as_bytes());
        out.push(text[text.len() - 20..].to_owned());
        out.push(text[4..24].to_owned());
    }
    out
}

#[test]
fn nothing_that_a_server_says_of_it_is_kept() {
    let server = Server::start();
    let ways = [
        "raw", "json", "escaped", "base64", "url", "form", "hex", "split", "late", "binary",
        "type", "redirect", "refusal", "half",
    ];
    for how in ways {
        let limit = if how == "half" { "timeoutMs: 500" } else { "timeoutMs: 20000" };
        let tool = tool(&[("/v1/items/{id}/x", "/secret/{id}"), ("timeoutMs: 20000", limit)]);
        let left = call(&server.host(), tool, json!({"id": how}));
        assert_eq!(server.seen().last().unwrap().headers["authorization"], format!("Bearer {KEY}"));
        let record = record(&left.played);
        // The record spells texts with escapes of its own; a credential without quotes has none.
        for spelling in spellings() {
            let at = record.find(&spelling);
            assert_eq!(at, None, "{how}: {spelling} in {}", left.transcript());
        }
    }
}

/// A model that writes the name of a secret has no more than the name.
#[test]
fn a_secret_is_put_in_for_its_author_alone() {
    let server = Server::start();
    let args = json!({"id": "${secret:KEY}", "q": "${secret:KEY}", "h": "${secret:KEY}"});
    call(&server.host(), tool(&[]), args);
    let seen = server.seen().pop().unwrap();
    assert_eq!(seen.headers["x-note"], "a ${secret:KEY}");
    assert!(!seen.target.contains("tok"), "{}", seen.target);
}

#[test]
fn a_credential_that_fits_in_no_header_is_the_operators_fault() {
    let server = Server::start();
    let mut play = super::scene::play(&server.host(), tool(&[]), &[json!({"id": 7})]);
    play.secrets = vec![("KEY", proofmark::base::secret::Secret::new("line\r\nEvil: header"))];
    let left = super::scene::left(play.ends());
    assert_eq!(left.code(), Some((Blame::Operator, "credential")));
    assert_eq!(server.seen(), []);
}
