//! Reading a server's command line, starting it and ending it with everything it started.

use std::iter::Peekable;
use std::process::Stdio;
use std::str::CharIndices;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Launch, McpError};
use crate::base::group;
use crate::base::world::{Stopwatch, env_var};

/// The variables that a server gets from the calling process.
pub const INHERITED: [&str; 16] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// Bytes of standard error that are kept.
const STDERR_KEPT: usize = 4 << 10;
/// Time between two looks at whether a process has ended.
const POLL: Duration = Duration::from_millis(10);
/// Time the system gets to clear away a killed group, and a pipe to run dry.
const SETTLE: Duration = Duration::from_millis(500);

/// Splits one command line into a [`Launch`], by the word rules of POSIX shells.
///
/// Blanks separate words. Text in `'…'` is literal. In `"…"` a backslash escapes `$`, `"`, `\`
/// and a backtick, elsewhere any character, and before a line break it joins the two lines. Words
/// of the form `NAME=value` before the program become its environment. Nothing is expanded and no
/// shell runs: `*`, `?`, `~` and `#` are ordinary characters.
///
/// # Errors
/// [`McpError::Command`] for whatever a shell would act on and this function does not, rather than
/// passing it on as text: unquoted `|`, `;`, `&`, `<`, `>`, `(`, `)` or a line break, and unescaped
/// `$name`, `${`, `$(` or a backtick outside single quotes. Also for an open quote, a NUL character
/// and a line without a program.
pub fn parse_command(line: &str) -> Result<Launch, McpError> {
    let mut launch = Launch::default();
    let mut words = Vec::new();
    let mut chars = line.char_indices().peekable();
    while let Some(word) = next_word(&mut chars)? {
        match word.name.and_then(|end| word.text.split_at_checked(end)) {
            Some((name, value)) if words.is_empty() => {
                let value = value.strip_prefix('=').unwrap_or(value);
                launch.env.push((name.to_owned(), value.to_owned()));
            }
            _ => words.push(word.text),
        }
    }
    let mut words = words.into_iter();
    match words.next() {
        Some(program) if !program.is_empty() => launch.program = program,
        _ => return Err(refuse("it names no program", line.len())),
    }
    launch.args = words.collect();
    Ok(launch)
}

/// A word, and where its `=` is when everything before that is an unquoted variable name.
#[derive(Default)]
struct Word {
    text: String,
    name: Option<usize>,
    quoted: bool,
}

type Chars<'a> = Peekable<CharIndices<'a>>;

fn refuse(reason: &str, at: usize) -> McpError {
    McpError::Command { reason: reason.to_owned(), at }
}

fn next_word(chars: &mut Chars<'_>) -> Result<Option<Word>, McpError> {
    let mut word = Word::default();
    let mut started = false;
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\t' | '\r' if started => break,
            ' ' | '\t' | '\r' => continue,
            // A line that continues on the next one.
            '\\' if chars.next_if(|(_, next)| *next == '\n').is_some() => continue,
            '\\' => {
                let (_, next) = chars.next().ok_or_else(|| refuse("it ends in `\\`", at))?;
                word.quoted = true;
                push(&mut word, next, at)?;
            }
            '\'' => single(chars, &mut word, at)?,
            '"' => double(chars, &mut word, at)?,
            '|' | ';' | '&' | '<' | '>' | '(' | ')' => {
                let reason = format!("`{c}` needs a shell, and none is run; quote it if meant");
                return Err(refuse(&reason, at));
            }
            '\n' if chars.clone().all(|(_, c)| matches!(c, ' ' | '\t' | '\r' | '\n')) => break,
            '\n' => return Err(refuse("it has more than one line", at)),
            '$' | '`' => push_dollar(chars, &mut word, (at, c))?,
            '=' if word.name.is_none() && !word.quoted && is_name(&word.text) => {
                word.name = Some(word.text.len());
                word.text.push(c);
            }
            _ => push(&mut word, c, at)?,
        }
        started = true;
    }
    Ok(started.then_some(word))
}

fn push(word: &mut Word, c: char, at: usize) -> Result<(), McpError> {
    if c == '\0' {
        return Err(refuse("it contains a NUL character", at));
    }
    word.text.push(c);
    Ok(())
}

fn single(chars: &mut Chars<'_>, word: &mut Word, at: usize) -> Result<(), McpError> {
    word.quoted = true;
    loop {
        match chars.next() {
            Some((_, '\'')) => return Ok(()),
            Some((at, c)) => push(word, c, at)?,
            None => return Err(refuse("this `'` is never closed", at)),
        }
    }
}

fn double(chars: &mut Chars<'_>, word: &mut Word, open: usize) -> Result<(), McpError> {
    word.quoted = true;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next_if(|(_, c)| matches!(c, '$' | '`' | '"' | '\\' | '\n')) {
                Some((_, '\n')) => {}
                Some((_, escaped)) => push(word, escaped, at)?,
                None => push(word, c, at)?,
            },
            '$' | '`' => push_dollar(chars, word, (at, c))?,
            _ => push(word, c, at)?,
        }
    }
    Err(refuse("this `\"` is never closed", open))
}

