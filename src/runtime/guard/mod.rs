//! What stands before execution: the staircase from `Proposed` to `Permitted`. Each stage can be
//! built only by its own module, and owns the one before it.

pub mod approval;
pub mod approver;
pub mod delivery;
pub mod door;
pub mod grant;
pub mod hook;
pub mod limits;
pub mod permit;
pub mod repeat;
pub mod resolve;
pub mod spent;
pub mod validate;

pub use approval::ApprovalRequest;
pub use approver::{Answer, Approver, Verdict};
pub use delivery::Envelope;
pub use grant::{AnswerScope, Consent, Grant, Grants};
pub use hook::{Hook, HookCall, HookSpec, HookVerdict, Hooks, Point};
pub use permit::Permitted;
pub use resolve::Resolved;
pub use validate::Validated;
