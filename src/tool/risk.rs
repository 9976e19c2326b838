//! Risk levels and authority levels L0..L5 (seed B section 12).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descriptor::{Descriptor, Effects, RiskSection};
use super::effect::{ActionType, EffectClass};

/// How bad it is when a call goes wrong, by its author's word.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the field's own words")]
pub enum RiskLevel {
    #[default]
    Low,
    Medium,
    High,
    Critical,
}

/// The six levels of authority. The order is the strictness.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Level {
    /// Reads inside; runs by itself.
    L0,
    /// Computes inside; runs by itself under the sandbox's limits.
    L1,
    /// Changes the workspace; needs the `workspace_write` scope.
    L2,
    /// Reads an external service or a user's data; needs its scopes.
    L3,
    /// Is visible outside; asks.
    L4,
    /// Destroys or administers; asks strongly.
    L5,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The level of a descriptor: the highest that its action types, effects and risk imply.
pub fn level(descriptor: &Descriptor) -> Level {
    let actions = descriptor.intent.action_types.iter().copied().map(action_level);
    let (effects, risk) = (effects_level(&descriptor.effects), risk_level(&descriptor.risk));
    // A program that runs unconfined may write the workspace, whatever it declares.
    let program = if descriptor.execution.command.is_empty() { Level::L0 } else { Level::L2 };
    actions.fold(effects.max(risk).max(program), Level::max)
}

/// The effect class that goes with a level and its effects.
pub fn effect_class(descriptor: &Descriptor) -> EffectClass {
    match level(descriptor) {
        Level::L5 => EffectClass::Destructive,
        Level::L4 => EffectClass::External,
        Level::L2 => EffectClass::Write,
        Level::L0 | Level::L1 | Level::L3 if writes(&descriptor.effects) => EffectClass::Write,
        Level::L0 | Level::L1 | Level::L3 => EffectClass::Read,
    }
}

fn writes(effects: &Effects) -> bool {
    !effects.writes.is_empty()
}

/// Seed B section 7's layering of action types.
fn action_level(action: ActionType) -> Level {
    match action {
        ActionType::Read | ActionType::Search | ActionType::Inspect | ActionType::MemoryRead => {
            Level::L0
        }
        ActionType::Compute
        | ActionType::Transform
        | ActionType::Generate
        | ActionType::Execute
        | ActionType::SubagentDelegate => Level::L1,
        ActionType::Write | ActionType::Patch | ActionType::MemoryWrite => Level::L2,
        ActionType::ExternalSend => Level::L4,
        ActionType::Deploy
        | ActionType::Purchase
        | ActionType::Delete
        | ActionType::Admin
        | ActionType::Auth => Level::L5,
    }
}

fn effects_level(effects: &Effects) -> Level {
    let local = |kind: &str| matches!(kind, "workspace" | "memory");
    if !effects.deletes.is_empty() {
        Level::L5
    } else if effects.sends_user_data
        || (effects.external_calls && effects.mutates_state)
        || effects.writes.iter().any(|pattern| !local(pattern.kind()))
    {
        Level::L4
    } else if effects.external_calls {
        Level::L3
    } else if writes(effects) || effects.mutates_state {
        Level::L2
    } else {
        Level::L0
    }
}

fn risk_level(risk: &RiskSection) -> Level {
    if risk.destructive {
        return Level::L5;
    }
    match risk.level {
        RiskLevel::Low | RiskLevel::Medium => Level::L0,
        RiskLevel::High => Level::L4,
        RiskLevel::Critical => Level::L5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::effect::ResourcePattern;

    #[test]
    fn highest_implied_level_wins() {
        let base = Effects::default();
        let writes =
            |pattern: &str| Effects { writes: vec![ResourcePattern::new(pattern)], ..base.clone() };
        let external = Effects { external_calls: true, ..base.clone() };
        let sends = Effects { external_calls: true, mutates_state: true, ..base.clone() };
        let low = RiskSection::default();
        let destructive = RiskSection { destructive: true, ..low.clone() };
        for (effects, risk, action, expected) in [
            (&base, &low, ActionType::Read, Level::L0),
            (&base, &low, ActionType::Compute, Level::L1),
            (
                &Effects { mutates_state: true, ..base.clone() },
                &low,
                ActionType::Execute,
                Level::L2,
            ),
            (&writes("workspace:**"), &low, ActionType::Read, Level::L2),
            (&external, &low, ActionType::Search, Level::L3),
            (&writes("api:issues"), &low, ActionType::Write, Level::L4),
            (&sends, &low, ActionType::Read, Level::L4),
            (&base, &low, ActionType::Delete, Level::L5),
            (&base, &destructive, ActionType::Read, Level::L5),
        ] {
            let level = effects_level(effects).max(risk_level(risk)).max(action_level(action));
            assert_eq!(level, expected, "{effects:?} {action:?}");
        }
    }
}
