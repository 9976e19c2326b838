//! The optional sections of a descriptor, each with its written-down defaults.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::http::Http;
use super::risk::RiskLevel;
use super::undo::Inverse;
use crate::base::digest::Digest;

macro_rules! name_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),+ $(,)? } default $default:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "the names are seed B's own words")]
        pub enum $name { $($variant),+ }

        impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        }
    };
}

name_enum! {
    /// Kinds of tool source.
    SourceType { Builtin, Cli, Skill, Mcp, Http, Subagent } default Builtin
}
name_enum! {
    /// States of the registration state machine that a descriptor can be in.
    LifecycleStatus { Discovered, Verified, Enabled, Disabled, Deprecated, Blocked }
    default Verified
}
name_enum! {
    /// What a call costs in money.
    FinancialCost { None, Low, Metered, Unknown } default None
}
name_enum! {
    /// What a call reveals about people.
    PrivacyRisk { None, Low, Medium, High } default None
}
name_enum! {
    /// When the author wants a person asked. It can only make a call stricter: `never` adds
    /// nothing, `on_risk` follows the level, `always` asks each time.
    ApprovalPolicy { Never, OnRequest, OnRisk, Always } default OnRisk
}
name_enum! {
    /// Whose data the tool may cross.
    TenantBoundary { User, Org, Workspace, Project } default User
}
name_enum! {
    /// How strongly execution is confined.
    SandboxMode {
        None, ReadOnly, WorkspaceWrite, NetworkRestricted, Container, Vm, RemoteApi
    } default ReadOnly
}
name_enum! {
    /// What network traffic may leave.
    EgressPolicy { None, Allowlist, Open } default None
}
name_enum! {
    /// Whose authority a call uses.
    CredentialStrategy { None, System, UserOauth, ServiceAccount, Delegated } default None
}
name_enum! {
    /// How much of a result returns to the model.
    OutputExposure { None, Preview, Structured, Full } default Preview
}
name_enum! {
    /// How much is kept for audit.
    AuditLevel { None, Basic, Full } default Full
}
name_enum! {
    /// How far the source is trusted; it caps exposure.
    TrustLevel { FirstParty, Workspace, ThirdParty, Untrusted } default FirstParty
}
name_enum! {
    /// How the output of a program or a service is read: as it is, as one JSON value, or as one on
    /// each line.
    OutputParser { Text, Json, Jsonl } default Text
}

impl OutputParser {
    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

name_enum! {
    /// What is taken out of a result: secrets, or personal data too that has a shape of its own.
    RedactionPolicy { Secrets, PersonalData } default Secrets
}
name_enum! {
    /// What a delegate inherits of the parent's context.
    ContextInheritance { None, Summary, SelectedRefs } default None
}

name_enum! {
    /// What bounds the tools of a delegate: those that its parent's request showed, or those that
    /// its parent's session may use, however it arranged its own requests.
    ToolCeiling { Shown, Scoped } default Shown
}

impl ToolCeiling {
    pub(super) fn is_shown(&self) -> bool {
        *self == Self::Shown
    }
}

macro_rules! section {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$field_doc:meta])* $field:ident : $type:ty = $default:expr),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }
    };
}

section! {
    /// Where a tool comes from.
    Source {
        /// The kind of source.
        r#type: SourceType = SourceType::default(),
        /// Which one of that kind.
        source_id: String = "builtin".to_owned(),
        /// The package that carries it.
        #[serde(skip_serializing_if = "Option::is_none")]
        package_name: Option<String> = None,
        /// The MCP server that offers it.
        #[serde(skip_serializing_if = "Option::is_none")]
        server_id: Option<String> = None,
        /// The command that starts the source.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<String> = None,
        /// Where the source is reached.
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String> = None,
    }
}

section! {
    /// Registration facts; not part of the version.
    Lifecycle {
        /// The state.
        status: LifecycleStatus = LifecycleStatus::default(),
        /// When it was registered, RFC 3339.
        #[serde(skip_serializing_if = "Option::is_none")]
        registered_at: Option<String> = None,
        /// When it last changed, RFC 3339.
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_at: Option<String> = None,
        /// Who answers for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<String> = None,
    }
}

section! {
    /// What can go wrong.
    RiskSection {
        /// How bad.
        level: RiskLevel = RiskLevel::Low,
        /// Whether it destroys.
        destructive: bool = false,
        /// Whether it meets an open set of outside parties.
        open_world: bool = false,
        /// Money.
        financial_cost: FinancialCost = FinancialCost::None,
        /// People's data.
        privacy_risk: PrivacyRisk = PrivacyRisk::None,
    }
}

