//! What a server answered to a call, as what an execution left behind.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::base::bounded::BoundedBytes;
use crate::base::secret::SecretSet;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::exec::ran::{Attachment, Ran};

/// The longest message of a fault, in Unicode scalar values.
const MESSAGE: usize = 500;

/// Reads a raw result of `tools/call` (MCP 2025-11-25, *Tools*, "Tool Result"). An error of the
/// tool (`isError`) is a failure, whatever its content says. Content of a kind that is not known is
/// kept as its JSON text.
pub(super) fn read(
    mut result: Map<String, Value>,
    limit: u64,
    secrets: &SecretSet,
    effects: ObservedEffects,
) -> Ran {
    let content = match result.remove("content") {
        Some(Value::Array(content)) => content,
        None | Some(Value::Null) => Vec::new(),
        Some(other) => return odd(&format!("its content is no list: {other}"), effects),
    };
    let structured = result.remove("structuredContent").filter(|value| !value.is_null());
    if content.is_empty() && structured.is_none() && !result.contains_key("isError") {
        let known = result.is_empty() || result.keys().all(|key| key == "_meta");
        if !known {
            let keys: Vec<&str> = result.keys().map(String::as_str).collect();
            return odd(&format!("it has no content but {}", keys.join(", ")), effects);
        }
    }
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in content {
        match take(block) {
            Block::Text(text) => texts.push(text),
            Block::Bytes(bytes) => attachments.push(bytes),
        }
    }
    let mut output = texts.join("\n");
    if output.is_empty() && attachments.is_empty() {
        output = structured.as_ref().map(Value::to_string).unwrap_or_default();
    }
    let mut bounded = BoundedBytes::new(limit, secrets);
    bounded.extend(output.as_bytes());
    let output = bounded.text();
    let is_error = match result.get("isError") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        // What is neither true nor false is not taken for a success.
        Some(_) => true,
    };
    let fault = is_error.then(|| Fault {
        blame: Blame::Tool,
        code: "tool_error".to_owned(),
        message: message(&output),
    });
    Ran { attachments, structured, fault, ..Ran::ok(output, effects) }
}

enum Block {
    Text(String),
    Bytes(Attachment),
}

fn take(block: Value) -> Block {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    let bytes = |data: Option<&str>, kind: Option<&str>| {
        let bytes = STANDARD.decode(data?.trim()).ok()?;
        Some(Block::Bytes(Attachment::new(kind.unwrap_or("application/octet-stream"), bytes)))
    };
    let read = match text("type") {
        Some("text") => text("text").map(|text| Block::Text(text.to_owned())),
        Some("image" | "audio") => bytes(text("data"), text("mimeType")),
        Some("resource") => block.get("resource").and_then(|resource| {
            let text = |key: &str| resource.get(key).and_then(Value::as_str);
            let of = text("uri").unwrap_or("?");
            let told = text("text").map(|text| Block::Text(format!("[resource {of}]\n{text}")));
            told.or_else(|| bytes(text("blob"), text("mimeType")))
        }),
        // A link is a word about a resource: it is not followed, and grants nothing.
        Some("resource_link") => text("uri").map(|uri| {
            let name = text("name").map(|name| format!(" {name}")).unwrap_or_default();
            Block::Text(format!("[resource{name} at {uri}]"))
        }),
        _ => None,
    };
    read.unwrap_or_else(|| Block::Text(block.to_string()))
}

/// An answer that is none.
fn odd(why: &str, effects: ObservedEffects) -> Ran {
    let why = format!("the server broke the protocol during tools/call: {}", message(why));
    Ran { effects, ..Ran::failed(Blame::Tool, "protocol", why) }
}

fn message(text: &str) -> String {
    text.chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(result: Value, output: &str, fault: Option<&str>, attached: &[(&str, &[u8])]) {
        let Value::Object(map) = result.clone() else { panic!("{result}") };
        let effects = ObservedEffects::default();
        let ran = read(map, 1_000, &SecretSet::default(), effects);
        assert_eq!(ran.output, output, "{result}");
        assert_eq!(ran.fault.as_ref().map(|fault| fault.code.as_str()), fault, "{result}");
        let found: Vec<(&str, &[u8])> = ran
            .attachments
            .iter()
            .map(|one| (one.media_type.as_str(), one.bytes.as_slice()))
            .collect();
        assert_eq!(found, attached, "{result}");
        assert_eq!(ran.structured.as_ref(), result.get("structuredContent"), "{result}");
    }

    #[test]
    fn every_kind_of_content_is_kept() {
        let text = |text: &str| json!({"type": "text", "text": text});
        check(json!({"content": [text("a"), text("b")]}), "a\nb", None, &[]);
        check(json!({"content": []}), "", None, &[]);
        check(json!({}), "", None, &[]);
        check(json!({"structuredContent": {"a": 1}}), r#"{"a":1}"#, None, &[]);
        check(json!({"content": [text("t")], "structuredContent": [2]}), "t", None, &[]);
        let image = json!({"type": "image", "data": "AQI=", "mimeType": "image/png"});
        check(json!({"content": [image]}), "", None, &[("image/png", &[1, 2])]);
        let audio = json!({"type": "audio", "data": "AQ==", "mimeType": "audio/wav"});
        check(json!({"content": [text("x"), audio]}), "x", None, &[("audio/wav", &[1])]);
        let blob = json!({"type": "resource", "resource": {"uri": "f:///a", "blob": "AQ=="}});
        check(json!({"content": [blob]}), "", None, &[("application/octet-stream", &[1])]);
        let told = json!({"type": "resource", "resource": {"uri": "f:///a", "text": "hi"}});
        check(json!({"content": [told]}), "[resource f:///a]\nhi", None, &[]);
        let link = json!({"type": "resource_link", "uri": "f:///b", "name": "b"});
        check(json!({"content": [link]}), "[resource b at f:///b]", None, &[]);
        // Nothing is lost for being odd.
        let odd = json!({"type": "hologram", "size": 3});
        check(json!({"content": [odd]}), r#"{"size":3,"type":"hologram"}"#, None, &[]);
        let broken = json!({"type": "image", "data": "~~", "mimeType": "image/png"});
        check(json!({"content": [broken.clone()]}), &broken.to_string(), None, &[]);
    }

    #[test]
    fn an_error_of_the_tool_is_a_failure() {
        let content = json!([{"type": "text", "text": "not found"}]);
        let of = |flag: Value| json!({"content": content, "isError": flag});
        check(of(json!(true)), "not found", Some("tool_error"), &[]);
        check(of(json!("yes")), "not found", Some("tool_error"), &[]);
        check(of(json!(false)), "not found", None, &[]);
        check(of(Value::Null), "not found", None, &[]);
        check(json!({"isError": true}), "", Some("tool_error"), &[]);
    }

    #[test]
    fn an_answer_that_is_none_is_a_failure() {
        check(json!({"content": "text"}), "", Some("protocol"), &[]);
        check(json!({"resultType": "task", "taskId": "1"}), "", Some("protocol"), &[]);
    }
}
