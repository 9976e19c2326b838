//! The inner process: the first of its namespaces. It confines itself, tells what is in force,
//! starts the program and collects what ends, until the program does.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, sendto, socket};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, set_dumpable_behavior,
    set_parent_process_death_signal, wait,
};

use super::super::mechanism::Mechanism;
use super::super::order::{HANDED, Order, PROXY_PORT, Report, Stdin};
use super::{Failure, calls, limits, rights, room, wire};

pub(super) fn main() -> ExitCode {
    match run() {
        Ok(report) => {
            let _closed = wire::report(&report, &[]);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            wire::fail(failure);
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Report, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new("inner", error);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| failed(&error))?;
    let order = wire::order()?;
    let (stdin, writer) = input(&order).map_err(|error| Failure::new("stdin", error))?;
    let (listener, applied) = confine(&order)?;
    hand(&order).map_err(|error| Failure::new("files", error))?;
    let enforced = Report::Enforced(applied);
    let files = listener.iter().map(AsFd::as_fd).chain(writer.iter().map(AsFd::as_fd));
    wire::report(&enforced, &files.collect::<Vec<_>>()).map_err(|error| failed(&error))?;
    // The harness holds them from here on; the program must not.
    drop((listener, writer));
    let Some((program, args)) = order.command.split_first() else {
        return Ok(Report::Ended { code: Some(0), signal: None });
    };
    let mut wanted = Command::new(program);
    if order.mechanisms.contains(&Mechanism::Environment) {
        wanted.env_clear();
    }
    wanted.args(args).envs(&order.env).envs(&order.handed.env).current_dir(&order.cwd).stdin(stdin);
    let child = wanted.spawn().map_err(|error| Failure::new("start", error))?;
    // The end of a pipe that it reads is its own.
    drop(wanted);
    collect(Pid::from_child(&child)).map_err(|error| failed(&error))
}

/// What the program reads: a file in memory that has no name, or a pipe, with the end to which the
/// harness writes.
fn input(order: &Order) -> io::Result<(Stdio, Option<OwnedFd>)> {
    let length = match order.stdin {
        Stdin::Null => return Ok((Stdio::null(), None)),
        Stdin::Pipe => {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            return Ok((reader.into(), Some(writer)));
        }
        Stdin::Bytes(length) => length,
    };
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    wire::exactly(&mut bytes)?;
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok((file.into(), None))
}

/// Writes the files that the program is handed, where nobody outside has a name for them.
fn hand(order: &Order) -> io::Result<()> {
    if order.handed.files.is_empty() {
        return Ok(());
    }
    if !order.mechanisms.contains(&Mechanism::MountNamespace) {
        return Err(io::Error::other("there is no place of its own for them"));
    }
    DirBuilder::new().mode(0o700).create(HANDED)?;
    for (name, content) in &order.handed.files {
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o600).open(Path::new(HANDED).join(name))?;
        file.write_all(content.as_bytes())?;
    }
    Ok(())
}

/// Applies what is ordered, in an order in which each step may still do what it has to.
fn confine(order: &Order) -> Result<(Option<TcpListener>, BTreeSet<Mechanism>), Failure> {
    let mut listener = None;
    for mechanism in Mechanism::ALL.iter().filter(|one| order.mechanisms.contains(one)) {
        let failed = |error: &dyn std::fmt::Display| Failure::of(*mechanism)(error);
        match mechanism {
            // The outer process did these, or it would not have come to this one.
            Mechanism::Environment
            | Mechanism::Descriptors
            | Mechanism::Session
            | Mechanism::CgroupMemory
            | Mechanism::CgroupProcesses
            | Mechanism::UserNamespace
            | Mechanism::ProcessNamespace
            | Mechanism::IpcNamespace
            | Mechanism::NetworkNamespace => Ok(()),
            Mechanism::NameNamespace => {
                rustix::system::sethostname(b"sandbox").map_err(|error| failed(&error))
            }
            Mechanism::MountNamespace => room::enter(order).map_err(|error| failed(&error)),
            Mechanism::BlockedPaths => room::cover(order).map_err(|error| failed(&error)),
            Mechanism::Rlimits => limits::sizes(&order.limits).map_err(|error| failed(&error)),
            Mechanism::RlimitMemory => {
                limits::memory(&order.limits).map_err(|error| failed(&error))
            }
            Mechanism::RlimitProcesses => {
                limits::processes(&order.limits).map_err(|error| failed(&error))
            }
            Mechanism::Proxy => {
                listener = Some(listen().map_err(|error| failed(&error))?);
                Ok(())
            }
            Mechanism::Capabilities => limits::capabilities().map_err(|error| failed(&error)),
            Mechanism::NoNewPrivileges => {
                rustix::thread::set_no_new_privs(true).map_err(|error| failed(&error))
            }
            // One set of rules, or what is allowed by one would have to be allowed by each.
            Mechanism::LandlockFiles => rights::restrict(order).map_err(|error| failed(&error)),
            Mechanism::LandlockNetwork | Mechanism::LandlockScope => {
                let with_files = order.mechanisms.contains(&Mechanism::LandlockFiles);
                let second = *mechanism == Mechanism::LandlockScope
                    && order.mechanisms.contains(&Mechanism::LandlockNetwork);
                match with_files || second {
                    true => Ok(()),
                    false => rights::restrict(order).map_err(|error| failed(&error)),
                }
            }
            Mechanism::Seccomp => calls::refuse(order.reach).map_err(|error| failed(&error)),
        }?;
    }
    // What comes from outside may not read or change this process; the program is another.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Failure::new("inner", error))?;
    Ok((listener, order.mechanisms.clone()))
}

/// Takes the port of the proxy in the network of the sandbox. The harness gets the socket itself,
/// so that connections leave this network without anything of it that forwards them.
fn listen() -> io::Result<TcpListener> {
    loopback()?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))
}

/// Switches the first device, which is the loopback, on.
fn loopback() -> io::Result<()> {
    // The family's first protocol, which is no number of its own, is the one about routes.
    let link = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = Vec::with_capacity(32);
    // Header: length, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, number, sender.
    message.extend(32_u32.to_ne_bytes());
    message.extend([16_u16, 5].map(u16::to_ne_bytes).concat());
    message.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    // Device: any family and type, index 1, IFF_UP, and that it is this flag that changes.
    message.extend([0_u32, 1, 1, 1].map(u32::to_ne_bytes).concat());
    let kernel = netlink::SocketAddrNetlink::new(0, 0);
    sendto(&link, &message, SendFlags::empty(), &kernel)?;
    let mut answer = [0; 64];
    let (_, count) = recv(&link, &mut answer, RecvFlags::empty())?;
    // The answer is a header and an error number, negative or none.
    match answer.get(16..20).filter(|_| count >= 20).map(<[u8; 4]>::try_from) {
        Some(Ok(number)) => match i32::from_ne_bytes(number) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Collects every child, also those left to the first process, until the program itself ends.
fn collect(program: Pid) -> io::Result<Report> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => return Ok(ended(status)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn ended(status: WaitStatus) -> Report {
    Report::Ended { code: status.exit_status(), signal: status.terminating_signal() }
}
