//! The outer process: counted and separated, it starts the inner one and outlives it.

use std::fs;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};

use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    DumpableBehavior, PidfdFlags, Signal, WaitOptions, getegid, geteuid, pidfd_open,
    pidfd_send_signal, set_dumpable_behavior, setsid, waitpid,
};

use super::super::mechanism::Mechanism;
use super::super::order::{Order, SUBCOMMAND};
use super::{Failure, INNER, wire};

pub(super) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            wire::fail(failure);
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let order = wire::order()?;
    let ordered = |one| order.mechanisms.contains(&one);
    if ordered(Mechanism::Session) {
        setsid().map_err(|error| Failure::of(Mechanism::Session)(&error))?;
    }
    if ordered(Mechanism::Descriptors) {
        close_inherited().map_err(|error| Failure::of(Mechanism::Descriptors)(&error))?;
    }
    for file in &order.cgroups {
        let failed = |error| Failure::new("cgroup", format!("{}: {error}", file.display()));
        fs::write(file, "0").map_err(failed)?;
    }
    separate(&order)?;
    let mut inner = Command::new("/proc/self/exe");
    inner.args([SUBCOMMAND, INNER]).stdin(Stdio::inherit());
    let child = inner.spawn().map_err(|error| Failure::new("inner", error))?;
    wait(&child)
}

/// Closes everything but input, output and errors: the harness may have inherited files that were
/// not closed for its children.
fn close_inherited() -> std::io::Result<()> {
    let listed = fs::read_dir("/proc/self/fd")?;
    let open: Vec<i32> = listed
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in open {
        // The list itself was one of them and is closed already.
        let _closed = nix::unistd::close(number);
    }
    Ok(())
}

/// Makes the namespaces. Users come first in the kernel too, and own the others.
fn separate(order: &Order) -> Result<(), Failure> {
    let flags = [
        (Mechanism::UserNamespace, CloneFlags::CLONE_NEWUSER),
        (Mechanism::MountNamespace, CloneFlags::CLONE_NEWNS),
        (Mechanism::ProcessNamespace, CloneFlags::CLONE_NEWPID),
        (Mechanism::IpcNamespace, CloneFlags::CLONE_NEWIPC),
        (Mechanism::NameNamespace, CloneFlags::CLONE_NEWUTS),
        (Mechanism::NetworkNamespace, CloneFlags::CLONE_NEWNET),
    ];
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    for (mechanism, flag) in flags {
        if order.mechanisms.contains(&mechanism) {
            let failed = |error: &dyn std::fmt::Display| Failure::of(mechanism)(error);
            unshare(flag).map_err(|error| failed(&error))?;
            if mechanism == Mechanism::UserNamespace {
                // Whoever it is outside is root inside, where root can do nothing: the inner
                // process gives all capabilities away.
                let map = |file: &str, text: String| fs::write(file, text);
                map("/proc/self/setgroups", "deny".to_owned())
                    .and_then(|()| map("/proc/self/uid_map", format!("0 {user} 1")))
                    .and_then(|()| map("/proc/self/gid_map", format!("0 {group} 1")))
                    .map_err(|error| failed(&error))?;
            }
        }
    }
    Ok(())
}

/// Waits for the inner process, and ends it when the harness lets go of the socket: by will, or
/// because it is gone.
fn wait(child: &std::process::Child) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new("wait", error);
    let pid = rustix::process::Pid::from_child(child);
    let inner = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(&error))?;
    // From here on nobody of the same user looks into this process.
    let _kept = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let stdin = std::io::stdin();
    loop {
        let mut watched = [
            PollFd::from_borrowed_fd(inner.as_fd(), PollFlags::IN),
            // A hang-up is always told; what is written is for the inner process.
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(&error)),
        }
        let (ended, gone) = (!watched[0].revents().is_empty(), !watched[1].revents().is_empty());
        if gone && !ended {
            // It may have ended meanwhile, which is what is wanted.
            let _gone = pidfd_send_signal(inner.as_fd(), Signal::KILL);
        }
        if gone || ended {
            waitpid(Some(pid), WaitOptions::empty()).map_err(|error| failed(&error))?;
            return Ok(());
        }
    }
}
