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
            let mut value = value.clone();
            fill(&mut value, broker);
            let output = value.to_string();
            Ran { structured: Some(value), ..Ran::ok(output, effects) }
        }
        None => Ran::ok(format!("{}: done (simulated)", descriptor.tool_id), effects),
    }
}

fn fill(value: &mut Value, broker: &Broker) {
    match value {
        Value::String(text) => *text = broker.fill(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, broker)),
        Value::Object(map) => map.values_mut().for_each(|value| fill(value, broker)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
}
