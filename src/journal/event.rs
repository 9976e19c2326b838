//! The closed list of events. Names are the lifecycle's own; each event's facts are a struct in
//! one of three files by phase: `catalog`, `turn`, `call`.

pub mod call;
pub mod catalog;
mod parts;
pub mod turn;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize};

use call::*;
use catalog::*;
use turn::*;

macro_rules! events {
    ($($name:ident),+ $(,)?) => {
        /// One fact. The JSON object carries the variant's name under `type`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "type")]
        #[expect(missing_docs, reason = "the struct of the same name says it")]
        pub enum Event { $($name($name)),+ }

        impl Event {
            /// All event names, in the order of the lifecycle.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// The event of that name with the facts of a map.
            pub(super) fn of<'de, A>(name: &str, facts: A) -> Result<Self, A::Error>
            where
                A: MapAccess<'de>,
            {
                let facts = MapAccessDeserializer::new(facts);
                match name {
                    $(stringify!($name) => $name::deserialize(facts).map(Self::$name),)+
                    _ => Err(A::Error::custom("no such event")),
                }
            }

            /// The variant's name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name)),+ }
            }
        }

        $(impl From<$name> for Event {
            fn from(facts: $name) -> Self {
                Self::$name(facts)
            }
        })+
    };
}

events! {
    ToolDiscovered, ToolParsed, ToolNormalized, ToolVerified, ToolReviewed, ToolEnabled,
    ToolDisabled, ToolBlocked, ToolDeprecated, GrantIssued, GrantUsed, GrantRevoked,
    ServerConsented,
    SessionOpened, UserPromptSubmitted, TurnStarted, IntentDeclared, ViewCompiled, ModelRequested,
    ModelReplied, ModelSwitched, SteeringReceived, BatchOpened, DispatchPlanned,
    TranscriptAppended, StateUpdated, MemoryCandidate, LoopWarned, LoopStopped, CancelRequested,
    CancelAcknowledged, TurnFinished, TraceUpdated,
    ToolCallRequested, HookRan, ToolCallRewritten, ToolArgsValidated, ToolPolicyChecked,
    ApprovalRequested, ApprovalGranted, ApprovalDenied, ApprovalReplaced, ApprovalExpired,
    ApprovalUnreachable, RepeatStopped, DuplicateDropped, CredentialBound, ToolSandboxPrepared,
    ToolCallStarted, AttemptFailed, ToolCallFinished, ToolResultValidated, ArtifactPersisted,
    ReceiptIssued, ToolCallSettled, TornDown, LateResultDropped, ToolActivated, DelegateStarted,
    DelegateFinished, SurfaceEmitted,
}

/// Declares the facts of one event: required fields first, then fields that may be absent.
macro_rules! facts {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$req_doc:meta])* $req:ident : $req_ty:ty,)*
            $(? $(#[$opt_doc:meta])* $opt:ident : $opt_ty:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $($(#[$req_doc])* pub $req: $req_ty,)*
            $(
                $(#[$opt_doc])*
                #[serde(default, skip_serializing_if = "crate::journal::event::is_blank")]
                pub $opt: $opt_ty,
            )*
        }

        impl $name {
            /// The facts that must be there; everything else is absent.
            #[allow(clippy::too_many_arguments, clippy::new_without_default, reason = "facts are flat")]
            pub fn new($($req: $req_ty),*) -> Self {
                Self { $($req,)* $($opt: Default::default(),)* }
            }
        }
    };
}
pub(crate) use facts;

/// What is left out of the record: absent options, empty lists, false flags.
pub(crate) trait Blank {
    /// Whether the value says nothing.
    fn blank(&self) -> bool;
}

impl<T> Blank for Option<T> {
    fn blank(&self) -> bool {
        self.is_none()
    }
}

impl<T> Blank for Vec<T> {
    fn blank(&self) -> bool {
        self.is_empty()
    }
}

impl Blank for bool {
    fn blank(&self) -> bool {
        !self
    }
}

pub(crate) fn is_blank<T: Blank>(value: &T) -> bool {
    value.blank()
}
