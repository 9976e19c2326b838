//! Facts about one call. Its id stands in the entry's `call`.

use serde_json::Value;

use super::facts;
pub use super::parts::{Budget, Check, JudgedPart, ObservedEffects, Spent};
use super::turn::SecretHash;
use crate::base::digest::Digest;
use crate::base::world::Millis;
use crate::journal::outcome::{Fault, Outcome};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;
use crate::tool::risk::{Level, RiskLevel};
use crate::tool::schema::ArgumentError;

facts! {
    /// A proposer asked for a call.
    ToolCallRequested {
        /// The name as it was spelled.
        tool_id: String,
        ? /// The arguments, when they are JSON; scrubbed.
        args: Option<Value>,
        ? /// The arguments as text, when they are not JSON; scrubbed.
        raw_args: Option<String>,
        ? /// Digest of the arguments, where they are not kept.
        args_digest: Option<Digest>,
        ? /// The provider's own id, when it gave one.
        provider_call_id: Option<String>,
        ? /// Position in the reply, from 0.
        index: Option<u32>,
        ? /// `model`, `planner`, `user`, `system` or `subagent`.
        proposed_by: Option<String>,
        ? /// The version it resolved to, where the writer knew it already.
        tool_version: Option<Digest>,
        ? /// Where in the reply it stood: `native`, `tagged`, `fenced`, `invoke` or `bare`.
        origin: Option<String>,
    }
}
facts! {
    /// A hook looked at the call.
    HookRan {
        /// Which hook.
        hook: String,
        /// `before_call`, `verify`, `after_call` or `on_error`.
        point: String,
        /// `pass`, `rewrite`, `cancel`, `failed`.
        verdict: String,
        ? /// Its reason.
        reason: Option<String>,
        ? /// Whether it only observes: its failure blocks nothing.
        observer: bool,
    }
}
facts! {
    /// Name or arguments changed before anything was judged.
    ToolCallRewritten {
        /// The new name.
        tool_id: String,
        ? /// The new arguments.
        args: Option<Value>,
        ? /// By which hook.
        by: Option<String>,
        ? /// Whether the arguments may have changed and are not kept.
        unlogged: bool,
        ? /// Digest of the arguments, where they are not kept.
        args_digest: Option<Digest>,
    }
}
facts! {
    /// The arguments were held against the schema of the resolved version.
    ToolArgsValidated {
        /// `passed` or `failed`.
        status: String,
        ? /// The resolved tool.
        tool_id: Option<ToolId>,
        ? /// The resolved version.
        tool_version: Option<Digest>,
        ? /// Digest of the canonical arguments.
        args_digest: Option<Digest>,
        ? /// Every failure.
        errors: Vec<ArgumentError>,
        ? /// Whether blank text stood for `{}`.
        blank: bool,
        ? /// Whether an approval marker that somebody wrote was cleared first.
        marker_cleared: bool,
        ? /// Arguments that the ingress envelope filled in.
        defaults: Vec<String>,
        ? /// The arguments as they are from here on, where a marker or a default changed them.
        args: Option<Value>,
    }
}
facts! {
    /// Policy decided, after the arguments were validated.
    ToolPolicyChecked {
        /// `allow`, `ask`, `strong_ask` or `deny`.
        decision: String,
        /// The reasons, strictest first.
        reason: String,
        ? /// The call's authority level.
        level: Option<Level>,
        ? /// The strictest thing it may do.
        effect_class: Option<EffectClass>,
        ? /// Rules that matched.
        rules: Vec<String>,
        ? /// Digest of tool, version, arguments, effect class, scopes and risk.
        call_digest: Option<Digest>,
        ? /// Compared with the declared intent: `within` or `beyond`.
        intent: Option<String>,
        ? /// The argument that is a command line, where the tool has one.
        line_argument: Option<String>,
        ? /// The parts of that line, in their order.
        parts: Vec<JudgedPart>,
        ? /// The most that one start of it may cost, in US dollars; absent where nobody said.
        cost_usd: Option<f64>,
        ? /// What bounds it beside the decision.
        budgets: Vec<Budget>,
        ? /// What is taken out of its result beside secrets: `personal_data`.
        redaction: Option<String>,
    }
}

