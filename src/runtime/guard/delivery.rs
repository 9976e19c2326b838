//! What the ingress gives a call: delivery defaults, and the approval marker that only the runtime
//! may set.

use serde_json::{Map, Value};

use crate::runtime::catalog::Registered;

/// How a message came in, and where an answer goes. The front door fills it; nothing reads
/// configuration again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Envelope {
    /// `cli`, `channel`, `acp`, `websocket`, `gateway`, `cron` or `delegate`.
    pub ingress: Option<String>,
    /// The channel it came by.
    pub channel: Option<String>,
    /// Where an answer goes.
    pub reply_to: Option<String>,
    /// The conversation inside the channel.
    pub thread: Option<String>,
}

impl Envelope {
    fn field(&self, name: &str, principal: &str) -> Option<String> {
        match name {
            "channel" => self.channel.clone(),
            "reply_to" => self.reply_to.clone(),
            "thread" => self.thread.clone(),
            "principal" => Some(principal.to_owned()),
            _ => None,
        }
    }
}

/// Fills in the parameters that the tool takes from the envelope, where the model left them out.
/// Returns their names.
pub fn delivery_defaults(
    args: &mut Value,
    tool: &Registered,
    envelope: &Envelope,
    principal: &str,
) -> Vec<String> {
    let delivery = &tool.descriptor.execution.delivery;
    let Some(map) = args.as_object_mut().filter(|_| !delivery.is_empty()) else {
        return Vec::new();
    };
    let mut filled = Vec::new();
    for (parameter, field) in delivery {
        if map.contains_key(parameter) {
            continue;
        }
        if let Some(value) = envelope.field(field, principal) {
            map.insert(parameter.clone(), Value::from(value));
            filled.push(parameter.clone());
        }
    }
    filled
}

/// Takes the marker out, at every depth, whoever wrote it. Returns whether there was one.
pub fn clear_marker(args: &mut Value, marker: &str) -> bool {
    match args {
        Value::Object(map) => {
            let found = map.remove(marker).is_some();
            map.values_mut().fold(found, |found, value| clear_marker(value, marker) | found)
        }
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| clear_marker(item, marker) | found)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The arguments with the marker set, for an approved call. Digest, duplicate key and receipt are
/// those of the arguments without it.
pub fn restore_marker(args: &Value, marker: &str) -> Value {
    let mut map: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
    map.insert(marker.to_owned(), Value::Bool(true));
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_marker_is_cleared_at_every_depth_and_nothing_else() {
        let mut args = json!({"ok": true, "a": [{"ok": 1, "b": 2}], "c": {"d": {"ok": null}}});
        assert!(clear_marker(&mut args, "ok"));
        assert_eq!(args, json!({"a": [{"b": 2}], "c": {"d": {}}}));
        assert!(!clear_marker(&mut args, "ok"));
        let mut approved = json!({"approved": true});
        assert!(!clear_marker(&mut approved, "ok"), "an ordinary field of another name stays");
        assert_eq!(restore_marker(&json!({"a": 1}), "ok"), json!({"a": 1, "ok": true}));
    }
}
