//! What bounds calls beside the decision about each of them: budgets of rules, and the cost and the
//! deadline of the declared intent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decide::Judgement;
use super::rules::Rules;
use crate::base::world::Millis;
use crate::journal::event::call::Budget;
use crate::runtime::catalog::Registered;
use crate::tool::descriptor::FinancialCost;
use crate::tool::intent::Intent;

/// The name of the budget that the declared intent sets.
pub const INTENT: &str = "intent";

/// Which calls a budget counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Those of one turn.
    #[default]
    Turn,
    /// Those of the session.
    Session,
}

impl Per {
    /// The name as written in files and journals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Session => "session",
        }
    }
}

/// The budget of a rule: what the calls that it matches may use up together, those of delegates
/// among them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuleBudget {
    /// How many of them may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub calls: Option<u32>,
    /// What they may cost, in US dollars. A call whose cost nobody bounds does not start under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub cost_usd: Option<f64>,
    /// `turn` or `session`.
    pub per: Per,
}

impl RuleBudget {
    /// As a record states it, under its rule's name.
    pub fn named(&self, rule: &str) -> Budget {
        Budget {
            name: rule.to_owned(),
            per: self.per.name().to_owned(),
            calls: self.calls,
            cost_usd: self.cost_usd,
            deadline: None,
        }
    }

    /// What is wrong with it, where something is.
    pub fn fault(&self) -> Option<&'static str> {
        match (self.calls, self.cost_usd) {
            (None, None) => Some("the budget bounds nothing: state `calls`, `cost_usd`, or both"),
            (_, Some(cost)) if !(cost.is_finite() && cost >= 0.0) => {
                Some("`cost_usd` is no amount of money")
            }
            _ => None,
        }
    }
}

/// The budgets of one call: those of the rules that spoke of it, and the intent's. `declared` is
/// when the intent was.
pub fn budgets(
    judgement: &Judgement,
    rules: &Rules,
    (intent, declared): (&Intent, Millis),
) -> Vec<Budget> {
    let of_rules = judgement.rules.iter().filter_map(|id| {
        let budget = rules.budget(id)?;
        Some(budget.named(id))
    });
    let limits = intent.constraints.as_ref();
    let limits = limits.filter(|it| it.max_cost_usd.is_some() || it.deadline_ms.is_some());
    let of_intent = limits.map(|limits| Budget {
        name: INTENT.to_owned(),
        per: Per::Turn.name().to_owned(),
        calls: None,
        cost_usd: limits.max_cost_usd,
        deadline: limits.deadline_ms.map(|ms| declared.saturating_add(ms)),
    });
    of_rules.chain(of_intent).collect()
}

/// The most that one start of a tool may cost, in US dollars: its limit, or nothing where it costs
/// nothing; `None` where nobody says.
pub fn cost_of(tool: &Registered) -> Option<f64> {
    let descriptor = &tool.descriptor;
    match (descriptor.sandbox.limits.max_cost_usd, descriptor.risk.financial_cost) {
        (Some(most), _) => Some(most),
        (None, FinancialCost::None) => Some(0.0),
        (None, _) => None,
    }
}