facts! {
    /// A person is asked; the request is a contract.
    ApprovalRequested {
        /// Its id; an answer is addressed to it.
        approval_id: String,
        /// What the person sees first.
        summary: String,
        /// The digest the answer binds.
        call_digest: Digest,
        ? /// Whether the stronger confirmation is needed.
        strong: bool,
        ? /// The arguments shown, scrubbed.
        args_preview: Option<Value>,
        ? /// Who acts.
        principal: Option<String>,
        ? /// With which scopes.
        scopes: Vec<String>,
        ? /// How bad it can be.
        risk: Option<RiskLevel>,
        ? /// Why it asks.
        reasons: Vec<String>,
        ? /// After this no answer counts.
        expires_at: Option<Millis>,
        ? /// What may be answered, as it was printed.
        options: Vec<String>,
        ? /// Blob of what the call would do, as it was found without doing it.
        rehearsal: Option<Digest>,
    }
}
facts! {
    /// The answer was yes.
    ApprovalGranted {
        /// Which request.
        approval_id: String,
        /// The digest that was granted.
        call_digest: Digest,
        /// Who decided.
        decider: String,
        /// By which channel: `scripted`, `terminal`, `back_channel`, ...
        channel: String,
        ? /// Whether it was the stronger confirmation.
        strong: bool,
        ? /// `once`, `session`, `always`.
        scope: Option<String>,
    }
}
facts! {
    /// The answer was no.
    ApprovalDenied {
        /// Which request.
        approval_id: String,
        /// Who decided.
        decider: String,
        /// By which channel.
        channel: String,
        ? /// Why.
        reason: Option<String>,
    }
}
facts! {
    /// The answer was a replacement result; the tool does not run.
    ApprovalReplaced {
        /// Which request.
        approval_id: String,
        /// Who decided.
        decider: String,
        /// By which channel.
        channel: String,
        ? /// Blob of the replacement, as it will be shown.
        text: Option<Digest>,
    }
}
facts! {
    /// No answer came in time, or it came too late.
    ApprovalExpired {
        /// Which request.
        approval_id: String,
        ? /// Whether an answer came late.
        late_answer: bool,
    }
}
facts! {
    /// There was nobody to ask.
    ApprovalUnreachable {
        /// Which request.
        approval_id: String,
        /// By which channel.
        channel: String,
    }
}
facts! {
    /// The same prompt-required call came again after it was not granted.
    RepeatStopped {
        /// The earlier call.
        of: String,
    }
}
facts! {
    /// The same call stands earlier in the guard's scope.
    DuplicateDropped {
        /// The earlier call.
        of: String,
        ? /// The guard's scope: `reply` or `turn`.
        scope: Option<String>,
    }
}
facts! {
    /// Authority was bound; only names are recorded.
    CredentialBound {
        /// The binding's id.
        credential_binding_id: String,
        /// On whose behalf.
        principal: String,
        ? /// With which scopes.
        scopes: Vec<String>,
    }
}
facts! {
    /// Where it will run, resolved before it starts.
    ToolSandboxPrepared {
        /// The sandbox's id.
        sandbox_id: String,
        ? /// What the descriptor asks for.
        mode: Option<String>,
        ? /// What is enforced: `workspace`, `simulated`, `full`, `partial`, `none`.
        enforcement: Option<String>,
        ? /// Parts of the confinement, by name, that must be in force before the command starts.
        mechanisms: Vec<String>,
        ? /// The MCP server that is called.
        server_id: Option<String>,
        ? /// Who that server is, as `ServerConsented` names it.
        server_identity: Option<Digest>,
    }
}
facts! {
    /// It runs from here on.
    ToolCallStarted {
        ? /// Which tool.
        tool_id: Option<ToolId>,
        ? /// Which version.
        tool_version: Option<Digest>,
        ? /// The attempt, from 1.
        attempt: Option<u32>,
        ? /// Digest of the arguments that run.
        args_digest: Option<Digest>,
        ? /// Digest compared with the approval's.
        call_digest: Option<Digest>,
        ? /// The strictest thing it may do.
        effect_class: Option<EffectClass>,
        ? /// The adapter that runs it.
        adapter: Option<String>,
        ? /// The command line, or a request's method and address, where there is one.
        command: Option<String>,
        ? /// The same for every attempt of the call.
        idempotency_key: Option<String>,
        ? /// Whether the runtime set the approval marker.
        marker: bool,
        ? /// Resources it declares to read.
        reads: Vec<String>,
        ? /// Resources it declares to write or delete.
        writes: Vec<String>,
        ? /// Checks of its result that it declares, by name.
        verifiers: Vec<String>,
        ? /// Blob of what it would do, as it was found a second time just before.
        rehearsal: Option<Digest>,
    }
}
facts! {
    /// An attempt failed and may be tried again.
    AttemptFailed {
        /// The attempt, from 1.
        attempt: u32,
        /// What went wrong.
        fault: Fault,
        ? /// When the next attempt may start; absent when there is none.
        retry_at: Option<Millis>,
        ? /// The values of credentials that were obtained anew for it.
        obtained: Vec<SecretHash>,
    }
}
facts! {
    /// It ended by itself.
    ToolCallFinished {
        /// `success`, `failed`, `partial` or `cancelled`.
        status: String,
        ? /// The artifact with the full output.
        artifact_id: Option<String>,
        ? /// Digest of the full, redacted, normalized result.
        result_digest: Option<Digest>,
        ? /// Length of that result in Unicode scalar values.
        result_chars: Option<u64>,
        ? /// What was seen to be touched.
        effects: Option<ObservedEffects>,
        ? /// What went wrong.
        fault: Option<Fault>,
        ? /// Blob of everything that is still to be recorded of the call, so that a record which
        /// ends here can be completed.
        pending: Option<Digest>,
        ? /// Whether neither the result nor what is shown of it is kept.
        unlogged: bool,
        ? /// The values of credentials that were obtained anew for it.
        obtained: Vec<SecretHash>,
    }
}

