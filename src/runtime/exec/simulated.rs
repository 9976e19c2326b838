//! A tool without effects: it answers what its descriptor says and touches nothing. Its declared
//! effects are reported as simulated, never as observed.

use serde_json::Value;

use super::ran::Ran;
use super::ready::Ready;
use crate::journal::event::call::ObservedEffects;
use crate::runtime::credential::Broker;

/// Answers the descriptor's `simulatedOutput`, or a short confirmation. `${secret:NAME}` stands
/// for a credential's value, so that a careless tool can be simulated too.
pub fn run(ready: &Ready, broker: &Broker) -> Ran {
    let call = ready.permitted().validated();
    let descriptor = &call.resolved().tool().descriptor;
    let effects = ObservedEffects { method: "simulated".to_owned(), ..Default::default() };
    match &descriptor.execution.simulated_output {
        Some(Value::String(text)) => Ran::ok(broker.fill(text), effects),
        Some(value) => {
            Ran { structured: Some(value.clone()), ..Ran::ok(value.to_string(), effects) }
        }
        None => Ran::ok(format!("{}: done (simulated)", descriptor.tool_id), effects),
    }
}
