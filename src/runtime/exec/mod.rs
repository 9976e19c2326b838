//! What happens: an adapter runs a ready call and says what it saw.

pub mod builtin;
pub mod command;
pub mod ran;
pub mod ready;
pub mod search;
pub mod simulated;
pub mod workspace;

pub use ran::Ran;
pub use ready::Ready;
pub use workspace::Workspace;

use super::credential::Broker;
use super::sandbox::adapter::{Adapter, Builtin};
use crate::base::caught::caught;
use crate::journal::event::call::ObservedEffects;
use crate::journal::outcome::Blame;

/// Runs one call to its end. A panic of a tool is that call's failure.
pub async fn run(ready: &Ready, workspace: &mut Workspace, broker: &Broker) -> Ran {
    let work = async {
        match ready.plan().adapter {
            Adapter::Simulated => simulated::run(ready, broker),
            Adapter::Builtin(Builtin::CommandRun) => command::run(ready, workspace).await,
            Adapter::Builtin(builtin) => builtin::run(builtin, ready, workspace),
        }
    };
    caught(work).await.unwrap_or_else(|said| {
        let effects = ObservedEffects { method: "unknown".to_owned(), ..Default::default() };
        Ran { effects, ..Ran::failed(Blame::Tool, "panic", said) }
    })
}
