//! How a call ends: the closed set of ten.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::schema::ArgumentError;

/// The one end of a call. Only success can carry a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The tool ran and its result passed verification.
    Succeeded,
    /// The tool ran and failed, timed out, panicked, or its result failed verification.
    Failed {
        /// What went wrong and who is to blame.
        fault: Fault,
    },
    /// The arguments are not JSON or fail the schema; never started.
    Rejected {
        /// Every failure, by JSON pointer.
        errors: Vec<ArgumentError>,
    },
    /// Unknown, excluded, withheld from this view, or an expired lease; never started.
    Unavailable {
        /// Which of these.
        why: Unavailability,
    },
    /// Authority was refused; never started.
    Denied {
        /// By whom or what.
        by: Denier,
        /// The reason shown to the model.
        reason: String,
    },
    /// The operator answered with a replacement result; never started.
    Replaced,
    /// A hook or the loop guard stopped it; never started.
    Blocked {
        /// Which hook or guard.
        by: String,
    },
    /// The same call stands earlier in the guard's scope; never started.
    Duplicate {
        /// The earlier call's id.
        of: String,
    },
    /// The turn ended before it started.
    Cancelled {
        /// Why the turn ended.
        cause: String,
    },
    /// It had started and was torn down; its effect is unknown.
    Interrupted,
}

/// What went wrong in a call that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// Who is to blame.
    pub blame: Blame,
    /// A stable name, such as `timeout`, `not_found` or `exit_status`.
    pub code: String,
    /// What happened, scrubbed.
    pub message: String,
}

/// Who is to blame for a fault. Harness bugs are not outcomes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Blame {
    Model,
    Tool,
    Server,
    Operator,
    Environment,
}

/// Why a name could not be called.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Unavailability {
    /// No tool of that name is registered.
    Unknown,
    /// The tool is registered and excluded by name.
    Excluded,
    /// The tool is registered and was withheld from this view.
    Withheld,
    /// The view it was seen in has expired.
    LeaseExpired,
}

/// Who or what refused authority.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Denier {
    /// A policy rule, a level's default, or a missing scope.
    Policy,
    /// A person said no.
    Operator,
    /// There was nobody to ask.
    NoApprover,
    /// The person asked did not answer in time.
    ApprovalTimeout,
    /// The answer came after the request had expired.
    ApprovalExpired,
    /// The approval was for other arguments, another scope or another risk.
    ApprovalMismatch,
    /// The sandbox could not be enforced as promised.
    Sandbox,
    /// A credential was missing, expired or for another audience.
    Credential,
    /// A budget was spent.
    Budget,
    /// A grant was revoked.
    GrantRevoked,
    /// The tool was blocked while the turn ran.
    ToolBlocked,
}

impl Outcome {
    /// The variant's name as written in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Rejected { .. } => "rejected",
            Self::Unavailable { .. } => "unavailable",
            Self::Denied { .. } => "denied",
            Self::Replaced => "replaced",
            Self::Blocked { .. } => "blocked",
            Self::Duplicate { .. } => "duplicate",
            Self::Cancelled { .. } => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// All ten names, in the order of LIFECYCLE's table.
    pub const NAMES: [&'static str; 10] = [
        "succeeded",
        "failed",
        "rejected",
        "unavailable",
        "denied",
        "replaced",
        "blocked",
        "duplicate",
        "cancelled",
        "interrupted",
    ];

    /// Whether a call with this outcome must have started.
    pub fn started(&self) -> bool {
        match self {
            Self::Succeeded | Self::Failed { .. } | Self::Interrupted => true,
            Self::Rejected { .. }
            | Self::Unavailable { .. }
            | Self::Denied { .. }
            | Self::Replaced
            | Self::Blocked { .. }
            | Self::Duplicate { .. }
            | Self::Cancelled { .. } => false,
        }
    }
}
