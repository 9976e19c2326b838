//! Plays a script, and holds every request it receives against the provider's own rules, so that
//! a fault of the transcript fails any test and not only the one that thought of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{Provider, harness_fault};
use crate::base::secret::CANARY_PREFIX;
use crate::journal::event::turn::ProviderFault;
use crate::runtime::BoxFuture;
use crate::runtime::dialect::{Dialect, Payload, RawCall, Reply};

/// What a request must show before a step answers it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpectedRequest {
    /// Texts that the messages must contain.
    pub contains: Vec<String>,
    /// Names that must be advertised.
    pub tools: Vec<String>,
    /// Names that must not be advertised.
    pub no_tools: Vec<String>,
}

/// One step: what must come in, and what goes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What the request must show.
    pub expect: ExpectedRequest,
    /// The answer.
    pub answer: Answer,
}

/// What a step answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A reply.
    Reply(Reply),
    /// No reply, by the provider's or the network's fault.
    Fault(ProviderFault),
}

/// The scripted provider.
#[derive(Debug, Clone)]
pub struct Scripted {
    steps: Arc<[Step]>,
    next: usize,
}

impl Scripted {
    /// Starts a script.
    pub fn new(steps: Arc<[Step]>) -> Self {
        Self { steps, next: 0 }
    }

    fn answer(&mut self, payload: &Payload) -> Result<Reply, ProviderFault> {
        let number = self.next + 1;
        let step = self.steps.get(self.next).ok_or_else(|| {
            harness_fault(format!(
                "the script has {} steps and was asked for step {number}",
                self.steps.len()
            ))
        })?;
        self.next = number;
        let refuse = |why: String| harness_fault(format!("request {number} refused: {why}"));
        let messages: Value = serde_json::from_str(&payload.messages)
            .map_err(|error| refuse(format!("messages are not JSON: {error}")))?;
        pairing(payload.dialect, &messages).map_err(refuse)?;
        expected(&step.expect, payload).map_err(refuse)?;
        match &step.answer {
            Answer::Fault(fault) => Err(fault.clone()),
            Answer::Reply(reply) => Ok(payload.dialect.spell(reply.clone())),
        }
    }
}

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn reply<'a>(
        &'a mut self,
        payload: &'a Payload,
    ) -> BoxFuture<'a, Result<Reply, ProviderFault>> {
        let answer = self.answer(payload);
        Box::pin(std::future::ready(answer))
    }

    fn leftover(&self) -> Option<ProviderFault> {
        let left = self.steps.len() - self.next;
        (left > 0)
            .then(|| harness_fault(format!("{left} steps of the script were never asked for")))
    }
}

fn expected(expect: &ExpectedRequest, payload: &Payload) -> Result<(), String> {
    if payload.messages.contains(CANARY_PREFIX) || payload.tools.text.contains(CANARY_PREFIX) {
        return Err("it carries a secret".to_owned());
    }
    for part in &expect.contains {
        // The script states plain text; in the payload it stands inside a JSON string.
        let quoted = Value::from(part.as_str()).to_string();
        if !payload.messages.contains(&quoted[1..quoted.len() - 1]) {
            return Err(format!("the messages do not contain {part:?}"));
        }
    }
    let advertised = |name: &String| {
        payload.tools.text.contains(&format!("\"name\":{}", Value::from(name.as_str())))
    };
    if let Some(name) = expect.tools.iter().find(|name| !advertised(name)) {
        return Err(format!("`{name}` is not advertised"));
    }
    if let Some(name) = expect.no_tools.iter().find(|name| advertised(name)) {
        return Err(format!("`{name}` is advertised"));
    }
    Ok(())
}

/// Whether a provider would take the request: well-formed, paired, and without a secret.
///
/// # Errors
/// Why it would not.
pub fn acceptable(payload: &Payload) -> Result<(), String> {
    let messages: Value = serde_json::from_str(&payload.messages)
        .map_err(|error| format!("messages are not JSON: {error}"))?;
    pairing(payload.dialect, &messages)?;
    expected(&ExpectedRequest::default(), payload)
}

/// The rule of the real APIs: every call is answered exactly once, before anything else is said.
fn pairing(dialect: Dialect, messages: &Value) -> Result<(), String> {
    let messages = messages.as_array().ok_or("messages are not a list")?;
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("message {index}");
        let answers = answered(dialect, message);
        for id in &answers {
            if !open.remove(id) {
                return Err(format!("{place} answers call {id}, which is not open"));
            }
        }
        let calls = called(dialect, message);
        if answers.is_empty() && !open.is_empty() && dialect != Dialect::Text {
            return Err(format!("{place} comes before the results of {open:?}"));
        }
        for id in calls {
            if !open.insert(id) {
                return Err(format!("{place} makes call {id} twice"));
            }
        }
    }
    match open.first() {
        Some(id) if dialect != Dialect::Text => Err(format!("call {id} has no result")),
        _ => Ok(()),
    }
}

fn called(dialect: Dialect, message: &Value) -> Vec<&str> {
    let list = match dialect {
        Dialect::OpenAiChat => message.get("tool_calls"),
        Dialect::AnthropicMessages => message.get("content"),
        Dialect::Text => None,
    };
    let blocks = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let use_block = |block: &&Value| {
        dialect == Dialect::OpenAiChat || block.get("type") == Some(&"tool_use".into())
    };
    blocks.iter().filter(use_block).filter_map(|block| block.get("id")?.as_str()).collect()
}

fn answered(dialect: Dialect, message: &Value) -> Vec<&str> {
    match dialect {
        Dialect::OpenAiChat => {
            message.get("tool_call_id").and_then(Value::as_str).into_iter().collect()
        }
        Dialect::AnthropicMessages => {
            let blocks = message.get("content").and_then(Value::as_array);
            let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
            blocks.iter().filter_map(|block| block.get("tool_use_id")?.as_str()).collect()
        }
        Dialect::Text => Vec::new(),
    }
}

/// A reply with text alone.
pub fn say(text: &str) -> Reply {
    Reply { text: Some(text.to_owned()), finish: Some("stop".to_owned()), ..Reply::default() }
}

/// A reply with calls.
pub fn call(calls: Vec<RawCall>) -> Reply {
    Reply { calls, finish: Some("tool_calls".to_owned()), ..Reply::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(messages: Value, expected: Result<(), &str>) {
        let found = pairing(Dialect::OpenAiChat, &messages);
        match expected {
            Ok(()) => assert_eq!(found, Ok(())),
            Err(part) => assert!(found.as_ref().is_err_and(|e| e.contains(part)), "{found:?}"),
        }
    }

    #[test]
    fn the_mock_is_as_strict_as_the_real_ones() {
        let user = json!({"role": "user", "content": "x"});
        let call = json!({"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]});
        let answer = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
        check(json!([user, call, answer("b"), answer("a"), user]), Ok(()));
        check(json!([user, call, answer("a")]), Err("call b has no result"));
        check(json!([user, call, answer("a"), user]), Err("comes before"));
        check(json!([user, answer("a")]), Err("not open"));
        check(json!([user, call, answer("a"), answer("a")]), Err("not open"));
        let blocks = json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]);
        assert_eq!(pairing(Dialect::AnthropicMessages, &blocks), Ok(()));
    }
}
