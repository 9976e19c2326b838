//! `proofmark registry keygen` and `sign`: keys, and signatures under them.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::answer::Answer;
use crate::base::problem::{Position, Problem};
use crate::base::yaml::word;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::runtime;
use crate::eval::read::{read, shown};
use crate::runtime::catalog::signature::{generate, sign as signed};
use crate::runtime::credential::Source;
use crate::tool::manifest;

/// Arguments of `registry keygen`.
#[derive(Debug, Args)]
pub(super) struct KeygenArgs {
    /// The key's name
    id: String,
    /// Who holds it
    #[arg(long)]
    owner: String,
    /// Where the private key goes; nothing that is there is replaced
    #[arg(long)]
    out: PathBuf,
}

/// Arguments of `registry sign`.
#[derive(Debug, Args)]
pub(super) struct SignArgs {
    /// Manifests of tools
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file of the private key
    #[arg(long)]
    key: PathBuf,
    /// The key's name, as `keys.yaml` has it
    #[arg(long)]
    id: String,
}

/// Makes a pair of keys.
///
/// # Errors
/// The file cannot be made, or is there already.
pub(super) fn keygen(args: &KeygenArgs, answer: &mut Answer<'_>) -> Result<Exit, CliError> {
    let (private, public) = generate().map_err(CliError::Environment)?;
    let written = keep(&args.out, &private).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let message = format!("{} is there already; name another file", args.out.display());
            CliError::Usage(message)
        }
        _ => CliError::Environment(format!("{}: {error}", args.out.display())),
    });
    written?;
    let line = format!(
        "  - {{id: {}, owner: {}, publicKey: {public}, trust: workspace}}\n",
        word(&args.id),
        word(&args.owner),
    );
    let keys = [("id", json!(args.id)), ("owner", json!(args.owner)), ("publicKey", json!(public))];
    answer.said(&line, keys);
    Ok(Exit::Pass)
}

fn keep(path: &Path, private: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{private}")?;
    file.sync_all()
}

/// Signs definitions.
///
/// # Errors
/// A manifest or the key cannot be read; then nothing is signed.
pub(super) fn sign(args: &SignArgs, answer: &mut Answer<'_>) -> Result<Exit, CliError> {
    let key = runtime()?.block_on(Source::File(args.key.clone()).read());
    let whole =
        |path: &Path, message: String| Problem::new(shown(path), Position::default(), message);
    let key = key.map_err(|error| vec![whole(&args.key, error.to_string())])?;
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for path in &args.files {
        let text = read(path).map_err(|problem| vec![problem]);
        match text.and_then(|text| manifest::parse(&shown(path), &text)) {
            Ok(descriptor) => match signed(key.expose(), &args.id, &descriptor) {
                Ok(signature) => found.push((path, descriptor, signature)),
                Err(why) => return Err(vec![whole(&args.key, why)].into()),
            },
            Err(mut wrong) => problems.append(&mut wrong),
        }
    }
    if !problems.is_empty() {
        return Err(problems.into());
    }
    let lines = found.iter().map(|(path, descriptor, signature)| {
        let (hash, signature) = (descriptor.content_digest(), word(signature));
        format!(
            "# {}\nprovenance:\n  manifestHash: {hash}\n  signature: {signature}\n",
            shown(path)
        )
    });
    let signatures: Value = found
        .iter()
        .map(|(path, descriptor, signature)| {
            json!({"file": shown(path), "toolId": descriptor.tool_id,
                "manifestHash": descriptor.content_digest(), "signature": signature})
        })
        .collect();
    answer.said(&lines.collect::<String>(), [("signatures", signatures)]);
    Ok(Exit::Pass)
}
