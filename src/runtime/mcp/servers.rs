//! The servers whose tools are really called, as data: how each is reached, and who it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{Address, Allows, Boxed, Deadlines, Launch, Link, McpError, Transport, parse_command};
use crate::base::digest::{Digest, Hasher};
use crate::base::secret::Secret;
use crate::runtime::credential::Broker;
use crate::runtime::sandbox::confined::Confined;
use crate::tool::descriptor::Sandbox;

/// What stands for the folder of the session's workspace in a server's arguments, environment and
/// folder.
pub const WORKSPACE: &str = "${workspace}";

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    /// What its tools' ids begin with.
    pub id: String,
    /// How it is reached. `${workspace}` and `${secret:NAME}` stand for what a session has.
    pub transport: Transport,
    /// What it may ask of its client.
    pub allows: Allows,
    /// How it is confined, where it is started.
    pub sandbox: Sandbox,
    /// How long its parts may take.
    pub deadlines: Deadlines,
    /// Who agreed beforehand that the session's principal uses it; where nobody did, a person is
    /// asked at its first use.
    pub consented_by: Option<String>,
    /// Whether tools that it adds while it runs are offered from the next turn on, in evaluations;
    /// elsewhere a tool is verified first.
    pub offers_new: bool,
    /// Values in its environment or headers that nobody is to see.
    pub secrets: Vec<Secret>,
}

impl McpServer {
    /// Who it is, by what is started or where it is reached: another command line, another address
    /// or other names in its environment make another server. Values that may be secret do not
    /// count.
    pub fn identity(&self) -> Digest {
        let named = |hasher: Hasher, name: &str| hasher.field(name.as_bytes());
        match &self.transport {
            Transport::Stdio(launch) => {
                let hasher = named(named(Hasher::new("mcp-server"), "stdio"), &launch.program);
                let hasher = launch.args.iter().fold(hasher, |hasher, arg| named(hasher, arg));
                let env = launch.env.iter().map(|(name, _)| name.as_str());
                env.fold(named(hasher, "env"), named).finish()
            }
            Transport::Http(address) => {
                let hasher = named(named(Hasher::new("mcp-server"), "http"), &address.url);
                address
                    .headers
                    .iter()
                    .fold(hasher, |hasher, (name, _)| named(hasher, name))
                    .finish()
            }
        }
    }

    /// Connects to it from a session, confined where that says so.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub async fn connect(
        &self,
        confined: Option<&Confined>,
        (workspace, broker): (&Path, &Broker),
    ) -> Result<Link, McpError> {
        match (self.transport_in(workspace, broker), confined) {
            (Transport::Stdio(launch), Some(confined)) => {
                let started = Boxed::start(&launch, confined, workspace).await;
                Link::open_boxed(started, self.allows, &self.deadlines).await
            }
            (transport, _) => Link::open(&transport, self.allows, &self.deadlines).await,
        }
    }

    /// Its program, and how that is confined; `None` for a server that is not started.
    pub fn started(&self) -> Option<(&Sandbox, &str)> {
        match &self.transport {
            Transport::Stdio(launch) => Some((&self.sandbox, &launch.program)),
            Transport::Http(_) => None,
        }
    }

    /// How it is reached from a session: with the session's folder and credentials.
    pub fn transport_in(&self, workspace: &Path, broker: &Broker) -> Transport {
        let folder = workspace.display().to_string();
        let fill = |text: &str| broker.fill(&text.replace(WORKSPACE, &folder));
        match &self.transport {
            Transport::Stdio(launch) => Transport::Stdio(Launch {
                program: fill(&launch.program),
                args: launch.args.iter().map(|arg| fill(arg)).collect(),
                env: launch.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
                cwd: launch.cwd.as_ref().map(|cwd| fill(&cwd.display().to_string()).into()),
            }),
            Transport::Http(address) => {
                let mut address = address.clone();
                for (_, value) in &mut address.headers {
                    *value = Secret::new(broker.fill(value.expose()));
                }
                Transport::Http(address)
            }
        }
    }
}

/// Reads how a server is reached from one line: an `http` or `https` address, or a command line.
///
/// # Errors
/// As [`parse_command`].
pub fn parse_server(line: &str) -> Result<Transport, McpError> {
    let word = line.trim();
    let is_address = ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme));
    match is_address && !word.contains(char::is_whitespace) {
        true => Ok(Transport::Http(Address { url: word.to_owned(), headers: Vec::new() })),
        false => parse_command(line).map(Transport::Stdio),
    }
}

/// Servers by id. The tools of one that is not among them are simulated in an evaluation, and
/// refused elsewhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Servers(BTreeMap<String, Arc<McpServer>>);

impl Servers {
    /// These servers; of two with the same id the last counts.
    pub fn new(servers: impl IntoIterator<Item = McpServer>) -> Self {
        Self(servers.into_iter().map(|one| (one.id.clone(), Arc::new(one))).collect())
    }

    /// The server of this id.
    pub fn get(&self, id: &str) -> Option<&Arc<McpServer>> {
        self.0.get(id)
    }

    /// The secrets of all of them, each under a name of its own.
    pub fn secrets(&self) -> impl Iterator<Item = (String, Secret)> {
        self.iter().flat_map(|server| {
            let named = move |(n, value): (usize, &Secret)| {
                (format!("mcp:{}:{n}", server.id), value.clone())
            };
            server.secrets.iter().enumerate().map(named)
        })
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<McpServer>> {
        self.0.values()
    }
}
