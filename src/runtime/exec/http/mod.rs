//! HTTP operations as tools: one request, made of validated arguments, to a service that the
//! sandbox's plan lets be reached. Secrets are put in here and nowhere before, and taken out of
//! what comes back.
//!
//! Reading order: this file, `exchange`, `answer`.

mod answer;
mod exchange;

use tokio::sync::Notify;

use super::ready::Ready;
use super::{Ended, Ran};
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;
use crate::runtime::credential::Broker;
use crate::runtime::sandbox::web::{Web, reachable};
use crate::tool::http::{ArgumentFault, Operation, Piece, Request};
use crate::tool::sections::Execution;
use exchange::{Kept, Reach};

/// Makes the request and reads the answer, or until `stop` says that it must go.
pub async fn run(ready: &Ready, broker: &Broker, stop: &Notify) -> Ended {
    let execution = &ready.permitted().validated().resolved().tool().descriptor.execution;
    let request = match requested(execution, ready) {
        Ok(request) => request,
        Err(failed) => return Ended::Ran(Box::new(failed)),
    };
    let command = ready.command_line();
    match call(ready, (&request, execution), broker, stop).await {
        Some(ran) => Ended::Ran(Box::new(Ran { command, ..ran })),
        None => Ended::TornDown("its request was dropped and the connection closed"),
    }
}

/// What these arguments ask of the operation.
fn requested(execution: &Execution, ready: &Ready) -> Result<Request, Ran> {
    let section = execution.http.as_ref();
    let operation = section.and_then(|http| Operation::parse(http).ok());
    let Some(operation) = operation else {
        let message = "execution.http is no operation";
        return Err(failed(Blame::Tool, "no_operation", message.to_owned()));
    };
    let fault = |fault: ArgumentFault| failed(Blame::Model, "argument", fault.to_string());
    operation.request(ready.args()).map_err(fault)
}

/// `None` when it was stopped.
async fn call(
    ready: &Ready,
    (request, execution): (&Request, &Execution),
    broker: &Broker,
    stop: &Notify,
) -> Option<Ran> {
    let prepared = ready.plan().web.as_ref().ok_or_else(|| refused("there is no plan for it"));
    let prepared = prepared.and_then(|web| prepared_for(web, request, (ready, broker)));
    let wanted = match prepared {
        Ok(wanted) => wanted,
        Err(ran) => return Some(ran),
    };
    let secrets = broker.secrets();
    let mut kept = Kept::new(ready.plan().max_output_bytes, secrets);
    let end = tokio::select! {
        biased;
        end = exchange::exchange(wanted, &mut kept, ready.plan().timeout_ms) => end,
        () = stop.notified() => return None,
    };
    Some(answer::answer(end, &kept, (request, execution), secrets))
}

/// The request as it is sent.
fn prepared_for(
    web: &Web,
    request: &Request,
    (ready, broker): (&Ready, &Broker),
) -> Result<reqwest::RequestBuilder, Ran> {
    reachable(&web.egress, &request.host, request.port).map_err(refused)?;
    let mut headers = Vec::new();
    for (name, pieces) in &request.headers {
        headers.push((name.as_str(), header(pieces, broker)?));
    }
    let execution = &ready.permitted().validated().resolved().tool().descriptor.execution;
    let named = execution.http.as_ref().and_then(|http| http.idempotency_header.as_deref());
    if let Some((name, key)) = named.zip(ready.idempotency_key()) {
        headers.push((name, (key.to_owned(), false)));
    }
    exchange::request(web, request, headers)
        .map_err(|why| failed(Blame::Environment, "request", why))
}

/// A header's value, and whether a secret is in it.
fn header(pieces: &[Piece], broker: &Broker) -> Result<(String, bool), Ran> {
    let (mut value, mut is_secret) = (String::new(), false);
    for piece in pieces {
        match piece {
            Piece::Text(text) => value.push_str(text),
            // Arguments were put in as text.
            Piece::Argument(_) => {}
            Piece::Secret(name) => {
                let secret = broker.secret(name).map(|secret| secret.expose().trim());
                let usable = secret.filter(|value| !value.chars().any(char::is_control));
                let Some(secret) = usable else {
                    let message = format!("credential {name} is not held, or fits in no header");
                    return Err(failed(Blame::Operator, "credential", message));
                };
                value.push_str(secret);
                is_secret = true;
            }
        }
    }
    Ok((value, is_secret))
}

/// As a sandbox says it of a connection of a command.
fn refused(why: &'static str) -> Ran {
    failed(Blame::Environment, "egress", format!("refused by the sandbox: {why}"))
}

/// A failure before anything was reached.
fn failed(blame: Blame, code: &str, message: String) -> Ran {
    Ran { effects: seen(&Reach::Not), ..Ran::failed(blame, code, message) }
}

/// What was seen of a request: which service was reached. What it did there is not seen.
fn seen(reach: &Reach) -> ObservedEffects {
    let (method, external_calls) = match reach {
        Reach::Not => ("http", Vec::new()),
        Reach::Reached(place) => ("http", vec![place.clone()]),
        Reach::Unknown => ("unknown", Vec::new()),
    };
    ObservedEffects { method: method.to_owned(), external_calls, ..ObservedEffects::default() }
}
