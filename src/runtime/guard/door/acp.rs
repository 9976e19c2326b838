//! An editor that speaks the Agent Client Protocol: each question is a `session/request_permission`
//! request, one JSON-RPC message a line; the option that the client selects is the answer. Answers
//! may come in any order, and one that answers nothing changes nothing.
//!
//! A strong question offers no plain yes: the one option that allows says what it confirms. A
//! client that allows by itself what is of the kind `allow_once` cannot be told from a person, so
//! that option is of the kind `allow_always`; it grants one call all the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex as Turn, oneshot};

use crate::base::printable::printable;
use crate::runtime::BoxFuture;
use crate::runtime::guard::approval::ApprovalRequest;
use crate::runtime::guard::approver::{Answer, Approver, Verdict};
use crate::runtime::guard::grant::AnswerScope;
use crate::tool::effect::EffectClass;

/// A client at the other end of two streams.
pub struct Acp {
    session: String,
    writer: Turn<Box<dyn AsyncWrite + Send + Unpin>>,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    last: u64,
    closed: bool,
    waiting: BTreeMap<u64, oneshot::Sender<Value>>,
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Acp {
    /// Asks by writing to `writer`, in the session of this id. What comes back is read by the work
    /// that is returned beside, for as long as that is driven; when it ends, nobody is there.
    pub fn new(
        session: impl Into<String>,
        reader: impl AsyncBufRead + Send + Unpin + 'static,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
    ) -> (Self, BoxFuture<'static, ()>) {
        let open = Arc::new(Mutex::new(Open::default()));
        let work = Box::pin(listen(reader, Arc::clone(&open)));
        (Self { session: session.into(), writer: Turn::new(writer), open }, work)
    }

    async fn ask(&self, request: &ApprovalRequest) -> Verdict {
        let (reply, said) = oneshot::channel();
        let id = {
            let mut open = lock(&self.open);
            if open.closed {
                return Verdict::Unreachable;
            }
            open.last += 1;
            let id = open.last;
            open.waiting.insert(id, reply);
            id
        };
        let _waiting = Waiting { open: &self.open, id };
        let mut line = json!({
            "jsonrpc": "2.0",
            "id": id,
            "method": "session/request_permission",
            "params": params(&self.session, request),
        })
        .to_string();
        line.push('\n');
        let sent = async {
            let mut writer = self.writer.lock().await;
            writer.write_all(line.as_bytes()).await?;
            writer.flush().await
        };
        if sent.await.is_err() {
            return Verdict::Unreachable;
        }
        said.await.map_or(Verdict::Unreachable, |answer| read(&answer, request))
    }
}

/// A question that goes away is waited for no longer.
struct Waiting<'a> {
    open: &'a Mutex<Open>,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(self.open).waiting.remove(&self.id);
    }
}

impl Approver for Acp {
    fn channel(&self) -> &'static str {
        "acp"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let verdict = self.ask(request).await;
            Answer { approval_id: request.id.clone(), verdict, decider: "client".to_owned() }
        })
    }
}

/// Hands each response to the question that it answers. Anything else is not for this door.
async fn listen(reader: impl AsyncBufRead + Send + Unpin, open: Arc<Mutex<Open>>) {
    let mut lines = reader.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message.get("method").is_some() {
            continue;
        }
        let id = message.get("id").and_then(Value::as_u64);
        let waiting = id.and_then(|id| lock(&open).waiting.remove(&id));
        if let Some(waiting) = waiting {
            // An error means that the question went away meanwhile.
            let _gone = waiting.send(message);
        }
    }
    let mut open = lock(&open);
    open.closed = true;
    open.waiting.clear();
}

/// The options by id, each with its name and kind.
fn options(request: &ApprovalRequest) -> Vec<(&'static str, String, &'static str)> {
    let mut options: Vec<_> = if request.strong {
        let confirm = format!("confirm: {} runs once, and cannot be undone", request.tool);
        vec![("confirm", confirm, "allow_always")]
    } else {
        let printed = request.options();
        let named = |scope: &AnswerScope| {
            let own = printed.iter().find(|line| line.starts_with(scope.name()));
            let kind = if *scope == AnswerScope::Once { "allow_once" } else { "allow_always" };
            (scope.name(), own.cloned().unwrap_or_default(), kind)
        };
        request.offered.iter().map(named).collect()
    };
    options.push(("no", "no".to_owned(), "reject_once"));
    options
}

fn params(session: &str, request: &ApprovalRequest) -> Value {
    let kind = match request.class {
        EffectClass::Read => "read",
        EffectClass::Write => "edit",
        EffectClass::External => "other",
        EffectClass::Destructive => "delete",
    };
    let because = printable(&request.reasons.join("; "));
    let would = request.rehearsal.as_ref().map_or_else(String::new, |text| {
        let lines: Vec<_> = text.lines().map(printable).collect();
        format!("\nit would do this:\n{}", lines.join("\n"))
    });
    let words = format!("{}\nbecause: {because}{would}", printable(&request.summary));
    let options: Vec<Value> = options(request)
        .into_iter()
        .map(|(id, name, kind)| json!({"optionId": id, "name": printable(&name), "kind": kind}))
        .collect();
    json!({
        "sessionId": session,
        "toolCall": {
            "toolCallId": &*request.call,
            "title": printable(&request.summary),
            "kind": kind,
            "status": "pending",
            "rawInput": request.args,
            "content": [{"type": "content", "content": {"type": "text", "text": words}}],
        },
        "options": options,
    })
}

