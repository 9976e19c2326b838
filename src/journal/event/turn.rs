//! Facts about sessions, turns, views, requests and the transcript.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Blank, facts};
use crate::base::digest::Digest;
use crate::tool::id::ToolId;
use crate::tool::intent::Intent;
use crate::tool::risk::Level;

impl<T> Blank for Arc<[T]> {
    fn blank(&self) -> bool {
        self.is_empty()
    }
}

facts! {
    /// A session began, with everything a law must know about its rules.
    SessionOpened {
        /// Who acts.
        principal: String,
        ? /// For whom they act.
        tenant: Option<String>,
        ? /// What they may do.
        scopes: Vec<String>,
        ? /// How many canaries were planted.
        canaries: Option<u32>,
        ? /// Key of `secretHashes`.
        secret_key: Option<String>,
        ? /// Keyed hashes of the real secrets, so that a leak can be seen.
        secret_hashes: Vec<SecretHash>,
        ? /// The limit of what returns to the model, in Unicode scalar values.
        max_tool_result_chars: Option<u64>,
        ? /// Whether successes get receipts.
        receipts: bool,
        ? /// `evaluation` or `live`.
        scope: Option<String>,
        ? /// Names that may neither be shown nor run.
        excluded_tools: Vec<ToolId>,
        ? /// Who answers approvals: `scripted`, `none`, `terminal`, ...
        approver: Option<String>,
    }
}

/// A real secret, named without being held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretHash {
    /// Its length in Unicode scalar values.
    pub chars: usize,
    /// Its hash under the session's key.
    pub hash: Digest,
}

facts! {
    /// The user said something.
    UserPromptSubmitted {
        /// The text, scrubbed.
        text: String,
        ? /// The ingress it came by: `cli`, `channel`, `acp`, `websocket`, `gateway`, `cron`, ...
        ingress: Option<String>,
        ? /// The channel it came by.
        channel: Option<String>,
        ? /// Where an answer goes.
        reply_to: Option<String>,
        ? /// The conversation inside the channel.
        thread: Option<String>,
    }
}
facts! {
    /// The loop began, with one resolved bundle.
    TurnStarted {
        /// Which provider proposes.
        provider: String,
        /// How requests are spelled.
        dialect: String,
        ? /// How many model requests at most.
        iteration_cap: Option<u32>,
        ? /// Whether parallel execution is allowed.
        parallel_tools: bool,
        ? /// The scope of the duplicate guard: `reply` or `turn`; absent where there is none.
        duplicate_scope: Option<String>,
        ? /// Tools that the duplicate guard leaves alone.
        duplicate_exempt: Vec<ToolId>,
        ? /// How many calls the turn may start; absent where there is no limit.
        call_budget: Option<u32>,
        ? /// From how many identical calls with identical results on the loop guard warns.
        loop_warn: Option<u32>,
        ? /// From how many on it ends the turn.
        loop_stop: Option<u32>,
        ? /// Whether the text protocol is hidden completely.
        strict: bool,
        ? /// Whether no model is asked: the turn makes the calls of its one batch and ends.
        direct: bool,
    }
}
facts! {
    /// What is intended.
    IntentDeclared {
        /// Who declared it: `case`, `rules`, `planner`.
        by: String,
        /// The intent.
        intent: Intent,
    }
}
facts! {
    /// Which tools this one request may see, and why.
    ViewCompiled {
        /// Digest of the view's content.
        view: Digest,
        ? /// What is shown, best rank first.
        exposed: Arc<[ExposedTool]>,
        ? /// What is not shown, and why.
        withheld: Arc<[WithheldTool]>,
    }
}

/// One tool of a view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExposedTool {
    /// Which tool.
    pub tool_id: ToolId,
    /// Which version.
    pub tool_version: Digest,
    /// The name this request advertises.
    pub name: String,
    /// Why it is shown.
    pub reason: String,
    /// What policy says of showing and calling it: `allow`, `ask`, `strong_ask`.
    pub decision: String,
    /// Its authority level.
    pub level: Level,
    /// How much of its result returns: `none`, `preview`, `structured`, `full`.
    pub projection: String,
    /// Whether its source is untrusted until normalized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// One tool kept out of a view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WithheldTool {
    /// Which tool.
    pub tool_id: ToolId,
    /// The filter that kept it out: `excluded`, `lifecycle`, `intent`, `policy`, `environment`,
    /// `context`, `budget`.
    pub filter: String,
    /// Why.
    pub reason: String,
}

