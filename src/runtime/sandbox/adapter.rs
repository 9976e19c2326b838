//! The ways a tool can run.

use crate::tool::descriptor::{SHELL, Sandbox};

/// An execution adapter, by the name a descriptor gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adapter {
    /// Runs inside this process, with real effects in the workspace.
    Builtin(Builtin),
    /// A program with arguments from a template.
    Cli,
    /// A tool of an MCP server.
    Mcp,
    /// One operation of a remote service.
    Http,
    /// Has no effect; answers what the descriptor says.
    Simulated,
}

/// How the tools of an MCP server are called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Served<'a> {
    /// The server is known, and asked. One that is started is confined as the section says; the
    /// text is its program.
    Live(Option<(&'a Sandbox, &'a str)>),
    /// They are simulated, as in an evaluation whose suite does not ask for its servers.
    Simulated,
    /// Nobody knows the server.
    Not,
}

/// The built-in tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Builtin {
    FileRead,
    FileList,
    FileSearch,
    FileWrite,
    FilePatch,
    FileDelete,
    CommandRun,
    Shell,
    ToolSearch,
    Delegate,
    Skill,
}

impl Adapter {
    /// Every name a descriptor may give.
    pub const NAMES: [&'static str; 15] = [
        "simulated",
        "cli",
        "mcp",
        "http",
        "builtin:file.read",
        "builtin:file.list",
        "builtin:file.search",
        "builtin:file.write",
        "builtin:file.patch",
        "builtin:file.delete",
        "builtin:command.run",
        SHELL,
        "builtin:tool_search",
        "builtin:delegate",
        "builtin:skill",
    ];

    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "simulated" => Self::Simulated,
            "cli" => Self::Cli,
            "mcp" => Self::Mcp,
            "http" => Self::Http,
            "builtin:file.read" => Self::Builtin(Builtin::FileRead),
            "builtin:file.list" => Self::Builtin(Builtin::FileList),
            "builtin:file.search" => Self::Builtin(Builtin::FileSearch),
            "builtin:file.write" => Self::Builtin(Builtin::FileWrite),
            "builtin:file.patch" => Self::Builtin(Builtin::FilePatch),
            "builtin:file.delete" => Self::Builtin(Builtin::FileDelete),
            "builtin:command.run" => Self::Builtin(Builtin::CommandRun),
            SHELL => Self::Builtin(Builtin::Shell),
            "builtin:tool_search" => Self::Builtin(Builtin::ToolSearch),
            "builtin:delegate" => Self::Builtin(Builtin::Delegate),
            "builtin:skill" => Self::Builtin(Builtin::Skill),
            _ => return None,
        })
    }
}

impl Builtin {
    /// Whether it changes files itself.
    pub fn writes(self) -> bool {
        match self {
            Self::FileRead
            | Self::FileList
            | Self::FileSearch
            | Self::CommandRun
            | Self::Shell
            | Self::ToolSearch
            | Self::Delegate
            | Self::Skill => false,
            Self::FileWrite | Self::FilePatch | Self::FileDelete => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_and_no_other() {
        assert!(Adapter::NAMES.iter().all(|name| Adapter::parse(name).is_some()));
        assert_eq!(Adapter::parse("builtin:sh"), None);
    }
}
