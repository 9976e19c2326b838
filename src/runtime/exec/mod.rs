//! What happens: an adapter runs a ready call and says what it saw.

pub mod builtin;
pub mod command;
pub mod ran;
pub mod ready;
pub mod simulated;
pub mod workspace;

pub use ran::Ran;
pub use ready::Ready;
pub use workspace::Workspace;

use super::credential::Broker;
use super::sandbox::adapter::{Adapter, Builtin};

/// Runs one call to its end. A panic of a tool is that call's failure.
pub async fn run(ready: &Ready, workspace: &mut Workspace, broker: &Broker) -> Ran {
    match ready.plan().adapter {
        Adapter::Simulated => simulated::run(ready, broker),
        Adapter::Builtin(Builtin::CommandRun) => command::run(ready, workspace).await,
        Adapter::Builtin(builtin) => builtin::run(builtin, ready, workspace),
    }
}
