//! A real client over a real socket.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::sample::request;
use super::*;

const TOKEN: &str = "a token of this session";

struct Client {
    address: String,
    token: &'static str,
    host: &'static str,
}

impl Client {
    /// Status and body of one exchange.
    async fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let Self { token, host, .. } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, body.to_owned())
    }

    async fn pending(&self) -> Vec<String> {
        let (status, body) = self.send("GET", "/approvals", "").await;
        assert_eq!(status, 200, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        let all = body["pending"].as_array().unwrap().iter();
        all.map(|one| one["approvalId"].as_str().unwrap().to_owned()).collect()
    }
}

/// A channel that is served, and a client of it, for as long as `work` runs.
fn served<T, F: Future<Output = T>>(work: impl FnOnce(BackChannel, Client) -> F) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let channel = BackChannel::default();
        let client = Client { address, token: TOKEN, host: "127.0.0.1" };
        let server = channel.clone();
        tokio::select! {
            found = work(channel, client) => found,
            ended = server.serve(listener, Secret::new(TOKEN)) => panic!("{ended:?}"),
        }
    })
}

async fn until(client: &Client, expected: &[&str]) {
    while client.pending().await != expected {
        tokio::task::yield_now().await;
    }
}

#[test]
fn each_answer_goes_to_its_question() {
    served(|channel, client| async move {
        let (first, second) = (request("apr_1", false), request("apr_2", true));
        let operator = async {
            until(&client, &["apr_1", "apr_2"]).await;
            let check = async |path: &str, body: &str, status: u16, word: &str| {
                let (found, said) = client.send("POST", path, body).await;
                assert_eq!(found, status, "{path} {body}: {said}");
                assert!(said.contains(word), "{path} {body}: {said}");
            };
            // What is no answer leaves the question open.
            check("/approvals/apr_9", r#"{"verdict":"yes","decider":"ann"}"#, 404, "open").await;
            check("/approvals/apr_2", "yes", 400, "JSON").await;
            check("/approvals/apr_2", r#"{"verdict":"maybe","decider":"ann"}"#, 400, "maybe").await;
            check("/approvals/apr_2", r#"{"verdict":"yes"}"#, 400, "decider").await;
            check("/approvals/apr_2", r#"{"verdict":"yes","decider":" "}"#, 400, "decider").await;
            check("/approvals/apr_2", r#"{"verdict":"yes","by":"ann"}"#, 400, "by").await;
            let plain = r#"{"verdict":"yes","decider":"ann"}"#;
            check("/approvals/apr_2", plain, 422, "stronger").await;
            let wide = r#"{"verdict":"yes","strong":true,"scope":"always","decider":"ann"}"#;
            check("/approvals/apr_2", wide, 422, "not offered").await;
            check("/approvals/apr_1", r#"{"verdict":"replace","decider":"ann"}"#, 422, "text")
                .await;
            until(&client, &["apr_1", "apr_2"]).await;
            let strong = r#"{"verdict":"yes","strong":true,"decider":"ann"}"#;
            check("/approvals/apr_2", strong, 200, "apr_2").await;
            check("/approvals/apr_2", strong, 404, "answered").await;
            let no = r#"{"verdict":"no","reason":"not today","decider":"bea"}"#;
            check("/approvals/apr_1", no, 200, "apr_1").await;
            until(&client, &[]).await;
        };
        let (one, two, ()) =
            tokio::join!(channel.answer(&first), channel.answer(&second), operator);
        assert_eq!(one.verdict, Verdict::No { reason: "not today".to_owned() });
        assert_eq!(two.verdict, Verdict::Yes { strong: true, scope: AnswerScope::Once });
        assert_eq!((one.decider.as_str(), two.decider.as_str()), ("bea", "ann"));
    });
}

#[test]
fn a_question_that_went_away_cannot_be_answered() {
    served(|channel, client| async move {
        let asked = request("apr_1", false);
        tokio::select! {
            _ = channel.answer(&asked) => panic!("nobody answered"),
            () = until(&client, &["apr_1"]) => {}
        }
        assert!(client.pending().await.is_empty());
        let said = client.send("POST", "/approvals/apr_1", r#"{"verdict":"yes","decider":"ann"}"#);
        assert_eq!(said.await.0, 404);
    });
}

#[test]
fn only_who_knows_the_token_and_names_this_machine_may_ask() {
    served(|_, client| async move {
        let Client { address, .. } = client;
        let check = async |token: &'static str, host: &'static str, status: u16| {
            let client = Client { address: address.clone(), token, host };
            for (method, path) in
                [("GET", "/approvals"), ("GET", "/events"), ("POST", "/approvals/x")]
            {
                if status == 200 && path != "/approvals" {
                    continue;
                }
                assert_eq!(
                    client.send(method, path, "{}").await.0,
                    status,
                    "{token} {host} {path}"
                );
            }
        };
        check(TOKEN, "127.0.0.1", 200).await;
        check(TOKEN, "localhost:80", 200).await;
        check("another token", "127.0.0.1", 401).await;
        check("", "localhost", 401).await;
        // A page that made its own name mean this machine.
        check(TOKEN, "elsewhere.example", 403).await;
        check(TOKEN, "elsewhere.example:80", 403).await;
    });
}

#[test]
fn who_listens_is_told_what_waits_and_what_becomes_of_it() {
    served(|channel, client| async move {
        let early = request("apr_1", false);
        let late = request("apr_2", false);
        let listener = async {
            until(&client, &["apr_1"]).await;
            let mut stream = TcpStream::connect(&client.address).await.unwrap();
            let head = format!(
                "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            let (mut text, mut answered) = (String::new(), false);
            let mut chunk = [0; 4096];
            while text.lines().filter(|line| line.starts_with("event: ")).count() < 3 {
                let count = stream.read(&mut chunk).await.unwrap();
                text.push_str(&String::from_utf8_lossy(&chunk[..count]));
                if !answered && text.contains("apr_2") {
                    let yes = r#"{"verdict":"yes","decider":"ann"}"#;
                    client.send("POST", "/approvals/apr_2", yes).await;
                    answered = true;
                }
            }
            text
        };
        let both = async {
            let second = async {
                until(&client, &["apr_1"]).await;
                channel.answer(&late).await
            };
            tokio::select! {
                _ = channel.answer(&early) => panic!("nobody answered"),
                answer = second => assert!(matches!(answer.verdict, Verdict::Yes { .. })),
            }
        };
        let (text, ()) = tokio::join!(listener, both);
        let told = text.lines().filter_map(|line| line.strip_prefix("event: "));
        assert_eq!(told.take(3).collect::<Vec<_>>(), ["pending", "pending", "answered"], "{text}");
    });
}
