//! How an HTTP tool reaches its service: which names it may, and a client that connects to no
//! address but one that was judged.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;
use tokio::runtime::{Handle, Id};

use super::egress::{Egress, is_private, judged};
use super::host::Host;
use super::{Refusal, mode_name};
use crate::runtime::BoxFuture;
use crate::tool::descriptor::{Descriptor, EgressPolicy, SandboxMode};
use crate::tool::http::{Operation, Scheme};

/// What holds each request, by the names in a journal: the proxies of the environment are not
/// used, redirects are not followed, addresses and names are judged.
pub const MECHANISMS: [&str; 4] =
    ["egress_addresses", "egress_names", "no_environment_proxy", "no_redirects"];

/// How a service is reached.
#[derive(Debug, Clone)]
pub struct Web {
    /// What may be reached.
    pub egress: Egress,
    clients: Arc<Clients>,
}

impl PartialEq for Web {
    fn eq(&self, other: &Self) -> bool {
        self.egress == other.egress
    }
}

impl Eq for Web {}

/// Resolves what an HTTP tool asks for.
///
/// # Errors
/// What cannot be enforced, and a fixed host that could never be reached.
pub(super) fn resolve(descriptor: &Descriptor, host: &Host) -> Result<Web, Refusal> {
    let section = &descriptor.sandbox;
    let refuse = |why: String| Err(Refusal::Section(why));
    if section.mode != SandboxMode::RemoteApi {
        let adapter = descriptor.execution.adapter.clone();
        return Err(Refusal::Mode { mode: mode_name(section.mode), adapter });
    }
    if section.network.egress_policy == EgressPolicy::None {
        return refuse("network.egressPolicy: a service is reached, and nothing may be".to_owned());
    }
    let limits = [
        ("maxMemoryMb", section.limits.max_memory_mb),
        ("maxProcesses", section.limits.max_processes),
    ];
    if let Some((name, _)) = limits.into_iter().find(|(_, limit)| limit.is_some()) {
        return refuse(format!("limits.{name}: nobody limits a service elsewhere"));
    }
    if !descriptor.effects.external_calls {
        return Err(Refusal::Undeclared);
    }
    let operation = descriptor.execution.http.as_ref().and_then(|http| Operation::parse(http).ok());
    let Some(operation) = operation else { return Err(Refusal::NoOperation) };
    let egress = Egress::of(&section.network, host.fixtures());
    if let Some((name, port)) = operation.fixed_place() {
        if let Err(why) = reachable(&egress, name, port) {
            return refuse(format!("network: {name}:{port} is not reached, {why}"));
        }
        let in_the_open =
            operation.scheme() == Scheme::Http && operation.secrets().next().is_some();
        if in_the_open && egress.fixture(name).is_none() {
            return refuse(format!("network: {name} would be sent a credential in the open"));
        }
    }
    Ok(Web { egress, clients: host.clients() })
}

/// Whether a name may be asked for. A host that is an address is judged here, since nobody looks
/// it up.
///
/// # Errors
/// Why not.
pub fn reachable(egress: &Egress, host: &str, port: u16) -> Result<(), &'static str> {
    egress.name(host, port)?;
    match host.parse::<IpAddr>() {
        Ok(address) if is_private(address) && egress.fixture(host).is_none() => {
            Err("the address is a private one")
        }
        _ => Ok(()),
    }
}

impl Web {
    /// The client of this runtime.
    ///
    /// # Errors
    /// Why there is none, such as a machine without certificates.
    pub fn client(&self) -> Result<Client, String> {
        self.clients.here()
    }
}

/// Clients with their open connections. A connection is driven by the runtime that opened it, so
/// that each runtime has a client of its own; the last one is kept.
#[derive(Default)]
pub struct Clients {
    fixtures: BTreeMap<String, SocketAddr>,
    last: Mutex<Option<(Id, Client)>>,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clients({})", self.fixtures.len())
    }
}

impl Clients {
    pub(super) fn new(fixtures: BTreeMap<String, SocketAddr>) -> Self {
        Self { fixtures, last: Mutex::default() }
    }

    fn here(&self) -> Result<Client, String> {
        let own = Handle::current().id();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = last.as_ref().filter(|(id, _)| *id == own) {
            return Ok(client.clone());
        }
        let client = build(Judged { fixtures: self.fixtures.clone(), lookup: system() })?;
        *last = Some((own, client.clone()));
        Ok(client)
    }
}

fn build(judge: Judged) -> Result<Client, String> {
    // Whoever came first has installed it, and it is the same.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .no_proxy()
        // A redirect leads to what no descriptor names and nobody approved.
        .redirect(reqwest::redirect::Policy::none())
        // Attempts are the runtime's to count.
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("proofmark/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(judge));
    builder.build().map_err(|error| error.to_string())
}

/// Looks a name up.
type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

fn system() -> Lookup {
    Arc::new(|name| Box::pin(async move { lookup_host((name, 0)).await.map(Iterator::collect) }))
}

/// Looks names up once, and gives only addresses that were judged to whoever connects.
struct Judged {
    fixtures: BTreeMap<String, SocketAddr>,
    lookup: Lookup,
}

/// A name that leads where nobody may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub &'static str);

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let (fixture, lookup) = (self.fixtures.get(&name).copied(), Arc::clone(&self.lookup));
        Box::pin(async move {
            let found = match fixture {
                Some(fixture) => vec![fixture],
                None => judged(lookup(name).await).map_err(Unreachable)?,
            };
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
