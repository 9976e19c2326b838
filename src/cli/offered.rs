//! `proofmark tools --offered`: what the MCP servers of a suite offer beside tools.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::CliError;
use super::suites::host;
use crate::base::printable::printable;
use crate::base::secret::Secret;
use crate::eval::load::Suite;
use crate::eval::suite::ToolSource;
use crate::report::table::{Look, draw};
use crate::runtime::credential::Broker;
use crate::runtime::mcp::{Candidate, Candidates};
use crate::runtime::mcp::{McpError, McpServer};
use crate::runtime::sandbox::for_server;

/// What was found, and how much of it was left out.
#[derive(Debug, Default)]
pub(super) struct Offered {
    list: Vec<Candidate>,
    left_out: usize,
}

/// Asks every server of these suites. A server is confined as it is where its tools are listed.
///
/// # Errors
/// When a server fails, or what confines it cannot be enforced.
pub(super) async fn ask(suites: &[Suite]) -> Result<Offered, CliError> {
    let mut offered = Offered::default();
    for suite in suites {
        for (server, confined) in servers(suite) {
            let failed = |why: String| CliError::Environment(format!("{}: {why}", server.id));
            let Candidates { list, left_out } = of(&server, confined).await.map_err(failed)?;
            offered.list.extend(list);
            offered.left_out += left_out;
        }
    }
    Ok(offered)
}

/// The servers of a suite, and whether they are confined: only a confinement that a suite states
/// is one for a server that may have to be fetched first; a home's are as they say.
fn servers(suite: &Suite) -> Vec<(McpServer, bool)> {
    let own = suite.file.tools.iter().filter_map(|source| match source {
        ToolSource::Mcp { mcp } => Some((mcp.server(&suite.folder), mcp.sandbox.is_some())),
        _ => None,
    });
    let of_home = suite.home.iter().flat_map(|home| home.servers.iter().cloned());
    own.chain(of_home.map(|server| (server, true))).collect()
}

async fn of(server: &McpServer, confined: bool) -> Result<Candidates, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let root = folder.path().canonicalize().map_err(|error| error.to_string())?;
    let started = server.started().filter(|_| confined);
    let confined = started.map(|(section, program)| for_server(section, program, &host()));
    let confined = confined.transpose().map_err(|refusal| refusal.to_string())?.flatten();
    let secrets = Broker::new(server_secrets(server));
    let said = |error: McpError| error.to_string();
    let link = server.connect(confined.as_ref(), (&root, &secrets)).await.map_err(said)?;
    let found = link.candidates(server, secrets.secrets()).await;
    link.close().await;
    found.map_err(said)
}

/// What its environment and headers hold that nobody is to see.
fn server_secrets(server: &McpServer) -> BTreeMap<String, Secret> {
    let named = |(n, value): (usize, &Secret)| (n.to_string(), value.clone());
    server.secrets.iter().enumerate().map(named).collect()
}

impl Offered {
    /// For people.
    pub(super) fn text(&self) -> String {
        if self.list.is_empty() {
            return "the servers offer nothing beside tools\n".to_owned();
        }
        let cell = |text: &Option<String>| printable(text.as_deref().unwrap_or("-"));
        let rows = self.list.iter().map(|one| {
            vec![
                printable(&one.server),
                one.kind.name().to_owned(),
                printable(&one.name),
                cell(&one.address),
                "untrusted".to_owned(),
                cell(&one.description),
            ]
        });
        let header = ["server", "kind", "name", "address", "trust", "says of itself"];
        let table = draw(&header, rows.collect(), Look::Terminal);
        let left = match self.left_out {
            0 => String::new(),
            left => {
                format!("{left} more are left out: too many, or without a name or an address\n")
            }
        };
        format!(
            "{table}\n{left}candidates for a context: they grant nothing and are in no request\n"
        )
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let one = |one: &Candidate| {
            json!({"serverId": one.server, "serverIdentity": one.server_identity,
                "kind": one.kind.name(), "name": one.name, "address": one.address,
                "description": one.description, "mediaType": one.media_type, "trust": one.trust})
        };
        json!({"candidates": self.list.iter().map(one).collect::<Vec<_>>(), "leftOut": self.left_out})
    }
}
