//! MCP servers as a suite names them.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::secret::Secret;
use crate::base::world::env_var;
use crate::runtime::catalog::source::ServerName;
use crate::runtime::mcp::{Address, Allows, Deadlines, Launch, McpServer, Transport, WORKSPACE};
use crate::tool::descriptor::{Sandbox, SandboxMode};

/// How to reach an MCP server: by a command that starts it, or by an address.
///
/// In arguments, environment, folder and headers, `${workspace}` stands for the folder of the
/// trial, and in environment and headers `${env:NAME}` for a variable of this process, whose value
/// is a secret from there on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpSource {
    /// Program and arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Its endpoint, spoken to over streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What goes with every request to the address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The name its tools are prefixed with; made from the command or the address by default.
    #[serde(default)]
    pub server: Option<String>,
    /// Environment beside the inherited one, such as `TZ: UTC`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it starts.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Digest that the listing must have.
    #[serde(default)]
    pub digest: Option<Digest>,
    /// Whether trials call the server.
    #[serde(default, skip_serializing_if = "Calls::is_simulated")]
    pub calls: Calls,
    /// How a server that is started is confined, as the `sandbox` section of a descriptor says; by
    /// default it may write to the trial's folder, read what it is installed in, and reach nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Sandbox")]
    pub sandbox: Option<Sandbox>,
    /// What becomes of tools that the server adds while it runs.
    #[serde(default, skip_serializing_if = "NewTools::is_withheld")]
    pub new_tools: NewTools,
    /// What the server may ask of its client; nothing by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Asking>,
}

/// What becomes of calls to an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// They are simulated: what is measured is which tool is chosen.
    #[default]
    Simulated,
    /// They are made. Each trial has a server of its own where the server is started by a command.
    Live,
}

impl Calls {
    fn is_simulated(&self) -> bool {
        *self == Self::Simulated
    }
}

/// What becomes of tools that an MCP server adds while a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewTools {
    /// Nobody has looked at them: they are recorded and not shown.
    #[default]
    Withheld,
    /// They are shown from the next turn on.
    Offered,
}

impl NewTools {
    fn is_withheld(&self) -> bool {
        *self == Self::Withheld
    }
}

/// What an MCP server may ask of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// That a form is filled in; it is answered with its own defaults.
    Elicitation,
}

impl McpSource {
    /// What is wrong with it, and what to do.
    pub fn problem(&self) -> Option<&'static str> {
        let is_empty = self.command.iter().all(String::is_empty);
        match &self.url {
            None if is_empty => Some("name the server by `command` or by `url`"),
            Some(_) if !self.command.is_empty() => Some("`command` and `url` name two servers"),
            None if !self.headers.is_empty() => Some("`headers` go with a `url`"),
            Some(_) if !self.env.is_empty() || self.cwd.is_some() => {
                Some("`env` and `cwd` go with a `command`")
            }
            _ => None,
        }
    }

    /// The name its tools are prefixed with.
    pub fn id(&self) -> String {
        let name = self.server.clone().unwrap_or_else(|| short_name(&self.shown()));
        ServerName::sanitized(&name).as_str().to_owned()
    }

    /// Its command, or its address, as it stands in the suite.
    pub fn shown(&self) -> Vec<String> {
        self.url.clone().map_or_else(|| self.command.clone(), |url| vec![url])
    }

    /// The server, as it is reached from a suite in this folder.
    pub fn server(&self, folder: &Path) -> McpServer {
        let mut secrets = Vec::new();
        let mut filled =
            |(name, value): (&String, &String)| (name.clone(), from_env(value, &mut secrets));
        let transport = match &self.url {
            Some(url) => {
                let headers = self.headers.iter().map(&mut filled);
                let headers = headers.map(|(name, value)| (name, Secret::new(value))).collect();
                Transport::Http(Address { url: url.clone(), headers })
            }
            None => {
                let (program, args) =
                    self.command.split_first().map_or(("", &[][..]), |(p, a)| (p, a));
                Transport::Stdio(Launch {
                    program: self::program(folder, program),
                    args: args.to_vec(),
                    env: self.env.iter().map(&mut filled).collect(),
                    cwd: Some(match self.cwd.as_deref() {
                        None => folder.to_path_buf(),
                        Some(cwd) if cwd.starts_with(WORKSPACE) => cwd.into(),
                        Some(cwd) => folder.join(cwd),
                    }),
                })
            }
        };
        McpServer {
            id: self.id(),
            transport,
            allows: Allows { elicitation: self.allow.contains(&Asking::Elicitation) },
            sandbox: self.sandbox.clone().unwrap_or_else(|| Sandbox {
                mode: SandboxMode::WorkspaceWrite,
                ..Sandbox::default()
            }),
            deadlines: Deadlines::default(),
            // Whoever writes `live` into a suite agrees.
            consented_by: Some("the suite".to_owned()),
            offers_new: self.new_tools == NewTools::Offered,
            secrets,
        }
    }
}

