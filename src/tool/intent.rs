//! Why a tool is used (seed B section 8): an auditable summary, not a train of thought.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::effect::ActionType;

/// What is intended, from the user's goal down to the next action. Declared by a planner, by the
/// case, or by rules; later steps compare with it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Intent {
    /// What the user wants in the end.
    pub user_goal: String,
    /// The present task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_task: String,
    /// Kinds of action that serve it; empty when none was declared, which excludes nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_types: Vec<ActionType>,
    /// Subjects that serve it; empty excludes nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// What it is aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// What it is expected to touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_effect: Option<ExpectedEffect>,
    /// What limits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
    /// The reason in public words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rationale_summary: String,
    /// What supports it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
    /// From 0 to 1, when the planner says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// What an action is aimed at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// `file`, `repo`, `url`, `api`, `database`, `calendar`, `email`, `memory` or `agent`.
    pub kind: String,
    /// Which one.
    pub r#ref: String,
}

/// What an action is expected to touch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExpectedEffect {
    /// Resources read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Resources written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Whether anything outside changes.
    pub external_side_effect: bool,
    /// Whether a user sees it.
    pub user_visible_side_effect: bool,
}

/// What limits an action.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Constraints {
    /// What must not happen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub must_not: Vec<String>,
    /// Whether a person must be asked in any case.
    pub require_confirmation: bool,
    /// Money, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Time, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}