/// Refuses what a shell would expand; a lone `$` is an ordinary character.
fn push_dollar(
    chars: &mut Chars<'_>,
    word: &mut Word,
    (at, c): (usize, char),
) -> Result<(), McpError> {
    let expands = |next: char| next.is_ascii_alphanumeric() || "_{(@*#?$!-'\"".contains(next);
    let next = chars.peek().map(|(_, next)| *next);
    // `$"` and `$'` are special before a word's quotes, but `"5$"` ends in a plain dollar.
    let special = match next {
        Some('"' | '\'') => !word.quoted,
        Some(next) => expands(next),
        None => false,
    };
    if c == '`' || special {
        let reason = "nothing is expanded; write the value, or put the text in single quotes";
        return Err(refuse(reason, at));
    }
    push(word, c, at)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[derive(Debug)]
/// A running server. Dropping it kills its whole process group at once.
pub(super) struct Server {
    child: Child,
    group: Pid,
    gone: bool,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_task: JoinHandle<()>,
}

impl Server {
    /// Starts the server in a process group of its own, all three streams piped.
    ///
    /// # Errors
    /// [`McpError::Spawn`] with what the system said.
    pub(super) fn spawn(launch: &Launch) -> Result<(Self, ChildStdin, ChildStdout), McpError> {
        let fail = |reason: String| McpError::Spawn { program: launch.program.clone(), reason };
        let mut command = Command::new(&launch.program);
        let inherited = INHERITED.iter().filter_map(|name| Some((*name, env_var(name)?)));
        command.args(&launch.args).env_clear().envs(inherited);
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = &launch.cwd {
            // The system reports a missing folder as a missing program.
            if !cwd.is_dir() {
                return Err(fail(format!("working folder {} does not exist", cwd.display())));
            }
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // `kill_on_drop` makes the runtime reap a child that is dropped while it runs.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| fail(error.to_string()))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(group), (Some(stdin), Some(stdout), Some(stderr))) = (pid, streams) else {
            return Err(fail("its process id or streams are missing".to_owned()));
        };
        let tail = Arc::new(Mutex::new(Vec::new()));
        let stderr_task = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        let server = Self { child, group, gone: false, stderr: tail, stderr_task };
        Ok((server, stdin, stdout))
    }

    /// How the process that was started ended, if it has. It is not reaped, so that its number,
    /// which is also that of its group, is not given to another process meanwhile.
    pub(super) fn exit_status(&self) -> Option<String> {
        exit_status(self.group)
    }

    /// The end of its standard error so far.
    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&lock(&self.stderr)).into_owned()
    }

    /// Waits until the process that was started has ended.
    pub(super) async fn exited(&self) -> String {
        exited(self.group).await
    }

    /// Ends the group; call it once standard input is closed. Sends SIGTERM after a third of
    /// `deadline` and SIGKILL after all of it, and returns the end of standard error once nobody
    /// of the group is left.
    pub(super) async fn stop(mut self, deadline: Duration) -> String {
        let start = Stopwatch::start();
        let mut asked = false;
        let mut killed = false;
        while self.is_alive() {
            let passed = start.elapsed();
            if killed && passed > deadline.saturating_add(SETTLE) {
                tracing::warn!(group = self.group.as_raw_nonzero().get(), "group outlives SIGKILL");
                break;
            }
            if !killed && passed >= deadline {
                self.signal(Signal::KILL);
                killed = true;
            } else if !asked && passed >= deadline / 3 {
                self.signal(Signal::TERM);
                asked = true;
            }
            sleep(POLL).await;
        }
        // A process that left the group may hold the pipe open for ever.
        if timeout(SETTLE, &mut self.stderr_task).await.is_err() {
            self.stderr_task.abort();
        }
        String::from_utf8_lossy(&lock(&self.stderr)).into_owned()
    }

    /// Whether anybody of the group is left. Reaps the process that was started.
    fn is_alive(&mut self) -> bool {
        if self.gone {
            return false;
        }
        let leader_gone = !matches!(self.child.try_wait(), Ok(None));
        self.gone = leader_gone && group::is_gone(self.group);
        !self.gone
    }

    fn signal(&self, signal: Signal) {
        if let Err(error) = rustix::process::kill_process_group(self.group, signal) {
            tracing::debug!(%error, ?signal, "cannot signal the server's group");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.gone {
            self.signal(Signal::KILL);
        }
        self.stderr_task.abort();
    }
}

/// How a child ended, if it has. It is not reaped, so that its number is not given to another one.
pub(super) fn exit_status(pid: Pid) -> Option<String> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match rustix::process::waitid(WaitId::Pid(pid), look) {
        Ok(status) => status.as_ref().map(describe),
        Err(_) => Some("an unknown status".to_owned()),
    }
}

/// Waits until a child has ended.
pub(super) async fn exited(pid: Pid) -> String {
    loop {
        match exit_status(pid) {
            Some(status) => return status,
            None => sleep(POLL).await,
        }
    }
}

fn describe(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// Reads a stream to its end, keeping only the last bytes.
pub(super) async fn keep_tail(mut stream: impl AsyncRead + Unpin, tail: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        let mut tail = lock(&tail);
        tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let excess = tail.len().saturating_sub(STDERR_KEPT);
        tail.drain(..excess);
    }
}

/// Locks a mutex whatever happened to its other users.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
