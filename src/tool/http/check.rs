//! What must hold between the operation and the rest of its descriptor before it is loaded.

use super::operation::{Operation, Wrong, place};
use super::text::arguments;
use super::{ADAPTER, Http, Scheme};
use crate::tool::descriptor::{CredentialStrategy, Descriptor, EgressPolicy};

/// Headers that belong to the connection, or to whoever makes the request.
const OWN_HEADERS: [&str; 11] = [
    "host",
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Names that no public server has (RFC 6761): credentials may go there in the open, since whoever
/// runs the tool must say what such a name stands for.
const RESERVED: [&str; 2] = ["test", "localhost"];

/// Everything that is wrong, each with a JSON pointer from the descriptor.
pub(in crate::tool) fn check(descriptor: &Descriptor) -> Vec<Wrong> {
    let execution = &descriptor.execution;
    let Some(http) = &execution.http else {
        let missing = "the adapter `http` needs a section `http`";
        let is_http = execution.adapter == ADAPTER;
        return is_http.then(|| Wrong::new("/execution", missing)).into_iter().collect();
    };
    if execution.adapter != ADAPTER {
        let message = format!("`http` is a key of the adapter `{ADAPTER}` alone");
        return vec![Wrong::new("/execution/http", message)];
    }
    let mut found = headers(http);
    match Operation::parse(http) {
        Ok(operation) => {
            found.extend(bindings(descriptor, &operation));
            found.extend(secrets(descriptor, &operation));
            found.extend(whole(descriptor, http, &operation));
        }
        Err(wrong) => found.extend(wrong),
    }
    let below = |wrong: Wrong| match wrong.at.strip_prefix("//") {
        Some(absolute) => Wrong { at: format!("/{absolute}"), ..wrong },
        None => Wrong { at: format!("/execution/http{}", wrong.at), ..wrong },
    };
    found.into_iter().map(below).collect()
}

fn headers(http: &Http) -> Vec<Wrong> {
    let named = http.headers.keys().map(|name| (place("headers", name), name));
    let key = http.idempotency_header.iter().map(|name| ("/idempotencyHeader".to_owned(), name));
    let wrong = |(at, name): (String, &String)| {
        let lower = name.to_ascii_lowercase();
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let twice = || {
            let same = |other: &&String| other.to_ascii_lowercase() == lower;
            let key = http.idempotency_header.iter();
            http.headers.keys().chain(key).filter(same).count() > 1
        };
        let message = if name.is_empty() || !name.chars().all(token) {
            format!("`{name}` is no name of a header")
        } else if OWN_HEADERS.contains(&lower.as_str()) {
            format!("the header `{name}` is set by the runtime alone")
        } else if lower == "content-type" && http.body.is_some() {
            "the body says what its type is".to_owned()
        } else if twice() {
            format!("the header `{name}` stands here twice")
        } else if http.headers.get(name).is_some_and(|text| text.chars().any(char::is_control)) {
            "it holds a control character".to_owned()
        } else {
            return None;
        };
        Some(Wrong::new(at, message))
    };
    named.chain(key).filter_map(wrong).collect()
}

/// Every binding names a property, and every property is bound.
fn bindings(descriptor: &Descriptor, operation: &Operation) -> Vec<Wrong> {
    let schema = &descriptor.schemas.input_schema;
    let is_there = |name: &str| schema["properties"].get(name).is_some();
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|list| list.contains(&name.into()));
    let mut found = Vec::new();
    for name in operation.address.arguments() {
        if !is_there(name) {
            found.push(Wrong::new("/url", no_property(name)));
        } else if !required(name) {
            let message = format!("`{name}` is not required, and an address needs all its parts");
            found.push(Wrong::new("/url", message));
        }
    }
    for (key, texts) in [("query", &operation.query), ("headers", &operation.headers)] {
        for (entry, pieces) in texts {
            let absent = arguments(pieces).filter(|name| !is_there(name));
            found.extend(absent.map(|name| Wrong::new(place(key, entry), no_property(name))));
        }
    }
    let of = operation.body.iter().flat_map(|(_, of)| of).enumerate();
    let absent = of.filter(|(_, name)| !is_there(name));
    found.extend(absent.map(|(at, name)| Wrong::new(format!("/body/of/{at}"), no_property(name))));
    let rest = operation.body.as_ref().is_some_and(|(_, of)| of.is_empty());
    let marker = descriptor.permissions.approval_marker.as_deref();
    let properties = schema["properties"].as_object().into_iter().flat_map(|map| map.keys());
    for name in properties.filter(|name| !rest && marker != Some(name.as_str())) {
        let inside = operation.body.iter().any(|(_, of)| of.contains(name));
        if !inside && !operation.outside().any(|bound| bound == name) {
            let message = format!("the argument `{name}` is bound nowhere, and would be dropped");
            found.push(Wrong::new("", message));
        }
    }
    found
}

fn no_property(name: &str) -> String {
    format!("the input schema has no property `{name}`")
}

/// Whoever uses a credential says so, and it goes to one host, encrypted.
fn secrets(descriptor: &Descriptor, operation: &Operation) -> Vec<Wrong> {
    let credentials = &descriptor.credentials;
    let mut found = Vec::new();
    for (entry, pieces) in &operation.headers {
        let undeclared = super::text::secrets(pieces)
            .filter(|name| !credentials.required_secrets.iter().any(|known| known == name));
        found.extend(undeclared.map(|name| {
            let message = format!("the secret `{name}` is not in `credentials.requiredSecrets`");
            Wrong::new(place("headers", entry), message)
        }));
    }
    if operation.secrets().next().is_none() {
        return found;
    }
    if credentials.strategy == CredentialStrategy::None {
        let message = "a credential is used, and the strategy is `none`";
        found.push(Wrong::new("//credentials", message));
    }
    let Some((host, _)) = operation.fixed_place() else {
        let message = "a credential goes to one host, and here an argument says which";
        found.push(Wrong::new("/url", message));
        return found;
    };
    let reserved = RESERVED.contains(&host.rsplit('.').next().unwrap_or_default());
    if operation.scheme() == Scheme::Http && !reserved {
        found.push(Wrong::new("/url", "a credential would be sent in the open; write `https://`"));
    }
    found
}

/// What the other sections must say.
fn whole(descriptor: &Descriptor, http: &Http, operation: &Operation) -> Vec<Wrong> {
    let mut found = Vec::new();
    let allowlist = descriptor.sandbox.network.egress_policy == EgressPolicy::Allowlist;
    if operation.address.is_open() && !allowlist {
        let message = "an argument says which host is called; that needs \
                       `sandbox.network.egressPolicy: allowlist`";
        found.push(Wrong::new("/url", message));
    }
    if http.idempotency_header.is_some() && !descriptor.effects.idempotent {
        let message = "only an idempotent tool has a key; set `effects.idempotent`";
        found.push(Wrong::new("/idempotencyHeader", message));
    }
    if !descriptor.execution.command.is_empty() {
        found.push(Wrong::new("//execution/command", "an HTTP operation runs no program"));
    }
    found
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
