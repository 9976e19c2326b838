//! Process groups.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process_group};

/// Whether nobody of a process group runs any more.
pub fn is_gone(group: Pid) -> bool {
    test_kill_process_group(group) == Err(Errno::SRCH) || only_zombies(group)
}

/// Whether all that is left of the group has ended and waits for its parent to notice, which in a
/// container without an init process never happens. Known on Linux only.
fn only_zombies(group: Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let mut members = 0_usize;
    for entry in entries.flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // `pid (name) state ppid pgrp …`; the name may contain anything.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, pgrp) = (fields.next(), fields.nth(1));
        if pgrp.and_then(|pgrp| pgrp.parse().ok()) == Some(group.as_raw_nonzero().get()) {
            members += 1;
            if !matches!(state, Some("Z" | "X")) {
                return false;
            }
        }
    }
    members > 0
}
