//! What servers offer beside tools, as the embedding program sees and reads it.

use super::source::linked;
use super::{DiscoverError, ToolManager};
use crate::runtime::mcp::{Candidates, McpServer, Untrusted};

impl ToolManager {
    /// Resources, templates and prompts of a server: candidates for a context, all untrusted.
    /// Nothing of them is in a request of this manager's session.
    ///
    /// # Errors
    /// Why the server cannot be asked.
    pub async fn candidates(&self, server: &McpServer) -> Result<Candidates, DiscoverError> {
        let (link, _folder) = linked(server, self.around()).await?;
        let found = link.candidates(server, self.setting.broker.secrets()).await;
        link.close().await;
        Ok(found?)
    }

    /// Reads one resource of a server, at most `limit` bytes of it. The text says that it is
    /// untrusted; what becomes of it is for the caller to say.
    ///
    /// # Errors
    /// Why the server cannot be asked, or that it has none there.
    pub async fn read_resource(
        &self,
        (server, address): (&McpServer, &str),
        limit: u64,
    ) -> Result<Untrusted, DiscoverError> {
        let (link, _folder) = linked(server, self.around()).await?;
        let read = link.read(address, (server, self.setting.broker.secrets(), limit)).await;
        link.close().await;
        Ok(read?)
    }
}
