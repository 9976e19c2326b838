//! An agent's home as a suite and a conversation read it: the servers, the credentials and the
//! skills that people put there. What the program itself writes there is the runtime's.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::credentials::BindingEntry;
use super::mcp_source::{Asking, Calls, McpSource};
use super::read::{folders, read, shown};
use super::skill_source;
use crate::base::document::Document;
use crate::base::jsonl;
use crate::base::problem::{Position, Problem};
use crate::runtime::mcp::McpServer;
use crate::runtime::sandbox::package::Package;
use crate::tool::descriptor::Sandbox;
use crate::tool::strict::{Format, LazyFormat};

/// The name of the servers' format.
pub const FORMAT: &str = "mcpServers";

/// The servers' format: the one that other clients have, and three keys of our own.
pub static SERVERS: LazyFormat = LazyFormat::new(|| Format::foreign::<ServersFile>(FORMAT));

/// `mcp/servers.json`, as other clients of the protocol have it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServersFile {
    /// The servers, by the name that their tools begin with.
    pub mcp_servers: BTreeMap<String, ServerEntry>,
}

/// How one server is reached.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServerEntry {
    /// The program that starts it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment beside the inherited one.
    pub env: BTreeMap<String, String>,
    /// Where it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its endpoint, spoken to over streamable HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What goes with every request to the address.
    pub headers: BTreeMap<String, String>,
    /// `stdio` or `http`; it follows from the rest.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it is left alone.
    pub disabled: bool,
    /// How a server that is started is confined.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sandbox")]
    pub sandbox: Option<Sandbox>,
    /// What it may ask of its client.
    pub allow: Vec<Asking>,
}

impl ServerEntry {
    fn source(&self, name: &str) -> McpSource {
        let program = (!self.command.is_empty()).then(|| self.command.clone());
        McpSource {
            command: program.into_iter().chain(self.args.iter().cloned()).collect(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            server: Some(name.to_owned()),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            calls: Calls::Live,
            sandbox: self.sandbox.clone(),
            allow: self.allow.clone(),
            ..McpSource::default()
        }
    }
}

/// What people put into a home.
#[derive(Debug, Default)]
pub struct HomeParts {
    /// Its servers. Nobody agreed to any of them yet.
    pub servers: Vec<McpServer>,
    /// The files of its skills.
    pub packages: Vec<Package>,
    /// Its credentials, by name; their files are below the folder of the home.
    pub bindings: BTreeMap<String, BindingEntry>,
}

/// Reads what people put into a home.
///
/// # Errors
/// All that is wrong with it, each with its place.
pub fn parts(home: &Path) -> Result<HomeParts, Vec<Problem>> {
    let mut problems = Vec::new();
    let servers = servers(home).unwrap_or_else(|mut new| {
        problems.append(&mut new);
        Vec::new()
    });
    let bindings = bindings(home).unwrap_or_else(|mut new| {
        problems.append(&mut new);
        BTreeMap::new()
    });
    let mut packages = Vec::new();
    for folder in folders(&home.join("skills")) {
        match skill_source::read(&folder) {
            Ok((package, _)) => packages.push(package),
            Err(mut new) => problems.append(&mut new),
        }
    }
    if problems.is_empty() { Ok(HomeParts { servers, packages, bindings }) } else { Err(problems) }
}

/// The servers of a home that are not disabled.
///
/// # Errors
/// What is wrong with the file.
pub fn servers(home: &Path) -> Result<Vec<McpServer>, Vec<Problem>> {
    let path = home.join("mcp").join("servers.json");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = read(&path).map_err(|problem| vec![problem])?;
    let document = Document::parse(&shown(&path), &text).map_err(|problem| vec![problem])?;
    let file: ServersFile = SERVERS.get().decode(&document)?;
    let (mut servers, mut problems) = (Vec::new(), Vec::new());
    for (name, entry) in file.mcp_servers.iter().filter(|(_, entry)| !entry.disabled) {
        let source = entry.source(name);
        match source.problem() {
            Some(why) => {
                let at = format!("/mcpServers/{}", crate::base::document::escape(name));
                problems.push(document.problem(&at, why));
            }
            None => {
                let server = source.server(home);
                servers.push(McpServer { consented_by: None, ..server });
            }
        }
    }
    if problems.is_empty() { Ok(servers) } else { Err(problems) }
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    rest: serde_json::Map<String, serde_json::Value>,
}

/// The credentials of `credentials/bindings.jsonl`, one a line: `name`, and the keys that a suite
/// has. Of two lines for one name the last counts.
fn bindings(home: &Path) -> Result<BTreeMap<String, BindingEntry>, Vec<Problem>> {
    let path = home.join("credentials").join("bindings.jsonl");
    if !path.is_file() {
        return Ok(BTreeMap::new());
    }
    let text = read(&path).map_err(|problem| vec![problem])?;
    let (mut bindings, mut problems) = (BTreeMap::new(), Vec::new());
    for (number, line) in jsonl::lines_of(&text) {
        match binding(line) {
            Ok((name, entry)) => drop(bindings.insert(name, entry)),
            Err((column, message)) => {
                problems.push(Problem::new(shown(&path), Position::new(number, column), message));
            }
        }
    }
    if problems.is_empty() { Ok(bindings) } else { Err(problems) }
}

fn binding(line: &str) -> Result<(String, BindingEntry), (usize, String)> {
    let of_line = |error: serde_json::Error| (error.column().max(1), error.to_string());
    let Named { name, rest } = serde_json::from_str(line).map_err(of_line)?;
    let entry = serde_json::from_value(serde_json::Value::Object(rest));
    let mut entry: BindingEntry = entry.map_err(|error| (1, error.to_string()))?;
    if let Some(why) = entry.problem() {
        return Err((1, why));
    }
    entry.below("credentials");
    Ok((name, entry))
}
