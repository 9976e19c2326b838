//! What an answer, or the want of one, says of the call.

use serde_json::Value;

use super::exchange::{End, Head, Kept, Reach};
use super::seen;
use crate::base::secret::SecretSet;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::exec::parsed::parsed;
use crate::runtime::exec::{Attachment, Ran};
use crate::tool::http::{Http, Request};
use crate::tool::sections::{Execution, OutputParser};

/// The result of a request.
pub(super) fn answer(
    end: End,
    kept: &Kept<'_>,
    (request, execution): (&Request, &Execution),
    secrets: &SecretSet,
) -> Ran {
    let place = format!("{}:{}", request.host, request.port);
    let reach = reach(&end, kept, &place);
    let fault = fault(end, kept, (&place, execution.http.as_ref()), secrets);
    let body = body(kept, secrets);
    let refused = kept.head.as_ref().is_some_and(|head| head.status == 401);
    let unauthorized = refused && fault.is_some();
    let ran = Ran { fault, effects: seen(&reach), unauthorized, ..body };
    let text = ran.output.clone();
    if text.trim().is_empty() {
        // An answer without a body, such as that of a deletion, is no JSON and not meant to be.
        return ran;
    }
    match execution.parser {
        OutputParser::Text if says_json(kept) && ran.fault.is_none() => {
            let structured = serde_json::from_str::<Value>(&text).ok();
            Ran { structured, ..ran }
        }
        parser => parsed(ran, &text, parser),
    }
}

fn reach(end: &End, kept: &Kept<'_>, place: &str) -> Reach {
    match end {
        _ if kept.head.is_some() => Reach::Reached(place.to_owned()),
        End::Answered | End::NoTls(_) | End::Broken => Reach::Reached(place.to_owned()),
        End::Refused(_) | End::NoConnection => Reach::Not,
        End::TimedOut(_) => Reach::Unknown,
    }
}

fn fault(
    end: End,
    kept: &Kept<'_>,
    (place, http): (&str, Option<&Http>),
    secrets: &SecretSet,
) -> Option<Fault> {
    let (blame, code, message) = match (end, &kept.head) {
        (End::Answered, Some(head)) => return refusal(head, http, secrets),
        (End::Answered | End::Broken, _) => {
            (Blame::Server, "broken", format!("the connection to {place} broke off"))
        }
        (End::TimedOut(ms), _) => (Blame::Server, "timeout", format!("no end after {ms} ms")),
        (End::Refused(why), _) => {
            (Blame::Environment, "egress", format!("refused by the sandbox: {why}"))
        }
        (End::NoConnection, _) => {
            (Blame::Server, "no_connection", format!("no connection to {place}"))
        }
        (End::NoTls(why), _) => {
            (Blame::Server, "tls", format!("no encrypted connection to {place}: {why}"))
        }
    };
    Some(Fault { blame, code: code.to_owned(), message })
}

/// What a status says, where it is no success.
fn refusal(head: &Head, http: Option<&Http>, secrets: &SecretSet) -> Option<Fault> {
    let Head { status, leads_to, .. } = head;
    let named = http.map(|http| http.success.as_slice()).unwrap_or_default();
    let success =
        if named.is_empty() { (200..300).contains(status) } else { named.contains(status) };
    if success {
        return None;
    }
    let fault = |blame, code: &str, message| Some(Fault { blame, code: code.to_owned(), message });
    match status {
        401 | 403 => {
            let message = format!(
                "the service answers {status}: it must be authorized again before it is called"
            );
            fault(Blame::Operator, "reauthorize", message)
        }
        300..=399 => {
            let to = leads_to.as_deref().unwrap_or("somewhere else");
            let to = secrets.scrub(to);
            let message =
                format!("the service answers {status} and leads to {to}; it is not followed");
            fault(Blame::Server, "redirect", message)
        }
        _ => {
            let blame = if *status < 500 { Blame::Tool } else { Blame::Server };
            fault(blame, &format!("http_{status}"), format!("the service answers {status}"))
        }
    }
}

/// The body: as text where it is text, else attached.
fn body(kept: &Kept<'_>, secrets: &SecretSet) -> Ran {
    let effects = seen(&Reach::Not);
    let Some(found) = kept.body.media_type() else {
        return Ran::ok(kept.body.text(), effects);
    };
    let said = kept.head.as_ref().and_then(|head| head.media_type.as_deref());
    let media_type = said.map_or_else(|| found.into(), |said| secrets.scrub(said));
    let total = kept.body.total();
    let attachment = Attachment { total, ..Attachment::new(media_type, kept.body.bytes()) };
    Ran { attachments: vec![attachment], ..Ran::ok("", effects) }
}

/// Whether the service says that its body is JSON.
fn says_json(kept: &Kept<'_>) -> bool {
    let said = kept.head.as_ref().and_then(|head| head.media_type.as_deref());
    let kind = said.unwrap_or_default().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}
