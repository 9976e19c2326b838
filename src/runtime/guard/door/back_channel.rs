//! A person elsewhere: questions wait at an HTTP address on loopback until somebody answers one by
//! its id.
//!
//! - `GET /approvals` answers `{"pending": [..]}`: every open question, oldest first.
//! - `POST /approvals/ID` takes `{"verdict": "yes", "scope": "once", "strong": false, "decider":
//!   "ann"}`, or `no` with a `reason`, or `replace` with a `text`.
//! - `GET /events` streams server-sent events: `pending` for questions (those that wait already
//!   first), `answered` and `withdrawn` with the id.
//!
//! Every request carries the token (`Authorization: Bearer TOKEN`) and names a loopback host, so
//! that neither another user of the machine nor a page in a browser can answer. A question has the
//! time that its request states; that nobody answered is then a timeout, and no person's no.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, oneshot};

use super::question;
use crate::base::secret::Secret;
use crate::runtime::BoxFuture;
use crate::runtime::guard::approval::ApprovalRequest;
use crate::runtime::guard::approver::{Answer, Approver, Verdict};
use crate::runtime::guard::grant::AnswerScope;

/// News that a slow listener may fall behind before it must read the list again.
const NEWS: usize = 256;

/// Questions that wait, and who listens.
#[derive(Clone)]
pub struct BackChannel {
    board: Arc<Board>,
}

struct Board {
    open: Mutex<VecDeque<Open>>,
    news: broadcast::Sender<News>,
}

struct Open {
    id: String,
    question: Value,
    offered: Vec<AnswerScope>,
    strong: bool,
    reply: oneshot::Sender<(Verdict, String)>,
}

#[derive(Clone)]
struct News {
    kind: &'static str,
    data: Value,
}

impl Board {
    fn open(&self) -> MutexGuard<'_, VecDeque<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, kind: &'static str, data: Value) {
        // An error means that nobody listens.
        let _nobody = self.news.send(News { kind, data });
    }

    fn take(&self, id: &str) -> Option<Open> {
        let mut open = self.open();
        let place = open.iter().position(|one| one.id == id)?;
        open.remove(place)
    }
}

impl Default for BackChannel {
    fn default() -> Self {
        let (news, _) = broadcast::channel(NEWS);
        Self { board: Arc::new(Board { open: Mutex::default(), news }) }
    }
}

impl BackChannel {
    /// Serves until it is dropped. The listener must be bound to loopback by whoever gives it.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(&self, listener: TcpListener, token: Secret) -> std::io::Result<()> {
        let guard = middleware::from_fn_with_state(Arc::new(token), guard);
        let router = axum::Router::new()
            .route("/approvals", get(pending))
            .route("/approvals/{id}", post(answered))
            .route("/events", get(events))
            .layer(guard)
            .with_state(Arc::clone(&self.board));
        axum::serve(listener, router).await
    }
}

/// A question that goes away unanswered is withdrawn.
struct Waiting<'a> {
    board: &'a Board,
    id: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.board.take(self.id).is_some() {
            self.board.tell("withdrawn", json!({"approvalId": self.id}));
        }
    }
}

impl Approver for BackChannel {
    fn channel(&self) -> &'static str {
        "back_channel"
    }

    fn answer<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let (reply, said) = oneshot::channel();
            let open = Open {
                id: request.id.clone(),
                question: question(request),
                offered: request.offered.clone(),
                strong: request.strong,
                reply,
            };
            let news = open.question.clone();
            self.board.open().push_back(open);
            self.board.tell("pending", news);
            let _waiting = Waiting { board: &self.board, id: &request.id };
            let nobody = || (Verdict::Unreachable, "nobody".to_owned());
            let (verdict, decider) = said.await.unwrap_or_else(|_| nobody());
            Answer { approval_id: request.id.clone(), verdict, decider }
        })
    }
}