/// What stands where the text of a result would, when it was not to be logged and nobody holds it
/// any more.
pub const UNLOGGED: &str = "(this result was not logged and is not known any more)";

/// What stands for the words of a fault whose result was not to be logged.
pub const UNLOGGED_FAULT: &str = "(not logged)";

facts! {
    /// The result was held against output schema, verifiers and declared effects.
    ToolResultValidated {
        /// `passed`, `failed` or `skipped`.
        status: String,
        ? /// What was found.
        summary: Option<String>,
        ? /// Effects seen and not declared.
        undeclared: Vec<String>,
        ? /// What each verifier found, in their order.
        checks: Vec<Check>,
    }
}

facts! {
    /// The full output was stored.
    ArtifactPersisted {
        /// Its id.
        artifact_id: String,
        /// `tool_output`, `file`, `diff`, `log`, ...
        kind: String,
        /// Hash of the stored content.
        content_hash: Digest,
        /// Its size.
        bytes: u64,
        ? /// The call it belongs to.
        tool_call_id: Option<String>,
        ? /// The event it came from.
        event_id: Option<u64>,
    }
}
facts! {
    /// Proof that a result came from this run: no approval, no durable audit, no chain.
    ReceiptIssued {
        /// Version and authentication code, `v1:<hex>`.
        receipt: String,
        /// The key's name.
        key_id: String,
        /// Which tool.
        tool_id: ToolId,
        /// Which version.
        tool_version: Digest,
        /// Digest of the arguments.
        args_digest: Digest,
        /// Digest of the full, redacted, normalized result.
        result_digest: Digest,
        /// When.
        issued_at: Millis,
    }
}
facts! {
    /// The slot has its one outcome.
    ToolCallSettled {
        /// The outcome.
        outcome: Outcome,
        ? /// Blob of what the model is shown.
        shown: Option<Digest>,
        ? /// Its length in Unicode scalar values.
        shown_chars: Option<u64>,
        ? /// Whether the middle was cut.
        cut: bool,
    }
}
facts! {
    /// A running call was stopped and everything of it is gone.
    TornDown {
        ? /// How.
        how: Option<String>,
    }
}
facts! {
    /// A result came after its slot was settled.
    LateResultDropped {
        ? /// Digest of the result.
        result_digest: Option<Digest>,
    }
}
facts! {
    /// A search made a tool callable from the next request on.
    ToolActivated {
        /// Which tool.
        tool_id: ToolId,
        ? /// By which query.
        query: Option<String>,
    }
}
facts! {
    /// A delegate began.
    DelegateStarted {
        /// Its session.
        child: String,
        ? /// Tools it was granted.
        tools: Vec<ToolId>,
        ? /// Scopes it was granted.
        scopes: Vec<String>,
        ? /// Turns it may take.
        max_turns: Option<u32>,
        ? /// Whether its tools are bounded by what its parent may use, not by what it was shown.
        scoped: bool,
    }
}
facts! {
    /// A delegate ended.
    DelegateFinished {
        /// Its session.
        child: String,
        /// How.
        status: String,
        ? /// What it used up of the budgets that its calls were bound by.
        spent: Vec<Spent>,
    }
}
facts! {
    /// Something left by a named surface; only digest and size are kept.
    SurfaceEmitted {
        /// `observer`, `stream` or `progress`.
        surface: String,
        /// Digest of the text.
        digest: Digest,
        /// Its length in Unicode scalar values.
        chars: u64,
        ? /// The entry it shows.
        of: Option<u64>,
        ? /// `start` or `end`, for a call's card or span.
        phase: Option<String>,
        ? /// Digest of session, turn, call, tool, provider call id, channel and agent alias.
        correlation: Option<Digest>,
        ? /// The limit it was bounded to, in Unicode scalar values.
        limit: Option<u64>,
    }
}
