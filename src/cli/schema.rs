//! `proofmark schema NAME`.

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::eval::case::{CASE, CASES, SCRIPT};
use crate::eval::suite::SUITE;
use crate::journal::schema::journal_line;
use crate::runtime::catalog::signature::KEYS;
use crate::runtime::policy::rules::RULES;
use crate::tool::manifest::DESCRIPTOR;

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which format
    #[arg(value_enum)]
    name: Name,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    Tool,
    Suite,
    Case,
    Cases,
    Script,
    Rules,
    Keys,
    Journal,
}

/// Prints a JSON Schema.
///
/// # Errors
/// None; the signature is that of every command.
pub fn schema(args: &SchemaArgs, output: &mut Output) -> Result<Exit, CliError> {
    match args.name {
        Name::Tool => output.json(DESCRIPTOR.get().schema()),
        Name::Suite => output.json(SUITE.get().schema()),
        Name::Case => output.json(CASE.get().schema()),
        Name::Cases => output.json(CASES.get().schema()),
        Name::Script => output.json(SCRIPT.get().schema()),
        Name::Rules => output.json(RULES.get().schema()),
        Name::Keys => output.json(KEYS.get().schema()),
        Name::Journal => output.json(&journal_line()),
    }
    Ok(Exit::Pass)
}