/// Who may talk to the channel at all.
async fn guard(State(token): State<Arc<Secret>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !names_loopback(headers) || headers.contains_key(header::ORIGIN) {
        return refusal(StatusCode::FORBIDDEN, "only programs of this machine may ask");
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let told = bearer.and_then(|value| value.strip_prefix("Bearer "));
    if !told.is_some_and(|told| token.is(told)) {
        return refusal(StatusCode::UNAUTHORIZED, "the token is missing or is another one");
    }
    next.run(request).await
}

fn names_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn refusal(status: StatusCode, message: impl Into<String>) -> Response {
    (status, Json(json!({"error": message.into()}))).into_response()
}

async fn pending(State(board): State<Arc<Board>>) -> Json<Value> {
    let open: Vec<Value> = board.open().iter().map(|one| one.question.clone()).collect();
    Json(json!({"pending": open}))
}

/// An answer as it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    verdict: SaidVerdict,
    #[serde(default)]
    scope: SaidScope,
    #[serde(default)]
    strong: bool,
    reason: Option<String>,
    text: Option<String>,
    decider: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SaidVerdict {
    Yes,
    No,
    Replace,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SaidScope {
    #[default]
    Once,
    Session,
    Always,
}

impl From<SaidScope> for AnswerScope {
    fn from(said: SaidScope) -> Self {
        match said {
            SaidScope::Once => Self::Once,
            SaidScope::Session => Self::Session,
            SaidScope::Always => Self::Always,
        }
    }
}

impl Said {
    /// What it means for this question; or what is wrong with it. Nothing is rounded to what was
    /// offered: whoever asks for more than that is told.
    fn verdict(&self, open: &Open) -> Result<Verdict, String> {
        match self.verdict {
            SaidVerdict::No => {
                let reason = self.reason.clone().unwrap_or_else(|| "no".to_owned());
                Ok(Verdict::No { reason })
            }
            SaidVerdict::Replace => match &self.text {
                Some(text) => Ok(Verdict::Replace { text: text.clone() }),
                None => Err("`replace` needs a `text`".to_owned()),
            },
            SaidVerdict::Yes if open.strong && !self.strong => {
                Err("this question needs the stronger confirmation: `\"strong\": true`".to_owned())
            }
            SaidVerdict::Yes => {
                let scope = AnswerScope::from(self.scope);
                match open.offered.contains(&scope) {
                    true => Ok(Verdict::Yes { strong: self.strong, scope }),
                    false => Err(format!("the scope `{}` is not offered", scope.name())),
                }
            }
        }
    }
}

async fn answered(
    State(board): State<Arc<Board>>,
    Path(id): Path<String>,
    said: Result<Json<Said>, JsonRejection>,
) -> Response {
    let said = match said {
        Ok(Json(said)) if said.decider.trim().is_empty() => {
            return refusal(StatusCode::BAD_REQUEST, "`decider` says who answers");
        }
        Ok(Json(said)) => said,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    let open = {
        let mut all = board.open();
        let Some(place) = all.iter().position(|one| one.id == id) else {
            let why = "no such question is open: it was answered, went away, or never was";
            return refusal(StatusCode::NOT_FOUND, why);
        };
        match said.verdict(&all[place]) {
            Err(why) => return refusal(StatusCode::UNPROCESSABLE_ENTITY, why),
            Ok(verdict) => all.remove(place).map(|open| (open, verdict)),
        }
    };
    let sent = open.map(|(open, verdict)| open.reply.send((verdict, said.decider)).is_ok());
    if sent != Some(true) {
        return refusal(StatusCode::GONE, "the question went away");
    }
    board.tell("answered", json!({"approvalId": id}));
    Json(json!({"accepted": id})).into_response()
}

async fn events(
    State(board): State<Arc<Board>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    // Listening begins before the list is read: a question is told twice rather than never.
    let news = board.news.subscribe();
    let open = board.open();
    let waiting: VecDeque<News> =
        open.iter().map(|one| News { kind: "pending", data: one.question.clone() }).collect();
    drop(open);
    let told = stream::unfold((waiting, news), |(mut waiting, mut news)| async move {
        let next = match waiting.pop_front() {
            Some(one) => one,
            None => match news.recv().await {
                Ok(one) => one,
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    News { kind: "missed", data: json!({"read": "/approvals"}) }
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            },
        };
        let event = Event::default().event(next.kind).data(next.data.to_string());
        Some((Ok(event), (waiting, news)))
    });
    Sse::new(told).keep_alive(KeepAlive::default())
}

#[cfg(test)]
#[path = "back_channel_tests.rs"]
mod tests;
