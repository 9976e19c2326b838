//! What a command said, scrubbed before it is cut.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::base::bounded::BoundedBytes;
use crate::base::secret::SecretSet;

/// Both streams, and how it ended. What was captured outlives the work, so that it is kept when
/// time is up.
pub(super) struct Captured<'a> {
    pub(super) out: BoundedBytes<'a>,
    pub(super) err: BoundedBytes<'a>,
    pub(super) end: End,
}

/// How a command ended.
pub(super) enum End {
    Success,
    /// With a stable code, and in words.
    Failed(&'static str, String),
    /// Its time was up; what became of it then.
    TimedOut(String),
}

impl<'a> Captured<'a> {
    pub(super) fn new(max_bytes: u64, secrets: &'a SecretSet) -> Self {
        let out = BoundedBytes::new(max_bytes, secrets);
        Self { err: out.clone(), out, end: End::Success }
    }
}

/// Reads to the end, so that a chatty program never waits for a reader. Where this is given up
/// before, what came may end within a secret.
pub(super) async fn kept(stream: Option<impl AsyncRead + Unpin>, kept: &mut BoundedBytes<'_>) {
    let Some(mut stream) = stream else { return };
    let mut chunk = vec![0; 8192];
    kept.leave(None);
    loop {
        match stream.read(&mut chunk).await {
            Ok(0) => return kept.ended(),
            Ok(count) => kept.extend(&chunk[..count]),
            Err(_) => return,
        }
    }
}
