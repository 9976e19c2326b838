//! Where values come from: a variable, a file that is its owner's alone, or a command. A value goes
//! from there into the broker and is printed nowhere; errors say what is wrong with its place.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fstat, open};
use thiserror::Error;

use crate::base::secret::Secret;
use crate::base::world::env_var;

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest value, in bytes.
const LONGEST: usize = 64 << 10;

/// A place that holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A variable of this process.
    Env(String),
    /// A file that nobody but its owner, who runs this, may read or write.
    File(PathBuf),
    /// What a command prints; it is started without a shell.
    Command(Vec<String>),
}

/// Why there is no value.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The variable is not set, or empty.
    #[error("variable {0} is not set")]
    NotSet(String),
    /// The file cannot be opened, or is none.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The command could not be started, failed, or took too long.
    #[error("`{program}`: {why}")]
    Command {
        /// Its program.
        program: String,
        /// What went wrong; nothing that it printed.
        why: String,
    },
}

impl Source {
    /// Reads the value, without the line break at its end.
    ///
    /// # Errors
    /// What is wrong with the place.
    pub async fn read(&self) -> Result<Secret, SourceError> {
        match self {
            Self::Env(name) => {
                let value = env_var(name).filter(|value| !value.is_empty());
                value.map(Secret::new).ok_or_else(|| SourceError::NotSet(name.clone()))
            }
            Self::File(path) => {
                file(path).map_err(|why| SourceError::File { path: path.clone(), why })
            }
            Self::Command(words) => {
                let program = words.first().cloned().unwrap_or_default();
                command(words).await.map_err(|why| SourceError::Command { program, why })
            }
        }
    }
}

/// Reads a file whose permissions are checked on the file that is open.
fn file(path: &Path) -> Result<Secret, String> {
    let opened = open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
    let file = opened.map_err(|error| match error {
        rustix::io::Errno::LOOP => "it is a link; name the file itself".to_owned(),
        other => std::io::Error::from(other).to_string(),
    })?;
    let status = fstat(&file).map_err(|error| std::io::Error::from(error).to_string())?;
    if rustix::fs::FileType::from_raw_mode(status.st_mode) != rustix::fs::FileType::RegularFile {
        return Err("it is no file".to_owned());
    }
    if status.st_uid != rustix::process::geteuid().as_raw() {
        return Err("it belongs to somebody else".to_owned());
    }
    if status.st_mode & 0o077 != 0 {
        return Err(format!(
            "others may read or write it (mode {:o}); `chmod 600` it",
            status.st_mode & 0o777
        ));
    }
    let mut bytes = vec![0; LONGEST + 1];
    let mut read = 0;
    while read < bytes.len() {
        match rustix::io::read(&file, &mut bytes[read..]) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) => return Err(std::io::Error::from(error).to_string()),
        }
    }
    bytes.truncate(read);
    value(bytes)
}

async fn command(words: &[String]) -> Result<Secret, String> {
    let (program, args) = words.split_first().ok_or("it names no program")?;
    let mut command = tokio::process::Command::new(program);
    command.args(args).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let ran = tokio::time::timeout(PATIENCE, command.output()).await;
    let ran = ran.map_err(|_| format!("no end within {} s", PATIENCE.as_secs()))?;
    let ran = ran.map_err(|error| error.to_string())?;
    match ran.status.success() {
        true => value(ran.stdout),
        false => Err(format!("it failed ({})", ran.status)),
    }
}

fn value(bytes: Vec<u8>) -> Result<Secret, String> {
    if bytes.len() > LONGEST {
        return Err(format!("the value is longer than {LONGEST} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "the value is no text")?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.is_empty() {
        true => Err("the value is empty".to_owned()),
        false => Ok(Secret::new(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    async fn check(source: Source, expected: Result<&str, &str>) {
        let found = source.read().await;
        match expected {
            Ok(value) => assert_eq!(found.unwrap().expose(), value),
            Err(part) => {
                let error = found.unwrap_err().to_string();
                assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn a_file_must_be_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            Source::File(path)
        };
        check(make("a", "hunter2\n", 0o600), Ok("hunter2")).await;
        check(make("b", "hunter2", 0o400), Ok("hunter2")).await;
        check(make("c", "hunter2", 0o640), Err("others may read or write it (mode 640)")).await;
        check(make("d", "hunter2", 0o602), Err("`chmod 600` it")).await;
        check(make("e", "\n", 0o600), Err("the value is empty")).await;
        check(make("f", &"x".repeat(LONGEST + 1), 0o600), Err("longer than")).await;
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        check(Source::File(folder.path().join("link")), Err("name the file itself")).await;
        check(Source::File(folder.path().to_owned()), Err("it is no file")).await;
        check(Source::File(folder.path().join("none")), Err("No such file")).await;
    }

    #[tokio::test]
    async fn a_command_says_the_value_and_its_failures_say_nothing_of_it() {
        let run = |script: &str| Source::Command(["sh", "-c", script].map(str::to_owned).to_vec());
        check(run("echo hunter2"), Ok("hunter2")).await;
        check(run("echo hunter2; exit 3"), Err("it failed (exit status: 3)")).await;
        check(run("printf '\\377'"), Err("no text")).await;
        check(Source::Command(vec!["no-such-program".to_owned()]), Err("`no-such-program`:")).await;
        check(Source::Command(Vec::new()), Err("names no program")).await;
        check(Source::Env("PROOFMARK_NOT_SET".to_owned()), Err("is not set")).await;
        check(Source::Env("PATH".to_owned()), Ok(&env_var("PATH").unwrap())).await;
    }
}
