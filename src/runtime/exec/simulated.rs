//! A tool without effects: it answers what its descriptor says, or does what a script says it does
//! at this start, and touches nothing. Its declared effects are reported as simulated, never as
//! observed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

use super::Ended;
use super::ran::Ran;
use super::ready::Ready;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::{Blame, Fault};
use crate::runtime::credential::Broker;
use crate::tool::id::ToolId;

/// What a simulated tool does at one start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Act {
    /// How long it takes before it ends, in milliseconds.
    pub delay_ms: u64,
    /// Whether it goes on to its end when it is told to stop.
    pub deaf: bool,
    /// A resource that it is seen to write, declared or not.
    pub writes: Option<String>,
    /// What it is seen to cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// What it answers: a text, or a structure; what its descriptor says when absent.
    pub output: Option<Value>,
    /// How it fails, by code and message.
    pub fault: Option<(String, String)>,
    /// How it ends.
    pub fate: Fate,
}

/// How a simulated tool ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fate {
    /// By itself.
    #[default]
    Ends,
    /// Only when it is told to stop.
    Hangs,
    /// By a panic.
    Panics,
}

/// The acts that simulated tools still have to play, by tool; each start takes the next one.
#[derive(Debug, Default)]
pub struct Acts(Mutex<BTreeMap<ToolId, VecDeque<Act>>>);

impl Acts {
    /// The acts of each tool, in the order of its starts.
    pub fn new(acts: BTreeMap<ToolId, Vec<Act>>) -> Self {
        let queues = acts.into_iter().map(|(tool, acts)| (tool, acts.into()));
        Self(Mutex::new(queues.collect()))
    }

    fn next(&self, tool: &ToolId) -> Option<Act> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(tool)?.pop_front()
    }

    /// The first tool that has acts left, and how many.
    pub fn left(&self) -> Option<(ToolId, usize)> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = queues.iter().filter(|(_, acts)| !acts.is_empty());
        open.next().map(|(tool, acts)| (tool.clone(), acts.len()))
    }
}

/// Plays the tool's next act. Without one it answers the descriptor's `simulatedOutput`, or a short
/// confirmation. `${secret:NAME}` stands for a credential's value, so that a careless tool can be
/// simulated too.
pub async fn run(ready: &Ready, broker: &Broker, acts: &Acts, stop: &Notify) -> Ended {
    let tool = ready.permitted().validated().resolved().tool();
    let act = acts.next(tool.id()).unwrap_or_default();
    let length = Duration::from_millis(act.delay_ms);
    let lasts = async {
        match act.fate {
            Fate::Hangs => std::future::pending().await,
            Fate::Ends | Fate::Panics if act.delay_ms == 0 => {}
            Fate::Ends | Fate::Panics => tokio::time::sleep(length).await,
        }
    };
    tokio::select! {
        biased;
        () = stop.notified(), if !act.deaf => return Ended::TornDown("its simulation was stopped"),
        () = lasts => {}
    }
    if act.fate == Fate::Panics {
        // Unlike a panic of ours, this one is meant and says nothing on the terminal.
        std::panic::resume_unwind(Box::new("the simulated tool panicked"));
    }
    let written = act.output.as_ref().or(tool.descriptor.execution.simulated_output.as_ref());
    let ran = answer(written, tool.id(), broker);
    let fault = act.fault.map(|(code, message)| Fault { blame: Blame::Tool, code, message });
    let effects = ObservedEffects {
        writes: act.writes.into_iter().collect(),
        cost_usd: act.cost_usd,
        ..ran.effects
    };
    Ended::Ran(Box::new(Ran { fault, effects, ..ran }))
}

/// What a tool answers that has no act of its own.
pub fn said(ready: &Ready, broker: &Broker) -> Ran {
    let tool = ready.permitted().validated().resolved().tool();
    answer(tool.descriptor.execution.simulated_output.as_ref(), tool.id(), broker)
}

fn answer(written: Option<&Value>, tool: &ToolId, broker: &Broker) -> Ran {
    let effects = ObservedEffects { method: "simulated".to_owned(), ..Default::default() };
    match written {
        Some(Value::String(text)) => Ran::ok(broker.fill(text), effects),
        Some(value) => {
            let mut value = value.clone();
            fill(&mut value, broker);
            let output = value.to_string();
            Ran { structured: Some(value), ..Ran::ok(output, effects) }
        }
        None => Ran::ok(format!("{tool}: done (simulated)"), effects),
    }
}

/// Puts credentials' values where `${secret:NAME}` stands, at any depth.
pub(crate) fn fill(value: &mut Value, broker: &Broker) {
    match value {
        Value::String(text) => *text = broker.fill(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, broker)),
        Value::Object(map) => map.values_mut().for_each(|value| fill(value, broker)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::secret::Secret;

    #[test]
    fn a_careless_tool_leaks_from_any_depth() {
        let broker = Broker::new(BTreeMap::from([("KEY".to_owned(), Secret::new("hunter22"))]));
        let mut value = json!({"a": [{"b": "with ${secret:KEY}"}, 1, "${secret:OTHER}"]});
        fill(&mut value, &broker);
        assert_eq!(value, json!({"a": [{"b": "with hunter22"}, 1, "${secret:OTHER}"]}));
    }

    #[test]
    fn each_start_takes_the_next_act() {
        let (tool, other) = (ToolId::sanitized("a.b"), ToolId::sanitized("c"));
        let act = |delay_ms| Act { delay_ms, ..Act::default() };
        let acts = Acts::new(BTreeMap::from([(tool.clone(), vec![act(1), act(2)])]));
        assert_eq!((acts.next(&other), acts.left()), (None, Some((tool.clone(), 2))));
        let played = [1, 2, 3].map(|_| acts.next(&tool).map(|act| act.delay_ms));
        assert_eq!((played, acts.left()), ([Some(1), Some(2), None], None));
    }
}