/// Puts variables of this process where `${env:NAME}` stands; the values are secrets. A variable
/// that is not set leaves nothing.
fn from_env(text: &str, secrets: &mut Vec<Secret>) -> String {
    const OPEN: &str = "${env:";
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        out.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            out.push_str(OPEN);
            rest = after;
            continue;
        };
        if let Some(value) = env_var(name).filter(|value| !value.is_empty()) {
            secrets.push(Secret::new(value.clone()));
            out.push_str(&value);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// A program as a suite names it: one with a slash stands relative to the suite's folder.
pub fn program(folder: &Path, program: &str) -> String {
    if !program.contains('/') || Path::new(program).is_absolute() {
        return program.to_owned();
    }
    let file = folder.join(program);
    let file = std::path::absolute(&file).unwrap_or(file);
    file.to_string_lossy().into_owned()
}

/// Words of a command line that name no server.
const LAUNCHERS: [&str; 9] =
    ["npx", "uvx", "uv", "node", "python", "python3", "pipx", "run", "tool"];

/// A short name for the server of a command line: the package's, without scope, version and the
/// words every server carries. `npx -y @scope/server-filesystem@1.2 DIR` gives `filesystem`.
pub fn short_name(command: &[String]) -> String {
    if let [address] = command
        && let Some((_, rest)) = address.split_once("://")
    {
        return host_name(rest);
    }
    // `@scope/mcp` says more by its scope.
    let base = |word: &String| {
        let word = word.trim_end_matches('/');
        let (scope, base) = word.rsplit_once('/').unwrap_or(("", word));
        let bare = base.split('@').next().unwrap_or(base);
        let scoped =
            scope.strip_prefix('@').filter(|_| ["mcp", "server", "mcp-server"].contains(&bare));
        scoped.unwrap_or(base).to_owned()
    };
    let word = command
        .iter()
        .filter(|word| !word.starts_with('-'))
        .map(base)
        .find(|word| !LAUNCHERS.contains(&word.as_str()))
        .unwrap_or_default();
    let word = word.split(['@', '=', '.']).next().unwrap_or_default().replace('_', "-");
    let mut name = word.as_str();
    for part in ["mcp-server-", "server-mcp-", "server-", "mcp-"] {
        name = name.strip_prefix(part).unwrap_or(name);
    }
    for part in ["-mcp-server", "-server-mcp", "-mcp", "-server"] {
        name = name.strip_suffix(part).unwrap_or(name);
    }
    let name = if name.is_empty() { "server" } else { name };
    ServerName::sanitized(name).as_str().to_owned()
}

/// What an address is called: the telling part of its host.
fn host_name(rest: &str) -> String {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let plain = ["mcp", "www", "api"];
    let telling = host.split('.').find(|label| !plain.contains(label)).unwrap_or_default();
    let is_name = telling.starts_with(|c: char| c.is_ascii_alphabetic()) && telling != "localhost";
    ServerName::sanitized(if is_name { telling } else { "server" }).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names() {
        for (line, expected) in [
            ("npx -y @modelcontextprotocol/server-filesystem@2026.1 /tmp", "filesystem"),
            ("uvx mcp-server-time --local-timezone UTC", "time"),
            ("python3 -m mcp_server_git", "git"),
            ("/opt/x/bin/mcp-server-fetch", "fetch"),
            ("npx @playwright/mcp@1.0", "playwright"),
            ("uvx duckduckgo-mcp-server", "duckduckgo"),
            ("node", "server"),
            ("https://mcp.example.com/v1?x=y", "example"),
            ("http://user@localhost:8080/mcp", "server"),
            ("http://127.0.0.1:8080/mcp", "server"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(short_name(&words), expected, "{line}");
        }
    }

    #[test]
    fn a_source_names_one_server() {
        let check = |yaml: &str, expected: Option<&str>| {
            let source: McpSource = serde_json::from_str(yaml).unwrap();
            let found = source.problem();
            assert_eq!(found.is_some(), expected.is_some(), "{yaml}: {found:?}");
            assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{yaml}");
        };
        check(r#"{"command": ["a"]}"#, None);
        check(r#"{"url": "http://localhost/mcp", "headers": {"A": "b"}}"#, None);
        check("{}", Some("by `command` or by `url`"));
        check(r#"{"command": [""]}"#, Some("by `command` or by `url`"));
        check(r#"{"command": ["a"], "url": "http://x"}"#, Some("two servers"));
        check(r#"{"command": ["a"], "headers": {"A": "b"}}"#, Some("`url`"));
        check(r#"{"url": "http://x", "cwd": "y"}"#, Some("`command`"));
    }

    #[test]
    fn variables_of_this_process_are_secrets() {
        let path = env_var("PATH").unwrap();
        let check = |text: &str, expected: &str, count: usize| {
            let mut secrets = Vec::new();
            assert_eq!(from_env(text, &mut secrets), expected, "{text}");
            assert_eq!(secrets.len(), count, "{text}");
        };
        check("Bearer ${env:PATH}!", &format!("Bearer {path}!"), 1);
        check("${env:PROOFMARK_NOT_SET}", "", 0);
        check("${env:open", "${env:open", 0);
        check("plain ${secret:A}", "plain ${secret:A}", 0);
    }
}
