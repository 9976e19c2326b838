//! Plays a script, and holds every request it receives against the provider's own rules, so that
//! a fault of the transcript fails any test and not only the one that thought of it.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::pairing::pairing;
use super::{Provider, harness_fault};
use crate::base::secret::holds_canary;
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
        paired(payload).map_err(refuse)?;
        expected(&step.expect, payload).map_err(refuse)?;
        match &step.answer {
            Answer::Fault(fault) => Err(fault.clone()),
            Answer::Reply(reply) => payload.spell(reply.clone()).map_err(refuse),
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
    if holds_canary(&payload.messages) || holds_canary(&payload.tools.text) {
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
    paired(payload)?;
    expected(&ExpectedRequest::default(), payload)
}

fn paired(payload: &Payload) -> Result<(), String> {
    let why = |error| format!("messages are not JSON: {error}");
    if payload.dialect == Dialect::Text {
        // Calls and results are plain text there: a list is all it must be.
        let list = serde_json::from_str::<Vec<IgnoredAny>>(&payload.messages);
        return list.map(drop).map_err(why);
    }
    pairing(payload.dialect, &serde_json::from_str(&payload.messages).map_err(why)?)
}

/// A reply with text alone.
pub fn say(text: &str) -> Reply {
    Reply { text: Some(text.to_owned()), finish: Some("stop".to_owned()), ..Reply::default() }
}

/// A reply with calls.
pub fn call(calls: Vec<RawCall>) -> Reply {
    Reply { calls, finish: Some("tool_calls".to_owned()), ..Reply::default() }
}
