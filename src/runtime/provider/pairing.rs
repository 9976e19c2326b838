//! The rules of the real APIs: every call is answered exactly once, where its dialect wants the
//! answer to stand.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::runtime::dialect::Dialect;

/// Holds the messages of a request against the rules of its dialect.
///
/// # Errors
/// What the provider would refuse, with the index of the message.
pub(super) fn pairing(dialect: Dialect, messages: &Value) -> Result<(), String> {
    let messages = messages.as_array().ok_or("messages are not a list")?;
    match dialect {
        Dialect::OpenAiChat => chat(messages),
        Dialect::OpenAiResponses => responses(messages),
        Dialect::AnthropicMessages => anthropic(messages),
        Dialect::Gemini => gemini(messages),
        // There is nothing to pair: calls and results are plain text.
        Dialect::Text => Ok(()),
    }
}

/// Calls without a result so far.
#[derive(Default)]
struct Open<'a>(BTreeSet<&'a str>);

impl<'a> Open<'a> {
    fn make(&mut self, place: &str, id: &'a str) -> Result<(), String> {
        let new = self.0.insert(id);
        new.then_some(()).ok_or_else(|| format!("{place} makes call {id} twice"))
    }

    fn answer(&mut self, place: &str, id: &str) -> Result<(), String> {
        let open = self.0.remove(id);
        open.then_some(()).ok_or_else(|| format!("{place} answers call {id}, which is not open"))
    }

    /// Nothing else may be said before all results are there.
    fn none(&self, place: &str) -> Result<(), String> {
        let none = self.0.is_empty();
        none.then_some(())
            .ok_or_else(|| format!("{place} comes before the results of {:?}", self.0))
    }

    fn end(&self) -> Result<(), String> {
        self.0.first().map_or(Ok(()), |id| Err(format!("call {id} has no result")))
    }
}

fn text<'a>(message: &'a Value, key: &str, place: &str) -> Result<&'a str, String> {
    let text = message.get(key).and_then(Value::as_str);
    text.ok_or_else(|| format!("{place} has no text `{key}`"))
}

fn list<'a>(message: &'a Value, key: &str) -> &'a [Value] {
    message.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is(message: &Value, key: &str, text: &str) -> bool {
    message.get(key).and_then(Value::as_str) == Some(text)
}

fn chat(messages: &[Value]) -> Result<(), String> {
    let mut open = Open::default();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("message {index}");
        if is(message, "role", "tool") {
            open.answer(&place, text(message, "tool_call_id", &place)?)?;
            continue;
        }
        open.none(&place)?;
        for call in list(message, "tool_calls") {
            open.make(&place, text(call, "id", &place)?)?;
        }
    }
    open.end()
}

/// Calls and results are items of their own. The calls of one reply stand together.
fn responses(items: &[Value]) -> Result<(), String> {
    let mut open = Open::default();
    let mut answering = false;
    for (index, item) in items.iter().enumerate() {
        let place = format!("item {index}");
        match text(item, "type", &place)? {
            "function_call" => {
                if answering {
                    open.none(&place)?;
                }
                answering = false;
                text(item, "name", &place)?;
                text(item, "arguments", &place)?;
                open.make(&place, text(item, "call_id", &place)?)?;
            }
            "function_call_output" => {
                answering = true;
                text(item, "output", &place)?;
                open.answer(&place, text(item, "call_id", &place)?)?;
            }
            "message" => {
                open.none(&place)?;
                text(item, "role", &place)?;
            }
            other => return Err(format!("{place} is of the unknown type {other}")),
        }
    }
    open.end()
}

/// All results stand at the head of the very next message; no id comes twice in a conversation.
fn anthropic(messages: &[Value]) -> Result<(), String> {
    let mut open = Open::default();
    let mut made = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("message {index}");
        let blocks = list(message, "content");
        let results = blocks.iter().take_while(|block| is(block, "type", "tool_result")).count();
        for block in &blocks[..results] {
            open.answer(&place, text(block, "tool_use_id", &place)?)?;
        }
        open.none(&place)?;
        for block in &blocks[results..] {
            if is(block, "type", "tool_result") {
                return Err(format!("{place} has a result behind something else"));
            }
            if is(block, "type", "tool_use") {
                let id = text(block, "id", &place)?;
                if !made.insert(id) {
                    return Err(format!("{place} makes call {id} twice"));
                }
                open.make(&place, id)?;
            }
        }
    }
    open.end()
}