section! {
    /// Who may call it and when a person is asked.
    Permissions {
        /// The author's wish.
        approval_policy: ApprovalPolicy = ApprovalPolicy::OnRisk,
        /// Scopes the principal must hold.
        required_scopes: Vec<String> = Vec::new(),
        /// When not empty, only these principals.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        allowed_principals: Vec<String> = Vec::new(),
        /// Never these.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        blocked_principals: Vec<String> = Vec::new(),
        /// Whose data it may cross.
        tenant_boundary: TenantBoundary = TenantBoundary::User,
        /// The parameter that only the runtime may set, on approved calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval_marker: Option<String> = None,
        /// The parameter that is a command line for a shell: policy judges it by its parts. For
        /// the adapter `builtin:shell` it is `command` where nothing is said.
        #[serde(skip_serializing_if = "Option::is_none")]
        shell_line: Option<String> = None,
    }
}

section! {
    /// Where and how confined it runs.
    Sandbox {
        /// How strongly.
        mode: SandboxMode = SandboxMode::ReadOnly,
        /// Files.
        filesystem: Filesystem = Filesystem::default(),
        /// Network.
        network: Network = Network::default(),
        /// Limits.
        limits: Limits = Limits::default(),
        /// The image of mode `container`.
        #[serde(skip_serializing_if = "Option::is_none")]
        image: Option<String> = None,
        /// Environment variables.
        #[serde(skip_serializing_if = "Environment::is_empty")]
        environment: Environment = Environment::default(),
    }
}

section! {
    /// Environment variables of a command; without them it has its own few and no others.
    Environment {
        /// Names that it inherits, where they are set.
        inherited_env: Vec<String> = Vec::new(),
    }
}

impl Environment {
    fn is_empty(&self) -> bool {
        self.inherited_env.is_empty()
    }
}

section! {
    /// Files a tool may touch.
    Filesystem {
        /// Roots it may read; the workspace.
        read_roots: Vec<String> = vec!["workspace".to_owned()],
        /// Roots it may write; none.
        write_roots: Vec<String> = Vec::new(),
        /// Never these, even inside the roots: paths in the workspace, or patterns of them.
        blocked_paths: Vec<String> = Vec::new(),
        /// The folder of the workspace in which a command starts; the workspace itself when empty.
        #[serde(skip_serializing_if = "String::is_empty")]
        cwd: String = String::new(),
    }
}

section! {
    /// Network a tool may reach.
    Network {
        /// Names it may reach under `allowlist`.
        allow_domains: Vec<String> = Vec::new(),
        /// Names it may never reach.
        deny_domains: Vec<String> = Vec::new(),
        /// The policy; none.
        egress_policy: EgressPolicy = EgressPolicy::None,
    }
}

section! {
    /// Limits of one execution.
    Limits {
        /// Wall time in milliseconds; 30,000.
        timeout_ms: u64 = 30_000,
        /// Memory in MiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_memory_mb: Option<u64> = None,
        /// Processes and threads at once; 128 where a command is confined.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_processes: Option<u64> = None,
        /// Captured output in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_output_bytes: Option<u64> = None,
        /// Money in US dollars.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_cost_usd: Option<f64> = None,
    }
}

section! {
    /// Whose authority a call uses. Values never stand here, only names.
    Credentials {
        /// The strategy.
        strategy: CredentialStrategy = CredentialStrategy::None,
        /// Names of secrets the broker must hold.
        required_secrets: Vec<String> = Vec::new(),
        /// The audience a token must be for.
        #[serde(skip_serializing_if = "Option::is_none")]
        token_audience: Option<String> = None,
        /// Whether the token's scopes are compared with the required ones.
        scope_check_required: bool = false,
    }
}

section! {
    /// What the model sees.
    ContextPolicy {
        /// Whether the tool may be shown at all.
        expose_to_model: bool = true,
        /// What of the result.
        expose_output_to_model: OutputExposure = OutputExposure::Preview,
        /// The preview's size in tokens (four characters each); 1,000.
        max_output_preview_tokens: u64 = 1_000,
        /// What is taken out of a result; personal data too where nothing is said, the tool reads
        /// outside (L3), and `risk.privacyRisk` is not `none`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "RedactionPolicy")]
        redaction_policy: Option<RedactionPolicy> = None,
    }
}

