//! A reply as a provider would send it: the inverse of reading, for tests and for mock servers.
//!
//! What a dialect cannot say is left out: Gemini and the responses API have no stop reason for
//! calls, and no dialect carries an explanation.

use serde_json::{Value, json};

use super::fold::spelled;
use crate::runtime::dialect::proposed::argument_value;
use crate::runtime::dialect::{Dialect, RawCall, Reply};

/// A whole body.
pub(super) fn body(dialect: Dialect, reply: &Reply) -> String {
    match dialect {
        Dialect::OpenAiChat | Dialect::Text => {
            let mut message = json!({"role": "assistant", "content": reply.text});
            if let Some(reasoning) = &reply.reasoning {
                message["reasoning_content"] = reasoning.as_str().into();
            }
            if !reply.calls.is_empty() {
                message["tool_calls"] =
                    reply.calls.iter().map(|call| chat_call(call, None)).collect();
            }
            let finish = reply.finish.as_deref().map(|finish| spelled(dialect, finish));
            json!({
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": "mock",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            })
            .to_string()
        }
        Dialect::OpenAiResponses => response(reply).to_string(),
        Dialect::AnthropicMessages => {
            let blocks: Vec<String> = blocks(reply).iter().map(Block::whole).collect();
            let finish = reply.finish.as_deref().map(|finish| spelled(dialect, finish));
            object(&[
                ("content", format!("[{}]", blocks.join(","))),
                ("id", quoted("msg_1")),
                ("model", quoted("mock")),
                ("role", quoted("assistant")),
                ("stop_reason", json!(finish).to_string()),
                ("type", quoted("message")),
                ("usage", json!({"input_tokens": 1, "output_tokens": 1}).to_string()),
            ])
        }
        Dialect::Gemini => candidate(&parts(reply), reply.finish.as_deref()),
    }
}

/// Events, the texts in pieces.
pub(super) fn stream(dialect: Dialect, reply: &Reply, piece: usize) -> String {
    let mut out = String::new();
    match dialect {
        Dialect::OpenAiChat | Dialect::Text => chat_stream(&mut out, reply, piece),
        Dialect::OpenAiResponses => responses_stream(&mut out, reply, piece),
        Dialect::AnthropicMessages => messages_stream(&mut out, reply, piece),
        Dialect::Gemini => {
            for part in parts_in_pieces(reply, piece) {
                event(&mut out, None, &candidate(&[part], None));
            }
            event(&mut out, None, &candidate(&[], reply.finish.as_deref()));
        }
    }
    out
}

fn event(out: &mut String, name: Option<&str>, data: &str) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// An object whose members are JSON already. Arguments in place keep every byte.
fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", members.join(","))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Arguments where an object should stand. A line break in place would end a line of the stream.
fn in_place(arguments: &str) -> String {
    match arguments.contains(['\r', '\n']) {
        true => quoted(arguments),
        false => argument_value(arguments),
    }
}

fn chat_call(call: &RawCall, index: Option<usize>) -> Value {
    let mut wire = json!({
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    });
    if let Some(id) = &call.id {
        wire["id"] = id.as_str().into();
    }
    if let Some(index) = index {
        wire["index"] = index.into();
    }
    wire
}

fn chat_stream(out: &mut String, reply: &Reply, piece: usize) {
    let mut chunk = |delta: Value, finish: Option<String>| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let chunk = json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "model": "mock",
            "choices": choices,
        });
        event(out, None, &chunk.to_string());
    };
    chunk(json!({"role": "assistant", "content": ""}), None);
    for thought in pieces(reply.reasoning.as_deref().unwrap_or_default(), piece) {
        chunk(json!({"reasoning_content": thought}), None);
    }
    for said in pieces(reply.text.as_deref().unwrap_or_default(), piece) {
        chunk(json!({"content": said}), None);
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let begun = RawCall { arguments: String::new(), ..call.clone() };
        chunk(json!({"tool_calls": [chat_call(&begun, Some(index))]}), None);
        for arguments in pieces(&call.arguments, piece) {
            let rest = json!({"index": index, "function": {"arguments": arguments}});
            chunk(json!({"tool_calls": [rest]}), None);
        }
    }
    let finish = reply.finish.as_deref().map(|finish| spelled(Dialect::OpenAiChat, finish));
    chunk(json!({}), finish);
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    event(out, None, &usage.to_string());
    event(out, None, "[DONE]");
}