facts! {
    /// A payload went to the provider. Payloads are blobs beside the journal.
    ModelRequested {
        /// Which provider.
        provider: String,
        /// How it is spelled.
        dialect: String,
        /// Digest of the whole payload.
        payload: Digest,
        /// Blob of the tool list.
        tools: Digest,
        /// Blob of the messages.
        messages: Digest,
        ? /// The names advertised, in order.
        advertised: Arc<[String]>,
        ? /// Estimated tokens of the payload (four bytes each).
        tokens: Option<u64>,
        ? /// Estimated tokens of the tool list.
        view_tokens: Option<u64>,
        ? /// Whether the messages are not kept, because they hold what is not to be logged.
        unlogged: bool,
    }
}
facts! {
    /// The provider answered, or did not.
    ModelReplied {
        /// How many calls were parsed.
        calls: u32,
        ? /// The reply's text, scrubbed.
        text: Option<String>,
        ? /// Why it stopped: `tool_calls`, `stop`, `length`.
        finish: Option<String>,
        ? /// What was wrong with the reply or the provider.
        fault: Option<ProviderFault>,
        ? /// Estimated tokens of the reply.
        tokens: Option<u64>,
        ? /// The provider's own explanation of its choice.
        explanation: Option<Value>,
        ? /// Blob of the reply as it came, scrubbed; for text protocols.
        raw: Option<Digest>,
    }
}

/// Why there is no usable reply, and who is to blame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderFault {
    /// `harness` (script ran out, request refused by the mock), `infrastructure`, `model`.
    pub blame: String,
    /// What happened.
    pub message: String,
}

facts! {
    /// Another model answers from here on.
    ModelSwitched {
        /// The provider before.
        from: String,
        /// The provider after.
        to: String,
    }
}
facts! {
    /// The user spoke while the turn ran.
    SteeringReceived {
        /// The text, scrubbed.
        text: String,
    }
}
facts! {
    /// One slot per proposed call, fixed before anything else.
    BatchOpened {
        /// Its id.
        batch: String,
        /// The calls' ids, in model order.
        slots: Vec<String>,
        ? /// Blob of the requests that follow, so that a record which ends before the last of them
        /// can be completed.
        requests: Option<Digest>,
    }
}
facts! {
    /// How the ready calls of a batch run.
    DispatchPlanned {
        /// Which batch.
        batch: String,
        /// `sequential` or `parallel`.
        mode: String,
        /// Why.
        reason: String,
        /// The calls' ids.
        calls: Vec<String>,
    }
}
facts! {
    /// Messages were appended to the transcript.
    TranscriptAppended {
        /// The messages, in order.
        messages: Vec<TranscriptMessage>,
    }
}

/// One message of the transcript; its text is a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TranscriptMessage {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Blob of its text.
    pub text: Digest,
    /// Its length in Unicode scalar values.
    pub chars: usize,
    /// The call it answers, for `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The calls it makes, for `assistant`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

facts! {
    /// The agent's state changed.
    StateUpdated {
        /// The patch.
        patch: Value,
    }
}
facts! {
    /// Something may be worth remembering; nothing was remembered yet.
    MemoryCandidate {
        /// What, scrubbed.
        summary: String,
    }
}
facts! {
    /// The loop guard saw a pattern.
    LoopWarned {
        /// Which pattern.
        pattern: String,
    }
}
facts! {
    /// The loop guard ended the turn.
    LoopStopped {
        /// Which pattern.
        pattern: String,
    }
}
facts! {
    /// Somebody wants the turn to end.
    CancelRequested {
        /// Who or what. It is written as `by`: an entry's `cause` is another entry.
        #[serde(rename = "by")]
        cause: String,
    }
}
facts! {
    /// Nothing starts from here on.
    CancelAcknowledged {
        ? /// How many calls had not ended.
        open: Option<u32>,
    }
}
facts! {
    /// The loop ended.
    TurnFinished {
        /// `final_text`, `cancelled`, `iteration_cap`, `loop_stopped`, `provider_fault`, `direct`.
        reason: String,
        ? /// How many model requests it took.
        iterations: Option<u32>,
        ? /// How many entries the session has, this one included: a cut tail is seen.
        events: Option<u64>,
    }
}
facts! {
    /// A summary for people who trace actions.
    TraceUpdated {
        /// What, scrubbed.
        summary: String,
    }
}
