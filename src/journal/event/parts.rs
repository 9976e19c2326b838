//! Values that stand in facts about calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::world::Millis;

/// One part of a command line: a command, a redirection, or what is not understood.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgedPart {
    /// The part as it was read; absent where arguments are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// `allow`, `ask`, `strong_ask` or `deny`.
    pub decision: String,
    /// Rules that spoke of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// What a call may use up together with others: those of one turn, or of the session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// The rule that sets it, or `intent`.
    pub name: String,
    /// `turn` or `session`.
    pub per: String,
    /// How many calls may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// What they may cost together, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The time after which none starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
}

/// What is used up of a budget.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spent {
    /// The budget's name.
    pub name: String,
    /// Calls that started.
    pub calls: u32,
    /// What they cost, in US dollars: as they said, else the most that they may.
    pub cost_usd: f64,
}

/// What a call was seen to touch. What cannot be observed is `unknown`, never empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ObservedEffects {
    /// How it was observed: `workspace`, `digests` (what was written, removed and reached; not what
    /// was read), `http` (which service was reached; not what it did), `simulated`, `unknown`.
    pub method: String,
    /// Resources read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Resources written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Resources removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deletes: Vec<String>,
    /// Services reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub external_calls: Vec<String>,
    /// What it cost, in US dollars, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl ObservedEffects {
    /// Whether what was written and removed was seen, so that nothing seen means nothing changed.
    pub fn sees_changes(&self) -> bool {
        matches!(self.method.as_str(), "workspace" | "digests")
    }
}

/// What one verifier found (seed B section 9).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// The verifier.
    pub name: String,
    /// `pass`, `fail`, or `warn` for one that only observes.
    pub result: String,
    /// Its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