/// Calls have no ids: the next content holds their results, as many, in their order.
fn gemini(contents: &[Value]) -> Result<(), String> {
    let mut waiting: Vec<&str> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let place = format!("content {index}");
        let parts = Parts::read(content, &place)?;
        if parts.results != waiting {
            let (found, wanted) = (&parts.results, &waiting);
            return Err(format!("{place} has the results {found:?} for the calls {wanted:?}"));
        }
        if !waiting.is_empty() && parts.count > waiting.len() {
            return Err(format!("{place} has more than the results of {waiting:?}"));
        }
        let before = index.checked_sub(1).and_then(|index| contents.get(index));
        let may_call =
            is(content, "role", "model") && before.is_some_and(|before| is(before, "role", "user"));
        if !parts.calls.is_empty() && !may_call {
            return Err(format!("{place} makes calls that follow no user or result"));
        }
        waiting = parts.calls;
    }
    match waiting.first() {
        Some(name) => Err(format!("the call of {name} has no result")),
        None => Ok(()),
    }
}

/// The names in the parts of one content.
struct Parts<'a> {
    count: usize,
    calls: Vec<&'a str>,
    results: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn read(content: &'a Value, place: &str) -> Result<Self, String> {
        let parts = list(content, "parts");
        if parts.is_empty() || !(is(content, "role", "user") || is(content, "role", "model")) {
            return Err(format!("{place} has no parts or no known role"));
        }
        let mut read = Self { count: parts.len(), calls: Vec::new(), results: Vec::new() };
        for part in parts {
            let holds = |key: &str, inner: &str| -> Result<Option<&'a str>, String> {
                let Some(held) = part.get(key) else { return Ok(None) };
                let object = held.get(inner).is_some_and(Value::is_object);
                let name = text(held, "name", place)?;
                let why = || format!("{place}: `{inner}` of {name} is no object");
                object.then_some(Some(name)).ok_or_else(why)
            };
            match (holds("functionCall", "args")?, holds("functionResponse", "response")?) {
                (Some(name), None) => read.calls.push(name),
                (None, Some(name)) => read.results.push(name),
                _ if text(part, "text", place)?.is_empty() => {
                    return Err(format!("{place} has an empty part"));
                }
                _ => {}
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(dialect: Dialect, messages: Value, expected: Result<(), &str>) {
        let found = pairing(dialect, &messages);
        match expected {
            Ok(()) => assert_eq!(found, Ok(()), "{messages}"),
            Err(part) => {
                assert!(found.as_ref().is_err_and(|e| e.contains(part)), "{found:?}: {messages}");
            }
        }
    }

    #[test]
    fn chat_is_as_strict_as_the_real_one() {
        let check = |messages, expected| check(Dialect::OpenAiChat, messages, expected);
        let user = json!({"role": "user", "content": "x"});
        let call = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]});
        let answer = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
        check(json!([user, call, answer("b"), answer("a"), user]), Ok(()));
        check(json!([user, call, answer("a")]), Err("call b has no result"));
        check(json!([user, call, answer("a"), user]), Err("comes before"));
        check(json!([user, answer("a")]), Err("not open"));
        check(json!([user, call, answer("a"), answer("a")]), Err("not open"));
        check(json!([user, call, {"role": "tool", "content": ""}]), Err("no text `tool_call_id`"));
        check(json!({}), Err("not a list"));
    }

    #[test]
    fn responses_is_as_strict_as_the_real_one() {
        let check = |messages, expected| check(Dialect::OpenAiResponses, messages, expected);
        let user = json!({"type": "message", "role": "user", "content": "x"});
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "n", "arguments": "{}"});
        let answer =
            |id: &str| json!({"type": "function_call_output", "call_id": id, "output": ""});
        check(json!([user, call("a"), call("b"), answer("b"), answer("a"), user]), Ok(()));
        check(json!([user, call("a"), answer("a"), call("b"), answer("b")]), Ok(()));
        check(json!([user, call("a"), call("b"), answer("b")]), Err("call a has no result"));
        check(json!([user, call("a"), user, answer("a")]), Err("item 2 comes before"));
        check(json!([user, call("a"), call("b"), answer("a"), call("c")]), Err("comes before"));
        check(json!([user, call("a"), call("a")]), Err("makes call a twice"));
        check(json!([user, answer("a")]), Err("not open"));
        check(json!([{"type": "function_call", "call_id": "a"}]), Err("no text `name`"));
        check(json!([{"role": "user", "content": "x"}]), Err("no text `type`"));
        check(json!([{"type": "tool_use"}]), Err("unknown type"));
    }

    #[test]
    fn anthropic_is_as_strict_as_the_real_one() {
        let check = |messages, expected| check(Dialect::AnthropicMessages, messages, expected);
        let call = |ids: &[&str]| {
            let uses: Vec<Value> =
                ids.iter().map(|id| json!({"type": "tool_use", "id": id})).collect();
            json!({"role": "assistant", "content": uses})
        };
        let answer = |ids: &[&str]| {
            let results: Vec<Value> =
                ids.iter().map(|id| json!({"type": "tool_result", "tool_use_id": id})).collect();
            json!({"role": "user", "content": results})
        };
        let user = json!({"role": "user", "content": "x"});
        check(json!([user, call(&["a", "b"]), answer(&["b", "a"])]), Ok(()));
        check(
            json!([user, call(&["a", "b"]), answer(&["a"]), answer(&["b"])]),
            Err("comes before"),
        );
        check(json!([user, call(&["a"]), user, answer(&["a"])]), Err("comes before"));
        check(json!([user, call(&["a"])]), Err("call a has no result"));
        check(json!([user, answer(&["a"])]), Err("not open"));
        check(json!([call(&["a"]), answer(&["a"]), call(&["a"])]), Err("makes call a twice"));
        let late = json!({"role": "user", "content": [{"type": "text", "text": "x"},
            {"type": "tool_result", "tool_use_id": "a"}]});
        check(json!([call(&["a"]), late]), Err("comes before"));
        check(json!([late]), Err("behind something else"));
    }

    #[test]
    fn gemini_is_as_strict_as_the_real_one() {
        let check = |messages, expected| check(Dialect::Gemini, messages, expected);
        let user = json!({"role": "user", "parts": [{"text": "x"}]});
        let call = |names: &[&str]| {
            let parts: Vec<Value> = names
                .iter()
                .map(|name| json!({"functionCall": {"name": name, "args": {}}}))
                .collect();
            json!({"role": "model", "parts": parts})
        };
        let answer = |names: &[&str]| {
            let parts: Vec<Value> = names
                .iter()
                .map(|name| json!({"functionResponse": {"name": name, "response": {}}}))
                .collect();
            json!({"role": "user", "parts": parts})
        };
        check(
            json!([user, call(&["a", "a"]), answer(&["a", "a"]), call(&["b"]), answer(&["b"])]),
            Ok(()),
        );
        check(json!([user, call(&["a", "b"]), answer(&["b", "a"])]), Err("the results"));
        check(json!([user, call(&["a", "b"]), answer(&["a"]), answer(&["b"])]), Err("the results"));
        check(json!([user, call(&["a"]), user]), Err("the results []"));
        check(json!([user, call(&["a"])]), Err("the call of a has no result"));
        check(json!([user, answer(&["a"])]), Err("the results [\"a\"]"));
        check(json!([call(&["a"]), answer(&["a"])]), Err("follow no user"));
        let model = json!({"role": "model", "parts": [{"text": "x"}]});
        check(json!([user, model, call(&["a"])]), Err("follow no user"));
        check(json!([{"role": "user", "parts": []}]), Err("no parts"));
        check(json!([{"role": "tool", "parts": [{"text": "x"}]}]), Err("no known role"));
        check(json!([{"role": "user", "parts": [{"text": ""}]}]), Err("empty part"));
        let args = json!({"functionCall": {"name": "a", "args": "{}"}});
        check(json!([user, {"role": "model", "parts": [args]}]), Err("`args` of a is no object"));
    }
}
