//! `Descriptor`: the canonical contract of a tool (seed B section 6). Sections and fields keep
//! seed B's names. Every default stands in a `Default` here and in the generated JSON Schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::effect::{ActionType, ResourcePattern};
use super::id::ToolId;
pub use super::sections::{
    ApprovalPolicy, AuditLevel, ContextInheritance, ContextPolicy, CredentialStrategy, Credentials,
    EgressPolicy, Execution, FinancialCost, Hooks, Lifecycle, LifecycleStatus, Observability,
    OutputExposure, Permissions, PrivacyRisk, Provenance, RedactionPolicy, RiskSection, Sandbox,
    SandboxMode, Source, SourceType, SubagentBudget, SubagentContext, ToolCeiling, TrustLevel,
};
use crate::base::{canon, digest::Digest};

/// The canonical contract of a tool. Its version is the digest of its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Descriptor {
    /// The format, `proofmark/tool@1`.
    pub schema: String,
    /// Canonical, namespaced name.
    pub tool_id: ToolId,
    /// The name its source gives it; the tool id when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_name: Option<String>,
    /// The name people see; the tool id when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Derived from the content; a manifest may leave it out or must state the right one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Digest>,
    /// Where it comes from; built in by default.
    #[serde(default)]
    pub source: Source,
    /// Where it stands in the registration state machine; verified by default.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// What a model is told.
    pub description: Description,
    /// What it is for.
    pub intent: IntentSection,
    /// JSON Schemas of input, output and error.
    pub schemas: Schemas,
    /// What it touches; must be declared (seed B invariant 13).
    pub effects: Effects,
    /// Low risk by default.
    #[serde(default)]
    pub risk: RiskSection,
    /// No scopes by default; approval by level.
    #[serde(default)]
    pub permissions: Permissions,
    /// Read-only and without network by default.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// None by default.
    #[serde(default)]
    pub credentials: Credentials,
    /// Exposed, with a preview of the output, by default.
    #[serde(default)]
    pub context_policy: ContextPolicy,
    /// How it runs; simulated by default.
    #[serde(default)]
    pub execution: Execution,
    /// None by default.
    #[serde(default)]
    pub hooks: Hooks,
    /// Everything logged by default.
    #[serde(default)]
    pub observability: Observability,
    /// First party by default.
    #[serde(default)]
    pub provenance: Provenance,
    /// Only for tools that delegate to another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Subagent>,
}

/// The format tag of a descriptor file.
pub const FORMAT: &str = "proofmark/tool@1";

/// The names that the argument for a dry run may have.
pub const DRY_RUN: [&str; 2] = ["dry_run", "dryRun"];

/// The adapter that runs a command line.
pub const SHELL: &str = "builtin:shell";

impl Descriptor {
    /// The digest of the canonical content: everything but the version itself, the lifecycle, and
    /// the provenance's hash and signature, which speak about the content.
    pub fn content_digest(&self) -> Digest {
        let mut value = serde_json::to_value(self).unwrap_or(Value::Null);
        if let Some(map) = value.as_object_mut() {
            map.remove("version");
            map.remove("lifecycle");
            if let Some(provenance) = map.get_mut("provenance").and_then(Value::as_object_mut) {
                provenance.remove("manifestHash");
                provenance.remove("signature");
            }
        }
        canon::content_digest("tool", &value)
    }

    /// The argument that is a command line for a shell, where there is one.
    pub fn shell_line(&self) -> Option<&str> {
        let own = (self.execution.adapter == SHELL).then_some("command");
        self.permissions.shell_line.as_deref().or(own)
    }

    /// The argument that asks for a dry run: a boolean of the input schema, where the tool says
    /// that it knows one.
    pub fn dry_run_argument(&self) -> Option<&'static str> {
        let properties = self.schemas.input_schema.get("properties")?;
        let known = DRY_RUN.into_iter().find(|name| properties.get(name).is_some());
        known.filter(|_| self.effects.dry_run_supported)
    }

    /// The name people see.
    pub fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(self.tool_id.as_str())
    }
}

/// What a model is told about the tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Description {
    /// One or two sentences: what it does and returns.
    pub summary: String,
    /// When it is the right choice.
    #[serde(default)]
    pub use_when: Vec<String>,
    /// When another tool, or none, is the right choice.
    #[serde(default)]
    pub do_not_use_when: Vec<String>,
    /// Requests with the arguments they should lead to.
    #[serde(default)]
    pub examples: Vec<Example>,
}

/// One request with the arguments it should lead to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Example {
    /// What a user says.
    pub user_request: String,
    /// The arguments that fit.
    #[serde(default)]
    pub expected_args: Map<String, Value>,
}

/// What the tool is for, for matching with a declared intent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IntentSection {
    /// Kinds of action; at least one.
    #[schemars(length(min = 1))]
    pub action_types: Vec<ActionType>,
    /// Subjects, such as `files`.
    #[serde(default)]
    pub domains: Vec<String>,
    /// Words of which the user's goal must contain one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_user_intent: Vec<String>,
    /// Words that speak against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub negative_intent_hints: Vec<String>,
}

/// The JSON Schemas of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Schemas {
    /// Of the arguments. 2020-12 unless `$schema` says otherwise.
    pub input_schema: Value,
    /// Of a successful structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_schema: Option<Value>,
}

impl Default for Schemas {
    fn default() -> Self {
        let input_schema = json!({"type": "object", "properties": {}});
        Self { input_schema, output_schema: None, error_schema: None }
    }
}

/// What a call touches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Effects {
    /// Resources read; must be declared, may be empty.
    pub reads: Vec<ResourcePattern>,
    /// Resources written; must be declared, may be empty.
    pub writes: Vec<ResourcePattern>,
    /// Resources removed.
    #[serde(default)]
    pub deletes: Vec<ResourcePattern>,
    /// Whether it reaches services outside.
    #[serde(default)]
    pub external_calls: bool,
    /// Whether a user's data leaves.
    #[serde(default)]
    pub sends_user_data: bool,
    /// Whether it changes state outside the workspace or inside.
    #[serde(default)]
    pub mutates_state: bool,
    /// Whether running it twice equals running it once.
    #[serde(default)]
    pub idempotent: bool,
    /// Whether its effect can be taken back.
    #[serde(default)]
    pub reversible: bool,
    /// Whether it can say what it would do without doing it.
    #[serde(default)]
    pub dry_run_supported: bool,
}

/// A delegate agent (seed B section 14).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subagent {
    /// Which agent.
    pub agent_id: String,
    /// Tools it may use, never more than its parent has.
    pub allowed_tools: Vec<String>,
    /// What of its parent's bounds that.
    #[serde(default, skip_serializing_if = "ToolCeiling::is_shown")]
    pub tool_ceiling: ToolCeiling,
    /// What it inherits and returns.
    #[serde(default)]
    pub context_policy: SubagentContext,
    /// What it may spend.
    #[serde(default)]
    pub budget: SubagentBudget,
}