/// What a response means; whatever it is but a selected option of these is no yes.
fn read(answer: &Value, request: &ApprovalRequest) -> Verdict {
    let outcome = answer.pointer("/result/outcome");
    let word = |key: &str| outcome.and_then(|outcome| outcome.get(key)).and_then(Value::as_str);
    let no = |reason: &str| Verdict::No { reason: reason.to_owned() };
    match (word("outcome"), word("optionId")) {
        (Some("selected"), Some("confirm")) if request.strong => {
            Verdict::Yes { strong: true, scope: AnswerScope::Once }
        }
        (Some("selected"), Some("no")) => no("no"),
        (Some("selected"), Some(said)) => {
            let mut offered = request.offered.iter().filter(|_| !request.strong);
            match offered.find(|scope| scope.name() == said) {
                Some(scope) => Verdict::Yes { strong: false, scope: *scope },
                None => no("the client selected what was not offered"),
            }
        }
        (Some("cancelled"), _) => no("the client cancelled the turn"),
        _ => Verdict::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{BufReader, duplex, split};

    use super::super::sample::request;
    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    /// What a client's answer to a question means.
    fn check(strong: bool, result: Value, expected: &str) {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        let found = match read(&answer, &request("apr_1", strong)) {
            Verdict::Yes { strong, scope } => {
                format!("yes {}{}", scope.name(), if strong { " strong" } else { "" })
            }
            Verdict::No { reason } => format!("no: {reason}"),
            other => format!("{other:?}"),
        };
        assert_eq!(found, expected, "{answer}");
    }

    fn selected(option: &str) -> Value {
        json!({"outcome": {"outcome": "selected", "optionId": option}})
    }

    #[test]
    fn only_a_selected_option_is_a_yes() {
        check(false, selected("once"), "yes once");
        check(false, selected("session"), "yes session");
        check(false, selected("always"), "yes always");
        check(false, selected("no"), "no: no");
        check(false, selected("confirm"), "no: the client selected what was not offered");
        check(true, selected("confirm"), "yes once strong");
        check(true, selected("once"), "no: the client selected what was not offered");
        check(true, selected("always"), "no: the client selected what was not offered");
        check(
            false,
            json!({"outcome": {"outcome": "cancelled"}}),
            "no: the client cancelled the turn",
        );
        check(false, json!({"outcome": {"outcome": "selected"}}), "Unreachable");
        check(false, json!({}), "Unreachable");
    }

    #[test]
    fn the_request_is_the_protocols() {
        let found = params("s1", &request("apr_1", false));
        let call = &found["toolCall"];
        assert_eq!(found["sessionId"], "s1");
        assert_eq!(call["toolCallId"], "call-apr_1");
        assert_eq!((&call["status"], &call["kind"]), (&json!("pending"), &json!("other")));
        assert_eq!(call["rawInput"], json!({"to": "ann@example.org\u{202e}\u{9b}2J"}));
        let text = call.pointer("/content/0/content/text");
        let words = "mail.send (external): Does it.\nbecause: L4 is visible outside\n\
                     it would do this:\n--- a/x\\u{202e}\n+++ b/x";
        assert_eq!(text, Some(&json!(words)));
        let kinds = |strong| {
            let all = params("s1", &request("apr_1", strong))["options"].clone();
            let all = all.as_array().unwrap().iter();
            all.map(|one| format!("{} {}", one["optionId"], one["kind"]).replace('"', "")).collect()
        };
        let plain: Vec<String> = kinds(false);
        let expected =
            ["once allow_once", "session allow_always", "always allow_always", "no reject_once"];
        assert_eq!(plain, expected);
        let strong: Vec<String> = kinds(true);
        assert_eq!(strong, ["confirm allow_always", "no reject_once"]);
    }

    #[test]
    fn answers_find_their_questions_in_any_order() {
        run(async {
            let (near, far) = duplex(1 << 16);
            let (reader, writer) = split(near);
            let (door, work) = Acp::new("s1", BufReader::new(reader), Box::new(writer));
            let client = async move {
                let (reader, mut writer) = split(far);
                let mut lines = BufReader::new(reader).lines();
                let mut asked = Vec::new();
                while asked.len() < 2 {
                    let line = lines.next_line().await.unwrap().unwrap();
                    asked.push(serde_json::from_str::<Value>(&line).unwrap());
                }
                let stray = "no JSON\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\
                             {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/prompt\"}\n";
                writer.write_all(stray.as_bytes()).await.unwrap();
                for (question, option) in asked.iter().rev().zip(["no", "always"]) {
                    let said =
                        json!({"jsonrpc": "2.0", "id": question["id"], "result": selected(option)});
                    writer.write_all(format!("{said}\n").as_bytes()).await.unwrap();
                }
            };
            let (first, second) = (request("apr_1", false), request("apr_2", false));
            let (one, two, (), ()) =
                tokio::join!(door.answer(&first), door.answer(&second), client, work);
            assert_eq!(one.verdict, Verdict::Yes { strong: false, scope: AnswerScope::Always });
            assert_eq!(two.verdict, Verdict::No { reason: "no".to_owned() });
            // The client is gone.
            assert_eq!(door.answer(&first).await.verdict, Verdict::Unreachable);
        });
    }

    #[test]
    fn a_client_that_goes_away_is_nobody() {
        run(async {
            let (near, far) = duplex(1 << 16);
            let (reader, writer) = split(near);
            let (door, work) = Acp::new("s1", BufReader::new(reader), Box::new(writer));
            let leaves = async {
                tokio::task::yield_now().await;
                drop(far);
            };
            let asked = request("apr_1", false);
            let (answer, (), ()) = tokio::join!(door.answer(&asked), leaves, work);
            assert_eq!(answer.verdict, Verdict::Unreachable);
        });
    }
}
