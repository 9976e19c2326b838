//! The links of a session: each server is reached when a tool of it is first called, and asked
//! what its tools are before anything is called.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;

use crate::base::digest::Digest;
use crate::runtime::catalog::source::{ServerName, mcp};
use crate::runtime::credential::Broker;
use crate::runtime::mcp::{Link, McpError, McpServer, Servers};
use crate::runtime::sandbox::confined::Confined;
use crate::tool::descriptor::Descriptor;

/// How often a list is fetched, or waited for, that keeps changing.
const ROUNDS: usize = 8;
/// How long a server must say no more of its list before it is fetched.
const QUIET: Duration = Duration::from_millis(50);

/// The open links, by server.
#[derive(Debug, Default)]
pub struct Links(BTreeMap<String, Held>);

#[derive(Debug)]
struct Held {
    server: Arc<McpServer>,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    link: Arc<Link>,
    /// How often the list had changed when it was last fetched.
    seen: u64,
    /// What the tools were last said to be.
    tools: Arc<Vec<Descriptor>>,
    /// Which list the session was last told of, by `seen`.
    told: u64,
}

/// A list that changed while its server ran.
#[derive(Debug)]
pub struct News {
    /// Whose.
    pub server: Arc<McpServer>,
    /// All its tools, as they are now.
    pub tools: Arc<Vec<Descriptor>>,
}

/// Why a tool cannot be called.
#[derive(Debug)]
pub(super) enum NoTool {
    Server(McpError),
    /// There is no such server.
    Unknown,
    /// The server does not offer it any more.
    Gone,
    /// The server says now that it is something else than what was registered.
    Changed {
        registered: Digest,
        now: Digest,
    },
}

impl Links {
    /// None open yet.
    pub fn new(servers: &Servers) -> Self {
        let held = |server: &Arc<McpServer>| {
            let open = Mutex::default();
            (server.id.clone(), Held { server: Arc::clone(server), open })
        };
        Self(servers.iter().map(held).collect())
    }

    /// The link to the server of a tool, which offers it exactly as it was registered. Reconnects
    /// where the link is dead, and fetches the list again where the server said that it changed.
    pub(super) async fn to(
        &self,
        tool: &Descriptor,
        confined: Option<&Arc<Confined>>,
        (workspace, broker): (&Path, &Broker),
    ) -> Result<Arc<Link>, NoTool> {
        let id = tool.source.server_id.as_deref().unwrap_or_default();
        let held = self.0.get(id).ok_or(NoTool::Unknown)?;
        let mut open = held.open.lock().await;
        if let Some(dead) = open.take_if(|one| one.link.is_dead()) {
            end(dead).await;
        }
        let current = match &mut *open {
            Some(one) => {
                one.refresh(&held.server).await?;
                one
            }
            none => {
                let server = &held.server;
                let confined = confined.map(AsRef::as_ref);
                let link = server.connect(confined, (workspace, broker)).await;
                let link = Arc::new(link.map_err(NoTool::Server)?);
                let (seen, tools) = list(&link, server).await?;
                none.insert(Open { link, seen, tools, told: seen })
            }
        };
        let offered = current.tools.iter().find(|one| one.tool_id == tool.tool_id);
        let (now, registered) =
            (mcp::definition(offered.ok_or(NoTool::Gone)?), mcp::definition(tool));
        if now != registered {
            return Err(NoTool::Changed { registered, now });
        }
        Ok(Arc::clone(&current.link))
    }

    /// The lists that changed since this was last asked, of the servers that are reached. One that
    /// cannot be fetched is no news: the next call says what is wrong.
    pub async fn news(&self) -> Vec<News> {
        let mut news = Vec::new();
        for held in self.0.values() {
            let mut open = held.open.lock().await;
            let Some(one) = open.as_mut().filter(|one| !one.link.is_dead()) else { continue };
            if one.refresh(&held.server).await.is_ok() && one.told != one.seen {
                one.told = one.seen;
                let (server, tools) = (Arc::clone(&held.server), Arc::clone(&one.tools));
                news.push(News { server, tools });
            }
        }
        news
    }

    /// Ends all links, and every server that was started for one.
    pub async fn close(&self) {
        for held in self.0.values() {
            if let Some(open) = held.open.lock().await.take() {
                end(open).await;
            }
        }
    }
}

impl Open {
    /// Fetches the list again where the server said that it changed. Servers say so before they
    /// have changed it, and more than once: it is fetched once they have been quiet.
    async fn refresh(&mut self, server: &McpServer) -> Result<(), NoTool> {
        if self.link.changes() == self.seen {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let before = self.link.changes();
            tokio::time::sleep(QUIET).await;
            if self.link.changes() == before {
                break;
            }
        }
        (self.seen, self.tools) = list(&self.link, server).await?;
        Ok(())
    }
}

async fn end(open: Open) {
    // A call that still has it ends it when it lets go.
    if let Some(link) = Arc::into_inner(open.link) {
        let stderr = link.close().await;
        tracing::debug!(stderr, "a server ended");
    }
}

/// The tools as they are now. A list that changed while it was fetched is fetched again, so that
/// the last word counts.
async fn list(link: &Link, server: &McpServer) -> Result<(u64, Arc<Vec<Descriptor>>), NoTool> {
    let mut seen = link.changes();
    for _ in 0..ROUNDS {
        let tools = link.tools(server.deadlines.request).await.map_err(NoTool::Server)?;
        let now = link.changes();
        if now == seen {
            return Ok((seen, read(&server.id, &tools)));
        }
        seen = now;
    }
    let tools = link.tools(server.deadlines.request).await.map_err(NoTool::Server)?;
    Ok((seen, read(&server.id, &tools)))
}

fn read(server: &str, tools: &[Value]) -> Arc<Vec<Descriptor>> {
    Arc::new(mcp::import(&ServerName::sanitized(server), tools).descriptors)
}
