//! `proofmark init`.

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {}

/// Scaffolds a suite.
///
/// # Errors
/// When the tools cannot be listed.
pub fn init(_args: &InitArgs, _output: &mut Output) -> Result<Exit, CliError> {
    Err(CliError::Usage("later".to_owned()))
}
