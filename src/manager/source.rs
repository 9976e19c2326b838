//! Where a manager discovers tools.

use serde_json::Value;
use tempfile::TempDir;
use thiserror::Error;

use crate::runtime::catalog::source::{Imported, ServerName, mcp, openai, skill};
use crate::runtime::credential::Broker;
use crate::runtime::mcp::{Link, McpError, McpServer};
use crate::runtime::sandbox::host::Host;
use crate::runtime::sandbox::package::Package;
use crate::runtime::sandbox::{Refusal, for_server};
use crate::tool::skill::Skill;

/// Who offers tools.
#[derive(Debug)]
pub enum ToolSource {
    /// An MCP server, started or reached for its list alone.
    Mcp(Box<McpServer>),
    /// A skill with its files.
    Skill(Skill, Package),
    /// An OpenAI or Anthropic tool list.
    ToolList(Value),
}

/// What a source offers: descriptors, and what was noticed about them.
pub type Discovered = Imported;

/// Why a source cannot be read.
#[derive(Debug, Error)]
pub enum DiscoverError {
    /// The server failed.
    #[error(transparent)]
    Mcp(#[from] McpError),
    /// The list is none.
    #[error("{0}")]
    ToolList(String),
    /// There is no folder to start a server in.
    #[error("no folder to start it in: {0}")]
    Folder(#[from] std::io::Error),
    /// What its section asks for cannot be enforced.
    #[error("it is not started: {0}")]
    Sandbox(#[from] Refusal),
}

/// A link to a server, started as its section confines it in a folder of its own, which lasts as
/// long as the link is used.
pub(super) async fn linked(
    server: &McpServer,
    (host, broker): (&Host, &Broker),
) -> Result<(Link, TempDir), DiscoverError> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let started = server.started().map(|(section, program)| for_server(section, program, host));
    let confined = started.transpose()?.flatten();
    Ok((server.connect(confined.as_ref(), (&root, broker)).await?, folder))
}

impl ToolSource {
    pub(super) async fn discover(
        &self,
        around: (&Host, &Broker),
    ) -> Result<Imported, DiscoverError> {
        match self {
            Self::Mcp(server) => {
                let (link, _folder) = linked(server, around).await?;
                let listing = link.list(server.deadlines.request).await?;
                let name = ServerName::sanitized(&server.id);
                Ok(mcp::pinned(mcp::import(&name, &listing.tools)))
            }
            Self::Skill(skill, package) => Ok(skill::import(skill, package)),
            Self::ToolList(list) => openai::import(None, list)
                .map_err(|error| DiscoverError::ToolList(error.to_string())),
        }
    }
}