section! {
    /// How it runs.
    Execution {
        /// `builtin:<name>`, `cli`, `http` or `simulated`.
        adapter: String = "simulated".to_owned(),
        /// Wall time in milliseconds; 30,000.
        timeout_ms: u64 = 30_000,
        /// When and how often again; never by default.
        retry_policy: RetryPolicy = RetryPolicy::default(),
        /// The program and its arguments: fixed for `builtin:command.run`, a template for `cli`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        command: Vec<String> = Vec::new(),
        /// The argument that a `cli` program reads as its input.
        #[serde(skip_serializing_if = "Option::is_none")]
        stdin: Option<String> = None,
        /// Variables of a started program that hold a secret's value, each with the secret's name.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        secret_env: BTreeMap<String, String> = BTreeMap::new(),
        /// Variables of a started program that name a file of its own with a secret's value, each
        /// with the secret's name.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        secret_files: BTreeMap<String, String> = BTreeMap::new(),
        /// The operation of the adapter `http`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Http")]
        http: Option<Http> = None,
        /// What a `cli` program or an HTTP service writes; text by default.
        #[serde(skip_serializing_if = "OutputParser::is_text")]
        parser: OutputParser = OutputParser::Text,
        /// What a simulated tool answers; by default a short confirmation.
        #[serde(skip_serializing_if = "Option::is_none")]
        simulated_output: Option<Value> = None,
        /// Whether asking again with the same arguments is its purpose: neither the duplicate
        /// guard nor the loop guard counts it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        polling: bool = false,
        /// Parameters that the ingress envelope fills in where the model leaves them out, each
        /// with the envelope's field: `channel`, `reply_to`, `thread` or `principal`.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        delivery: BTreeMap<String, String> = BTreeMap::new(),
        /// The call that takes a call of this tool back.
        #[serde(skip_serializing_if = "Option::is_none")]
        inverse: Option<Inverse> = None,
    }
}

section! {
    /// Repetition of failed attempts; only for idempotent tools.
    RetryPolicy {
        /// Further attempts after the first.
        max_retries: u32 = 0,
        /// Fault names that may be retried.
        retry_on: Vec<String> = Vec::new(),
        /// Pause in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        backoff_ms: Option<u64> = None,
    }
}

section! {
    /// Names of hooks.
    Hooks {
        /// Before a call; may rewrite or cancel it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pre_call: Vec<String> = Vec::new(),
        /// After a call; only observe.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        post_call: Vec<String> = Vec::new(),
        /// Checks of the result.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        verifier: Vec<String> = Vec::new(),
        /// After a fault; only observe.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        on_error: Vec<String> = Vec::new(),
    }
}

section! {
    /// What is kept for audit.
    Observability {
        /// Arguments.
        log_args: bool = true,
        /// Previews.
        log_result_preview: bool = true,
        /// How much: `full` keeps texts as the two above say; below it none is kept.
        audit_level: AuditLevel = AuditLevel::Full,
    }
}

impl Observability {
    /// Whether arguments are kept, and not their digest alone.
    pub fn keeps_args(&self) -> bool {
        self.log_args && self.audit_level == AuditLevel::Full
    }

    /// Whether results are kept, and not digest and size alone.
    pub fn keeps_results(&self) -> bool {
        self.log_result_preview && self.audit_level == AuditLevel::Full
    }
}

section! {
    /// Where the descriptor itself comes from.
    Provenance {
        /// Digest of the descriptor's content as its author states it (without `version`,
        /// `lifecycle`, `manifestHash` and `signature`); held against it at registration.
        #[serde(skip_serializing_if = "Option::is_none")]
        manifest_hash: Option<Digest> = None,
        /// A signature over the manifest hash.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String> = None,
        /// Where more can be read.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        source_refs: Vec<String> = Vec::new(),
        /// How far it is trusted.
        trust_level: TrustLevel = TrustLevel::FirstParty,
        /// Digest of what a server says of the tool, where this was made of it: the server is held
        /// to that, and what a model is shown may be written anew.
        #[serde(skip_serializing_if = "Option::is_none")]
        definition: Option<Digest> = None,
        /// Fields of the original definition that have no place here, kept as they came.
        #[serde(skip_serializing_if = "Map::is_empty")]
        foreign: Map<String, Value> = Map::new(),
    }
}

section! {
    /// What a delegate inherits and returns.
    SubagentContext {
        /// Nothing by default.
        inherit_parent_context: ContextInheritance = ContextInheritance::None,
        /// Not by default.
        return_transcript: bool = false,
        /// By default.
        return_summary: bool = true,
    }
}

section! {
    /// What a delegate may spend.
    SubagentBudget {
        /// Turns; 5.
        max_turns: u32 = 5,
        /// Tokens; 20,000.
        max_tokens: u64 = 20_000,
        /// Wall time in milliseconds; 120,000.
        timeout_ms: u64 = 120_000,
    }
}