/// The items of a response.
fn items(reply: &Reply) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(thought) = &reply.reasoning {
        let summary = json!([{"type": "summary_text", "text": thought}]);
        items.push(json!({"type": "reasoning", "id": "rs_1", "summary": summary}));
    }
    if let Some(text) = &reply.text {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        items.push(json!({"type": "message", "id": "msg_1", "role": "assistant",
            "status": "completed", "content": content}));
    }
    let last = reply.calls.len().saturating_sub(1);
    for (index, call) in reply.calls.iter().enumerate() {
        let short = index == last && reply.finish.as_deref() == Some("length");
        let status = if short { "incomplete" } else { "completed" };
        let mut item = json!({"type": "function_call", "id": format!("fc_{index}"),
            "name": call.name, "arguments": call.arguments, "status": status});
        if let Some(id) = &call.id {
            item["call_id"] = id.as_str().into();
        }
        items.push(item);
    }
    items
}

fn response(reply: &Reply) -> Value {
    let finish = reply.finish.as_deref().filter(|finish| !matches!(*finish, "stop" | "tool_calls"));
    let why = finish.map(|finish| json!({"reason": spelled(Dialect::OpenAiResponses, finish)}));
    json!({
        "id": "resp_1",
        "object": "response",
        "model": "mock",
        "status": if why.is_some() { "incomplete" } else { "completed" },
        "error": null,
        "incomplete_details": why,
        "output": items(reply),
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    })
}

