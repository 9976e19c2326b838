//! Standard output and standard error; nobody else prints.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

/// Where a command writes. A closed pipe is no error: the reader had enough.
#[derive(Debug, Default)]
pub struct Output;

impl Output {
    /// The process's own streams.
    pub fn new() -> Self {
        Self
    }

    /// Writes text and a newline to standard output.
    pub fn text(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let _closed = out.write_all(text.trim_end_matches('\n').as_bytes());
        let _closed = out.write_all(b"\n");
    }

    /// Writes one JSON document to standard output.
    pub fn json(&mut self, value: &Value) {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let _closed = serde_json::to_writer_pretty(&mut out, value);
        let _closed = out.write_all(b"\n");
        let _closed = out.flush();
    }

    /// Writes a message to standard error.
    pub fn error(&mut self, text: &str) {
        let _closed = writeln!(io::stderr().lock(), "{text}");
    }

    /// Whether a person watches standard error.
    pub fn watched(&self) -> bool {
        io::stderr().is_terminal()
    }
}
