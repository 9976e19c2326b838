//! What the harness tells its helper, and what the helper tells back, over the socket that is the
//! helper's input. Each message is JSON behind its length; a closed socket means: end everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::mechanism::{Mechanism, Reach};

/// The hidden subcommand under which the program becomes the helper.
pub const SUBCOMMAND: &str = "__sandbox";

/// The port on which a sandbox finds its proxy, in its own network.
pub const PROXY_PORT: u16 = 3128;

/// Everything the helper needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What to apply, and nothing else.
    pub mechanisms: BTreeSet<Mechanism>,
    /// The program and its arguments; empty for a probe, which ends after the report.
    pub command: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Secrets that it is handed.
    #[serde(default)]
    pub handed: Handed,
    /// Where it starts.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: Stdin,
    /// Folders and files that have a name inside, under the name they have outside.
    pub visible: Visible,
    /// What it may reach.
    pub reach: Reach,
    /// Limits.
    pub limits: Caps,
    /// Files to which the helper's process id is written.
    pub cgroups: Vec<PathBuf>,
}

/// Values that a program finds in its environment, or in files that it alone can read and that are
/// gone with it. They are in nothing that is printed, and wiped when they are let go.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Handed {
    /// Variables with their values.
    pub env: BTreeMap<String, String>,
    /// Files below [`HANDED`] with their contents.
    pub files: BTreeMap<String, String>,
}

/// Where a sandbox has the files that its program is handed: in a folder of its own.
pub const HANDED: &str = "/dev/shm/handed";

impl std::fmt::Debug for Handed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handed({}, {})", self.env.len(), self.files.len())
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.env.values_mut().chain(self.files.values_mut()).for_each(Zeroize::zeroize);
    }
}

/// What a program reads as its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Nothing.
    #[default]
    Null,
    /// So many bytes, which follow the order.
    Bytes(u64),
    /// What the harness goes on writing: a pipe, whose other end comes with the report.
    Pipe,
}

/// Files as they are seen from inside. Every path is absolute and real.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Visible {
    /// May be read and run.
    pub read: Vec<PathBuf>,
    /// May also be written.
    pub write: Vec<PathBuf>,
    /// Neither, though inside the others.
    pub blocked: Vec<PathBuf>,
}

/// Limits in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at once.
    pub processes: u64,
    /// Size of one file, in bytes.
    pub file_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Space for files that are gone afterwards, in bytes.
    pub scratch_bytes: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            memory_bytes: None,
            processes: 128,
            file_bytes: 256 << 20,
            open_files: 1_024,
            scratch_bytes: 64 << 20,
        }
    }
}

/// What the helper tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Everything that was ordered is in force; the program starts now.
    Enforced(BTreeSet<Mechanism>),
    /// A step failed, and nothing was started.
    Failed {
        /// Which mechanism, or `start` for the program itself.
        step: String,
        /// What the system said.
        reason: String,
    },
    /// The program ended.
    Ended {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

/// A message as it is sent.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn frame<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    Ok([length.to_le_bytes().as_slice(), &text].concat())
}
