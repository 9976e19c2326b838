//! A call held against what was declared to be intended.

use crate::runtime::catalog::Registered;
use crate::tool::effect::EffectClass;
use crate::tool::intent::Intent;

/// Why a call goes beyond the declared intent; `None` when it stays within, or nothing relevant
/// was declared.
pub fn beyond_intent(tool: &Registered, intent: &Intent) -> Option<String> {
    let descriptor = &tool.descriptor;
    if let Some(limits) = &intent.constraints {
        let action = |word: &String| {
            let actions = descriptor.intent.action_types.iter();
            actions.map(serde_json::to_value).any(|name| name.is_ok_and(|name| name == **word))
        };
        let named = |word: &&String| **word == *tool.id().as_str() || action(word);
        if let Some(word) = limits.must_not.iter().find(named) {
            return Some(format!("the intent says that `{word}` must not happen"));
        }
        if limits.require_confirmation && tool.class > EffectClass::Read {
            return Some("the intent wants every change confirmed".to_owned());
        }
    }
    let expected = intent.expected_effect.as_ref()?;
    if tool.class >= EffectClass::External && !expected.external_side_effect {
        return Some("no effect outside is expected".to_owned());
    }
    let changes = !descriptor.effects.writes.is_empty() || !descriptor.effects.deletes.is_empty();
    if changes && expected.write.is_empty() && tool.class < EffectClass::External {
        return Some("no change is expected".to_owned());
    }
    None
}
