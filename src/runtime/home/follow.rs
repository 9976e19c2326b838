//! A registry that others change while a session runs: what may no longer be called is blocked at
//! the session's next step.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::base::world::{Millis, wall_clock};
use crate::runtime::catalog::standing::Holder;
use crate::runtime::catalog::store::{Callable, LOGS, Store, StoreError};
use crate::runtime::session::Remote;
use crate::runtime::turn::driver::Signal;
use crate::runtime::view::Block;
use crate::tool::id::ToolId;

/// How often the registry is looked at: what is taken back holds this long at most.
const EVERY: Duration = Duration::from_millis(100);

/// Follows a registry for one principal.
#[derive(Debug)]
pub struct Follower {
    root: PathBuf,
    holder: Holder,
    /// What the session began with, less what was taken away since.
    callable: BTreeSet<ToolId>,
    /// When the next grant ends by itself.
    until: Option<Millis>,
    seen: Vec<Option<(u64, SystemTime)>>,
}

impl Follower {
    /// Begins with what may be called now.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub fn new(root: &Path, holder: Holder) -> Result<(Self, Callable), StoreError> {
        let seen = stamps(root);
        let callable = Store::read(root)?.callable(&holder, wall_clock())?;
        let (tools, until) = (callable.tools.clone(), callable.until);
        Ok((Self { root: root.to_path_buf(), holder, callable: tools, until, seen }, callable))
    }

    /// Tells a session what it has lost, as long as it is there. A registry that cannot be read
    /// takes nothing away: whoever damaged it is told by the next command that reads it.
    pub async fn follow(mut self, session: Remote) {
        loop {
            tokio::time::sleep(EVERY).await;
            let stamps = stamps(&self.root);
            let over = self.until.is_some_and(|end| wall_clock() > end);
            if stamps == self.seen && !over {
                continue;
            }
            let (root, holder) = (self.root.clone(), self.holder.clone());
            let read = move || Store::read(&root).and_then(|s| s.callable(&holder, wall_clock()));
            let Ok(Ok(now)) = tokio::task::spawn_blocking(read).await else { continue };
            (self.seen, self.until) = (stamps, now.until);
            for block in lost(&mut self.callable, &now) {
                if !session.send(Signal::Block(block)) {
                    return;
                }
            }
        }
    }
}

/// What may no longer be called, and is not told again.
pub fn lost(before: &mut BTreeSet<ToolId>, now: &Callable) -> Vec<Block> {
    let gone: Vec<ToolId> = before.difference(&now.tools).cloned().collect();
    before.retain(|tool| now.tools.contains(tool));
    let block = |tool: ToolId| {
        let unknown = || ("the registry does not know it".to_owned(), None);
        let (reason, by) = now.others.get(&tool).cloned().unwrap_or_else(unknown);
        Block { tool, reason, by: by.unwrap_or_else(|| "the registry".to_owned()) }
    };
    gone.into_iter().map(block).collect()
}

fn stamps(root: &Path) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |name: &&str| {
        let found = fs::metadata(root.join(name)).ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    LOGS.iter().map(stamp).collect()
}