fn responses_stream(out: &mut String, reply: &Reply, piece: usize) {
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        event(out, Some(kind), &data.to_string());
    };
    send("response.created", json!({"response": {"id": "resp_1", "status": "in_progress"}}));
    for (index, item) in items(reply).into_iter().enumerate() {
        let (kind, text) = match item["type"].as_str() {
            Some("reasoning") => ("reasoning_summary_text", &item["summary"][0]["text"]),
            Some("message") => ("output_text", &item["content"][0]["text"]),
            _ => ("function_call_arguments", &item["arguments"]),
        };
        let place = json!({"output_index": index, "item_id": item["id"]});
        let with = |key: &str, value: Value| {
            let mut data = place.clone();
            data[key] = value;
            data
        };
        let mut begun = item.clone();
        for (key, empty) in
            [("content", json!([])), ("summary", json!([])), ("arguments", "".into())]
        {
            if begun.get(key).is_some() {
                begun[key] = empty;
            }
        }
        begun["status"] = "in_progress".into();
        send("response.output_item.added", json!({"output_index": index, "item": begun}));
        for delta in pieces(text.as_str().unwrap_or_default(), piece) {
            send(&format!("response.{kind}.delta"), with("delta", delta.into()));
        }
        let key = if kind == "function_call_arguments" { "arguments" } else { "text" };
        send(&format!("response.{kind}.done"), with(key, text.clone()));
        send("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let whole = response(reply);
    let kind = format!("response.{}", whole["status"].as_str().unwrap_or_default());
    send(&kind, json!({"response": whole}));
}

/// A block of Anthropic messages.
enum Block<'a> {
    Thought(&'a str),
    Text(&'a str),
    Call(&'a RawCall),
}

fn blocks(reply: &Reply) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> =
        reply.reasoning.as_deref().map(Block::Thought).into_iter().collect();
    blocks.extend(reply.text.as_deref().map(Block::Text));
    blocks.extend(reply.calls.iter().map(Block::Call));
    blocks
}

impl Block<'_> {
    fn whole(&self) -> String {
        match self {
            Self::Thought(text) => json!({"type": "thinking", "thinking": text}).to_string(),
            Self::Text(text) => json!({"type": "text", "text": text}).to_string(),
            Self::Call(call) => called(call, &in_place(&call.arguments)),
        }
    }

    fn start(&self) -> String {
        match self {
            Self::Thought(_) => Self::Thought("").whole(),
            Self::Text(_) => Self::Text("").whole(),
            Self::Call(call) => called(call, "{}"),
        }
    }

    /// Kind and key of its deltas, and their text.
    fn deltas(&self) -> (&'static str, &'static str, &str) {
        match self {
            Self::Thought(text) => ("thinking_delta", "thinking", text),
            Self::Text(text) => ("text_delta", "text", text),
            Self::Call(call) => ("input_json_delta", "partial_json", &call.arguments),
        }
    }
}

/// A call whose input is JSON already; without arguments it has none.
fn called(call: &RawCall, input: &str) -> String {
    let mut members = vec![("name", quoted(&call.name)), ("type", quoted("tool_use"))];
    members.extend(call.id.as_ref().map(|id| ("id", quoted(id))));
    if !call.arguments.is_empty() {
        members.push(("input", input.to_owned()));
    }
    object(&members)
}

fn messages_stream(out: &mut String, reply: &Reply, piece: usize) {
    let mut send = |kind: &str, rest: &[(&str, String)]| {
        let mut members = vec![("type", quoted(kind))];
        members.extend_from_slice(rest);
        event(out, Some(kind), &object(&members));
    };
    let begun = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "model": "mock", "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    send("message_start", &[("message", begun.to_string())]);
    send("ping", &[]);
    for (index, block) in blocks(reply).iter().enumerate() {
        let index = ("index", index.to_string());
        send("content_block_start", &[index.clone(), ("content_block", block.start())]);
        let (kind, key, text) = block.deltas();
        for delta in pieces(text, piece) {
            let delta = object(&[("type", quoted(kind)), (key, quoted(&delta))]);
            send("content_block_delta", &[index.clone(), ("delta", delta)]);
        }
        send("content_block_stop", &[index]);
    }
    let finish = reply.finish.as_deref().map(|finish| spelled(Dialect::AnthropicMessages, finish));
    let delta = json!({"stop_reason": finish, "stop_sequence": null}).to_string();
    send("message_delta", &[("delta", delta), ("usage", json!({"output_tokens": 1}).to_string())]);
    send("message_stop", &[]);
}

/// One body of Gemini; its parts are JSON already.
fn candidate(parts: &[String], finish: Option<&str>) -> String {
    let content = object(&[("parts", format!("[{}]", parts.join(","))), ("role", quoted("model"))]);
    let mut candidate = vec![("content", content), ("index", "0".to_owned())];
    // It has one word for every end that is no trouble.
    let finish = finish.map(|finish| if finish == "tool_calls" { "stop" } else { finish });
    let finish = finish.map(|finish| quoted(&spelled(Dialect::Gemini, finish)));
    candidate.extend(finish.map(|finish| ("finishReason", finish)));
    let usage = json!({"promptTokenCount": 1, "candidatesTokenCount": 1}).to_string();
    object(&[("candidates", format!("[{}]", object(&candidate))), ("usageMetadata", usage)])
}

fn thought(text: &str) -> String {
    json!({"text": text, "thought": true}).to_string()
}

fn said(text: &str) -> String {
    json!({"text": text}).to_string()
}

fn function(call: &RawCall) -> String {
    let mut members = vec![("name", quoted(&call.name))];
    members.extend(call.id.as_ref().map(|id| ("id", quoted(id))));
    if !call.arguments.is_empty() {
        members.push(("args", in_place(&call.arguments)));
    }
    object(&[("functionCall", object(&members))])
}

fn parts(reply: &Reply) -> Vec<String> {
    let mut parts: Vec<String> = reply.reasoning.as_deref().map(thought).into_iter().collect();
    parts.extend(reply.text.as_deref().map(said));
    parts.extend(reply.calls.iter().map(function));
    parts
}

fn parts_in_pieces(reply: &Reply, piece: usize) -> Vec<String> {
    let text = |text: &Option<String>| pieces(text.as_deref().unwrap_or_default(), piece);
    let mut parts: Vec<String> = text(&reply.reasoning).iter().map(|text| thought(text)).collect();
    parts.extend(text(&reply.text).iter().map(|text| said(text)));
    parts.extend(reply.calls.iter().map(function));
    parts
}
